#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What leaves the program is what others can read: CSV for a strict parser and for gnuplot, SQLite for
# sqlite3 (integrity_check, same numbers as report), JSON for a parser; nothing overwritten unasked.
# Also of a trace that is being recorded.
. "$(dirname "$0")/harness.bash"

recorded mixed -- sh -c \
	"setsid -w nice -n -20 '$WORK/busy_threads' two 400 >/dev/null & '$WORK/touch_memory' 40 100 200 100 >/dev/null &
	dd if=/dev/zero of='$tmp/file' bs=64k count=100 conv=fsync 2>/dev/null; wait"
T=$tmp/mixed

"$EBPFREC" export -i "$T" --to csv -o "$tmp/csv" 2>"$tmp/csv.err" || not_ok "export csv" "$(cat "$tmp/csv.err")"
"$EBPFREC" export -i "$T" --to sqlite -o "$tmp/mixed.db" 2>"$tmp/db.err" ||
	not_ok "export sqlite" "$(cat "$tmp/db.err")"

check "export: refuses to overwrite a database with a part of it" \
	"! '$EBPFREC' export -i '$T' --to sqlite --from 100ms -o '$tmp/mixed.db' 2>/dev/null" "it overwrote"
"$EBPFREC" export -i "$T" --to sqlite -o "$tmp/mixed.db" 2>"$tmp/again.err" ||
	not_ok "export sqlite: again" "$(cat "$tmp/again.err")"
check "export: writes a database of the whole trace again" "cmp '$tmp/db.err' '$tmp/again.err'" \
	"$(cat "$tmp/again.err")"

# A disk that is too small for the database.
if mount_at "$tmp/small" -t tmpfs -o size=256k tmpfs 2>/dev/null; then
	"$EBPFREC" export -i "$T" --to sqlite -o "$tmp/small/x.db" 2>"$tmp/full.err"
	check "export sqlite: a full disk is an error that names it" \
		"[ $? -ne 0 ] && grep -q 'x.db.*no space left' '$tmp/full.err'" "$(cat "$tmp/full.err")"
	check "export sqlite: on a full disk nothing is left" "[ -z \"\$(ls '$tmp/small')\" ]" "$(ls -l "$tmp/small")"
else
	skip "export sqlite: a full disk" "tmpfs cannot be mounted here"
fi
check "export: refuses to overwrite a directory of CSV" \
	"! '$EBPFREC' export -i '$T' --to csv -o '$tmp/csv' 2>/dev/null" "it overwrote"
check "export: leaves nothing half-done beside the database" "[ \$(ls '$tmp' | grep -c '^mixed.db') -eq 1 ]" \
	"$(ls "$tmp")"
check "export sqlite: integrity_check is ok" "[ \"\$(sqlite3 '$tmp/mixed.db' 'PRAGMA integrity_check')\" = ok ]" \
	"$(sqlite3 "$tmp/mixed.db" 'PRAGMA integrity_check' 2>&1 | head -3)"
check "export sqlite: foreign keys hold" "[ -z \"\$(sqlite3 '$tmp/mixed.db' 'PRAGMA foreign_key_check')\" ]" \
	"$(sqlite3 "$tmp/mixed.db" 'PRAGMA foreign_key_check' 2>&1 | sort | uniq -c | sort -rn | head -3)"

# A typical plot: CPU of the busiest process over time.
"$EBPFREC" report -i "$T" cpu --every 20ms --comm busy_threads --format csv >"$tmp/cpu.csv"
gnuplot >"$tmp/gnuplot.err" 2>&1 <<END
set datafile separator comma
set terminal png size 640,400
set output "$tmp/cpu.png"
stats "$tmp/cpu.csv" using (column("t_ns")):(column("util_pct")) name "U" nooutput
set print "$tmp/stats"
print U_records, U_max_y
plot "$tmp/cpu.csv" using (column("t_ns")/1e9):(column("util_pct")) with steps title columnheader("comm")
END
check "export: gnuplot reads and plots the CSV" "[ \"\$(head -c 8 '$tmp/cpu.png' | od -An -tx1 |
	tr -d ' ')\" = 89504e470d0a1a0a ] && [ \$(stat -c %s '$tmp/cpu.png') -gt 1500 ]" "$(cat "$tmp/gnuplot.err")"
wanted=$(tr -d '\r' <"$tmp/cpu.csv" |
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "util_pct") at = i; next }
		$at > top { top = $at } END { print NR - 1, top }')
check "export: gnuplot saw the bins and the load" \
	"awk -v want='$wanted' '{ split(want, w, \" \"); exit !(\$1 == w[1] && \$1 >= 10 && \$2 - w[2] < 0.001 &&
	w[2] - \$2 < 0.001 && \$2 > 0 && \$2 <= 100 * \
	$(nproc --all)) }' '$tmp/stats'" "records, max %: $(cat "$tmp/stats" 2>&1), in the CSV $wanted"

checker <"$here/export_formats.py"

# ---- of a trace that is being recorded ----

# A trace is exported into a database repeatedly while it is recorded. Each export replaces the
# database. The last one is equal to a database of the finished trace, row for row.
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
