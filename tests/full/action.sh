#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The script of the GitHub Action (.github/actions/record): a build whose command does more I/O than its rules and its
# baseline allow fails, and leaves what a person looks at.
. "$(dirname "$0")/../kernel/harness.bash"

action=$top/.github/actions/record/record.sh
cat >"$tmp/rules" <<'END'
# writes of the command
io --by comm comm=dd sum:ios <= 40
if-any: spikes bytes < 100GiB
END
build()
{
	local name=$1 writes=$2

	shift 2
	RUNS=8 RULES=$tmp/rules RECORD_OPTIONS=--only GITHUB_STEP_SUMMARY=$tmp/$name.summary env "$@" "$action" \
		"$tmp/$name" \
		-- \
		dd if=/dev/zero of="$tmp/file" bs=4k count="$writes" oflag=direct >"$tmp/$name.out" 2>"$tmp/$name.err"
}

build base 20
rc=$?
check "action: a build that keeps to its rules passes" "[ $rc -eq 0 ] && ! grep -q '^::error' '$tmp/base.out'" \
	"$rc: $(cat "$tmp/base.out" "$tmp/base.err" | tail -n 20)"
check "action: it leaves the runs, a summary in Markdown, a bundle and JUnit's XML" \
	"[ -d '$tmp/base/run.8' ] && grep -q '^| PASS ' '$tmp/base/summary.md' &&
		grep -q '^### CPU by name' '$tmp/base.summary' && [ -s '$tmp/base/run.zip' ] &&
		grep -q '<testsuite .*failures=\"0\"' '$tmp/base/junit.xml'" \
	"$(ls "$tmp/base"; head -n 20 "$tmp/base/summary.md")"
if grep -q 'built without the charts' "$tmp/base.err"; then
	skip "action: a page" "the program was built without the charts"
else
	check "action: a page" "[ -s '$tmp/base/page.html' ]" "$(cat "$tmp/base.err")"
fi

build worse 60 BASELINE="$tmp/base"
rc=$?
check "action: a build with more I/O than its rules allow fails" \
	"[ $rc -eq 1 ] && grep -q '^::error file=.*sum%3Aios' '$tmp/worse.out'" \
	"$rc: $(cat "$tmp/worse.out" "$tmp/worse.err" | tail -n 20)"
check "action: and names the figure that is worse than the baseline's" \
	"grep -q '^::error.*worse than those of the baseline' '$tmp/worse.out' &&
		grep -qE '^\| dd .* \| ios \| .* \| worse \|' '$tmp/worse.summary'" \
	"$(cat "$tmp/worse.out"; sed -n '/Compared/,/last run/p' "$tmp/worse.summary")"
check "action: and draws it" "grep -q '>dd zero<.*<svg' '$tmp/worse/diff.html'" "$(head -c 300 "$tmp/worse/diff.html")"
check "action: and attaches a bundle" "'$EBPFREC' report -i '$tmp/worse/run.zip' io >/dev/null" "$(ls -l "$tmp/worse")"
check "action: whose notes have the verdicts" "'$EBPFREC' info -i '$tmp/worse/run.zip' |
	grep -q 'note.assert.*FAIL: io'" "$('$EBPFREC' info -i "$tmp/worse/run.zip" | grep note)"

RUNS=2 "$action" "$tmp/failed" -- sh -c 'exit 3' >"$tmp/failed.out" 2>&1
rc=$?
check "action: a command that fails fails the build with its status" \
	"[ $rc -eq 3 ] && grep -q '^::error.*status 3' '$tmp/failed.out'" "$rc: $(cat "$tmp/failed.out")"
"$action" nothing >"$tmp/usage.out" 2>&1
rc=$?
check "action: without a command it says how it is used" "[ $rc -eq 2 ] && grep -q RUNS= '$tmp/usage.out'" "$rc"

# The action itself: its steps in order, with a fake sudo that runs its arguments, and a fake gh with one good
# run.
if ! python3 -c 'import yaml' 2>/dev/null; then
	skip "action: its steps" "there is no python3-yaml"
	exit 0
fi
steps()
{
	local name=$1 good_run=$2

	shift 2
	mkdir -p "$tmp/$name/bin"
	cat >"$tmp/$name/bin/sudo" <<'END'
#!/bin/bash
# sudo [--preserve-env=NAME,...] COMMAND...
kept=()
case $1 in
--preserve-env=*)
	for name in $(tr , ' ' <<<"${1#*=}"); do kept+=("$name=${!name-}"); done
	shift ;;
esac
exec env -i PATH="$PATH" "${kept[@]}" "$@"
END
	cat >"$tmp/$name/bin/gh" <<END
#!/bin/bash
[ "\$GH_TOKEN" = token ] || exit 1
case "\$*" in
"run list -R owner/name --workflow ci --branch main --status success --limit 1 "*) echo $good_run ;;
"run download $good_run -R owner/name -n ebpfrec -D "*) cp -r '$tmp/base' "\${@: -1}" ;;
*) echo "gh \$*: not expected" >&2; exit 1 ;;
esac
END
	chmod +x "$tmp/$name"/bin/*
	(cd "$tmp" &&
		python3 "$here/action_steps.py" "$top/.github/actions/record/action.yml" "$tmp/$name" ebpfrec="$EBPFREC" \
			rules=rules \
		baseline-branch=main "$@") >"$tmp/$name.out" 2>"$tmp/$name.err"
}

steps first "" runs=1 command="dd if=/dev/zero of=file bs=4k count=20 oflag=direct"
rc=$?
check "action: its steps pass without a baseline, and attach the run" \
	"[ $rc -eq 0 ] && [ -d '$tmp/first/artifact/run.1' ] && [ -s '$tmp/first/artifact/run.zip' ]" \
	"$rc: $(tail -n 20 "$tmp/first.out" "$tmp/first.err")"
steps second 4711 command="dd if=/dev/zero of=file bs=4k count=60 oflag=direct"
rc=$?
check "action: its steps fail a build with a planted regression, by rule and by baseline" \
	"[ $rc -eq 1 ] && grep -q '^::error file=rules.*sum%3Aios' '$tmp/second.out' &&
		grep -q '^::error.*worse than those of the baseline' '$tmp/second.out'" \
	"$rc: $(tail -n 20 "$tmp/second.out" "$tmp/second.err")"
for file in summary.md junit.xml run.zip diff.html page.html; do
	if [ $file = page.html ] && grep -q 'built without the charts' "$tmp/base.err"; then
		skip "action: attached: $file" "the program was built without the charts"
	else
		check "action: attached: $file" "[ -s '$tmp/second/artifact/$file' ]" "$(ls "$tmp/second/artifact")"
	fi
done
check "action: the job's summary names the rule and the figure" \
	"grep -q '^| FAIL ' '$tmp/second/summary' && grep -qE '^\| dd .* \| ios \| .* \| worse \|' '$tmp/second/summary'" \
	"$(head -n 40 "$tmp/second/summary")"
