#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# 40 random programs (memory_random.c) with fork, exec, threads and kinds of mappings count what they touch: growth,
# peak and the burst of each process in the trace are the process's own, within 6 MiB: what the loader and the C library
# of a small program take, twice if it calls exec, the stacks of its threads, and the kernel's batches.
. "$(dirname "$0")/../kernel/harness.bash"

command -v cc >/dev/null || { skip memory_random "there is no cc"; exit 0; }
cc -O1 -pthread -o "$tmp/memory_random" "$(dirname "$0")/memory_random.c" ||
	{ not_ok "memory: it is built" "$?"; exit 1; }
# shellcheck disable=SC2016
recorded random --ring-size 16MiB -e alloc.rss,task -- sh -c 'for seed in $(seq 40); do "$1" $seed; done' sh \
	"$tmp/memory_random"

checker <<'EOF_PY'
from trace_query import *

tmp, BOUND = os.environ["tmp"], 6 << 20
t = Trace(tmp + "/random")
procs = [tuple(map(int, v.split(","))) for v in truth(tmp + "/random.out")["proc"]]
def by_pid(sql):
    return {r["pid"]: r["bytes"] for r in t.sql("SELECT pid, max(u.%s) AS bytes FROM %s AS u JOIN processes AS p "
                                               "ON p.upid = u.upid WHERE p.is_workload GROUP BY pid" % sql)}


seen = {"grown": by_pid(("alloc_bytes", "(SELECT * FROM alloc_usage() WHERE source = 'rss')")),
        "peak": by_pid(("rss_peak_bytes", "memory_levels()")),
        "burst": by_pid(("bytes", "spikes(NULL, NULL, 1000000000000, 1048576, 'rss')"))}
check("memory: each process of 40 random programs is there", len(procs) >= 40
      and all(p[0] in seen["peak"] for p in procs),
      (len(procs), [p for p in procs if p[0] not in seen["peak"]][:5]))
for what, own in (("grown", lambda base, touched, highest: touched),
                  ("peak", lambda base, touched, highest: base + highest),
                  ("burst", lambda base, touched, highest: highest)):
    far = [(p, seen[what].get(p[0], 0), own(*p[1:])) for p in procs
           if abs(seen[what].get(p[0], 0) - own(*p[1:])) > BOUND]
    check("memory: %s of each process is its own count" % what, not far, (len(far), far[:5]))
check("memory: nothing is lost", t.balance(["alloc"])["alloc"][2] == 0, t.balance(["alloc"]))
EOF_PY
