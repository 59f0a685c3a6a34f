# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""migrate.py FACTS: moves itself 400 times, and writes what it knows about that; else: called by cpu_windows.sh."""
from trace_query import *

MOVES = """SELECT ts_ns, from_cpu, to_cpu FROM migrations JOIN threads ON threads.utid = target_utid
           WHERE tid = %d AND ts_ns >= %d AND ts_ns < %d ORDER BY ts_ns"""


def counted():
    try:
        return int(re.search(r"nr_migrations\s*:\s*(\d+)", open("/proc/self/sched").read()).group(1))
    except (OSError, AttributeError):
        return None


def work(facts):
    cpus = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, cpus[:1])
    before, start = counted(), time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    for i in range(400):
        os.sched_setaffinity(0, [cpus[(i + 1) % 2]])
    end, after = time.clock_gettime_ns(time.CLOCK_MONOTONIC), counted()
    json.dump({"cpus": cpus, "before": before, "after": after, "from": start, "to": end, "pid": os.getpid()},
              open(facts, "w"))


def check_moves():
    w = json.load(open(tmp + "/facts"))
    t = Trace(tmp + "/mixed")
    moves = t.sql(MOVES % (w["pid"], t.at(w["from"]), t.at(w["to"])))
    a, b = w["cpus"]
    wanted = [(a, b), (b, a)] * 200
    got = [(m["from_cpu"], m["to_cpu"]) for m in moves]
    check("migrate: 400 moves, to and fro", got == wanted, "%d moves, first %s" % (len(got), got[:4]))
    if w["before"] is None:
        print("SKIP migrate count: this kernel has no /proc/PID/sched")
    else:
        check("migrate: as many as the kernel counted", len(moves) == w["after"] - w["before"], "%d, kernel %d" %
              (len(moves), w["after"] - w["before"]))
    c = Trace(tmp + "/cut")
    check("migrate: a cut of the process has its moves", len(c.sql(MOVES % (w["pid"], -1 << 62, 1 << 62))) >= 400,
          open(tmp + "/cut.err").read())
    check("migrate: off unless asked for", Trace(tmp + "/without").one("SELECT count(*) FROM migrations") == 0, "rows")


if len(sys.argv) > 1:
    work(sys.argv[1])
else:
    check_moves()
