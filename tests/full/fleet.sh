#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Eight recordings as eight hosts in two ClickHouse servers, the shards of one cluster. Rows for a server that is
# down are refused, and sent again when it is back. Rows that are sent twice or in part change no answer. The questions
# of schema/fleet/questions.sql have the results of `ebpfrec report` and `ebpfrec sql`, host by host.
#
# Then servers that are killed while rows are sent, and the manual page ebpfrec-fleet, command by command.
. "$(dirname "$0")/../kernel/harness.bash"
. "$here/clickhouse.bash" && start_server 0 && start_server 1 || exit "$test_status"

# host NUMBER ROLE COMMAND...: a recording with the name of this host
host()
{
	local name=host$1 role=$2

	shift 2
	recorded "$name" -e light --note "role=$role" -- "$@"
	sed -i "/^crc32c=/d;s/^host=.*/host=$name/" "$tmp/$name/manifest"
}

burn='for i in 1 2 3 4; do $WORK/busy_threads one 400 & done; wait'
host 0 web "$WORK/touch_memory" 64 700 50 700
host 1 web "$WORK/busy_threads" one 400
sleep 1.1 # the roll-out: no second has a part of both sides
host 2 web sh -c "$burn"
host 3 web "$WORK/busy_threads" two 400
host 4 db dd if=/dev/zero of="$tmp/file" bs=64k count=200 oflag=direct
host 5 db dd if="$tmp/file" of=/dev/null bs=4k count=500 iflag=direct
host 6 db "$WORK/touch_memory" 150 50 0 50
host 7 db sh -c "$burn"
"$EBPFREC" cut -i "$tmp/host1" --until 0.2s -o "$tmp/cut" 2>/dev/null &&
	"$EBPFREC" bundle -i "$tmp/host1" -o "$tmp/host1.zip" >/dev/null 2>&1
export http_0 http_1 schema=$top/schema/fleet PYTHONPATH=$PYTHONPATH:$top/tests/full

checker <"$top/tests/full/fleet_send.py"
kill -KILL "$pid_1"
wait "$pid_1" 2>/dev/null
checker <"$top/tests/full/fleet_refused.py"
start_server 1 || exit
checker <"$top/tests/full/fleet.py"

# ---- servers that are killed ----

# Two ClickHouse servers are the shards of a cluster. Twenty times a machine sends its tables and bins as the manual
# page ebpfrec-fleet does, and at a random instant one of the servers is killed: the one that receives the INSERT, or
# the other one. It is restarted, and unconfirmed rows are sent again. At the end all rows exist exactly once.
# The traces are generated, not recorded.
empty_servers || exit

rounds=20
tables=info,processes,threads,sched_slices,block_requests,slab_allocs
gen=${BUILD:-$top/build}/bench/bin/gen_trace_large
[ -x "$gen" ] || { not_ok fleet_killed "$gen is not built"; exit 1; }
for program in clickhouse-client curl; do
	command -v $program >/dev/null || { skip clickhouse "$program is not installed"; exit; }
done

# ---- data that machines send ----

# The page's way to send a file, here to a server at another port, and without its pause.
mkdir "$tmp/bin"
printf '#!/bin/sh\nexec /bin/sleep 0.1\n' >"$tmp/bin/sleep"
chmod +x "$tmp/bin/sleep"
printf 'connect-to = "store:8123:127.0.0.1:%s"\n' "$http_0" >"$tmp/.curlrc"
export CURL_HOME=$tmp
send=$(sed 's/\\-/-/g; s/\\(aq/'"'"'/g' "$top/cmd/ebpfrec-fleet.7" | grep '^until curl .*minute.rowbinary')
check "the page has a way to send a file" "[[ '$(wc -l <<<"$send")' = 1 && \$send = *insert_distributed_sync=1* ]]" \
	"$send"
# more blocks than one
blocks='max_insert_block_size=3000&min_insert_block_size_rows=3000&min_insert_block_size_bytes=0'
send=${send//"?insert"/"?$blocks&insert"}

for ((i = 0; i <= rounds; i++)); do
	mkdir "$tmp/host$i"
	"$gen" -n 8000 -r 4000 -s $((i + 1)) "$tmp/host$i/trace" >/dev/null ||
		{ not_ok "a made trace" "gen_trace_large"; exit 1; }
	sed -i "/^crc32c=/d;\$a host=host$i" "$tmp/host$i/trace/manifest"
	"$EBPFREC" export -q -i "$tmp/host$i/trace" --to clickhouse -t $tables -o "$tmp/host$i/minute.rowbinary" 2>/dev/null
	"$EBPFREC" export -q -i "$tmp/host$i/trace" --to clickhouse --every 1s -o "$tmp/host$i/bins.rowbinary" 2>/dev/null
done

# send_host N: in the background; ends when all of it is confirmed
send_host()
{
	(
		cd "$tmp/host$1" || exit
		# a generous time limit, for permanent refusals
		PATH=$tmp/bin:$PATH timeout 120 bash -c "$send && ${send//minute.rowbinary/bins.rowbinary}"
	) 2>>"$tmp/refused" &
	sender=$!
}

# ---- twenty kills ----

# a server that has few tables starts sooner
"$EBPFREC" export --to clickhouse --schema --cluster fleet |
	grep -E " EXISTS (landing|loads|arrived|counted|comm_bins|${tables//,/|})(_in|_here)?(_arrived|_whole)? " \
		>"$tmp/schema.sql"
for port in $tcp_0 $tcp_1; do
	clickhouse-client --port "$port" -mn <"$tmp/schema.sql" || { not_ok "the tables" "clickhouse-client"; exit 1; }
done

# The undisturbed time of sending: kills happen within that time, from the beginning of the sending on.
begin=${EPOCHREALTIME/[.,]/}
send_host $rounds
wait $sender
check "an undisturbed INSERT is confirmed at once" "[ ! -s '$tmp/refused' ]" "$(head -n 5 "$tmp/refused")"
[ ! -s "$tmp/refused" ] || exit 1
took_us=$((${EPOCHREALTIME/[.,]/} - begin))
in_the_middle=0
for ((i = 0; i < rounds; i++)); do
	victim=$((i % 2)) pid=pid_$((i % 2))
	delay=$(((RANDOM << 15 | RANDOM) % took_us))
	send_host $i
	sleep $((delay / 1000000)).$(printf %06d $((delay % 1000000)))
	! kill -0 $sender 2>/dev/null || in_the_middle=$((in_the_middle + 1))
	kill -KILL "${!pid}"
	wait "${!pid}" 2>/dev/null
	start_server $victim || exit
	wait $sender
done
echo "# $in_the_middle of $rounds kills came while rows were being sent (which takes $((took_us / 1000)) ms);" \
	"$(grep -c '^curl' "$tmp/refused") requests failed"

# ---- nothing lost, nothing double ----

export http_0 rounds tables
checker <"$top/tests/full/fleet_killed.py"

# ---- the manual page ----

# The manual page ebpfrec-fleet, command by command: three recorders in UTS namespaces of their own are the machines
# web1, web2 and db1, two ClickHouse servers are the cluster. Its commands for systemd are run by service.sh.
empty_servers || exit
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
