# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by task_identity.sh."""
from metrics_text import *
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
