#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The user who runs a process chooses its name: escapes, newlines, quotes, formulas and invalid
# UTF-8 reach terminals, spreadsheets and parsers only as text. Also in notes, paths and arguments.
. "$(dirname "$0")/harness.bash"

recorded odd -e sched --note "$(printf 'n=\033[31mred')" -- bash -c \
	"'$WORK/odd_names' 40
		exec -a \"\$(printf '\033]0;owned\007=1+1')\" '$WORK/stamp' \"\$(printf 'arg\033[2J')\" >/dev/null"

n=0
for view in summary cpu sched alloc spikes io latency loss cost; do
	for format in table csv json; do
		"$EBPFREC" report -i "$tmp/odd" $view --format $format --limit 0 >"$tmp/out.$view.$format" \
			2>"$tmp/err.$view.$format" ||
			not_ok "names: report $view --format $format runs" \
				"$(tail -2 "$tmp/err.$view.$format" | tr -c '[:print:]\n' '?')"
		n=$((n + 1))
	done
done
"$EBPFREC" report -i "$tmp/odd" cpu --every 100ms --by thread >"$tmp/out.every.table"
for format in table csv json; do
	"$EBPFREC" sql -i "$tmp/odd" --format $format 'SELECT pid, comm, exe, cmdline FROM processes' \
		>"$tmp/out.sql.$format" 2>&1
	"$EBPFREC" info -i "$tmp/odd" --format $format >"$tmp/out.info.$format" 2>&1
done
"$EBPFREC" check -i "$tmp/odd" >"$tmp/out.check.table" 2>&1
"$EBPFREC" export -i "$tmp/odd" --to csv -o "$tmp/csv" 2>/dev/null
for file in "$tmp"/csv/*.csv; do
	cp "$file" "$tmp/out.export-$(basename "$file" .csv).csv"
done
"$EBPFREC" export -i "$tmp/odd" --to sqlite -o "$tmp/odd.db" 2>/dev/null
for table in processes threads task_events names info block_requests; do
	sqlite3 "$tmp/odd.db" "SELECT * FROM $table" >"$tmp/out.db.$table"
done

checker <"$here/hostile_names.py"
