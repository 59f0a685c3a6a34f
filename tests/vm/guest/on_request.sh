# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# on_request.sh: sourced by checks.sh. What is recorded only when it is asked for: interrupts, stacks, waits, BTF from a
# file.

# counted_in FILE NAME: of /proc/softirqs or /proc/interrupts, the sum over both CPUs
counted_in()
{
	awk -v name="$2:" '$1 == name { print $2 + $3 }' "$1"
}

# served TYPE VECTOR FROM TO: entries in that time
served()
{
	sql irq "SELECT count(*) FROM irq_events WHERE action = 'entry' AND type = '$1' AND vector = $2
		AND ts_ns >= $3 AND ts_ns < $4"
}

# between_readings NAME TYPE VECTOR GREW MERGED: the counts were read between two readings of the clock each time, so
# the kernel's number lies between what was served after the first readings to before the second ones, and what was from
# before to after. One more per CPU either way: it counts an instant before or after it announces.
between_readings()
{
	local least most

	least=$(($(served "$2" "$3" $((b1 - start)) $((a0 - start))) - 2))
	most=$(($(served "$2" "$3" $((b0 - start)) $((a1 - start))) + 2 + $5 + lost))
	check "irq: $1 is the kernel's count" "[ $least -le $4 ] && [ $4 -le $most ]" \
		"the kernel counted $4; recorded $least .. $most"
}

# Like tests/full/irq_counts.py, which has more of it.
check_irq()
{
	local start lost b0 b1 a0 a1 i name grew actions

	recorded irq -e sched,sched.irq -- sh -c 'counts() {
			stamp $1_0; cat /proc/softirqs >$tmp/soft.$1; cat /proc/interrupts >$tmp/hard.$1; stamp $1_1; }
		counts before; direct_io /dev/vda read 100 16384 >/dev/null; pingpong 500 0 thread >/dev/null; sleep 1
		counts after' || return
	start=$(start_of irq)
	lost=$(sql irq "SELECT coalesce(sum(lost_cnt), 0) FROM losses WHERE source = 'sched.irq'")
	b0=$(kv irq before_0) b1=$(kv irq before_1) a0=$(kv irq after_0) a1=$(kv irq after_1)
	i=0
	for name in HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU; do
		grew=$(($(counted_in "$tmp/soft.after" $name) - $(counted_in "$tmp/soft.before" $name)))
		between_readings "softirq $name" softirq $i "$grew" 0
		i=$((i + 1))
	done
	check "irq: a timer's soft interrupts were served" \
		"[ '$(served softirq 1 $((b1 - start)) $((a0 - start)))' -gt 0 ]" none
	# Where one arrives while its handler still runs, two are served by one run: a few may be missing on lines.
	for i in $(awk '$1 ~ /^[0-9]+:$/ { sub(":", "", $1); print $1 }' "$tmp/hard.after"); do
		grew=$(($(counted_in "$tmp/hard.after" "$i") - $(counted_in "$tmp/hard.before" "$i")))
		actions=$(cat "/sys/kernel/irq/$i/actions" 2>/dev/null)
		case $grew:$actions in 0:* | *: | *,*) continue ;; esac
		between_readings "line of $actions" irq "$i" "$grew" $((2 + grew / 100))
		check "irq: the line of $actions has its name" "[ '$(sql irq "SELECT irq_name('irq', $i)")' = '$actions' ]" \
			"$(sql irq "SELECT irq_name('irq', $i)")"
	done
	if [ -n "$(counted_in "$tmp/hard.after" LOC)" ] && [ "$(served local 1 0 9000000000000000000)" -gt 0 ]; then
		grew=$(($(counted_in "$tmp/hard.after" LOC) - $(counted_in "$tmp/hard.before" LOC)))
		between_readings "local timer" local 1 "$grew" 0
	fi
	balanced irq sched
	forget irq
}

check_stacks()
{
	local cnt=300 got lost entry=do_syscall_64

	[ "$(uname -m)" = x86_64 ] || entry=el0
	[ -e /sys/bus/event_source/devices/uprobe ] || { skip "stacks: of mallocs" "this kernel has no uprobes"; return; }
	recorded stacks --only -e alloc.heap,alloc.slab,task --stacks 1/1 -- heap_user_dynamic $cnt 5000 0 || return
	# few: what an interrupt hit while it was walked
	lost=$(sql stacks "SELECT coalesce(sum(lost_cnt), 0) FROM losses WHERE source IN ('alloc.heap', 'alloc.stacks')")
	check "stacks: next to none is lost" "[ '$lost' -le 10 ]" "$lost"
	got=$(sql stacks "SELECT count(*) FROM stack_samples WHERE source = 'heap' AND bytes = 5000")
	near "stacks: one for each malloc" "$got" $cnt "$lost"
	got=$(sql stacks "SELECT count(*) FROM stack_samples WHERE source = 'heap' AND bytes = 5000 AND
		stack_text(stack, ts_ns, 'user') LIKE '%main'")
	near "stacks: of mallocs name the function that asked" "$got" $cnt "$lost"
	# kernel functions are named by the kernel's own list
	got=$(sql stacks "SELECT count(*) FROM stack_samples WHERE source = 'slab' AND
		stack_text(stack, ts_ns, 'kernel') LIKE '%$entry%'")
	check "stacks: of slab objects go down from the system call" "[ '${got:-0}' -gt 0 ]" \
		"none has $entry: $(report stacks stacks | head -n 3)"
	got=$(report stacks stacks | grep -c 'bpf_trace_run\|bpf_prog')
	near "stacks: with the recorder's own program" "$got" 0 0
	forget stacks
}

# Five sleeps of 30 ms, and reads of a pipe that another thread ends, which the program measures itself.
check_offcpu()
{
	local start i row left dur waker slept got lost

	if [ "$(ebpfrec record -e list | awk '$1 == "sched.offcpu" { print $3 }')" = NO ]; then
		ebpfrec record -q -o "$tmp/offcpu" --offcpu 10ms -- true 2>"$tmp/offcpu.err"
		got=$?
		check "offcpu: without task storage it is refused by name" \
			"[ $got -eq 125 ] && grep -q 'offcpu.*task storage' $tmp/offcpu.err" "status $got: $(cat "$tmp/offcpu.err")"
		check "offcpu: doctor says so" "ebpfrec doctor | grep -q 'Missing: sched.offcpu'" "$(ebpfrec doctor)"
		case $(uname -r) in 5.10.*) ;; *) not_ok "offcpu: only 5.10 has no task storage" "$(uname -r)" ;; esac
		return
	fi
	recorded offcpu -e sched --offcpu 10ms -- waits || return
	# The emulated CPU lacks cmpxchg16b, without which newer kernels give a BPF program no memory.
	case $(uname -r) in
	[7-9].*)
		if ! grep -qw cx16 /proc/cpuinfo; then
			got=$(sql offcpu "SELECT count(*) = 0 AND
				(SELECT sum(lost_cnt) FROM losses WHERE source = 'sched.offcpu') > 0 FROM offcpu")
			check "offcpu: without cmpxchg16b every wait is lost, and said" "[ '$got' = 1 ]" \
				"$(ebpfrec report loss -i "$tmp/offcpu")"
			return
		fi
		;;
	esac
	start=$(start_of offcpu)
	lost=$(sql offcpu "SELECT coalesce(sum(lost_cnt), 0) FROM losses WHERE source = 'sched.offcpu'")
	for i in 0 1 2 3 4; do
		left=$(($(kv offcpu nap_from_$i) - start))
		row=$(sql offcpu "SELECT dur_ns || ' ' || waker_utid || ' ' ||
				(SELECT end_reason = 'slept' AND end_ns <= ts_ns - dur_ns / 2 FROM sched_slices AS s
				WHERE s.utid = o.utid AND start_ns <= ts_ns - dur_ns / 2 ORDER BY start_ns DESC LIMIT 1)
			FROM offcpu AS o JOIN threads USING (utid) WHERE tid = $(kv offcpu tid_nap)
			AND NOT preempted AND ts_ns - dur_ns >= $left AND ts_ns < $(($(kv offcpu nap_to_$i) - start))
			AND stack_text(stack, ts_ns, 'kernel') LIKE '%nanosleep%'")
		read -r dur waker slept <<-END
		$row
		END
		# The timer runs from before the thread leaves its CPU: the wait may be shorter than the sleep.
		check "offcpu: sleep $i is at most as long as the thread measured" \
			"[ '${dur:-0}' -gt 0 ] && [ '${dur:-0}' -le '$(($(kv offcpu nap_to_$i) - start - left))' ]" \
			"$dur ns of $(kv offcpu nap_off_$i)"
		check "offcpu: sleep $i is a sleep in the thread's switches, too" "[ '$slept' = 1 ]" "'$row'"
		check "offcpu: sleep $i is ended by an interrupt" "[ '$waker' = 2 ]" "'$waker'"
	done
	got=$(sql offcpu "SELECT count(*) FROM offcpu JOIN threads AS t USING (utid) JOIN threads AS w ON w.utid = waker_utid
		WHERE t.tid = $(kv offcpu tid_read) AND w.tid = $(kv offcpu tid_feed)
		AND stack_text(stack, ts_ns, 'kernel') LIKE '%pipe_%'
		AND stack_text(waker_stack, ts_ns, 'kernel') LIKE '%pipe_write%'")
	# 1: the reader may lose its CPU right before it reads
	near "offcpu: reads of a pipe are ended by the writer" "$got" 4 $((lost + 1))
	got=$(sql offcpu "SELECT min(dur_ns) FROM offcpu")
	check "offcpu: no shorter wait is there" "[ '${got:-0}' -ge 10000000 ]" "$got"
	balanced offcpu sched
	forget offcpu
}

# Like tests/kernel/stacks.sh, which has more of it.
check_profile()
{
	local tid thread got most entry=do_syscall_64

	[ "$(uname -m)" = x86_64 ] || entry=el0
	recorded profile -e sched --profile=200 -- profile 10 || return
	for thread in user system; do
		tid=$(kv profile tid_$thread)
		got=$(sql profile "SELECT count(*) FROM cpu_samples JOIN threads USING (utid) WHERE tid = $tid")
		check "profile: thread $thread has samples" "[ '${got:-0}' -gt 0 ]" "$got"
	done
	got=$(sql profile "SELECT count(*) FROM cpu_samples JOIN threads USING (utid) WHERE tid = $tid
		AND stack_text(stack, ts_ns, 'kernel') LIKE '%$entry%vfs_read%'
		AND stack_text(stack, ts_ns, 'user') NOT NULL")
	check "profile: stacks go down through the system call" "[ '${got:-0}' -gt 0 ]" \
		"none: $(report profile profile | head -n 5)"
	got=$(sql profile "SELECT (SELECT sum(oncpu_ns) FROM cpu_profile(0, NULL)) =
		(SELECT sum(oncpu_ns) FROM cpu_usage(0, NULL, 0))")
	check "profile: the samples' time is all time on the CPU" "[ '$got' = 1 ]" "$got"
	balanced profile cpu
	got=$(sql profile "SELECT value FROM info WHERE key = 'profile.unwind'")
	case $(uname -r) in
	5.10.*) check "profile: no stacks are copied without bpf_task_pt_regs, and that is said" \
		"[ -z '$got' ] && ebpfrec info -i $tmp/profile | grep -q 'bpf_task_pt_regs'" "$got" ;;
	*) check "profile: stacks are copied" "[ '$got' = dwarf ]" "$got" ;;
	esac
	forget profile
	recorded bare -e sched --profile=200 -- profile_bare 4 || return
	# the thread's function, burn_outer() and one of burn_*(), and below them clone() and its relatives
	tid=$(kv bare tid_user)
	most=$(sql bare "SELECT count(*) FROM cpu_samples JOIN threads USING (utid) WHERE tid = $tid")
	got=$(sql bare "SELECT count(*) FROM cpu_samples JOIN threads USING (utid) WHERE tid = $tid AND
		(SELECT count(*) FROM stack_frames f WHERE f.stack = cpu_samples.stack AND upid NOT NULL) >= 4 AND
		stack_text(stack, ts_ns) NOT LIKE '%not unwound%'")
	case $(uname -r) in
	5.10.*) ;;
	*) check "profile: samples of code without frame pointers reach the thread's first function" \
		"[ '${got:-0}' -ge $((${most:-0} * 9 / 10 - 3)) ] && [ '${most:-0}' -gt 0 ]" "$got of $most" ;;
	esac
	forget bare
}

# A kernel's BTF that is not to be seen, given by a copy.
check_btf_file()
{
	local got rc

	cp /sys/kernel/btf/vmlinux "$tmp/copy.btf" && mount -t tmpfs none /sys/kernel/btf ||
		{ skip "btf: from a file" "it cannot be hidden here"; return; }
	ebpfrec record -q -o "$tmp/nobtf" -e sched -- true 2>"$tmp/nobtf.err"
	rc=$?
	check "btf: without it, what to do is said" "[ $rc -eq 125 ] && grep -q -- '--btf FILE' $tmp/nobtf.err" \
		"status $rc: $(cat "$tmp/nobtf.err")"
	recorded btf --btf "$tmp/copy.btf" -- pingpong 200 0 thread
	rc=$?
	umount /sys/kernel/btf
	[ $rc -eq 0 ] || return
	got=$(sql btf "SELECT count(DISTINCT source) FROM hook_stats WHERE read_cnt > 0")
	check "btf: from a file, everything is recorded" "[ '${got:-0}' -ge 6 ]" "'$got' sources"
	got=$(sql btf "SELECT count(*) FROM switches JOIN threads USING (utid) WHERE tid = $(kv btf tid_a)")
	check "btf: and its fields are the right ones" "[ '${got:-0}' -ge 200 ]" "'$got' switches of 200 rounds"
	balanced btf sched
	forget btf
	rm -f "$tmp/copy.btf"
}

# Sources that -e names and the default leaves out: their programs pass this kernel's verifier and attach, and nothing
# is lost unsaid.
check_optional()
{
	local source

	for source in $(ebpfrec record -e list | awk '$2 == "no" && $3 == "yes" && $1 != "alloc.heap" { print $1 }'); do
		recorded "$source" -e "sched,$source" -- sh -c 'ls -lR /sys/class >/dev/null' || continue
		balanced "$source" sched
		forget "$source"
	done
}
