#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The exporter is restarted beside a flight recorder, which keeps less than was counted: what it keeps would look like a
# counter that was reset, and a real Prometheus must not add it again. The alert and recording rules are tested, too.
. "$(dirname "$0")/../kernel/harness.bash"

prometheus=$(PATH=$PATH:/usr/sbin command -v prometheus)
[ -n "$prometheus" ] || { skip metrics_prometheus "prometheus is not installed"; exit; }

# ---- the rules installed with the dashboard ----

cp "$top/schema/prometheus_rules.yml" "$here/metrics_rules.yml" "$tmp"
said=$(promtool check rules "$tmp/prometheus_rules.yml" 2>&1) &&
	said+=$(promtool test rules "$tmp/metrics_rules.yml" 2>&1)
check "metrics, rules: promtool finds what the samples call for" "[ $? -eq 0 ]" "$said"
unknown=$(sed '/^ *#/d' "$tmp/prometheus_rules.yml" |
	grep -o '\bebpfrec_[a-z_]*\[\|\bebpfrec_[a-z_]* ==\|\bebpfrec_[a-z_]* offset' |
	sed 's/\[$//; s/ \(==\|offset\)$//; s/_total$//' | sort -u |
	grep -vxF -f <("$EBPFREC" metrics --list | sed 's/ .*//'))
check "metrics, rules: they ask for metrics that there are" '[ -z "$unknown" ]' "$unknown"

# ---- a restart ----

[[ $("$EBPFREC" metrics --listen 0 -i "$tmp/none" 2>&1) != *microhttpd* ]] ||
	{ skip metrics_endpoint "this program was built without libmicrohttpd"; exit; }

# All CPUs are busy, so that a part counted twice would exceed the possible CPU time. The load is nice, because other
# scripts run beside this one.
cat >"$tmp/load" <<END
for cpu in \$(seq $(nproc)); do
	nice -n 19 '$WORK/busy_threads' until '$tmp/hold.load' >/dev/null &
done
wait
END
hold load
start_recorder live -a -e sched --keep 4s -- sh "$tmp/load"
recorded_s()
{
	"$EBPFREC" sql -i "$tmp/live" --format csv 'SELECT max(to_ns) / 1000000000 FROM blocks' 2>/dev/null | tail -n 1
}
wait_for "as much is recorded as is kept" 300 '[ "$(recorded_s)" -ge 4 ] 2>/dev/null' ||
	{ not_ok "metrics: a recording of 4 s" "$(recorded_s)"; exit 1; }

# exporter PORT: starts one, and waits until it listens
exporter()
{
	"$EBPFREC" metrics -i "$tmp/live" --listen "127.0.0.1:$1" --interval 1s 2>"$tmp/metrics.err" &
	metrics=$!
	wait_for "the endpoint listens" 60 "grep -q listening '$tmp/metrics.err'" ||
		{ not_ok "metrics: the endpoint listens" "$(cat "$tmp/metrics.err")"; exit 1; }
	address=$(sed -n 's,.*listening on http://\([^/]*\).*,\1,p' "$tmp/metrics.err")
}
exporter 0
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
release load
wait $recorder
