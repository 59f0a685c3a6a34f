#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What leaves for other stores is what reports say: bins as JSON lines, and metrics for Prometheus.
#
# Bins of a live recording as JSON lines: each is written once, while it is recorded, and is equal to the later
# report. A fleet's table in ClickHouse accepts them. Bins that a flight recorder removes before they are read are
# reported.
. "$(dirname "$0")/../kernel/harness.bash"

# Its name is known before the recording begins: a name that changes later would change rows of the past.
hold load
"$WORK/busy_threads" until "$tmp/hold.load" >/dev/null &
start_recorder live -a -e light --keep 10m -- sh -c "while [ -e '$tmp/hold.load' ]; do
	dd if=/dev/zero of='$tmp/data' bs=64k count=20 oflag=direct 2>/dev/null; '$WORK/touch_memory' 20 1 >/dev/null; sleep \
		0.1; done"
follow()
{
	local name=$1

	shift
	timeout 300 "$EBPFREC" report -i "$tmp/live" "$@" --format jsonl --follow=300ms >"$tmp/$name.jsonl" \
		2>"$tmp/$name.err" &
	followers+=($!)
}
bins=(bins --every 1s --align) cpu=(cpu --by cpu --with-idle --every 300ms) io=(io --by device,op --every 1s) \
	until=(cpu --by cpu --every 1s --until 2500ms)
followers=()
follow bins "${bins[@]}"
follow cpu "${cpu[@]}"
follow io "${io[@]}"
# (this one reaches its end before the recording ends)
wait_for "2.5 s of the trace" 60 "[ \$(grep -c '\"name\":\"\"' '$tmp/bins.jsonl') -ge 4 ]"
follow until "${until[@]}"
wait "${followers[3]}"
check "bins: --until ends the report, not the recording" "[ $? -eq 0 ] && kill -0 $recorder" "$(cat "$tmp/until.err")"
wait_for "bins" 60 "[ \$(grep -c '\"name\":\"\"' '$tmp/bins.jsonl') -ge 7 ]"
cp "$tmp/bins.jsonl" "$tmp/before_the_end"
release load
wait $recorder
check "bins: the recording ends as if nobody had asked" "[ $? -eq 0 ]" "$(cat "$tmp/live.err")"
for i in 0 1 2; do
	wait "${followers[i]}"
	check "bins: what follows ends with it, $i" "[ $? -eq 0 ]" "$(tail -n 2 "$tmp"/{bins,cpu,io}.err)"
done
for view in bins cpu io until; do
	declare -n args=$view
	"$EBPFREC" report -i "$tmp/live" "${args[@]}" --format jsonl >"$tmp/$view.after" 2>/dev/null
done

checker <"$top/tests/full/bins_live.py"

# ---- a reader that sleeps while a flight recorder removes unread bins ----

hold kept
start_recorder kept -a -e sched --keep 1s -- sh -c "$(until_released kept)"
timeout 300 "$EBPFREC" report -i "$tmp/kept" cpu --by cpu --every 100ms --follow=100ms --format jsonl \
	>"$tmp/kept.jsonl" 2>"$tmp/follow.err" &
reader=$!
wait_for "lines" 60 "[ -s '$tmp/kept.jsonl' ]"
# (timeout has the reader as its child)
reader_pid=$(pgrep -P $reader)
kill -STOP "$reader_pid"
files=$(ls "$tmp"/kept/*.ebr)
wait_for "all files are others" 60 "! ls $(tr '\n' ' ' <<<"$files") 2>/dev/null | grep -q ." ||
	not_ok "bins: the recorder removes files" "$(ls "$tmp/kept")"
sleep 1
kill -CONT "$reader_pid"
lines=$(wc -l <"$tmp/kept.jsonl")
wait_for "more lines" 60 "[ \$(wc -l <'$tmp/kept.jsonl') -gt $lines ]"
release kept
wait $recorder $reader
check "bins: what was removed before it was read is counted" \
	"[ $? -eq 0 ] && grep -q 'kept: [0-9]* bins were removed before they could be read' '$tmp/follow.err'" \
	"$(cat "$tmp/follow.err")"
checker <<'EOF_PY'
from trace_query import *
stamps = sorted({json.loads(line)["unix_ns"] // 1_000_000 for line in open(tmp + "/kept.jsonl")})
said = sum(int(n) for n in re.findall(r"(\d+) bins were removed", open(tmp + "/follow.err").read()))
gaps = sum(round((b - a) / 100) - 1 for a, b in zip(stamps, stamps[1:]))
check("bins: as many as are missing", said == gaps > 0, (said, gaps, stamps))
EOF_PY

# ---- into the table of a fleet, as the manual page does ----

if ! command -v clickhouse-client >/dev/null; then
	skip clickhouse "clickhouse-client is not installed"
elif . "$here/clickhouse.bash" && start_server 0; then
	export http_0 tcp_0
	checker <"$top/tests/full/metrics_bins.py"
	kill -KILL "$pid_0"
	wait "$pid_0" 2>/dev/null
fi

# ---- Prometheus ----

# What Prometheus gets to know is what reports say. Hostile names make valid text; a backfilled recording has every bin;
# a flight recorder that removes its beginning is scraped while it runs, by a real Prometheus and by clients that
# misbehave; the dashboard's queries have data.
#
# The exporter is restarted beside a flight recorder, which keeps less than was counted: what it keeps would look like a
# counter that was reset, and a real Prometheus must not add it again. The alert and recording rules are tested, too.
fresh

promtool=$(command -v promtool) prometheus=$(PATH=$PATH:/usr/sbin command -v prometheus)

# ---- a finished recording ----

cat >"$tmp/load" <<END
'$WORK/odd_names' 20 >/dev/null
'$WORK/touch_memory' 40 1 >/dev/null
dd if=/dev/zero of='$tmp/data' bs=64k count=200 oflag=direct 2>/dev/null
'$WORK/busy_threads' one 600 >/dev/null
dd if='$tmp/data' of=/dev/null bs=16k iflag=direct 2>/dev/null
END
recorded a --only -- sh "$tmp/load"
mkdir "$tmp/textfiles"
"$EBPFREC" metrics -i "$tmp/a" --once >"$tmp/once.txt" 2>"$tmp/once.err" ||
	not_ok "metrics --once" "$(cat "$tmp/once.err")"
"$EBPFREC" metrics -i "$tmp/a" --once --textfile "$tmp/textfiles" || not_ok "metrics --textfile" "status $?"
"$EBPFREC" metrics -i "$tmp/a" --once --top 1 >"$tmp/few.txt"
"$EBPFREC" metrics -i "$tmp/a" --once --by user >"$tmp/user.txt"
"$EBPFREC" export -q -i "$tmp/a" --to openmetrics --every 250ms -o "$tmp/bins.txt" 2>"$tmp/export.err"
checker <"$top/tests/full/metrics_once.py"

# ---- the rules installed with the dashboard ----

if [ -n "$promtool" ]; then
	cp "$top/schema/prometheus_rules.yml" "$here/metrics_rules.yml" "$tmp"
	said=$(promtool check rules "$tmp/prometheus_rules.yml" 2>&1) &&
		said+=$(promtool test rules "$tmp/metrics_rules.yml" 2>&1)
	check "metrics, rules: promtool finds what the samples call for" "[ $? -eq 0 ]" "$said"
	unknown=$(sed '/^ *#/d' "$tmp/prometheus_rules.yml" |
		grep -o '\bebpfrec_[a-z_]*\[\|\bebpfrec_[a-z_]* ==\|\bebpfrec_[a-z_]* offset' |
		sed 's/\[$//; s/ \(==\|offset\)$//; s/_total$//' | sort -u |
		grep -vxF -f <("$EBPFREC" metrics --list | sed 's/ .*//'))
	check "metrics, rules: they ask for metrics that there are" '[ -z "$unknown" ]' "$unknown"
fi

# ---- a live one, scraped ----

"$EBPFREC" metrics -i "$tmp/a" --listen nonsense 2>"$tmp/http.err"
! grep -q libmicrohttpd "$tmp/http.err" || { skip metrics_endpoint "this program was built without libmicrohttpd"; \
	exit; }
[ -n "$promtool" ] && [ -n "$prometheus" ] || { skip metrics_prometheus "prometheus is not installed"; exit; }

promtool check metrics <"$tmp/textfiles/ebpfrec.prom" >"$tmp/promtool.out" 2>&1
check "metrics: promtool finds nothing wrong" "[ $? -eq 0 -a ! -s '$tmp/promtool.out' ]" \
	"$(head -n 3 "$tmp/promtool.out")"
promtool tsdb create-blocks-from openmetrics "$tmp/bins.txt" "$tmp/db" >"$tmp/promtool.out" 2>&1
check "metrics: promtool takes the bins" "[ $? -eq 0 ]" "$(tail -n 3 "$tmp/promtool.out")"

cat >"$tmp/live_load" <<END
'$WORK/busy_threads' until '$tmp/hold.load' >/dev/null &
while [ -e '$tmp/hold.load' ]; do
	'$WORK/touch_memory' 40 1 >/dev/null
	dd if=/dev/zero of='$tmp/data' bs=64k count=20 oflag=direct 2>/dev/null
	dd if='$tmp/data' of=/dev/null bs=16k iflag=direct 2>/dev/null
	sleep 0.1
done
wait
END
hold load
start_recorder live -a -e light --keep 10m -- sh "$tmp/live_load"
"$EBPFREC" metrics -i "$tmp/live" --listen 127.0.0.1:0 --interval 1s 2>"$tmp/metrics.err" &
metrics=$!
wait_for "the endpoint listens" 60 "grep -q listening '$tmp/metrics.err'" ||
	{ not_ok "metrics: the endpoint listens" "$(cat "$tmp/metrics.err")"; exit 1; }
url=$(sed -n 's/.*listening on //p' "$tmp/metrics.err")
target=${url#http://}
start_prometheus 1 "${target%/metrics}"
export port url metrics recorder top
checker <"$top/tests/full/metrics.py"
release load
kill -TERM $metrics 2>/dev/null
wait $metrics
check "metrics: the endpoint ends when it is told to" "[ $? -eq 0 ]" "$(tail -n 2 "$tmp/metrics.err")"
wait $recorder
check "metrics: the recorder ends as if nobody had asked" "[ $? -eq 0 ]" "$(cat "$tmp/live.err")"

# ---- a restart ----

# All CPUs are busy, so that a part counted twice would exceed the possible CPU time. The load is nice, because other
# scripts run beside this one.
cat >"$tmp/busy_load" <<END
for cpu in \$(seq $(nproc)); do
	nice -n 19 '$WORK/busy_threads' until '$tmp/hold.busy' >/dev/null &
done
wait
END
hold busy
start_recorder restarted -a -e sched --keep 4s -- sh "$tmp/busy_load"
recorded_s()
{
	sql_value restarted 'SELECT max(to_ns) / 1000000000 FROM blocks' 2>/dev/null
}
wait_for "as much is recorded as is kept" 300 '[ "$(recorded_s)" -ge 4 ] 2>/dev/null' ||
	{ not_ok "metrics: a recording of 4 s" "$(recorded_s)"; exit 1; }

# exporter PORT: starts one, and waits until it listens
exporter()
{
	: >"$tmp/metrics.err"	# the last one's line must not be found
	"$EBPFREC" metrics -i "$tmp/restarted" --listen "127.0.0.1:$1" --interval 1s 2>"$tmp/metrics.err" &
	metrics=$!
	wait_for "the endpoint listens" 60 "grep -q listening '$tmp/metrics.err'" ||
		{ not_ok "metrics: the endpoint listens" "$(cat "$tmp/metrics.err")"; exit 1; }
	address=$(sed -n 's,.*listening on http://\([^/]*\).*,\1,p' "$tmp/metrics.err")
}
exporter 0
# (this one knows nothing of the other)
kill "$prometheus_pid" && wait "$prometheus_pid"
rm -rf "$tmp/db"
start_prometheus 1 "$address"

# ask QUERY: the value of its only row, or nothing
ask()
{
	promtool query instant "http://127.0.0.1:$port" "$1" 2>/dev/null | sed -n 's/.*=> \([^ ]*\) @.*/\1/p'
}
# counts MORE: Prometheus has seen at least MORE changes of the trace's end since the exporter began
counts()
{
	[ "$(ask "changes(ebpfrec_trace_end_monotonic_seconds[1h]) >= bool $1")" = 1 ]
}
wait_for "Prometheus has rates" 120 'counts 8' || { not_ok "metrics: Prometheus scrapes" \
	"$(tail -n 2 "$tmp/prometheus.out")"; exit 1; }
kill -TERM $metrics
wait $metrics
exporter "${address##*:}"
wait_for "rates after the restart" 120 'counts 13' || { not_ok "metrics: Prometheus scrapes after the restart" \
	"$(tail -n 2 "$tmp/prometheus.out")"; exit 1; }

# Both are extrapolated to the same range, so their quotient is not. An hour has all samples.
rate='sum(increase(ebpfrec_cpu_seconds_total[1h])) / on() sum(delta(ebpfrec_trace_end_monotonic_seconds[1h]))'
resets=$(ask 'max(resets(ebpfrec_cpu_seconds_total[1h]))')
check "metrics, restarted: Prometheus sees the reset" '[ "$resets" -ge 1 ]' "$resets"
got=$(ask "$rate")
check "metrics, restarted: no more CPUs are busy than there are" \
	"python3 -c 'import sys; sys.exit(not 0.2 < float(sys.argv[1]) / float(sys.argv[2]) < 1.02)' '${got:-0}' $(nproc)" \
		"$got of $(nproc)"
kill -TERM $metrics
wait $metrics
release busy
wait $recorder
