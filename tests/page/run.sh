#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# run.sh: the page of `export --to html`, in a browser without a screen: its tables say what `ebpfrec report`
# says of the same window, and nothing in a trace makes it run or fetch anything. The same of `ebpfrec view`.
# With TEST_ALL, also long traces and Firefox. Prints "ok NAME", "not ok NAME: what it saw", "SKIP NAME: why".
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
export EBPFREC=${EBPFREC:-$build/ebpfrec} LC_ALL=C TZ=UTC PYTHONDONTWRITEBYTECODE=1
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-page.XXXXXX") || exit 1
export tmp
trap 'rm -rf "$tmp"' EXIT

# With TEST_ALL, or as `run.sh full`, all of it, some minutes; otherwise what the gate runs: Chromium alone.
full=${1:-${TEST_ALL:-}}
if ! "$build/tests/cli/gen_golden" "$tmp/golden" >/dev/null ||
	! "$build/tests/cli/gen_golden" "$tmp/command" command >/dev/null ||
	! "$build/tests/cli/gen_golden" "$tmp/spans" spans >/dev/null ||
	! "$build/bench/bin/gen_trace_large" -n 200000 -c 3 "$tmp/large" >/dev/null; then
	echo "not ok page: traces to look at are generated"
	exit 1
fi
if [ -z "$full" ]; then
	python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import browser; sys.exit(not browser.find())' "$here" ||
		{ echo "SKIP page/browser: there is no chromium here"; exit 0; }
	"$EBPFREC" export -q --to html -i "$tmp/golden" -o "$tmp/golden.html" 2>"$tmp/err"
	! grep -q 'libjs-dygraphs' "$tmp/err" || { echo "SKIP page: built without libjs-dygraphs"; exit 0; }
	python3 "$here/quick_check.py"
	exit
fi
if ! "$build/tests/cli/gen_golden" "$tmp/stacks" stacks >/dev/null ||
	! "$build/tests/cli/gen_golden" "$tmp/who" who >/dev/null ||
	! "$build/bench/bin/gen_trace_large" -n 2000000 "$tmp/long" >/dev/null ||
		! "$build/bench/bin/gen_trace_large" -n 2100000 -r 15000 "$tmp/blocks" >/dev/null; then
	echo "not ok page: traces to look at are generated"
	exit 1
fi
if "$EBPFREC" export -q --to html -i "$tmp/golden" -o "$tmp/golden.html" 2>"$tmp/err"; then
	echo "ok page: export --to html makes a file"
elif grep -q 'libjs-dygraphs' "$tmp/err"; then
	echo "SKIP page: built without libjs-dygraphs"
	exit 0
else
	echo "not ok page: export --to html makes a file: $(tail -n 2 "$tmp/err")"
	exit 1
fi

refused=$("$EBPFREC" export -q --to html -i "$tmp/golden" -o "$tmp/golden.html" 2>&1)
if grep -q 'exists' <<<"$refused"; then
	echo "ok page: a file that exists is kept without -f"
else
	echo "not ok page: a file that exists is kept without -f: $refused"
fi
"$EBPFREC" export -q --to html -i "$tmp/golden" -o - 2>/dev/null | cmp -s - "$tmp/golden.html" &&
	echo "ok page: -o - writes it to stdout" ||
	echo "not ok page: -o - writes it to stdout: another page"
refused=$("$EBPFREC" export --to html -t processes -i "$tmp/golden" 2>&1)
[ $? -eq 2 ] && echo "ok page: -t is refused" || echo "not ok page: -t is refused: $refused"

# In a bundle, if it fits.
if "$EBPFREC" bundle -i "$tmp/large" -o "$tmp/b.zip" 2>"$tmp/log" && unzip -p "$tmp/b.zip" '*/report.html' |
	grep -q '^<!DOCTYPE html>'; then
	echo "ok page: a bundle has it"
else
	echo "not ok page: a bundle has it: $(tail -n 2 "$tmp/log")"
fi
"$EBPFREC" bundle -i "$tmp/large" -o "$tmp/less.zip" --max-size $(($(stat -c %s "$tmp/b.zip") - 1)) 2>"$tmp/log"
if ! unzip -l "$tmp/less.zip" | grep -q report.html && grep -q 'left out.*report.html' "$tmp/log" &&
	! grep -q 'left out.*reports' "$tmp/log"; then
	echo "ok page: a bundle without room for it leaves it out, first of all, and says so"
else
	echo "not ok page: a bundle without room for it leaves it out, first of all, and says so: $(cat "$tmp/log")"
fi

# A trace whose every name is hostile: path, command, processes.
evil='<img src=http:evil.invalid onerror=document.title=7>'
export hostile="$tmp/$evil"
if [ "$(id -u)" -eq 0 ]; then
	# shellcheck disable=SC2016
	"$EBPFREC" record -q --only -e sched,alloc.rss,alloc.slab --stacks 1/1 -o "$hostile" -- bash -c '
		for name in "</script>" "<script>x()" "<img src=//x>" "\"onload=x()" "'\''&<b>" "$(printf "a\033[1mb")"; do
			(printf %s "$name" >/proc/$BASHPID/comm; for ((i = 0; i < 20000; i++)); do :; done)
		done; : "</script><script>document.title=7</script>"' >"$tmp/log" 2>&1 ||
		echo "not ok page: hostile names are recorded: $(tail -n 2 "$tmp/log")"
fi

if [ "$(id -u)" -eq 0 ]; then
	"$EBPFREC" record -o "$tmp/r" --html "$tmp/r.html" -e sched -- sh -c 'exit 7' >"$tmp/log" 2>&1
	[ $? -eq 7 ] && grep -q '^<!DOCTYPE html>' "$tmp/r.html" &&
		echo "ok page: record --html makes it, and the exit status is the command's" ||
		echo "not ok page: record --html makes it, and the exit status is the command's: $(tail -n 3 "$tmp/log")"
	"$EBPFREC" record -o "$tmp/r" --html "$tmp/r.html" -e sched -- touch "$tmp/ran" >"$tmp/log" 2>&1
	[ $? -eq 2 ] && [ ! -e "$tmp/ran" ] && echo "ok page: record --html refuses a file that exists before it records" ||
		echo "not ok page: record --html refuses a file that exists before it records: $(tail -n 3 "$tmp/log")"
fi

python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import browser; sys.exit(not browser.find())' "$here" ||
	{ echo "SKIP page/browser: there is no chromium here"; exit 0; }
python3 "$here/page_check.py"
status=$?
python3 "$here/view_check.py" && exit $status
