# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by record_command.sh."""
from trace_query import *


def heading(name, *args):
    return run("report", "-i", tmp + "/" + name, *args).splitlines()[0]


for name in ("rss", "left"):
    t = Trace(tmp + "/" + name)
    for args in ([], ["--by", "thread"], ["--by", "comm"], ["--by", "cpu"], ["--every", "100ms"]):
        rows = t.report("cpu", *args)
        known = [r for r in rows if r["complete"] or (r["oncpu_ns"] and r.get("comm") != "[unknown]")
                 or r.get("idle_ns") or r.get("other_ns")]
        check("-e: report cpu %s of %s, without sched.switch, claims nothing" % (" ".join(args), name), not known,
              known[:2])
    check("-e: the time of every CPU of %s is unknown" % name,
          t.one("SELECT coalesce(sum(oncpu_ns), 0) FROM cpu_usage WHERE utid != 1") == 0,
          t.sql("SELECT * FROM cpu_usage")[:3])
for name, args, word in (("rss", ["cpu"], "sched.switch was not recorded"),
                         ("rss", ["sched"], "sched.switch was not recorded; sched.wakeup"),
                         ("rss", ["timeline"], "sched.switch was not recorded"),
                         ("rss", ["io"], "block was not recorded"),
                         ("rss", ["irq"], "sched.irq was not recorded"),
                         ("rss", ["summary"], "sched.switch was not recorded; block"),
                         ("rss", ["totals"], "alloc.slab was not recorded"),
                         ("sched", ["memory"], "alloc.rss was not recorded"),
                         ("sched", ["alloc"], "alloc was not recorded"), ("left", ["cpu"], "sched.switch was off")):
    line = heading(name, *args)
    check("-e: report %s says that %s" % (args[0], word), "INCOMPLETE: " in line and word in line, line)
for name, args in (("rss", ["memory"]), ("rss", ["alloc"]), ("rss", ["loss"]), ("sched", ["cpu"]), ("sched", ["sched"]),
                   ("sched", ["loss"])):
    line = heading(name, *args)
    check("-e: report %s of %s needs nothing that was not recorded" % (args[0], name), "not recorded" not in line, line)
check("-e: totals of less than all are marked", [r["complete"] for n in ("rss", "sched")
                                                 for r in Trace(tmp + "/" + n).report("totals")] == [0, 0], "complete")
