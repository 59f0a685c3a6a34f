#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Owners by their common names: known work in cgroups named as container managers and systemd name theirs, as
# other users, and in trees of processes. A burn prints the kernel's charge; the trace may have more (the
# start of the interpreter before, its end afterwards) but not less than that.
. "$(dirname "$0")/harness.bash"

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

checker <<'EOF_PY'
from trace_query import *
tmp = os.environ["tmp"]
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
EOF_PY

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
checker <<'EOF_PY'
from metrics_text import *
tmp = os.environ["tmp"]
t = Trace(tmp + "/m")
id1, id2 = "0123456789abcdef" * 4, "fedcba9876543210" * 4
ours = {"unit": {"docker-%s.scope" % id1, "cri-containerd-%s.scope" % id1, "libpod-%s.scope" % id1, "ssh-who.service",
                 "user@1000.service/app-x.service"},
        "container": {"docker:0123456789ab", "docker:fedcba987654", "podman:0123456789ab",
                      "k8s:11112222-333/0123456789ab",
                      "k8s:11112222-333/fedcba987654", "lxc:web"},
        "user": {"root", "nobody", "54321"}}
for by, names in ours.items():
    once = parse(open(tmp + "/once_" + by, "rb").read())
    bad = compare(once, expected(t, by), by)
    labels = {dict(labels).get(by) for name, labels in once}
    check("who, metrics: all %d figures by %s are those of reports" % (len(once), by), len(once) > 50
          and names <= labels and not bad, (bad[:3], names - labels))
    live = parse(open("%s/by_%s/ebpfrec.prom" % (tmp, by), "rb").read())
    # it began to count in the middle of the recording: its counts since its first answer are those of the rest
    first = parse(open("%s/first_%s" % (tmp, by), "rb").read())
    rest = t.window(t.at(round(first["ebpfrec_trace_end_monotonic_seconds", ()] * 1e9)),
                    t.one("SELECT max(to_ns) FROM blocks"))
    # A report counts a process for its last group and user. Counts from before it joined them stay with the old ones: a
    # block may end just then.
    moved = {r["name"] for r in t.sql("SELECT DISTINCT %s AS name FROM processes AS p JOIN blocks AS b ON "
                                      "b.to_ns > p.start_ns AND b.to_ns < p.end_ns AND p.is_workload" % by)}
    bad, steady = [], 0
    for name, scale, want in sums(t, rest, by):
        got = round((total(live, name) - total(first, name)) * scale)
        if got != sum(want.values()):
            bad.append("%s in all: %s, report %s" % (name, got, sum(want.values())))
        for labels, n in want.items():
            # (names of other processes may have become known after they were counted)
            if dict(labels).get(by) in names - moved:
                steady += 1
                got = round((live.get((name, labels), 0) - first.get((name, labels), 0)) * scale)
                if got != n:
                    bad.append("%s%s: %s, report %s" % (name, labels, got, n))
    check("who, metrics: counted while it was recorded, too, by %s" % by, not bad,
          (steady, bad[:3]))
EOF_PY
