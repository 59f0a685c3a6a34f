#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A trace is exported into a database repeatedly while it is recorded. Each export replaces the
# database. The last one is equal to a database of the finished trace, row for row.
. "$(dirname "$0")/../kernel/harness.bash"

hold growing
# only the workload's events, so that there are no more of them than there is work
start_recorder growing -e sched,block,alloc.page --only -- sh -c "'$WORK/pingpong' 2000 0 process >/dev/null &
	dd if=/dev/zero of='$tmp/file' bs=64k count=20 conv=fsync 2>/dev/null; wait; $(until_released growing)"

blocks()
{
	"$EBPFREC" sql -i "$tmp/growing" --format csv 'SELECT count(*) FROM blocks' 2>/dev/null | tail -n 1 | tr -d '\r'
}

# at every new block, or not for a long while: the result of the comparison does not depend on it
had=0 rounds=0
while [ $rounds -lt 4 ]; do
	wait_for "another block" 100 "[ \"\$(blocks)\" -gt $had ] 2>/dev/null" || break
	had=$(blocks)
	"$EBPFREC" export -q -i "$tmp/growing" --to sqlite -o "$tmp/grown.db" 2>"$tmp/round.err" ||
		not_ok "growing: round $rounds" "$(cat "$tmp/round.err")"
	rounds=$((rounds + 1))
done
release growing
wait $recorder
check "growing: exported while it was recorded" "[ $rounds -ge 2 ]" \
	"$rounds times, $had blocks; $(cat "$tmp/growing.err")"
"$EBPFREC" export -i "$tmp/growing" --to sqlite -o "$tmp/grown.db" 2>"$tmp/grown.err" ||
	not_ok "growing: the last time" "$(cat "$tmp/grown.err")"
"$EBPFREC" export -q -i "$tmp/growing" --to sqlite -o "$tmp/whole.db" || not_ok "growing: a new one"
for table in \
	$(sqlite3 "$tmp/whole.db" "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"); do
	sqlite3 "$tmp/grown.db" "ATTACH '$tmp/whole.db' AS whole;
		SELECT '$table', (SELECT count(*) FROM main.$table), (SELECT count(*) FROM whole.$table),
		       (SELECT count(*) FROM (SELECT * FROM main.$table EXCEPT SELECT * FROM whole.$table))"
done >"$tmp/tables"
check "growing: the rows are those of a new one" "awk -F '|' '\$2 != \$3 || \$4 { bad = 1 } END { exit bad ||
	NR < 30 }' '$tmp/tables'" "$(awk -F '|' '$2 != $3 || $4' "$tmp/tables")"
check "growing: there are some" "awk -F '|' '\$1 == \"switches\" { exit \$2 < 2000 }' '$tmp/tables'" \
	"$(grep switches "$tmp/tables")"
check "growing: the database is whole" "[ \"\$(sqlite3 '$tmp/grown.db' 'PRAGMA integrity_check')\" = ok ]" \
	"$(sqlite3 "$tmp/grown.db" 'PRAGMA integrity_check' 2>&1 | head -n 2)"
