#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# run.sh [FILE.t...]: golden tests of the command line, or of these files alone. Without root: they read a small trace
# that build/tests/cli/gen_golden makes, always the same.
#
# A .t file is a list of cases:
#
#     $ ebpfrec report nope         the command, run by bash in an empty directory with golden.ebpfrec
#     > --pid 1                     the next line of the command
#     ? 2                           exit status wanted (0 when left out)
#     1> text                       a line wanted on stdout; 2> on stderr: exactly
#     1~ *.ebpfrec: no such*        the same, as a shell pattern
#     1...                          any number of lines
#
# Everything the command prints must be wanted. Lines beginning with # are remarks.
# Prints "ok NAME", "not ok NAME: reason".
#
# UPDATE=1 rewrites the files of which a case fails, in place (update.py), prints "updated FILE" and runs them once
# more: a case that still fails prints something else each time. `UPDATE=1 tests/run.sh cli`, then look at `git diff
# tests/cli`.
#
# ONLY="report.3 queries mcp" runs just the third case of report.t, and of what comes after the cases these. With
# REACHED=DIR, the library that `make mutate` builds writes which code of it each of them reached into DIR/NAME;
# DIR/golden is how the trace is made.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
EBPFREC=${EBPFREC:-$build/ebpfrec}
dir=$(mktemp -d "${TMPDIR:-/tmp}/ebpfrec-cli.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
status=0

# What a user's environment might change.
export LC_ALL=C TZ=UTC PATH="$dir/bin:$PATH"
unset COLUMNS EBPFREC_TRACE
export README=$top/README.md RECORD_SH=$top/.github/actions/record/record.sh
mkdir -p "$dir/bin" "$dir/run"
ln -s "$EBPFREC" "$dir/bin/ebpfrec"
export PYTHONDONTWRITEBYTECODE=1
ln -s "$build/tests/cli/gen_golden" "$build/tests/cli/gen_doubtful" "$dir/bin"
ln -s "$here/pprof_text.py" "$dir/bin/pprof_text"
ln -s "$here/perfetto_text.py" "$dir/bin/perfetto_text"
printf '#!/bin/sh\nexec python3 "%s/tests/kernel/landing.py" "$@"\n' "$top" >"$dir/bin/landing"
chmod +x "$dir/bin/landing"

fail()
{
	printf 'not ok %s: %s\n' "$1" "$2"
	status=1
}

# chosen NAME: is that to run?
chosen()
{
	[ -z "${REACHED:-}" ] || export MUTATE_REACHED=$REACHED/$1
	[ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $1 "* ]]
}

# Is line $2 what the wanted line $1 (">text" or "~pattern") asks for?
line_matches()
{
	case $1 in
	\>*) [[ $2 == "${1:1}" ]] ;;
	# shellcheck disable=SC2053
	\~*) [[ $2 == ${1:1} ]] ;;
	*) return 1 ;;
	esac
}

# compare FILE WANTED...: prints the first difference, or nothing
compare()
{
	local file=$1 line w any=0 i=0 got=()

	shift
	mapfile -t got <"$file"
	for w in "$@"; do
		if [ "$w" = ... ]; then
			any=1
			continue
		fi
		if [ $any -eq 1 ]; then
			while [ $i -lt ${#got[@]} ] && ! line_matches "$w" "${got[i]}"; do
				i=$((i + 1))
			done
			any=0
		fi
		if [ $i -ge ${#got[@]} ]; then
			printf 'no line "%s"' "${w:1}"
			return
		fi
		if ! line_matches "$w" "${got[i]}"; then
			line=${got[i]}
			printf 'line %d is "%s", wanted "%s"' $((i + 1)) "$line" "${w:1}"
			return
		fi
		i=$((i + 1))
	done
	if [ $any -eq 0 ] && [ $i -lt ${#got[@]} ]; then
		printf 'line %d is too much: "%s"' $((i + 1)) "${got[i]}"
	fi
}

# Runs the case in $command, $want_status, $out[], $err[]
run_case()
{
	local name="$stem: ${command%%$'\n'*}" rc diff result

	number=$((number + 1))
	chosen "$stem.$number" || return
	result=$dir/results/$number
	(cd "$dir/run" && timeout 60 bash -c "$command") >"$result.out" 2>"$result.err" </dev/null
	rc=$?
	echo $rc >"$result.rc"
	if [ $rc -ne "$want_status" ]; then
		fail "$name" "exit status $rc, wanted $want_status; stderr: $(head -n 3 "$result.err" | tr '\n' '|')"
		return
	fi
	diff=$(compare "$result.out" ${out[@]+"${out[@]}"})
	if [ -n "$diff" ]; then
		fail "$name" "stdout: $diff"
		return
	fi
	diff=$(compare "$result.err" ${err[@]+"${err[@]}"})
	if [ -n "$diff" ]; then
		fail "$name" "stderr: $diff"
		return
	fi
	printf 'ok %s\n' "$name"
}

run_file()
{
	local line command='' want_status=0 out=() err=() stem number=0

	stem=$(basename "$1" .t)
	rm -rf "$dir/run" "$dir/results"
	mkdir "$dir/run" "$dir/results"
	cp -r "$dir/golden.ebpfrec" "$dir/run/"
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'$ '*)
			[ -n "$command" ] && run_case
			command=${line:2} want_status=0 out=() err=()
			;;
		'> '*) command+=$'\n'${line:2} ;;
		'? '*) want_status=${line:2} ;;
		1...) out+=(...) ;;
		2...) err+=(...) ;;
		'1> '* | '1~ '*) out+=("${line:1:1}${line:3}") ;;
		'2> '* | '2~ '*) err+=("${line:1:1}${line:3}") ;;
		'1>') out+=('>') ;;
		'2>') err+=('>') ;;
		'' | '#'*) ;;
		*) fail "$stem" "cannot read the line: $line" ;;
		esac
	done <"$1"
	[ -n "$command" ] && run_case
}

chosen golden
if ! "$build/tests/cli/gen_golden" "$dir/golden.ebpfrec" >"$dir/out" 2>&1; then
	fail golden "gen_golden failed: $(head -n 1 "$dir/out")"
	exit 1
fi
files=("$@")
[ ${#files[@]} -gt 0 ] || files=("$here"/*.t)
for file in "${files[@]}"; do
	if [ -n "${UPDATE:-}" ]; then
		before=$status
		run_file "$file" >"$dir/verdicts"
		status=$before
		if grep -q '^not ok' "$dir/verdicts" && python3 "$here/update.py" "$file" "$dir/results"; then
			echo "updated $file"
		fi
	fi
	run_file "$file"
done
[ $# -eq 0 ] || exit "$status"

# Every example that reads a trace runs: those of --help, of the man pages, of README.md, and each query of QUERIES.md.
examples=$dir/examples
mkdir -p "$examples"
for name in trace before after night.ebpfrec before.ebpfrec after.ebpfrec trace.ebpfrec; do
	cp -r "$dir/golden.ebpfrec" "$examples/$name"
done
"$dir/bin/gen_golden" "$examples/slow.ebpfrec" spans
{
	for command in report sql export info check diff; do
		"$EBPFREC" $command --help | sed -n '/^Examples:/,$p'
	done
	sed -n '/^\.SH EXAMPLES/,/^\.SH /p' "$top"/cmd/*.1 | sed 's/\\-/-/g; s/\\(aq/'"'"'/g'
	cat "$top/README.md"
} | sed -nE 's/^ *(ebpfrec (report|sql|export|info|check|diff) ?[^#|]*)( .*)?$/\1/p' |
	grep -vE 'mark:|--during|--phases|--follow|\.zip|^ebpfrec sql .*- <|"$|"[^"]*$|perfetto|snapshot|OUT|\[' |
	sed 's/ *$//' | sort -u >"$dir/example-lines"
chosen examples && while read -r line; do
	(cd "$examples" && rm -rf out trace.db report.html &&
		PATH=$(dirname "$EBPFREC"):$PATH timeout 60 bash -c "$line") >"$dir/example-out" 2>&1 </dev/null
	code=$?
	grep -q 'built without the charts' "$dir/example-out" && code=0
	if [ $code -le 1 ] && ! grep -q '^Try ' "$dir/example-out" && { [ $code -eq 0 ] || [[ $line == *--exit-code* ||
		$line == *check* ]]; }; then
		echo "ok example: $line"
	else
		fail "example: $line" "status $code: $(tail -n 2 "$dir/example-out" | tr '\n' ' ')"
	fi
done <"$dir/example-lines"
[ "$(wc -l <"$dir/example-lines")" -ge 15 ] || fail "examples" "only $(wc -l <"$dir/example-lines") found"
awk -v dir="$dir" '/^```sql/ { n++; out = dir "/query-" n; next } /^```/ { out = "" } out { print > out }' \
	"$top/schema/QUERIES.md"
chosen queries && for query in "$dir"/query-*; do
	if timeout 60 "$EBPFREC" sql -i "$examples/trace.ebpfrec" - <"$query" >"$dir/example-out" 2>&1; then
		echo "ok query: $(head -n 1 "$query" | cut -c 1-60)"
	else
		fail "query: $(head -n 1 "$query" | cut -c 1-60)" "$(tail -n 2 "$dir/example-out" | tr '\n' ' ')"
	fi
done

# script NAME ARGUMENT...: what a script of this directory says
script()
{
	local line name=$1

	shift
	chosen "$name" || return
	while IFS= read -r line; do
		echo "$line"
		[[ $line != not\ ok* ]] || status=1
	done < <(python3 "$here/$name.py" "$EBPFREC" "$@" 2>&1 || echo "not ok $name: the script failed")
}

# Every option of a command is in its help, its man page and both completions.
script options
script sql_shell "$dir/golden.ebpfrec"
mkdir -p "$dir/mcp"
cp -r "$dir/golden.ebpfrec" "$dir/mcp"
"$dir/bin/gen_golden" "$dir/mcp/spans.ebpfrec" spans
script mcp "$dir/mcp"
script metrics_growing "$build/tests/cli/gen_golden"
if chosen groff && command -v groff >/dev/null; then
	for page in "$top"/cmd/*.[0-9]; do
		warnings=$(groff -man -ww -Tutf8 -z "$page" 2>&1)
		if [ -z "$warnings" ]; then
			echo "ok groff $(basename "$page")"
		else
			fail "groff $(basename "$page")" "$(head -n 1 <<<"$warnings")"
		fi
	done
fi
exit $status
