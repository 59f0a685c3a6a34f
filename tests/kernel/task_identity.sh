#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Identity is taken in the kernel: 200 programs that live for less than a millisecond within 2 s, 50 that
# rename themselves, all by name with parent and exit status; two processes with one pid stay two;
# everything that ran before the recording is known by name and parent. No tolerance.
#
# The user who runs a process chooses its name: escapes, newlines, quotes, formulas and invalid UTF-8 reach terminals,
# spreadsheets and parsers only as text. Also in notes, paths and arguments.
. "$(dirname "$0")/harness.bash"

mkdir "$tmp/bin"
cp /bin/dash "$tmp/bin/shell" 2>/dev/null || cp /bin/sh "$tmp/bin/shell"
for i in $(seq -f %03g 0 199); do
	ln "$tmp/bin/shell" "$tmp/bin/sl_$i"
done

# pid, parent and name of every process; names are any bytes
listing()
{
	python3 - "$1" <<-'END'
		import json, os, sys
		ret = {}
		for pid in filter(str.isdigit, os.listdir("/proc")):
		    try:
		        stat = open("/proc/%s/stat" % pid, errors="surrogateescape", newline="").read()
		    except OSError:
		        continue
		    ret[pid] = int(stat.rpartition(")")[2].split()[1]), stat.partition("(")[2].rpartition(")")[0]
		json.dump(ret, open(sys.argv[1], "w"))
	END
}

listing "$tmp/ps.before"
recorded exec -e task -- "$WORK/short_lived" exec "$tmp/bin" 200 2000
listing "$tmp/ps.after"
recorded odd -e sched --note "$(printf 'n=\033[31mred')" -- bash -c \
	"'$WORK/short_lived' rename 50 200 >'$tmp/rename.out'; '$WORK/odd_names' 40
		exec -a \"\$(printf '\033]0;owned\007=1+1')\" '$WORK/stamp' \"\$(printf 'arg\033[2J')\" >/dev/null"
record pids -e sched -- "$WORK/same_pid" 200 350
pids_status=$?
[ $pids_status -eq 0 ] || skip task_identity_pid_reuse \
	"the kernel did not give the same pid twice (status $pids_status)"

pids_status=$pids_status checker <"$here/task_identity.py"

# ---- odd names in all outputs ----

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
