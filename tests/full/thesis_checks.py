# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by other_tools.sh."""
from trace_query import *

t = Trace(tmp + "/cpu")
FROM, TO = 600_000_000, 1_600_000_000
rows = [r for r in t.report("cpu", "--by", "process", *t.window(FROM, TO)) if r["comm"] == "stress"]
busy = max([r["util_pct"] for r in rows], default=0)
unknown = t.unknown_ns(FROM, TO) / 1e7
# its waits for a CPU while other threads ran: it never sleeps
waits = t.one("SELECT coalesce(sum(min(ts + wait, %d) - max(ts, %d)), 0) FROM (SELECT start_ns - wait_ns AS ts, "
              "wait_ns AS wait FROM sched_slices " "WHERE utid IN (SELECT utid FROM threads WHERE tid = %d)) WHERE "
              "ts < %d AND ts + wait > %d" % (TO, FROM, max(rows, key=lambda r: r["util_pct"])["pid"], TO,
                                              FROM)) / 1e7 if rows else 0
check("thesis: stress -c 1 is about 100 %", 97 - unknown - waits <= busy <= 100,
      "%s, %.1f %% unknown, %.1f %% waiting" % (rows, unknown, waits))

t = Trace(tmp + "/memory")
rows = [r for r in t.report("alloc", "--by", "process") if r["comm"] == "stress" and r["source"] == "rss"]
peak = max([r["peak_bytes"] for r in rows], default=0) / (1 << 20)
check("thesis: stress -m 1 --vm-bytes 512M is about 512 MiB", 512 <= peak <= 520, "%.1f MiB: %s" % (peak, rows))

if os.environ["have_disk"] == "1":
    t = Trace(tmp + "/disk")
    lines = [line.split() for line in open(tmp + "/iostat")]
    head = next(line for line in lines if line and line[0] == "Device")
    iostat = dict(zip(head[1:], map(float, next(line for line in lines if line
                                                and line[0] == os.environ["loop_name"])[1:])))
    rows = [r for r in t.report("io", "--by", "device") if r["device"] == os.environ["loop_name"]
            and r["op"] == "write"]
    check("thesis: stress --hdd wrote", iostat["wkB/s"] > 1000, iostat)
    near("thesis: bytes per second within 5 % of iostat", sum(r["bytes"] for r in rows) / 1024 / 6, iostat["wkB/s"],
         rel=0.05)
    near("thesis: writes per second within 5 % of iostat", sum(r["ios"] for r in rows) / 6, iostat["w/s"], rel=0.05)
