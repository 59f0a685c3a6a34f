# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by why_causes.sh."""
from trace_query import *
WANTED = {"mutex": ("lock", ["for locks$", r"was for mutex \(causes\) \(futex\)$",
                             r"^culprit ended .*: (?=.*\btimer \d+ %).*\b(disk|call|uninterruptible) \d+ %"]),
          "condition": ("condition", ["for condition variables$", r"was for condition(\+0x\w+)? \(causes\) \(futex\)$",
                                 "^culprit ended .*: timer "]), "idle": ("poll", ["for events$", r"was for epoll \d+ "
                                                                                  r"\(epoll_p?wait\)$",
    "^culprit ended "]), "loaded": (None, ["^All threads together ran for .* on CPUs$"]),
          "cpu": ("cpu", ["for a CPU$", "^culprit had the CPU for "]),
          "mmap": ("lock", ["for locks$", r"was for mmap lock of \d+ \w+ \((mmap|munmap)\)$",
                            r"^culprit ended .*: running (100|[89]\d) %"]),
          "mapped": ("disk", ["for a disk$", "^Of the file .*/cold they moved ",
                              "^Beside them, culprit moved .* on the same disk$"]),
          "read": ("disk", ["for a disk$", "^Of the file .*/cold they moved ",
                            "^Beside them, culprit moved .* on the same disk$"]),}
KERNEL = [int(x) for x in re.findall(r"\d+", os.uname().release)[:2]]
for cause, (kind, patterns) in WANTED.items():
    t, w = Trace(tmp + "/" + cause), truth(tmp + "/" + cause + ".out")
    lo, hi = t.at(w["from"]), t.at(w["to"])
    window = t.window(lo, hi)
    waits = [r for r in t.report("waits", "--by", "thread", *window) if r["tid"] == w["tid"]]
    ran = sum(r["running_ns"] for r in t.report("states", "--by", "thread", *window) if r["tid"] == w["tid"])
    check("%s: waits and time on CPUs are all of its time" % cause, sum(r["wait_ns"] for r in waits) + ran == hi - lo,
          (waits, ran, hi - lo))
    if kind:
        check("%s: most of the waiting is of kind %s" % (cause, kind),
              max(waits, key=lambda r: r["wait_ns"])["kind"] == kind, waits)
    if cause == "mutex":    # it waits for CPUs outside of its calls, too, and runs a little within them
        waited, cpu = sum(r["wait_ns"] for r in waits), sum(r["wait_ns"] for r in waits if r["kind"] == "cpu")
        check("mutex: it waited as long as its clock says", waited - cpu <= w["waited"] <= waited + ran,
              (waits, ran, w["waited"]))
    if cause == "mutex" and KERNEL >= [6, 2]:    # older ones do not tell files
        synced = {r["path"] for r in t.sql("SELECT object_name(call, object) AS path FROM switches JOIN threads "
                                           "USING (utid) " "WHERE comm = 'culprit' AND call_name(call) = 'fsync' AND "
                                           "call & 0x1e00")}
        check("mutex: the file that its culprit synced", synced == {tmp + "/other"}, synced)
    if cause == "read":
        files = [r["path"] for r in t.sql("SELECT object_name(call, object) AS path FROM switches WHERE utid = "
                                          "(SELECT utid FROM threads WHERE tid = %d) "
                                          "AND ts_ns BETWEEN %d AND %d AND call_name(call) = 'pread64' AND call & "
                                          "0x1e00" % (w["tid"], lo, hi))]
        check("read: the file that it slept for", all(str(f).endswith("/cold") for f in files), set(files))
    answer = [r["value"] for r in rows_of(run("report", "-i", t.path, "why", "--tid", str(w["tid"]), *window,
                                              "--format", "csv")) if r["section"] == "In short"]
    check("%s: the first sentences name the cause" % cause, len(answer) >= len(patterns) and
          all(any(re.search(p, a) for a in answer[:4]) for p in patterns), answer)
    parts = {}
    for r in t.report("path", "--tid", str(w["tid"]), *window):
        parts[r["comm"], r["kind"]] = parts.get((r["comm"], r["kind"]), 0) + r["path_ns"]
    most = sorted(((ns, comm, kind) for (comm, kind), ns in parts.items() if kind not in ("unknown", "ended")
                   and 10 * ns >= hi - lo), key=lambda x: (-x[0], x[1:]))[:2]
    said = ["Path to the end: " + ", ".join("%s %s %d %%" % (comm, kind, 100 * ns // (hi - lo)) for ns, comm,
                                            kind in most)] if most else []
    # a single part need not be repeated
    check("%s: they end with the path's largest parts" % cause,
          [a for a in answer if a.startswith("Path")] in ([said] if len(most) > 1 else [said, []]), (answer, parts))
    check("%s: they fit in a line of 80 columns" % cause, all(len(a) <= 80 or tmp in a for a in answer), answer)
    if cause == "read":
        rows = t.report("beside", "--tid", str(w["tid"]), *window)
        ios = t.sql("SELECT coalesce(queued_ns, 0) AS since, coalesce(end_ns, 1 << 62) AS until, submitter_utid = "
                    "(SELECT utid FROM threads WHERE tid = %d) AS mine, "
                    "submitter_utid IN (SELECT utid FROM threads WHERE comm = 'culprit') AS others FROM "
                    "block_requests WHERE owner_upid = submitter_upid" % w["tid"])
        mine = [r for r in ios if r["mine"] and lo <= r["until"] < hi]
        both = sum(any(o["since"] < m["until"] and o["until"] > m["since"] for o in ios if o["others"]) for m in mine)
        check("read: as many requests as overlap were in flight beside culprit's", rows
              and rows[0]["beside"] == "culprit" and (rows[0]["with_ios"], rows[0]["without_ios"]) == (both,
            len(mine) - both) and both > 0, (rows[:1], both, len(mine)))
    if cause in ("idle", "loaded"):
        poll = t.sql("SELECT t.comm AS comm, sum(e.waits) AS waits FROM wait_ends(%d, %d) AS e LEFT JOIN threads AS "
                     "t ON t.utid = e.ender_utid " "WHERE e.kind = 'poll' AND e.utid = (SELECT utid FROM threads "
                     "WHERE tid = %d) GROUP BY 1" % (lo, hi, w["tid"]))
        ended = {r["comm"]: r["waits"] for r in poll}
        # all requests but the first are there already when the loaded server looks for more
        check("%s: who asked ended the waits for events" % cause, set(ended) <= {"culprit"} and
              (15 <= ended["culprit"] <= 20 if cause == "idle" else ended.get("culprit", 0) <= 1), poll)
