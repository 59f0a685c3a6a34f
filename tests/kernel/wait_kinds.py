# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by wait_kinds.sh."""
import base64
import itertools
import zlib
import landing
from trace_query import *
t, w = Trace(tmp + "/kinds"), truth(tmp + "/kinds.out")
files = t.one("SELECT count(*) FROM switches WHERE call_name(call) = 'read' AND call & 0x1e00")
CASES = [("lock", "lock", "futex"), ("pipe", "pipe", "read"), ("socket", "socket", "read"), ("unix", "socket", "read"),
         ("tcp", "socket", "read"),
         ("poll", "poll", "epoll_wait"), ("event", "call", "read"), ("terminal", "call", "read"),
         ("timer", "timer", "clock_nanosleep"),
         ("child", "child", "wait4"), ("thread", "child", "futex"), ("condition", "condition", "futex"),
         ("semaphore", "condition", "futex"), ("priority", "lock", "futex"), ("robust", "lock", "futex"),
         ("readers", "lock", "futex"), ("flock", "lock", "flock"), ("directory", "lock", "openat"),
         ("mutex", "lock", "write"),
         ("polled", "pipe", "poll"), ("nothing", "timer", "poll"), ("late_poll", "socket", "poll"),
         ("late_epoll", "poll", "epoll_wait"), ("late_select", "poll", "select"),
         ("late_semaphore", "condition", "futex"), ("late_receive", "socket", "recvfrom")]

for part, kind, call in CASES:
    lo, hi = t.at(w[part + "_from"]), t.at(w[part + "_to"])
    window = t.window(lo, hi)
    rows = [r for r in t.report("waits", "--by", "thread", *window) if r["tid"] == w["tid"]]
    ran = sum(r["running_ns"] for r in t.report("states", "--by", "thread", *window) if r["tid"] == w["tid"])
    kinds = {}
    for r in rows:
        kinds[r["kind"], r["call"]] = kinds.get((r["kind"], r["call"]), 0) + r["wait_ns"]
    check("%s: the parts add up" % part, sum(kinds.values()) + ran == hi - lo, (kinds, ran, hi - lo))
    if call == "read" and not files:
        kind = "call"    # the kernel is older than 6.2
    if call == "poll" and kind != "timer" and not files:
        kind = "poll"    # likewise
    if call == "epoll_wait" and (kind, call) not in kinds:
        call = "epoll_pwait"    # arm64 has no other
    if call == "poll" and (kind, call) not in kinds:
        call = "ppoll"    # likewise
    if call == "select" and (kind, call) not in kinds:
        call = "pselect6"    # likewise
    hidden = kinds.pop(("unknown", ""), 0)
    slept = {k: v for k, v in kinds.items() if k[0] != "cpu"}
    check("%s: all sleep is of kind %s, in %s" % (part, kind, call), list(slept) == [(kind, call)], (kinds, hidden))
    check("%s: it is most of the part" % part, slept.get((kind, call), 0) + hidden > 100_000_000,
          (kinds, hidden, hi - lo))
    timeouts = (sum(r["timeouts"] or 0 for r in rows),
                t.one("SELECT coalesce(sum(waits), 0) FROM wait_ends(%d, %d) JOIN threads USING (utid) "
                      "WHERE tid = %d AND timeout" % (lo, hi, w["tid"])))
    late = part.startswith("late_") or part in ("timer", "nothing")
    check("%s: %s" % (part, "it timed out" if late else "it did not time out"),
          timeouts == (int(late), int(late)) or hidden and timeouts == (0, 0), (timeouts, rows))

window = t.window(t.at(w["lock_from"]), t.at(w["lock_to"]))
locks = t.report("locks", "--tid", str(w["tid"]), *window)
check("locks: one lock, by its variable, with its holder", len(locks) == 1 and locks[0]["object"] == "lock (wait_kinds)"
      and
      (locks[0]["holder"], locks[0]["waits"], locks[0]["waiters"], locks[0]["held_pct"]) == ("holder", 1, 1, 100),
      locks)
waits = [r for r in t.report("waits", "--tid", str(w["tid"]), *window) if r["kind"] == "lock"]
check("locks: its time is that of waits", [r["wait_ns"] for r in locks] == [r["wait_ns"] for r in waits],
      (locks, waits))
share = re.fullmatch(r"timer (\d+) %(, .*)?", locks[0]["meanwhile"]) if locks else None
check("locks: the holder slept meanwhile", share and int(share[1]) >= 80, locks)
if files:
    held = t.report("locks", "--tid", str(w["tid"]), *t.window(t.at(w["flock_from"]), t.at(w["flock_to"])))
    check("locks: the lock of a file, with its holder", [(r["object"], r["holder"], r["waits"]) for r in held] ==
          [(tmp + "/held", "holder", 1)], held)
    for part, want in (("directory", "inode lock of %s/locked|kernel lock in path_openat" % tmp),
                       ("mutex", "kernel lock in .*pipe_write")):
        held = t.report("locks", "--tid", str(w["tid"]), *t.window(t.at(w[part + "_from"]), t.at(w[part + "_to"])))
        check("locks: a lock of the kernel, with its holder: %s" % part, len(held) == 1 and
              re.fullmatch(want, held[0]["object"]) and (held[0]["holder"], held[0]["waits"]) == ("holder", 1), held)
        path = t.report("path", "--tid", str(w["tid"]), *t.window(t.at(w[part + "_from"]), t.at(w[part + "_to"])))
        check("path: the lock of the kernel leads to its holder: %s" % part,
              any(r["comm"] == "holder" for r in path), path)
    for part, want in {"event": "eventfd %d" % w["event_fd"], "terminal": str(w["terminal"]), "timer": "150 ms",
                       "child": "process %d" % w["child_pid"], "thread": "thread %d" % w["thread_tid"],
                       "poll": "epoll %d" % w["poll_fd"],
                       "polled": "pipe:[%d]" % w["pipe_ino"], "nothing": "150 ms"}.items():
        names = [r["name"] for r in t.sql(
                "SELECT DISTINCT object_name(call, object) AS name FROM switches WHERE utid = (SELECT utid FROM "
                "threads WHERE "
                                          "tid = %d) AND ts_ns BETWEEN %d AND %d AND call & 0x1e00" %
                                          (w["tid"], t.at(w[part + "_from"]), t.at(w[part + "_to"])))]
        check("%s: what it slept for has its name" % part, names == [want], (names, want))
# The object of a wait is recorded since Linux 6.2. On a busy machine a kernel thread delivers data sent over TCP.
OBJECTS = {"pipe": "pipe:[%d]" % w["pipe_ino"], "polled": "pipe:[%d]" % w["pipe_ino"],
           "socket": "socket:[%d]" % w["socket_ino"],
           "tcp": "tcp 127.0.0.1:%d > 127.0.0.1:%d" % (w["tcp_from_port"], w["tcp_to_port"]), "flock": tmp + "/held"}
for part, want in OBJECTS.items() if files else ():
    window = t.window(t.at(w[part + "_from"]), t.at(w[part + "_to"]))
    rows = [r for r in rows_of(run("report", "-i", t.path, "why", "--tid", str(w["tid"]), *window, "--format", "csv"))
            if r["section"] == "Waited for"]
    seen = {}
    for r in rows:
        seen.setdefault(r["row"], {})[r["name"]] = r["value"]
    waits = [(r["object"], re.sub(" .*", "", r["ended_by"])) for r in seen.values() if r.get("object")]
    check("%s: why names it, and who ended the wait" % part, len(waits) == 1 and waits[0][0] == want and
          (waits[0][1] == ("holder" if part == "flock" else "wait_kinds") or part == "tcp"
           and waits[0][1].startswith("ksoftirqd")), (waits, want))

# The first sentences of why: the kind, the object, and the thread that ended the wait. If a thread waited for a CPU for
# a twentieth of its time, on a busy machine, why reports that first, and then its sleeps.
# The path to the end is left out: why_causes looks at it.
def in_short(path, *args):
    said = [r["value"] for r in rows_of(run("report", "-i", path, "why", *args, "--format", "csv"))
            if r["section"] == "In short"]
    return [x for x in said if not x.startswith("Path to the end: ")]
SENTENCES = {"pipe": ["for pipes", r"for pipe:\[%d\] \(read\)" % w["pipe_ino"], "wait_kinds ended .*timer"],
             "socket": ["for sockets", r"for socket:\[%d\] \(read\)" % w["socket_ino"], "wait_kinds ended .*timer"],
             "unix": ["for sockets", r"for unix @%s \(read\)" % w["unix_name"], "wait_kinds ended .*timer"],
             "tcp": ["for sockets", r"for tcp 127.0.0.1:%d > 127.0.0.1:%d \(read\)" %
                     (w["tcp_from_port"], w["tcp_to_port"]), "(wait_kinds|ksoftirqd/\\d+) ended "],
             "timer": ["for timers", r"for sleeps of 150 ms \(clock_nanosleep\)"],
             "child": ["for children", r"for process %d \(wait4\)" % w["child_pid"], "wait_kinds ended .*timer"],
             "flock": ["for locks", "for .*/held \\(flock\\)$", "^holder ended .*timer"],
             "event": ["in system calls", r"for eventfd %d \(read\)" % w["event_fd"], "wait_kinds ended .*timer"]}
for part, want in SENTENCES.items() if files else ():
    args = ["--tid", str(w["tid"]), *t.window(t.at(w[part + "_from"]), t.at(w[part + "_to"]))]
    said = in_short(t.path, *args)
    for_cpu = sum(r["wait_ns"] for r in t.report("waits", *args) if r["kind"] == "cpu")
    if part in ("timer", "child") and 20 * for_cpu >= w[part + "_to"] - w[part + "_from"]:
        want = ["for a CPU"] + ["had the CPU for "] * (len(said) -
                                                       2) + ["^Most of the time, .* they waited for (timers|children)$"]
    check("%s: the first sentences of why say all, in 80 columns" % part, len(said) == len(want) and
          all(re.search(p, s) and len(s) <= 80 for p, s in zip(want, said)), said)
# The last 40 ms of the wait before are the first sentence's, because a sleeper is idle.
said = in_short(t.path, "--tid", str(w["tid"]), *t.window(t.at(w["timer_from"] - 40_000_000), t.at(w["timer_to"])))
check("why: a wait of a thread that is idle most of the time comes first, and then that it is", len(said) > 1 and
      re.search(r" (in system calls|for a CPU)$", said[0])
      and re.search(r"^Most of the time, .* of .*, they waited for timers$", said[-1]), said)

window = t.window(t.at(w["lock_from"]), t.at(w["lock_to"]))
first = run("report", "-i", tmp + "/kinds", "why", "--tid", str(w["tid"]), *window).splitlines()[:12]
check("why: the first sentences say what for, and who held it up", first[3].endswith("for locks") and
      any(re.search(r"for lock \(wait_kinds\) \(futex\)$", x) for x in first[4:6])
      and any(x.startswith("holder ended") for x in first[4:6]), first)
check("why: lock and holder stand in its first lines",
      any(re.search(r"^lock +futex +lock \(wait_kinds\) .* holder .*timer", x) for x in first), first)

# All that it waits for are nine sleeps of 150 ms, of its own and of those that end its waits: the way through the
# window.
# From the trace's beginning on: who gives may sleep a little before the part begins. Up to the terminal, whose lines a
# worker of
# the kernel hands over: when that has to do somebody else's work first, the path leads there.
lo, hi = 0, t.at(w["terminal_from"])
path = t.report("path", "--tid", str(w["tid"]), *t.window(lo, hi))
check("path: it is as long as the window", sum(r["path_ns"] for r in path) == hi - lo, (path, hi - lo))
slept = [r for r in path if r["kind"] == "timer"]
check("path: sleeps of the threads are most of it", len(slept) >= 7
      and sum(r["path_ns"] for r in slept) > 1_040_000_000, path)

# One answer: the pieces are the same wherever they are added up.
def by_kind(rows, key="kind", value="wait_ns"):
    sums = {}
    for r in rows:
        sums[r[key]] = sums.get(r[key], 0) + r[value]
    return sums
who = ["--comm", "wait_kinds"]
want = by_kind(t.report("waits", "--by", "comm", *who))
check("one answer: the kinds are there", len(want) >= (8 if files else 6), want)
text = run("export", "-q", "-i", t.path, "--to", "openmetrics", "--top", "1000", "-o", "-")
got = {kind: round(float(v) * 1e9) for kind,
       v in re.findall(r'^ebpfrec_wait_seconds_total\{comm="wait_kinds",kind="(\w+)"\} ([\d.]+)', text, re.M)}
check("one answer: metrics", got == want, (got, want))
got = by_kind(t.sql("SELECT kind, wait_ns FROM wait_kinds(0, 1 << 62, 0, 'comm') WHERE name = 'wait_kinds'"))
check("one answer: SQL", got == want, (got, want))
states = t.report("states", "--by", "comm", *who)[0]
got = {k: states[k + "_ns"] for k in ("runnable", "preempted", "throttled", "disk", "uninterruptible", "sleeping",
                                      "stopped", "unknown")}
check("one answer: states", sum(got.values()) == sum(want.values())
      and got["runnable"] + got["preempted"] == want["cpu"], (got, want))
# From here on waits that ended in the window, which begins at an instant without a waiting thread.
window = t.window(t.at(w["lock_from"]), t.at(w["thread_to"]))
main = ["--tid", str(w["tid"]), *window]
want = by_kind(t.report("waits", "--by", "thread", *main))
cnt = by_kind(t.report("waits", "--by", "thread", *main), "kind", "waits")
asked = "FROM wait_ends(%d, %d) JOIN threads USING (utid) WHERE tid = %d" % (t.at(w["lock_from"]), t.at(w["thread_to"]),
        w["tid"])
got = by_kind(t.sql("SELECT kind, wait_ns " + asked)), by_kind(t.sql("SELECT kind, waits " + asked), "kind", "waits")
for sums in (want, cnt):
    sums.pop("cpu", 0)
check("one answer: who ended waits", got == (want, cnt), (got, want, cnt))
locks = t.report("locks", *main)
check("one answer: locks", (sum(r["wait_ns"] for r in locks), sum(r["waits"] for r in locks)) ==
      (want["lock"], cnt["lock"]), (locks, want, cnt))
workload = {r["pid"] for r in t.sql("SELECT pid FROM processes WHERE is_workload")}
are_ours = [r["pid"] in workload for r in t.report("locks", *window)]
check("locks of the workload come first", any(are_ours) and are_ours == sorted(are_ours, reverse=True), are_ours)
waited = {}
for r in rows_of(run("report", "-i", t.path, "why", *main, "--format", "csv", "--limit", "0")):
    if r["section"] == "Waited for":
        waited.setdefault(r["row"], {})[r["name"]] = r["value"]
got = by_kind([{"kind": r["kind"], "wait_ns": int(r["wait_ns"])} for r in waited.values() if r["kind"] != "cpu"])
check("one answer: why", got == want, (got, want))

# Slices of the thread in trace_processor, in the file for Perfetto; the object of a slice determines its kind.
if os.path.exists(tmp + "/slices"):
    kind_of = {r["text"]: r["kind"]
               for r in t.sql("SELECT DISTINCT kind, call || coalesce(' ' || object, '') AS text " + asked)}
    slices = [dict(r, ns=min(int(r["until"]), t.at(w["thread_to"])) - int(r["ts"]))
              for r in json.load(open(tmp + "/slices"))
              if r["tid"] == w["tid"] and t.at(w["lock_from"]) <= int(r["ts"]) < t.at(w["thread_to"])
              and r["state"] != "Running"]
    # Woken before it had left its CPU: to trace_processor it sleeps all the same (schema/LIMITS.md).
    # No wake-up came behind that, up to its next stay; perfetto/check.mjs has the same rule.
    early = {r["end_ns"]
             for r in t.sql("SELECT s.end_ns FROM (SELECT utid, end_ns, end_reason, lead(start_ns) OVER w - end_ns AS "
                            "gap_ns, lead(wait_ns) OVER w AS wait_ns"
                                        " FROM sched_slices WINDOW w AS (PARTITION BY utid ORDER BY start_ns)) AS s "
                                        "JOIN threads AS h USING (utid)"
                                        " WHERE h.tid = %d AND s.end_reason = 'slept' AND s.wait_ns >= s.gap_ns AND "
                                        "NOT EXISTS (SELECT 1 FROM wakeups"
                                        " WHERE target_utid = s.utid AND ts_ns BETWEEN s.end_ns AND s.end_ns + "
                                        "s.gap_ns)" % w["tid"])}
    got = by_kind([{"kind": "cpu" if r["state"] in ("R", "R+") or int(r["ts"]) in early
                    else kind_of.get(r["text"], r["text"]), "wait_ns": r["ns"]} for r in slices])
    want = by_kind(t.report("waits", "--by", "thread", *main))
    check("one answer: the file for Perfetto", got == want,
          (got, want, [r for r in slices if r["text"] not in kind_of]))
# The page and the bins for ClickHouse have states: those that are kinds, and the page also all else. (The kind disk is
# more than the
# state: a sync, too.) Of the page all names count, because small ones have rows together.
def as_states(kinds):
    return {"cpu": kinds["cpu"], "throttled": kinds.get("throttled", 0), "all": sum(kinds.values())}
html = open(tmp + "/kinds.html", encoding="utf-8").read()
data = json.loads(zlib.decompress(base64.b64decode(re.search(r'id="data"[^>]*>([^<]*)<', html).group(1))))
columns = data["results"]["states"]    # without zeros at their ends
rows = [dict(zip(columns, r)) for r in itertools.zip_longest(*columns.values(), fillvalue=0)]
state = lambda *names: sum(r[n + "_ns"] for r in rows for n in names)
got = {"cpu": state("runnable", "preempted"), "throttled": state("throttled"),
       "all": state("runnable", "preempted", "throttled", "disk", "uninterruptible", "sleeping", "stopped", "unknown")}
want = as_states(by_kind(t.report("waits", "--by", "comm", "--limit", "0")))
check("one answer: the page", got == want, (got, want))
sent = [r for table, r in landing.rows(open(tmp + "/kinds.rows", "rb").read()) if table == "comm_bins"
        and r["name"] == "wait_kinds"]
# (a bin in which the name had other figures alone has no states)
sent_ns = lambda *names: sum(r[n] or 0 for r in sent for n in names)
want = as_states(by_kind(t.report("waits", "--by", "comm", *who)))
got = {"cpu": sent_ns("runnable_ns", "preempted_ns"), "throttled": sent_ns("throttled_ns"), "all": want["all"]}
check("one answer: bins for ClickHouse", got == want, (got, want))
