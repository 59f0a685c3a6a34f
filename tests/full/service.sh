#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The units of the package under a real systemd, which is the first process of its own namespaces: the recorder gets
# ready with the unit's capabilities and sandbox, the service of metrics may read its trace, and the recorder is
# restarted after kill -9 and by the watchdog, but not after a full disk.
# Only one script at a time may use port 19435, the default of metrics.
[ "${HAS_PORT:-}" ] || HAS_PORT=1 exec flock -o /var/tmp bash "$0"
. "$(dirname "$0")/../kernel/harness.bash"

PATH=$PATH:/usr/sbin:/sbin
if ! [ -x /lib/systemd/systemd ] || ! [ -d /sys/fs/cgroup ]; then
	skip "systemd" "systemd is not installed"
	exit
fi

# ---- results of systemd for the files ----

mkdir -p "$tmp"/units/ebpfrec{,-metrics,-send}.service.d "$tmp/units/ebpfrec-send.timer.d" "$tmp/default" \
	"$tmp/checked" "$tmp/bin"
ln -s "$EBPFREC" "$top/cmd/dist/send_bins" "$tmp/bin"
for unit in ebpfrec ebpfrec-metrics ebpfrec-send; do
	sed 's,@BINDIR@,/run/bin,; s,@LIBDIR@,/run/bin,' "$top/cmd/dist/$unit.service" >"$tmp/units/$unit.service"
	sed "s,@BINDIR@,$tmp/bin,; s,@LIBDIR@,$tmp/bin," "$top/cmd/dist/$unit.service" >"$tmp/checked/$unit.service"
	systemd-analyze verify --man=no "$tmp/checked/$unit.service" >"$tmp/verify" 2>&1
	check "$unit.service: systemd finds nothing wrong" "[ $? -eq 0 ] && [ ! -s '$tmp/verify' ]" "$(cat "$tmp/verify")"
	systemd-analyze security --no-pager --offline=true "$tmp/checked/$unit.service" >"$tmp/security" 2>&1
	# shellcheck disable=SC2034
	level=$(sed -n 's/.*Overall exposure level for.*: \([0-9.]*\) .*/\1/p' "$tmp/security")
	check "$unit.service: exposure is at most 3" "awk -v l='$level' 'BEGIN { exit !(l != \"\" && l <= 3) }'" \
		"$(tail -n 1 "$tmp/security")"
done

cp "$top/cmd/dist/ebpfrec-send.timer" "$tmp/units"
systemd-analyze verify --man=no "$tmp/checked/ebpfrec-send.service" "$tmp/units/ebpfrec-send.timer" >"$tmp/verify" 2>&1
check "ebpfrec-send.timer: systemd finds nothing wrong" "[ $? -eq 0 ] && [ ! -s '$tmp/verify' ]" "$(cat "$tmp/verify")"

# ---- systemd ----

# Shorter times than the package's. The service of metrics first shows that it cannot write to the trace.
cat >"$tmp/units/ebpfrec.service.d/test.conf" <<END
[Unit]
DefaultDependencies=no
[Service]
RestartSec=200ms
WatchdogSec=4s
TimeoutAbortSec=1s
END
cat >"$tmp/units/ebpfrec-metrics.service.d/test.conf" <<'END'
[Unit]
DefaultDependencies=no
[Service]
ExecStartPre=/bin/sh -c '! touch /var/lib/ebpfrec/trace/made 2>&- && \
! touch /var/lib/ebpfrec/made 2>&- && echo read-only'
END
cp "$tmp/units/ebpfrec-metrics.service.d/test.conf" "$tmp/units/ebpfrec-send.service.d"
printf '[Unit]\nDefaultDependencies=no\n' >"$tmp/units/ebpfrec-send.timer.d/test.conf"
echo 'RECORD_ARGS=--keep 16MiB --max-overhead 50 --trigger loss>1000000000' >"$tmp/default/ebpfrec"
sed -n 's/\\-/-/g; /^METRICS_ARGS=/p' "$top/cmd/ebpfrec-fleet.7" >>"$tmp/default/ebpfrec"

inside()
{
	nsenter -t "$init" -m -p -C "$@"
}

state()
{
	inside systemctl show -P "$1" "${2:-ebpfrec.service}"
}

# The groups belong to this test. systemd moves into them before it enters its namespaces.
for root in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ -w "$root/cgroup.procs" ] || continue
	mkdir "$root/ebpfrec-test.$$" && groups+=("$root/ebpfrec-test.$$")
done
undo+=('for g in "${groups[@]}"; do find "$g" -depth -type d -exec rmdir {} \;; done')
(
	for g in "${groups[@]}"; do echo 0 >"$g/cgroup.procs"; done
	exec unshare -p -f -m -u -i -C --mount-proc --kill-child "$here/boot_systemd.bash" "$tmp/units" "$tmp/default" \
		"$EBPFREC"
) >"$tmp/boot.log" 2>&1 </dev/null &
unshared=$!
disown $unshared	# it ends with systemd, which the line below kills
undo+=('kill -9 $init; sleep 0.3')
init=''
is_up()
{
	init=$(cat "/proc/$unshared/task/$unshared/children" 2>/dev/null)
	init=${init% }
	[ -n "$init" ] && [ "$(inside systemctl is-system-running 2>/dev/null)" = running ]
}
if ! wait_for "systemd runs" 30 is_up; then
	skip "systemd" "it does not run in namespaces here: $(tr '\n' ' ' <"$tmp/boot.log")"
	exit
fi

# ---- the manual pages, command by command; full/metrics tests the readers of metrics ----

cat "$top"/cmd/ebpfrec-{service,fleet}.7 |
	sed -n '/^\.SH \(SET-UP\|A FLIGHT RECORDER ON\)/,/^\.SH \(CONF\|METRICS\)/{
		s/\\-/-/g; s/^sudo //; /^\(systemctl\|journalctl\|ebpfrec\) /p; }' >"$tmp/page"
while IFS= read -r line <&3; do
	inside env "PATH=/run/bin:$PATH" sh -c "$line" >"$tmp/said" 2>&1
	check "the page: $line" "[ $? -eq 0 ]" "$(tail -n 5 "$tmp/said")"
	# shellcheck disable=SC2034
	[[ $line != *--now\ ebpfrec* ]] || wait_for "a block" 10 \
		"inside /run/bin/ebpfrec report -i /var/lib/ebpfrec/trace totals >'$tmp/said' 2>&1 && grep -q EVENTS '$tmp/said'"
done 3<"$tmp/page"
check "the pages have their commands" "[ \$(wc -l <'$tmp/page') -ge 13 ]" "$(cat "$tmp/page")"

# ---- the recorder ----

check "service: is ready" " [ \"\$(state ActiveState)\" = active ]" "$(inside systemctl status ebpfrec.service 2>&1)"
pid=$(state MainPID)
inside cat "/proc/$pid/status" >"$tmp/status"
check "service: its user is not root" "[ \"\$(awk '/^Uid:/ { print (\$2 > 0) }' '$tmp/status')\" = 1 ]" \
	"$(grep Uid "$tmp/status")"
check "service: the thread that writes has no capability" \
	"grep -q 'CapEff:.0000000000000000' '$tmp/status' && grep -q 'NoNewPrivs:.1' '$tmp/status'" \
	"$(grep -E 'Cap|NoNew' "$tmp/status")"
wait_for "its state" 10 "[[ \"\$(state StatusText)\" = recording*events* ]]"
check "service: systemctl status says what it records" "[[ \"\$(state StatusText)\" = recording*events* ]]" \
	"$(state StatusText)"

trace=/var/lib/ebpfrec/trace
# of this pid namespace, too, something cannot be told
inside /run/bin/ebpfrec record -q -d 0.2 -a -o /var/lib/plain 2>/dev/null
for t in /var/lib/plain $trace; do inside grep -E '^(sources|lacks)=' $t/manifest; done | sort | uniq -u >"$tmp/lacks"
check "service: the sandbox takes nothing from the recording" \
	"inside grep -q ^sources= $trace/manifest && [ ! -s '$tmp/lacks' ]" "$(cat "$tmp/lacks")"
inside systemctl restart ebpfrec-metrics.service
check "metrics: its unit may not change the trace" "[ $? -eq 0 ]" \
	"$(inside journalctl -u ebpfrec-metrics -o cat 2>&1 | tail -n 5)"
if "$EBPFREC" metrics --list >/dev/null && [[ $("$EBPFREC" metrics --listen 0 -i "$tmp/none" 2>&1) != *microhttpd* \
	]]; then
	scrape() { python3 -c \
		'import urllib.request as u; print(u.urlopen("http://127.0.0.1:19435/metrics", timeout=10).read().decode())' \
		>"$tmp/scraped" 2>&1; }
	wait_for "metrics" 20 "scrape && grep -q '^ebpfrec_cpu_seconds_total' '$tmp/scraped'"
	check "metrics: its unit reads the trace while it is recorded" "[ $? -eq 0 ]" \
		"$(tail -n 2 "$tmp/scraped") $(inside journalctl -u ebpfrec-metrics -o cat 2>&1 | tail -n 5)"
fi

# again CONDITION: a new recorder is ready
again()
{
	wait_for "a new recorder" 30 "[ \"\$(state MainPID)\" != $pid ] && [ \"\$(state ActiveState)\" = active ]"
	check "$1" "[ $? -eq 0 ]" "$(inside systemctl status ebpfrec.service 2>&1)"
	pid=$(state MainPID)
	[ "$pid" -gt 0 ] || exit	# 0 would be this test's own processes
}

# whole TRACE: readable to its last block
whole()
{
	inside /run/bin/ebpfrec check -i "$1" >"$tmp/check" 2>&1
}
inside kill -9 "$pid"
again "kill -9: it is started anew"
whole $trace.old
check "kill -9: the trace before is whole, and beside the new one" "[ $? -eq 0 ]" "$(cat "$tmp/check")"
inside kill -STOP "$pid"
again "watchdog: a recorder that hangs is started anew"
inside mv $trace $trace.moved
sleep 1
inside systemctl restart ebpfrec.service
whole $trace.moved
check "restart: a trace that was moved meanwhile is whole" \
	"[ $? -eq 0 ] && inside /run/bin/ebpfrec info -i $trace.moved | grep -q 'state *finished'" \
	"$(cat "$tmp/check"; inside /run/bin/ebpfrec info -i $trace.moved | head)"

# ---- a full disk ----

pid=$(state MainPID)
inside dd if=/dev/zero of=/var/lib/full bs=64k status=none 2>/dev/null
wait_for "the end" 30 "[ \"\$(state ActiveState)\" = failed ]"
check "full disk: recording has failed, and is not tried again" \
	"[ $? -eq 0 ] && [ \"\$(state ExecMainStatus)\" = 125 ]" "$(inside systemctl status ebpfrec.service 2>&1)"
whole $trace
check "full disk: the trace is whole" "[ $? -eq 0 ]" "$(cat "$tmp/check")"
inside rm /var/lib/full
inside systemctl reset-failed ebpfrec.service
inside systemctl start ebpfrec.service
check "full disk: starts again when there is room" "[ $? -eq 0 ]" "$(inside systemctl status ebpfrec.service 2>&1)"
inside systemctl stop ebpfrec.service
check "stop: ends well" "[ \"\$(state Result)\" = success ] && [ \"\$(state ExecMainStatus)\" = 0 ]" \
	"$(inside systemctl status ebpfrec.service 2>&1)"
inside journalctl -u ebpfrec.service _COMM=ebpfrec -o cat >"$tmp/journal" 2>&1
check "journal: whole lines of the recorder, and no line of progress" \
	"grep -q '^ebpfrec: $trace: .* events' '$tmp/journal' && ! grep -v '^ebpfrec: ' '$tmp/journal'" \
		"$(cat "$tmp/journal")"

# ---- data that the timer sends ----

python3 "$top/tests/full/post_server.py" "$tmp" &
wait_for "a server" 30 "[ -e '$tmp/port' ]"
sed -n 's/\\-/-/g; s,store:8123,127.0.0.1:'"$(cat "$tmp/port")"',; /^SEND_URL=/p' "$top/cmd/ebpfrec-fleet.7" \
	>>"$tmp/default/ebpfrec"
sed -n '/^\.SH EVENTS OF/,$ { s/\\-/-/g; s/^sudo //; /^\(systemctl\|journalctl\) /p; }' "$top/cmd/ebpfrec-fleet.7" \
	>"$tmp/page"
while IFS= read -r line <&3; do
	inside env "PATH=/run/bin:$PATH" sh -c "$line" >"$tmp/said" 2>&1
	check "the page: $line" "[ $? -eq 0 ]" "$(tail -n 5 "$tmp/said")"
done 3<"$tmp/page"
check "timer: will run the service" "[ \"\$(state ActiveState ebpfrec-send.timer)\" = active ] &&
	[ \"\$(state Unit ebpfrec-send.timer)\" = ebpfrec-send.service ]" "$(inside systemctl status ebpfrec-send.timer 2>&1)"
inside systemctl start ebpfrec-send.service
check "send: its unit reads the traces, may not change them, and sends" \
	"[ $? -eq 0 ] && zcat '$tmp/posted.gz' | EBPFREC='$EBPFREC' python3 '$here/landing.py' - comm_bins |
	grep -q ',ebpfrec,'" "$(inside journalctl -u ebpfrec-send -o cat 2>&1 | tail -n 5) $(ls -l "$tmp/posted.gz" 2>&1)"
