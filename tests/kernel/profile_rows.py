# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by stacks.sh."""
from trace_query import *
period_ns = 1_000_000_000 // int(os.environ["HZ"])
t = Trace(tmp + "/burn")
w = truth(tmp + "/burn.out")
ITS = "FROM cpu_samples JOIN threads USING (utid) WHERE tid = %d"


def lost_of(t):
    return t.one("SELECT coalesce(sum(lost_cnt + missed_cnt), 0) FROM losses WHERE source = 'cpu.sample'")


lost = lost_of(t)
stacks = [r["text"] or "" for r in t.sql("SELECT stack_text(stack, ts_ns) AS text " + ITS % w["tid_system"])]
check("profile: of which user space is the outer part", any(re.search("system_calls;vfs_read;.*vfs_read", x)
                                                            for x in stacks), stacks[:3])
# (a frame of perf that the scheduler calls at a switch belongs to the thread, as does the end of another program)
own = [x for x in stacks if re.search("bpf_prog_[0-9a-f]{16}|bpf_overflow|perf_event_overflow|perf_swevent|"
                                      "hrtimer_interrupt", x)]
check("profile: no frame is the recorder's own", not own, own[:3])
stats = t.sql("SELECT sum(attempted_cnt) AS attempted, sum(read_cnt) AS read FROM hook_stats WHERE source = "
              "'cpu.sample'")[0]
check("profile: attempted = read + lost", stats["attempted"] == stats["read"] + lost
      and stats["read"] == t.one("SELECT count(*) FROM cpu_samples"), (stats, lost))
check("profile: idle CPUs have none", t.one("SELECT count(*) FROM cpu_samples WHERE utid = 0") == 0, "")
check("profile: each class of events is counted", re.search(r"\bcpu [\d,]+", open(tmp + "/burn.err").read()),
      open(tmp + "/burn.err").read())
period = "SELECT CAST(value AS INTEGER) FROM info WHERE key = 'profile.period_ns'"
check("profile: the period is said", t.one(period) == period_ns, t.one(period))
check("profile: 99 a second by default", Trace(tmp + "/default").one(period) == 1_000_000_000 // 99, "not")
check("profile: none unless asked for", "cpu_sample" not in run("info", "-i", tmp + "/none", "--format", "csv"),
      "programs")
def times(t, view, column, *args):
    sums = {}
    for r in t.report(view, "--by", "thread", *args):
        sums[r["tid"]] = sums.get(r["tid"], 0) + r[column]
    return {tid: ns for tid, ns in sums.items() if ns}


# The positions of samples do not change the sum: in the whole trace, and in windows that separate samples
span = t.one("SELECT max(ts_ns) FROM switches")
for args in [()] + [("--from", "%dns" % (span * i // 7), "--to", "%dns" % (span * (i + 1) // 7)) for i in range(7)]:
    a, b = times(t, "profile", "self_ns", *args), times(t, "cpu", "oncpu_ns", *args)
    check("profile: each thread's rows add up to its time on the CPU %s" % " ".join(args), a == b and a,
          {k: (a.get(k), b.get(k)) for k in a.keys() | b.keys() if a.get(k) != b.get(k)})
modes = {r["mode"]: r for r in t.report("profile", "--tid", str(w["tid_system"]))
         if r["function"].startswith("vfs_read")}
check("profile: functions of the program and of the kernel with one name have rows of their own",
      sorted(modes) == ["kernel", "user"] and modes["user"]["total_ns"] > modes["kernel"]["total_ns"] > 0, modes)
names = t.report("profile", "--tid", str(w["tid_user"]))
self_ns = {f: sum(r["self_ns"] for r in names if "burn_" + f in r["function"]) for f in ("alpha", "beta", "gamma")}
check("profile: a caller has the time of what it calls", sum(self_ns.values()) <= sum(r["total_ns"] for r in names
    if r["function"] == "burn_outer"), names[:6])
only = Trace(tmp + "/only")
check("profile: --only keeps the workload's", only.one("SELECT count(*) FROM cpu_samples JOIN threads USING (utid) "
                                                       "WHERE NOT is_workload") == 0
      and only.one("SELECT count(*) FROM cpu_samples") > 0, only.sql("SELECT comm, count(*) FROM cpu_samples JOIN "
                                                                     "threads USING (utid) GROUP BY 1"))
own = ("SELECT ts_ns, tid, stack_text(stack, ts_ns) AS text FROM cpu_samples JOIN threads USING (utid) JOIN processes "
       "USING (upid) WHERE pid = %d ORDER BY 1, 2")
rows = t.sql(own % w["pid"])
def of_process(t, *args):
    return sorted((r["function"], r["self_ns"], r["samples"]) for r in t.report("profile", *args))


its = of_process(t, "--pid", str(w["pid"]))
check("profile: a cut of the process has the same rows", of_process(Trace(tmp + "/one"), "--pid", str(w["pid"])) == its
      and its, its[:5])
for name in "part", "one":
    check("profile: a cut has the same (%s)" % name, Trace("%s/%s" % (tmp, name)).sql(own % w["pid"]) == rows and rows,
          len(rows))
gone = Trace(tmp + "/gone")
texts = [r["text"] for r in gone.sql("SELECT stack_text(stack, ts_ns) AS text FROM cpu_samples")]
check("profile: redacted, the same samples without names of the program's functions", len(texts) == stats["read"]
      and not any("burn_" in x for x in texts), texts[:3])
