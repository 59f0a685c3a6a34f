#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# check_runner.sh: tests/run.sh itself, on a small suite of made-up scripts: what it runs, and what it counts as passed,
# failed and skipped. Prints "ok NAME" or "not ok NAME: what it saw".
set -u

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ebpfrec-runner.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
status=0
unset CI TEST_TIMEOUT TEST_ALL

# The made-up scripts need no root, so run.sh is told that it has it.
mkdir "$tmp/bin"
printf '#!/bin/sh\necho 0\n' >"$tmp/bin/id"
chmod +x "$tmp/bin/id"

new_suite()
{
	rm -rf "$tmp/tests" "$tmp/build" "$tmp/order"
	mkdir -p "$tmp/tests/kernel" "$tmp/tests/crash" "$tmp/tests/full" "$tmp/build/unit"
	cp "$here/run.sh" "$tmp/tests/"
}

# script NAME LINE: a script of the suite that prints LINE
script()
{
	cat >"$tmp/tests/$1.sh" <<-END
		#!/bin/sh
		echo "$1" >>"$tmp/order"
		echo "$2"
		case "$2" in "not ok"*) exit 1 ;; esac
	END
	chmod +x "$tmp/tests/$1.sh"
}

# suite ARGUMENT...: runs the small suite; sets out, its last line and rc
suite()
{
	: >"$tmp/order"
	out=$(PATH=$tmp/bin:$PATH BUILD=$tmp/build EBPFREC=$tmp/none WORK=$tmp/none TMPDIR=$tmp "$tmp/tests/run.sh" \
		"$@" 2>&1)
	rc=$?
	last=${out##*$'\n'}
}

# check NAME CONDITION: CONDITION is evaluated; out and rc are shown when it is not true
check()
{
	if eval "$2"; then
		echo "ok $1"
	else
		echo "not ok $1: status $rc, last line \"$last\""
		sed 's/^/    | /' <<<"$out"
		status=1
	fi
}

says() { grep -qxF -- "$1" <<<"$out"; }
ran() { [ "$(sort "$tmp/order" | paste -sd' ')" = "$*" ]; }

new_suite
script kernel/good 'ok first'
script crash/last 'ok last'
script full/slow 'ok slow'
suite
check 'the gate runs without the full set' \
	'[ $rc -eq 0 ] && [ "$last" = "2 passed, 0 failed" ] && ran crash/last kernel/good'
suite --all
check '--all runs everything, the full set last' \
	'[ "$last" = "3 passed, 0 failed" ] && [ "$(tail -n 1 "$tmp/order")" = full/slow ]'
suite full
check 'a pattern names a part of the full set' '[ "$last" = "1 passed, 0 failed" ] && ran full/slow'

script kernel/broken 'not ok first: it is broken'
suite kernel
check 'a script that fails has failed, and is run once' '[ $rc -ne 0 ] && [ "$last" = "1 passed, 1 failed" ] &&
	says "  kernel/broken: first: it is broken" && ran kernel/broken kernel/good'

new_suite
script kernel/silent hello
suite
check 'a script without any test has failed' '[ $rc -ne 0 ] && says "  kernel/silent: no test ran"'

new_suite
script kernel/skipping 'SKIP disk: there is none'
script kernel/good 'ok first'
suite
check 'a skipped test is counted as such' '[ $rc -eq 0 ] && [ "$last" = "1 passed, 0 failed, 1 skipped" ]'
: >"$tmp/tests/ci_allowed_skips"
CI=true suite
check 'in CI it is a failure' '[ $rc -ne 0 ] && [ "$last" = "1 passed, 1 failed" ]'
echo 'kernel/skipping:disk	a machine may have none' >"$tmp/tests/ci_allowed_skips"
CI=true suite
check 'unless it is allowed by name' '[ $rc -eq 0 ] && [ "$last" = "1 passed, 0 failed, 1 skipped" ]'

new_suite
printf '%s\n' '#!/bin/sh' 'echo "[       OK ] test_a"' 'echo "[  FAILED  ] test_b"' \
	'echo "[==========] 2 test(s) run."' 'echo "[  FAILED  ] test_b"' 'exit 1' \
	>"$tmp/build/unit/test_two"
printf '#!/bin/sh\necho "[       OK ] test_c"\nkill -SEGV $$\n' >"$tmp/build/unit/test_crash"
chmod +x "$tmp/build/unit/"*
suite unit
check 'each cmocka test counts once, and a crash is a failure' '[ $rc -ne 0 ] && [ "$last" = "2 passed, 2 failed" ] &&
	says "  unit/test_two: test_b"'

exit $status
