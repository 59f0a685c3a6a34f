#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record.sh DIR -- COMMAND...: what the action does, on any machine, as root (or with what recording needs).
#
# It records COMMAND into DIR/run.1 and on, judges the runs, compares them with those of a baseline, and leaves in DIR
# what a person looks at: summary.md, page.html (charts of the last run), diff.html (box plots), run.zip (a bundle),
# junit.xml. Annotations for GitHub go to stdout.
#
#     RUNS=8              how often COMMAND runs; 8 and 8 of a baseline tell most changes of a few percent
#     WARM_UP=0           the first of them that only warm up
#     RULES=rules.txt     rules for `ebpfrec assert`; none: nothing is judged
#     BASELINE=dir        an earlier DIR; none, or without runs: nothing is compared
#     STRICT=1            what cannot be decided fails, too
#     RECORD_OPTIONS=...  further options of `ebpfrec record`, such as "--only --heap"
#     EBPFREC=ebpfrec     the program
#
# Traces and results of an earlier job in DIR are removed first.
#
# Exit status: COMMAND's, if it fails (125 to 127: it was not recorded); 2 if the rules are wrong or cannot be read; 1
# if a rule fails, a figure is worse, or a program that decides ended unexpectedly; else 0.
set -u

EBPFREC=${EBPFREC:-ebpfrec} RUNS=${RUNS:-8} WARM_UP=${WARM_UP:-0}
[ $# -ge 3 ] && [ "$2" = -- ] || { sed -n '/^# record.sh/,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
dir=$1
shift 2
summary=$dir/summary.md
status=0

# Its paragraphs go into the job's summary, which GitHub cuts at 1 MiB.
say()
{
	printf '%s\n\n' "$*" >>"$summary"
}

# fail STATUS TEXT: an annotation, and the exit status, unless the rules are wrong
fail()
{
	echo "::error title=ebpfrec::$2"
	[ $status -eq 2 ] || status=$1
}

# runs DIR: the traces of its runs, in order
runs()
{
	find "$1" -maxdepth 1 -type d -name 'run.[0-9]*' ! -name '*.old' | sort -V
}

if [ -n "${RULES:-}" ] && { [ ! -f "$RULES" ] || [ ! -r "$RULES" ]; }; then
	fail 2 "the rules cannot be read: $RULES"
	exit $status
fi
if [ -n "${BASELINE:-}" ] && [ "$(realpath -m "$BASELINE")" = "$(realpath -m "$dir")" ]; then
	fail 2 "the baseline is the directory that is recorded into"
	exit $status
fi
mkdir -p "$dir" || exit 125
for old in "$dir"/run.[0-9]*; do
	[ ! -f "$old/manifest" ] || rm -rf "$old"
done
mapfile -t traces < <(runs "$dir")
[ ${#traces[@]} -eq 0 ] || { echo "::error title=ebpfrec::not a trace, and in the way: ${traces[0]}"; exit 125; }
rm -f "$dir"/{junit.xml,diff.md,diff.html,diff.err,run.zip,page.html}
: >"$summary" || exit 125
# shellcheck disable=SC2086
"$EBPFREC" record -q -f -o "$dir/run" --repeat "$RUNS" --warm-up "$WARM_UP" ${RECORD_OPTIONS:-} -- "$@"
recorded=$?
mapfile -t traces < <(runs "$dir")
[ ${#traces[@]} -gt 0 ] || { echo "::error title=ebpfrec::nothing was recorded"; exit 125; }
last=${traces[-1]}
[ ${#traces[@]} -le "$WARM_UP" ] || traces=("${traces[@]:WARM_UP}")
say "## Recorded: ${#traces[@]} runs"
[ $recorded -eq 0 ] || { echo "::error title=ebpfrec::the command failed with status $recorded"; say \
	"The command failed with status $recorded."; }

if [ -n "${RULES:-}" ]; then
	say "### Rules"
	"$EBPFREC" assert "${traces[@]}" "$RULES" --keep --format github 2>"$dir/assert.err"
	judged=$?
	cat "$dir/assert.err" >&2
	"$EBPFREC" assert "${traces[@]}" "$RULES" --format junit >"$dir/junit.xml" 2>/dev/null
	"$EBPFREC" assert "${traces[@]}" "$RULES" --format markdown >>"$summary" 2>/dev/null
	say ""
	case $judged in
	0) ;;
	1) status=1 ;;
	3)
		echo "::warning title=ebpfrec::rules could not be decided"
		[ -z "${STRICT:-}" ] || status=1 ;;
	2)
		fail 2 "the rules are wrong: $(tail -n 1 "$dir/assert.err" | tr -d '\r\n%')"
		say "The rules are wrong; nothing was judged." ;;
	*)
		fail 1 "ebpfrec assert ended with status $judged"
		say "ebpfrec assert ended with status $judged." ;;
	esac
	rm -f "$dir/assert.err"
fi

if [ -n "${BASELINE:-}" ] && [ -d "$BASELINE" ]; then
	mapfile -t before < <(runs "$BASELINE")
	if [ ${#before[@]} -gt 0 ]; then
		say "### Compared with the baseline (A)"
		"$EBPFREC" diff --workload --exit-code --format markdown "${before[@]}" \
			--with "${traces[@]}" >"$dir/diff.md" 2>"$dir/diff.err"
		compared=$?
		cat "$dir/diff.md" >>"$summary"
		"$EBPFREC" diff --workload --format html "${before[@]}" --with "${traces[@]}" >"$dir/diff.html" 2>/dev/null
		say ""
		if [ $compared -gt 2 ]; then
			fail 1 "ebpfrec diff ended with status $compared"
		elif [ $compared -ne 0 ] && [ -s "$dir/diff.md" ]; then
			fail 1 "figures are worse than those of the baseline; the summary names them"
		elif [ $compared -ne 0 ]; then
			echo "::warning title=ebpfrec::the baseline could not be compared: $(tail -n 1 "$dir/diff.err" | tr -d '\r\n%')"
			[ -z "${STRICT:-}" ] || status=1
		fi
		rm -f "$dir/diff.err"
	fi
fi

say "## The last run"
"$EBPFREC" report -i "$last" --format markdown >>"$summary" 2>/dev/null
rm -f "$dir/run.zip" "$dir/page.html"
"$EBPFREC" bundle -i "$last" -o "$dir/run.zip" >&2 || echo "::warning title=ebpfrec::there is no bundle of the last run"
"$EBPFREC" export -q -i "$last" --to html -o "$dir/page.html" >&2 ||
	echo "::notice title=ebpfrec::there is no page of charts"
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || head -c 1000000 "$summary" >>"$GITHUB_STEP_SUMMARY"
[ $recorded -eq 0 ] || exit "$recorded"
exit $status
