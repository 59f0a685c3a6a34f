#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Two ClickHouse servers are the shards of a cluster. Twenty times a machine sends its tables and bins as the manual
# page ebpfrec-fleet does, and at a random instant one of the servers is killed: the one that receives the INSERT, or
# the other one. It is restarted, and unconfirmed rows are sent again. At the end all rows exist exactly once.
# The traces are generated, not recorded.
. "$(dirname "$0")/../kernel/harness.bash"
. "$here/clickhouse.bash"

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

start_server 0
start_server 1
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
	start_server $victim
	wait $sender
done
echo "# $in_the_middle of $rounds kills came while rows were being sent (which takes $((took_us / 1000)) ms);" \
	"$(grep -c '^curl' "$tmp/refused") requests failed"

# ---- nothing lost, nothing double ----

export http_0 rounds tables
checker <"$top/tests/full/fleet_killed.py"
