# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""views_tables: views of what views.sh recorded against plain SQL over its event tables, and against known answers"""
import multiprocessing
import random
from trace_query import *

t = Trace(os.environ["tmp"] + "/views")
end = t.one("SELECT max(end_ns) FROM sched_slices")
random.seed(5)
pid = t.one("SELECT pid FROM processes WHERE comm LIKE 'python3%' AND is_workload ORDER BY start_ns DESC LIMIT 1")
windows = [(0, end)] + [tuple(sorted(random.sample(range(end), 2))) for _ in range(4)]


# ---- against SQL ----

def against_sql(lo, hi):
    """What to check of a window."""
    checks, w = [], t.window(lo, hi)

    def check(*one):
        checks.append(one)

    rows = t.report("preempts", "--with-recorder", *w)
    n = t.one("SELECT count(*) FROM sched_slices(%d, %d) WHERE end_reason = 'preempted' AND end_ns < %d" % (lo, hi, hi))
    check("views: preempts counts every preempted stay of %d..%d" % (lo, hi), sum(r["preempts"] for r in rows) == n,
          "%d of %s" % (sum(r["preempts"] for r in rows), n))
    rows = t.report("timeline", "--with-idle", "--with-recorder", *w)
    per_cpu = {}
    for r in rows:
        per_cpu[r["cpu"]] = per_cpu.get(r["cpu"], 0) + r["dur_ns"]
    check("views: timeline fills every CPU of %d..%d" % (lo, hi), per_cpu
          and all(v == hi - lo for v in per_cpu.values()), per_cpu)

    # levels: the last point of each counter before the window's end
    mem = {r["pid"]: r for r in t.report("memory", "--with-recorder", *w)}
    want = {}
    for r in t.sql("SELECT p.pid AS pid, x.member AS member, x.bytes AS bytes, max(x.ts_ns) AS at FROM rss_points AS "
                   "x JOIN processes AS p ON p.upid = x.upid" " WHERE x.ts_ns < %d AND p.start_ns >= 0 AND (p.end_ns "
                   "IS NULL OR p.end_ns >= %d) AND NOT EXISTS (SELECT 1 FROM task_events AS e WHERE e.upid = x.upid "
                   "AND e.type = 'exec' AND e.ts_ns > x.ts_ns AND e.ts_ns < %d)" " GROUP BY x.upid, x.member" %
                   (hi, hi, hi)):
        want.setdefault(r["pid"], {})[r["member"]] = r["bytes"]
    wrong = [(p, m, v, mem.get(p)) for p, members in want.items() for m, v in members.items() if m in ("anon", "file")
             and p in mem and mem[p][m + "_bytes"] != v]
    check("views: memory has the last counters before %d" % hi, not wrong, wrong[:2])
    alloc = {r["pid"]: r for r in t.report("alloc", "--with-recorder", *w) if r["source"] == "rss"}
    wrong = [(p, alloc[p]["peak_bytes"], mem[p]["rss_peak_bytes"], alloc[p]["now_bytes"], mem[p]["rss_bytes"])
             for p in alloc if p in mem and (alloc[p]["peak_bytes"],
                                             alloc[p]["now_bytes"]) != (mem[p]["rss_peak_bytes"], mem[p]["rss_bytes"])]
    check("views: memory and alloc agree on %d..%d" % (lo, hi), not wrong, wrong[:2])

    rows = [r for r in t.report("sizes", "--with-recorder", "--by", "comm", *w)]
    slab = t.sql(
        "SELECT count(*) AS n, coalesce(sum(bytes), 0) AS b FROM slab_allocs WHERE ts_ns >= %d AND ts_ns < %d" %
        (lo, hi))[0]
    got = (sum(r["allocs"] for r in rows if r["source"] == "slab"),
           sum(r["bytes"] for r in rows if r["source"] == "slab"))
    check("views: sizes has every slab allocation of %d..%d" % (lo, hi), got == (slab["n"], slab["b"]), (got, slab))
    by_comm = {}
    for r in rows:
        by_comm[r["comm"], r["source"]] = by_comm.get((r["comm"], r["source"]), 0) + r["bytes"]
    want = {(r["comm"], r["source"]): r["alloc_bytes"] for r in t.report("alloc", "--with-recorder", "--by", "comm", *w)
            if r["source"] in ("slab", "page") and r["allocs"]}
    check("views: sizes and alloc agree on %d..%d, interrupts too" % (lo, hi), by_comm == want,
          sorted(set(by_comm.items()) ^ set(want.items()))[:4])
    check("views: sizes' rows hold their sizes",
          all(r["size_from_bytes"] * r["allocs"] <= r["bytes"] < r["size_to_bytes"] * r["allocs"] for r in rows), "")

    # a block of pages that is freed in parts later is one object at the window's end
    live = t.sql("SELECT count(*) FILTER (WHERE source <> 'page') AS n, coalesce(sum(bytes), 0) AS b FROM "
                 "allocations WHERE alloc_ns >= %d AND alloc_ns < %d AND (free_ns IS NULL OR free_ns >= %d)" %
                 (lo, hi, hi))[0]
    rows = t.report("leaks", "--with-recorder", *w)
    got = (sum(r["objects"] for r in rows if r["source"] != "page"), sum(r["bytes"] for r in rows))
    check("views: leaks has what is not freed of %d..%d" % (lo, hi), got == (live["n"], live["b"]), (got, live))
    made = t.sql("SELECT count(*) AS n, coalesce(sum(life_ns < 1000000 AND free_ns < %d), 0) AS short FROM "
                 "allocations(%d) WHERE alloc_ns >= %d AND alloc_ns < %d" % (hi, hi, lo, hi))[0]
    rows = t.report("lifetimes", "--with-recorder", *w)
    got = (sum(r["allocs"] for r in rows), sum(r["temporary"] for r in rows))
    check("views: lifetimes has every allocation of %d..%d" % (lo, hi), got == (made["n"], made["short"]), (got, made))
    return checks


# as many windows at a time as there are CPUs
with multiprocessing.Pool(os.cpu_count()) as pool:
    for checks in pool.starmap(against_sql, windows, 1):
        for one in checks:
            check(*one)

bins = t.report("memory", "--every", "50ms", "--pid", pid)
whole = t.report("memory", "--pid", pid)[0]
check("views: memory's highest bin is the window's peak", max(r["rss_peak_bytes"]
    for r in bins) == whole["rss_peak_bytes"], whole)
bins = t.report("timeline", "--every", "100ms")
busy = t.report("cpu", "--by", "cpu")
check("views: timeline's bins have the CPU's busy time", bins
      and abs(sum(r["busy_pct"] for r in bins if r["cpu"] == 0)) > 0, bins[:1])

# ---- known answers ----
at = t.one("SELECT alloc_ns FROM allocations WHERE symbol LIKE 'alloc_pipe_info%%' AND upid = (SELECT upid FROM "
           "processes WHERE pid = %d) ORDER BY 1 DESC LIMIT 1" % pid)
rows = t.report("leaks", "--pid", pid, "--from", "0ns", "--to", "%dns" % (at + 1_000_000))
pipes = sum(r["objects"] for r in rows if r["call_site"].startswith("alloc_pipe_info"))
# struct pipe_inode_info and its array of buffers, two allocations a pipe
check("views: leaks shows 300 pipes that are kept, and where they were made", pipes == 600,
      [r for r in rows if "pipe" in r["call_site"]])
rows = [r for r in t.report("lifetimes", "--pid", pid) if r["kind"] == "names_cache"
        or r["call_site"].startswith("getname")]
check("views: lifetimes shows names looked up and forgotten", sum(r["temporary"] for r in rows) >= 1500, rows[:4])
spike = [r for r in t.report("spikes", "--pid", pid, "--spike-min", "64MiB", "--spike-window", "3s")
         if r["source"] == "rss"]
check("views: the spike says that it was anonymous memory", len(spike) == 1
      and spike[0]["cause"].startswith("anon, pages of order "), spike)

# ---- the summary's sections, which are of the recorded command ----
every = len({r["comm"] for r in t.report("memory", "--by", "comm", "--workload")})
for limit, want in ((), min(every, 10)), (("--limit", "0"), every), (("--limit", "2"), 2):
    got = sum(r["section"] == "Memory by name" and r["name"] == "comm" for r in t.report("summary", *limit))
    check("views: a section of the summary has as many rows as asked for, %s" % (limit[-1:] or "ten"), got == want > 1,
          (got, want))
