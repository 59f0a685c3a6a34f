#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The manual page ebpfrec-fleet, command by command: three recorders in UTS namespaces of their own are the machines
# web1, web2 and db1, two ClickHouse servers are the cluster. Its commands for systemd are run by service.sh.
. "$(dirname "$0")/../kernel/harness.bash"
. "$here/clickhouse.bash"

for program in clickhouse-client curl; do
	command -v $program >/dev/null || { skip clickhouse "$program is not installed"; exit; }
done
client=$(command -v clickhouse-client)

# ---- stand-ins for the machines, and for the addresses ----

mkdir "$tmp/bin" "$tmp/desk"
ln -s "$EBPFREC" "$tmp/bin/ebpfrec"
printf '#!/bin/sh\nexec "$@"\n' >"$tmp/bin/sudo"
# shellcheck disable=SC2016
printf '#!/bin/sh\nfrom=${2#root@}\nexec cp -r "$tmp/${from%%%%:*}/${from##*/}" "$3"\n' >"$tmp/bin/scp"
# shellcheck disable=SC2016
printf '#!/bin/bash\nexec %s --port $client_port "${@/#store/127.0.0.1}"\n' "$client" >"$tmp/bin/clickhouse-client"
chmod +x "$tmp"/bin/*
printf 'connect-to = "store:8123:127.0.0.1:%s"\n' "$http_0" >"$tmp/.curlrc"
export CURL_HOME=$tmp PATH=$tmp/bin:$PATH client_port=$tcp_0

# page SECTION: its commands, one a line
page()
{
	sed -n "/^\.SH $1/,/^\.SH /p" "$top/cmd/ebpfrec-fleet.7" | sed -n '/^\.nf/,/^\.fi/p' |
		sed '/^\./d; s/\\-/-/g; s/\\(aq/'"'"'/g' |
		sed -e ':more' -e "/|\$/N; /-q '[^']*\$/N; s/\n */ /; t more"
}

# run_page MACHINE SECTION [PATTERN]: runs the matching commands on the machine; their output is in $tmp/said
run_page()
{
	local dir=$tmp/$1 line done=0

	: >"$tmp/said"
	while IFS= read -r line <&3; do
		(cd "$dir" &&
			bash -c "set -o pipefail; $(sed "s,/var/lib/ebpfrec,$dir,g; s,T14:02,${from:-},; s,T14:03,${at:-},; \
			s,localhost:9090,127.0.0.1:${port:-}," <<<"$line")") \
			>>"$tmp/said" 2>"$dir.err" </dev/null
		check "the page, on $1: $line" "[ $? -eq 0 ]" "$(tail -n 3 "$dir.err" "$tmp/said" 2>&1)"
		done=$((done + 1))
	done 3< <(page "$2" | grep -E -e "${3:-.}")
	[ $done -gt 0 ] || not_ok "the page: $2" "no command"
}

# ---- one machine ----

run_page desk "ONE MACHINE"
check "one machine: says why" "grep -q 'CPU by name' '$tmp/said' && grep -q find '$tmp/said'" "$(cat "$tmp/said")"

# ---- recorders ----

machines='web1 web2 db1'
hold load
for machine in $machines; do
	mkdir "$tmp/$machine"
	# shellcheck disable=SC2016
	unshare -u sh -c 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"' "$machine" \
		"$EBPFREC" record -q -a -e light --keep 64MiB --note "role=${machine%[0-9]}" -o "$tmp/$machine/trace" \
			2>"$tmp/$machine/err" &
done
sh -c "while [ -e '$tmp/hold.load' ]; do '$WORK/busy_threads' one 50 >/dev/null; sleep 0.05; done" &
for machine in $machines; do
	wait_for "$machine has a block" 100 \
		"[ -n \"\$(find '$tmp/$machine/trace' -name '*.ebr' -size +1k 2>/dev/null)\" ]" ||
		{ not_ok "recording $machine" "$(tail -n 3 "$tmp/$machine/err")"; exit 1; }
done

# ---- metrics ----

section='METRICS IN PROMETHEUS AND GRAFANA'
page "$section" | grep -v ^promtool >"$tmp/desk/prometheus.yml"
listens()
{
	grep -q 'listening on' "$tmp/$1/metrics.err"
}
metrics()
{
	local machine address

	cp "$tmp/desk/prometheus.yml" "$tmp/prometheus.yml"
	sed -i 's/scrape_interval: 10s/scrape_interval: 1s/' "$tmp/prometheus.yml"
	for machine in $machines; do
		"$EBPFREC" metrics -i "$tmp/$machine/trace" --listen 127.0.0.1:0 --interval 1s 2>"$tmp/$machine/metrics.err" &
		wait_for "metrics of $machine" 60 "listens $machine" || { not_ok "metrics of $machine" \
			"$(cat "$tmp/$machine/metrics.err")"; return; }
		address=$(sed -n 's,.*listening on http://\([^/]*\).*,\1,p' "$tmp/$machine/metrics.err")
		sed -i "s/$machine:19435/$address/" "$tmp/prometheus.yml"
	done
	start_prometheus
	wait_for "rates of all machines" 60 \
		"promtool query instant http://127.0.0.1:$port \
			'count(count by (instance) (rate(ebpfrec_cpu_seconds_total[1m]) > 0))' 2>&1 |
			grep -q '=> 3 '"
	run_page desk "$section" ^promtool
	check "metrics: programs of all machines" "[ \"\$(grep -c '{comm=.* => ' '$tmp/said')\" -ge 3 ]" \
		"$(cat "$tmp/said" "$tmp/prometheus.out")"
}
prometheus=$(PATH=$PATH:/usr/sbin command -v prometheus)
if [ -z "$prometheus" ] || [[ $("$EBPFREC" metrics --listen 0 -i "$tmp/none" 2>&1) == *microhttpd* ]]; then
	skip metrics_prometheus "prometheus is not installed, or this program was built without libmicrohttpd"
else
	metrics
fi

# ---- the same minute ----

section='THE SAME MINUTE OF SEVERAL MACHINES'
at=@$(($(date +%s) + 5))
from=@$((${at#@} - 1))
for machine in $machines; do
	run_page $machine "$section" snapshot >"$tmp/$machine/verdict" &
	snapshots+=($!)
done
wait "${snapshots[@]}"
cat "$tmp"/*/verdict
! grep -q '^not ok' "$tmp"/*/verdict || test_status=1
run_page desk "$section" '^scp|^ebpfrec'
for machine in $machines; do
	check "the same minute: rows of $machine" "grep -q '^$machine .* busy_threads' '$tmp/said'" \
		"$(head -n 30 "$tmp/said")"
done

# ---- events ----

start_server 0
start_server 1
section='EVENTS OF MANY MACHINES IN CLICKHOUSE'
for client_port in $tcp_0 $tcp_1; do
	run_page desk "$section" --schema
done
client_port=$tcp_0
for machine in $machines; do
	run_page $machine "$section" 'until|bins.rowbinary|/minute'
done
release load
wait_for "rows of all machines" 30 \
	"[ \"\$(clickhouse-client -q 'SELECT uniq(host) FROM loads WHERE whole' 2>&1)\" = 3 ]"
run_page desk "$section" ^clickhouse-client
for client_port in $tcp_0 $tcp_1; do
	hosts=$(clickhouse-client -q 'SELECT DISTINCT host FROM comm_bins_here' | tr '\n' ' ')
	check "events: a shard has some of the machines" "[ -n '$hosts' ] && [ $(wc -w <<<"$hosts") -lt 3 ]" "$hosts"
done
client_port=$tcp_0
export from at machines
checker <"$top/tests/full/fleet_page.py"
