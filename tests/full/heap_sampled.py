# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by heap_programs.sh."""
import shutil
import statistics
from trace_query import *

RUNS, SIZE, TURNS = 10, 512 << 10, 9
# a site of at least 12 times SIZE is missed with the probability exp(-12), and its place is right to a third
SURE = 12
SITES = """SELECT coalesce(symbol, call_site) AS site, sum(heap_bytes(bytes)) AS bytes FROM allocations
            WHERE source = 'heap' GROUP BY 1 ORDER BY 2 DESC"""


def programs():
    made = tmp + "/made.c"
    with open(made, "w") as f:
        for i in range(400):
            f.write("struct s%d { int a, b[8]; };\nint f%d(struct s%d *s, int n) { int t = 0; for (int i = 0; i < n; "
                    "i++) t += s->b[i & 7] * %d + (i %% 3 ? s->a : t >> 2); return t; }\n" % (i, i, i, i))
    if shutil.which("gcc"):
        cc1 = subprocess.check_output(["gcc", "-print-prog-name=cc1"], text=True).strip()
        yield "gcc", [cc1, "-quiet", "-O2", "-o", "/dev/null", made]
    yield "python", [os.path.realpath(sys.executable), "-c", "import json\n"
                     "rows = [{'key%d' % i: list(range(i % 50)), 'text': 'x' * (600 + i % 900)} for i in range(80000)]"
                     "\nassert json.loads(json.dumps(rows)) == rows"]
    if shutil.which("sqlite3"):
        yield "sqlite3", ["sqlite3", ":memory:", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                          "i < 250000) SELECT count(*) FROM (SELECT i % 1000 AS k, group_concat(i) AS t, "
                          "max(hex(i * 7919)) FROM n GROUP BY k ORDER BY t)"]


def record(name, options, command):
    p = subprocess.run([EBPFREC, "record", "-f", "-o", tmp + "/" + name, "-e", "alloc.heap,task", *options, "--",
                        *command], capture_output=True, text=True, env=dict(os.environ, PYTHONHASHSEED="0"))
    check("heap_sampled: %s is recorded, without losses" % name, p.returncode == 0 and " 0 lost" in p.stderr, p.stderr)
    return Trace(tmp + "/" + name), p.stdout


def samples_tell_of_the_whole(name, command):
    full = record("full", ["--heap-wait"], command)[0].sql(SITES)
    total = sum(r["bytes"] for r in full)
    sure = [r["site"] for r in full[:10] if r["bytes"] >= SURE * SIZE]
    inside = found = 0
    for _ in range(RUNS):
        t = record("sampled", ["--heap=%d" % SIZE], command)[0]
        rows = t.sql(SITES)
        estimate = sum(r["bytes"] for r in rows)
        inside += abs(estimate - total) <= t.one("SELECT heap_error(%d)" % estimate)
        found += set(sure) <= {r["site"] for r in rows[:12]}
    check("heap_sampled: %s: the %d large ones of the top ten sites are among the top twelve of samples" %
          (name, len(sure)), sure and found >= 9, (found, RUNS))
    return inside


def pairs_take_5_ns_more():
    took, pairs = {"none": [], "sampled": []}, [tmp + "/pairs", "3000000", "0"]
    for _ in range(TURNS):
        alone = subprocess.run(pairs, capture_output=True, text=True).stdout
        sampled = record("took", ["--heap=%d" % SIZE], pairs)[1]
        for side, out in (("none", alone), ("sampled", sampled)):
            took[side].append(float(re.search("^cpu_ns_per_op=(.*)", out, re.M)[1]))
    more = statistics.median(took["sampled"]) - statistics.median(took["none"])
    check("heap_sampled: a pair takes at most 5 ns more", more <= 5, took)


all_inside = [samples_tell_of_the_whole(*x) for x in programs()]
# of 30 intervals of 90 %, fewer than 22 have the truth in one test of 500
check("heap_sampled: totals are within their error in the runs",
      sum(all_inside) >= 22 / 30 * RUNS * len(all_inside), all_inside)
pairs_take_5_ns_more()
