#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Moves of a thread between CPUs (sched.migrate): a process pins itself to one CPU and to another by turns, 400 times, each
# time while it runs. Exactly these moves are in the trace, in that order: as many as the kernel counted
# (se.nr_migrations of /proc/PID/sched, where the kernel has that file). No tolerance.
. "$(dirname "$0")/harness.bash"

cat >"$tmp/load.py" <<'EOF_LOAD'
import json, os, re, sys, time

def counted():
    try:
        return int(re.search(r"nr_migrations\s*:\s*(\d+)", open("/proc/self/sched").read()).group(1))
    except (OSError, AttributeError):
        return None

cpus = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(0, cpus[:1])
before, start = counted(), time.clock_gettime_ns(time.CLOCK_MONOTONIC)
for i in range(400):
    os.sched_setaffinity(0, [cpus[(i + 1) % 2]])
end, after = time.clock_gettime_ns(time.CLOCK_MONOTONIC), counted()
json.dump({"cpus": cpus, "before": before, "after": after, "from": start, "to": end, "pid": os.getpid()}, open(sys.argv[1], "w"))
EOF_LOAD

[ "$(nproc)" -ge 2 ] || { skip migrate "one CPU: nothing moves"; exit 0; }
recorded migrate -e sched,sched.migrate -- python3 "$tmp/load.py" "$tmp/facts"
recorded without -e sched -- python3 "$tmp/load.py" "$tmp/unused"
"$EBPFREC" cut -i "$tmp/migrate" --pid "$(sed 's/.*"pid": \([0-9]*\).*/\1/' "$tmp/facts")" -o "$tmp/cut" >/dev/null 2>"$tmp/cut.err"

checker <<'EOF_PY'
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
    check("migrate: as many as the kernel counted", len(moves) == w["after"] - w["before"], "%d, kernel %d" % (len(moves), w["after"] - w["before"]))
c = Trace(tmp + "/cut")
check("migrate: a cut of the process has its moves", len(c.sql(MOVES % (w["pid"], -1 << 62, 1 << 62))) >= 400, open(tmp + "/cut.err").read())
check("migrate: off unless asked for", Trace(tmp + "/without").sql("SELECT count(*) AS n FROM migrations")[0]["n"] == 0, "rows")
EOF_PY
