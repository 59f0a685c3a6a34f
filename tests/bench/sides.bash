# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# sides.bash: the tools that are compared, one way to run each of them.
#
#     run_side SIDE SET COMMAND...
#
# runs COMMAND recorded by SIDE with the events of SET. It leaves in $run: work.kv and tool.kv (see
# meter/run_meter.c; work.kv only unless SIDE starts COMMAND itself), work.out, tool.err, and the
# recording. side_counts SIDE then sets events, lost (of these, skipped: the kernel did not run the
# program) and bytes.
#
# Sides
#     none          COMMAND alone, under the same meters
#     ebpfrec       ebpfrec record
#     ebpfrec-light    ebpfrec record -e light, for any SET
#     ebpfrec-old   another build, $EBPFREC_OLD, in the same rounds
#     ebpfrec-uprobes  ebpfrec record, the heap by uprobes, which the -p makes it use
#     perf, perf-z  perf record, plain and compressed, system-wide, every event (-c 1), no build ids
#     ftrace        tracefs, every event read and written to files
#     ftrace-ring   tracefs, flight recorder: nothing is read or written
#     perf-watched, ftrace-watched  the same while ebpfrec records how long they keep other threads waiting
#     bpf-count     bpftrace, one counter over all events: nothing is kept
#     floor-empty, floor-clock  a program at each hook that ebpfrec has one at, which does nothing, or reads the clock:
#                   no recorder by programs can cost less
#     bpf-print     bpftrace, one line of text (time, CPU, thread) per event, to a file
#     ebpfrec-offcpu   ebpfrec record --offcpu 10ms, besides the events of SET
#     perf-offcpu   perf record --off-cpu, of the whole machine: time off the CPU, added up by stack in the kernel
#     bcc-offcpu    bcc's offcputime (of libbpf-tools: the one in Python needs the kernel's headers), the same;
#                   of waits of 10 ms and more
#
# All sides write to the same disk and have the same buffer per CPU, $buffer_kib, which is
# ebpfrec's default. All record the whole machine, themselves included.

buffer_kib=8192

# Events: the sources for ebpfrec, and the same places in the kernel for the others. The others lack two places at
# which ebpfrec inspects every event and sends only some: mmap_lock_released (a
# process's mapped memory changed) and writeback_dirty_folio (another process writes to a file). The others
# could only record all of them, several times as many.
declare -A ebpfrec_set=(
	[switch]=sched.switch
	[sched]=sched
	[alloc]=alloc.slab,alloc.page
	[default]=sched,alloc,block
	[programs]=sched,alloc,block,sched.irq
	[heap]=alloc.heap
	[stacks]=alloc.slab,alloc.page
)
declare -A ebpfrec_more=([stacks]="--stacks 1/4")	# options
sched_points="sched:sched_switch sched:sched_waking sched:sched_wakeup_new"
task_points="task:task_newtask sched:sched_process_exec task:task_rename sched:sched_process_exit"
alloc_points="kmem:kmalloc kmem:kmalloc_node kmem:kmem_cache_alloc kmem:kmem_cache_alloc_node kmem:kfree"
alloc_points+=" kmem:kmem_cache_free kmem:mm_page_alloc kmem:mm_page_free"
block_points="block:block_rq_insert block:block_rq_issue block:block_rq_complete block:block_rq_requeue"
block_points+=" block:block_rq_error block:block_rq_merge block:block_io_start block:block_io_done"
declare -A points_set=(
	[switch]="sched:sched_switch"
	[sched]="$sched_points $task_points"
	[alloc]="$alloc_points"
	[default]="$sched_points $task_points $alloc_points kmem:rss_stat mmap:vm_unmapped_area $block_points"
	[getpid]="syscalls:sys_enter_getpid"
	[read]="syscalls:sys_enter_read"
)
# Where ebpfrec looks and the others do not (see above); on the sides floor-* there are programs, too.
declare -A points_more=([default]="mmap:mmap_lock_released writeback:writeback_dirty_folio" [switch]="$task_points")
tracefs=/sys/kernel/tracing
# perf, bpftrace and ftrace find tracepoints there. If it is not mounted, this mounts it; the mount stays, as it does
# with other tools.
[ -d $tracefs/events ] || [ -d /sys/kernel/debug/tracing/events ] || mount -t tracefs tracefs $tracefs 2>/dev/null
[ -d $tracefs/events ] || tracefs=/sys/kernel/debug/tracing

# points_of SET [POINTS]: the tracepoints of a set, and others, that this kernel has, separated by commas.
points_of()
{
	local p list=

	for p in ${points_set[$1]} ${2:-}; do
		[ -d "$tracefs/events/${p/://}" ] && list+=${list:+,}$p
	done
	echo "$list"
}

# side_missing SIDE: why it cannot be run here; nothing when it can
side_missing()
{
	case ${1%-watched} in
	ebpfrec-old) [ -x "${EBPFREC_OLD:-}" ] || echo "EBPFREC_OLD names no program" ;;
	ebpfrec | ebpfrec-*) [ -x "$EBPFREC" ] || echo "$EBPFREC is not built" ;;
	perf-offcpu)
		perf version --build-options 2>/dev/null | grep -q 'bpf_skeletons: \[ on' ||
			echo "perf is not installed, or built without --off-cpu"
		;;
	bcc-offcpu)
		command -v offcputime >/dev/null || { echo "offcputime of libbpf-tools is not installed"; return; }
		timeout -k 5 60 offcputime -m 10000 1 >/dev/null 2>&1 || echo "offcputime of libbpf-tools does not run here"
		;;
	heaptrack) command -v heaptrack >/dev/null || echo "heaptrack is not installed" ;;
	perf) perf version >/dev/null 2>&1 || echo "perf is not installed" ;;
	perf-z)
		perf version --build-options 2>/dev/null | grep -q 'zstd: \[ on' ||
			echo "perf is not installed, or built without zstd"
		;;
	ftrace*) [ -d $tracefs/instances ] || echo "no tracefs" ;;
	floor-*) "$bin/floor" --attach empty task:task_rename true >/dev/null 2>&1 || echo "$bin/floor does not run here" ;;
	bpf-*)
		# See run_bpftrace.
		[[ $bin != *[[:space:]]* ]] || echo "bpftrace cannot run a command whose path has blanks"
		bpftrace --version >/dev/null 2>&1 || echo "bpftrace is not installed"
		;;
	esac
}

# bpftrace_points SET: probe,probe,...
bpftrace_points()
{
	local p
	p=$(points_of "$1")
	echo "tracepoint:${p//,/,tracepoint:}"
}

run_bpftrace()
{
	local program=$1
	shift
	# -c splits its argument at blanks and knows no quotes: no argument here has any.
	metered env BPFTRACE_PERF_RB_PAGES=$((buffer_kib / 4)) BPFTRACE_MAX_PROBES=1024 \
		bpftrace -o "$run/bpftrace.out" -e "$program" -c "$*"
}

# metered COMMAND...: the outer meter, with a time limit
metered()
{
	# in the background, because a trap can interrupt wait only; there INT would be ignored
	env --default-signal=INT,QUIT timeout -k 10 "$run_limit_s" "$meter" "$run/tool.kv" ${watch[@]+"${watch[@]}"} \
		"$@" >"$run/work.out" 2>"$run/tool.err" &
	child=$!
	wait "$child"
	set -- $?
	child=''
	return "$1"
}

run_side()
{
	local side=${1%-watched} set=$2 inner=("$meter" "$run/work.kv" "${@:3}") watch=()

	[ "$side" = "$1" ] || watch=("$EBPFREC" record -q -o "$run/watch" -e sched --)
	rm -rf "$run"
	mkdir -p "$run"
	case $side in
	none)
		metered "${inner[@]}"
		;;
	ebpfrec)
		# shellcheck disable=SC2086
		metered "$EBPFREC" record -o "$run/trace" -e "${ebpfrec_set[$set]}" ${ebpfrec_more[$set]:-} -- "${inner[@]}"
		;;
	ebpfrec-old)
		# shellcheck disable=SC2086
		metered "$EBPFREC_OLD" record -o "$run/trace" -e "${ebpfrec_set[$set]}" ${ebpfrec_more[$set]:-} -- "${inner[@]}"
		;;
	ebpfrec-light)
		metered "$EBPFREC" record -o "$run/trace" -e light -- "${inner[@]}"
		;;
	ebpfrec-uprobes)
		metered "$EBPFREC" record -o "$run/trace" -e "${ebpfrec_set[$set]}" -p $$ -- "${inner[@]}"
		;;
	ebpfrec-stacks)
		metered "$EBPFREC" record -o "$run/trace" -e "${ebpfrec_set[$set]}" --stacks 1/1 -- "${inner[@]}"
		;;
	ebpfrec-sampled)
		metered "$EBPFREC" record -o "$run/trace" -e "${ebpfrec_set[$set]}" --heap=512KiB -- "${inner[@]}"
		;;
	ebpfrec-offcpu)
		metered "$EBPFREC" record -o "$run/trace" -e "${ebpfrec_set[$set]}" --offcpu 10ms -- "${inner[@]}"
		;;
	perf-offcpu)
		metered perf record -q -a -B -g --off-cpu -e dummy -o "$run/perf.data" -- "${inner[@]}"
		;;
	bcc-offcpu)
		# It prints nothing when it has attached its programs.
		metered sh -c 'offcputime -m 10000 >"$0" 2>&1 & tool=$!; sleep 3; "$@"; r=$?; kill -INT $tool; wait $tool; exit $r' \
			"$run/stacks" "${inner[@]}"
		;;
	perf | perf-z)
		local z=()
		[ "$side" = perf ] || z=(-z)
		metered perf record -q -a -B "${z[@]}" -c 1 -m "${buffer_kib}K" -e "$(points_of "$set")" \
			-o "$run/perf.data" -- "${inner[@]}"
		;;
	ftrace | ftrace-ring)
		local mode=keep
		[ "$side" = ftrace ] || mode=ring
		metered "$bench/ftrace_record.sh" $mode "$run/ftrace" "$buffer_kib" "$(points_of "$set")" "${inner[@]}"
		;;
	floor-*)
		metered "$bin/floor" --attach "${side#floor-}" "$(points_of "$set" "${points_more[$set]:-}")" "${inner[@]}"
		;;
	bpf-count)
		run_bpftrace "$(bpftrace_points "$set") { @ = count(); }" "${inner[@]}"
		;;
	bpf-print)
		run_bpftrace "$(bpftrace_points "$set")"' { printf("%llu %d %d\n", nsecs, cpu, tid); }' "${inner[@]}"
		;;
	*)
		echo "no such side: $side" >"$run/tool.err"
		return 125
		;;
	esac
}

# side_counts SIDE: recorded and lost events and written bytes of the last run. Empty: the side does not report it.
side_counts()
{
	events='' lost='' skipped='' bytes=''
	case ${1%-watched} in
	ebpfrec | ebpfrec-old | ebpfrec-light | ebpfrec-stacks | ebpfrec-sampled | ebpfrec-offcpu | ebpfrec-uprobes)
		# The closing line: "ebpfrec: TRACE: N events (...), SIZE, N lost, ...".
		events=$(sed -nE 's/^ebpfrec: .*: ([0-9,]+) events.*/\1/p' "$run/tool.err" | tail -n 1 | tr -d ,)
		lost=$(sed -nE 's/^ebpfrec: .* events.*, ([0-9,]+) lost.*/\1/p' "$run/tool.err" | tail -n 1 | tr -d ,)
		skipped=$("$EBPFREC" sql -i "$run/trace" --format csv 'SELECT coalesce(sum(missed_cnt), 0) FROM losses' |
			tail -n 1 | tr -d '\r')
		bytes=$(find "$run/trace" -type f -printf '%s\n' | awk '{ sum += $1 } END { printf "%.0f\n", sum }')
		;;
	*-offcpu) events=0 ;;	# they add up, and have none
	perf | perf-z)
		"$bin/perf_count" "$run/perf.data" >"$run/counts" || return
		events=$(kv "$run/counts" events) lost=$(kv "$run/counts" lost) bytes=$(kv "$run/counts" bytes)
		;;
	ftrace | ftrace-ring)
		events=$(kv "$run/ftrace/counts" events) lost=$(kv "$run/ftrace/counts" lost)
		bytes=$(kv "$run/ftrace/counts" bytes)
		;;
	bpf-count)
		events=$(sed -n 's/^@: //p' "$run/bpftrace.out" | tail -n 1)
		;;
	bpf-print)
		events=$(grep -c '^[0-9]* [0-9]* [0-9]*$' "$run/bpftrace.out")
		lost=$(cat "$run/bpftrace.out" "$run/tool.err" |
			awk '/^Lost [0-9]+ events/ { sum += $2 } END { printf "%d\n", sum }')
		bytes=$(stat -c %s "$run/bpftrace.out")
		;;
	esac
}
