# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# cases.bash: what is measured. Each case is a function that runs loads under sides and adds samples.
# The two numbers are a case's share of time, in seconds, in the quick and in the full run.
#
# case startstop 8 30: macro: time to start and to stop each tool, and its CPU time, around a workload that does nothing
# case pingpong 32 150: micro: ns per context switch, two threads bound to one CPU, only sched_switch recorded
# case offcpu 14 60: micro: ns per context switch with stacks of waits of 10 ms and more; no wait is that long
# case getpid 14 60: micro: ns per system call that no default source looks at
# case alloc 25 110: micro: ns per round of opening, mapping, touching, closing; slab and page events
# case dd_null 16 190: macro: one-byte blocks from /dev/zero to /dev/null, default sources
# case dd_urandom 14 110: macro: 4 KiB blocks from /dev/urandom to a file, fsync, default sources
# case fio 24 120: macro: I/O per second of a loop device, default sources
# case mixed 48 340: macro: compile, copy, direct I/O; the same events on every side
# case loss 12 45: a steady million events a second on all CPUs: what is lost
# case ladder 30 110: events per second from which on a tool loses some, four busy threads per CPU
case_list="startstop pingpong offcpu getpid alloc heap dd_null dd_urandom fio mixed"
case_list+=" programs stacks cpu_time reading parquet metrics loss ladder scale"

# The ladder of sides of most cases. Sides with a number K run in every K-th round only: all are measured in one run,
# and most of the time is used for targets.
usual_sides="none ebpfrec perf ftrace perf-z/2 bpf-count/2 bpf-print/4"
quick_sides="none ebpfrec perf ftrace"

case_line()
{
	sed -nE "s/^# case $1 ([0-9]+) ([0-9]+): (.*)/\\1 \\2 \\3/p" "$bench"/cases*.bash
}

# share_s CASE: its share of time in this run, in seconds
share_s()
{
	set -- $(case_line "$1")
	pick "$1" "$2"
}

case_about()
{
	case_line "$1" | cut -d' ' -f3-
}

# pick QUICK FULL
pick()
{
	[ -n "$quick" ] && echo "$1" || echo "$2"
}

# ran SIDE STATUS [MIN_EVENTS]: did it happen? Sets events, lost, skipped, bytes. False: not a sample.
ran()
{
	[ "$2" -ne 124 ] && [ "$2" -ne 137 ] || { invalid "$1" "not done after $run_limit_s s"; return 1; }
	[ "$2" -eq 0 ] || { invalid "$1" "status $2"; return 1; }
	events='' lost='' skipped='' bytes=''
	case $1 in none | floor-*) return 0 ;; esac	# they keep nothing
	side_counts "$1"
	[ -n "$events" ] || { invalid "$1" "no count of events"; return 1; }
	[ "$((events + ${lost:-0}))" -ge "${3:-0}" ] ||
		{ invalid "$1" "$events events and ${lost:-0} lost, though at least $3 happened"; return 1; }
}

# lost_sample SIDE: loss of the last run, where the side counts it
lost_sample()
{
	[ -z "$lost" ] || sample "$1" lost_events "$lost" events lower
	[ -z "$skipped" ] || sample "$1" skipped_events "$skipped" events -
}

# op_samples SIDE OPERATION: time per operation by the clock, and in CPU time of the load, which other
# work on the machine disturbs less
op_samples()
{
	sample "$1" "ns_per_$2" "$(kv "$run/work.out" ns_per_op)" ns lower
	sample "$1" "cpu_ns_per_$2" "$(kv "$run/work.out" cpu_ns_per_op)" ns lower
}

# ---- fixed cost ----

# fixed_samples SIDE: the time that the workload waited for the tool, and the time that the tool runs after it. The cost
# of a tool during the workload is in the workload's own wall and CPU time (macro_samples), which include neither.
fixed_samples()
{
	sample "$1" start_s "$(ns_to_s $(($(kv "$run/work.kv" start_ns) - $(kv "$run/tool.kv" start_ns))))" s lower
	sample "$1" stop_s "$(ns_to_s $(($(kv "$run/tool.kv" end_ns) - $(kv "$run/work.kv" end_ns))))" s lower
}

turn_startstop()
{
	run_side "$1" default true || { invalid "$1" "it failed"; return; }
	fixed_samples "$1"
	sample "$1" whole_s "$(ns_to_s "$(kv "$run/tool.kv" wall_ns)")" s lower
	sample "$1" cpu_s "$(ns_to_s $(($(kv "$run/tool.kv" user_ns) + $(kv "$run/tool.kv" sys_ns))))" s lower
}

case_startstop()
{
	take_turns "$(pick 3 10)" "$(pick "$quick_sides" "$usual_sides") ebpfrec-light" turn_startstop
}

# ---- micro ----

turn_pingpong()
{
	local round_trips
	round_trips=$(pick 100000 300000)
	# Ten times as slow as the others; fewer round trips are enough for its median.
	[ "$1" != bpf-print ] || round_trips=$((round_trips / 5))
	run_side "$1" switch "$bin/load_switch" "$round_trips" "$cpu"
	# One in a hundred for events at the beginning and the end.
	ran "$1" $? $((2 * round_trips * 99 / 100)) || return
	[ "$(kv "$run/work.out" switches)" -ge $((2 * round_trips * 99 / 100)) ] ||
		{ invalid "$1" "the load did not switch"; return; }
	op_samples "$1" switch
	[ -z "$events" ] || sample "$1" events "$events" events -
	lost_sample "$1"
}

case_pingpong()
{
	take_turns "$(pick 6 15)" "none ebpfrec ${EBPFREC_OLD:+ebpfrec-old} floor-empty floor-clock perf ftrace ftrace-ring \
		perf-z/2 bpf-count/2 bpf-print/4" turn_pingpong
}

turn_offcpu()
{
	run_side "$1" switch "$bin/load_switch" "$(pick 100000 300000)" "$cpu"
	ran "$1" $? || return
	op_samples "$1" switch
	lost_sample "$1"
}

# The cost of --offcpu is the difference of the two sides of ebpfrec.
case_offcpu()
{
	take_turns "$(pick 5 11)" "none ebpfrec ebpfrec-offcpu perf-offcpu bcc-offcpu" turn_offcpu
}

turn_getpid()
{
	local calls
	calls=$(pick 2000000 10000000)
	case $1 in
	bpf-simple)
		run_bpftrace_side 'tracepoint:syscalls:sys_enter_getpid { @ = count(); }' "$bin/load_getpid" "$calls" "$cpu" &&
			enough_calls @ "$calls"
		;;
	bpf-complex)
		run_bpftrace_side 'tracepoint:syscalls:sys_enter_getpid { @start[tid] = nsecs; @calls[comm, pid] = count(); }
			tracepoint:syscalls:sys_exit_getpid /@start[tid]/ { @ns = hist(nsecs - @start[tid]); delete(@start[tid]); }' \
			"$bin/load_getpid" "$calls" "$cpu"
		;;
	*)
		run_side "$1" default "$bin/load_getpid" "$calls" "$cpu"
		ran "$1" $? || return
		;;
	esac || { invalid "$1" "it failed, or counted fewer calls than there were"; return; }
	op_samples "$1" call
}

# enough_calls MAP LEAST: did bpftrace count that many?
enough_calls()
{
	local counted
	counted=$(sed -n "s/^$1: //p" "$run/bpftrace.out" 2>/dev/null | tail -n 1)
	[ "${counted:-0}" -ge "$2" ]
}

# run_bpftrace_side PROGRAM COMMAND...: bpftrace with a program of the case's own
run_bpftrace_side()
{
	local program=$1
	shift
	rm -rf "$run" && mkdir -p "$run"
	run_bpftrace "$program" "$meter" "$run/work.kv" "$@"
}

case_getpid()
{
	take_turns "$(pick 3 10)" "$(pick "$quick_sides" "$usual_sides") bpf-simple bpf-complex" turn_getpid
}

turn_alloc()
{
	local rounds
	rounds=$(pick 20000 40000)
	# Every event becomes a line of text: the load would take minutes.
	[ "$1" != bpf-print ] || rounds=$((rounds / 10))
	run_side "$1" alloc "$bin/load_alloc" "$rounds" "$cpu"
	ran "$1" $? $((rounds * 16)) || return
	op_samples "$1" round
	[ "$1" != bpf-print ] || return
	macro_samples "$1"
}

case_alloc()
{
	take_turns "$(pick 3 10)" "$(pick "$quick_sides" "$usual_sides")" turn_alloc
}

# ---- macro ----

ns_to_s()
{
	awk -v ns="${1:-x}" 'BEGIN { if (ns ~ /^-?[0-9]+$/) printf "%.6f\n", ns / 1e9 }'
}

# busy_s: CPU time of the whole machine from the start of the workload to the end of the tool
busy_s()
{
	awk -F= -v cpus="$(nproc)" '
		FILENAME ~ /work\.kv$/ { work[$1] = $2; next }
		{ tool[$1] = $2 }
		END {
			all = cpus * (tool["end_ns"] - work["start_ns"])
			idle = tool["idle_end_ns"] - work["idle_start_ns"]
			printf "%.6f\n", (all - idle) / 1e9
		}' "$run/work.kv" "$run/tool.kv"
}

# tool_ns user|sys: CPU time of the tool from the start of the workload to its own end, without the workload
tool_ns()
{
	awk -F= -v what="$1" '
		FILENAME ~ /work\.kv$/ { work[$1] = $2; next }
		{ tool[$1] = $2 }
		END { printf "%.0f\n", tool[what "_ns"] - work[what "_ns"] - work["parent_" what "_ns"] }' \
			"$run/work.kv" "$run/tool.kv"
}

# own_s: CPU time of workload and tool by their own accounts. It excludes later work of the kernel on
# their behalf (write-back), but also the rest of the machine.
own_s()
{
	local tool=0
	[ "$1" = none ] || tool=$(($(tool_ns user) + $(tool_ns sys)))
	ns_to_s $((tool + $(kv "$run/work.kv" user_ns) + $(kv "$run/work.kv" sys_ns)))
}

per_event()
{
	awk -v v="$1" -v n="$events" 'BEGIN { if (n > 0) printf "%.3f\n", v / n }'
}

# macro_samples SIDE: the workload's own wall and CPU time, measured inside, the tool's fixed cost apart, CPU of all,
# and for sides that keep events their cost per event
macro_samples()
{
	sample "$1" wall_s "$(ns_to_s "$(kv "$run/work.kv" wall_ns)")" s lower
	sample "$1" work_cpu_s "$(ns_to_s $(($(kv "$run/work.kv" user_ns) + $(kv "$run/work.kv" sys_ns))))" s lower
	fixed_samples "$1"
	sample "$1" cpu_busy_s "$(busy_s)" s lower
	sample "$1" cpu_own_s "$(own_s "$1")" s lower
	[ -n "$events" ] && [ "$events" -gt 0 ] || return
	sample "$1" events "$events" events -
	lost_sample "$1"
	[ -n "$bytes" ] || return
	sample "$1" bytes_per_event "$(per_event "$bytes")" bytes lower
	sample "$1" user_ns_per_event "$(per_event "$(tool_ns user)")" ns lower
	sample "$1" sys_ns_per_event "$(per_event "$(tool_ns sys)")" ns lower
}

turn_dd_null()
{
	local dd=(dd if=/dev/zero of=/dev/null bs=1 "count=$(pick 1000000 10000000)" status=none)
	case $1 in
	bpf-read)
		run_bpftrace_side 'tracepoint:syscalls:sys_enter_read { }' "${dd[@]}" || { invalid "$1" "it failed"; return; }
		;;
	*)
		run_side "$1" default "${dd[@]}"
		ran "$1" $? || return
		;;
	esac
	sample "$1" wall_s "$(ns_to_s "$(kv "$run/work.kv" wall_ns)")" s lower
	sample "$1" cpu_own_s "$(own_s "$1")" s lower
}

case_dd_null()
{
	take_turns "$(pick 5 10)" "$(pick "$quick_sides bpf-read/2" "$usual_sides bpf-read/4")" turn_dd_null
}

turn_dd_urandom()
{
	local dd=(dd if=/dev/urandom "of=$scratch/urandom" bs=4k "count=$(pick 30000 250000)" conv=fsync status=none)

	# Syncs dirty pages of earlier runs, so that the fsync of this one does not wait for them.
	rm -f "$scratch/urandom"
	sync
	case $1 in
	bpf-hist)
		run_bpftrace_side 'tracepoint:syscalls:sys_exit_read { @ = hist(args->ret); }' "${dd[@]}" ||
			{ invalid "$1" "it failed"; return; }
		events='' lost='' skipped='' bytes=''
		;;
	*)
		run_side "$1" default "${dd[@]}"
		ran "$1" $? || return
		;;
	esac
	macro_samples "$1"
}

case_dd_urandom()
{
	take_turns "$(pick 3 10)" "$(pick "none ebpfrec perf" "$usual_sides") bpf-hist" turn_dd_urandom
	rm -f "$scratch/urandom"
}

# own_file_system MIB: mounts an empty ext4 of that size, in a file of the scratch directory, and sets mounted; false:
# not possible here. A file operation then costs the same in each run, independent of earlier use of this
# machine's own file system. For example, a file system without a journal searches for free inodes past all that were
# deleted within the last minutes: that took half of the mixed load's CPU time, some runs more and some less.
own_file_system()
{
	dd if=/dev/zero of="$scratch/fs.img" bs=1M "count=$1" conv=fsync status=none &&
		mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$scratch/fs.img" &&
		mkdir -p "$scratch/fs" &&
		loop=$(losetup --direct-io=on --show -f "$scratch/fs.img" 2>/dev/null) &&
		mount -o noatime "$loop" "$scratch/fs" && mounted=$scratch/fs
}

drop_file_system()
{
	[ -z "$mounted" ] || umount "$mounted"
	[ -z "$loop" ] || losetup -d "$loop"
	mounted='' loop=''
	rm -f "$scratch/fs.img"
}

turn_mixed()
{
	sync
	run_side "$1" default "$bench/mixed_load.sh" "$(pick 4 8)" "${mounted:-$scratch}"
	ran "$1" $? 10000 || return
	case $1 in
	*-watched) longest_wait "$1" "$run/watch" "p.comm IN ('perf', 'ftrace_reader')" ;;	# two recorders: no cost
	ebpfrec)
		longest_wait "$1" "$run/trace" p.is_recorder
		macro_samples "$1"
		;;
	*) macro_samples "$1" ;;
	esac
}

# longest_wait SIDE TRACE CONDITION: the longest wait for a CPU that the processes of a condition caused while they had
# it
longest_wait()
{
	sample "$1" longest_wait_ms "$(sed "s/WHO/$3/" "$bench/longest_wait.sql" | "$EBPFREC" sql -i "$2" --format csv - |
		awk 'NR == 2 { printf "%.3f\n", $1 / 1e6 }')" ms lower
}

case_mixed()
{
	own_file_system 512 || note "mixed: without a file system of its own (loop device, mkfs.ext4): expect noise"
	take_turns "$(pick 4 12)" "$(pick "none ebpfrec ${EBPFREC_OLD:+ebpfrec-old} floor-empty floor-clock perf ftrace \
		perf-z/3" \
		"$usual_sides ${EBPFREC_OLD:+ebpfrec-old} ebpfrec-light floor-empty/2 floor-clock/2 \
		perf-watched/6 ftrace-watched/6")" turn_mixed
	drop_file_system
}

turn_fio()
{
	local fio=(fio --name=bench "--filename=$loop" --direct=1 --rw=randrw --rwmixread=70 --bs=4k --ioengine=libaio
		--iodepth=8 --time_based --ramp_time=1 "--runtime=$(pick 2 3)" --randrepeat=1 --output-format=json
		"--output=$scratch/fio.json")

	rm -f "$scratch/fio.json"
	run_side "$1" default "${fio[@]}"
	ran "$1" $? 1000 || return
	sample "$1" iops "$(python3 -c 'import json, sys
jobs = json.load(open(sys.argv[1]))["jobs"]
if any(job["error"] for job in jobs):
    sys.exit("fio reports an error")
print("%.1f" % sum(job["read"]["iops"] + job["write"]["iops"] for job in jobs))' "$scratch/fio.json")" 1/s higher
	lost_sample "$1"
}

case_fio()
{
	fio --version >/dev/null 2>&1 || { note "fio: not installed"; return; }
	truncate -s 512M "$scratch/loop.img"
	dd if=/dev/zero of="$scratch/loop.img" bs=1M count=512 conv=notrunc,fsync status=none
	loop=$(losetup --direct-io=on --show -f "$scratch/loop.img" 2>/dev/null) ||
		loop=$(losetup --show -f "$scratch/loop.img" 2>/dev/null) || { loop=; note "fio: no loop device here"; return; }
	take_turns "$(pick 2 8)" "$(pick "none ebpfrec perf" "$usual_sides")" turn_fio
	losetup -d "$loop"
	loop=
	rm -f "$scratch/loop.img"
}

# ---- loss ----

# run_rate SIDE UNITS_PER_S SECONDS [THREADS [dense]]: sets attempted_per_s, the number of events per second that the
# side should have recorded
run_rate()
{
	attempted_per_s=
	run_side "$1" default "$bin/load_rate" "${@:2}"
	ran "$1" $? || return
	attempted_per_s=$(awk -v n="$((events + ${lost:-0}))" -v s="$(kv "$run/work.out" seconds)" \
		'BEGIN { printf "%.0f\n", n / s }')
}

# events_per_unit SIDE [THREADS [dense]]: the number of events per unit of load_rate on this kernel, for this
# side. The difference of two rates excludes the events of the rest of the machine.
events_per_unit()
{
	local few units

	run_rate "$1" 2000 1 "${@:2}" || return
	few=$((events + ${lost:-0})) units=$(kv "$run/work.out" units)
	run_rate "$1" 20000 1 "${@:2}" || return
	awk -v n="$((events + ${lost:-0}))" -v u="$(kv "$run/work.out" units)" -v n0="$few" -v u0="$units" 'BEGIN {
		slope = u > u0 ? (n - n0) / (u - u0) : 0
		# A burst of something else in one of the two: a worse estimate is better than nonsense.
		if (slope < 5 || slope > 200)
			slope = n / u
		printf "%.3f\n", slope
	}'
}

case_loss()
{
	local per_unit seconds rate kind

	wanted ebpfrec "$only_sides" && [ -x "$EBPFREC" ] || return
	seconds=$(pick 5 30)
	warm_up=0
	round=1
	# Units with all kinds of work; if the machine has no time for a million events a second of those, units with
	# little but events.
	for kind in "" "$(nproc) dense"; do
		# shellcheck disable=SC2086
		per_unit=$(events_per_unit ebpfrec $kind)
		[ -n "$per_unit" ] || { note "loss: no calibration"; status=1; return; }
		# 3 % more than requested: a rate that is slightly lower proves nothing. If it is lower and nothing was
		# lost, tries again with the corrected rate.
		for rate in 1030000 again; do
			[ "$rate" != again ] || rate=$(awk -v r="$attempted_per_s" 'BEGIN { printf "%d\n", 1.03e6 * 1.03e6 / r }')
			# shellcheck disable=SC2086
			run_rate ebpfrec "$(awk -v e="$per_unit" -v r="$rate" 'BEGIN { printf "%d\n", r / e }')" "$seconds" $kind ||
				{ status=1; return; }
			[ "$attempted_per_s" -lt 1000000 ] && [ "$lost" -eq "${skipped:-0}" ] || break 2
		done
		note "loss: $attempted_per_s events a second are all that this machine makes${kind:+, of look-ups alone, too}"
	done
	sample ebpfrec attempted_per_s "$attempted_per_s" 1/s -
	lost_sample ebpfrec
	sample ebpfrec seconds "$(kv "$run/work.out" seconds)" s -
	sample ebpfrec cpus "$(kv "$run/work.out" cpus)" CPUs -
	sample ebpfrec user_ns_per_event "$(per_event "$(tool_ns user)")" ns lower
}

# climb SIDE: increases the rate until events no longer fit, or the load cannot go faster. Events whose
# program the kernel skipped (re-entry on a CPU) happen at any rate: they do not end the climb. Four
# threads per CPU work: as on a busy machine, the recorder is one of many runnable threads. With one thread
# per CPU it always gets half of the CPU, and the load slows down before most recorders lose anything.
climb()
{
	local side=$1 rate best=0 per_unit no_room threads=$((4 * $(nproc)))

	per_unit=$(events_per_unit "$side" "$threads" dense)
	[ -n "$per_unit" ] || return
	for rate in $(pick "500000 1000000 2000000 4000000" \
		"100000 250000 500000 1000000 1500000 2000000 2500000 3000000 4000000 6000000 8000000"); do
		run_rate "$side" "$(awk -v e="$per_unit" -v r="$rate" 'BEGIN { printf "%d\n", r / e }')" 2 "$threads" dense ||
			return
		no_room=$((lost - ${skipped:-0}))
		if [ "$no_room" -gt 0 ]; then
			sample "$side" first_loss_per_s "$attempted_per_s" 1/s -
			sample "$side" lost_there_pct "$((100 * no_room / (events + lost)))" % -
			break
		fi
		[ "$attempted_per_s" -le "$best" ] || best=$attempted_per_s
		# Slower than requested without a loss: all CPU time is used up.
		[ $((attempted_per_s * 10)) -ge $((rate * 8)) ] || break
	done
	sample "$side" lossless_per_s "$best" 1/s higher
}

# climb_heap: the same with pairs of malloc and free, by the library, one thread per CPU
climb_heap()
{
	local pairs rate best=0

	for rate in $(pick "1000000 2000000 4000000" "500000 1000000 1500000 2000000 3000000 4000000 8000000"); do
		run_side ebpfrec heap "$bin/load_rate" $((rate / 16)) 2 "$(nproc)" heap
		ran ebpfrec $? 1 || return
		pairs=$(awk -v u="$(kv "$run/work.out" units_per_s)" 'BEGIN { printf "%.0f\n", 16 * u }')
		if [ "$lost" -gt 0 ]; then
			sample ebpfrec first_loss_pairs_per_s "$pairs" 1/s -
			sample ebpfrec lost_pairs_there_pct "$((100 * lost / (events + lost)))" % -
			break
		fi
		[ "$pairs" -le "$best" ] || best=$pairs
		[ $((pairs * 10)) -ge $((rate * 8)) ] || break
	done
	sample ebpfrec lossless_pairs_per_s "$best" 1/s higher
}

case_ladder()
{
	local side sides start=$SECONDS

	sides=$(present_sides "ebpfrec perf ftrace $(pick "" "perf-z bpf-print")")
	warm_up=0
	for ((round = 1; round <= ${rounds:-$(pick 1 3)}; round++)); do
		for side in $sides; do
			climb "$side"
			[ "$side" != ebpfrec ] || climb_heap
		done
		! time_is_up "$round" 1 "$start" "$(share_s ladder)" || break
	done
	for side in $sides; do
		has_sample "$side"
	done
}
