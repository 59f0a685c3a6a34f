#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Stacks in what other commands make of a trace: a bundle says which names they disclose, a repaired trace has those of the
# intact blocks, an export has all of them, several traces keep them apart, and to diff they are no change.
. "$(dirname "$0")/../kernel/harness.bash"

cd "$tmp" || exit 1
prog=$WORK/heap_sites
# blocks are at most a second: each program has one to itself
run="'$prog' leak; sleep 1.3; '$prog' leak; sleep 1.3; '$prog' leak"
recorded with -e alloc.heap,alloc.slab,alloc.page,alloc.rss,task --only --stacks 1/1 -- sh -c "$run"
recorded without -e alloc.heap,alloc.slab,alloc.page,alloc.rss,task --only -- sh -c "$run"

# ---- bundle ----
"$EBPFREC" bundle -i with -o with.zip --show-strings >strings 2>said
check "stack copies: a bundle" "[ $? -eq 0 ]" "$(cat said)"
for line in 'functions: burst_outer' 'functions: touch_gamma' "paths: $(readlink -f "$prog")" "build ids: $(readelf -n "$prog" | sed -n 's/.*Build ID: //p')"; do
	check "stack copies: a bundle lists ${line%%:*} of stacks" "grep -qxF '$line' strings" "$line: $(grep "^${line%%:*}" strings | head -n 3)"
done
check "stack copies: and counts them" "grep -q 'functions  *[1-9]' said && grep -q 'build ids  *[1-9]' said" "$(cat said)"
"$EBPFREC" bundle -i with -o gone.zip --redact --show-strings >strings 2>said
check "stack copies: a redacted one has pseudonyms for them" "[ $? -eq 0 ] && grep -q 'functions  *0$' said && ! grep -q ': fn-\|burst_outer\|heap_sites' strings" "$(cat said)"
unzip -q -j -d gone gone.zip
for word in burst_outer touch_gamma heap_sites "$(readelf -n "$prog" | sed -n 's/.*Build ID: //p')"; do
	"$EBPFREC" sql -i gone --format csv "SELECT DISTINCT stack_text(stack, ts_ns) FROM stack_samples" >texts
	"$EBPFREC" export -i gone --to csv -o gone.csv >/dev/null 2>&1
	check "stack copies: $word is in no text of a redacted trace" "[ -s texts ] && ! grep -rqF '$word' texts gone.csv" "$(grep -rF "$word" texts gone.csv | head -n 2)"
	rm -rf gone.csv
done
check "stack copies: kernel functions stay" "grep -q do_syscall_64 texts || grep -q el0 texts" "$(head -n 2 texts)"
for view in stacks leaks "spikes --spike-min 8MiB"; do
	# shellcheck disable=SC2086
	"$EBPFREC" report -i with $view --format csv >a 2>/dev/null
	# shellcheck disable=SC2086
	"$EBPFREC" report -i with.zip $view --format csv >b 2>/dev/null
	check "stack copies: ${view%% *} of a bundle is the trace's" "[ \$(wc -l <a) -gt 1 ] && cmp -s a b" "$(diff a b | head -n 3)"
done

# ---- repair ----
cp -r with hole
read -r file at bytes from to < <("$EBPFREC" sql -i with --format csv \
	"SELECT b.file, b.offset_bytes, b.bytes, b.from_ns, b.to_ns FROM blocks AS b, (SELECT ts_ns FROM heap_allocs WHERE bytes = 7001
	 ORDER BY ts_ns LIMIT 1 OFFSET 75) AS x WHERE x.ts_ns >= b.from_ns AND x.ts_ns < b.to_ns" | tail -n 1 | tr -d '\r' | tr , ' ')
head -c $((bytes - 64)) /dev/urandom | dd of="hole/$file" bs=1 seek=$((at + 32)) conv=notrunc 2>/dev/null
"$EBPFREC" repair -i hole -o mended >out 2>&1
check "stack copies: repair" "[ $? -le 1 ] && '$EBPFREC' check -i mended >>out 2>&1" "$(cat out)"
export from to

# ---- export ----
"$EBPFREC" export -i with --to sqlite -o with.db >out 2>&1 && "$EBPFREC" export -i with --to csv -o csv >>out 2>&1
check "stack copies: export" "[ $? -eq 0 ]" "$(cat out)"
for table in stack_samples stack_frames user_sites allocations; do
	"$EBPFREC" sql -i with --format csv "SELECT * FROM $table" | tail -n +2 | tr -d '\r' | sort >a
	tail -n +2 csv/$table.csv | tr -d '\r' | sort >b
	check "stack copies: $table as CSV has every row" "[ \$(wc -l <a) -gt 10 ] && cmp -s a b" "$(diff a b | head -n 3)"
done

# ---- several, and two ----
"$EBPFREC" report stacks -i with -i without -i with.zip --format csv >several 2>out
check "stack copies: several traces" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" report stacks -i with -i without --format folded >/dev/null 2>out
check "stack copies: several are not folded" "[ $? -eq 2 ] && grep -q 'of one trace' out" "$(cat out)"
"$EBPFREC" diff with with.zip --format csv >a 2>out
check "stack copies: diff with its bundle is no change" "[ $? -eq 0 ] && ! grep -qv ',same,\|verdict' a" "$(cat out; grep -v ',same,' a | head -n 3)"
"$EBPFREC" diff without with >a 2>out
check "stack copies: diff of a trace without and one with" "[ $? -le 1 ] && [ -s a ]" "$(cat out)"

checker <<'EOF_PY'
import csv
import sqlite3
from trace_query import *
good, mended, hole = Trace("with"), Trace("mended"), Trace("hole")
lo, hi = int(os.environ["from"]), int(os.environ["to"])
SAMPLES = ("SELECT s.ts_ns, s.cpu, s.source, s.addr, s.bytes, stack_text(s.stack, s.ts_ns) AS text FROM stack_samples AS s %s ORDER BY 1, 2, 3, 4")
want = good.sql(SAMPLES % ("WHERE NOT (s.ts_ns >= %d AND s.ts_ns < %d)" % (lo, hi)))
check("stack copies: there is something on both sides of the hole", len([r for r in want if r["ts_ns"] < lo]) > 100 and len([r for r in want if r["ts_ns"] >= hi]) > 100,
      (lo, hi, len(want)))
for name, t in ("repaired", mended), ("damaged", hole):
    # the repaired trace may begin later, if its first block were the damaged one
    got = t.sql(SAMPLES % "")
    check("stack copies: a %s trace has the stacks of all intact blocks, and their names" % name, got == want, (len(got), len(want), [pair for pair in zip(want, got) if pair[0] != pair[1]][:1]))
# what begins to be on record behind the hole was on record before it: the names were told again
after = [r for r in want if r["ts_ns"] >= hi and r["text"].endswith("main;burst_outer;burst_beta")]
check("stack copies: with the program's functions behind the hole", len(after) >= 2000 or good.one("SELECT coalesce(sum(lost_cnt), 0) FROM losses"), len(after))

db = sqlite3.connect("with.db")
check("stack copies: the database is sound", db.execute("PRAGMA integrity_check").fetchone() == ("ok",), "integrity_check")
for table in "stack_samples", "stack_frames", "user_sites":
    a = sorted(map(str, db.execute("SELECT count(*), min(stack), max(stack) FROM %s" % table if "stack" in table else "SELECT count(*), count(symbol), count(build_id) FROM user_sites")))
    b = sorted(str(tuple(r.values())) for r in good.sql("SELECT count(*) AS n, min(stack) AS s, max(stack) AS m FROM %s" % table if "stack" in table
                                                           else "SELECT count(*) AS n, count(symbol) AS s, count(build_id) AS m FROM user_sites"))
    check("stack copies: %s in SQLite" % table, a == b and not a[0].startswith("(0"), (a, b))
a = db.execute("SELECT count(*), count(stack), count(DISTINCT stack) FROM allocations").fetchone()
b = tuple(good.sql("SELECT count(*) AS n, count(stack) AS s, count(DISTINCT stack) AS d FROM allocations")[0].values())
check("stack copies: allocations know theirs in SQLite too", a == b and a[1] > 0, (a, b))
a = db.execute("""SELECT count(*) FROM allocations AS a JOIN stack_frames AS f ON f.stack = a.stack AND f.nth = 0
                    JOIN user_sites AS u ON u.upid = f.upid AND u.addr = f.addr WHERE u.symbol = 'leak_alpha' AND a.bytes = 7001""").fetchone()[0]
# a program that ended before its file could be opened has no names, and this is said
exited = db.execute("""SELECT count(*) FROM allocations AS a JOIN stack_frames AS f ON f.stack = a.stack AND f.nth = 0
                         JOIN user_sites AS u ON u.upid = f.upid AND u.addr = f.addr WHERE u.unresolved = 'exited' AND a.bytes = 7001""").fetchone()[0]
check("stack copies: plain SQL finds the leak by its innermost frame", a == 150 - exited or good.one("SELECT coalesce(sum(lost_cnt), 0) FROM losses"), a)

rows = rows_of(open("several", newline="").read())
alone = {k: v for k, v in (("with", good.report("stacks")),)}
hosts = list(dict.fromkeys(r["host"] for r in rows))
check("stack copies: those with stacks, each under its own name", len(hosts) == 2, hosts)
for h in hosts:
    got = [{k: v for k, v in r.items() if k != "host"} for r in rows if r["host"] == h]
    check("stack copies: of several traces each has its own", got == alone["with"], (len(got), len(alone["with"])))
EOF_PY
