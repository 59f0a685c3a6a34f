# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
first_day.py: what user_days.sh looks at in terminals. Every view in pseudo-terminals of 80x24 and 120x40: no line is
longer than the terminal, the columns that a view is about are there, and no word is broken. Every command that a
message, a note or a help text names can be pasted.
"""
import glob
import json
import multiprocessing
import os
import re
import shlex
import subprocess
from terminal import screen
from trace_query import EBPFREC, Trace, check

tmp = os.environ["tmp"]
TOP = os.path.dirname(os.path.dirname(os.environ["PYTHONPATH"]))
ABOUT = {"cpu": "ONCPU %CPU", "sched": "WAIT WAIT_MAX", "states": "RUNNING RUNNABLE ASLEEP", "parallel": "WALL ONCPU",
         "why": "SHARE_% BAR", "alloc": "SOURCE ALLOC_BYTES", "spikes": "START_(s) BYTES", "memory": "RSS_PEAK",
         "io": "DEVICE OP IOPS BYTES/S LAT_P50 LAT_P99", "latency": "DEVICE OP QUEUE_P50 QUEUE_P99 DEVICE_P50 "
         "DEVICE_P99", "devices": "BUSY_% IOPS BYTES/S", "preempts": "BY_COMM PREEMPTS", "timeline": "CPU DUR COMM",
         "leaks": "CALL_SITE BYTES", "lifetimes": "TEMPORARY", "sizes": "BYTES ALLOCS", "stacks": "SAMPLES BYTES",
         "loss": "LOST_EVENTS", "cost": "CPU", "totals": "%CPU IOS", "summary": "CPU_BUSY_% CPU_WAIT",
         "pattern": "SIZE_P50_BYTES", "irq": "RUNS"}


def views():
    out = subprocess.run([EBPFREC, "report", "--list", "--format", "json"], stdout=subprocess.PIPE).stdout
    return [x["view"] for x in json.loads(out)]


def is_in_no_row(view, heading):
    """A length of time that no row has is left out, even where there is room: of requests that did not end, say."""
    rows = Trace("trace.ebpfrec").report(view, "--limit", "20")
    return rows and all(r.get(heading.lower() + "_ns", 0) is None for r in rows)


def words_of(view):
    """Where there is room for all of them."""
    return set(" ".join(screen(400, 100, "report", view, "--notes")[1]).split())


def look(width, height, words_by_view):
    """What to check of terminals of this size."""
    checks, long, lacking, failed, broken = [], [], [], [], []

    def check(*one):
        checks.append(one)

    for view, words in words_by_view.items():
        for args in ([], ["--notes"], ["--every", "100ms"], ["--phases"])[:4
            if view in ("cpu", "io", "devices", "memory", "states") else 2]:
            rc, lines = screen(width, height, "report", view, *args)
            if rc:
                failed.append((view, args, lines[-2:]))
            long += [(view, args, x) for x in lines if len(x) > width]
            text = "\n".join(lines)
            if not args:
                # the note on dropped columns may be wrapped within a heading
                lacking += [(view, x, text[:1000]) for x in ABOUT.get(view, "").split()
                            if x.replace("_", " ") not in " ".join(text.split()) and not is_in_no_row(view, x)]
            elif args == ["--notes"]:
                said = [x for x in lines if re.match(r"[A-Z][a-z]", x) and not re.search(r"  ", x)]
                broken += [(view, w) for x in said for w in x.split() if w not in words and "…" not in w]
            if view == "states" and args in ([], ["--phases"]):
                hidden = re.search(r"\(no room for: [^)]*\b(RUNNING|RUNNABLE|PREEMPT|DISK|UNINT|ASLEEP)\b",
                                   " ".join(text.split()))
                check("first day, %dx%d: every usual state of a thread has room%s" %
                      (width, height, " in phases" if args else ""), not hidden, text)
            if view == "io" and not args:
                rows = [tuple(x.split()[:4]) for x in lines if re.search(r" vd| sd| nvme| loop| dm-", x)]
                alike = [x for x in rows if rows.count(x) > 1]
                check("first day, %dx%d: rows of io do not look alike" % (width, height), not alike, alike[:3])
    name = "first day, %dx%d: " % (width, height)
    wide = [(args, x) for args in (["report", "--list"], ["--help"], ["export", "--list"], ["record", "-e", "list"],
                                   ["sql", "SELECT * FROM switches LIMIT 3"], ["info"], ["check"],
                                   ["record", "-f", "-o", "shown%d" % width, "true"]) + tuple([c, "--help"]
        for c in ("record", "report", "cut", "export", "sql")) for x in screen(width, height, *args)[1]
            if len(x) > width]
    check(name + "no line of lists, --help, sql, info, check and of what record says is longer than the terminal",
          not wide, wide[:3])
    check(name + "every view answers", not failed, failed[:3])
    check(name + "no line is longer than the terminal", not long, long[:3])
    check(name + "each view shows what it is about", not lacking, lacking[:5])
    check(name + "no word is broken", not broken, broken[:5])
    rc, lines = screen(width, height, "report")
    check(name + "the summary is a screen of 40 rows", len(lines) <= 40 and "complete" in lines[0].lower(),
          (len(lines), lines[:1]))
    more = [x.split(": ")[1][:-1].removeprefix("ebpfrec ") for x in lines if re.match(r"\([0-9,]+ more: ", x)]
    wrong = [x for x in more if screen(width, height, *x.split())[0]]
    cut = [x for x in lines if "--limit 0" in x]
    check(name + "a section that is cut names what shows all of it", not wrong and not cut, (more, wrong, cut))
    text = " ".join(screen(width, height, "report", "totals", "--every", "10ms")[1])
    check(name + "totals has the largest process with its bytes", "LARGEST RSS BYTES  LARGEST RSS COMM" in text
          and "IO BYTES" in text.split("(no room")[0], text)
    cut = [x for view in ("cpu", "why", "waits", "latency") for x in screen(width, height, "report", view, "--limit",
        "1")[1] if " more" in x and not re.fullmatch(r"\([0-9,]+ more: (--limit 0|ebpfrec report [a-z -]+)\)", x)]
    check(name + "all that is cut says so in the same words", not cut, cut)
    lines = screen(width, height, "report", "irq", "-i", "trace.ebpfrec.old")[1]
    check(name + "what explains rows does not stand below none", "(nothing)" == lines[-1], lines)
    begins = [" ".join(screen(width, height, "report", "leaks", "-i", x)[1][1:4])
              for x in ("trace.ebpfrec.old", "trace.ebpfrec")]
    check(name + "without the heap's events, leaks begins with what it cannot know",
          [x.startswith("Heap memory was not recorded") for x in begins] == [True, False], begins)
    rc, lines = screen(width, height, "doctor")
    check(name + "doctor begins with its verdict", rc == 0 and lines[0].startswith("Ready: ") and len(lines) <= height,
          lines[:3])
    rc, lines = screen(width, height, "doctor", "--all")
    check(name + "doctor's table fits", rc == 0 and not [x for x in lines if len(x) > width],
          [x for x in lines if len(x) > width][:2])
    return checks


def hints():
    """Commands in backquotes, in all texts of the program, as they would be pasted."""
    found = set()
    for path in sorted(glob.glob(TOP + "/cmd/**/*.c", recursive=True) + glob.glob(TOP + "/analyze/**/*.c",
        recursive=True) + glob.glob(TOP + "/src/**/*.c", recursive=True)):
        text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
        text = re.sub(r'"\s*"', "", text)
        found.update(re.findall(r"`(ebpfrec [^`]*)`", text))
    return found


TID = subprocess.run([EBPFREC, "sql", "-i", tmp + "/day/trace.ebpfrec", "SELECT max(tid) FROM threads"],
                     stdout=subprocess.PIPE, text=True).stdout.split()[-1]


def paste(command):
    """What is left open gets a value, as a reader would give it one."""
    for open_end, value in (("record %s", "record --profile"), ("%s", "trace.ebpfrec"), ("COMMAND", "true"),
                            ("VIEW", "cpu"), ("--tid %u", "--tid " + TID),
                            ("--btf FILE", "--btf /sys/kernel/btf/vmlinux"), ("NEW", "new"),
                            ("--from T --until T", "--from 0 --until 1ms")):
        command = command.replace(open_end, value)
    words = shlex.split(command)
    # of a sentence that names it; servers
    if words[1:] in (["bundle"], ["cut"], ["repair"], ["redact"]) or words[1] in ("view", "mcp"):
        words.append("--help")
    subprocess.run(["rm", "-rf", "new"])
    p = subprocess.run([EBPFREC, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return None if p.returncode == 0 else (command, p.returncode, p.stdout[-200:])


WRONG = [("reprot", "did you mean 'report'"), ("report cup", "did you mean 'cpu'"),
         ("report --form csv", "did you mean '--format'"), ("report cpu --from 10:30", "T10:30"),
         ("report cpu --from 99h", "the trace has 0 .."), ("report cpu --from 500ms --until 200ms", "must be before"),
         ("report --every 1s", "--every is for one view"), ("report cpu --wide-by comm", "give --every"),
         ("report cpu --every 1s --wide-by foo", "no column 'foo'"),
         ("report cpu --by proces", "did you mean 'process'"), ("report io --by vector", "it takes --by"),
         ("report cpu --pid 4194305", "there is no process"), ("report cpu --comm pyhton3", "did you mean 'python3'"),
         ("report --during pyhton3", "did you mean 'python3'"),
         ("cut --comm pyhton3 -o none", "did you mean 'python3'"),
         ("cut --cgroup /none/of/these -o none", "there is no cgroup"),
         ("report cpu --sort foo", "there are pid, comm"), ("report nosuch.ebpfrec", "neither a trace nor a view"),
         ("report -i /etc/passwd", "not a trace"), ("report --format xml", "table, markdown, csv, json"),
         ("report devices --comm x", "whole machine"), ("export --to xml", "there are csv, json, parquet"),
         ("sql 'select * from proceses'", "did you mean 'processes'"),
         ("sql 'select foo from processes'", "the columns are: upid pid"), ("record", "nothing to record"),
         ("record -e foo -- true", "unknown event 'foo'"), ("record -- nosuchcommand", "no such command"),
         ("diff one", "two traces are needed"), ("cut --from 1s", "-o NEW is needed"),
         ("mark here", "nobody is recording"), ("record --trigger foo -- true", "there are spike>SIZE")]


def wrong():
    """Each wrong command line fails, and says what would be right."""
    bad = []
    for line, want in WRONG:
        p = subprocess.run([EBPFREC, *shlex.split(line)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        if p.returncode == 0 or not re.search(want, p.stdout):
            bad.append((line, p.returncode, p.stdout[-300:]))
    check("first day: %d wrong command lines say what is right" % len(WRONG), not bad, bad[:3])


def status_line():
    """What the live status line says, in a terminal that is too narrow for it."""
    rc, lines = screen(60, 24, "record", "-o", "status", "-d", "2500ms", "-p", str(os.getpid()))
    shown = [x.rstrip() for line in lines for x in line.split("\r") if x.startswith("recording")]
    check("first day: the status line names what is recorded", rc == 0 and shown and
          all(x.startswith("recording process %d (python3" % os.getpid()) and len(x) < 60 for x in shown), (rc, lines))


def bins():
    """With --every, no bin is missing in which a process lived, and none is there in which it did not."""
    t = Trace("trace.ebpfrec.old")
    step, end = 20_000_000, t.one("SELECT max(to_ns) FROM blocks")
    rows = t.report("cpu", "--every", "20ms")
    lives = {r["pid"]: (max(r["start_ns"] or 0, 0), min(r["end_ns"] or end, end - 1))
             for r in t.sql("SELECT pid, start_ns, end_ns FROM processes WHERE pid > 0")}
    there = {}
    for r in rows:
        if r["pid"]:
            there.setdefault(r["pid"], {})[r["t_ns"] // step] = r["oncpu_ns"]
    lived = {p: set(range(lives[p][0] // step, lives[p][1] // step + 1)) for p in there}
    # a process ends when it begins to exit: a little of its CPU time is after that
    wrong = [(p, x, lives[p]) for p, x in there.items() if lived[p] - set(x)
             or [b for b in set(x) - lived[p] if not x[b]]]
    check("first day: --every leaves out no bin of a process's life (%d rows)" % len(rows), len(there) > 5
          and not wrong, wrong[:2])
    whole = {r["pid"]: r["oncpu_ns"] for r in t.report("cpu") if r["pid"]}
    sums = {p: sum(r["oncpu_ns"] for r in rows if r["pid"] == p) for p in whole}
    check("first day: and adds nothing to the sums", sums == whole,
          [(p, whole[p], sums[p]) for p in whole if whole[p] != sums[p]][:3])


os.chdir(tmp + "/day")
bins()
wrong()
status_line()
# as many at a time as there are CPUs
with multiprocessing.Pool(os.cpu_count()) as pool:
    names = views()
    words_by_view = dict(zip(names, pool.map(words_of, names, 1)))
    for checks in pool.starmap(look, [(80, 24, words_by_view), (120, 40, words_by_view)], 1):
        for one in checks:
            check(*one)
bad = [x for x in map(paste, sorted(hints())) if x]
check("first day: every hint can be pasted (%d)" % len(hints()), len(hints()) > 8 and not bad, bad[:3])
