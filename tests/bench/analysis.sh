#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# analysis.sh [--events N] [--long N] [--rounds N] [--keep]: what questions to a large trace cost.
#
# Makes a trace of N events (100M) and, unless --long 0, one of N more (1G) with gen_trace_large, asks
# each the questions below, and prints medians of wall time, CPU time and resident memory, one line per
# measurement, tab-separated:
#
#     events  what  wall_s  cpu_s  rss_mib  target
#
# index: making the index, once. NAME_1s: a view over one second in the middle, with the index. summary:
# the whole trace. sqlite: rows per second of `export --to sqlite`, including indexes and sync, for a trace of
# 5M events: median, slowest and fastest run, and its CPU time. The last lines compare the targets with the
# measured values. Traces are in $EBPFREC_BENCH_DIR (/var/tmp), about 5 bytes per event, and are
# deleted unless --keep. Needs no root.
set -u

bench=$(cd "$(dirname "$0")" && pwd)
BUILD=${BUILD:-$bench/../../build}
EBPFREC=${EBPFREC:-$BUILD/ebpfrec}
gen=$BUILD/bench/bin/gen_trace_large
events=100M long=1G rounds=5 keep=
export LC_ALL=C

while [ $# -gt 0 ]; do
	case $1 in
	--events) events=$2; shift ;;
	--long) long=$2; shift ;;
	--rounds) rounds=$2; shift ;;
	--keep) keep=1 ;;
	*) sed -n '4p' "$0" | sed 's/^# /usage: /' >&2; exit 2 ;;
	esac
	shift
done
[ -x "$gen" ] && [ -x "$EBPFREC" ] || { echo "analysis.sh: run make all bench-bin first" >&2; exit 1; }
dir=$(mktemp -d "${EBPFREC_BENCH_DIR:-/var/tmp}/ebpfrec-analysis.XXXXXX") || exit 1
[ -n "$keep" ] || trap 'rm -rf "$dir"' EXIT
failed=0

# wall, CPU and memory of one run; its output is in $dir/out
measure()
{
	/usr/bin/time -o "$dir/time" -f '%e %U %S %M' "$@" >"$dir/out" 2>"$dir/err" || {
		echo "analysis.sh: $*: $(tail -1 "$dir/err")" >&2
		failed=1
		echo 0 0 0 0 >"$dir/time"
	}
	tail -1 "$dir/time"
}

# print EVENTS WHAT ROUNDS TARGET COMMAND...: the median of each figure
print()
{
	local n=$1 what=$2 count=$3 target=$4 i

	shift 4
	: >"$dir/samples"
	for ((i = 0; i < count; i++)); do
		measure "$@" >>"$dir/samples"
	done
	awk -v n="$n" -v what="$what" -v target="$target" '
		function median(v, k,   i, j, x) {
			for (i = 2; i <= k; i++) {
				x = v[i]
				for (j = i - 1; j > 0 && v[j] > x; j--)
					v[j + 1] = v[j]
				v[j + 1] = x
			}
			return v[int((k + 1) / 2)]
		}
		{ wall[NR] = $1; cpu[NR] = $2 + $3; rss[NR] = $4 / 1024 }
		END { printf "%s\t%s\t%.2f\t%.2f\t%.0f\t%s\n", n, what, median(wall, NR), median(cpu, NR),
			median(rss, NR), target }' "$dir/samples" | tee -a "$dir/results"
}

ask()
{
	local n=$1 trace=$2 middle=$3 view

	print "$n" index 1 '<= 60 s for 100M' "$EBPFREC" report -i "$trace" cpu --from "${middle}s" --to "$((middle + 1))s"
	for view in cpu sched alloc io latency spikes; do
		print "$n" "${view}_1s" "$rounds" '<= 0.5 s, <= 256 MiB' \
			"$EBPFREC" report -i "$trace" "$view" --from "${middle}.3s" --to "$((middle + 1)).3s" --format csv
	done
	print "$n" summary "$rounds" '<= 2 s for 100M' "$EBPFREC" report -i "$trace" summary
}

make_trace()
{
	"$gen" -n "$1" "$2" >"$2.totals" || { echo "analysis.sh: no trace of $1 events" >&2; exit 1; }
}

total()
{
	sed -n "s/^$2=//p" "$1.totals"
}

# Reports over the whole trace equal the generator's figures.
check()
{
	local trace=$1 ios bytes

	ios=$("$EBPFREC" sql -i "$trace" --format csv \
		"SELECT sum(ios) || ' ' || sum(bytes) FROM io_usage(NULL, NULL, 0, 'none')" | tail -1 | tr -d '"')
	bytes=$("$EBPFREC" sql -i "$trace" --format csv \
		"SELECT sum(alloc_bytes) FROM alloc_usage(NULL, NULL, 0, 'none') WHERE source = 'slab'" | tail -1)
	if [ "$ios" = "$(total "$trace" ios) $(total "$trace" io_bytes)" ] &&
		[ "$bytes" = "$(total "$trace" slab_bytes)" ]; then
		echo "totals of $(total "$trace" events) events: as generated"
	else
		echo "totals: reports say ios and bytes $ios, slab bytes $bytes; generated were" \
			"$(total "$trace" ios) $(total "$trace" io_bytes), $(total "$trace" slab_bytes)"
		failed=1
	fi
}

printf 'events\twhat\twall_s\tcpu_s\trss_mib\ttarget\n'
make_trace "$events" "$dir/short"
ask "$events" "$dir/short" $(($(total "$dir/short" span_ns) / 2000000000))
check "$dir/short"
if [ "$long" != 0 ]; then
	make_trace "$long" "$dir/long"
	ask "$long" "$dir/long" $(($(total "$dir/long" span_ns) / 2000000000))
	check "$dir/long"
	awk -F '\t' -v a="$events" -v b="$long" '
		$2 ~ /_1s$/ { cpu[$1, $2] = $4 + 0.01; seen[$2] = 1 }
		END { for (v in seen) printf "%s: CPU time on %s is %.2f x that on %s (target 1.2)\n", v, b,
			cpu[b, v] / cpu[a, v], a }' "$dir/results" | sort
fi
make_trace 5M "$dir/small"
for ((i = 0; i < rounds; i++)); do
	measure "$EBPFREC" export -i "$dir/small" --to sqlite -f -o "$dir/small.db" >>"$dir/sqlite"
done
rows=$(sed -n 's/.*: \([0-9,]*\) rows$/\1/p' "$dir/err" | tr -d ,)
sort -n "$dir/sqlite" | awk -v rows="${rows:-0}" '
	$1 > 0 { wall[++n] = $1; cpu += $2 + $3; if ($4 > rss) rss = $4 }
	END { if (n) printf "sqlite: %.2f M rows/s (%.2f .. %.2f of %d runs; target 1.5), " \
		"%.2f M per second of CPU, %.0f MiB\n",
		rows / wall[int((n + 1) / 2)] / 1e6, rows / wall[n] / 1e6, rows / wall[1] / 1e6, n,
		rows * n / cpu / 1e6, rss / 1024 }'
exit $failed
