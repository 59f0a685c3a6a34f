#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --heap=512KiB, ten times, beside a full recording of the same program (gcc, Python, sqlite3). Totals are within
# their error in at least 85 % of the runs (the reports state nine of ten), and large call sites are among the
# largest of the samples. A pair of malloc and free that is not a sample takes at most 5 ns more. Samples are random
# and times vary, hence the tolerances. After that allocators of C++, whose counts are exact.
. "$(dirname "$0")/../kernel/harness.bash"

cc -O2 -D_GNU_SOURCE -I "$here/../bench/load" -o "$tmp/pairs" "$here/../bench/load/load_heap.c" ||
	{ not_ok "heap_sampled: the program is built" "$?"; exit 1; }
checker <"$top/tests/full/heap_sampled.py"

# ---- memory of random programs ----

# 40 random programs (memory_random.c) with fork, exec, threads and kinds of mappings count what they touch: growth,
# peak and the burst of each process in the trace are the process's own, within 6 MiB: what the loader and the C library
# of a small program take, twice if it calls exec, the stacks of its threads, and the kernel's batches.
fresh

cc -O1 -pthread -o "$tmp/memory_random" "$top/tests/full/memory_random.c" ||
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

# ---- allocators of C++ ----

# C++ with jemalloc, tcmalloc and mimalloc, linked and preloaded: a program counts its own calls of every form of new,
# delete, malloc and free, in threads and a forked child, and the trace has the same counts. So it has by uprobes, of a
# static program and of a jemalloc linked in.
fresh

command -v c++ >/dev/null || { skip heap_allocators "there is no c++"; exit 0; }
build=(c++ -std=c++17 -O1 -fno-builtin -pthread "$top/tests/full/heap_allocators.cc")
"${build[@]}" -o "$tmp/plain" || { not_ok "heap: the program is built" "$?"; exit 1; }
libs=
for lib in jemalloc tcmalloc tcmalloc_minimal mimalloc; do
	if "${build[@]}" -o "$tmp/with_$lib" -Wl,--no-as-needed "-l$lib" 2>/dev/null; then
		libs+=" $(ldd "$tmp/with_$lib" | awk -v lib="lib$lib.so" 'index($1, lib) == 1 { print $3 }')"
	else
		skip "heap: $lib" "its development package is not installed"
	fi
done

# shellcheck disable=SC2016
recorded library --heap --ring-size 32MiB -e alloc.heap,task -- sh -c '
	for program in "$1"/with_*; do [ ! -e "$program" ] || "$program" 300; done
	for lib in $2; do LD_PRELOAD=$LD_PRELOAD:$lib "$1/plain" 300; done
	"$1/plain" 300' sh "$tmp" "$libs"
uprobes=
if "${build[@]}" -static -o "$tmp/built_in" 2>/dev/null; then
	recorded static --heap -e alloc.heap,task -- "$tmp/built_in" 30
	uprobes=static
fi
archive=$(c++ -print-file-name=libjemalloc.a)
if [ -e "$archive" ] && "${build[@]}" -o "$tmp/archive" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -ldl; then
	recorded inside --heap -e alloc.heap,task -- "$tmp/archive" 30
	uprobes+=" inside"
fi
export uprobes libs

checker <<'EOF_PY'
from heap_counts import *

for name in ["library"] + os.environ["uprobes"].split():
    seen, counted = seen_and_counted(Trace(tmp + "/" + name), name)
    wrong = {k: (v, seen.get(k)) for k, v in counted.items() if seen.get(k) != v}
    programs = 2 * (1 + 2 * len(os.environ["libs"].split())) if name == "library" else 2
    check("heap: allocators and counts of C++, %s" % name, len(counted) == 21 * programs and not wrong,
          (len(counted), list(wrong.items())[:9]))
EOF_PY
