#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
view_causes.py OUT: by hand, as root. Records the programs with one cause each of kernel/why_causes and
kernel/wait_kinds, and finds each cause in
`ebpfrec view` by mouse alone: "why?" beside the program. OUT gets a picture of each answer, to be looked at, and
the traces.
"""
import os
import re
import subprocess
import sys

from browser import Browser

top = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
ebpfrec, work = (os.environ.get(name, os.path.join(top, "build", name.lower())) for name in ("EBPFREC", "WORK"))
failed = 0

# Of each program: the thread, and what the first sentences or the table of waits say.
CAUSES = {
    "condition": ("victim", ["for locks", r"was for condition(\+0x\w+)? \(causes\) \(futex\)", "culprit ended "]),
    "idle": ("victim", ["for events", r"was for epoll \d+ \(epoll_p?wait\)", "culprit ended "]),
    "loaded": ("victim", ["All threads together ran for .* on CPUs"]),
    "cpu": ("victim", ["for a CPU", "culprit had the CPU for "]),
    "mmap": ("victim", [r"lock (mmap|munmap) mmap lock of \d+ victim .* culprit"]),
    "mapped": ("victim", ["for a disk", "disk user code"]),
    "read": ("victim", ["for a disk", "disk pread64 .*/cold "]),
    "kinds": ("wait_kinds", [r"lock futex lock \(wait_kinds\) .* holder", r"pipe read pipe:\[",
                             r"socket read socket:\[", "socket read tcp 127", r"poll epoll_p?wait epoll ",
                             "call read eventfd ", "call read /dev/pts/", "timer clock_nanosleep 150 ms",
                             "child wait4 process "]),
    "quota": ("quota", ["were throttled for .* by a quota of CPU time",
                        "ebpfrec-causes, which has 20.0 ms of each 100 ms"]),
}


def record(out):
    for name, mb in (("cold", 16), ("other", 64)):
        with open(os.path.join(out, name), "wb") as f:
            f.write(os.urandom(mb << 20))
    os.sync()
    group = next((g for g in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup") if os.path.isdir(g))) + "/ebpfrec-causes"
    os.makedirs(group, exist_ok=True)
    for name, text in (("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000"), ("cpu.max", "20000 100000")):
        if os.path.exists(os.path.join(group, name)):
            with open(os.path.join(group, name), "w", encoding="ascii") as f:
                f.write(text)
    for cause in CAUSES:
        print("# records " + cause, flush=True)
        command = [work + "/causes", cause, out + "/cold", out + "/other"]
        if cause == "kinds":
            command = [work + "/wait_kinds"]
        elif cause == "quota":
            command = ["sh", "-c", "echo $$ >'%s/cgroup.procs'; exec taskset -c 0 '%s/duty' quota 100 2" %
                       (group, work)]
        subprocess.run([ebpfrec, "record", "-q", "-f", "-o", os.path.join(out, cause), "--", *command],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    os.rmdir(group)


def find(b, out, cause):
    """What the answer says, after clicks alone."""
    with subprocess.Popen([ebpfrec, "view", "-i", os.path.join(out, cause)], stdout=subprocess.PIPE, text=True) as view:
        try:
            return ask(b, out, cause, view.stdout.readline().strip())
        finally:
            view.terminate()


def ask(b, out, cause, url):
    b.open(url)
    b.wait("document.body.dataset.drawn", 60)
    row = ("[...document.querySelectorAll('#table-states tbody tr')].find((r) => r.cells[1].textContent === "
           "'%s')" % CAUSES[cause][0])
    if not b.evaluate("!!%s" % row):
        b.click("document.querySelector('#box-states > button')")
        b.wait("!!%s" % row, 10)
    b.click("(%s).querySelector('td:last-child .open')" % row)
    b.wait("!!document.querySelector('#why .answer')", 60)
    b.screenshot(os.path.join(out, cause + ".png"), 1400, 1000)
    said = b.evaluate("[...document.querySelectorAll('#why .answer, #why tr')].map((e) => e.cells ? "
                      "[...e.cells].map((c) => c.textContent).join(' ') : e.textContent)")
    return said


directory = os.path.abspath(sys.argv[1])
os.makedirs(directory, exist_ok=True)
record(directory)
with Browser(1400, 1000) as browser:
    for name, (thread, patterns) in CAUSES.items():
        text = find(browser, directory, name)
        missing = [p for p in patterns if not any(re.search(p, line) for line in text)]
        failed += len(missing) > 0
        print("not ok %s: nothing says %s: %s" % (name, missing, text[:12]) if missing
              else "ok %s: %s" % (name, "; ".join(text[:3])), flush=True)
sys.exit(failed > 0)
