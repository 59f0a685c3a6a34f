# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by live_reading.sh."""
from trace_query import *
a, b = Trace(tmp + "/a"), Trace(tmp + "/b")
START = "SELECT real_ns - ts_ns AS ns FROM clocks ORDER BY ts_ns LIMIT 1"
apart = b.one(START) - a.one(START)
p = subprocess.run([EBPFREC, "report", "cpu", "--format", "csv", "-i", a.path, b.path], stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE, text=True)
rows = rows_of(p.stdout)
for host, t in ((a.one("SELECT value FROM info WHERE key = 'host'"), a), ("other", b)):
    mine = [{k: v for k, v in r.items() if k != "host"} for r in rows if r["host"] == host]
    check("hosts: rows of %s are those of its trace alone" % host, mine == t.report("cpu") and len(mine) > 1, mine[:2])
check("hosts: the uncertainty is said", "aligned by wall clock" in p.stderr and "not known" in p.stderr, p.stderr)
rows = rows_of(run("report", "timeline", "--every", "100ms", "--format", "csv", "-i", a.path, b.path))
first = min(r["t_ns"] for r in rows if r["host"] == "other")
check("hosts: bins of both are the axis' own", all(r["t_ns"] % 100_000_000 == 0 for r in rows), first)
check("hosts: the second begins where the wall clock says (%d ms later)" % (apart // 1_000_000),
      first <= apart < first + 100_000_000 and min(r["t_ns"] for r in rows) == 0, (first, apart))
window = ["--from", "%dns" % (apart + 50_000_000), "--to", "%dns" % (apart + 150_000_000)]
rows = [r for r in rows_of(run("report", "cpu", "--format", "csv", *window, "-i", a.path, b.path))
        if r["host"] == "other"]
alone = b.report("cpu", "--from", "50ms", "--to", "150ms")
busy = max(alone, key=lambda r: r["oncpu_ns"])
near("hosts: a window of the axis", next(r["oncpu_ns"] for r in rows if r["pid"] == busy["pid"]), busy["oncpu_ns"],
     absolute=2_000_000)
