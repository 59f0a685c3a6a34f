#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# `export --to perfetto`, read by Perfetto's own trace_processor: times of threads on CPUs, requests, rates, resident
# memory, stacks and tasks are those of `report`; over a whole trace, a window, lost events, threads that come and go,
# and odd names.
. "$(dirname "$0")/../kernel/harness.bash"

tp=$("$here/../perfetto/trace_processor.sh" 2>"$tmp/fetch.err") ||
	{ skip perfetto "$(tail -n 1 "$tmp/fetch.err")"; exit 0; }

# compare TRACE [FROM_NS UNTIL_NS]
compare()
{
	local trace=$1

	shift
	"$EBPFREC" export -q -f -i "$trace" --to perfetto -o "$tmp/x.pftrace" ${1:+--from "${1}ns" --to "${2}ns"} \
		2>"$tmp/export.err" ||
		{ not_ok "perfetto: export $*" "$(cat "$tmp/export.err")"; return; }
	node "$here/../perfetto/check.mjs" "$EBPFREC" "$tp" "$trace" "$tmp/x.pftrace" "$@" 2>"$tmp/node.err" |
		sed "s/perfetto, /perfetto: $(basename "$trace"): /" >"$tmp/verdicts"
	grep -q 'ok perfetto' "$tmp/verdicts" || not_ok "perfetto: trace_processor" "$(tail -n 3 "$tmp/node.err")"
	if grep '^not ok' "$tmp/verdicts"; then
		test_status=1
	fi
	grep '^ok' "$tmp/verdicts"
}

cat >"$tmp/work.py" <<'END'
import os, sys, threading, time

def nap():
    for _ in range(50):
        time.sleep(0.001)
        sum(range(2000))

for _ in range(60):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
# a process whose parent ends, so that it has another parent at the end of the recording, when it is still alive
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.05)
        os.execlp("sh", "sh", "-c", "sleep 4; :")
    os._exit(0)
os.wait()
threads = [threading.Thread(target=nap) for _ in range(20)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for name in (b"<img src=x>", b'a"b\n\x1b[31m', b"\xff\xfe"):
    if os.fork() == 0:
        with open("/proc/self/comm", "wb") as f:
            f.write(name)
        time.sleep(0.02)
        os._exit(0)
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(50):
    os.write(fd, bytes(65536))
    os.fsync(fd)
END
recorded whole --stacks 1/20 --offcpu 1ms -- python3 "$tmp/work.py" "$tmp/file"
compare "$tmp/whole"
compare "$tmp/whole" 50000000 90000000
# a thread has exited when the window begins, and leaves its CPU inside
from=$(sql_value whole "SELECT max(t.end_ns) + 1 FROM threads AS t WHERE t.end_ns > 0 AND
	EXISTS (SELECT 1 FROM switches AS s WHERE s.utid = t.utid AND s.ts_ns > t.end_ns + 1)")
compare "$tmp/whole" "$from" $((from + 10000000))
recorded lossy --stacks 1/20 --ring-size 32K -- python3 "$tmp/work.py" "$tmp/file"
compare "$tmp/lossy"

"$EBPFREC" export -q -i "$tmp/whole" --to perfetto -o "$tmp/x.pftrace" 2>"$tmp/again.err"
check "perfetto: a file that exists is not replaced without -f" \
	"[ $? -ne 0 ] && grep -q -- '-f replaces' '$tmp/again.err'" "$(cat "$tmp/again.err")"
