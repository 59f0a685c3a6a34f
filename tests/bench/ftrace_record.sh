#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# ftrace_record.sh keep|ring OUT KIB EVENTS COMMAND...: records with the kernel's own tracer, through
# tracefs, in an instance of its own; the exit status is COMMAND's.
#
#     keep    everything is read, one reader per CPU, and written to OUT/cpuN.raw
#     ring    nothing is read: the oldest events are overwritten (a flight recorder)
#
# EVENTS is class:name,...; KIB the buffer per CPU. OUT/counts gets events= (kept), lost=, bytes=.
set -u

mode=$1 out=$2 kib=$3 events=$4
shift 4
root=/sys/kernel/tracing
[ -d $root/instances ] || root=/sys/kernel/debug/tracing
inst=$root/instances/ebpfrec_bench.$$
reader=${BENCH_BIN:-$(dirname "$0")/../../build/bench/bin}/ftrace_reader
readers=()
mkdir -p "$out" && mkdir "$inst" || exit 125

finish()
{
	[ ${#readers[@]} -eq 0 ] || kill "${readers[@]}" 2>/dev/null
	echo 0 >"$inst/events/enable"
	wait
	rmdir "$inst" || { sleep 0.2; rmdir "$inst"; }
}
trap finish EXIT

# stat_sum KEY: over all CPUs
stat_sum()
{
	cat "$inst"/per_cpu/cpu*/stats | awk -v key="$1:" '$0 ~ "^" key { sum += $NF } END { printf "%d\n", sum }'
}

echo 0 >"$inst/tracing_on"
echo mono >"$inst/trace_clock"
echo "$kib" >"$inst/buffer_size_kb"
if [ "$mode" = keep ]; then
	# In a flight recorder the newest event wins; when all are to be kept, a full buffer loses the new one.
	echo 0 >"$inst/options/overwrite"
	for cpu in "$inst"/per_cpu/cpu*; do
		"$reader" "$cpu/trace_pipe_raw" "$out/${cpu##*/}.raw" &
		readers+=($!)
	done
fi
for event in ${events//,/ }; do
	echo 1 >"$inst/events/${event/://}/enable" || exit 125
done
echo 1 >"$inst/tracing_on"
"$@"
status=$?
echo 0 >"$inst/tracing_on"
if [ "$mode" = keep ]; then
	kill "${readers[@]}"
	for pid in "${readers[@]}"; do
		wait "$pid" || status=125
	done
	readers=()
fi
{
	# "entries" is the number of events in the buffer, "read events" that of events read from it.
	if [ "$mode" = keep ]; then
		echo "events=$(($(stat_sum 'read events') + $(stat_sum entries)))"
		echo "lost=$(($(stat_sum overrun) + $(stat_sum 'dropped events') + $(stat_sum 'commit overrun')))"
		echo "bytes=$(cat "$out"/*.raw | wc -c)"
	else
		# A flight recorder overwrites events on purpose: these are not lost, they were all written once.
		echo "events=$(($(stat_sum entries) + $(stat_sum overrun)))"
		echo "lost=$(($(stat_sum 'dropped events') + $(stat_sum 'commit overrun')))"
	fi
} >"$out/counts"
exit $status
