#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The trace has exactly the selected events: -e loads only the selected programs (checked with bpftool);
# --only, -p, --cgroup keep only those processes and mark the workload.
. "$(dirname "$0")/harness.bash"


loaded_with()
{
	rm -rf "$tmp"/sel*
	start_recorder "sel" -a -e "$1"
	programs_of $recorder >"$tmp/programs"
	kill -INT $recorder
	wait $recorder
	wait_for "programs are gone" 30 '! programs_are_loaded "$tmp/programs"'
	programs_are_loaded "$tmp/programs" && echo "STILL LOADED"
	cut -d' ' -f2 "$tmp/programs" | sort -u | tr '\n' ' '
}

sched=$(loaded_with sched)
check "-e sched: loads scheduler and identity programs" "[[ '$sched' == *sched_switch* && '$sched' == *exec* ]]" \
	"$sched"
check "-e sched: loads no allocation or block program" "! [[ '$sched' =~ kmalloc|kfree|cache|page|rss|rq_|io_ ]]" \
	"$sched"
switch=$(loaded_with sched.switch)
check "-e sched.switch: no wake-up program" "[[ '$switch' == *switch* ]] && ! [[ '$switch' =~ waking|wakeup ]]" \
	"$switch"
rss=$(loaded_with alloc.rss,block)
check "-e alloc.rss,block: loads these" "[[ '$rss' == *rss* && '$rss' == *rq_issue* ]]" "$rss"
check "-e alloc.rss,block: and not others" "! [[ '$rss' =~ kmalloc|kfree|cache_|page_|sched_switch ]]" "$rss"
check "-e: no program stays after the recorder" "! [[ '$sched$switch$rss' == *STILL* ]]" "$sched$switch$rss"

"$EBPFREC" record -e list >"$tmp/list" 2>&1
for source in sched.switch sched.wakeup sched.irq alloc.slab alloc.page alloc.rss alloc.vm alloc.heap block; do
	grep -q "$source" "$tmp/list" || missing="${missing:-} $source"
done
check "-e list: names every source" "[ -z '${missing:-}' ]" "without${missing:-}: $(cat "$tmp/list")"

# ---- sources that were not recorded are unknown ----

recorded rss -e alloc.rss -- sh -c "'$WORK/busy_threads' one 300"
recorded sched -e sched -- sleep 0.1
"$EBPFREC" cut -i "$tmp/sched" -e sched.wakeup -o "$tmp/left" 2>"$tmp/left.err" ||
	not_ok "-e: cut" "$(cat "$tmp/left.err")"
checker <<'EOF_PY'
from trace_query import *
tmp = os.environ["tmp"]


def heading(name, *args):
    return run("report", "-i", tmp + "/" + name, *args).splitlines()[0]


for name in ("rss", "left"):
    t = Trace(tmp + "/" + name)
    for args in ([], ["--by", "thread"], ["--by", "comm"], ["--by", "cpu"], ["--every", "100ms"]):
        rows = t.report("cpu", *args)
        known = [r for r in rows if r["complete"] or (r["oncpu_ns"] and r.get("comm") != "[unknown]")
                 or r.get("idle_ns") or r.get("other_ns")]
        check("-e: report cpu %s of %s, without sched.switch, claims nothing" % (" ".join(args), name), not known,
              known[:2])
    check("-e: the time of every CPU of %s is unknown" % name,
          t.one("SELECT coalesce(sum(oncpu_ns), 0) FROM cpu_usage WHERE utid != 1") == 0,
          t.sql("SELECT * FROM cpu_usage")[:3])
for name, args, word in (("rss", ["cpu"], "sched.switch was not recorded"),
                         ("rss", ["sched"], "sched.switch was not recorded; sched.wakeup"),
                         ("rss", ["timeline"], "sched.switch was not recorded"),
                         ("rss", ["io"], "block was not recorded"),
                         ("rss", ["irq"], "sched.irq was not recorded"),
                         ("rss", ["summary"], "sched.switch was not recorded; block"),
                         ("rss", ["totals"], "alloc.slab was not recorded"),
                         ("sched", ["memory"], "alloc.rss was not recorded"),
                         ("sched", ["alloc"], "alloc was not recorded"), ("left", ["cpu"], "sched.switch was off")):
    line = heading(name, *args)
    check("-e: report %s says that %s" % (args[0], word), "INCOMPLETE: " in line and word in line, line)
for name, args in (("rss", ["memory"]), ("rss", ["alloc"]), ("rss", ["loss"]), ("sched", ["cpu"]), ("sched", ["sched"]),
                   ("sched", ["loss"])):
    line = heading(name, *args)
    check("-e: report %s of %s needs nothing that was not recorded" % (args[0], name), "not recorded" not in line, line)
check("-e: totals of less than all are marked", [r["complete"] for n in ("rss", "sched")
                                                 for r in Trace(tmp + "/" + n).report("totals")] == [0, 0], "complete")
EOF_PY

# ---- --only ----

"$WORK/busy_threads" one 200000 >/dev/null &
outsider=$!
recorded only --only -- sh -c \
	"'$WORK/busy_threads' one 700; '$WORK/touch_memory' 50 50 100 50 >/dev/null
		'$WORK/direct_io' '$tmp/file' write 20 65536"
recorded all -- sh -c "'$WORK/busy_threads' one 300"
kill $outsider
wait $outsider 2>/dev/null

outsider=$outsider checker <<'EOF_PY'
from trace_query import *
tmp = os.environ["tmp"]
t = Trace(tmp + "/only")
w = truth(tmp + "/only.out")
outsider = int(os.environ["outsider"])
procs = t.sql("SELECT upid, pid, comm, is_workload, is_recorder FROM processes")
inside = {r["upid"] for r in procs if r["is_workload"]}
check("--only: the workload's tree is marked", {"sh", "busy_threads", "touch_memory",
                                                "direct_io"} <= {r["comm"] for r in procs if r["is_workload"]},
      sorted({str(r["comm"]) for r in procs if r["is_workload"]}))
check("--only: nothing else is", not [r for r in procs if r["pid"] == outsider and r["is_workload"]] and
      not [r for r in procs if r["is_recorder"] and r["is_workload"]], "outsider or recorder marked")
rows = t.report("cpu", "--by", "process")
strangers = [r for r in rows if isinstance(r["pid"], int) and r["pid"] > 0
             and r["pid"] not in {p["pid"] for p in procs if p["is_workload"]}]
check("--only: reports show the workload only", rows and not strangers, strangers[:3])
busy = [r for r in t.report("cpu", "--by", "thread") if r.get("tid") == w["tid_0"]]
slices = t.one("SELECT sum(dur_ns) FROM sched_slices WHERE utid = %d" % t.utid(w["tid_0"]))
check("--only: its CPU time is the sum of its slices", busy and 0 < slices == busy[0]["oncpu_ns"], (busy, slices))
n = t.one("SELECT count(*) FROM slab_allocs WHERE utid >= 16 AND irq = 0 AND utid NOT IN (SELECT utid FROM threads "
          "WHERE upid IN (%s))" % ",".join(map(str, inside)))
check("--only: no allocation of others", n == 0, n)
n = t.one("SELECT count(*) FROM switches WHERE utid NOT IN (SELECT utid FROM threads WHERE upid IN (%s)) AND "
          "next_utid NOT IN (SELECT utid FROM threads WHERE upid IN (%s))"
          % ((",".join(map(str, inside)),) * 2))
check("--only: every switch kept is from or to it", n == 0 and t.one("SELECT count(*) FROM switches") > 5, n)
# Wake-ups of other threads are kept if the workload made them; the later switches of these threads are not.
n = t.one("SELECT count(*) FROM wakeups WHERE target_utid NOT IN (SELECT utid FROM threads WHERE upid IN (%s))" %
          ",".join(map(str, inside)))
check("--only: it wakes others", n > 0, n)
known = {r["utid"]: r for r in t.sql("SELECT * FROM thread_states(0, 1 << 62, 0, 'thread')")}
others = t.sql("SELECT t.*, p.comm AS process, p.ppid FROM threads AS t LEFT JOIN processes AS p USING (upid) WHERE "
               "utid IN (%s) AND NOT (coalesce(p.is_workload, 0) OR coalesce(p.is_recorder, 0))" %
               ",".join(map(str, known)))
check("--only: states of others are not made up", not others and len(known) >= 4,
      [(r, known[r["utid"]]) for r in others])
rows = [r for r in t.report("alloc", "--by", "process") if r["comm"] == "touch_memory" and r["source"] == "rss"]
check("--only: its memory is there", rows and rows[0]["peak_bytes"] >= 50 << 20, rows)
rows = [r for r in t.report("io", "--by", "process") if r["comm"] == "direct_io" and r["op"] == "write"]
check("--only: its I/O is there", rows and sum(r["ios"] for r in rows) >= 20
      and sum(r["bytes"] for r in rows) >= 20 * 65536, rows)
# the kernel ends the accounting of each that it began (since 6.5), after its completion; one may be merged
n = t.sql("SELECT coalesce(sum(action = 'start'), 0) AS started, coalesce(sum(action = 'done'), 0) AS done, "
          "coalesce(sum(action = 'merge'), 0) AS merged FROM block_events "
          "WHERE rq IN (SELECT rq FROM block_events WHERE action = 'start' AND utid IN (SELECT utid FROM threads JOIN "
          "processes USING (upid) WHERE processes.comm = 'direct_io'))")[0]
check("--only: the end of every request, too", n["started"] == 0 or n["started"] == n["done"] + n["merged"] >= 20, n)
for c, sums in t.balance(("sched", "alloc", "block", "task")).items():
    check("--only: read + lost = attempted, class %s" % c, sums and sums[0] == sums[1] + sums[2], sums)

t = Trace(tmp + "/all")
mine = {r["pid"] for r in t.sql("SELECT pid FROM processes WHERE is_workload")}
seen = [r for r in t.report("cpu", "--by", "process") if r["pid"] == outsider]
check("without --only the whole machine is recorded", seen and seen[0]["oncpu_ns"] > 0 and outsider not in mine, seen)
EOF_PY

# ---- -p and --cgroup ----

"$WORK/busy_threads" two 200000 >/dev/null &
victim=$!
"$WORK/busy_threads" one 200000 >/dev/null &
other=$!
recorded pid -p $victim -e sched -d 600ms
thread=$(ls "/proc/$victim/task" | grep -vx "$victim" | head -n 1)
recorded tid -p "$thread" -e sched -d 100ms
check "-p TID: the process of the thread is the workload, and record says so" \
	"grep -q -- '-p $thread is a thread: recording its process, $victim;' '$tmp/tid.err' && [ \"\$('$EBPFREC' sql \
	-i '$tmp/tid' --format csv 'SELECT DISTINCT pid FROM processes WHERE is_workload' | tail -n 1)\" = $victim ]" \
	"$(cat "$tmp/tid.err")"
record nopid -p 4999999 -e sched -d 100ms
check "-p: an unknown pid is named" "[ $? -ne 0 ] && grep -q 4999999 '$tmp/nopid.err' && [ ! -e '$tmp/nopid' ]" \
	"$(cat "$tmp/nopid.err")"
cgroot=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
have_cgroup=0
if [ -n "$cgroot" ] && mkdir "$cgroot/ebpfrec-test-$$" 2>/dev/null; then
	undo+=("rmdir '$cgroot/ebpfrec-test-$$'")
	have_cgroup=1
	sh -c "echo \$\$ >'$cgroot/ebpfrec-test-$$/cgroup.procs'; exec '$WORK/busy_threads' one 200000" >/dev/null &
	grouped=$!
	wait_for "it is in the group" 30 "grep -q busy_threads /proc/$grouped/comm"
	recorded cgroup --cgroup "$cgroot/ebpfrec-test-$$" --only -e sched -d 600ms
	kill $grouped
	wait $grouped 2>/dev/null
else
	skip record_select_cgroup "no cgroup v2 tree to make a group in"
fi
kill $victim $other
wait
victim=$victim other=$other have_cgroup=$have_cgroup grouped=${grouped:-0} checker <"$here/record_select.py"
