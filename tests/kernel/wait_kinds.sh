#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A thread waits 150 ms each for a lock, a pipe, three sockets, an epoll, an eventfd, a terminal, a timer, a child, a
# thread's end, the lock of a file, and a poll of a pipe and of nothing. `report waits` has all of the time that the
# thread slept in a part as waits of that kind in that call: the times add up to the part's length, to the ns, and
# all time is of this kind, running, or a wait for a CPU. `report locks` names the lock by its variable,
# the thread that held it, and the sleep of that thread during the wait; so does `report why` in its first lines, which
# names pipes and sockets, too. SQL names the others: the eventfd and the epoll by their descriptors, the terminal by
# its path, the timer by its length, and child and thread by their ids. A condition variable and a semaphore are waits
# of kind condition, and locks whose calls resemble theirs are of kind lock: a PI mutex (value 0), a timed robust mutex
# and the readers of a lock that prefers writers (a value and CLOCK_REALTIME). Two waits are for locks of the kernel: a
# directory's, which a thread in getdents64 has, and a pipe's. Five waits end because their time is up:
# these and the sleeps are the timeouts.
. "$(dirname "$0")/harness.bash"

mkdir "$tmp/locked"
touch "$tmp/held" "$tmp/locked/file"
recorded kinds -- "$WORK/wait_kinds" "$tmp/held" "$tmp/locked"

"$EBPFREC" export -q -i "$tmp/kinds" --to html -o "$tmp/kinds.html" &&
	"$EBPFREC" export -q -i "$tmp/kinds" --to clickhouse --every 1s -o "$tmp/kinds.rows"
check "one answer: the page and rows for ClickHouse are written" "[ $? -eq 0 ]" "no"
if tp=$("$here/../perfetto/trace_processor.sh" 2>"$tmp/fetch.err"); then
	"$EBPFREC" export -q -i "$tmp/kinds" --to perfetto -o "$tmp/kinds.pftrace" &&
		node - "$here/../perfetto/trace_processor.mjs" "$tp" "$tmp/kinds.pftrace" >"$tmp/slices" <<'END'
const [module, dir, file] = process.argv.slice(2);
const start = "(SELECT min(ts) FROM slice WHERE name GLOB 'the window *')";
import(module).then((m) => m.openTrace(dir, file)).then((tp) => tp.query(`SELECT tid, s.ts - ${start} AS ts,
	s.ts + s.dur - ${start} AS until, state,
	blocked_function AS text FROM thread_state AS s JOIN thread USING (utid)`)).then((rows) => {
		console.log(JSON.stringify(rows, (k, v) => typeof v === "bigint" ? Number(v) : v));
		process.exit(0);
	});
END
	check "one answer: trace_processor reads the file for Perfetto" "[ $? -eq 0 ] && [ -s '$tmp/slices' ]" \
		"$(head -c 300 "$tmp/slices")"
else
	skip "kernel/wait_kinds: the file for Perfetto" "$(tail -n 1 "$tmp/fetch.err")"
fi

checker <"$here/wait_kinds.py"
