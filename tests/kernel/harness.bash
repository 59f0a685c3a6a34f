# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# harness.bash: sourced by every known-answer test. Gives a scratch directory on a real disk ($tmp),
# verdicts (ok, not_ok, skip, check), recordings, loop devices, mounts; everything is undone at exit.
#
# A test is one line of output: "ok NAME", "not ok NAME: what it saw" or "SKIP NAME: why".
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
EBPFREC=${EBPFREC:-$top/build/ebpfrec}
WORK=${WORK:-$top/build/work}
export EBPFREC WORK PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1
export LC_ALL=C TZ=UTC
test_status=0
undo=()

# /var/tmp is on a disk, /tmp may be memory: loop devices with direct I/O need the former.
tmp=$(mktemp -d "${EBPFREC_TEST_DIR:-/var/tmp}/ebpfrec-test.XXXXXX") || exit 1
export tmp

at_exit()
{
	local status=$? i

	set +e
	[ $test_status -eq 0 ] && test_status=$status
	# shellcheck disable=SC2046
	kill $(jobs -p) 2>/dev/null
	wait 2>/dev/null
	for ((i = ${#undo[@]} - 1; i >= 0; i--)); do
		eval "${undo[i]}" >/dev/null 2>&1
	done
	# keeps the files for debugging
	[ $test_status -eq 0 ] || [ -z "${EBPFREC_TEST_KEEP:-}" ] || cp -r "$tmp" "$EBPFREC_TEST_KEEP"
	rm -rf "$tmp"
	exit "$test_status"
}
trap at_exit EXIT
trap 'test_status=1; exit 1' INT TERM HUP

# Prefix of a command that must get its CPU despite other work on this machine. If sessions are scheduled as
# groups (autogroup), nice only counts inside one: a session of its own with the best weight.
# shellcheck disable=SC2016,SC2034
undisturbed=(setsid -w sh -c 'echo -20 >/proc/self/autogroup; exec nice -n -20 "$@"' sh)
[ -e /proc/self/autogroup ] || undisturbed=(nice -n -20)

ok()
{
	echo "ok $1"
}

not_ok()
{
	test_status=1
	echo "not ok $1: ${2//$'\n'/ / }"
}

skip()
{
	echo "SKIP $1: $2"
}

# check NAME CONDITION SAW: CONDITION is evaluated by the shell, SAW is printed when it is false.
check()
{
	if eval "$2"; then
		ok "$1"
	else
		not_ok "$1" "$3"
	fi
}

# kv FILE KEY: the value of KEY=value in a workload's output
kv()
{
	sed -n "s/^$2=//p" "$1" | tail -n 1
}

# sql_value NAME QUERY: the value, or the last row, that the trace $tmp/NAME answers
sql_value()
{
	"$EBPFREC" sql -i "$tmp/$1" --format csv "$2" | tail -n 1 | tr -d '\r'
}

# record NAME ARGS...: records into $tmp/NAME; the recorder's stderr is in $tmp/NAME.err, the workload's stdout in
# $tmp/NAME.out. Returns the recorder's status.
record()
{
	local name=$1

	shift
	"$EBPFREC" record -o "$tmp/$name" "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" </dev/null
}

# recorded NAME ARGS...: as record, and a failing recording ends the script as a failed test.
recorded()
{
	local name=$1 rc

	record "$@"
	rc=$?
	if [ $rc -ne 0 ]; then
		not_ok "recording $name" "status $rc: $(tail -n 5 "$tmp/$name.err" | tr -c '[:print:]\n' '?')"
		exit 1
	fi
	# Programs that the kernel refuses are loaded again in a form that costs more; here none may be.
	! grep 'costs more than it should' "$tmp/$name.err" || not_ok "recording $name" "its programs were refused"
}

# recorded_until N NAME REASON ARGS...: as recorded, and again, N times at most, while the shell command REASON prints
# a reason why the workload was disturbed by something else on this machine. Each reason is printed; the last recording
# is used. REASON must look at the workload's or the kernel's own figures, never at the claims of the test.
# A function before_NAME is called before each recording.
recorded_until()
{
	local times=$1 name=$2 reason=$3 i why

	shift 3
	for ((i = 1; ; i++)); do
		rm -rf "${tmp:?}/$name"
		! declare -F "before_$name" >/dev/null || "before_$name"
		recorded "$name" "$@"
		why=$(eval "$reason")
		[ -n "$why" ] || return 0
		echo "# $name, recording $i: $why"
		[ $i -lt "$times" ] || return 1
	done
}

# best_of N COMMAND...: runs the command until it succeeds, N times at most. For claims about a maximum time: other work
# on this machine can only delay it, so one success shows that it is possible, and a program that is too slow fails
# every time.
best_of()
{
	local times=$1 i

	shift
	for ((i = 0; i < times; i++)); do
		"$@" && return
	done
	return 1
}

# Empties the scratch directory, so that the next section of a script may use the same names.
fresh()
{
	cd / && find "$tmp" -xdev -mindepth 1 -delete 2>/dev/null
}

# hides_tasks NAME: this kernel hides some tasks (its init, at least) from every BPF program. Programs do not run in
# their context either: interrupts while such a task is current are invisible, for any recorder.
hides_tasks()
{
	[ "$(sql_value "$1" 'SELECT count(*) FROM processes WHERE pid = 1')" = 0 ]
}

# Prints a note if a hidden task ran as requests ended: the trace declares it, or has requests without an end.
unseen_ends()
{
	local query="SELECT (SELECT count(*) FROM losses WHERE hook = 'BLOCK_DONE') +
		(SELECT count(*) FROM block_requests WHERE end_ns IS NULL)"

	hides_tasks "$1" && [ "$(sql_value "$1" "$query")" != 0 ] &&
		echo "a task that is hidden from BPF ran as requests ended"
}

# Prints a note if a thread of the workload took the CPU from a hidden task, or left it to one: no program saw that
# switch.
unseen_switches()
{
	local query="SELECT count(*) FROM (SELECT utid, lag(next_utid) OVER (PARTITION BY cpu ORDER BY ts_ns)
		AS came FROM switches) AS s
		WHERE s.utid <> s.came AND EXISTS (SELECT 1 FROM threads t WHERE t.utid IN (s.utid, s.came) AND t.is_workload)"

	hides_tasks "$1" && [ "$(sql_value "$1" "$query")" != 0 ] &&
		echo "a task that is hidden from BPF had the CPU before or after a thread of the workload"
}

# recorded_seen NAME ARGS...: as recorded, for comparisons request by request
recorded_seen()
{
	recorded_until 12 "$1" "unseen_ends '$1'" "${@:2}"
}

# start_recorder NAME ARGS...: in the background, returns when it records; its pid is in $recorder. The time until then
# is not tested. A recorder that ends, or never has a block, fails the script.
start_recorder()
{
	local name=$1

	shift
	"$EBPFREC" record -o "$tmp/$name" "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" </dev/null &
	recorder=$!
	wait_for "trace $name has a block" 100 \
		"! kill -0 $recorder 2>/dev/null || [ -n \"\$(find '$tmp/$name' -name '*.ebr' -size +1k 2>/dev/null)\" ]" &&
		[ -n "$(find "$tmp/$name" -name '*.ebr' -size +1k 2>/dev/null)" ] && return
	not_ok "recording $name" "no block: $(tail -n 5 "$tmp/$name.err" | tr -c '[:print:]\n' '?')"
	exit 1
}

# Makes a workload last until release NAME: as long as the test needs it, on any machine.
# Before it starts: hold NAME. In it: eval "$(until_released NAME)", or the text itself.
hold()
{
	: >"$tmp/hold.$1"
}
release()
{
	rm -f "$tmp/hold.$1"
}
until_released()
{
	echo "while [ -e '$tmp/hold.$1' ]; do sleep 0.05; done"
}

# wait_for WHAT SECONDS CONDITION: polls; false after the time. The seconds are a time limit: far more than needed.
wait_for()
{
	local end=$((SECONDS + $2))

	until eval "$3"; do
		[ $SECONDS -ge $end ] && return 1
		sleep 0.05
	done
}

# start_prometheus [SECONDS ADDRESS]: starts $prometheus with $tmp/prometheus.yml, or with a configuration that scrapes
# ADDRESS every SECONDS. Sets port, its own port, and prometheus_pid.
start_prometheus()
{
	# shellcheck disable=SC2154
	[ $# -eq 0 ] || cat >"$tmp/prometheus.yml" <<-END
		global: {scrape_interval: ${1}s, scrape_timeout: ${1}s}
		scrape_configs: [{job_name: ebpfrec, static_configs: [{targets: ["$2"]}]}]
	END
	port=$((20000 + RANDOM % 10000))
	"$prometheus" --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/db" --web.listen-address=127.0.0.1:$port \
		--log.level=warn >"$tmp/prometheus.out" 2>&1 &
	prometheus_pid=$!
	wait_for "Prometheus answers" 60 "(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null" ||
		{ not_ok "Prometheus starts" "$(tail -n 2 "$tmp/prometheus.out")"; exit 1; }
}

# Runs a checker: python on stdin, with trace_query imported. Its "not ok" lines count, and so does
# ending with anything but 0.
checker()
{
	local out rc

	out=$(python3 - "$@" 2>&1)
	rc=$?
	printf '%s\n' "$out"
	if [ $rc -ne 0 ] || grep -q '^not ok ' <<<"$out"; then
		test_status=1
		[ $rc -eq 0 ] || grep -q '^not ok ' <<<"$out" ||
			echo "not ok checker in $(basename "$0"): status $rc: $(tail -n 1 <<<"$out")"
	fi
}

# Ubuntu's own bpftool is a script that may find no tools for the running kernel.
bpftool_run()
{
	[ -n "${bpftool:-}" ] ||
		for bpftool in /usr/lib/linux-tools/*/bpftool /usr/sbin/bpftool bpftool; do
			"$bpftool" version >/dev/null 2>&1 && break
		done
	"$bpftool" "$@"
}

# Programs that process $1 holds: "id name" lines. Other recorders may run on this machine.
programs_of()
{
	local id

	for id in $(cat /proc/"$1"/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p' | sort -un); do
		bpftool_run prog show id "$id" 2>/dev/null | sed -n 's/^\([0-9]*\): .* name \([^ ]*\) .*/\1 \2/p'
	done
}

# programs_are_loaded FILE: true if a program in FILE (made by programs_of) is still in the kernel
programs_are_loaded()
{
	local id rest

	while read -r id rest; do
		bpftool_run prog show id "$id" >/dev/null 2>&1 && return 0
	done <"$1"
	return 1
}

# make_loop NAME MIB [memory]: a loop device with direct I/O over $tmp/NAME.img, or over memory, where a request never
# has to wait for a disk; its path in $loop
make_loop()
{
	local image=$tmp/$1.img direct=on

	if [ "${3:-}" = memory ]; then
		image=$(mktemp /dev/shm/ebpfrec-test.XXXXXX) direct=off
		undo+=("rm -f $image")
	fi
	truncate -s "$2M" "$image" && loop=$(losetup --direct-io=$direct --show -f "$image" 2>&1) || {
		echo "# losetup: $loop"
		return 1
	}
	undo+=("losetup -d $loop")
	loop_name=${loop#/dev/}
	export loop loop_name
}

# mount_at DIR ARGS...: mounts and unmounts at the end
mount_at()
{
	local dir=$1

	shift
	mkdir -p "$dir" && mount "$@" "$dir" && undo+=("umount $dir || umount -l $dir")
}

# quiet_ext4 DIR: a new ext4 on $loop, at DIR, whose kernel threads do not read and write on their own: neither to
# initialise the parts that mkfs left out, nor (5.13) to read bitmaps ahead.
quiet_ext4()
{
	mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$loop" || return
	mount_at "$1" -o no_prefetch_block_bitmaps "$loop" 2>/dev/null || mount_at "$1" "$loop"
}

[ -x "$EBPFREC" ] || { not_ok "$(basename "$0")" "$EBPFREC is not built"; exit 1; }
[ "$(id -u)" -eq 0 ] || { skip "$(basename "$0" .sh)" "recording needs root"; exit 0; }
