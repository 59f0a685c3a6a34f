#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --profile: functions of known names use the CPU for known times, which the workload measures by the scheduler's
# clock. The samples' shares are those of the times, and their number is the time on the CPU by the period.
. "$(dirname "$0")/harness.bash"

HZ=997
recorded burn -e sched --profile=$HZ -- "$WORK/profile" 10
recorded default -e cpu.sample -- "$WORK/profile" 1
recorded short -e sched --profile=$HZ -- "$WORK/profile" 1
recorded bare -e sched --profile=$HZ -- "$WORK/profile_bare" 4
recorded pointers -e sched --profile=$HZ --unwind fp -- "$WORK/profile_bare" 2
recorded deep -e sched --profile=$HZ -- "$WORK/profile_bare" 2 40000
recorded none -e sched -- true
recorded only -e sched --only --profile=$HZ -- "$WORK/profile" 2
"$EBPFREC" redact -i "$tmp/burn" -o "$tmp/gone" 2>"$tmp/gone.err" &&
	"$EBPFREC" cut -i "$tmp/burn" -o "$tmp/part" --from 0s 2>"$tmp/part.err" &&
	"$EBPFREC" cut -i "$tmp/burn" -o "$tmp/one" --pid "$(kv "$tmp/burn.out" pid)" 2>>"$tmp/part.err"
check "profile: redact and cut take it" "[ $? -eq 0 ]" "$(cat "$tmp/gone.err" "$tmp/part.err")"
for bad in 0 10001 x; do
	"$EBPFREC" record -o "$tmp/bad" --profile=$bad -- true 2>"$tmp/bad.err"
	check "profile: $bad times a second is refused" "[ $? -eq 2 ] && [ ! -e '$tmp/bad' ]" "$(cat "$tmp/bad.err")"
done

"$EBPFREC" record -o "$tmp/bad" --unwind dwarf -- true 2>"$tmp/bad.err"
check "profile: --unwind without samples is refused" "[ $? -eq 2 ] && [ ! -e '$tmp/bad' ]" "$(cat "$tmp/bad.err")"

HZ=$HZ checker <<'EOF_PY'
import math
import re
from trace_query import *
tmp = os.environ["tmp"]
period_ns = 1_000_000_000 // int(os.environ["HZ"])
t = Trace(tmp + "/burn")
w = truth(tmp + "/burn.out")
ITS = "FROM cpu_samples JOIN threads USING (utid) WHERE tid = %d"


def lost_of(t):
    return t.one("SELECT coalesce(sum(lost_cnt + missed_cnt), 0) FROM losses WHERE source = 'cpu.sample'")


lost = lost_of(t)
# How many of a thread's samples are in each function, among those that have a user stack of this thread's code
texts = [r["text"] for r in t.sql("SELECT stack_text(stack, ts_ns, 'user') AS text " + ITS % w["tid_user"])]
inner = {f: sum(1 for x in texts if x and "burn_%s" % f in x) for f in ("alpha", "beta", "gamma")}
n = sum(inner.values())
check("profile: nearly all samples show the function", n >= 0.9 * len(texts) - 10, (n, len(texts)))
measured = sum(w[f + "_ns"] for f in inner)
for f, cnt in inner.items():
    p = w[f + "_ns"] / measured
    # Five standard deviations of a binomial distribution of n samples: of samples that fall at random, one run in a
    # million lies outside.
    check("profile: the share of burn_%s" % f, abs(cnt - n * p) <= 5 * math.sqrt(n * p * (1 - p)), (cnt, n, p))
system = [r["text"] or "" for r in t.sql("SELECT stack_text(stack, ts_ns, 'kernel') AS text " + ITS % w["tid_system"])]
check("profile: a thread in system calls has kernel stacks", sum("vfs_read" in x for x in system) >= 0.8 * len(system) - 10 and system, system[:3])
stacks = [r["text"] or "" for r in t.sql("SELECT stack_text(stack, ts_ns) AS text " + ITS % w["tid_system"])]
check("profile: of which user space is the outer part", any(re.search("system_calls;vfs_read;.*vfs_read", x) for x in stacks), stacks[:3])
# (what the scheduler calls of perf at a switch is the thread's)
own = [x for x in stacks if re.search("bpf_prog_|bpf_overflow|perf_event_overflow|perf_swevent|hrtimer_interrupt", x)]
check("profile: no frame is the recorder's own", not own, own[:3])
for thread in "user", "system", "idle":
    # The clock goes off at fixed times. Where a stay on the CPU begins between two is chance: half a sample or less for
    # each, which add up like chances do, and ten times as much is allowed. A CPU that its hypervisor takes away for more than a period
    # has one sample for all of it: a tenth of the time may be gone so, and what the kernel says was stolen.
    used, stays, steal = t.sql("SELECT coalesce(sum(oncpu_ns), 0) AS a, coalesce(sum(switches), 0) AS b, coalesce(sum(steal_ns), 0) AS c "
        "FROM cpu_usage(0, NULL, 0) JOIN threads USING (utid) WHERE tid = %d" % w["tid_" + thread])[0].values()
    got, most = t.one("SELECT count(*) " + ITS % w["tid_" + thread]), used / period_ns
    slack = 3 + 5 * math.sqrt(min(most, stays + 1))
    check("profile: thread %s has a sample for each period on the CPU" % thread,
        0.9 * most - steal / period_ns - slack - lost <= got <= most + slack, (got, most, stays, steal, lost))
stats = t.sql("SELECT sum(attempted_cnt) AS attempted, sum(read_cnt) AS read FROM hook_stats WHERE source = 'cpu.sample'")[0]
check("profile: attempted = read + lost", stats["attempted"] == stats["read"] + lost and stats["read"] == t.one("SELECT count(*) FROM cpu_samples"), (stats, lost))
check("profile: idle CPUs have none", t.one("SELECT count(*) FROM cpu_samples WHERE utid = 0") == 0, "")
check("profile: each class of events is counted", re.search(r"\bcpu [\d,]+", open(tmp + "/burn.err").read()), open(tmp + "/burn.err").read())
period = "SELECT CAST(value AS INTEGER) FROM info WHERE key = 'profile.period_ns'"
check("profile: the period is said", t.one(period) == period_ns, t.one(period))
check("profile: 99 a second by default", Trace(tmp + "/default").one(period) == 1_000_000_000 // 99, "not")
check("profile: none unless asked for", "cpu_sample" not in run("info", "-i", tmp + "/none", "--format", "csv"), "programs")
def times(t, view, column, *args):
    sums = {}
    for r in t.report(view, "--by", "thread", *args):
        sums[r["tid"]] = sums.get(r["tid"], 0) + r[column]
    return {tid: ns for tid, ns in sums.items() if ns}


# Where the samples are does not change how much there is: in the whole trace, and in windows that cut samples apart
span = t.one("SELECT max(ts_ns) FROM switches")
for args in [()] + [("--from", "%dns" % (span * i // 7), "--to", "%dns" % (span * (i + 1) // 7)) for i in range(7)]:
    a, b = times(t, "profile", "self_ns", *args), times(t, "cpu", "oncpu_ns", *args)
    check("profile: each thread's rows add up to its time on the CPU %s" % " ".join(args), a == b and a, {k: (a.get(k), b.get(k)) for k in a.keys() | b.keys() if a.get(k) != b.get(k)})
modes = {r["mode"]: r for r in t.report("profile", "--tid", str(w["tid_system"])) if r["function"].startswith("vfs_read")}
check("profile: functions of the program and of the kernel with one name have rows of their own", sorted(modes) == ["kernel", "user"] and
      modes["user"]["total_ns"] > modes["kernel"]["total_ns"] > 0, modes)
names = t.report("profile", "--tid", str(w["tid_user"]))
self_ns = {f: sum(r["self_ns"] for r in names if "burn_" + f in r["function"]) for f in inner}
check("profile: a caller has the time of what it calls", sum(self_ns.values()) <= sum(r["total_ns"] for r in names if r["function"] == "burn_outer"), names[:6])
check("profile: functions are in the order of their time", self_ns["alpha"] > self_ns["beta"] > self_ns["gamma"], self_ns)
# (all of it is over before the recorder has looked at a sample)
brief = [r["text"] or "" for r in Trace(tmp + "/short").sql("SELECT stack_text(stack, ts_ns, 'user') AS text " + ITS % truth(tmp + "/short.out")["tid_user"])]
check("profile: a short program's functions have names", sum("burn_" in x for x in brief) >= 0.9 * len(brief) - 3 and brief, brief[:3])


def of_thread(name, thread):
    return [r["text"] or "" for r in Trace("%s/%s" % (tmp, name)).sql("SELECT stack_text(stack, ts_ns) AS text " + ITS % truth("%s/%s.out" % (tmp, name))["tid_" + thread])]


# A program without frame pointers: of each sample the whole chain, from the thread's first function. At its start a thread is
# in code of the C library that has no frame yet, and in the kernel before it has run.
if Trace(tmp + "/bare").one("SELECT count(*) FROM info WHERE key = 'profile.unwind' AND value = 'dwarf'"):
    chains = { "user": r"^(_*clone3?;)?(start_thread;)?user;burn_outer;burn_", "system": r"^(_*clone3?;)?(start_thread;)?system_calls;vfs_read;" }
    for thread, chain in chains.items():
        got = of_thread("bare", thread)
        check("profile: without frame pointers, the whole chain of thread %s" % thread,
            sum(bool(re.search(chain, x)) for x in got) >= 0.95 * len(got) - 2 and len(got) > 100, [x for x in got if not re.search(chain, x)][:3])
    fp = of_thread("pointers", "user")
    check("profile: frame pointers alone do not show it", sum("user;burn_outer" in x for x in fp) <= 0.05 * len(fp) + 2 and fp, fp[:3])
    # more is on the stack than a sample copies
    deep = of_thread("deep", "user")
    check("profile: a stack whose copy ends says so", sum(bool(re.match(r"\(not unwound\);burn_outer;burn_", x)) for x in deep) >= 0.9 * len(deep) - 2 and deep,
        [x for x in deep if not x.startswith("(not unwound);")][:3])
    folded = run("report", "profile", "-i", tmp + "/deep", "--format", "folded", "--tid", str(truth(tmp + "/deep.out")["tid_user"]))
    check("profile: so do reports", "(not unwound);burn_outer;burn_alpha" in folded, folded[:300])
only = Trace(tmp + "/only")
check("profile: --only keeps the workload's", only.one("SELECT count(*) FROM cpu_samples JOIN threads USING (utid) WHERE NOT is_workload") == 0 and
      only.one("SELECT count(*) FROM cpu_samples") > 0, only.sql("SELECT comm, count(*) FROM cpu_samples JOIN threads USING (utid) GROUP BY 1"))
own = "SELECT ts_ns, tid, stack_text(stack, ts_ns) AS text FROM cpu_samples JOIN threads USING (utid) JOIN processes USING (upid) WHERE pid = %d ORDER BY 1, 2"
rows = t.sql(own % w["pid"])
def of_process(t, *args):
    return sorted((r["function"], r["self_ns"], r["samples"]) for r in t.report("profile", *args))


its = of_process(t, "--pid", str(w["pid"]))
check("profile: a cut of the process has the same rows", of_process(Trace(tmp + "/one"), "--pid", str(w["pid"])) == its and its, its[:5])
for name in "part", "one":
    check("profile: a cut has the same (%s)" % name, Trace("%s/%s" % (tmp, name)).sql(own % w["pid"]) == rows and rows, len(rows))
gone = Trace(tmp + "/gone")
texts = [r["text"] for r in gone.sql("SELECT stack_text(stack, ts_ns) AS text FROM cpu_samples")]
check("profile: redacted, the same samples without names of the program's functions", len(texts) == stats["read"] and not any("burn_" in x for x in texts), texts[:3])
EOF_PY
