# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# cases_scale.bash: the cost of questions to a trace of 100 M events, and DuckDB's cost for the same rows as CSV.
#
# case scale 0 600: 100 M events: first question, a second of each view, cut, bundle, page, SQL next to DuckDB
#
# Not part of a quick run, unless --only asks for it: then with a million events. Sides: ebpfrec; decode, which decodes
# all blocks, or those of the window, once on all CPUs; ebpfrec-totals, the
# same question through totals(); ebpfrec-index, through the sums of the derived file; sqlite, the same statement over
# the same number of identical rows, which is SQLite's own cost (sql_floor); duckdb, two threads, the query alone,
# without the start of its process. DuckDB comes from npm; without it the others are measured alone.
# EBPFREC_BENCH_SIZES: the first size in it.

by_process="JOIN threads AS t ON t.utid = x.utid JOIN processes AS p ON p.upid = t.upid
	GROUP BY p.upid, p.comm, p.pid ORDER BY total DESC, p.upid LIMIT 10"
declare -A scale_sql=(
	[slices]="SELECT p.comm, p.pid, count(*) AS n, sum(x.dur_ns) AS total FROM sched_slices AS x $by_process"
	[waits]="SELECT utid, cpu, start_ns, wait_ns, wait_reason FROM sched_slices WHERE wait_ns IS NOT NULL
		ORDER BY wait_ns DESC, start_ns LIMIT 10"
	[latency]="SELECT p.comm, p.pid, count(*) AS n, sum(x.latency_ns) AS total FROM block_requests AS x
		JOIN processes AS p ON p.upid = x.owner_upid WHERE x.latency_ns IS NOT NULL
		GROUP BY p.upid, p.comm, p.pid ORDER BY total DESC, p.upid LIMIT 10"
	[slab]="SELECT p.comm, p.pid, count(*) AS n, sum(x.bytes) AS total FROM slab_allocs AS x $by_process"
)
by_process="SELECT p.comm, p.pid, sum(x.n) AS n, sum(x.total) AS total FROM x $by_process"
declare -A scale_totals=(
	[slices]="WITH x AS (SELECT key1 AS utid, row_cnt AS n, value_sum AS total
		FROM totals('sched_slices', 'utid', 'dur_ns')) $by_process"
	[latency]="SELECT p.comm, p.pid, x.value_cnt AS n, x.value_sum AS total
		FROM totals('block_requests', 'owner_upid', 'latency_ns') AS x
		JOIN processes AS p ON p.upid = x.key1 WHERE x.value_cnt > 0 ORDER BY total DESC, p.upid LIMIT 10"
	[slab]="WITH x AS (SELECT key1 AS utid, row_cnt AS n, value_sum AS total
		FROM totals('slab_allocs', 'utid', 'bytes')) $by_process"
)
# These count a little differently: switches instead of slices.
declare -A scale_index=(
	[slices]="SELECT p.comm, p.pid, sum(u.switches) AS n, sum(u.oncpu_ns) AS total FROM cpu_usage AS u
		JOIN processes AS p ON p.upid = u.upid
		GROUP BY u.upid ORDER BY total DESC, p.upid LIMIT 10"
	[latency]="SELECT p.comm, p.pid, sum(u.ios) AS n, sum(u.lat_sum_ns) AS total FROM io_usage AS u
		JOIN processes AS p ON p.upid = u.upid
		GROUP BY u.upid ORDER BY total DESC, p.upid LIMIT 10"
	[slab]="SELECT p.comm, p.pid, u.allocs AS n, u.alloc_bytes AS total FROM alloc_usage AS u
		JOIN processes AS p ON p.upid = u.upid
		WHERE u.source = 'slab' ORDER BY total DESC, p.upid LIMIT 10"
)

# Installs DuckDB in $scratch/duckdb. False, with a note: not available.
get_duckdb()
{
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		note "scale: without duckdb: no npm"
		return 1
	fi
	mkdir -p "$scratch/duckdb"
	(cd "$scratch/duckdb" && echo '{}' >package.json &&
		timeout 300 npm install --no-audit --no-fund @duckdb/node-api) >"$scratch/duckdb/npm" 2>&1 ||
		{ note "scale: without duckdb: $(tail -n 1 "$scratch/duckdb/npm")"; return 1; }
	cat >"$scratch/duckdb/ask.mjs" <<'END'
import { DuckDBInstance } from '@duckdb/node-api';
import { writeFileSync } from 'fs';
const [dir, sql, times] = process.argv.slice(2);
const db = await DuckDBInstance.create(':memory:', { threads: '2' });
const c = await db.connect();
for (const t of ['sched_slices', 'threads', 'processes', 'block_requests', 'slab_allocs'])
	await c.run(`CREATE VIEW ${t} AS SELECT * FROM read_csv('${dir}/${t}.csv', header=true)`);
const before = process.cpuUsage(), begin = process.hrtime.bigint();
const r = await c.runAndReadAll(sql);
const used = process.cpuUsage(before), wall = process.hrtime.bigint() - begin;
writeFileSync(times, `wall_ns=${wall}\nuser_ns=${used.user * 1000}\nsys_ns=${used.system * 1000}\n` +
	`max_rss_bytes=${process.resourceUsage().maxRSS * 1024}\n`);
console.log(r.columnNames().join(','));
for (const row of r.getRows())
	console.log(row.map(v => v === null ? '' : String(v)).join(','));
END
}

ask_duckdb()
{
	rm -rf "$run"
	mkdir -p "$run"
	metered node "$scratch/duckdb/ask.mjs" "$scratch/csv" "${scale_sql[$1]}" "$run/query.kv"
	ran none $? || return
	sample_time duckdb "sql_$1" "$run/query.kv"
	same_answer "$1" duckdb
}

# same_answer QUERY SIDE: the last command had the same output as the first side
same_answer()
{
	tr -d '\r"' <"$run/work.out" >"$scratch/answer.$2"
	[ "$2" != ebpfrec ] || cp "$scratch/answer.$2" "$scratch/answer"
	cmp -s "$scratch/answer" "$scratch/answer.$2" ||
		{ note "scale: $2 answers $1 otherwise: $(head -n 2 "$scratch/answer.$2" | tail -n 1)"; status=1; }
}

scale_queries()
{
	local trace=$1 name table rows

	for name in slices waits latency slab; do
		answer ebpfrec "sql_$name" "$EBPFREC" sql -i "$trace" --format csv "${scale_sql[$name]}" &&
			same_answer "$name" ebpfrec
		[ -z "${scale_totals[$name]:-}" ] || {
			answer ebpfrec-totals "sql_$name" "$EBPFREC" sql -i "$trace" --format csv "${scale_totals[$name]}" &&
				same_answer "$name" ebpfrec-totals
			answer ebpfrec-index "sql_$name" "$EBPFREC" sql -i "$trace" --format csv "${scale_index[$name]}"
		}
		table=$(sed -n 's/.*FROM \([a-z_]*\).*/\1/p' <<<"${scale_sql[$name]}" | head -n 1)
		rows=$("$EBPFREC" sql -i "$trace" --format csv "SELECT count(*) FROM $table" | tail -n 1)
		answer sqlite "sql_$name" "$bin/sql_floor" "$rows" "${scale_sql[$name]}"
		[ ! -e "$scratch/duckdb/ask.mjs" ] || ask_duckdb "$name"
	done
}

# scale_windows TRACE SECONDS: a second of each view
scale_windows()
{
	local view where from

	for view in $("$EBPFREC" report --list --format csv | sed '1d; s/^[^,]*,\([a-z]*\),.*/\1/'); do
		for where in start middle end; do
			case $where in
			start) from=0 ;;
			middle) from=$(($2 / 2)) ;;
			end) from=$(($2 - 2)) ;;
			esac
			[ "$view" != cpu ] || answer decode "window_cpu_$where" "$bin/decode" "$1" "$from.25" "$((from + 1)).25"
			answer ebpfrec "window_${view}_$where" "$EBPFREC" report -i "$1" "$view" --from "$from.25s" \
				--to "$((from + 1)).25s" --format csv
		done
	done
}

# scale_page TRACE: the page of the whole trace, and the time of a browser to show it
scale_page()
{
	local times

	answer ebpfrec page sh -c '"$1" export -q -f --to html -i "$2" -o "$3" && echo done' sh "$EBPFREC" "$1" \
		"$scratch/page.html" || return
	sample ebpfrec page_mb "$(stat -c %s "$scratch/page.html" | awk '{ printf "%.3f\n", $1 / 1e6 }')" MB lower
	times=$(python3 "$bench/../page/page_speed.py" "$scratch/page.html")
	case $? in
	0)
		sample ebpfrec page_paint_s "${times% *}" s lower
		sample ebpfrec page_redraw_s "${times#* }" s lower
		;;
	77) note "scale: the page is not looked at: no chromium" ;;
	*) invalid ebpfrec "the page is not shown" ;;
	esac
}

# scale_view TRACE: the viewer of the trace, from one random window to the next
scale_view()
{
	local numbers i=0 name

	read -ra numbers < <(EBPFREC=$EBPFREC python3 "$bench/../page/view_speed.py" "$1")
	[ "${#numbers[@]}" -eq 6 ] || { note "scale: the viewer is not looked at: no chromium, or no page"; return; }
	for name in first_s:s step_cpu_s:s step_cpu_worst_s:s step_paint_s:s step_paint_worst_s:s rss_mb:MB; do
		sample ebpfrec "view_${name%:*}" "${numbers[i++]}" "${name#*:}" lower
	done
}

# A trace of some 14,000 short-lived processes, each with a name of its own.
scale_names()
{
	local trace=$scratch/names.trace view

	"$bin/gen_trace_large" -n 16000000 -f 1900 -u "$trace" >/dev/null ||
		{ note "scale: no trace of names"; status=1; return; }
	for view in cpu memory io waits; do
		answer ebpfrec "names_$view" "$EBPFREC" report -i "$trace" "$view" --by comm --format csv
	done
	answer ebpfrec names_summary "$EBPFREC" report -i "$trace" summary --format csv
	rm -rf "$trace"
}

case_scale()
{
	local size trace=$scratch/scale.trace seconds start=$SECONDS

	[ -z "$quick" ] || [ -n "$only" ] || { note "scale: not part of a quick run"; return; }
	wanted ebpfrec "$only_sides" && [ -x "$EBPFREC" ] || return
	size=${EBPFREC_BENCH_SIZES:-$(pick 1M 100M)}
	"$bin/gen_trace_large" -n "$(numfmt --from=si "${size%% *}")" "$trace" >/dev/null ||
		{ note "scale: no trace"; status=1; return; }
	seconds=$("$EBPFREC" info -i "$trace" --format csv | awk -F, '$2 == "duration_ns" { printf "%d\n", $3 / 1e9 }')
	warm_up=0
	if wanted duckdb "$only_sides" && get_duckdb; then
		"$EBPFREC" export -i "$trace" --to csv -t sched_slices,threads,processes,block_requests,slab_allocs \
			-q -o "$scratch/csv" ||
			{ note "scale: no CSV"; status=1; rm -rf "$scratch/duckdb"; }
	fi
	for ((round = 1; round <= ${rounds:-$(pick 1 3)}; round++)); do
		rm -f "$trace/derived.idx"
		sample ebpfrec events "$("$EBPFREC" info -i "$trace" --format csv |
			awk -F, '$1 == "events" && $2 == "all" { printf "%d\n", $3 }')" events -
		answer ebpfrec first "$EBPFREC" report -i "$trace" summary --format csv
		answer decode first "$bin/decode" "$trace"
		# questions whose parts of the index the summary did not make
		answer ebpfrec rest_totals "$EBPFREC" report -i "$trace" totals --format csv
		answer ebpfrec rest_states "$EBPFREC" report -i "$trace" states --format csv
		scale_windows "$trace" "$seconds"
		answer ebpfrec cut sh -c 'rm -rf "$3" && "$1" cut -i "$2" --from -1s -o "$3" && echo done' sh "$EBPFREC" \
			"$trace" "$scratch/cut"
		answer ebpfrec bundle sh -c 'rm -f "$3" && "$1" bundle -i "$2" --from -1s -o "$3" && echo done' sh "$EBPFREC" \
			"$trace" "$scratch/cut.zip"
		scale_page "$trace"
		scale_view "$trace"
		scale_queries "$trace"
		scale_names
		! time_is_up "$round" 2 "$start" "$(share_s scale)" || break
	done
	rm -rf "$trace" "$scratch/csv" "$scratch/duckdb" "$scratch/cut" "$scratch/cut.zip" "$scratch/page.html" \
		"$scratch"/answer*
	has_sample ebpfrec
}
