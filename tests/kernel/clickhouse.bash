# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# clickhouse.bash: sourced by the tests of a fleet. start_server 0 and start_server 1 start ClickHouse servers on
# loopback, the shards of the cluster "fleet", as schema/fleet/remote_servers.xml has it; their ports are in http_0,
# tcp_0, http_1 and tcp_1, their processes in pid_0 and pid_1. Both the file and the function are false, and print why
# the test is skipped, if there is no server.

server=$(PATH=$PATH:/usr/sbin command -v clickhouse-server)
[ -n "$server" ] || { skip "clickhouse" "clickhouse-server is not installed"; return 1; }

# A server's two ports are free when the test begins.
read -r http_0 tcp_0 http_1 tcp_1 < <(python3 -c '
import socket
held = [socket.socket() for _ in range(4)]
for s in held:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))')

start_server()
{
	local dir=$tmp/server$1 http=http_$1 tcp=tcp_$1

	mkdir -p "$dir/data" "$dir/tmp" "$dir/config.d"
	sed "/<host>store</,/port/s/9000/$tcp_0/; s/9000/$tcp_1/; s/>store2*</>127.0.0.1</; s/0\.0\.0\.0/127.0.0.1/" \
		"$top/schema/fleet/remote_servers.xml" >"$dir/config.d/fleet.xml"
	cat >"$dir/users.xml" <<-END
	<yandex><profiles><default><fsync_metadata>0</fsync_metadata></default></profiles>
	<quotas><default/></quotas><users><default><password></password>
	<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>
	END
	cat >"$dir/config.xml" <<-END
	<yandex><logger><level>warning</level><log>$dir/log</log><errorlog>$dir/err</errorlog></logger>
	<http_port>${!http}</http_port><tcp_port>${!tcp}</tcp_port>
	<path>$dir/data/</path><tmp_path>$dir/tmp/</tmp_path><mark_cache_size>67108864</mark_cache_size>
	<users_config>$dir/users.xml</users_config><default_profile>default</default_profile>
	<default_database>default</default_database></yandex>
	END
	"$server" --config-file="$dir/config.xml" >>"$dir/out" 2>&1 &
	eval "pid_$1=$!"
	wait_for "server $1 answers" 30 "(exec 3<>/dev/tcp/127.0.0.1/${!http}) 2>/dev/null" && return
	skip "clickhouse" "clickhouse-server does not start: $(tail -n 1 "$dir/err" "$dir/out" 2>&1 | tr '\n' ' ')"
	return 1
}

# Both servers again, without data; the scratch directory is empty, too.
empty_servers()
{
	kill -KILL "$pid_0" "$pid_1"
	wait "$pid_0" "$pid_1" 2>/dev/null
	fresh
	start_server 0 && start_server 1
}
