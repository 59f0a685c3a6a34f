#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# run.sh [PATTERN...]: runs the suite; with patterns only what matches (unit/*, cli, kernel/busy*, includes).
#
#     unit        every cmocka test of build/unit/*
#     cli         tests/cli/run.sh
#     answers     tests/cli/one_answer.py: a figure that stands in several places is the same in all of them
#     format      tests/format/run.sh
#     damage      tests/damage/run.sh: what views say of traces that are damaged
#     package     tests/package/run.sh
#     page        tests/page/run.sh: the page of export --to html, in a browser
#     engines     tests/engines/run.sh: what export writes, in chdb and DuckDB
#     fuzz        tests/fuzz/replay.sh: what fuzzing found, replayed
#     includes    tests/check_includes.sh
#     style       tests/check_style.py: columns, lengths of functions and files, licences, names
#     claims      tests/check_claims.py: the tests that SECURITY.md names
#     runner      tests/check_runner.sh: this script: what it counts, what it runs once more
#     bench       tests/bench/run.sh: the benchmark's own tests
#     kernel      tests/kernel/*.sh, on the running kernel, as root (through sudo if need be)
#     crash       tests/crash/*.sh: likewise; the recorder is killed, its disk fails
#
# Some of kernel and crash run beside the ones above (`beside`, below), all others alone.
#
# A script prints "ok NAME", "not ok NAME: what it saw" or "SKIP NAME: why", one line per test; ending
# with a non-zero status without a "not ok", or printing no test at all, is a failure of its own.
# A script of kernel/ or crash/ that fails is run once more at the end, when nothing else of the suite runs. If it passes then,
# it counts as passed, and is listed as unsteady with both outputs. More than two unsteady scripts are a failure; UNSTEADY_MAX=0
# allows none.
# The last line is "N passed, N failed[, N skipped]"; the exit status is 0 only without failures.
# With CI=true a SKIP not named in tests/ci_allowed_skips is a failure: a test that did not run
# proves nothing.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
build=${BUILD:-$top/build}
export BUILD=$build EBPFREC=${EBPFREC:-$build/ebpfrec} WORK=${WORK:-$build/work}
limit_s=${TEST_TIMEOUT:-1200}	# for what hangs: the longest, damage and page, take three minutes on a quiet machine
patterns=("$@")
passed=0 failed=0 skipped=0
failures=()
unsteady=() unsteady_max=${UNSTEADY_MAX:-2}
logs=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-suite.XXXXXX") || exit 1
trap 'rm -rf "$logs"' EXIT

wanted()
{
	local p

	[ ${#patterns[@]} -eq 0 ] && return 0
	for p in "${patterns[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 == $p || ${1%%/*} == "$p" || $1 == */"$p" ]] && return 0
	done
	return 1
}

fail_one()
{
	failed=$((failed + 1))
	failures+=("$1")
	echo "FAILED $1"
}

skip_one()
{
	local name=$1 why=$2

	if [ "${CI:-}" = true ] && ! grep -q "^${name%% *}[[:space:]]" "$here/ci_allowed_skips"; then
		fail_one "$name: skipped in CI: $why"
		return
	fi
	skipped=$((skipped + 1))
	echo "SKIP $name: $why"
}

# show_log FILE [LINES]: its last lines
show_log()
{
	sed -e 's/[^[:print:][:space:]]/?/g' -e 's/^/    | /' "$1" | tail -n "${2:-40}"
}

# timed LOG COMMAND...: its output in LOG; in LOG.rc its status, and the seconds that it took, by the clock and of CPU time
timed()
{
	local log=$1 TIMEFORMAT='%0R %0U %0S'

	shift
	{ time "$@" >"$log" 2>&1 </dev/null; echo "$?" >"$log.status"; } 2>"$log.time"
	awk 'NR == FNR { status = $1; next } { print status, $1, $2 + $3 }' "$log.status" "$log.time" >"$log.rc.new" && mv "$log.rc.new" "$log.rc"
}

# A cmocka binary: its lines "[       OK ] name", "[  FAILED  ] name", "[  SKIPPED ] name" before the closing
# "[==========] N test(s) run." each stand for one test.
# start_unit BINARY runs one, judge_unit BINARY tells what it said.
start_unit()
{
	local log=$logs/unit-${1##*/}

	timed "$log" timeout "$limit_s" "$1"
}

judge_unit()
{
	local name=${1##*/} log=$logs/unit-${1##*/} rc took_s cpu_s ok_cnt bad skip line

	read -r rc took_s cpu_s <"$log.rc"
	ok_cnt=$(grep -c '^\[       OK \]' "$log")
	bad=$(awk '/^\[==========\].*run\./ { exit } /^\[  FAILED  \]/ { print $4 }' "$log" | sort -u)
	skip=$(awk '/^\[==========\].*run\./ { exit } /^\[  SKIPPED \]/ { print $4 }' "$log" | sort -u)
	passed=$((passed + ok_cnt))
	for line in $bad; do
		fail_one "unit/$name: $line"
	done
	for line in $skip; do
		skip_one "unit/$name:$line" "the test skipped itself"
	done
	if [ $rc -ne 0 ] && [ -z "$bad" ]; then
		fail_one "unit/$name: ended with status $rc after $ok_cnt tests"
	elif [ $rc -eq 0 ] && [ "$ok_cnt" -eq 0 ] && [ -z "$skip" ]; then
		fail_one "unit/$name: no test ran"
	fi
	if [ $rc -ne 0 ] || [ -n "$bad" ]; then
		show_log "$log"
	else
		echo "ok unit/$name ($ok_cnt tests, $took_s s, CPU $cpu_s s)"
	fi
}

# A script that prints ok/not ok/SKIP lines.
# start_script NAME COMMAND... runs one, judge_script NAME tells what it said.
start_script()
{
	local log=$logs/${1//\//-}

	shift
	timed "$log" timeout -k 20 "$limit_s" "$@"
}

judge_script()
{
	local name=$1 log=$logs/${1//\//-} rc took_s cpu_s ok_cnt bad_cnt skip_cnt line

	read -r rc took_s cpu_s <"$log.rc"
	ok_cnt=$(grep -ac '^ok ' "$log")
	bad_cnt=$(grep -ac '^not ok ' "$log")
	skip_cnt=$(grep -ac '^SKIP ' "$log")
	passed=$((passed + ok_cnt))
	while IFS= read -r line; do
		fail_one "$name: ${line#not ok }"
	done < <(grep -a '^not ok ' "$log")
	while IFS= read -r line; do
		line=${line#SKIP }
		skip_one "$name:${line%%:*}" "${line#*: }"
	done < <(grep -a '^SKIP ' "$log")
	if [ $rc -eq 124 ] || [ $rc -eq 137 ]; then
		fail_one "$name: not done after $limit_s s"
	elif [ $rc -ne 0 ] && [ "$bad_cnt" -eq 0 ]; then
		fail_one "$name: ended with status $rc"
	elif [ $((ok_cnt + bad_cnt + skip_cnt)) -eq 0 ]; then
		fail_one "$name: no test ran"
	fi
	if [ $rc -ne 0 ] || [ "$bad_cnt" -gt 0 ]; then
		show_log "$log"
	elif [ "$ok_cnt" -gt 0 ]; then
		echo "ok $name ($ok_cnt tests, $took_s s, CPU $cpu_s s)"
	fi
}

# script_failed NAME: did what start_script ran fail?
script_failed()
{
	local log=$logs/${1//\//-} rc

	read -r rc _ <"$log.rc"
	[ "$rc" -ne 0 ] || grep -aq '^not ok ' "$log" || ! grep -aqE '^(ok|SKIP) ' "$log"
}

# judge_again NAME COMMAND...: runs what failed once more. That run is the one that counts.
judge_again()
{
	local name=$1 log=$logs/${1//\//-}

	mv "$log" "$log.first"
	start_script "$@"
	if script_failed "$name"; then
		echo "$name failed, and failed again. The first time:"
		show_log "$log.first"
	else
		unsteady+=("$name")
	fi
	judge_script "$name"
}

list_unsteady()
{
	local name log

	for name in "${unsteady[@]}"; do
		log=$logs/${name//\//-}
		echo
		echo "unsteady: $name"
		echo "    the first run, which failed:"
		show_log "$log.first" 1000
		echo "    the second run, alone, which passed:"
		show_log "$log" 1000
	done
}

run_script()
{
	start_script "$@"
	judge_script "$1"
}

cd "$top" || exit 1

# Where python3 is a wrapper that looks for the real one, such as pyenv's, it takes 0.5 s of CPU time at each start.
if python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) && ! [ "$python" -ef "$(command -v python3)" ]; then
	export PATH=${python%/*}:$PATH
fi
as_root=()
cannot=
if [ "$(id -u)" -ne 0 ]; then
	if sudo -n true 2>/dev/null; then
		as_root=(sudo -n --preserve-env=BUILD,EBPFREC,WORK,CI,PATH)
	else
		cannot='needs root: run make test as root, or allow sudo without a password'
	fi
fi
# What measures cost, memory or pace says nothing about an instrumented recorder, ten times as slow.
left_out='assessment cpu_account cpu_busy cpu_windows damaged_trace diff_burn flight_recorder live_reading max_overhead overload recorder_self sched_pingpong soak_short thesis_checks'
instrumented=$(grep -qa '__tsan_init\|__asan_init' "$EBPFREC" 2>/dev/null && echo yes)
# ThreadSanitizer has a thread of its own in the recorder, which keeps the privileges that the others drop, and several
# times its memory.
grep -qa '__tsan_init' "$EBPFREC" 2>/dev/null && left_out="$left_out privilege self_cost"
records=()
for script in "$here"/kernel/*.sh "$here"/crash/*.sh; do
	name=$(basename "$(dirname "$script")")/$(basename "$script" .sh)
	[ -e "$script" ] && wanted "$name" || continue
	[ -z "$instrumented" ] || [[ " $left_out " != *" ${name##*/} "* ]] || continue
	records+=("$name")
done

# These wait more than they compute, and what they claim holds whatever else the machine does: no shares of CPU time, no
# pace, no exact counts of the whole machine. Two at a time run beside what comes first, the longest first. Not kernel/containers:
# while its 25,000 tasks end, everybody else is one of as many that want a CPU.
beside='kernel/readme kernel/fleet_killed kernel/metrics_restart kernel/service
	kernel/record_trouble kernel/privilege crash/kill_recorder kernel/fleet kernel/metrics_bins kernel/stack_copies
	crash/bad_disk kernel/damaged_trace kernel/action kernel/bundle_report
	kernel/block_owner kernel/redact kernel/export_growing kernel/block_stat'
lane()
{
	local name

	for name in $beside; do
		[[ " ${records[*]-} " == *" $name "* ]] && mkdir "$logs/begun-${name//\//-}" 2>/dev/null || continue
		start_script "$name" ${as_root[@]+"${as_root[@]}"} bash "$here/$name.sh"
	done
}
lanes=()
for _ in 1 2; do
	[ -z "$cannot" ] || break
	lane &
	lanes+=(-e $!)
done

wait_turn()
{
	[ "$(jobs -pr | grep -cvx "${lanes[@]:--}")" -lt "$(nproc)" ] || wait -n
}

# These share nothing: as many at a time as there are CPUs, the longest first. Then, when the lanes are done, too, come the
# other ones that record, one at a time.
scripts=()
for name in damage:damage/run.sh page:page/run.sh cli:cli/run.sh engines:engines/run.sh format:format/run.sh package:package/run.sh \
	answers:cli/one_answer.py includes:check_includes.sh style:check_style.py claims:check_claims.py runner:check_runner.sh \
	fuzz:fuzz/replay.sh; do
	[ -e "$here/${name#*:}" ] && wanted "${name%%:*}" || continue
	scripts+=("${name%%:*}")
	wait_turn
	start_script "${name%%:*}" "$here/${name#*:}" &
done
units=()
for bin in "$build"/unit/test_*; do
	[ -x "$bin" ] && [ ! -d "$bin" ] || continue
	case $bin in *.d | *.o) continue ;; esac
	wanted "unit/${bin##*/}" && units+=("$bin")
done
for bin in ${units[@]+"${units[@]}"}; do
	wait_turn
	start_unit "$bin" &
done
wait
for bin in ${units[@]+"${units[@]}"}; do
	judge_unit "$bin"
done
for name in ${scripts[@]+"${scripts[@]}"}; do
	judge_script "$name"
done

wanted bench && run_script bench ${as_root[@]+"${as_root[@]}"} bash "$here/bench/run.sh"
again=()
for name in ${records[@]+"${records[@]}"}; do
	if [ -n "$cannot" ]; then
		skip_one "$name" "$cannot"
		continue
	fi
	[ -e "$logs/${name//\//-}.rc" ] || start_script "$name" ${as_root[@]+"${as_root[@]}"} bash "$here/$name.sh"
	if script_failed "$name"; then
		again+=("$name")
		echo "$name failed; it runs once more, at the end"
	else
		judge_script "$name"
	fi
done
for name in ${again[@]+"${again[@]}"}; do
	judge_again "$name" "${as_root[@]}" bash "$here/$name.sh"
done
if [ ${#unsteady[@]} -gt $unsteady_max ]; then
	fail_one "unsteady: ${#unsteady[@]} scripts passed only when run again; more than $unsteady_max are a failure"
fi

if [ ${#failures[@]} -gt 0 ]; then
	echo
	echo "Failures:"
	printf '  %s\n' "${failures[@]}"
fi
[ ${#unsteady[@]} -eq 0 ] || list_unsteady
line="$passed passed, $failed failed"
[ $skipped -gt 0 ] && line="$line, $skipped skipped"
echo "$line"
[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
