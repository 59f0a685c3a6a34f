# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
requests: programs that tell of requests, with their own clock before and after each event, and checks that the trace
has exactly these events, each between the two readings.
"""
import json
import os
import subprocess
import sys
import threading
import time


def write(path):
    """Through --span-fd 9: two threads at once, more than the socket holds, and a shell."""
    said = []
    lock = threading.Lock()

    def worker(base):
        tid = threading.get_native_id()
        mine = []
        for i in range(base, base + 10000):
            for line in ("begin GET /a b %d", "step parse", "end %d"):
                text = line % i if "%" in line else line
                before = time.monotonic_ns()
                os.write(9, ("%s tid=%d\n" % (text, tid)).encode())
                mine.append((before, time.monotonic_ns(), tid, text))
        with lock:
            said.extend(mine)
    threads = [threading.Thread(target=worker, args=(base,)) for base in (100000, 200000)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    before = time.monotonic_ns()
    shell = subprocess.Popen(["sh", "-c", "echo begin deploy 17 >&9; echo nonsense >&9; echo fail 17 >&9"],
                             pass_fds=[9])
    shell.wait()
    after = time.monotonic_ns()
    for text in ("begin deploy 17", "fail 17"):
        said.append((before, after, shell.pid, text))
    with open(path, "w") as f:
        json.dump(said, f)


def line_of(row):
    """The line that makes such a row."""
    return row["action"] + ("" if row["name"] in (None, "") else " " + row["name"]) + (" %d" % row["id"] if row["id"]
                                                                                        else "")


def compare(name, t, said, error_ns=0):
    """The trace's events are those that the program tells of: each thread's in its order, each in its time."""
    from trace_query import check
    rows = t.sql("SELECT s.ts_ns, h.tid, s.action, n.name AS name, s.id FROM span_events s JOIN threads h USING (utid) "
                 "LEFT JOIN names n ON n.type = 'span' AND n.id = s.name ORDER BY s.ts_ns")
    check(name + ": as many events", len(rows) == len(said), "%d of %d" % (len(rows), len(said)))
    got, want = {}, {}
    for r in rows:
        got.setdefault(r["tid"], []).append((line_of(r), t.start_ns + r["ts_ns"]))
    for before, after, tid, text in sorted(said):
        want.setdefault(tid, []).append((text, before, after))
    wrong = [(tid, g, w) for tid in want for g, w in zip(got.get(tid, []), want[tid]) if g[0] != w[0]]
    check(name + ": each thread's, in its order", got.keys() == want.keys() and not wrong,
          "%s %s %s" % (sorted(got), sorted(want), wrong[:3]))
    wrong = [(g, w) for tid in want for g, w in zip(got.get(tid, []), want[tid])
             if not w[1] - error_ns <= g[1] <= w[2] + error_ns]
    check(name + ": each between two readings of the program's clock", not wrong, "%d: %s" % (len(wrong), wrong[:3]))


def check_lines(path, said, err):
    from trace_query import Trace, check
    t = Trace(path)
    compare("lines", t, json.load(open(said)))
    lost = t.sql("SELECT source, lost_cnt, other_cnt FROM losses WHERE class = 'app'")
    check("lines: a bad line is lost, and shown", lost == [{"source": "app.span", "lost_cnt": 1, "other_cnt": 1}] and
          "'nonsense'" in open(err).read(), "%s %s" % (lost, open(err).read()))


def check_calls(path, said):
    from trace_query import Trace
    rows = json.loads("[" + open(said).read().rstrip().rstrip(",") + "]")
    compare("functions and USDT probes", Trace(path), rows)


def check_spans(path, said):
    from trace_query import Trace, check
    t = Trace(path)
    rows = json.loads("[" + open(said).read().rstrip().rstrip(",") + "]")
    # the counter's time is converted by the recorder, which says how exactly
    error = [line.split("=")[1] for line in open(path + "/manifest") if line.startswith("spans.clock_error_ns")]
    compare("ebpfrec.h", t, rows, int(error[0]))
    lost = t.sql("SELECT sum(lost_cnt) AS lost FROM losses WHERE class = 'app'")
    check("ebpfrec.h: nothing is lost", not lost or not lost[0]["lost"], lost)


if __name__ == "__main__":
    {"write": write, "check-lines": check_lines, "check-calls": check_calls,
     "check-spans": check_spans}[sys.argv[1]](*sys.argv[2:])
