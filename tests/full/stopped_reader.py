# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by overload.sh."""
from trace_query import *

# Per class at the end of every slice: attempted events, and those known to be read or lost. The rest is in buffers.
ALONG = """
SELECT h.to_ns AS at, h.class AS class,
       (SELECT sum(attempted_cnt - read_cnt) FROM hook_stats x WHERE x.class = h.class AND x.to_ns <= h.to_ns) -
       (SELECT ifnull(sum(full_cnt + other_cnt), 0) FROM losses l WHERE l.class = h.class AND l.to_ns <= h.to_ns) AS
       open
FROM hook_stats h GROUP BY h.to_ns, h.class
"""
RECORDS = 2 * (4 << 20) // 32 * os.cpu_count()

t = Trace(os.environ["tmp"] + "/stopped")
w = truth(os.environ["tmp"] + "/stopped.out")
sums = t.balance(("sched", "alloc", "task", "block"))
for c, s in sums.items():
    if s:
        check("read + lost = attempted, class %s" % c, s[0] == s[1] + s[2], "attempted, read, lost = %s" % (s,))
for c in ("sched", "alloc"):
    check("the stop cost events, class %s" % c, sums[c] and sums[c][2] > 0, sums[c])
stop, cont = t.at(w["stop"]), t.at(w["cont"])
losses = t.sql("SELECT from_ns, to_ns, class, full_cnt + other_cnt AS n FROM losses WHERE full_cnt + other_cnt > 0")
# from the last look before the stop to the first after it, on a busy machine
far = [r for r in losses if r["from_ns"] < stop - 500_000_000 or r["to_ns"] > cont + 500_000_000]
check("losses are placed around the stop", losses and not far, (stop, cont, far[:3]))
along = t.sql(ALONG)
odd = [r for r in along if r["open"] < 0]
check("at no instant more is read and lost than was attempted", len(along) > 4 and not odd, odd[:3])
odd = [r for r in along if (r["at"] < stop or r["at"] > cont + 900_000_000) and r["open"] > RECORDS]
check("nor is more on its way than rings hold, but for the stop", not odd, odd[:3])
first = min([r["from_ns"] for r in losses], default=0)
last = max([r["to_ns"] for r in losses], default=0)
for name, lo, hi in (("before", t.at(w["begin"]), first), ("after", last, t.at(w["end"]))):
    rows = t.report("cpu", *t.window(lo, hi)) if hi > lo else []
    # the kernel did not run the programs for these: a task that it hides from BPF had the CPU
    missed = sum(r["missed_cnt"] for r in t.sql("SELECT missed_cnt FROM losses WHERE class = 'sched' AND from_ns < "
                                                "%d AND to_ns > %d" % (hi, lo)))
    # the name of a thread may be wrong after a lost event of a task (schema/LIMITS.md)
    names = t.one("SELECT ifnull(sum(full_cnt + other_cnt), 0) FROM losses WHERE class = 'task' AND from_ns < %d" % hi)
    check("the time %s the losses is complete, but for names" % name, rows
        and all(r["complete"] == (not missed and not names) and r["lost_events"] <= missed for r in rows),
        (lo, hi, missed, names, rows[:2]))
# a loss counts where its time ends, which is the first look after the stop
rows = t.report("cpu", *t.window(stop, max(cont, last + 1)))
check("the time of the stop says incomplete", rows and all(r["complete"] == 0 for r in rows)
      and rows[0]["lost_events"] > 0, rows[:2])

t = Trace(os.environ["tmp"] + "/storm")
lost = t.sql("SELECT hook, sum(full_cnt) AS f, sum(other_cnt) AS o FROM losses GROUP BY 1 HAVING f + o > 0")
check("rings of the default size lose nothing in a storm", not lost, lost)
n = sum(t.one("SELECT sum(read_cnt) FROM hook_stats WHERE class = '%s'" % c) for c in ("sched", "alloc"))
check("and all of it is there", n >= 2 * 2 * 50000 + 30000, n)
