# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by cpu_time.sh."""
from trace_query import *


def charged(row):
    """what the scheduler is to have charged"""
    return row["oncpu_ns"] - (row["steal_ns"] or 0)


def unsaid(w, row):
    """stolen time that the trace does not tell"""
    return stolen(w) if row["steal_ns"] == "" else 0


for mode in ("one", "two", "share", "hop"):
    t = Trace(tmp + "/" + mode)
    w = truth(tmp + "/" + mode + ".out")
    for i in range(w["threads"]):
        rows = t.report("cpu", "--by", "thread", "--pid", w["pid"],
                        *t.window(t.at(w["start_%d" % i]), t.at(w["end_%d" % i])))
        mine = [r for r in rows if r["tid"] == w["tid_%d" % i]]
        unknown = t.unknown_ns(t.at(w["start_%d" % i]), t.at(w["end_%d" % i]))
        moving = 100_000 * w["moves_%d" % i] + SWITCH_NS * (mine[0]["switches"] if mine else 0)
        within("busy %s: thread %d is what it says it used" % (mode, i), charged(mine[0]) if len(mine) == 1 else None,
               w["used_%d" % i], 0.005, unknown + moving, unsaid(w, mine[0]) + moving)
    whole = [r for r in t.report("cpu", "--by", "process") if r["pid"] == w["pid"]]
    moving = 100_000 * w["moves_0"] + SWITCH_NS * (whole[0]["switches"] if whole else 0)
    within("busy %s: the process is what it says it used" % mode, charged(whole[0]) if len(whole) == 1 else None,
           w["own_total"], 0.005, t.unknown_ns(0, 1 << 60) + moving, unsaid(w, whole[0]) + moving)
    gaps = t.gaps()
    check("busy %s: every CPU's switches join up" % mode, not gaps, "%d times not: %s" % (len(gaps), gaps[:2]))
    bad = t.unrepaired()
    check("busy %s: the row says whether switches are missing" % mode,
          whole and whole[0]["complete"] == (not bad) and whole[0]["lost_events"] == len(bad), "%s, %s" % (bad, whole))

    bins = [r for r in t.report("cpu", "--by", "thread", "--every", "10ms") if r["pid"] == w["pid"]]
    high = [r for r in bins if r["util_pct"] > 100.0 or r["oncpu_ns"] > 10_000_000]
    check("busy %s: no thread above 100 %% in any 10 ms bin" % mode, bins and not high, high[:3])
    check("busy %s: the bins add up to the whole" % mode, whole
          and sum(r["oncpu_ns"] for r in bins) == whole[0]["oncpu_ns"], "%d in bins, %s in all" %
          (sum(r["oncpu_ns"] for r in bins), whole))
    first = [r["t_ns"] for r in bins]
    check("busy %s: bins start at multiples of 10 ms" % mode, all(v % 10_000_000 == 0 for v in first), first[:3])

    if mode == "hop":
        on = t.sql("SELECT DISTINCT cpu FROM sched_slices WHERE utid = %d" % t.utid(w["tid_0"]))
        check("busy hop: it was seen on every CPU", len(on) == os.cpu_count(), on)
    if mode == "share":
        both = {}
        for r in bins:
            if r["tid"] in (w["tid_0"], w["tid_1"]):
                both[r["t_ns"]] = both.get(r["t_ns"], 0) + r["oncpu_ns"]
        # Before they bound themselves to it, and only then, they may have been on two.
        settled = [v for at, v in both.items() if at > t.at(w["start_1"]) and at > t.at(w["start_0"])]
        check("busy share: two threads on one CPU are never above 100 % together",
              len(settled) > 100 and max(settled) <= 10_000_000, sorted(settled)[-3:])

# The scheduler's own sum at start and exit, which the trace keeps, over all threads that ended.
t = Trace(tmp + "/two")
off = t.sql("SELECT tid, comm, (SELECT count(*) FROM switches s WHERE s.utid = threads.utid) AS n, sum_exec_end_ns "
            "AS kernel, (SELECT sum(oncpu_ns - steal_ns) FROM cpu_usage() u WHERE u.utid = threads.utid) AS ours "
            "FROM threads WHERE upid IN (SELECT upid FROM processes WHERE pid = %d)" % truth(tmp + "/two.out")["pid"])
for r in off:
    if r["kernel"] > 100_000_000:
        within("busy two: tid %d agrees with sum_exec_runtime at its exit" % r["tid"], r["ours"], r["kernel"], 0.005,
               t.unknown_ns(0, 1 << 60), unsaid(truth(tmp + "/two.out"), whole[0]) + SWITCH_NS * r["n"])
check("busy two: both busy threads have a sum_exec_runtime", sum(r["kernel"] > 100_000_000 for r in off) == 2, off)
