# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by task_identity.sh."""
from trace_query import *

for kind, trace, cnt, prefix in (("exec", "exec", 200, "sl_"), ("rename", "odd", 50, "rn_")):
    t = Trace(tmp + "/" + trace)
    w = truth("%s/%s.out" % (tmp, kind))
    procs = {}
    for r in t.sql("SELECT pid, ppid, comm, exit_code, start_ns, end_ns, parent_upid FROM processes"):
        procs.setdefault(r["pid"], []).append(r)
    parent = t.one("SELECT upid FROM processes WHERE pid = %d" % w["pid"])
    children = [tuple(map(int, c.split(":"))) for c in w["child"]]
    check("%s: all %d children ran" % (kind, cnt), len(children) == cnt, len(children))
    wrong = []
    for i, pid in children:
        rows = [r for r in procs.get(pid, []) if r["comm"] == "%s%03d" % (prefix, i)]
        if len(rows) != 1 or rows[0]["ppid"] != w["pid"] or rows[0]["parent_upid"] != parent:
            wrong.append((i, pid, procs.get(pid)))
    check("%s: all appear by name, once, with their parent" % kind, not wrong, "%d wrong: %s" % (len(wrong), wrong[:2]))
    late = [(i, pid) for i, pid in children for r in procs.get(pid, []) if r["exit_code"] != (i % 100) << 8
            or not 0 < r["start_ns"] < r["end_ns"]]
    check("%s: with their exit status, start and end" % kind, not late,
          "%d wrong: %s" % (len(late), [procs[p] for i, p in late[:2]]))

# Older tasks: in both listings around the recording, so certainly alive all through it.
t = Trace(tmp + "/exec")
before, after = ({int(pid): tuple(v) for pid, v in json.load(open("%s/ps.%s" % (tmp, when))).items()}
                 for when in ("before", "after"))
known = {r["pid"]: (r["ppid"], r["comm"]) for r in t.sql("SELECT pid, ppid, comm FROM processes")}
# The kernel shows more of a kernel thread's name than its comm: a worker's current work ("kworker/0:1-events"), and
# the part beyond 15 bytes. Bytes that would not be safe in a table are escaped: such a name need not be equal.
def same(a, b):
    return a[0] == b[0] and (a[1][:15] == b[1] or not re.fullmatch(r"[\w/.][\w/:. -]*", a[1], re.ASCII)
                             or (a[1].startswith("kworker/")
                                 and a[1].replace("+", "-").startswith(b[1].replace("+", "-"))))
stable = {p: v for p, v in before.items() if after.get(p) == v}
# Some hosted machines' kernels keep init out of every BPF program's sight.
wrong = {p: (v, known.get(p)) for p, v in stable.items() if (p not in known and p != 1)
         or (p in known and not same(v, known[p]))}
check("snapshot: every process that was there is known by name and parent", stable and not wrong,
      "%d of %d wrong, (/proc, trace): %s" % (len(wrong), len(stable), list(wrong.items())[:3]))

if os.environ["pids_status"] == "0":
    t = Trace(tmp + "/pids")
    w = truth(tmp + "/pids.out")
    rows = {r["comm"]: r for r in t.report("cpu", "--by", "process") if r["pid"] == w["pid"]}
    check("pid reuse: two processes, not one", set(rows) == {"first", "second"}, rows)
    slices = {r["comm"]: r["ns"]
              for r in t.sql("SELECT p.comm AS comm, sum(dur_ns) AS ns FROM sched_slices JOIN threads USING (utid)"
                                                " JOIN processes AS p USING (upid) WHERE p.pid = %d GROUP BY p.upid" %
                                                w["pid"])}
    check("pid reuse: each has the time of its own slices", slices == {name: r["oncpu_ns"] for name, r in rows.items()},
          (slices, rows))
