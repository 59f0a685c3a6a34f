# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
fleet_questions: the questions of schema/fleet/questions.sql, put to an engine that has the bins and tables of
several hosts, and compared with what `ebpfrec report` and `ebpfrec sql` say host by host.
"""
from trace_query import *

SECOND = 1_000_000_000
SPIKE_BYTES = 20_000_000
QUESTIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../schema/fleet/questions.sql")


def without_guard(row):
    """CSV has an apostrophe before a name that a spreadsheet would take for a formula"""
    return {k: v[1:] if isinstance(v, str) and re.match("'[-=+@]", v) else v for k, v in row.items()}


class Host(Trace):
    """A trace of which the names are as they were recorded."""

    def sql(self, query):
        return [without_guard(r) for r in super().sql(query)]

    def report(self, view, *args):
        return [without_guard(r) for r in super().report(view, *args)]

    @property
    def real_shift_ns(self):
        return self.one("SELECT real_ns - ts_ns FROM clocks ORDER BY ts_ns LIMIT 1")

    @property
    def end_ns(self):
        return self.one("SELECT max(to_ns) FROM blocks")

    def first_bin(self):
        """where the first whole second of UTC begins that the trace has a part of"""
        return -(self.real_shift_ns % SECOND)

    def whole_bins(self):
        """the window of the bins that the trace has a part of"""
        first = self.first_bin()
        return first, first - (first - self.end_ns) // SECOND * SECOND

    def states(self, by, *window):
        """what a name did, and what nobody known did"""
        return self.report("states", "--by", by, "--with-recorder", *window)

    def by_comm(self, view):
        return self.report(view, "--by", "comm", "--with-recorder")


def added(rows, *columns):
    """[[key..., sum...]]"""
    sums = {}
    for key, r in rows:
        for i, c in enumerate(columns):
            sums.setdefault(key, [0] * len(columns))[i] += r[c] or 0
    return [[*key, *v] for key, v in sums.items()]


def spikes(hosts):
    """[[host, name, spikes above the size, bytes of the largest, all spikes]]"""
    found = {}
    for h, t in hosts.items():
        for r in (r for r in t.report("spikes", "--with-recorder") if r["comm"] != "[all]"):
            n, most, cnt = found.get((h, r["comm"]), (0, 0, 0))
            found[h, r["comm"]] = n + (r["bytes"] > SPIKE_BYTES), max(most, r["bytes"]), cnt + 1
    return sorted(([*k, *v] for k, v in found.items() if v[0]), key=lambda r: -r[3])


def slowest_devices(hosts):
    """As bins of names have it: a request that was merged of several owners' data counts once for each of them."""
    devices = []
    for h, t in hosts.items():
        requests = dict((tuple(r[:2]), r[2]) for r in added((((r["device"], r["op"]), r) for r in t.report(
            "io", "--with-recorder", "--by", "comm,device,op")), "ios"))
        for r in t.report("io", "--with-recorder", "--by", "device"):
            steps = t.sql("SELECT low_ns, sum(ios) AS ios FROM latency_hist(NULL, NULL, 0, 'comm,device,op') WHERE "
                          "phase = 'total' AND device_name(dev) = '%s' AND op = '%s' GROUP BY low_ns ORDER BY low_ns" %
                          (r["device"], r["op"]))
            rank, p99 = -(-99 * sum(s["ios"] for s in steps) // 100), 0
            for s in steps:
                p99 = s["low_ns"] if rank > 0 else p99
                rank -= s["ios"]
            devices.append([h, r["device"], r["op"], requests[r["device"], r["op"]], p99, r["lat_max_ns"] or 0])
    return sorted(devices, key=lambda r: (-r[4], -r[5]))[:20]


def role_cpu(hosts, rollout_ns):
    """[before or after, hosts, CPUs used]: of the hosts of role web"""
    sides = []
    for after in (0, 1):
        running, span, cnt = 0, 0, 0
        for t in hosts.values():
            edge = min(max(rollout_ns - t.real_shift_ns, 0), t.end_ns)
            window = (edge, t.end_ns) if after else (0, edge)
            if window[0] < window[1] and t.one("SELECT value FROM info WHERE key = 'note.role'") == "web":
                running += sum(r["running_ns"] for r in t.states("comm", *t.window(*window)))
                span += window[1] - window[0]
                cnt += 1
        if cnt:
            sides.append([after, cnt, running / span])
    return sides


def noisy_neighbours(hosts):
    noisy = []
    for h, t in hosts.items():
        seconds = {}
        bins = t.first_bin(), t.end_ns, SECOND
        for r in t.sql("SELECT t_ns, name, running_ns, runnable_ns + preempted_ns AS waiting_ns FROM "
                       "thread_states(%d, %d, %d, 'comm')" % bins):
            seconds.setdefault(r["t_ns"], []).append(r)
        rows = [((h, r["name"]), r) for s in seconds.values()
                if sum(r["waiting_ns"] for r in s) > sum(r["running_ns"] for r in s) for r in s]
        noisy += [r for r in added(rows, "running_ns") if r[2]]
    return sorted(noisy, key=lambda r: -r[2])[:20]


def programs(hosts):
    """without the number of hosts"""
    rows = [((r["comm"],), {**r, "waiting_ns": r["runnable_ns"] + r["preempted_ns"]}) for t in hosts.values()
            for r in t.states("comm")]
    return sorted((r for r in added(rows, "running_ns", "waiting_ns") if r[1]), key=lambda r: -r[1])[:20]


def losses(hosts):
    rows = []
    for h, t in hosts.items():
        bins = t.sql("SELECT sum(lost_events) AS lost, min(complete) AS complete FROM window_loss(%d, %d, %d) GROUP "
                     "BY t_ns" % (*t.whole_bins(), SECOND))
        rows.append([h, sum(b["lost"] for b in bins), sum(not b["complete"] for b in bins), len(bins)])
    return sorted(rows, key=lambda r: (-r[1], r[0]))


def most_memory(hosts):
    rows = [[h, r["comm"], r["rss_peak_bytes"]] for h, t in hosts.items() for r in t.by_comm("memory")
            if r["rss_peak_bytes"]]
    return sorted(rows, key=lambda r: (-r[2], r[0], r[1]))[:20]


def writers(hosts):
    rows = added((((h, r["comm"], r["device"]), r) for h, t in hosts.items()
                  for r in t.report("io", "--with-recorder", "--by", "comm,device,op") if r["op"] == "write"), "ios",
                 "bytes")
    return sorted((r for r in rows if r[3]), key=lambda r: (-r[4], r[0], r[1]))[:20]


def cpu_waits(hosts):
    rows = [[h, r["comm"], r["m"], r["s"]] for h, t in hosts.items() for r in t.sql("SELECT p.comm, max(wait_ns) AS "
                                                                                    "m, sum(wait_ns) AS s FROM "
                                                                                    "sched_slices JOIN threads AS t "
                                                                                    "USING (utid) "
        "JOIN processes AS p USING (upid) WHERE utid >= 16 GROUP BY p.comm") if r["m"]]
    return sorted(rows, key=lambda r: -r[2])[:20]


def slow_requests(hosts):
    """without the instant"""
    rows = [[h, r["owner"] or "", r["op"], r["bytes"], r["latency_ns"], r["queue_ns"]] for h, t in hosts.items()
            for r in t.sql("SELECT owner, op, bytes, latency_ns, queue_ns FROM block_requests WHERE latency_ns > 0 "
                           "ORDER BY latency_ns DESC LIMIT 10")]
    return sorted(rows, key=lambda r: -r[4])[:10]


def check_questions(test, ask, hosts, rollout_ns):
    """ask(query) gives rows; hosts are {name: Host}; rollout_ns is a whole second, ns since 1970."""
    text = re.sub("(?m)^--.*$", "", open(QUESTIONS).read())
    text = text.replace("yesterday()", "toDate('2000-01-01')").replace("2147483648",
        str(SPIKE_BYTES)).replace("1800000000000000000", str(rollout_ns))
    answers = [ask(s) for s in text.split(";") if s.strip()]

    def question(n, name, got, want):
        check("%s: question %d, %s" % (test, n, name), got == want and len(got) > 0, "got %s, expected %s" %
              (got, want))

    # smaller spikes in a bin that has one of the size count, too
    want, got = spikes(hosts), answers[0]
    check("%s: question 1, spikes" % test, [[h, c, b] for h, c, _, b in got] == [[h, c, b] for h, c, _, b, _ in want]
          and len(want) > 0 and all(w[2] <= g[2] <= w[4] for g, w in zip(got, want)), "got %s, expected %s" %
          (got, want))
    question(2, "slowest devices", answers[1], slowest_devices(hosts))
    want = role_cpu(hosts, rollout_ns)
    question(3, "a role before and after", [r[:2] for r in answers[2]], [r[:2] for r in want])
    for g, w in zip(answers[2], want):
        near("%s: question 3, CPUs used %s" % (test, "after" if w[0] else "before"), g[2], w[2], rel=1e-9)
    question(4, "noisy neighbours", answers[3], noisy_neighbours(hosts))
    question(5, "who uses the CPUs", [[r[0], r[2], r[3]] for r in answers[4]], programs(hosts))
    question(6, "losses", answers[5], losses(hosts))
    question(7, "resident memory", answers[6], most_memory(hosts))
    question(8, "writers", answers[7], writers(hosts))
    question(9, "waits for a CPU", answers[8], cpu_waits(hosts))
    question(10, "slow requests", [[r[0], *r[2:]] for r in answers[9]], slow_requests(hosts))
    check("%s: nothing is there in part, and no piece of time twice" % test, not answers[10] and not answers[11],
          answers[10:])
