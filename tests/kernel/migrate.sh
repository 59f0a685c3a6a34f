#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Moves of a thread between CPUs (sched.migrate): a process pins itself to one CPU and to another by turns, 400 times,
# each time while it runs. Exactly these moves are in the trace, in that order: as many as the kernel counted
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
json.dump({"cpus": cpus, "before": before, "after": after, "from": start, "to": end, "pid": os.getpid()},
          open(sys.argv[1], "w"))
EOF_LOAD

[ "$(nproc)" -ge 2 ] || { skip migrate "one CPU: nothing moves"; exit 0; }
recorded migrate -e sched,sched.migrate -- python3 "$tmp/load.py" "$tmp/facts"
recorded without -e sched -- python3 "$tmp/load.py" "$tmp/unused"
"$EBPFREC" cut -i "$tmp/migrate" --pid "$(sed 's/.*"pid": \([0-9]*\).*/\1/' "$tmp/facts")" -o "$tmp/cut" >/dev/null \
	2>"$tmp/cut.err"

checker <"$here/migrate.py"
