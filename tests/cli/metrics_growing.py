# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
metrics_growing.py PROGRAM GENERATOR: `ebpfrec metrics` and `ebpfrec report --follow` while a trace grows block by
block, has a record that comes too late, is removed, and is replaced. The trace is the golden one, and this program
pretends to record it. Prints "ok NAME", "not ok NAME: what it saw".
"""
import csv
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM, GENERATOR = sys.argv[1:3]
END = "ebpfrec_trace_end_monotonic_seconds"


def ask(*args):
    return list(csv.DictReader(subprocess.run([PROGRAM, *args, "--format", "csv"], stdout=subprocess.PIPE,
                                              stderr=subprocess.DEVNULL, text=True).stdout.splitlines()))


def check(name, condition, saw):
    print("ok metrics: " + name if condition else "not ok metrics: %s: %s" % (name, saw))


class Copy:
    """the trace as it is while it is recorded: the first blocks of the whole one"""
    def __init__(self, path, number):
        whole = "%s.%d" % (path, number)
        subprocess.run([GENERATOR, whole, "late", str(number)], check=True)
        self.path, self.whole = path, whole
        self.blocks = ask("sql", "-i", whole, "SELECT file, offset_bytes + bytes AS upto FROM blocks ORDER BY from_ns")
        os.mkdir(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path + "/control")
        shutil.copy(whole + "/manifest", path)

    def grow(self, cnt):
        b = self.blocks[cnt - 1]
        with open("%s/%s" % (self.whole, b["file"]), "rb") as f, open("%s/%s" % (self.path, b["file"]), "ab") as to:
            f.seek(to.tell())
            to.write(f.read(int(b["upto"]) - to.tell()))


def values(path, **want):
    """the text file, as soon as it has what is wanted"""
    end = time.monotonic() + 60
    while True:
        try:
            found = dict(line.rsplit(" ", 1) for line in open(path) if not line.startswith("#"))
        except OSError:
            found = {}
        found = {k: float(v) for k, v in found.items()}
        if all(found.get("ebpfrec_" + k) == v for k,
               v in want.items()) or time.monotonic() > end or p.poll() is not None:
            return found
        time.sleep(0.05)


def cpu(found):
    return round(sum(v for k, v in found.items() if k.startswith("ebpfrec_cpu_seconds_total")) * 1e9)


def states(found):
    """ns in each state, and memory allocated and freed by source, of everybody"""
    sums = {}
    for k, v in found.items():
        m = re.match(r'ebpfrec_(?:thread_state_seconds|(allocated|freed|exit)_bytes)_total\{.*(?:state|source)="(.*)"',
                     k)
        if m:
            sums[m.groups()] = sums.get(m.groups(), 0) + round(v if m[1] else v * 1e9)
    return {k: v for k, v in sums.items() if v}


def reported_states(until, since):
    window, sums = ["--from", since, "--until", until, "--by", "comm"], {}
    for r in ask("report", "-i", trace.whole, "states", *window):
        for state in ("running", "runnable", "preempted", "disk", "uninterruptible", "sleeping", "stopped", "unknown"):
            sums[None, state] = sums.get((None, state), 0) + int(r[state + "_ns"] or 0)
    for r in ask("report", "-i", trace.whole, "alloc", *window):
        for name in ("allocated", "freed", "exit"):
            key = name, r["source"]
            sums[key] = sums.get(key, 0) + int(r[{"allocated": "alloc", "freed": "free"}.get(name, name) + "_bytes"])
    return {k: v for k, v in sums.items() if v and k[1] != "vm"}


def report(until, since="0s"):
    return sum(int(r["oncpu_ns"]) for r in ask("report", "-i", trace.whole, "cpu", "--by", "comm", "--from", since,
                                               "--until", until))


with tempfile.TemporaryDirectory() as tmp:
    path, prom = tmp + "/trace", tmp + "/ebpfrec.prom"
    trace = Copy(path, 1)
    trace.grow(2)
    p = subprocess.Popen([PROGRAM, "metrics", "-i", path, "--textfile", tmp, "--interval", "2s"],
                         stderr=subprocess.PIPE, text=True)
    try:
        got = values(prom, recording=1)
        check("what was recorded before the program began is not counted", got.get("ebpfrec_recording") == 1
              and cpu(got) == 0, got)
        bins = ["cpu", "--by", "cpu", "--every", "500ms", "--format", "jsonl"]
        f = subprocess.Popen([PROGRAM, "report", "-i", path, *bins, "--follow=100ms"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        first = [f.stdout.readline() for i in range(4)]
        trace.grow(3)
        got = values(prom, trace_end_monotonic_seconds=1002)
        check("a live trace is counted up to its last block", got.get(END) == 1002 and cpu(got) == report("2s", "1s")
              and got["ebpfrec_missing_seconds_total"] == 0, got)
        check("what threads did, and memory, goes on from what was counted in vain",
              states(got) == reported_states("2s", "1s") and len(states(got)) == 6,
              (states(got), reported_states("2s", "1s")))
        # its last block wakes at 0.6 s whom the CPU took at 1.5 s
        trace.grow(4)
        got = values(prom, trace_end_monotonic_seconds=1003)
        check("an interval of peaks is over", got.get("ebpfrec_peak_interval_seconds") == 2, got)
        check("time whose events come after it was counted is missing", got["ebpfrec_missing_seconds_total"] == 1.4
              and cpu(got) == report("3s", "1s"), got)
        shutil.rmtree(path)
        out, err = f.communicate(timeout=60)
        want = subprocess.run([PROGRAM, "report", "-i", trace.whole, *bins, "--until", "3s"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout
        # when the second second was given, nothing of it was known to be lost
        want = "".join(re.sub('"complete":0,"lost_events":[03],', '"complete":1,"lost_events":0,', line)
                       if '"t_ns":1' in line else line for line in want.splitlines(True))
        check("bins are given once, up to the last block", "".join(first) + out == want, (first, out, want, err))
        check("a note says that bins may lack what came too late", err.count("bins of the 1.40 s before 2.000 s may "
                                                                             "lack") == 1, err)
        check("so does one that there was a loss in them", err.count("3 events were lost in bins that had already "
                                                                     "been given") == 1, err)
        check("a report of a trace that is removed ends with an error", f.returncode == 1, f.returncode)
        got = values(prom, recording=0)
        check("a trace that is removed is not recorded, and nothing is lost", got["ebpfrec_recording"] == 0
              and cpu(got) == report("3s", "1s") and p.poll() is None, got)
        trace.socket.close()
        trace = Copy(path, 2)
        trace.grow(2)
        got = values(prom, recording=1, trace_end_monotonic_seconds=1001)
        check("the next one of its name is added from its beginning", got.get(END) == 1001
              and cpu(got) == report("3s", "1s") + report("1s") and got["ebpfrec_missing_seconds_total"] == 1.4, got)
        trace.grow(4)
        trace.socket.close()
        got = values(prom, recording=0, trace_end_monotonic_seconds=1004)
        check("so is the rest when its recorder is gone", got.get(END) == 1004
              and cpu(got) == report("3s", "1s") + report("4s"), got)
    finally:
        p.terminate()
        errors = p.communicate()[1]
    check("ends when told to", p.returncode == 0, (p.returncode, errors))
