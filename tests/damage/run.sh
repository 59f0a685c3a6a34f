#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# run.sh: answers about damaged traces, DAMAGE_CASES of them (60; with TEST_ALL 500), the same ones each time;
# DAMAGE_SEED makes others. A twentieth as many are of traces that are large enough for a derived file. mutate.py says
# what must hold. Prints "ok NAME", "not ok NAME: what it saw".
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$(cd "$here/../.." && pwd)/build}
EBPFREC=${EBPFREC:-$build/ebpfrec}
gen=$build/bench/bin/gen_trace_large
dir=$(mktemp -d "${TMPDIR:-/tmp}/ebpfrec-damage.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT

[ -x "$gen" ] || { echo "not ok damage: $gen is not built; run make bench-bin"; exit 1; }
make_trace()
{
	"$gen" -c 2 "$@" >/dev/null || { echo "not ok damage: the trace cannot be made"; exit 1; }
}

cases=${DAMAGE_CASES:-$([ -n "${TEST_ALL:-}" ] && echo 500 || echo 60)} status=0
for seed in 1 7; do
	make_trace -n 20000 -r 2000 -b 40000 -s $seed "$dir/$seed"
	mkdir -p "$dir/large" && make_trace -n 2200000 -r 220000 -b 1500000 -s $seed "$dir/large/$seed"
done
# the large traces at the same time: they take about as long
python3 "$here/mutate.py" "$EBPFREC" "$dir/large/1" "$dir/large/7" $((cases / 20)) "${DAMAGE_SEED:-1}" \
	--index >"$dir/large.out" 2>&1 &
python3 "$here/mutate.py" "$EBPFREC" "$dir/1" "$dir/7" "$cases" "${DAMAGE_SEED:-1}" || status=1
wait $! || status=1
cat "$dir/large.out"
exit $status
