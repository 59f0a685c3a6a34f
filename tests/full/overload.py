# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by overload.sh."""
from trace_query import *
closing = open(os.environ["tmp"] + "/over.err").read()
t = Trace(os.environ["tmp"] + "/over")
w = truth(os.environ["tmp"] + "/over.out")
sums = t.balance(("sched", "alloc", "task", "block"))
for c, s in sums.items():
    check("overload: read + lost = attempted, class %s" % c, s and s[0] == s[1] + s[2] and s[0] > 0,
          "attempted, read, lost = %s" % (s,))
check("overload: events were lost", sum(s[2] for s in sums.values() if s) > 0, sums)

kept = {"sched": ["switches", "wakeups"], "alloc": ["slab_allocs", "slab_frees", "page_allocs", "page_frees",
                                                    "rss_points", "vm_points"],
        "block": ["block_events", "dirty_events"]}
for c, tables in kept.items():
    # paths become names, not rows
    rows = sum(t.one("SELECT count(*) FROM " + name) for name in tables) + \
        t.one("SELECT coalesce(sum(read_cnt), 0) FROM hook_stats WHERE hook = 'PATH' AND class = '%s'" % c)
    said = re.search(c + r" ([0-9,]+)", closing.split(" lost")[0])	# absent: none was kept
    said = int(said.group(1).replace(",", "")) if said else 0
    check("overload: every record kept is a row, class %s" % c, rows == said == sums[c][1], "%d rows, %d said, %s" %
          (rows, said, sums[c]))

losses = t.sql("SELECT class, from_ns, to_ns, cpu, hook, full_cnt + other_cnt AS n FROM losses WHERE full_cnt + "
               "other_cnt > 0")
# The recorder reads the counters between blocks and just after the end of each but the last, so a loss lies within the
# time of a block and its neighbours. A block takes about 0.8 s. It takes longer, as do its neighbours, if the recorder,
# at the lowest priority here, cannot end it in time.
spans = t.sql("SELECT from_ns, to_ns FROM blocks ORDER BY from_ns")
reach = [(a["from_ns"], b["to_ns"]) for a, b in zip([{"from_ns": -10**18}] + spans, spans[1:] + [{"to_ns": 1 << 62}])]
wide = [r for r in losses if r["to_ns"] - r["from_ns"] > 1_300_000_000
        and not any(lo <= r["from_ns"] and r["to_ns"] <= hi for lo, hi in reach)]
check("overload: each loss is placed within about a second, or a block", losses and not wide, (wide[:3], spans))
in_bins, in_all = sum(r["lost_events"] for r in t.report("loss", "--every",
                                                         "100ms")), t.one("SELECT sum(lost_cnt) FROM losses")
check("overload: each loss counts in one bin", in_bins == in_all == sum(r["lost_events"] for r in t.report("loss")),
      (in_bins, in_all))
by_class = {r["class"]: r for r in t.report("loss")} if "class" in (t.report("loss") or [{}])[0] else {}
check("overload: report loss names the classes", bool(by_class), t.report("loss")[:3])

touched = t.report("cpu", *t.window(t.at(w["quiet_end"]), t.at(w["storm_end"])))
if sums["sched"] and sums["sched"][2]:
    check("overload: rows of the stormy window say incomplete", touched and all(r["complete"] == 0 for r in touched),
          touched[:2])
    check("overload: and how much was lost", touched and touched[0]["lost_events"] > 0, touched[:2])
# The sums hold with loss as well: time without a known owner is [unknown], not another thread's.
lo, hi = t.at(w["quiet_end"]), t.at(w["storm_end"])
for cpu in t.sql("SELECT cpu FROM cpus"):
    total = t.one("SELECT sum(oncpu_ns) FROM cpu_usage(%d, %d, 0) WHERE cpu = %d" % (lo, hi, cpu["cpu"]))
    check("overload: CPU %d still adds up to the window" % cpu["cpu"], total == hi - lo, "%s of %d" % (total, hi - lo))
bins = t.report("cpu", "--by", "thread", "--every", "10ms", *t.window(lo, hi))
high = [r for r in bins if isinstance(r.get("tid"), int) and r["tid"] > 0 and r["util_pct"] > 100]
check("overload: no thread above 100 % all the same", not high, high[:3])
