#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# run.sh: is schema/FORMAT.md enough to read a trace? second_reader.py was written from it alone; what
# it decodes must be what `ebpfrec sql` says, row for row and in order: of the golden traces (whole, not closed,
# with waits that are hard to tell, damaged), and as root of a short real recording. What it adds up from these rows
# by itself (time on CPUs, waits for them, bytes allocated, each by thread) must be what `ebpfrec report` says.
# Prints "ok NAME", "not ok NAME: what it saw", "SKIP NAME: why".
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
EBPFREC=${EBPFREC:-$build/ebpfrec}
dir=$(mktemp -d "${TMPDIR:-/tmp}/ebpfrec-format.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
status=0
export LC_ALL=C TZ=UTC
unset EBPFREC_TRACE

fail()
{
	printf 'not ok %s: %s\n' "$1" "$2"
	status=1
}

# same NAME WANTED GOT: the first line that differs
same()
{
	local n

	if cmp -s "$2" "$3"; then
		echo "ok $1 ($(($(wc -l <"$2"))) rows)"
		return
	fi
	n=$(cmp "$2" "$3" 2>&1 | sed -n 's/.* line \([0-9]*\).*/\1/p')
	n=${n:-1}
	fail "$1" "line $n: sql says \"$(sed -n "${n}p" "$2")\",
		the second reader \"$(sed -n "${n}p" "$3")\" ($(wc -l <"$2") and $(wc -l <"$3") lines)"
}

# Every kind: KIND TABLE FLAG COLUMNS, as schema/events/ declares them
awk -f "$top/schema/events.awk" -v out=tests "$top"/schema/events/*.event >"$dir/kinds" ||
	fail kinds "events.awk failed"

if changed=$("$top/schema/documents.sh" --check); then
	echo "ok documents are what schema/events/ makes of them"
else
	fail documents "$(head -n 1 <<<"$changed")"
fi

# table NAME TRACE KIND TABLE FLAG COLUMNS: FLAG is the SQL column of a bit of flags
table()
{
	local name=$1/$4 trace=$2 bit=1

	[ "$5" = preempted ] && bit=2
	if ! "$EBPFREC" sql -i "$trace" --format csv "SELECT ts_ns, cpu, $5, utid, $6 FROM $4" 2>"$dir/err" |
		tail -n +2 >"$dir/want"; then
		fail "$name" "sql: $(head -n 1 "$dir/err")"
		return
	fi
	# A bit of flags as 0 or 1: what the tables show of it.
	tail -n +2 "$dir/out/$3.csv" | awk -F, -v OFS=, -v bit=$bit '{ $3 = int($3 / bit) % 2; print }' >"$dir/got"
	same "$name" "$dir/want" "$dir/got"
}

# by_tid VIEW COLUMN...: "tid,sum of the columns" of report's rows on threads
by_tid()
{
	local view=$1

	shift
	"$EBPFREC" report "$view" -i "$trace" --by thread --with-recorder --format csv 2>/dev/null | python3 -c '
import collections, csv, sys
sums = collections.Counter()
for row in csv.DictReader(sys.stdin):
    if row["tid"] not in ("", "0") and row.get("source") != "vm":
        sums[row["tid"]] += sum(int(row[column]) for column in sys.argv[1:])
for tid, ns in sums.items():
    if ns:
        print(tid, ns, sep=",")' "$@" | sort
}

# sums NAME COLUMN VIEW COLUMN...: what the second reader adds up itself, in the COLUMN-th of sums.csv, is the report's
sums()
{
	local name=$1 column=$2

	shift 2
	by_tid "$@" >"$dir/want"
	awk -F, -v OFS=, -v column="$column" \
		'{ sum[$1] += $column } END { for (tid in sum) if (sum[tid]) printf "%s,%.0f\n", tid, sum[tid] }' \
		"$dir/out/sums.csv" | sort >"$dir/got"
	same "$name" "$dir/want" "$dir/got"
}

compare()
{
	local name=$1 trace=$2

	rm -rf "$dir/out"
	mkdir "$dir/out"
	if ! python3 "$here/second_reader.py" "$trace" "$dir/out" 2>"$dir/err"; then
		fail "$name" "second reader: $(tail -n 1 "$dir/err")"
		return
	fi
	if [ "$3" = whole ] && [ -s "$dir/err" ]; then
		fail "$name" "$(head -n 1 "$dir/err")"
	fi
	while read -r kind sql_table flag columns; do
		table "$name" "$trace" "$kind" "$sql_table" "$flag" "$columns"
	done <"$dir/kinds"
	"$EBPFREC" sql -i "$trace" --format csv \
		'SELECT utid, upid, tid FROM threads WHERE utid >= 16 ORDER BY utid' 2>/dev/null | tail -n +2 >"$dir/want"
	cut -d, -f1-3 "$dir/out/threads.csv" >"$dir/got"
	same "$name/threads" "$dir/want" "$dir/got"
	"$EBPFREC" sql -i "$trace" --format csv \
		'SELECT upid, pid, ppid, uid FROM processes WHERE upid >= 16 ORDER BY upid' 2>/dev/null |
			tail -n +2 >"$dir/want"
	cut -d, -f1-4 "$dir/out/processes.csv" >"$dir/got"
	same "$name/processes" "$dir/want" "$dir/got"
	sums "$name/time on CPUs by thread" 2 cpu oncpu_ns
	sums "$name/bytes allocated by thread" 4 alloc alloc_bytes
	# Where blocks are missing, nobody knows who waited; what a cut carries over is not read here.
	if [ "${4:-}" = waits ]; then
		sums "$name/waits for CPUs by thread" 3 sched wait_ns
		sums "$name/states of waits by thread" 3 states runnable_ns preempted_ns
	fi
}

# Nothing swaps bytes, so a compiler for a big-endian machine must not get through. CC may have words: ccache gcc.
read -ra cc <<<"${CC:-cc}"
if printf '#undef __BYTE_ORDER__\n#define __BYTE_ORDER__ __ORDER_BIG_ENDIAN__\n#include "format/chunk.h"\n' |
	"${cc[@]}" -w -I"$here/../../src" -fsyntax-only -x c - 2>"$dir/err"; then
	fail "big-endian" "it compiles"
elif ! grep -q 'traces are little-endian' "$dir/err"; then
	fail "big-endian" "refused for another reason: $(head -n 1 "$dir/err")"
else
	echo "ok big-endian machines are refused when it is built"
fi

set -o pipefail
for how in whole open lost waits damaged; do
	arg=$how
	[ $how = whole ] && arg=
	if ! "$build/tests/cli/gen_golden" "$dir/$how.ebpfrec" ${arg:+"$arg"} >"$dir/err" 2>&1; then
		fail "golden-$how" "gen_golden: $(head -n 1 "$dir/err")"
		continue
	fi
	waits=waits
	[ $how = damaged ] && waits=
	compare "golden-$how" "$dir/$how.ebpfrec" $how $waits
done
# Threads that come and go unseen, also some that a CPU already had
for seed in 1 3 5; do
	if "$build/tests/cli/gen_doubtful" chaotic "$dir/chaos$seed.ebpfrec" $seed >"$dir/err" 2>&1; then
		trace=$dir/chaos$seed.ebpfrec
		rm -rf "$dir/out"
		mkdir "$dir/out"
		python3 "$here/second_reader.py" "$trace" "$dir/out" 2>/dev/null
		sums "chaos-$seed/time on CPUs by thread" 2 cpu oncpu_ns
	else
		fail "chaos-$seed" "gen_doubtful: $(head -n 1 "$dir/err")"
	fi
done
# The waits that gen_golden.c explains, in ns; the second reader agrees with them above.
printf '%s\n' 100,10000000 101,30000000 102,100000000 103,100000000 104,1010000000 >"$dir/want"
trace=$dir/waits.ebpfrec
by_tid sched wait_ns >"$dir/got"
same "waits that are hard to tell" "$dir/want" "$dir/got"
# What was carried over from before the window is no event of the cut.
if "$EBPFREC" cut -i "$dir/whole.ebpfrec" --from 1ms --to -1ms -o "$dir/cut.ebpfrec" 2>"$dir/err"; then
	compare golden-cut "$dir/cut.ebpfrec" whole
else
	fail golden-cut "cut: $(head -n 1 "$dir/err")"
fi

sed -i s/^state=/rtate=/ "$dir/cut.ebpfrec/manifest"	# one bit
if python3 "$here/second_reader.py" "$dir/cut.ebpfrec" "$dir/out" 2>&1 |
	grep -q 'manifest: does not match its checksum'; then
	echo "ok a manifest of which a bit is flipped does not match its checksum"
else
	fail manifest "the second reader does not say that a bit of it is flipped"
fi

if [ "${FORMAT_REAL:-1}" = 0 ]; then
	echo "SKIP real: FORMAT_REAL=0 leaves the recording out"
elif [ "$(id -u)" -ne 0 ]; then
	echo "SKIP real: recording needs root"
elif ! timeout -k 5 300 "$EBPFREC" record -q -o "$dir/real.ebpfrec" -- \
	sh -c 'ls -R /usr/share/doc; sleep 1' >/dev/null 2>"$dir/err"; then
	echo "SKIP real: this machine cannot record: $(head -n 1 "$dir/err")"
else
	# Long enough for more than one block.
	before=$status
	compare real "$dir/real.ebpfrec" whole waits
	if [ $before -ne $status ]; then	# what was recorded is not recorded again
		rm -rf "$build/format-differs.ebpfrec"
		cp -r "$dir/real.ebpfrec" "$build/format-differs.ebpfrec" && echo "# kept: $build/format-differs.ebpfrec"
	fi
	if "$EBPFREC" cut -i "$dir/real.ebpfrec" --from 0.3s --to -0.3s -o "$dir/real-cut.ebpfrec" 2>"$dir/err"; then
		compare real-cut "$dir/real-cut.ebpfrec" whole
	else
		fail real-cut "cut: $(head -n 1 "$dir/err")"
	fi
fi
exit $status
