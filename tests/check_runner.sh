#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# check_runner.sh: tests/run.sh itself, on a small suite of made-up scripts: what it counts as passed and as failed, and
# what it runs once more. Prints "ok NAME" or "not ok NAME: what it saw".
set -u

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ebpfrec-runner.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
status=0
unset CI TEST_TIMEOUT UNSTEADY_MAX

# The made-up scripts need no root, so run.sh is told that it has it.
mkdir "$tmp/bin"
printf '#!/bin/sh\necho 0\n' >"$tmp/bin/id"
chmod +x "$tmp/bin/id"

new_suite()
{
	rm -rf "$tmp/tests" "$tmp/build" "$tmp/state"
	mkdir -p "$tmp/tests/kernel" "$tmp/tests/crash" "$tmp/build/unit" "$tmp/state"
	cp "$here/run.sh" "$tmp/tests/"
}

# script NAME VERDICT...: a script of the suite. Its first run prints what the first VERDICT says, the next run the next.
script()
{
	local name=$1 state=$tmp/state/${1//\//-}

	shift
	printf '%s\n' "$@" >"$state.verdicts"
	cat >"$tmp/tests/$name.sh" <<-END
		echo run >>"$state.runs"
		echo "noise of run \$(wc -l <"$state.runs")"
		sed -n "\$(wc -l <"$state.runs")p" "$state.verdicts" >"$state.verdict"
		cat "$state.verdict"
		echo "$name" >>"$tmp/state/order"
		! grep -q '^not ok' "$state.verdict"
	END
}

# suite PATTERN...: runs the small suite; sets out, its last line and rc
suite()
{
	out=$(PATH=$tmp/bin:$PATH BUILD=$tmp/build EBPFREC=$tmp/none WORK=$tmp/none TMPDIR=$tmp "$tmp/tests/run.sh" "$@" 2>&1)
	rc=$?
	last=${out##*$'\n'}
}

runs()
{
	wc -l <"$tmp/state/${1//\//-}.runs"
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

new_suite
script kernel/good 'ok first'
script kernel/flaky 'not ok first: a busy machine' 'ok first'
script crash/last 'ok last'
suite kernel crash
check 'a script that fails and then passes counts as passed' '[ $rc -eq 0 ] && [ "$last" = "3 passed, 0 failed" ]'
check 'it is listed as unsteady, with both outputs' 'says "unsteady: kernel/flaky" && says "    | not ok first: a busy machine" &&
	says "    | noise of run 1" && says "    | noise of run 2" && says "    | ok first"'
check 'it runs again when all others are done' '[ "$(tail -n 1 "$tmp/state/order")" = kernel/flaky ] && [ "$(runs kernel/flaky)" -eq 2 ]'
check 'what passes is run once' '[ "$(runs kernel/good)" -eq 1 ] && ! says "unsteady: kernel/good"'

new_suite
script crash/broken 'not ok first: it is broken' 'not ok first: it is broken'
script kernel/good 'ok first'
suite kernel crash
check 'a script that fails twice has failed' '[ $rc -ne 0 ] && [ "$last" = "1 passed, 1 failed" ]'
check 'it is listed as a failure, not as unsteady' \
	'says "  crash/broken: first: it is broken" && ! grep -q "^unsteady" <<<"$out" && [ "$(runs crash/broken)" -eq 2 ]'

new_suite
script kernel/silent 'hello' 'hello again'
suite kernel
check 'a script without any test has failed' '[ $rc -ne 0 ] && says "  kernel/silent: no test ran"'

new_suite
script kernel/one 'not ok a: x' 'ok a'
script kernel/two 'not ok b: x' 'ok b'
suite kernel
check 'two unsteady scripts are allowed' '[ $rc -eq 0 ] && [ "$last" = "2 passed, 0 failed" ]'
rm -f "$tmp"/state/*.runs
export UNSTEADY_MAX=0
suite kernel
unset UNSTEADY_MAX
check 'none is allowed with UNSTEADY_MAX=0' '[ $rc -ne 0 ] && [ "$last" = "2 passed, 1 failed" ]'
script crash/three 'not ok c: x' 'ok c'
rm -f "$tmp"/state/*.runs
suite kernel crash
check 'three unsteady scripts are a failure' '[ $rc -ne 0 ] && [ "$last" = "3 passed, 1 failed" ] &&
	[ "$(grep -c "^unsteady: " <<<"$out")" -eq 3 ]'

# kernel/beside and the script of another kind wait for each other; the seconds are for what hangs.
new_suite
sed -i "/^beside='/,/'\$/c beside='kernel/beside kernel/late'" "$tmp/tests/run.sh"
wait_for_line() { echo "for ((i = 0; i < 600; i++)); do ! grep -qx '$1' '$tmp/state/$2' 2>/dev/null || break; sleep 0.05; done"; }
printf '#!/bin/bash\n%s\necho includes >>"%s"\n[ $i -lt 600 ] && echo ok seen\n' "$(wait_for_line run kernel-beside.runs)" "$tmp/state/order" \
	>"$tmp/tests/check_includes.sh"
chmod +x "$tmp/tests/check_includes.sh"
script kernel/alone 'ok alone'
script kernel/beside 'not ok beside: busy' 'ok beside'
script kernel/late 'ok late'
wait_for_line includes order >>"$tmp/tests/kernel/beside.sh"
printf '%s\n[ $i -eq 600 ] || echo both >>"%s"\n' "$(wait_for_line run kernel-late.runs)" "$tmp/state/both" >>"$tmp/tests/kernel/beside.sh"
suite includes kernel
check 'what may run beside the first scripts does, and all others do not' '[ $rc -eq 0 ] && [ "$last" = "4 passed, 0 failed" ] &&
	[ "$(grep -nx includes "$tmp/state/order" | cut -d: -f1)" -lt "$(grep -nx kernel/alone "$tmp/state/order" | cut -d: -f1)" ]'
check 'two of them at a time' '[ "$(wc -l <"$tmp/state/both")" -eq 2 ]'
check 'what fails there runs once more, alone' '[ "$(runs kernel/beside)" -eq 2 ] && [ "$(tail -n 1 "$tmp/state/order")" = kernel/beside ]'
check 'and every one runs' '[ "$(runs kernel/alone)$(runs kernel/late)" = 11 ]'

# A unit test that fails once: it stays failed.
new_suite
script kernel/good 'ok first'
cat >"$tmp/build/unit/test_flaky" <<END
#!/bin/sh
echo run >>"$tmp/state/unit.runs"
if [ \$(wc -l <"$tmp/state/unit.runs") -eq 1 ]; then
	echo '[  FAILED  ] test_one'
	echo '[==========] 1 test(s) run.'
	exit 1
fi
echo '[       OK ] test_one'
END
chmod +x "$tmp/build/unit/test_flaky"
suite unit kernel
check 'unit tests are not run again' '[ $rc -ne 0 ] && [ "$(runs unit)" -eq 1 ] && [ "$last" = "1 passed, 1 failed" ]'
printf '#!/bin/sh\necho "not ok include: x"\necho run >>"%s"\nexit 1\n' "$tmp/state/includes.runs" >"$tmp/tests/check_includes.sh"
chmod +x "$tmp/tests/check_includes.sh"
suite includes
check 'nor is any script of another kind' '[ $rc -ne 0 ] && [ "$(runs includes)" -eq 1 ] && ! grep -q "^unsteady" <<<"$out"'

exit $status
