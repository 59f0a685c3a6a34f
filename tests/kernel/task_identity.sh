#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Identity is taken in the kernel: 200 programs that live for less than a millisecond within 2 s, 50 that
# rename themselves, all by name with parent and exit status; two processes with one pid stay two;
# everything that ran before the recording is known by name and parent. No tolerance.
#
# The user who runs a process chooses its name: escapes, newlines, quotes, formulas and invalid UTF-8 reach terminals,
# spreadsheets and parsers only as text. Also in notes, paths and arguments.
#
# Owners by their common names: containers, units, users, trees of processes. See the last section.
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

# ---- how threads are scheduled ----

# Policy, nice value, priority and allowed CPUs of threads, as the kernel has them in /proc and sched_getaffinity(2),
# and each change of one that leaves its CPU afterwards; also in a cut, in a redacted copy and after both. Exact.
fresh

cat >"$tmp/threads.py" <<'EOF_PY'
"""Threads that change how they are scheduled, and print what the kernel has of each after each change."""
import os, threading, time

cpus = sorted(os.sched_getaffinity(0))
steps = {  # by thread: changes, one after the other
    "plain": [],
    "nice": [lambda: os.setpriority(os.PRIO_PROCESS, 0, 10), lambda: os.setpriority(os.PRIO_PROCESS, 0, 3)],
    "batch": [lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))],
    "idle": [lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))],
    "fifo": [lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(7)),
             lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(3))],
    "pinned": [lambda: os.sched_setaffinity(0, cpus[:1]), lambda: os.sched_setaffinity(0, cpus[-1:]),
               lambda: os.sched_setaffinity(0, cpus)],
}

def show(name):
    tid = threading.get_native_id()
    with open("/proc/self/task/%d/stat" % tid) as f:
        stat = f.read().rpartition(")")[2].split()
    mask = sum(1 << cpu for cpu in os.sched_getaffinity(0))
    os.write(1, ("%s %d %s %s %s %d\n" % (name, tid, stat[38], stat[16], stat[37], mask)).encode())

def run(name):
    show(name)
    for step in steps[name]:
        time.sleep(0.02)
        step()
        time.sleep(0.02)
        show(name)

threads = [threading.Thread(target=run, args=(name,)) for name in steps]
for t in threads:
    t.start()
for t in threads:
    t.join()
EOF_PY
recorded t -e task,sched -- /usr/bin/python3 "$tmp/threads.py"
"$EBPFREC" cut -i "$tmp/t" -o "$tmp/whole" >"$tmp/cut.out" 2>&1
"$EBPFREC" redact -i "$tmp/t" -o "$tmp/redacted" >"$tmp/redact.out" 2>&1

checker <<'EOF_PY'
from trace_query import *
policies = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle"}
truth, tids = {}, {}
for line in open(tmp + "/t.out"):
    name, tid, policy, nice, priority, mask = line.split()
    tids[name] = int(tid)
    row = policies[int(policy)], int(nice), int(priority) or "", bin(int(mask)).count("1"), int(mask)
    if truth.setdefault(name, [None])[-1] != row:
        truth[name].append(row)
truth = {name: rows[1:] for name, rows in truth.items()}
check("workload: six threads changed at least six times", len(truth) == 6 and sum(map(len, truth.values())) >= 12,
      truth)


def facts(trace, table, tid, more=""):
    columns = ", ".join("x.%s AS %s" % (c, c) for c in ("policy", "nice", "rt_priority", "allowed_cpus", "cpu_mask"))
    return [tuple(r.values()) for r in Trace(tmp + "/" + trace).sql(
        "SELECT %s FROM %s AS x JOIN threads AS t USING (utid) WHERE t.tid = %d %s" % (columns, table, tid, more))]


def steps(trace, tid):
    return facts(trace, "task_events", tid, "AND type IN ('new', 'snap', 'sched') ORDER BY ts_ns")


for trace in "t", "whole", "redacted":
    wrong = {who: (steps(trace, tid), truth[who]) for who, tid in tids.items() if steps(trace, tid) != truth[who]}
    check("%s: the states of each thread are the kernel's, in order" % trace, not wrong, wrong)
    wrong = {who: facts(trace, "threads", tid) for who, tid in tids.items()
             if facts(trace, "threads", tid) != truth[who][-1:]}
    check("%s: the last state of each thread is in `threads`" % trace, not wrong, wrong)

t = Trace(tmp + "/t")
first = t.one("SELECT min(ts_ns) FROM task_events JOIN threads AS t USING (utid) WHERE t.tid = %d AND type = 'sched'" %
              tids["nice"])
run("cut", "-i", tmp + "/t", "--from", "%dns" % (first + 1), "-o", tmp + "/part")
check("cut between two changes: begins with the state that holds there",
      steps("part", tids["nice"]) == truth["nice"][1:], (steps("part", tids["nice"]), truth["nice"]))
row = {r["tid"]: r for r in t.report("cpu", "--by", "thread", "--limit", "0")}
check("report cpu --by thread: policy and nice value",
      (row[tids["nice"]]["nice"], row[tids["fifo"]]["policy"]) == (3, "rr"), [row[tid] for tid in tids.values()])
EOF_PY

# ---- owners by their common names ----

# Owners by their common names: known work in cgroups named as container managers and systemd name theirs, as
# other users, and in trees of processes. A burn prints the kernel's charge; the trace may have more (the
# start of the interpreter before, its end afterwards) but not less than that.
fresh

v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if ! mkdir "$v2/ebpfrec-who.slice" 2>/dev/null; then
	skip "who" "no cgroup v2 hierarchy that this user may change"
	exit 0
fi
export top_group=$v2/ebpfrec-who.slice
undo+=('find "$top_group" -depth -type d -exec rmdir {} +')
id=$(printf '0123456789abcdef%.0s' 1 2 3 4)
id2=$(printf 'fedcba9876543210%.0s' 1 2 3 4)
pod=11112222_3333_4444_5555_666677778888
groups=("docker-$id.scope" "docker/$id2" "libpod-$id.scope" \
	"kubepods.slice/kubepods-pod$pod.slice/cri-containerd-$id.scope"
	"kubepods/burstable/pod${pod//_/-}/$id2" "lxc.payload.web" "ssh-who.service" \
		"user-1000.slice/user@1000.service/app.slice/app-x.service")
for group in "${groups[@]}"; do
	mkdir -p "$top_group/$group" || exit 1
done

# An interpreter that every user may run, and that is not a script.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
cat >"$tmp/burn" <<'EOF_PY'
import os, sys, time
ms = int(sys.argv[1])
if len(sys.argv) > 2:  # as a server does: another user, without an exec
    os.setuid(int(sys.argv[2]))
start = time.process_time_ns()
while time.process_time_ns() - start < ms * 1000000:
    pass
print(os.getpid(), time.process_time_ns() - start, flush=True)
EOF_PY
cat >"$tmp/workload" <<'EOF_SH'
for i in "${!groups[@]}"; do
	(echo "$BASHPID" >"$top_group/${groups[i]}/cgroup.procs" && exec python3 "$tmp/burn" $((20 + 10 * i))) | sed "s|^|$i |"
done >"$tmp/in_groups"
setpriv --reuid 65534 --clear-groups python3 "$tmp/burn" 50 >"$tmp/nobody"
python3 "$tmp/burn" 60 65534 >"$tmp/later_nobody"
setpriv --reuid 54321 --clear-groups python3 "$tmp/burn" 40 >"$tmp/nameless"
# a tree: the burns of a shell's children and grandchildren
sh -c 'python3 "$tmp/burn" 30; sh -c "python3 \"\$tmp/burn\" 30; :"; :' >"$tmp/tree"
EOF_SH
chmod 755 "$tmp"
chmod 644 "$tmp/burn"
{ declare -p groups; cat "$tmp/workload"; } >"$tmp/script"
recorded t -e task,sched.switch -- bash "$tmp/script"
recorded u -e task,sched.switch -u nobody -- python3 "$tmp/burn" 30

checker <"$here/owners.py"

"$EBPFREC" bundle -i "$tmp/u" -o "$tmp/u.zip" --show-strings >"$tmp/strings" 2>"$tmp/strings.err"
check "bundle: lists the users that it discloses" "grep -q '^user names: nobody' '$tmp/strings'" \
	"$(cat "$tmp/strings.err")"

# ---- the same for Prometheus: of a running recording, and of the finished one ----

# Each burn runs once before the counting begins, and then again: its known name then has a label from the beginning.
{ declare -p groups; cat "$tmp/workload"; until_released again; cat "$tmp/workload"; } >"$tmp/twice"
hold again
start_recorder m -a -e light -- bash "$tmp/twice"
wait_for "the first round" 60 "'$EBPFREC' metrics -i '$tmp/m' --once --by user 2>/dev/null | grep -q 'user=\"54321\"'" \
	||
	{ not_ok "who: metrics of the first round" \
		"$("$EBPFREC" metrics -i "$tmp/m" --once --by user 2>&1 | head -n 3)"; exit 1; }
counting=()
for by in unit container user; do
	mkdir "$tmp/by_$by"
	"$EBPFREC" metrics -i "$tmp/m" --textfile "$tmp/by_$by" --interval 1s --by $by --top 100 2>"$tmp/by_$by.err" &
	counting+=($!)
	wait_for "metrics by $by" 60 "grep -qs '^ebpfrec_trace_end_monotonic' '$tmp/by_$by/ebpfrec.prom'"
	cp "$tmp/by_$by/ebpfrec.prom" "$tmp/first_$by"
done
release again
wait $recorder
for by in unit container user; do
	wait_for "the end of metrics by $by" 60 "grep -q '^ebpfrec_recording 0' '$tmp/by_$by/ebpfrec.prom'"
	"$EBPFREC" metrics -i "$tmp/m" --once --by $by --top 100 >"$tmp/once_$by"
done
kill -TERM "${counting[@]}"
wait "${counting[@]}"
check "who: metrics end when told to" "[ $? -eq 0 ]" "$(cat "$tmp"/by_*.err)"
checker <"$here/owners_metrics.py"
