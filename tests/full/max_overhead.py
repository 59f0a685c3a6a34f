# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by self_cost.sh."""
from trace_query import *
t = Trace(tmp + "/tight")
w = truth(tmp + "/tight.out")
gaps = t.sql("SELECT * FROM source_gaps ORDER BY from_ns")
slab = [g for g in gaps if g["source"] == "alloc.slab"]
check("overhead: the storm turns alloc.slab off, and nothing else", slab and len(gaps) == len(slab), gaps)
if not slab:
    sys.exit(0)
check("overhead: while the storm goes on", t.at(w["storm"]) < slab[0]["from_ns"] < t.at(w["quiet"]), (slab[0], w))
check("overhead: cost and budget are with it", slab[0]["cost_pct"] > slab[0]["budget_pct"] == 4
      and slab[0]["reason"] == "max-overhead", slab[0])
check("overhead: when all is quiet it comes back", any(t.at(w["quiet"]) < g["to_ns"] < t.at(w["end"]) - 500_000_000
                                                       for g in slab), (slab, t.at(w["quiet"]), t.at(w["end"])))

inside = " OR ".join("(ts_ns >= %d AND ts_ns < %d)" % (g["from_ns"], g["to_ns"]) for g in slab)
for table in ("slab_allocs", "slab_frees"):
    n = t.one("SELECT count(*) FROM %s WHERE %s" % (table, inside))
    check("overhead: %s have nothing inside a gap" % table, n == 0, n)
ts = [r["ts_ns"] for r in t.sql("SELECT ts_ns FROM slab_allocs WHERE ts_ns >= %d AND ts_ns < %d ORDER BY ts_ns" %
                                (t.at(w["storm"]), t.at(w["end"])))]
# (declared losses explain a hole, too: on one CPU the recorder and the storm take turns)
lost = [(r["from_ns"], r["to_ns"]) for r in t.sql("SELECT from_ns, to_ns FROM losses WHERE class = 'alloc' AND "
                                                  "full_cnt + other_cnt > 0")]
holes = [(a, b) for a, b in zip(ts, ts[1:]) if b - a > 200_000_000 and
         (any(a <= g["from_ns"] <= b for g in slab) or not any(lo < b and a < hi for lo, hi in lost))]
want = [(g["from_ns"], g["to_ns"]) for g in slab if g["to_ns"] < t.at(w["end"])]
fits = len(holes) == len(want) and all(a < f <= a + 100_000_000 and b - 100_000_000 <= u <= b for (a, b),
                                       (f, u) in zip(holes, want))
check("overhead: the gaps are just where the events are missing", fits, "holes %s, gaps %s" % (holes, want))
n = t.one("SELECT count(*) FROM switches WHERE %s" % inside)
check("overhead: the other source goes on meanwhile", n > 500, n)
sums = t.balance(("alloc", "sched"))
for c, s in sums.items():
    check("overhead: read + lost = attempted, class %s" % c, s and s[0] == s[1] + s[2], s)

g = slab[0]
def loss(lo, hi):
    return {r["source"]: r for r in t.report("loss", *t.window(lo, hi))}
before, there, across = loss(0, g["from_ns"]), loss(g["from_ns"], g["to_ns"]), loss(g["from_ns"] - 1000,
    g["from_ns"] + 1000)
check("overhead: report loss knows how long it was off", before["alloc.slab"]["off_ns"] == 0
      and there["alloc.slab"]["off_ns"] == g["to_ns"] - g["from_ns"] and across["alloc.slab"]["off_ns"] == 1000
      and there["alloc.slab"]["complete"] == 0, (before, there, across))
check("overhead: of the other source nothing is missing", there["sched.switch"]["off_ns"] == 0, there)
lo, hi = g["to_ns"] - 1000, g["to_ns"] + 500_000_000
rows = [r for r in t.report("alloc", *t.window(lo, hi)) if r["source"] == "slab"]
check("overhead: report alloc is incomplete for slab, then and later", rows and all(r["complete"] == 0 for r in rows),
      rows[:2])
done = t.sql("SELECT is_complete('alloc.slab', %d, %d) AS a, is_complete('alloc', %d, %d) AS b, "
             "is_complete('sched.switch', %d, %d) AS c, lost_events('sched', %d, %d) AS lost" %
             ((g["from_ns"], g["from_ns"] + 1) * 4))[0]
check("overhead: is_complete() knows sources apart", done["a"] == 0 and done["b"] == 0
      and done["c"] == (done["lost"] == 0), done)
cpu = t.report("cpu", *t.window(g["from_ns"], g["to_ns"]))
check("overhead: report cpu needs no allocations", cpu and all(r["complete"] == (r["lost_events"] == 0) for r in cpu),
      cpu[:2])

bad = t.one("SELECT count(*) FROM allocations WHERE source = 'slab' AND alloc_ns < %d AND (free_ns IS NULL OR "
            "free_ns >= %d) AND NOT unsure" % (g["from_ns"], g["to_ns"]))
check("overhead: what was live across the gap is marked unsure", bad == 0, bad)
bad = t.one("SELECT count(*) FROM allocations WHERE source = 'slab' AND free_ns < %d AND unsure" % g["from_ns"])
check("overhead: what ended before is not", bad == 0, bad)

err = open(tmp + "/tight.err").read()
check("overhead: said once", err.count("alloc.slab is off until") == 1 and "--max-overhead" in err, err)
p = subprocess.run([EBPFREC, "report", "-i", t.path, "alloc"], stdout=subprocess.PIPE)
check("overhead: the heading names the source", b"alloc.slab was off for" in p.stdout.split(b"\n")[0], p.stdout[:300])
info = run("info", "-i", t.path)
check("overhead: info lists it", "sources that were off" in info and "max-overhead" in info, info[:600])

t = Trace(tmp + "/starts")
gaps = {g["source"]: g for g in t.sql("SELECT source, min(from_ns) AS from_ns, count(*) AS n FROM source_gaps GROUP "
                                      "BY source")}
check("overhead: alloc.rss and alloc.vm go off and stay so", set(gaps) == {"alloc.rss", "alloc.vm"}, gaps)
n = t.one("SELECT count(DISTINCT b.from_ns) FROM blocks b JOIN (SELECT min(from_ns) AS ts FROM source_gaps GROUP BY "
          "source) g ON g.ts >= b.from_ns AND g.ts < b.to_ns")
check("overhead: what is needed goes off at once, in the same slice", n == 1, (n, gaps))
for source, g in gaps.items():
    rows = t.sql("SELECT * FROM hook_stats WHERE source = '%s' AND from_ns >= %d AND (attempted_cnt <> 0 OR read_cnt "
                 "<> 0)" % (source, g["from_ns"]))
    check("overhead: %s has no events once it is off, whatever programs start" % source, not rows, rows[:3])
bad = t.sql("SELECT * FROM hook_stats WHERE attempted_cnt < 0 OR read_cnt < 0 OR sampled_cnt < 0")
check("overhead: no count is below nothing", not bad, bad[:3])
p = subprocess.run([EBPFREC, "report", "-i", t.path, "cost", "--format", "csv"], stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE)
rows = rows_of(p.stdout.decode()) if p.returncode == 0 else []
span = t.one("SELECT max(to_ns) FROM blocks") * os.cpu_count()
check("overhead: report cost knows what was spent, and not more than there was", rows
      and all(0 <= r["cpu_ns"] <= span for r in rows), (span, [r for r in rows if not 0 <= r["cpu_ns"] <= span]
                                                        or p.stderr))

t = Trace(tmp + "/wide")
check("overhead: within the budget nothing is turned off", t.one("SELECT count(*) FROM source_gaps") == 0
      and "is off" not in open(tmp + "/wide.err").read(), t.sql("SELECT * FROM source_gaps"))
