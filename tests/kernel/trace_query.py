# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
trace_query: what the known-answer tests ask a trace, through the program's own command line.

A Trace answers sql() and report() as lists of dicts, numbers as int or float. Verdicts print the
lines the runner counts. Instants of workloads are CLOCK_MONOTONIC; at() turns them into the
trace's own time (ns from its start).
"""
import collections
import csv
import io
import json
import os
import re
import subprocess
import sys
import time

EBPFREC = os.environ["EBPFREC"]
tmp = os.environ.get("tmp")    # the directory of the recordings


def ok(name):
    print("ok " + name, flush=True)


def not_ok(name, saw):
    print("not ok %s: %s" % (name, str(saw).replace("\n", " / ")), flush=True)


def check(name, condition, saw):
    if condition:
        ok(name)
    else:
        not_ok(name, saw)


def near(name, got, want, rel=0.0, absolute=0):
    """got is within the larger of rel * want and absolute of want."""
    allowed = max(abs(want) * rel, absolute)
    check(name, got is not None and abs(got - want) <= allowed,
          "got %s, expected %s within %g (off by %s)" % (got, want, allowed, None if got is None else got - want))


# The kernel charges a thread up to the last reading of the run queue's clock before a switch, which for a preempted
# thread is the wake-up of the other one; the trace up to the switch itself. Per switch, on a virtual machine.
SWITCH_NS = 10_000


def stolen(w):
    """
    What a workload's CPU clock may lack: the kernel does not charge a thread for the time that a hypervisor
    took from it while it ran (steal_ns, where the kernel says it). It tells in clock ticks, so one more per CPU.
    """
    return w["steal"] + 10_000_000 * os.cpu_count() if w["steal"] else 0


def within(name, got, want, rel, unknown, more=0):
    """near(), but up to unknown may be missing (see Trace.unknown_ns()) and more may be on top"""
    allowed = want * rel
    check(name, got is not None and want - allowed - unknown <= got <= want + allowed + more,
          "got %s, expected %s within %g, %d unknown (off by %s)" %
          (got, want, allowed, unknown, None if got is None else got - want))


def number(text):
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


# Columns that are names: a process may be called "0" or "inf".
NAMES = {"cgroup", "cmdline", "comm", "exe", "file", "host", "name", "owner", "parent", "role", "submitter", "thread"}


def rows_of(text):
    return [{k: v if k in NAMES else number(v) for k, v in row.items()}
            for row in csv.DictReader(io.StringIO(text, newline=""), strict=True)]


def run(*args):
    p = subprocess.run([EBPFREC, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode != 0:
        sys.exit("%s ended with %d: %s" % (" ".join(map(str, args)), p.returncode, p.stderr.decode(errors="replace")))
    return p.stdout.decode(errors="surrogateescape")


def truth(path):
    """key=value lines of a workload; a key that comes several times gives a list."""
    ret = {}
    for line in open(path, errors="surrogateescape"):
        key, eq, value = line.rstrip("\n").partition("=")
        if not eq:
            continue
        value = number(value)
        if key in ret:
            if not isinstance(ret[key], list):
                ret[key] = [ret[key]]
            ret[key].append(value)
        else:
            ret[key] = value
    return ret


class Trace:
    def __init__(self, path):
        self.path = path
        self._start = None

    def sql(self, query):
        return rows_of(run("sql", "-i", self.path, "--format", "csv", query))

    def one(self, query):
        rows = self.sql(query)
        return next(iter(rows[0].values())) if rows else None

    def report(self, view, *args):
        return rows_of(run("report", "-i", self.path, view, "--format", "csv", *args))

    @property
    def start_ns(self):
        if self._start is None:
            self._start = self.one("SELECT mono_ns - ts_ns FROM clocks LIMIT 1")
        return self._start

    def at(self, mono_ns):
        return mono_ns - self.start_ns

    def window(self, from_ns, to_ns):
        """--from/--to for a window of trace times, exact to the ns"""
        return ["--from", "%dns" % from_ns, "--to", "%dns" % to_ns]

    def utid(self, tid):
        rows = self.sql("SELECT utid FROM threads WHERE tid = %d" % tid)
        return rows[0]["utid"] if rows else None

    def unknown_ns(self, from_ns, to_ns):
        """
        CPU time of the window that nobody can know. Without loss there is none, except on machines whose
        kernel keeps some tasks (its init) out of every BPF program's sight: their switches are not there
        to be recorded. See gaps(). Such a task, nameless and in no snapshot, is charged from the switch to it
        up to the end of the block or of the trace, if nothing contradicts it before: that time is as unsure.
        """
        return self.one("SELECT coalesce(sum(oncpu_ns), 0) FROM cpu_usage(%d, %d, 0) WHERE utid = 1 OR utid IN (%s)"
                        % (from_ns, to_ns, HIDDEN))

    def hidden(self):
        """utids of tasks that never show themselves, only by switches and wake-ups to them; see unknown_ns()"""
        return {r["utid"] for r in self.sql(HIDDEN)}

    def gaps(self):
        """
        Places where a CPU's switches do not join up (who leaves is not who came), without those after a switch
        to a task that is never once seen to leave a CPU: such a task is hidden, and no recorder's fault.
        """
        ret, last, leaves = [], {}, set()
        for r in self.sql("SELECT ts_ns, cpu, utid, next_utid FROM switches ORDER BY ts_ns"):
            leaves.add(r["utid"])
            before = last.get(r["cpu"])
            if before and before["next_utid"] != r["utid"]:
                ret.append((before, r))
            last[r["cpu"]] = r
        return [(a, b) for a, b in ret if a["next_utid"] in leaves]

    def unjoined(self, from_ns, to_ns, tid=None):
        """how often in the window who leaves a CPU (or this thread) is not who came: after a loss, and after hidden
        tasks (see gaps())"""
        of = (" AND EXISTS (SELECT 1 FROM threads t WHERE t.utid IN (s.utid, s.came) AND t.tid = "
              "%d)" % tid if tid else "")
        return self.one("SELECT count(*) FROM (SELECT ts_ns, utid, lag(next_utid) OVER (PARTITION BY cpu ORDER BY "
                        "ts_ns) AS came FROM switches) AS s" " WHERE s.utid <> s.came AND s.ts_ns >= %d AND s.ts_ns "
                        "< %d%s" % (from_ns, to_ns, of))

    def unrepaired(self):
        """
        Switches after a hidden task that leave a thread's time wrong: nobody knows since when the thread had the CPU,
        or it
        came before the block. An idle CPU that came before the block counts, too: until then its time is the hidden
        task's.
        """
        return self.sql("SELECT ts_ns, cpu, utid, stay_ns, came_ns, from_ns FROM (SELECT ts_ns, cpu, utid, stay_ns,"
                        " lag(next_utid) OVER w AS came, lag(ts_ns) OVER w AS came_ns,"
                        " (SELECT max(from_ns) FROM blocks WHERE from_ns <= ts_ns) AS from_ns"
                        " FROM switches WINDOW w AS (PARTITION BY cpu ORDER BY ts_ns))"
                        " WHERE utid <> came AND iif(stay_ns, ts_ns - stay_ns < from_ns, iif(utid, came_ns < ts_ns, "
                        "came_ns < from_ns))")

    def woken_early(self, at_ns):
        """
        pids of threads that were woken before they left a CPU, and at this instant wait for one: in a cut that begins
        here this
        wait begins here, too (schema/LIMITS.md).
        """
        return {r["pid"] for r in self.sql("SELECT DISTINCT p.pid FROM (SELECT utid, max(ts_ns) AS left_ns, "
                                           "preempted FROM switches WHERE ts_ns < %d GROUP BY utid) s"
                                           " JOIN (SELECT next_utid AS utid, min(ts_ns) AS back_ns FROM switches "
                                           "WHERE ts_ns >= %d GROUP BY next_utid) b ON b.utid = s.utid"
                                           " JOIN threads h ON h.utid = s.utid JOIN processes p ON p.upid = h.upid "
                                           "WHERE NOT s.preempted" " AND NOT EXISTS (SELECT 1 FROM wakeups w WHERE "
                                           "w.target_utid = s.utid AND w.ts_ns >= s.left_ns AND w.ts_ns < b.back_ns)"
                                           " AND NOT EXISTS (SELECT 1 FROM switches i WHERE i.next_utid = s.utid AND "
                                           "i.ts_ns >= s.left_ns AND i.ts_ns < %d)" % (at_ns, at_ns, at_ns))}

    def told_behind(self, at_ns):
        """
        pids of threads off the CPUs at this instant of which only an event behind it tells that they had a CPU unseen
        since:
        their time is unknown, but not in a cut that ends here (schema/LIMITS.md). Hidden tasks cause it; see
        unknown_ns().
        """
        return {r["pid"] for r in self.sql("SELECT DISTINCT p.pid FROM thread_states(%d, %d, 0, 'thread') s JOIN "
                                           "threads h ON h.utid = s.utid JOIN processes p ON p.upid = h.upid"
                                           " WHERE s.unknown_ns > 0 AND h.utid NOT IN (%s) AND (EXISTS (SELECT 1 "
                                           "FROM wakeups w WHERE w.target_utid = h.utid AND w.ts_ns >= %d)"
                                           " OR EXISTS (SELECT 1 FROM switches w WHERE w.utid = h.utid AND w.ts_ns "
                                           ">= %d))" % (at_ns - 1, at_ns, HIDDEN, at_ns, at_ns))}

    def end_from(self, at_ns):
        """the first instant from at_ns on at which told_behind() is empty, looked for in a second; at_ns if there
        is none"""
        later = [at_ns + step * i for step in (1_000_000, 20_000_000) for i in range(50)]
        return next((at for at in later if not self.told_behind(at)), at_ns)

    def begin_from(self, at_ns):
        """the first instant from at_ns on at which woken_early() is empty, looked for in 0.1 s; at_ns if there is
        none"""
        return next((at for at in range(at_ns, at_ns + 100_000_000, 1_000_000) if not self.woken_early(at)), at_ns)

    def balance(self, classes):
        """read + lost = attempted, per class: {class: (attempted, read, lost)}"""
        ret = {}
        for row in self.sql(BALANCE):
            ret[row["class"]] = (row["attempted"], row["read"], row["lost"])
        return {c: ret.get(c) for c in classes}


HIDDEN = "SELECT utid FROM threads WHERE utid >= 16 AND start_ns IS NULL AND utid NOT IN (SELECT utid FROM switches)"

BALANCE = """
SELECT class, sum(attempted) AS attempted, sum(read) AS read, sum(lost) AS lost FROM (
    SELECT class, attempted_cnt AS attempted, read_cnt AS read, 0 AS lost FROM hook_stats
    UNION ALL
    SELECT class, 0, 0, full_cnt + other_cnt FROM losses
) GROUP BY class
"""
