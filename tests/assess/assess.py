#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
assess.py [--quick] [--only WORKLOAD,...] --out DIR --scratch DIR

Holds ebpfrec's figures against those of the kernel and of the tools people have. Per workload:

    record -a, start the workload, settle | read every reference | run | read them again | stop | ask the trace

The window asked of the trace is the one between the two readings of each reference, to the
nanosecond, so that a difference is a difference in what was measured and not in when. Written to
DIR: assess.txt (what is printed), assess.csv, assess.json. Exit status 1 if a figure is further off than
what its source can explain; figures marked "-" have no bound, since the two measure different things. A figure
that is further off is marked "lost" where the trace itself declares that events are missing, and says how many.
"""
import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import references as ref
from trace_query import Trace, run as ebpfrec

SECTOR = 512
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
EBPFREC = os.environ["EBPFREC"]


class Table:
    """One row a figure: ours, theirs, how far apart, how far apart they may be and why."""

    def __init__(self):
        self.rows = []
        self.lost = 0

    def begin(self, t):
        """The rows that follow come from t, which holds only what its workload is asked about."""
        self.lost = t.one("SELECT lost_events('all', 0, 1 << 60)")

    def add(self, workload, figure, unit, ours, source, theirs, allowed, why):
        """allowed: in the figure's unit; None: not comparable as an equality, printed for the reader"""
        if theirs is None:
            return
        diff = None if ours is None else ours - theirs
        is_off = allowed is not None and (diff is None or abs(diff) > allowed)
        self.rows.append({"workload": workload, "figure": figure, "unit": unit, "ebpfrec": ours, "reference": theirs,
                          "source": source, "difference": diff, "difference_pct": 100 * diff / theirs if theirs
                          and diff is not None else None, "allowed": allowed, "lost": self.lost, "verdict": "-"
                          if allowed is None else "ok" if not is_off else "lost" if self.lost else "OFF", "why": why})

    def off(self):
        return [r for r in self.rows if r["verdict"] == "OFF"]

    def text(self):
        head = ("FIGURE", "EBPFREC", "REFERENCE", "SOURCE", "DIFFERENCE", "", "ALLOWED", "")
        out, workload = [], None
        lines = [[r["figure"], amount(r["ebpfrec"], r["unit"]), amount(r["reference"], r["unit"]), r["source"],
                  amount(r["difference"], r["unit"], True), "" if r["difference_pct"] is None else "%+.3f %%" %
                  r["difference_pct"], "" if r["allowed"] is None else amount(r["allowed"], r["unit"]),
                  r["verdict"] + (", %d lost" % r["lost"] if r["lost"] else "")] for r in self.rows]
        width = [max(len(line[i]) for line in [head] + lines) for i in range(len(head))]
        for r, line in zip(self.rows, lines):
            if r["workload"] != workload:
                workload = r["workload"]
                out += ["", workload, "  " + "  ".join(h.ljust(w) for h, w in zip(head, width)).rstrip()]
            cells = [c.rjust(w) if i in (1, 2, 4, 5, 6) else c.ljust(w) for i, (c, w) in enumerate(zip(line, width))]
            out.append("  " + "  ".join(cells).rstrip())
            if r["why"]:
                out.append("      " + r["why"])
        return "\n".join(out).lstrip("\n") + "\n"


def amount(value, unit, sign=False):
    if value is None:
        return "?"
    fmt = "%+" if sign else "%"
    if unit == "ns":
        return (fmt + ".6f s") % (value / 1e9)
    if unit == "us":
        return (fmt + ".1f us") % (value / 1e3)
    if unit == "bytes":
        return (fmt + ".3f MiB") % (value / (1 << 20))
    plus = "+" if sign else ""
    whole = abs(value - round(value)) < 1e-9 or abs(value) >= 1000
    return format(round(value), plus + ",d") if whole else format(value, plus + ".2f")


class Recording:
    """A system-wide recording around a with block; .trace afterwards."""

    def __init__(self, scratch, name, sources=None):
        self.path = os.path.join(scratch, name)
        shutil.rmtree(self.path, ignore_errors=True)
        self.args = [EBPFREC, "record", "-a", "-o", self.path] + (["-e", sources] if sources else [])

    def __enter__(self):
        self.log = open(self.path + ".log", "w")
        self.process = subprocess.Popen(self.args, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        end = time.monotonic() + 20
        while not any(f.endswith(".ebr") and os.path.getsize(os.path.join(self.path, f)) > 4096
                      for f in (os.listdir(self.path) if os.path.isdir(self.path) else [])):
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("assess.py: the recorder did not start: " + open(self.path + ".log").read())
            time.sleep(0.05)
        return self

    def __exit__(self, *failure):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.log.close()
        self.trace = Trace(self.path)
        self.said = open(self.path + ".log").read().strip()

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Assessment:
    def __init__(self, args, table):
        self.seconds = 2.0 if args.quick else 5.0
        self.scratch, self.table = args.scratch, table

    # ---- what the trace says of a window between two readings of the monotonic clock ----

    def window(self, t, a_ns, b_ns):
        return t.window(t.at(a_ns), t.at(b_ns))

    def cpu_ns(self, t, pids, a, b):
        rows = t.report("cpu", "--by", "process", *self.window(t, a, b))
        return sum(r["oncpu_ns"] for r in rows if r["pid"] in pids)

    def charged_ns(self, t, pids, a, b):
        """As the scheduler charges it: without what a hypervisor took."""
        rows = t.report("cpu", "--by", "process", *self.window(t, a, b))
        return sum(r["oncpu_ns"] - (r["steal_ns"] or 0) for r in rows if r["pid"] in pids)

    def busy_ns(self, t, a, b):
        return t.one("SELECT sum(oncpu_ns) - coalesce(sum(steal_ns), 0) FROM cpu_usage(%d, %d, 0) WHERE utid <> 0" %
                     (t.at(a), t.at(b)))

    def level(self, t, pid, at_ns, members):
        return t.one("SELECT sum(bytes) FROM (SELECT member, bytes, max(ts_ns) FROM rss_points WHERE ts_ns <= %d AND "
                     "member IN (%s)" " AND upid = (SELECT upid FROM processes WHERE pid = %d) GROUP BY member)" %
                     (t.at(at_ns), ",".join("'%s'" % m for m in members), pid))

    def device(self, t, name, a, b):
        """reads, writes (completed), bytes of both, of a window"""
        rows = [r for r in t.report("io", "--by", "device", *self.window(t, a, b)) if r["device"] == name]
        pick = lambda ops, what: sum(r[what] for r in rows if r["op"] in ops)
        # the kernel's statistics know reads, discards, flushes, and call the rest writes
        write = {r["op"] for r in rows} - {"read", "discard", "flush"}
        return {"reads": pick(("read",), "ios"), "writes": pick(write, "ios"), "read_bytes": pick(("read",), "bytes"),
                "write_bytes": pick(write, "bytes")}

    # ---- workloads ----

    def run(self, name, command, sources=None, cwd=None, settle=0.7, loop=None, resident=0):
        """Records the command for some seconds, from when it has so much memory; returns (trace, before, after,
        processes)"""
        group = ref.Cgroup("ebpfrec-assess")
        with Recording(self.scratch, name, sources) as rec:
            tools = ref.Tools(self.seconds, loop)
            workload = group.start(command, cwd)
            try:
                time.sleep(settle)
                for _ in range(200):    # 20 s at most
                    pids = ref.tree(workload.pid)
                    if not resident or max(((ref.memory_of(p) or {"rss": 0})["rss"] for p in pids),
                                           default=0) >= resident:
                        break
                    time.sleep(0.1)
                before = ref.Reading(pids, group, loop)
                tools.start(pids)
                ref.sleep_sampling(self.seconds, pids)
                after = ref.Reading(pids, group, loop)
                tools.stop()
                time.sleep(0.3)
            finally:
                ref.kill_tree(workload)
                group.remove()
        self.table.begin(rec.trace)
        return rec, before, after, pids, tools

    def add_cpu(self, name, t, before, after, pids, tools):
        add = lambda *a: self.table.add(name, *a)
        a, b = before.clock, after.clock
        # Tasks that the kernel keeps out of BPF's sight leave time that is nobody's; see Trace.unknown_ns().
        unknown = t.unknown_ns(t.at(before.ns), t.at(after.ns))
        add("time of the machine that is unknown", "ns", unknown, "should be", 0, None,
            "more than 0: this machine hides tasks from BPF programs")
        if pids:
            both = [p for p in pids if p in a and p in b]
            ours = sum(self.charged_ns(t, [p], a[p][0], b[p][0]) for p in both)
            theirs = sum(b[p][1] - a[p][1] for p in both)
            switches = sum(r["switches"] for r in t.report("cpu", *self.window(t, before.ns, after.ns))
                           if r["pid"] in pids)
            add("CPU time of the processes", "ns", ours, "CLOCK_PROCESS_CPUTIME_ID", theirs,
                0.001 * theirs + 10_000 * switches + ref.steal_ns(before, after) + unknown,
                "0.1 %; a switch ends a slice in the trace where it happens, in the kernel at its last clock update; "
                "what a hypervisor stole is not counted")
            charged = self.charged_ns(t, pids, before.ns, after.ns)
            add("CPU time of the processes", "ns", charged, "/proc/PID/schedstat",
                ref.delta(before.schedstat, after.schedstat), 2 * TICK_NS * len(pids) + unknown,
                "schedstat of a running task is as old as its last tick")
            add("CPU time of the processes", "ns", charged, "utime + stime, as htop samples",
                ref.delta(before.ticks, after.ticks) * TICK_NS, 2 * TICK_NS * len(pids) + 0.01 * theirs + unknown,
                "counted in clock ticks")
        busy = self.busy_ns(t, before.ns, after.ns)
        add("CPU time of the machine", "ns", busy, "/proc/stat, not idle", after.busy_ns - before.busy_ns,
            0.05 * busy + 6 * TICK_NS + unknown, "ticks, partly sampled: short slices are seen or missed as a whole")
        if tools.node_before and tools.node_after:
            busy = self.busy_ns(t, tools.node_before["ns"], tools.node_after["ns"])
            add("CPU time of the machine", "ns", busy, "node-exporter, not idle",
                (tools.node_after["cpu"] - tools.node_before["cpu"]) * 1e9, 0.05 * busy + 6 * TICK_NS + unknown,
                "it reads /proc/stat")
        if tools.pidstat_cpu is not None and pids:
            ours = self.charged_ns(t, pids, tools.from_ns, tools.to_ns)
            add("CPU of the processes, %", "%", 100 * ours / (tools.to_ns - tools.from_ns), "pidstat -u",
                tools.pidstat_cpu, 100 * (4 * TICK_NS * len(pids) + unknown) / (tools.to_ns - tools.from_ns) + 1.5,
                "ticks; its interval begins and ends where it pleases")

    def cpu(self):
        name = "CPU: stress -c 1"
        rec, before, after, pids, tools = self.run("cpu", ref.UNDISTURBED + ["stress", "-q", "-c", "1"], "sched,task")
        t = rec.trace
        self.add_cpu(name, t, before, after, pids, tools)
        unknown = t.unknown_ns(t.at(before.ns), t.at(after.ns))
        if before.cgroup is not None:
            ours = t.one("SELECT sum(oncpu_ns) - coalesce(sum(steal_ns), 0) FROM cpu_usage(%d, %d, 0) WHERE upid IN "
                         "(SELECT upid FROM processes WHERE cgroup_id = %d)" %
                         (t.at(before.cgroup[0]), t.at(after.cgroup[0]), before.cgroup[2]))
            theirs = after.cgroup[1] - before.cgroup[1]
            self.table.add(name, "CPU time of the cgroup", "ns", ours, "cgroup cpu.stat", theirs,
                           0.001 * theirs + 2 * TICK_NS + unknown, "the kernel adds a running task's time at its "
                           "next tick")
        util = 100 * self.cpu_ns(t, pids, before.ns, after.ns) / (after.ns - before.ns)
        a, b = t.at(before.ns), t.at(after.ns)
        waits = t.one("SELECT coalesce(sum(min(end, %d) - max(start, %d)), 0) FROM (SELECT start_ns - wait_ns AS "
                      "start, start_ns AS end FROM sched_slices WHERE utid IN "
                      "(SELECT utid FROM threads JOIN processes USING (upid) WHERE pid IN (%s))) WHERE start < %d "
                      "AND end > %d" % (b, a, ",".join(map(str, pids)), b, a))
        self.table.add(name, "busiest process, %", "%", util, "stress -c 1 means", 100.0,
                       3 + 100 * (unknown + ref.steal_ns(before, after) + waits) / (after.ns - before.ns),
                       "one CPU, less what even the highest priority does not get: it waited %.0f ms for a CPU" %
                       (waits / 1e6))
        rec.remove()

    def memory(self):
        name = "Memory: stress -m 1 --vm-bytes 256M --vm-keep"
        rec, before, after, pids, tools = self.run("memory",
                                                   ["stress", "-q", "-m", "1", "--vm-bytes", "256M", "--vm-keep"],
                                                   "alloc.rss,alloc.vm,task", settle=1.2, resident=255 << 20)
        t = rec.trace
        pid = max(pids, key=lambda p: after.memory.get(p, {}).get("rss", 0))
        m = after.memory[pid]
        add = lambda *a: self.table.add(name, *a)
        batch = ref.rss_batch_bytes()
        why = "the kernel keeps up to %d pages of each counter per CPU before it adds them up" % (
            batch // PAGE // os.cpu_count())
        rss = self.level(t, pid, after.ns, ("file", "anon", "shmem"))
        add("resident", "bytes", rss, "/proc/PID/statm", m["rss"], 3 * batch, why)
        add("resident", "bytes", rss, "/proc/PID/smaps_rollup", m.get("smaps_rss"), 3 * batch, why)
        add("anonymous", "bytes", self.level(t, pid, after.ns, ("anon",)), "/proc/PID/status RssAnon", m["anon"], batch,
            why)
        peak = [r["peak_bytes"] for r in t.report("alloc", "--by", "process") if r["pid"] == pid
                and r["source"] == "rss"]
        add("highest resident", "bytes", max(peak, default=None), "/proc/PID/status VmHWM", m["hwm"],
            max(3 * batch, 0.01 * m["hwm"]), why)
        vm = t.one("SELECT total_vm_bytes FROM vm_points WHERE ts_ns <= %d AND upid = (SELECT upid FROM processes "
                   "WHERE pid = %d)" " ORDER BY ts_ns DESC LIMIT 1" % (t.at(after.ns), pid))
        add("mapped", "bytes", vm, "/proc/PID/status VmSize", m["vm"], 0, "both are mm->total_vm")
        add("resident", "bytes", rss, "pidstat -r", tools.pidstat_rss.get(pid), 3 * batch, "it reads /proc/PID/stat")
        add("resident", "bytes", rss, "stress means", 256 << 20, 8 << 20, "plus the program itself")
        rec.remove()

    def add_device(self, name, t, before, after, tools, loop):
        add = lambda *a: self.table.add(name, *a)
        ours = self.device(t, loop.name, before.disk["ns"], after.disk["ns"])
        for what, unit in (("reads", ""), ("writes", ""), ("read_bytes", "bytes"), ("write_bytes", "bytes")):
            theirs = after.disk[what] - before.disk[what]
            edge = 4 if unit == "" else 4 << 20
            add(what.replace("_", " "), unit, ours[what], "/sys/block/%s/stat" % loop.name, theirs,
                edge + 0.001 * theirs, "requests that complete while the file is read")
        if tools.iostat:
            # it ends with its second sample
            end = t.start_ns + t.one("SELECT end_ns FROM processes WHERE comm = 'iostat'")
            ours = self.device(t, loop.name, end - tools.seconds * 1_000_000_000, end)
            add("writes per second", "", ours["writes"] / tools.seconds, "iostat -dx", tools.iostat["w/s"],
                0.05 * tools.iostat["w/s"] + 2, "its interval ends some ms before it does")
            add("KiB written per second", "", ours["write_bytes"] / 1024 / tools.seconds, "iostat -dx",
                tools.iostat["wkB/s"], 0.05 * tools.iostat["wkB/s"] + 1024, "likewise")
        if tools.node_before and tools.node_after:
            ours = self.device(t, loop.name, tools.node_before["ns"], tools.node_after["ns"])
            theirs = tools.node_after["disk_bytes"].get(loop.name, 0) - tools.node_before["disk_bytes"].get(loop.name,
                0)
            add("bytes written", "bytes", ours["write_bytes"], "node-exporter", theirs, 0.02 * theirs + (4 << 20),
                "it reads /proc/diskstats")

    def disk(self, name, key, args):
        loop = ref.Loop(self.scratch, "600M")
        try:
            # stress never syncs: without it, nothing may reach the device within the window
            command = ["sh", "-c", "while :; do sleep 0.25; sync -f .; done & exec stress -q " + args]
            rec, before, after, pids, tools = self.run(key, command, "block,task", cwd=loop.mount, loop=loop)
        finally:
            loop.remove()
        self.add_device(name, rec.trace, before, after, tools, loop)
        rec.remove()

    def hdd(self):
        self.disk("Disk: stress --hdd 2, file system on a loop device", "hdd", "--hdd 2 --hdd-bytes 64M")

    def io(self):
        self.disk("Disk: stress --io 2, file system on a loop device", "io", "--io 2 --hdd 1 --hdd-bytes 32M")

    def fio(self):
        name = "Disk: fio, 4 KiB random direct writes on a loop device"
        loop = ref.Loop(self.scratch, "64M", fs=False)
        out = os.path.join(self.scratch, "fio.json")
        runtime = self.seconds + 2.5
        command = ["fio", "--name=a", "--filename=" + loop.path, "--rw=randwrite", "--bs=4k", "--direct=1",
                   "--ioengine=psync", "--rate_iops=2000", "--time_based", "--runtime=%g" % runtime, "--thread",
                   "--output-format=json", "--output=" + out, "--eta=never"]
        try:
            group = ref.Cgroup("ebpfrec-assess")
            with Recording(self.scratch, "fio", "block,task") as rec:
                tools = ref.Tools(self.seconds, loop)
                workload = group.start(command, None)
                time.sleep(1)
                pids = ref.tree(workload.pid)
                before = ref.Reading(pids, group, loop)
                tools.start(pids)
                time.sleep(self.seconds)
                after = ref.Reading(pids, group, loop)
                tools.stop()
                workload.wait(60)
                group.remove()
        finally:
            loop.remove()
        t = rec.trace
        self.table.begin(t)
        self.add_device(name, t, before, after, tools, loop)
        add = lambda *a: self.table.add(name, *a)
        rows = [r for r in t.report("io", "--by", "process", *self.window(t, before.disk["ns"], after.disk["ns"]))
                if r["pid"] in pids and r["op"] == "write"]
        add("bytes written by the process", "bytes", sum(r["bytes"] for r in rows), "/proc/PID/io write_bytes",
            ref.delta(before.io_write, after.io_write), 1 << 20, "it counts at submission, ebpfrec at completion")
        whole = [r for r in t.report("io", "--by", "process") if r["pid"] in pids and r["op"] == "write"]
        job = json.load(open(out))["jobs"][0]["write"]
        add("writes, whole run", "", sum(r["ios"] for r in whole), "fio's own count", job["total_ios"], 0, "")
        if whole:
            pct = job["clat_ns"]["percentile"]
            why = "fio's includes the system call and waking up"
            add("median latency", "us", whole[0]["lat_p50_ns"], "fio clat", pct["50.000000"], None, why)
            add("99th percentile", "us", whole[0]["lat_p99_ns"], "fio clat", pct["99.000000"], None, why)
        rec.remove()

    def forks(self):
        name = "Fork storm: sh starting /bin/true"
        count = 300 if self.seconds < 3 else 1500
        with Recording(self.scratch, "forks", "sched,task") as rec:
            a = ref.forks()
            usage = ref.children_ns()
            start = time.monotonic_ns()
            shell = subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done" % count])
            if shell.wait():
                sys.exit("assess.py: the fork storm ended with %d" % shell.returncode)
            end = time.monotonic_ns()
            usage = ref.children_ns() - usage
            b = ref.forks()
        t = rec.trace
        self.table.begin(t)
        add = lambda *x: self.table.add(name, *x)
        made = lambda lo, hi: t.one(
            "SELECT count(*) FROM task_events WHERE type = 'new' AND ts_ns >= %d AND ts_ns < %d" % (t.at(lo), t.at(hi)))
        # what a task that is hidden from BPF starts is in the kernel's count alone
        hidden = t.unknown_ns(t.at(a[0]), t.at(b[1])) > 0
        # of a task that is made while the file is read, either may have it alone
        add("tasks made", "", made(a[1], b[0]), "/proc/stat processes", b[2] - a[2],
            made(a[0], a[1]) + made(b[0], b[1]) + (0.01 * count if hidden else 0),
            "every clone counts, threads as well")
        mine = t.sql("SELECT pid, comm FROM processes WHERE start_ns >= %d AND start_ns < %d AND (pid = %d OR ppid = "
                     "%d)" % (t.at(start), t.at(end), shell.pid, shell.pid))
        add("processes named true", "", sum(r["comm"] == "true" for r in mine), "started", count, 0, "")
        pids = {r["pid"] for r in mine}
        ours = self.cpu_ns(t, pids, start, end)
        stolen = ours - self.charged_ns(t, pids, start, end)
        add("CPU time of them all", "ns", ours, "getrusage, children", usage,
            0.02 * usage + count * 15_000 + t.unknown_ns(t.at(start), t.at(end)) + stolen,
            "a dying task runs on after its time has been added up; of so short ones, what a hypervisor stole may be "
            "charged to the next")
        rec.remove()


WORKLOADS = ("cpu", "memory", "hdd", "io", "fio", "forks")


def main():
    p = argparse.ArgumentParser(usage="assess.py [--quick] [--only WORKLOAD,...] --out DIR --scratch DIR")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--only", default=",".join(WORKLOADS))
    p.add_argument("--out", required=True)
    p.add_argument("--scratch", required=True)
    args = p.parse_args()
    table = Table()
    assessment = Assessment(args, table)
    failed = []
    for w in args.only.split(","):
        if w not in WORKLOADS:
            sys.exit("assess.py: no workload '%s'; there are %s" % (w, ", ".join(WORKLOADS)))
        missing = ref.missing(w)
        if missing:
            print("assess.py: %s left out: %s" % (w, missing), file=sys.stderr)
            failed.append(w)
            continue
        getattr(assessment, w)()
    os.makedirs(args.out, exist_ok=True)
    text = ref.environment(ebpfrec("version").split("\n")[0]) + "\n" + table.text()
    open(os.path.join(args.out, "assess.txt"), "w").write(text)
    json.dump(table.rows, open(os.path.join(args.out, "assess.json"), "w"), indent=1)
    with open(os.path.join(args.out, "assess.csv"), "w", newline="") as f:
        w = csv.DictWriter(f, list(table.rows[0]) if table.rows else ["workload"])
        w.writeheader()
        w.writerows(table.rows)
    sys.stdout.write(text)
    off = table.off()
    count = lambda verdict: sum(r["verdict"] == verdict for r in table.rows)
    print("\n%d figures: %d within bounds, %d without a bound, %d of traces that declare a loss, %d off" % (
        len(table.rows), count("ok"), count("-"), count("lost"), len(off)))
    sys.exit(1 if off or failed else 0)


main()
