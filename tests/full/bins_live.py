# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by metrics.sh."""
from trace_query import *
t = Trace(tmp + "/live")


def lines(name):
    return [json.loads(line) for line in open(tmp + "/" + name)]


# only later events may show that an event must have been lost
LATER = "|^complete$|^lost_events$" if t.one("SELECT sum(inferred_cnt) FROM losses") else ""


def sure(row):
    """without what becomes known later, or depends on how much is asked for at once"""
    return {k: v for k, v in row.items() if not re.search(r"_p\d+_ns$|^spike|^wall_uncertainty" + LATER, k)}


def differ(got, want):
    return [(g, w) for g, w in zip(got + [None] * len(want), want + [None] * len(got)) if g != w][:2]


for view in ("cpu", "io", "until"):
    got, want = [[sure(r) for r in lines(view + end)] for end in (".jsonl", ".after")]
    # the clocks read later move the wall clock by some ns
    off = [g["unix_ns"] - w["unix_ns"] for g, w in zip(got, want)]
    for r in got + want:
        r.pop("unix_ns")
    check("bins: %s, %d lines are those of the report afterwards" % (view, len(got)), len(got) >= 4
          and not differ(got, want), differ(got, want))
    check("bins: %s, the wall clock too" % view, max(map(abs, off), default=1e9) < 1_000_000, off[:9])
ends = [r["t_ns"] for r in lines("until.jsonl")]
check("bins: --until cuts the last bin", max(ends) == 2_000_000_000, ends)

got, want = lines("bins.jsonl"), lines("bins.after")
machine = [r for r in got if r["name"] == ""]
stamps = [r["unix_ns"] for r in machine]
check("bins: whole seconds of UTC, each once, none missing", stamps == list(range(stamps[0], stamps[-1] + 1, 10**9))
      and not stamps[0] % 10**9 and
      [r["unix_ns"] for r in got] == sorted(r["unix_ns"] for r in got), stamps)
check("bins: they name host and trace", {(r["host"], r["trace_id"]) for r in got} ==
      {tuple(t.one("SELECT value FROM info WHERE key = '%s'" % k) for k in
      ("host", "trace.uuid"))}, got[:1])
early = lines("before_the_end")
check("bins: they come while it is recorded", len({r["unix_ns"] for r in early}) >= 7 and got[:len(early)] == early,
      len(early))
steady = [[sure(r) for r in rows if r["name"] in ("", "busy_threads")] for rows in (got, want)]
check("bins: %d lines of a name and of the machine are those of the report" % len(steady[0]), len(steady[0]) > 14
      and not differ(*steady), differ(*steady))


def sums(rows):
    found = {}
    for r in rows:
        bin = found.setdefault(r["unix_ns"], {})
        for k, v in r.items():
            if k in ("running_ns", "preempted_ns", "disk_ns", "rss_grown_bytes", "ios", "io_bytes", "lat_sum_ns",
                     "lat_ios"):
                bin[k] = bin.get(k, 0) + v
    return found


lost = [[sum(r.get("lost_events", 0) for r in rows) for rows in (got, want)]
        for got, want in ((got, want), (lines("cpu.jsonl"), lines("cpu.after")))]
check("bins: losses too, or they are those that came to light later",
      all(a == b if not LATER else a <= b for a, b in lost), lost)
check("bins: so are the sums of each bin", sums(got) == sums(want),
      [(k, v, sums(want).get(k)) for k, v in sums(got).items() if v != sums(want).get(k)][:2])
all_ios = t.one("SELECT sum(ios) FROM io_usage(NULL, NULL, 0, 'device')")
# a request that was in flight when the recording began has no latency
timed = t.one("SELECT count(latency_ns) FROM block_requests WHERE end_ns NOT NULL")
steps, ios = [sum(r.get(k, 0) for r in got) for k in ("lat_ios", "ios")]
check("bins: steps of the latency add up to all requests that have one", steps == timed and ios == all_ios > 100
      and ios - timed <= 4, (steps, timed, ios, all_ios))
near("bins: the parts that were recorded are the recording", sum(r["bin_ns"] for r in machine),
     t.one("SELECT max(to_ns) FROM blocks"))
