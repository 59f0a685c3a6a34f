#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""view_speed.py TRACE: `ebpfrec view` of a trace, in Chromium: seconds until the first screen; of 100 random
windows of 10 us up to a quarter of the trace the
server's CPU time, median and worst, and the seconds until the charts in sight are painted, median and worst; the
server's memory in MB: six numbers.
Exit status 77: no browser."""
import os
import random
import statistics
import subprocess
import sys

from browser import Browser, find

STEPS = 100


def cpu_s(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def steps(browser, viewer, end):
    """The seconds of each step: CPU of the server, and painting in the browser since it was asked for."""
    found = []
    for _ in range(STEPS):
        length = int(10 ** random.uniform(4, len(str(end // 4)) - 1))
        begin, before = random.randrange(end - length), cpu_s(viewer.pid)
        ms = browser.evaluate("""new Promise((done) => {
            const begin = performance.now();
            delete document.body.dataset.paintedMs;
            location.hash = '%d-%d';
            const look = () => document.body.dataset.paintedMs ? done(performance.now() - begin) : setTimeout(look, 5);
            setTimeout(look, 5);
        })""" % (begin, begin + length))
        browser.wait("document.body.dataset.step === '%d-%d'" % (begin, begin + length))
        found.append((cpu_s(viewer.pid) - before, ms / 1e3))
    return found


def main():
    if not find():
        return 77
    random.seed(1)
    viewer = subprocess.Popen([os.environ.get("EBPFREC", "ebpfrec"), "view", "-i", sys.argv[1]], stdout=subprocess.PIPE,
                              text=True)
    url = viewer.stdout.readline().strip()
    with Browser() as browser:
        browser.open(url)
        if not browser.wait("document.body && document.body.dataset.step", 120):
            raise SystemExit("the page is not drawn")
        first_s = float(browser.evaluate("document.body.dataset.startMs")) / 1e3
        end = int(browser.evaluate("document.body.dataset.step").split("-")[1])
        found = steps(browser, viewer, end)
    with open("/proc/%d/status" % viewer.pid, encoding="utf-8") as f:
        mb = int(next(line for line in f if line.startswith("VmHWM")).split()[1]) * 1024 / 1e6
    cpu, painted = ([step[i] for step in found] for i in (0, 1))
    print("%.3f %.3f %.3f %.3f %.3f %.1f" % (first_s, statistics.median(cpu), max(cpu), statistics.median(painted),
                                             max(painted), mb))
    viewer.terminate()
    viewer.wait()
    return 0


sys.exit(main())
