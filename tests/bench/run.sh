#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# run.sh: the benchmark's own tests, part of the suite. bench_check.py (does it calculate and judge right?),
# and as root one case with two short rounds: is everything it writes there, well-formed, of one piece?
# No time is judged. Prints "ok NAME", "not ok NAME: what it saw", "SKIP NAME: why".
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export BUILD=${BUILD:-$top/build} LC_ALL=C
export BENCH_BIN=$BUILD/bench/bin
status=0
python3 "$here/bench_check.py" || status=1

if [ "$(id -u)" -ne 0 ]; then
	echo "SKIP a short run: recording needs root"
	exit $status
fi
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-bench-test.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT

check()
{
	if eval "$2"; then
		echo "ok $1"
	else
		echo "not ok $1: $(tr '\n' '/' <<<"$3" | tr -c '[:print:]' '?')"
		status=1
	fi
}

short_run()
{
	"$here/bench.sh" --quick --rounds 2 --only pingpong --sides none,ebpfrec,ftrace --out "$dir/out" "$@" \
		>"$dir/stdout" 2>"$dir/stderr"
}

"$BENCH_BIN/gen_trace_large" -n 1M "$dir/generated" >/dev/null &&
	"$BUILD/ebpfrec" check -i "$dir/generated" >"$dir/checked" 2>&1
rc=$?
check "a generated trace is a valid one" "[ $rc -eq 0 ]" "$(tail -n 3 "$dir/checked")"
rm -rf "$dir/generated"

# Fixed cost: a tool that keeps the workload waiting, and runs for a while after it.
printf '%s\n' '#!/bin/sh' '[ "$1" = version ] && exit' 'while [ "$1" != -- ]; do shift; done' shift 'sleep 0.3' '"$@"' \
	'sleep 0.6' >"$dir/perf"
mkdir "$dir/slow" && mv "$dir/perf" "$dir/slow/perf" && chmod +x "$dir/slow/perf"
PATH=$dir/slow:$PATH "$here/bench.sh" --quick --rounds 1 --only startstop --sides none,perf \
	--out "$dir/fixed" >"$dir/stdout" 2>"$dir/stderr"
check "what a tool takes to start and to stop is told apart" "awk -F, '\$3 == \"perf\" { at[\$2] = \$6 }
	END { exit !(at[\"start_s\"] >= 0.3 && at[\"stop_s\"] >= 0.6 &&
		at[\"whole_s\"] >= at[\"start_s\"] + at[\"stop_s\"]) }' '$dir/fixed/results.csv'" \
	"$(cat "$dir/fixed/results.csv" "$dir/stderr" 2>&1 | tail -n 12)"

short_run
rc=$?
check "a short run ends well" "[ $rc -eq 0 ]" "status $rc: $(tail -n 5 "$dir/stderr")"
check "it first says how long it will take" "head -n 1 '$dir/stderr' | grep -q 'about [0-9]* minute'" \
	"$(head -n 1 "$dir/stderr")"
check "no run was lost" "[ ! -e '$dir/out/invalid.csv' ]" "$(cat "$dir/out/invalid.csv" 2>/dev/null)"
check "what is printed is kept" "cmp -s '$dir/stdout' '$dir/out/report.txt'" \
	"$(diff "$dir/stdout" "$dir/out/report.txt" | head -n 3)"
python3 "$here/quick_results.py" "$dir/out" || status=1
"$here/compare" --partial "$dir/out" "$dir/out" >"$dir/compare"
rc=$?
check "a run compared with itself has nothing worse" "[ $rc -eq 0 ]" "$(cat "$dir/compare")"

# Interrupted in its second round, and continued.
slow_run=(env "PATH=$dir/slow:$PATH" "$here/bench.sh" --quick --rounds 2 --only startstop --sides none,perf
	--out "$dir/slowly")
"${slow_run[@]}" >"$dir/stdout" 2>"$dir/stderr" &
while ! grep -q '^startstop,1$' "$dir/slowly/rounds" 2>/dev/null && kill -0 $!; do sleep 0.1; done
kill -TERM $!
wait $!
rc=$?
check "an interrupted run says so" "[ $rc -eq 130 ] && grep -q 'interrupted' '$dir/stderr'" \
	"$rc: $(tail -n 3 "$dir/stderr")"
check "and reports what it has" \
	"grep -q '^startstop: whole_s' '$dir/stdout' && cmp -s '$dir/stdout' '$dir/slowly/report.txt'" \
	"$(tail -n 5 "$dir/stdout")"
first=$(sed -n '/,[01],[01],/p' "$dir/slowly/samples.csv" | md5sum)
"${slow_run[@]}" --continue >"$dir/stdout" 2>"$dir/stderr"
rc=$?
check "a continued run ends well" "[ $rc -eq 0 ]" "$rc: $(tail -n 3 "$dir/stderr")"
check "it keeps complete rounds" "[ '$first' = '$(sed -n '/,[01],[01],/p' "$dir/slowly/samples.csv" | md5sum)' ]" \
	"$(cat "$dir/slowly/samples.csv")"
check "and has each of the others once" "[ \$(grep -c '^startstop,perf,whole_s,' '$dir/slowly/samples.csv') -eq 3 ]" \
	"$(cat "$dir/slowly/samples.csv")"
"${slow_run[@]}" --continue --sides none >"$dir/stdout" 2>"$dir/stderr"
rc=$?
check "other options do not continue it" "[ $rc -eq 2 ]" "$rc: $(tail -n 1 "$dir/stderr")"

# A bpftrace that fails.
mkdir "$dir/bin"
printf '#!/bin/sh\n[ "$1" = --version ] || exit 7\n' >"$dir/bin/bpftrace"
chmod +x "$dir/bin/bpftrace"
PATH=$dir/bin:$PATH "$here/bench.sh" --quick --rounds 1 --only getpid --sides none,bpf-simple \
	--out "$dir/bad" >"$dir/stdout" 2>"$dir/stderr"
rc=$?
check "a run with a tool that fails ends with 1" "[ $rc -eq 1 ]" "status $rc: $(tail -n 5 "$dir/stderr")"
check "what fails is no sample" \
	"[ \$(grep -c '^getpid,bpf-simple,[01],\"it failed, or' '$dir/bad/invalid.csv') -eq 2 ]" \
	"$(cat "$dir/bad/invalid.csv")"
check "the other sides are measured" "grep -q '^getpid,ns_per_call,none,ns,1,' '$dir/bad/results.csv'" \
	"$(head -n 3 "$dir/bad/results.csv")"
check "the report names the runs that were none" "grep -q '^Runs that were no sample: 2' '$dir/bad/report.txt'" \
	"$(grep -a 'no sample' "$dir/bad/report.txt")"

# A perf that never ends. It is alone, so that the limit may be short: nothing else has to be faster.
printf '#!/bin/sh\n[ "$1" = version ] || exec sleep 1000\n' >"$dir/bin/perf"
chmod +x "$dir/bin/perf"
PATH=$dir/bin:$PATH EBPFREC_BENCH_LIMIT_S=1 "$here/bench.sh" --quick --rounds 1 --only getpid --sides perf \
	--out "$dir/hung" >"$dir/stdout" 2>"$dir/stderr"
rc=$?
check "a run with a tool that hangs ends with 1" "[ $rc -eq 1 ]" "status $rc: $(tail -n 5 "$dir/stderr")"
check "what hangs is ended and no sample" \
	"[ \$(grep -c '^getpid,perf,[01],\"not done after 1 s' '$dir/hung/invalid.csv') -eq 2 ]" \
	"$(cat "$dir/hung/invalid.csv")"
exit $status
