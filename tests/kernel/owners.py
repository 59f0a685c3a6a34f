# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by task_identity.sh."""
from trace_query import *
t = Trace(tmp + "/t")
# The kernel may hide a task, whose switches are then lost: time missing in a row is in [unknown].
unknown = sum(r["oncpu_ns"] for r in t.report("cpu", "--limit", "0") if r["comm"] == "[unknown]")
names = ["docker:0123456789ab", "docker:fedcba987654", "podman:0123456789ab", "k8s:11112222-333/0123456789ab",
         "k8s:11112222-333/fedcba987654", "lxc:web", None, None]
burns = [[int(x) for x in line.split()] for line in open(tmp + "/in_groups")]
check("who: every cgroup's work ran", len(burns) == len(names), burns)
rows = t.report("cpu", "--by", "process", "--limit", "0")
of_process = {r["pid"]: r["oncpu_ns"] for r in rows}
everybody = sum(r["oncpu_ns"] for r in rows)
by = {r["container"]: r["oncpu_ns"] for r in t.report("cpu", "--by", "container", "--limit", "0")}
for i, pid, ns in burns:
    who = t.sql("SELECT container, unit, user FROM processes WHERE pid = %d" % pid)[0]
    check("container: process %d is in %s" % (i, names[i]), (who["container"] or None) == names[i], who)
    check("container: user of process %d" % i, who["user"] == "root", who)
    if names[i]:
        check("container: %s used at least what its work did" % names[i], by.get(names[i], 0) >= ns - unknown,
              (by, ns, unknown))
        inside = t.sql("SELECT pid FROM processes WHERE container = '%s'" % names[i])
        check("container: %s has the CPU time of its processes" % names[i],
              by.get(names[i]) == sum(of_process.get(r["pid"], 0) for r in inside), (by, inside))
units = {r["pid"]: r["unit"] for r in t.sql("SELECT pid, unit FROM processes WHERE unit IS NOT NULL")}
want = {0: "docker-" + "0123456789abcdef" * 4 + ".scope", 3: "cri-containerd-" + "0123456789abcdef" * 4 + ".scope",
        6: "ssh-who.service",
        7: "user@1000.service/app-x.service"}
for i, unit in want.items():
    check("unit: process %d is of %s" % (i, unit), units.get(burns[i][1]) == unit, units.get(burns[i][1]))

users = {r["user"]: r["oncpu_ns"] for r in t.report("cpu", "--by", "user", "--limit", "0")}
(pid, first), (later, second), (nameless, third) = [[int(x) for x in open(tmp + "/" + f).read().split()]
                                                    for f in ("nobody", "later_nobody", "nameless")]
check("user: nobody's work is nobody's, also of one who became nobody without an exec",
      of_process[pid] + of_process[later] <= users.get("nobody", 0) and users["nobody"] >= first + second - unknown,
      (users, first, second))
check("user: a user without a name has the number", users.get(54321, users.get("54321", 0)) >= third - unknown,
      (users, third))
check("user: all users together are all processes together", sum(users.values()) == everybody, (users, everybody))

trees = t.report("cpu", "--by", "tree", "--limit", "0")
root = t.sql("SELECT pid FROM processes WHERE is_workload AND parent_upid IN (SELECT upid FROM processes WHERE "
             "is_recorder)")
check("tree: the recorded command is a root", len(root) == 1
      and [r for r in trees if r["tree"] == "%d bash" % root[0]["pid"]], (root, trees))
mine = sum(r["oncpu_ns"] for r in trees if r["tree"] == "%d bash" % root[0]["pid"])
work = t.sql("SELECT pid FROM processes WHERE is_workload")
check("tree: it has the CPU time of all its descendants", mine == sum(of_process.get(r["pid"], 0) for r in work),
      (mine, len(work)))
burnt = sum(int(line.split()[1]) for line in open(tmp + "/tree"))
check("tree: and that is no less than they burnt", mine >= burnt + sum(b[2] for b in burns) - unknown, (mine, burnt))

t = Trace(tmp + "/u")
who = t.sql("SELECT DISTINCT user FROM processes WHERE is_workload")
check("user: record -u", [r["user"] for r in who] == ["nobody"], who)
