# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by thread_states.sh."""
from trace_query import *
q = Trace(tmp + "/quota")
files = q.one("SELECT count(*) FROM switches WHERE call & 0x1e00")


def in_short(path, *args):
    said = [r["value"] for r in rows_of(run("report", "-i", path, "why", *args, "--format", "csv"))
            if r["section"] == "In short"]
    return [x for x in said if not x.startswith("Path to the end: ")]


# another test may have one of this name
its = ["--pid", str(q.one("SELECT pid FROM processes WHERE comm = 'quota' AND is_workload"))]
want = int(open(tmp + "/throttled").read())
got = sum(r["throttled_ns"] for r in q.report("states", "--by", "comm", *its) if r["comm"] == "quota")
check("the quota was used up", want > 500_000_000, want)
others = q.one("SELECT coalesce(sum(oncpu_ns), 0) FROM cpu_usage WHERE cpu = 0 AND utid <> 1 AND "
               "utid NOT IN (SELECT utid FROM threads WHERE comm = 'quota' AND is_workload)")
check("throttled time is what cpu.stat counts", 0.95 * want <= got <= 1.05 * want + others, (got, want, others))
waits = [r for r in q.report("waits", "--by", "comm", *its) if r["comm"] == "quota" and r["kind"] == "throttled"]
check("waits has the same time", [r["wait_ns"] for r in waits] == [got], (waits, got))
# To move itself it wrote to a file of the control groups, which waits for all CPUs to have been elsewhere.
wrote = [r["kind"] for r in q.report("waits", "--by", "comm", *its) if r["call"] == "write" and r["kind"] != "cpu"]
check("a file of the kernel is no disk", not files or wrote == ["call"], wrote)
group, periods = open(tmp + "/group").read().strip(), int(open(tmp + "/periods").read())
rows = [r for r in q.report("throttle") if r["cgroup"] == "/" + group]
check("throttle: the group, by its path, with its last quota",
      [(r["quota_ns"], r["period_ns"]) for r in rows] == [(40_000_000, 100_000_000)], rows)
check("throttle: its time is that of states, of one thread",
      [(r["throttled_ns"], r["threads"]) for r in rows] == [(got, 1)], (rows, got))
# One that overdrew its quota by periods, which a load beside it makes it do, waits once, and the kernel counts all of
# these periods.
check("throttle: the periods are cpu.stat's", len(rows) == 1
      and 0.9 * periods - 2 <= rows[0]["periods"] + rows[0]["throttled_max_ns"] // 100_000_000
      and rows[0]["periods"] <= periods + 2, (rows, periods))
said = in_short(q.path, *its)
for_cpu = sum(r["wait_ns"] for r in q.report("waits", "--by", "comm", *its) if r["comm"] == "quota"
              and r["kind"] == "cpu")
check("throttle: why says so, and names the group, unless it waited longer for a CPU", for_cpu >= got or len(said) == 2
      and re.search(r"throttled for .* by a quota of CPU time$", said[0])
      and said[1].endswith(" of that was in /%s, which has 40.0 ms of each 100 ms" % group), (said, for_cpu, got))
held = q.sql("SELECT from_ns, to_ns, quota_ns FROM quotas WHERE cgroup = '/%s' ORDER BY from_ns" % group)
check("quotas: both, one after the other", [r["quota_ns"] for r in held] == [20_000_000, 40_000_000] and
      held[0]["to_ns"] == held[1]["from_ns"], held)
early = [r for r in q.report("throttle", "--until", "%dns" % held[0]["to_ns"]) if r["cgroup"] == "/" + group]
check("throttle: a window has the quota of its time", [r["quota_ns"] for r in early] == [20_000_000], early)
