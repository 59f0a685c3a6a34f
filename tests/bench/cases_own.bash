# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# cases_own.bash: what is measured of ebpfrec alone: its programs in the kernel, whether its CPU times are
# right, how fast a trace answers, what the exporter for Prometheus takes.
#
# case programs 14 30: micro: ns per run of each BPF program under the mixed load, by the kernel, and their floor
# case stacks 12 60: micro: ns per stack (record --stacks) of an allocation under the mixed load, and its frames
# case cpu_time 10 25: difference between a thread's CPU time in the trace and the scheduler's own account of it
# case reading 30 150: wake-up latencies next to perf sched; loading into SQLite, window of one second, whole summary
# case parquet 20 60: a generated trace as Parquet: rows a second, and bytes next to the trace's own of the same events
# case metrics 45 150: the exporter beside a recording of 300,000 events a second, and beside one of nothing
#
# The questions of reading are asked of generated traces of two sizes. With EBPFREC_BENCH_SIZES="100M 1G" reading takes
# traces of those sizes instead (5 GB of disk and four minutes for each 1G).

program_samples()
{
	local program runs ns

	while IFS=, read -r program runs ns; do
		sample "$program" ns_per_run "$(awk -v t="$ns" -v n="$runs" 'BEGIN { printf "%.2f\n", t / n }')" ns lower
		sample "$program" runs "$runs" runs -
	done <"$scratch/programs"
}

# The cost of each piece of recording an event here, as side "floor".
floor_samples()
{
	local piece ns rest

	round=1
	"$bin/floor" "$(pick 21 101)" >"$scratch/floor" 2>"$scratch/floor.err" ||
		{ note "programs: without the floor: $(tail -n 1 "$scratch/floor.err")"; return; }
	while IFS=, read -r piece ns rest; do
		[ "$piece" = piece ] || sample floor "$piece" "$ns" ns lower
	done <"$scratch/floor"
}

# The statistics cost themselves, so these runs are for nothing else.
case_programs()
{
	wanted ebpfrec "$only_sides" && [ -x "$EBPFREC" ] || return
	warm_up=0
	for ((round = 1; round <= ${rounds:-$(pick 2 3)}; round++)); do
		rm -f "$scratch/programs"
		run_side ebpfrec programs "$bin/prog_stats" "$scratch/programs" "$bench/mixed_load.sh" "$(pick 2 4)" "$scratch"
		ran ebpfrec $? 10000 || continue
		program_samples
	done
	rm -f "$scratch/programs"
	floor_samples
	grep -q '^programs,.*,ns_per_run,' "$samples" || { note "programs: no run times"; status=1; }
}

# One recording without stacks and one with the stack of every fourth allocation, one after the other: four times the
# additional time per run of the programs, and the depth of the stacks. The kernel's statistics cost the same in both.
# With the stack of every allocation the recorder would not keep up, which would change the load and not only the
# programs.
turn_stacks()
{
	local set file name runs ns

	for set in alloc stacks; do
		file=$scratch/programs.$set
		rm -f "$file"
		run_side ebpfrec $set "$bin/prog_stats" "$file" "$bench/mixed_load.sh" "$(pick 1 2)" "$scratch"
		ran ebpfrec $? 10000 || return
	done
	while IFS=, read -r name runs ns; do
		sample "$name" stack_ns "$ns" ns lower
		sample "$name" runs "$runs" runs -
	done < <(awk -F, '$1 !~ /^(kmalloc|cache_alloc|page_alloc)$/ { next } FNR == NR { plain[$1] = $3 / $2; next }
		$1 in plain { printf "%s,%d,%.1f\n", $1, $2, 4 * ($3 / $2 - plain[$1]) }' "$scratch/programs.alloc" "$file")
	while IFS=, read -r name ns; do
		[ "$name" = what ] || sample ebpfrec "$name" "$ns" frames -
	done < <("$EBPFREC" sql -i "$run/trace" --format csv \
		"SELECT CASE WHEN f.upid IS NULL THEN 'kernel_frames' ELSE 'user_frames' END AS what,
		round(1.0 * count(*) / (SELECT count(*) FROM stack_samples), 2) AS frames
		FROM stack_samples AS s JOIN stack_frames AS f ON f.stack = s.stack GROUP BY 1" | tr -d '\r')
	sample ebpfrec stacks "$("$EBPFREC" sql -i "$run/trace" --format csv "SELECT count(*) FROM \
		stack_samples" | tail -n 1 | tr -d '\r')" stacks -
	sample ebpfrec lost "$((lost))" events -
	rm -f "$scratch"/programs.*
}

case_stacks()
{
	take_turns "$(pick 2 5)" ebpfrec turn_stacks
	grep -q '^stacks,.*,stack_ns,' "$samples" || { note "stacks: no run times"; status=1; }
}

turn_cpu_time()
{
	local traced own

	# Other work must not preempt it: with each preemption the two clocks differ by a moment. If
	# sessions are scheduled as groups (autogroup), nice only counts inside one.
	run_side ebpfrec default setsid sh -c '[ ! -e /proc/self/autogroup ] || echo -20 >/proc/self/autogroup
		exec nice -n -20 "$@"' sh "$bin/load_getpid" "$(pick 10000000 30000000)" "$cpu"
	ran ebpfrec $? || return
	traced=$("$EBPFREC" report -i "$run/trace" cpu --by thread --comm load_getpid --format csv |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "oncpu_ns") at = i
			else if ($i == "steal_ns") steal = i; next }
			{ sum += $at - $steal } END { if (NR == 2) printf "%.0f\n", sum }')
	# The result of wait4() in the meter: the meter started the thread, and the thread is the whole process. The
	# scheduler leaves out time that a hypervisor stole.
	own=$(($(kv "$run/work.kv" user_ns) + $(kv "$run/work.kv" sys_ns)))
	[ -n "$traced" ] && [ "$own" -gt 0 ] || { invalid ebpfrec "no such thread in the report"; return; }
	sample ebpfrec off_pct "$(awk -v t="$traced" -v o="$own" \
		'BEGIN { d = 100 * (t - o) / o; printf "%.4f\n", d < 0 ? -d : d }')" % lower
}

case_cpu_time()
{
	take_turns "$(pick 3 8)" ebpfrec turn_cpu_time
}

# answer SIDE METRIC COMMAND...: time, CPU time and memory of one command
answer()
{
	local side=$1 metric=$2

	shift 2
	rm -rf "$run"
	mkdir -p "$run"
	metered "$@"
	ran none $? || return
	[ -s "$run/work.out" ] || { invalid "$side" "$metric: no answer"; return 1; }
	sample_time "$side" "$metric" "$run/tool.kv"
}

# sample_time SIDE METRIC KV
sample_time()
{
	sample "$1" "$2_s" "$(ns_to_s "$(kv "$3" wall_ns)")" s lower
	sample "$1" "$2_busy_s" "$(ns_to_s $(($(kv "$3" user_ns) + $(kv "$3" sys_ns))))" s lower
	sample "$1" "$2_mib" "$(awk -v b="$(kv "$3" max_rss_bytes)" 'BEGIN { printf "%.1f\n", b / 1048576 }')" MiB lower
}

# read_trace SIDE TRACE: the same questions for every size; the window is in the middle
read_trace()
{
	local from start=$SECONDS

	from=$("$EBPFREC" info -i "$2" --format csv | awk -F, '$2 == "duration_ns" { printf "%d\n", $3 / 2e9 }')
	for ((round = 0; round <= ${rounds:-$(pick 3 5)}; round++)); do
		answer "$1" window "$EBPFREC" report -i "$2" --from "${from}s" --to "$((from + 1))s" --format csv
		answer "$1" window_cpu "$EBPFREC" report -i "$2" cpu --from "${from}s" --to "$((from + 1))s" --format csv
		answer "$1" summary "$EBPFREC" report -i "$2" --format csv
		[ "$round" -eq 0 ] || ! time_is_up $((round + 1)) 3 "$start" $(($(share_s reading) / 3)) || break
	done
}

# load_trace TRACE: into a SQLite file with its indexes; rows as SQLite counts them
load_trace()
{
	local rows

	for ((round = 0; round <= ${rounds:-$(pick 2 3)}; round++)); do
		rm -rf "$run" && mkdir -p "$run"
		metered "$EBPFREC" export -i "$1" --to sqlite -f -o "$scratch/load.db"
		ran none $? || continue
		rows=$(python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
tables = [t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = '\''table'\''")]
print(sum(db.execute("SELECT count(*) FROM \"%s\"" % t).fetchone()[0] for t in tables))' "$scratch/load.db")
		sample ebpfrec load_rows "$rows" rows -
		sample ebpfrec load_rows_per_s "$(awk -v n="$rows" -v t="$(kv "$run/tool.kv" wall_ns)" \
			'BEGIN { printf "%.0f\n", n * 1e9 / t }')" 1/s higher
	done
	rm -f "$scratch/load.db"
}

# latency_report SIDE COMMAND...: recorded events per second that a report of wake-up latencies reads, in the last
# recording of SIDE.
latency_report()
{
	local side=$1 kept=$events

	shift
	for ((round = 0; round <= ${rounds:-$(pick 1 3)}; round++)); do
		timeout -k 10 "$run_limit_s" "$meter" "$scratch/report.kv" "$@" >"$scratch/report.out" 2>"$run/tool.err"
		ran none $? || continue
		[ -s "$scratch/report.out" ] || { invalid "$side" "latency report: no answer"; continue; }
		sample "$side" latency_events_per_s "$(awk -v n="$kept" -v t="$(kv "$scratch/report.kv" wall_ns)" \
			'BEGIN { printf "%.0f\n", n * 1e9 / t }')" 1/s higher
	done
}

# The same context switches and wake-ups recorded by both, and the same question.
compare_latency_reports()
{
	local round_trips side

	round_trips=$(pick 100000 500000)
	for side in $(present_sides "ebpfrec perf"); do
		round=0
		run_side "$side" sched "$bin/load_switch" "$round_trips" "$cpu"
		ran "$side" $? $((2 * round_trips)) || continue
		case $side in
		ebpfrec) latency_report "$side" "$EBPFREC" report -i "$run/trace" sched --by thread --limit 0 ;;
		perf) latency_report "$side" perf sched -i "$run/perf.data" latency ;;
		esac
	done
	rm -f "$scratch/report.kv" "$scratch/report.out"
}

case_reading()
{
	local size sizes generator=$bin/gen_trace_large load_events

	wanted ebpfrec "$only_sides" && [ -x "$EBPFREC" ] || return
	[ -x "$generator" ] || { note "reading: $generator is not built"; status=1; return; }
	warm_up=1
	compare_latency_reports
	load_events=$(pick 1000000 4000000)
	"$generator" -n "$load_events" "$scratch/load.trace" >/dev/null || { note "reading: no trace"; status=1; return; }
	load_trace "$scratch/load.trace"
	rm -rf "$scratch/load.trace"
	sizes=${EBPFREC_BENCH_SIZES:-$(pick "1M 10M" "10M 100M")}
	for size in $sizes; do
		if ! "$generator" -n "$(numfmt --from=si "$size")" "$scratch/$size.trace" >/dev/null; then
			note "reading: no trace of $size events"
			status=1
		else
			read_trace "ebpfrec-$size" "$scratch/$size.trace"
		fi
		rm -rf "$scratch/$size.trace"
	done
	has_sample ebpfrec
}

# Tables of Parquet, and the sources of their events.
declare -A parquet_tables=([sched.switch]=switches [sched.wakeup]=wakeups [alloc.slab]="slab_allocs slab_frees"
	[alloc.page]="page_allocs page_frees" [alloc.rss]=rss_points [block]=block_events)

# file_bytes DIR...
file_bytes()
{
	find "$@" -type f -printf '%s\n' | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

case_parquet()
{
	local trace=$scratch/parquet.trace source table rows dirs

	wanted ebpfrec "$only_sides" && [ -x "$EBPFREC" ] || return
	warm_up=1
	"$bin/gen_trace_large" -n "$(pick 1000000 10000000)" "$trace" >/dev/null ||
		{ note "parquet: no trace"; status=1; return; }
	for ((round = 0; round <= ${rounds:-$(pick 2 3)}; round++)); do
		rm -rf "$run" && mkdir -p "$run"
		metered "$EBPFREC" export -i "$trace" --to parquet -f -o "$scratch/parquet"
		ran none $? || continue
		rows=$(sed -nE 's/^ebpfrec: .*: ([0-9,]+) rows, .*/\1/p' "$run/tool.err" | tr -d ,)
		sample ebpfrec rows "$rows" rows -
		sample ebpfrec rows_per_s "$(awk -v n="$rows" -v t="$(kv "$run/tool.kv" \
			wall_ns)" 'BEGIN { printf "%.0f\n", n * 1e9 / t }')" 1/s higher
		sample_time ebpfrec export "$run/tool.kv"
	done
	round=1
	for source in "${!parquet_tables[@]}"; do
		dirs=()
		for table in ${parquet_tables[$source]}; do
			dirs+=("$scratch/parquet/$table")
		done
		rm -rf "$scratch/parquet.cut"
		"$EBPFREC" cut -i "$trace" -e "$source" -o "$scratch/parquet.cut" 2>/dev/null ||
			{ note "parquet: no cut of $source"; continue; }
		sample ebpfrec "ratio_$source" "$(awk -v n="$(file_bytes "${dirs[@]}")" -v t="$(file_bytes \
			"$scratch/parquet.cut")" \
			'BEGIN { printf "%.3f\n", n / t }')" "x the trace" lower
	done
	rm -rf "$trace" "$scratch/parquet" "$scratch/parquet.cut"
	has_sample ebpfrec
}

# turn_metrics SIDE: ebpfrec-idle is beside a recording of a command that sleeps
turn_metrics()
{
	local recorder tries seconds load=(-a --keep 1GiB -- "$bin/load_rate" 11000)

	seconds=$(pick 5 15)
	[ "$1" = ebpfrec ] || load=(--only -- sleep)
	rm -rf "$run" && mkdir -p "$run"
	"$EBPFREC" record -q -o "$run/trace" "${load[@]}" $((seconds + 60)) >"$run/work.out" 2>"$run/tool.err" &
	recorder=$!
	for ((tries = 0; tries < 60; tries++)); do
		[ -z "$(find "$run/trace" -name '*.ebr' -size +1 2>/dev/null)" ] || break
		sleep 0.5
	done
	sleep 2
	python3 "$bench/scrape.py" "$EBPFREC" "$run/trace" "$seconds" >"$run/scrape.kv" 2>>"$run/tool.err" ||
		echo "status=$?" >>"$run/scrape.kv"
	# the recording ends with its command
	kill "$(pgrep -P $recorder)"
	wait $recorder
	[ -z "$(kv "$run/scrape.kv" status)" ] || { invalid "$1" "the exporter was not measured"; return; }
	sample "$1" cpu_pct "$(kv "$run/scrape.kv" cpu_pct)" % lower
	sample "$1" scrape_ms "$(kv "$run/scrape.kv" scrape_ms)" ms lower
	sample "$1" scrape_max_ms "$(kv "$run/scrape.kv" scrape_max_ms)" ms lower
	sample "$1" mib "$(kv "$run/scrape.kv" mib)" MiB lower
	[ "$1" = ebpfrec ] || return
	sample "$1" events_per_s "$(($(kv "$run/scrape.kv" events) / seconds))" 1/s -
	sample "$1" ns_per_event "$(awk -v t="$(kv "$run/scrape.kv" cpu_ns)" -v n="$(kv "$run/scrape.kv" events)" \
		'BEGIN { printf "%.1f\n", n ? t / n : 0 }')" ns lower
}

case_metrics()
{
	take_turns "$(pick 1 3)" "ebpfrec ebpfrec-idle" turn_metrics
}
