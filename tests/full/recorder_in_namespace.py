# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by containers.sh."""
from trace_query import *
t = Trace(tmp + "/inside")
shell = int(open(tmp + "/inside.out").read())
rows = t.sql("SELECT pid, ns_pid, comm FROM processes WHERE is_workload ORDER BY pid")
check("pid namespace: the command of a recorder in one is its workload", [r["comm"] for r in rows] == ["sh", "sleep"]
      and rows[0]["ns_pid"] == shell and
      rows[0]["pid"] != shell, (shell, rows))
rows = t.sql("SELECT pid, ns_pid, comm FROM processes WHERE is_recorder")
check("pid namespace: and it knows itself and its helper, and nobody else", 1 <= len(rows) <= 2
      and rows[0]["ns_pid"] == 1 and
      all(r["comm"].startswith("ebpfrec") for r in rows), rows)
manifest = dict(line.split("=", 1) for line in open(tmp + "/inside/manifest").read().split("\n") if "=" in line)
check("pid namespace: the manifest has ids as the trace does", [manifest["recorder.pid"], manifest["command.pid"]] ==
      [str(rows[0]["pid"]), str(t.one("SELECT pid FROM processes WHERE is_workload AND ns_pid = %d" % shell))],
      manifest)
