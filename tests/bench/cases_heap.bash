# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# cases_heap.bash: what recording every malloc and free takes.
#
# case heap 60 400: ns per malloc/free pair, allocator hooked; gcc, Python, sqlite3, C++ with 8 threads; 2 M pairs/s
#
# Sides: the library of record --heap, without stacks, with that of every allocation, and with samples; uprobes;
# a library that only counts; heaptrack, which takes all stacks; bpftrace's uprobes.

# The C library the loads use.
libc_path()
{
	ldd "$bin/load_heap" | awk '$1 ~ /^libc\.so/ { print $3 }'
}

# heap_command PROGRAM: sets command to one process that allocates much. It is set to nothing where the program is
# missing.
heap_command()
{
	local n

	command=()
	case $1 in
	gcc)
		n=$(pick 100 400)
		[ -e "$scratch/made.c" ] || awk -v n="$n" 'BEGIN { for (i = 0; i < n; i++)
			printf "struct s%d { int a, b[8]; };\nint f%d(struct s%d *s, int n) { int t = 0; for (int i = 0; i < n; i++) " \
				"t += s->b[i & 7] * %d + (i %% 3 ? s->a : t >> 2); return t; }\n", i, i, i, i }' >"$scratch/made.c"
		command=("$(gcc -print-prog-name=cc1)" -quiet -O2 -o /dev/null "$scratch/made.c")
		;;
	python)
		command=("$(python3 -c 'import sys; print(sys.executable)')" -c "import json
rows = [{'key%d' % i: list(range(i % 50)), 'text': 'x' * (600 + i % 900)} for i in range($(pick 20000 80000))]
assert json.loads(json.dumps(rows)) == rows")
		;;
	sqlite3)
		command=(sqlite3 :memory: \
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $(pick 60000 250000))
			SELECT count(*) FROM (SELECT i % 1000 AS k, group_concat(i) AS t, max(hex(i * 7919)) FROM n GROUP BY k ORDER BY t)")
		;;
	cxx)
		[ -e "$scratch/load_cxx" ] || g++ -O2 -pthread -o "$scratch/load_cxx" "$bench/load/load_cxx.cc" 2>/dev/null
		command=("$scratch/load_cxx" "$(pick 40000 150000)")
		;;
	esac
	command -v "${command[0]}" >/dev/null || { note "heap: without $1"; command=(); }
}

# heap_programs SIDE: wall time of each program, and CPU time, of which the tool's is a part
heap_programs()
{
	local program command tool=()

	[ "$1" != heaptrack ] || tool=(heaptrack -o "$run/heaptrack")
	for program in gcc python sqlite3 cxx; do
		heap_command $program
		[ ${#command[@]} -gt 0 ] || continue
		run_side "${1/heaptrack/none}" heap "${tool[@]}" "${command[@]}"
		ran "${1/heaptrack/none}" $? || continue
		sample "$1" ${program}_wall_s "$(ns_to_s "$(kv "$run/work.kv" wall_ns)")" s lower
		sample "$1" ${program}_work_s "$(ns_to_s $(($(kv "$run/work.kv" user_ns) + $(kv "$run/work.kv" sys_ns))))" s \
			lower
		[ -z "$events" ] || sample "$1" ${program}_lost "$lost" events lower
	done
}

turn_heap()
{
	local pairs libc
	pairs=$(pick 30000 100000)
	[[ $1 == *uprobe* ]] || pairs=$((10 * pairs))	# those of the others take microseconds
	libc=$(libc_path)
	case $1 in
	preload)
		run_side none heap env LD_PRELOAD="$bin/preload_count.so" PRELOAD_COUNT="$run.count" \
			"$bin/load_heap" "$pairs" "$cpu"
		ran none $? || return
		[ "$(kv "$run.count" mallocs)" -ge "$pairs" ] ||
			{ invalid "$1" "it counted fewer calls than there were"; return; }
		;;
	ebpfrec-sampled)
		run_side "$1" heap "$bin/load_heap" "$pairs" "$cpu"
		ran "$1" $? || return
		;;
	heaptrack)
		run_side none heap heaptrack -o "$run/heaptrack" "$bin/load_heap" "$pairs" "$cpu"
		ran none $? || return
		;;
	bpf-uprobe)
		# Without the meter in between: cpid is the load itself. bpftrace's own calls would never end.
		rm -rf "$run" && mkdir -p "$run"
		run_bpftrace "uprobe:$libc:malloc /pid == cpid/ { @bytes = sum(arg0); }
			uretprobe:$libc:malloc /pid == cpid/ { @mallocs = count(); }
			uprobe:$libc:free /pid == cpid/ { @frees = count(); }" "$bin/load_heap" "$pairs" "$cpu" ||
			{ invalid "$1" "it failed"; return; }
		enough_calls @mallocs "$pairs" || { invalid "$1" "it counted fewer calls than there were"; return; }
		;;
	*)
		run_side "$1" heap "$bin/load_heap" "$pairs" "$cpu"
		ran "$1" $? $((2 * pairs)) || return
		;;
	esac
	op_samples "$1" pair
	[[ $1 != ebpfrec* ]] || lost_sample "$1"
	[[ $1 == *uprobe* || $1 == preload ]] || heap_programs "$1"
}

# heap_rate: 2 M pairs a second by two threads on two CPUs: the losses, and the recorder's time per event
heap_rate()
{
	wanted ebpfrec "$only_sides" || return
	warm_up=0
	drop_samples 'ebpfrec,(pairs_per_s|rate_lost|recorder_ns_per_event),'
	for ((round = 1; round <= ${rounds:-$(pick 1 5)}; round++)); do
		run_side ebpfrec heap "$bin/load_rate" $((2000000 / 16)) "$(pick 3 10)" 2 heap
		ran ebpfrec $? 1000000 || continue
		sample ebpfrec pairs_per_s "$(awk -v u="$(kv "$run/work.out" \
			units_per_s)" 'BEGIN { printf "%.0f\n", 16 * u }')" 1/s -
		sample ebpfrec rate_lost "$lost" events lower
		sample ebpfrec recorder_ns_per_event "$(per_event $(($(tool_ns user) + $(tool_ns sys))))" ns lower
	done
}

case_heap()
{
	take_turns "$(pick 3 10)" \
		"none ebpfrec ebpfrec-stacks ebpfrec-sampled ebpfrec-uprobes/2 preload heaptrack bpf-uprobe/2" turn_heap
	heap_rate
}
