# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by self_cost.sh."""
from trace_query import *
t = Trace(tmp + "/busy")
me = {r["pid"] for r in t.sql("SELECT pid FROM processes WHERE is_recorder")}
names = sorted(r["comm"] for r in t.sql("SELECT comm FROM processes WHERE is_recorder"))
check("self: the recorder is tagged, and its helpers", names == ["ebpfrec", "ebpfrec-open", "ebpfrec-stats"], names)
def oncpu(*args):
    return sum(r["oncpu_ns"] for r in t.report("cpu", "--by", "process", *args) if r["pid"] in me)
check("self: not in report cpu by default", oncpu() == 0, oncpu())
check("self: in it with --with-recorder", oncpu("--with-recorder") > 1_000_000, oncpu("--with-recorder"))
for view in ("alloc", "io", "spikes", "sched"):
    n = [r for r in t.report(view) if r.get("pid") in me]
    check("self: not in report %s by default" % view, not n, n[:2])
# With its helpers. Switches do not include the interrupts of its time if the kernel accounts for them separately.
for name in ("idle", "busy"):
    at = Trace(tmp + "/" + name)
    cost = at.sql("SELECT sum(user_ns + sys_ns) AS cpu, sum(bytes_written) AS bytes, max(rss_bytes) AS rss, "
                  "min(from_ns) AS lo, max(to_ns) AS hi FROM cost")[0]
    shown = at.one("SELECT sum(oncpu_ns) FROM cpu_usage(%d, %d, 0) JOIN processes USING (upid) WHERE is_recorder" %
                   (cost["lo"], cost["hi"]))
    near("self: the CPU it says it used is what the switches show, %s" % name, cost["cpu"], shown, rel=0.15,
         absolute=10_000_000)
disk = sum(os.path.getsize(tmp + "/busy/" + f) for f in os.listdir(tmp + "/busy"))
check("self: bytes written as on disk", 0.5 * disk <= cost["bytes"] <= 1.05 * disk, (cost, disk))
check("self: memory is bounded", 0 < cost["rss"] < 300 << 20, cost)
check("self: report cost answers", len(t.report("cost")) > 0, "no rows")

def events(name):
    m = re.search(r"([0-9][0-9,]*) events", open("%s/%s.err" % (tmp, name)).read())
    return int(m.group(1).replace(",", "")) if m else None
TABLES = ("switches", "wakeups", "slab_allocs", "slab_frees", "page_allocs", "page_frees", "rss_points", "vm_points",
          "block_events", "dirty_events")
t = Trace(tmp + "/idle")
def caused(second, whose):
    return sum(t.one("SELECT count(*) FROM %s WHERE utid %s (SELECT utid FROM threads WHERE is_recorder) AND ts_ns "
                     ">= %d AND ts_ns < %d" % (x, whose, second * 10**9, (second + 1) * 10**9)) for x in TABLES)
seconds = [(caused(second, "IN"), caused(second, "NOT IN")) for second in (1, 2, 3)]
fed = [own for own, others in seconds if not 0 < own < min(30000, max(2000, others / 4))]
check("self: it does not feed itself", len(fed) <= 1, "events of its own and of others in three seconds: %s" % seconds)
for name in ("idle", "busy"):
    kinds = Trace(tmp + "/" + name)
    rows = sum(kinds.one("SELECT count(*) FROM " + x) for x in TABLES)
    tasks = kinds.balance(["task"])["task"]
    near("self: %s: the closing line's number is what the tables hold" % name, events(name),
         rows + (tasks[1] if tasks else 0), rel=0.02)
