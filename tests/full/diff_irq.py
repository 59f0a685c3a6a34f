# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by cpu_time.sh."""
from trace_query import *
with_, without = Trace("irq"), Trace("without")
check("diff irq: there are interrupts in the one alone", with_.one("SELECT count(*) FROM irq_events") > 50
      and without.one("SELECT count(*) FROM irq_events") == 0,
      (with_.one("SELECT count(*) FROM irq_events"), without.one("SELECT count(*) FROM irq_events")))
rows = rows_of(open("rows.csv", newline="").read())
cpu = [r for r in rows if r["metric"] == "oncpu_ns"]
check("diff irq: CPU times are equal to the nanosecond", len(cpu) > 2
      and all(r["a"] == r["b"] and r["verdict"] == "same" for r in cpu), [r for r in cpu if r["a"] != r["b"]][:3])
check("diff irq: so is all else", all(r["verdict"] == "same" and r["a"] == r["b"] for r in rows),
      [r for r in rows if r["verdict"] != "same" or r["a"] != r["b"]][:3])
own = [r for r in cpu if r["role"].startswith("busy_threads")]
# (--comm takes only the time under that name)
taken = [r for r in with_.report("cpu") if r["comm"] == "busy_threads"]
check("diff irq: a process's time has its interrupts in it", own and taken
      and sum(r["a"] for r in own) == sum(r["oncpu_ns"] for r in taken)
      and 0 < sum(r["irq_ns"] + r["softirq_ns"] for r in taken) < sum(r["a"] for r in own), (own, taken))
