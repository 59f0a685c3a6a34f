#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# run.sh [--all] [PATTERN...]: runs the gate; with --all, everything; with patterns, only what matches (unit/*, cli,
# kernel/wait*).
#
# The gate has exact tests only: an expected value is a count, an identity or a sum, and holds whatever else the machine
# does.
#
#     unit        every cmocka test of build/unit/*
#     cli         tests/cli/run.sh
#     answers     tests/cli/one_answer.py: a figure that several commands print is the same in all of them
#     format      tests/format/run.sh
#     damage      tests/damage/run.sh: what views answer about damaged traces
#     page        tests/page/run.sh: the page of export --to html, in a browser
#     fuzz        tests/fuzz/replay.sh: inputs that fuzzing found, replayed
#     includes    tests/check_includes.sh
#     style       tests/check_style.py: columns, lengths of functions and files, licences, names
#     contrast    tests/check_contrast.py: texts of page and viewer can be read
#     claims      tests/check_claims.py: the tests that SECURITY.md names
#     commits     tests/check_commits.py: subjects of commits that are not on the main branch yet
#     runner      tests/check_runner.sh: this script
#     kernel      tests/kernel/*.sh, on the running kernel, as root (through sudo if need be)
#     crash       tests/crash/*.sh: likewise; the recorder is killed, its disk fails
#
# --all adds what needs servers, other engines, load, time or luck:
#
#     full        tests/full/*.sh, on the running kernel: cost, load, containers, servers, whole days of use
#     engines     tests/engines/run.sh: what export writes, in chdb and DuckDB
#     package     tests/package/run.sh
#     bench       tests/bench/run.sh: the benchmark's own tests
#
# and ten times the damaged traces, a second browser and long traces for the page.
#
# Tests of the gate run one per CPU at a time, the longest first; those of full, engines and bench run alone.
#
# A script prints "ok NAME", "not ok NAME: what it saw" or "SKIP NAME: why", one line per test. A non-zero status
# without a "not ok", or no test at all, is a failure of its own. Nothing is run twice. The last line is "N passed, N
# failed[, N skipped]"; the exit status is 0 only without failures. With CI=true a SKIP not named in
# tests/ci_allowed_skips is a failure: a test that did not run proves nothing.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
build=${BUILD:-$top/build}
export BUILD=$build EBPFREC=${EBPFREC:-$build/ebpfrec} WORK=${WORK:-$build/work}
limit_s=${TEST_TIMEOUT:-1200}	# for a test that hangs
TEST_ALL=${TEST_ALL:-}
[ "${1:-}" != --all ] || { TEST_ALL=1; shift; }
export TEST_ALL
patterns=("$@")
passed=0 failed=0 skipped=0
failures=()
logs=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-suite.XXXXXX") || exit 1
trap 'rm -rf "$logs"' EXIT

# Longest first. The others follow in the order of their names.
long='unit/test_folds unit/test_cut unit/test_index_check unit/test_index page damage unit/test_export_sqlite cli
	answers unit/test_analysis_windows fuzz unit/test_damage unit/test_plans unit/test_bombs'
scripts='page:page/run.sh damage:damage/run.sh cli:cli/run.sh answers:cli/one_answer.py fuzz:fuzz/replay.sh
	format:format/run.sh
	includes:check_includes.sh style:check_style.py contrast:check_contrast.py claims:check_claims.py
	commits:check_commits.py runner:check_runner.sh'
alone_scripts='engines:engines/run.sh package:package/run.sh bench:bench/run.sh'
# Cost, memory and pace of an instrumented recorder say nothing.
left_out='other_tools cpu_time damaged_trace flight_recorder live_reading overload self_cost cpu_windows'

# wanted NAME: a pattern matches it. full, engines, package and bench run with --all or if a pattern names them.
wanted()
{
	local p

	if [ ${#patterns[@]} -eq 0 ]; then
		[ -n "$TEST_ALL" ] || [[ $1 != full/* && " $alone_scripts" != *" $1:"* ]]
		return
	fi
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

# start NAME COMMAND...: its output goes to a log; status, seconds by the clock and of CPU time to log.rc
start()
{
	local log=$logs/${1//\//-} TIMEFORMAT='%0R %0U %0S'

	shift
	{ time timeout -k 20 "$limit_s" "$@" >"$log" 2>&1 </dev/null; echo "$?" >"$log.status"; } 2>"$log.time"
	awk 'NR == FNR { status = $1; next } { print status, $1, $2 + $3 }' "$log.status" "$log.time" >"$log.rc"
}

# cmocka prints "[       OK ] name" and so on before the closing "[==========] N test(s) run.": one test each.
cmocka_lines()
{
	awk '/^\[==========\].*run\./ { exit }
		/^\[       OK \]/ { print "ok " $4 }
		/^\[  FAILED  \]/ { print "not ok " $4 }
		/^\[  SKIPPED \]/ { print "SKIP " $4 ": the test skipped itself" }' "$1" | sort -u
}

judge()
{
	local name=$1 log=$logs/${1//\//-} lines=$logs/lines rc took_s cpu_s ok_cnt bad_cnt skip_cnt line

	read -r rc took_s cpu_s <"$log.rc"
	case $name in
		unit/*) cmocka_lines "$log" >"$lines" ;;
		*) grep -aE '^(ok|not ok|SKIP) ' "$log" >"$lines" ;;
	esac
	ok_cnt=$(grep -ac '^ok ' "$lines")
	bad_cnt=$(grep -ac '^not ok ' "$lines")
	skip_cnt=$(grep -ac '^SKIP ' "$lines")
	passed=$((passed + ok_cnt))
	while IFS= read -r line; do
		fail_one "$name: ${line#not ok }"
	done < <(grep -a '^not ok ' "$lines")
	while IFS= read -r line; do
		line=${line#SKIP }
		skip_one "$name:${line%%:*}" "${line#*: }"
	done < <(grep -a '^SKIP ' "$lines")
	if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
		fail_one "$name: not done after $limit_s s"
	elif [ "$rc" -ne 0 ] && [ "$bad_cnt" -eq 0 ]; then
		fail_one "$name: ended with status $rc after $ok_cnt tests"
	elif [ $((ok_cnt + bad_cnt + skip_cnt)) -eq 0 ]; then
		fail_one "$name: no test ran"
	fi
	if [ "$rc" -ne 0 ] || [ "$bad_cnt" -gt 0 ]; then
		show_log "$log"
	elif [ "$ok_cnt" -gt 0 ]; then
		echo "ok $name ($ok_cnt tests, $took_s s, CPU $cpu_s s)"
	fi
}

# command_of NAME: sets cmd to what runs it
command_of()
{
	local entry

	case $1 in
		unit/*) cmd=("$build/$1") ;;
		kernel/* | crash/* | full/*) cmd=(${as_root[@]+"${as_root[@]}"} bash "$here/$1.sh") ;;
		*) for entry in $scripts $alone_scripts; do
			[ "${entry%%:*}" != "$1" ] || cmd=("$here/${entry#*:}")
		done ;;
	esac
	[ "$1" != bench ] || cmd=(${as_root[@]+"${as_root[@]}"} bash "${cmd[@]}")
}

cd "$top" || exit 1

# If python3 is a wrapper that looks for the real one, such as pyenv's, each start takes 0.5 s of CPU time.
if python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) &&
	! [ "$python" -ef "$(command -v python3)" ]; then
	export PATH=${python%/*}:$PATH
fi
as_root=()
cannot=
if [ "$(id -u)" -ne 0 ]; then
	if sudo -n true 2>/dev/null; then
		as_root=(sudo -n --preserve-env=BUILD,EBPFREC,WORK,CI,PATH,TEST_ALL)
	else
		cannot='needs root: run make test as root, or allow sudo without a password'
	fi
fi
instrumented=$(grep -qa '__tsan_init\|__asan_init' "$EBPFREC" 2>/dev/null && echo yes)
# ThreadSanitizer adds a thread that keeps the privileges which the others drop, and takes several times the memory.
grep -qa '__tsan_init' "$EBPFREC" 2>/dev/null && left_out="$left_out privilege"

names=() alone=()
for entry in $scripts; do
	[ -e "$here/${entry#*:}" ] && wanted "${entry%%:*}" && names+=("${entry%%:*}")
done
for bin in "$build"/unit/test_*; do
	[[ -x $bin && ! -d $bin && $bin != *.[do] ]] && wanted "unit/${bin##*/}" && names+=("unit/${bin##*/}")
done
for script in "$here"/kernel/*.sh "$here"/crash/*.sh "$here"/full/*.sh; do
	name=$(basename "$(dirname "$script")")/$(basename "$script" .sh)
	[ -e "$script" ] && wanted "$name" || continue
	[ -z "$instrumented" ] || [[ " ${left_out//$'\n'/ } " != *[[:space:]]"${name##*/}"[[:space:]]* ]] || continue
	if [ -n "$cannot" ]; then
		skip_one "$name" "$cannot"
	elif [[ $name == full/* ]]; then
		alone+=("$name")
	else
		names+=("$name")
	fi
done
for entry in $alone_scripts; do
	[ -e "$here/${entry#*:}" ] && wanted "${entry%%:*}" && alone+=("${entry%%:*}")
done

ordered=()
for name in $long; do
	[[ " ${names[*]-} " != *" $name "* ]] || ordered+=("$name")
done
for name in ${names[@]+"${names[@]}"}; do
	[[ " ${ordered[*]-} " == *" $name "* ]] || ordered+=("$name")
done
for name in ${ordered[@]+"${ordered[@]}"}; do
	[ "$(jobs -pr | wc -l)" -lt "$(nproc)" ] || wait -n
	command_of "$name"
	start "$name" "${cmd[@]}" &
done
wait
for name in ${ordered[@]+"${ordered[@]}"}; do
	judge "$name"
done
for name in ${alone[@]+"${alone[@]}"}; do
	command_of "$name"
	start "$name" "${cmd[@]}"
	judge "$name"
done

if [ ${#failures[@]} -gt 0 ]; then
	echo
	echo "Failures:"
	printf '  %s\n' "${failures[@]}"
fi
line="$passed passed, $failed failed"
[ $skipped -gt 0 ] && line="$line, $skipped skipped"
echo "$line"
[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
