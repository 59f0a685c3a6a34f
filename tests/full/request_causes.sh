#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# 200 requests of a server, of which each 50th is slowed down by one cause (tests/kernel/work/request_causes.c): `report
# why --requests` names the cause in its first three lines of 80 columns. The times depend on the machine: what else it
# does may slow down other requests. The parts of each request add up to its length, to the ns.
#
# Then requests of servers, next to their logs.
. "$(dirname "$0")/../kernel/harness.bash"

head -c 16M /dev/urandom >"$tmp/cold"
head -c 64M /dev/urandom >"$tmp/other"
sync
options=(-e sched,block,alloc.rss --spans --profile 997)
causes="lock disk cpu peer faults burst stop datagram function"
for cause in $causes; do
	[ "$cause" = cpu ] && alone=() || alone=("${undisturbed[@]}")
	recorded "$cause" "${options[@]}" -- "${alone[@]}" "$WORK/request_causes" "$cause" "$tmp"
done
quota=/sys/fs/cgroup/cpu/ebpfrec-requests-$$
if mkdir "$quota" 2>/dev/null; then
	undo+=("rmdir '$quota'")
	echo 100000 >"$quota/cpu.cfs_period_us" && echo 30000 >"$quota/cpu.cfs_quota_us"
elif mkdir "/sys/fs/cgroup/ebpfrec-requests-$$" 2>/dev/null && [ -e "/sys/fs/cgroup/ebpfrec-requests-$$/cpu.max" ]; then
	quota=/sys/fs/cgroup/ebpfrec-requests-$$
	undo+=("rmdir '$quota'")
	echo "30000 100000" >"$quota/cpu.max"
fi
if [ -d "$quota" ]; then
	# shellcheck disable=SC2016
	recorded quota "${options[@]}" -- sh -c 'echo $$ >"$1/cgroup.procs"; exec "$2" quota "$3"' sh "$quota" \
		"$WORK/request_causes" "$tmp"
	causes+=" quota"
else
	skip "requests: quota" "no control group with quotas can be made here"
fi

causes=$causes checker <"$top/tests/full/request_causes.py"

# ---- logs of servers ----

# Requests of servers, as their own logs have them: a web server in Python that tells of its requests (--span-fd), and
# an unmodified PostgreSQL, by its USDT probes, under `pgbench -l`. There are as many requests as lines. The n-th
# shortest of the trace is within the n-th shortest of pgbench's, whose clock is the client's; the web server's own
# clock is read before the begin and after the end. So no percentile is more than the log's. It is at most 1 ms less in
# the median, 2 ms in the 90th percentile and 5 ms in the 99th: the time of a socket and of two switches on a quiet
# machine.
fresh

recorded web -e sched --span-fd 9 -- python3 "$top/tests/full/request_logs.py" serve "$tmp/web.log"
# the last one of several versions
for bin in /usr/lib/postgresql/*/bin; do
	[ ! -x "$bin/pgbench" ] || [ ! -x "$bin/initdb" ] || pg=$bin
done
if [ -z "${pg:-}" ] || ! id postgres >/dev/null 2>&1; then
	skip "requests of PostgreSQL" "it is not installed: tests/deps.sh test"
else
	as=(setpriv --reuid postgres --regid postgres --clear-groups)
	db=$tmp/db
	chmod 711 "$tmp"
	install -d -o postgres "$db"
	printf '%s\n' '\set ms random(1, 20)' 'SELECT pg_sleep(:ms * 0.001);' >"$tmp/sleep.sql"
	"${as[@]}" "$pg/initdb" -D "$db/data" -A trust >"$tmp/initdb" 2>&1 ||
		{ not_ok initdb "$(tail -n 3 "$tmp/initdb")"; exit 1; }
	"${as[@]}" "$pg/pg_ctl" -D "$db/data" -o "-c listen_addresses='' -k $db" -l "$db/log" -w start >/dev/null ||
		{ not_ok PostgreSQL "$(tail -n 3 "$db/log")"; exit 1; }
	undo+=("${as[*]} '$pg/pg_ctl' -D '$db/data' -m immediate stop")
	recorded pg -e sched --request "usdt:$pg/postgres:postgresql:query__start/query__done" -- "${as[@]}" \
		"$pg/pgbench" -n -h "$db" -c 2 -T 4 -l --log-prefix="$db/pgbench" -f "$tmp/sleep.sql" postgres
	cut -d ' ' -f 3 "$db"/pgbench.* >"$tmp/pg.log"
fi

checker <"$top/tests/full/request_logs.py"
