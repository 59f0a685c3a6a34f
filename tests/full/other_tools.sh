#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Figures next to those of other tools.
. "$(dirname "$0")/../kernel/harness.bash"

# The short form of `make assess`: every figure within what its source explains. Which figures, how far they may
# differ and why is in tests/assess/assess.py; node-exporter and fio only take part in the long form.
assessment()
{
	command -v stress >/dev/null || { skip assess "stress is not installed"; return; }
	mkdir -p "$tmp/scratch"
	PYTHONPATH=$top/tests/assess:$here python3 "$top/tests/assess/assess.py" --quick --only cpu,memory,hdd,forks \
		--out "$tmp/out" --scratch "$tmp/scratch" >"$tmp/said" 2>&1
	check "assess: it runs to its end" "[ -s '$tmp/out/assess.json' ]" "$(tail -n 3 "$tmp/said")"

	checker <"$top/tests/full/assessment.py"
}

# The three assessments of a published comparison of tracing with conventional tools, by its own means.
#
#   stress -c 1                           about 100 % of one CPU: 97 to 100 in the middle second
#   stress -m 1 --vm-bytes 512M --vm-keep about 512 MiB resident: 512 to 520 (the program itself is small)
#   stress --hdd 2, file system on a loop within 5 % of iostat's figures for the device
#
# stress never syncs and unlinks what it wrote: without a sync now and then nothing might reach the device at all.
# All of the I/O falls inside iostat's one interval, so that its edges do not matter.
thesis()
{
	command -v stress >/dev/null || { skip thesis "stress is not installed"; return; }

	recorded cpu -e sched -- "${undisturbed[@]}" stress -q -c 1 -t 2
	# It ends when the kernel has counted 512 MiB, after any time.
	# shellcheck disable=SC2016
	recorded memory -e alloc.rss,task -- sh -c '
		stress -q -m 1 --vm-bytes 512M --vm-keep -t 100 & i=0
		until cat $(pgrep -P $! | sed "s,.*,/proc/&/status,") 2>/dev/null |
			awk "\$1 == \"VmRSS:\" && \$2 >= 512 * 1024 { full = 1 } END { exit !full }"; do
			sleep 0.2; i=$((i + 1)); [ $i -lt 300 ] || break
		done
		kill $!; wait'

	have_disk=0
	if ! make_loop thesis 700; then
		skip thesis_hdd "no loop device here"
	elif ! quiet_ext4 "$tmp/mnt"; then
		not_ok thesis_hdd "cannot make or mount a file system on $loop"
	else
		have_disk=1
		# iostat divides by its own interval, which is 6 s only if it gets its CPU in time, and does not see writes
		# before and after. (late_iostat NAME: prints the reason if the interval was wrong)
		late_iostat()
		{
			local start last

			awk -F= '{ at[$1] = $2 } END { ms = (at["iostat_end"] - at["iostat_begin"]) / 1000000;
				if (ms > 6120) print "iostat took " ms " ms" }' "$tmp/$1.out"
			start=$(sql_value "$1" "SELECT mono_ns - ts_ns FROM clocks LIMIT 1")
			last=$(sql_value "$1" "SELECT max(end_ns) FROM block_requests
				WHERE device_name(dev) = '$loop_name' AND op = 'write'")
			[ $((start + ${last:-0})) -le "$(kv "$tmp/$1.out" iostat_end)" ] ||
				echo "the last write came after iostat's interval"
		}
		# -y leaves out iostat's report since boot
		recorded_until 5 disk "late_iostat disk" -e block -- "${undisturbed[@]}" sh -c "
			('$WORK/stamp' iostat_begin; S_COLORS=never iostat -d -x -k -y $loop_name 6 1 >'$tmp/iostat';
				'$WORK/stamp' iostat_end) & sleep 0.4; cd '$tmp/mnt'
			stress -q --hdd 2 --hdd-bytes 96M -t 3 >/dev/null & for i in 1 2 3 4 5 6 7; do sleep 0.4; sync -f .; done
			wait %2; sync -f .; wait"
	fi

	have_disk=$have_disk checker <"$top/tests/full/thesis_checks.py"
}

# Waits beside perf's, of the same run. `perf trace -s` has the time in each system call: what the thread slept there,
# and in between ran or waited for a CPU. `perf lock` has the time until a thread had got the lock of its process's
# mappings, which is a little more than until it was woken for that.
beside_perf()
{
	perf version >/dev/null 2>&1 || { skip beside_perf "perf is not installed"; return; }
	recorded trace -- perf trace -s -o "$tmp/perf_trace" -- "$WORK/wait_kinds"
	# (The allocations of what maps memory all the time would fill the rings of a busy machine. With -B, perf reads no
	# build ids, in which it aborts at times: "assertion failed at util/build-id.c:1010 / stack smashing detected".)
	recorded lock -e sched -- sh -c 'perf lock record -B -o "$1/perf.data" -- "$2" mmap - - >"$1/victim" 2>"$1/perf.err"' \
		sh "$tmp" "$WORK/causes"
	perf lock contention -i "$tmp/perf.data" -t >"$tmp/threads" 2>&1
	grep -q victim "$tmp/threads" || skip "beside_perf: the lock of mappings" "$(tail -n 1 "$tmp/threads")"

	checker <"$top/tests/full/beside_perf.py"
}

assessment
thesis
beside_perf
