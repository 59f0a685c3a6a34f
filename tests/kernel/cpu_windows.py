# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by cpu_windows.sh."""
import bisect
import random
from trace_query import *

t = Trace(os.environ["tmp"] + "/mixed")
seed = int.from_bytes(os.urandom(4), "little")
random.seed(seed)
span = t.one("SELECT max(to_ns) FROM blocks")
cpus = [r["cpu"] for r in t.sql("SELECT cpu FROM cpus ORDER BY cpu")]
check("windows: the trace knows this machine's CPUs", cpus == list(range(os.cpu_count())), cpus)

# The threads according to the switches alone: per CPU a list of (instant, thread that runs after it).
hidden = t.hidden()
line = {c: [] for c in cpus}
starts = [r["from_ns"] for r in t.sql("SELECT from_ns FROM blocks ORDER BY from_ns")]
for r in t.sql("SELECT ts_ns, cpu, utid, next_utid, stay_ns FROM switches ORDER BY ts_ns"):
    points = line[r["cpu"]]
    if not points:
        points.append((0, r["utid"]))
    elif points[-1][1] != r["utid"]:
        points[-1] = (points[-1][0], 1)		# who leaves is not who came: nobody knows who ran in between
        if r["stay_ns"]:	# but the kernel knows since when the one that leaves has been there
            block = starts[max(bisect.bisect_right(starts, r["ts_ns"]) - 1, 0)]
            points.append((max(r["ts_ns"] - r["stay_ns"], block), r["utid"]))
    points.append((r["ts_ns"], 1 if r["next_utid"] in hidden else r["next_utid"]))
gaps = t.gaps()
check("windows: every CPU's switches join up", not gaps, "%d times not: %s" % (len(gaps), gaps[:2]))
check("windows: every CPU switched", all(line.values()), {c: len(v) for c, v in line.items()})

def brute(lo, hi):
    """{(cpu, utid): ns} of the window, from the switches alone"""
    ret = {}
    for c, points in line.items():
        i = max(bisect.bisect_right(points, (lo, 1 << 60)) - 1, 0)
        while i < len(points) and points[i][0] < hi:
            end = points[i + 1][0] if i + 1 < len(points) else span
            ns = min(end, hi) - max(points[i][0], lo)
            if ns > 0:
                ret[c, points[i][1]] = ret.get((c, points[i][1]), 0) + ns
            i += 1
    return ret

def asked(lo, hi, every=0):
    ret = {}
    for r in windows[lo, hi, every]:
        key = r["cpu"], 1 if r["utid"] in hidden else r["utid"]
        ret[key] = ret.get(key, 0) + r["oncpu_ns"]
    return {k: v for k, v in ret.items() if v}

# All windows in one question: starting a process for each would take most of this test's time.
triples = []
for i in range(120):
    a, b, c = sorted(random.sample(range(0, span + 1), 3))
    if i % 10 == 0:		# very short ones too
        b, c = a + 1 + i, a + 2000 + i
    if i % 10 == 1:		# and edges that fall exactly on a switch
        a, b, c = sorted(random.choice(line[cpus[-1]])[0] for _ in range(3))
    if a < b < c <= span:
        triples.append((a, b, c))
want = [(a, b) for a, b, c in triples] + [(b, c) for a, b, c in triples] + [(a, c) for a, b, c in triples]
windows = {}
for i in range(0, len(want), 40):
    for r in t.sql(" UNION ALL ".join("SELECT %d AS lo, %d AS hi, cpu, utid, oncpu_ns FROM cpu_usage(%d, %d, 0)" %
                                      (w + w) for w in want[i:i + 40])):
        windows.setdefault((r["lo"], r["hi"], 0), []).append(r)

bad_sum, bad_add, bad_brute, over = [], [], [], []
for a, b, c in triples:
    left, right, both = asked(a, b), asked(b, c), asked(a, c)
    for cpu in cpus:
        total = sum(v for (k, u), v in both.items() if k == cpu)
        if total != c - a:
            bad_sum.append("CPU %d [%d, %d): %d of %d ns" % (cpu, a, c, total, c - a))
    added = {k: left.get(k, 0) + right.get(k, 0) for k in set(left) | set(right)}
    if added != both:
        bad_add.append("[%d, %d, %d)" % (a, b, c))
    plain = brute(a, c)
    if both != plain:
        diff = {k: (both.get(k), plain.get(k)) for k in set(both) | set(plain) if both.get(k) != plain.get(k)}
        bad_brute.append("[%d, %d): (cpu, utid): (answer, from switches) %s" % (a, c, dict(list(diff.items())[:3])))
    per_thread = {}
    for (cpu, utid), v in both.items():
        if utid >= 16:
            per_thread[utid] = per_thread.get(utid, 0) + v
    over += ["utid %d: %d of %d ns" % (u, v, c - a) for u, v in per_thread.items() if v > c - a]

check("windows: at least 100 were tried", len(triples) >= 100, "%d, seed %d" % (len(triples), seed))
check("windows: all tasks + idle = the window on every CPU", not bad_sum, "%d times, seed %d: %s" %
      (len(bad_sum), seed, bad_sum[:3]))
check("windows: neighbours add up exactly", not bad_add, "%d times, seed %d: %s" % (len(bad_add), seed, bad_add[:3]))
check("windows: equal to a count from the switches alone", not bad_brute, "%d times, seed %d: %s" %
      (len(bad_brute), seed, bad_brute[:3]))
check("windows: no thread above 100 %", not over, over[:3])

# The same through the report, for some of them.
bad = []
for a, b, c in triples[:6]:
    for rows, args in ((t.report("cpu", "--with-idle", "--with-recorder", "--by", "thread", *t.window(a, c)), "one"),
                       (t.report("cpu", "--with-idle", "--with-recorder", "--every", "%dns" % max((c - a) // 7, 1),
                                 *t.window(a, c)), "every")):
        total = sum(r["oncpu_ns"] for r in rows)
        if total != (c - a) * len(cpus):
            bad.append("%s [%d, %d): %d, not %d" % (args, a, c, total, (c - a) * len(cpus)))
check("windows: report cpu --with-idle covers every CPU, in one and in bins", not bad, bad)

by_cpu = t.report("cpu", "--with-idle", "--with-recorder", "--by", "cpu")
check("windows: report cpu --by cpu: busy + idle + unknown is all of each CPU", len(by_cpu) == len(cpus) and
      all(r["oncpu_ns"] + r["idle_ns"] + r["unknown_ns"] + r["other_ns"] == span for r in by_cpu), by_cpu)
