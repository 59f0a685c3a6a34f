# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by live_reading.sh."""
from trace_query import *
tmp, snap_ns = os.environ["tmp"], int(os.environ["snap_at"]) * 10**9
for later, name in enumerate("ab"):
    at_ns = (int(os.environ["at"]) + later) * 10**9
    t = Trace(tmp + "/" + name)
    said = open(tmp + "/" + name + ".err").read()
    read_ns = 2 * t.one("SELECT max(uncertainty_ns) FROM clocks")
    start = t.one("SELECT unix_ns(0)")
    first = t.one("SELECT unix_ns(min(ts_ns)) FROM switches")
    check("start-at: %s: no event before it" % name, at_ns - read_ns <= start <= first,
          (start - at_ns, first - at_ns, read_ns))
    # a machine that is too busy to attach in time reports it
    if "after --start-at" not in said:
        check("start-at: %s: begins there" % name, start - at_ns <= read_ns, (start - at_ns, read_ns))
    began = int(open(tmp + "/" + name + ".out").read())
    check("start-at: %s: the command starts after it, and is in the trace" % name, began >= at_ns
          and t.one("SELECT count(*) FROM processes WHERE comm = 'sleep' AND is_workload") == 1, began - at_ns)

bins = {}
p = subprocess.run([EBPFREC, "report", "timeline", "--every", "500ms", "--align", "--format", "csv", "-i", tmp + "/a",
                    tmp + "/b"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
for r in rows_of(p.stdout):
    bins.setdefault(r["host"], set()).add((r["unix_ns"], r["t_ns"]))
both = list(bins.values())
check("align: bins of two hosts begin at the same instants", len(both) == 2 and len(both[0] & both[1]) >= 5, both)
check("align: these are whole multiples of UTC", all(ns % 500_000_000 == 0 for b in both for ns, _ in b), both)
alone = rows_of(run("report", "timeline", "--every", "500ms", "--align", "--format", "csv", "-i", tmp + "/b"))
check("align: and those of a trace alone are the same", {r["unix_ns"] for r in alone} == {ns for ns,
    _ in bins["other"]}, alone[:2])
near("align: as exact as the clock was read", max(r["wall_uncertainty_ns"] for r in alone), 0, absolute=1_000_000)

snap = Trace(tmp + "/snap")
end = snap.one("SELECT unix_ns(max(ts_ns)) FROM clocks")
made_ns = int(snap.one("SELECT value FROM info WHERE key = 'snapshot.real_ns'"))
blocks = [r["ns"] for r in Trace(tmp + "/a").sql("SELECT unix_ns(to_ns) AS ns FROM blocks")]
check("snapshot --at: has everything up to then, and was made while recording",
      snap_ns <= end < Trace(tmp + "/a").one("SELECT unix_ns(max(ts_ns)) FROM clocks"),
      (end - snap_ns, made_ns - snap_ns, [ns - snap_ns for ns in blocks]))
