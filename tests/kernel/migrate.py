# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by migrate.sh."""
import json
from trace_query import *

tmp = os.environ["tmp"]
w = json.load(open(tmp + "/facts"))
MOVES = """SELECT ts_ns, from_cpu, to_cpu FROM migrations JOIN threads ON threads.utid = target_utid
           WHERE tid = %d AND ts_ns >= %d AND ts_ns < %d ORDER BY ts_ns"""
t = Trace(tmp + "/migrate")
moves = t.sql(MOVES % (w["pid"], t.at(w["from"]), t.at(w["to"])))
a, b = w["cpus"]
wanted = [(a, b), (b, a)] * 200
got = [(m["from_cpu"], m["to_cpu"]) for m in moves]
check("migrate: 400 moves, to and fro", got == wanted, "%d moves, first %s" % (len(got), got[:4]))
if w["before"] is None:
    print("SKIP migrate count: this kernel has no /proc/PID/sched")
else:
    check("migrate: as many as the kernel counted", len(moves) == w["after"] - w["before"], "%d, kernel %d" %
          (len(moves), w["after"] - w["before"]))
c = Trace(tmp + "/cut")
check("migrate: a cut of the process has its moves", len(c.sql(MOVES % (w["pid"], -1 << 62, 1 << 62))) >= 400,
      open(tmp + "/cut.err").read())
check("migrate: off unless asked for", Trace(tmp + "/without").sql("SELECT count(*) AS n FROM migrations")[0]["n"] == 0,
      "rows")
