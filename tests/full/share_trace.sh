#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A trace for a bug report, from end to end: record a mixed workload, cut a window, bundle it with pseudonyms below a
# size, and every view of the bundle has the numbers of the original's window, with one pseudonym for each name. Two
# recordings of the workload, the second with 10 % of a CPU burnt in one process more: diff points at it and at nothing
# else.
#
# Whether a figure has changed is the kernel's word (what wait4() tells of each process), not a quiet machine's: what
# another load makes of a process's CPU time is a change, and diff may say so when the kernel does.
# SHARE_SECONDS=20 records longer, and cuts 2 s.
. "$(dirname "$0")/../kernel/harness.bash"
seconds=${SHARE_SECONDS:-5}
export seconds

# run.py WORKER-PERCENT TRUTH: the workload; CPU time and blocks read and written of each role, as the kernel has them,
# to TRUTH
cat >"$tmp/run.py" <<'EOF_PY'
import json
import os
import resource
import sys
import threading
import time
percent, truth = sys.argv[1:]
work, tmp, s = os.environ["WORK"], os.environ["tmp"], int(os.environ["seconds"])
roles, children = {}, {}


def steal():
    """what the hypervisor took: in the trace it is time of whoever ran, to the scheduler it is not"""
    return int(open("/proc/stat").readline().split()[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


before = steal()


def start(role, *argv):
    null = os.open("/dev/null", os.O_WRONLY)
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1),
                                                                  (os.POSIX_SPAWN_DUP2, null, 2)])
    os.close(null)
    children[pid] = role


def wait():
    pid, status, usage = os.wait4(-1, 0)
    role = children.pop(pid)
    cpu, io = roles.get(role, (0, 0))
    roles[role] = cpu + int((usage.ru_utime + usage.ru_stime) * 1e9), io + usage.ru_inblock + usage.ru_oublock
    if status:
        sys.exit("%s: %d" % (role, status))


def take_turns(lock, over):
    """two threads that do so wait for one another's lock at any instant"""
    while not over.is_set():
        with lock:
            time.sleep(0.02)
        time.sleep(0.001)


lock, over = threading.Lock(), threading.Event()
turns = [threading.Thread(target=take_turns, args=(lock, over)) for _ in range(2)]
for thread in turns:
    thread.start()
start("duty[steady]", work + "/duty", "steady", "20", str(s))
start("duty[worker]", work + "/duty", "worker", percent, str(s))
start("pingpong", work + "/pingpong", str(3000 * s), "0", "process")
start("touch_memory", work + "/touch_memory", "60", str(s * 100), str(s * 400), "100")
start("direct_io", work + "/direct_io", tmp + "/direct", "write", "200", "65536", str(max(1, s // 5)))
for i in range(2 * s):
    start("dd", "/bin/dd", "if=/dev/zero", "of=%s/file.%d" % (tmp, i % 2), "bs=64k", "count=16", "conv=fsync")
    start("true", "/bin/true")
    if i == s + 1:
        start("touch_memory", work + "/touch_memory", "24", "20", "50", "0")
    start("sleep", "/bin/sleep", "0.4")
    while "sleep" in children.values():
        wait()
while children:
    wait()
over.set()
for thread in turns:
    thread.join()
roles["steal"] = steal() - before, 0
usage = resource.getrusage(resource.RUSAGE_SELF)
roles["python3"] = int((usage.ru_utime + usage.ru_stime) * 1e9), usage.ru_inblock + usage.ru_oublock
json.dump(roles, open(truth, "w"))
EOF_PY
# The recorder has the workload's weight: otherwise it starves beside it for a tenth of a second, and loses events.
# It also starves beside another load, for longer than the default rings hold: the effect of a loss on a part of a
# trace is not the subject of this test.
for run in before:5 after:15; do
	"${undisturbed[@]}" "$EBPFREC" record --ring-size 64MiB -o "$tmp/${run%:*}" -e sched,alloc,block,sched.irq \
		--stacks \
		256KiB --profile -- \
		python3 "$tmp/run.py" "${run#*:}" "$tmp/${run%:*}.truth" >"$tmp/${run%:*}.err" 2>&1 </dev/null ||
			{ not_ok "recording ${run%:*}" "$(cat "$tmp/${run%:*}.err")"; exit 1; }
	! grep 'costs more than it should' "$tmp/${run%:*}.err" || not_ok "recording ${run%:*}" "its programs were refused"
done

checker <"$top/tests/full/share_trace.py"
