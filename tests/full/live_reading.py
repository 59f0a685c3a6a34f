# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by live_reading.sh."""
from trace_query import *
import shutil

kind, tmp = os.environ["kind"], os.environ["tmp"]
path = tmp + "/" + kind
bad, last, rounds, starts = [], None, 0, set()
first = None
at_least, at_most = time.monotonic() + 6, time.monotonic() + 90

def enough():
    """rounds, and what is to be seen in them: answers about the first second, or a beginning that moves"""
    return rounds >= 5 and (first is not None if kind == "growing" else len(starts) >= 3)

def ask(*args):
    p = subprocess.run([EBPFREC, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")
    if p.returncode or "damage" in err:
        bad.append("%s: status %d: %s" % (" ".join(args), p.returncode, err))
        return None
    return rows_of(out) if "csv" in args else out

while not bad and time.monotonic() < at_most and (time.monotonic() < at_least or not enough()):
    rounds += 1
    info = ask("info", "-i", path, "--format", "csv")
    # one answer of one moment: the account of every CPU, and its reference
    acct = ask("sql", "-i", path, "--format", "csv",
               "SELECT cpu, sum(oncpu_ns) AS ns, (SELECT max(to_ns) FROM blocks) AS span, "
               "(SELECT value FROM info WHERE key = 'state') AS state FROM cpu_usage(0, 1 << 62, 0) GROUP BY cpu")
    report = ask("report", "-i", path, "cpu", "--with-idle", "--by", "cpu", "--format", "csv")
    if bad:
        break
    facts = {(r["section"], r["name"]): r["value"] for r in info}
    if len(acct) != os.cpu_count() or any(r["ns"] != r["span"] for r in acct):
        bad.append("tasks and idle are not the window: %s" % acct)
    if facts["trace", "state"] != "recording":
        bad.append("state: %s" % facts["trace", "state"])
    begin, end = facts["trace", "start_mono_ns"], facts["trace", "start_mono_ns"] + facts["trace", "duration_ns"]
    starts.add(begin)
    if last and (begin < last[0] or end < last[1]):
        bad.append("went back: from %s to %s" % (last, (begin, end)))
    last = begin, end
    if kind == "growing":
        # the past does not change
        n = ask("sql", "-i", path, "--format", "csv", "SELECT count(*) AS n, sum(ts_ns) AS s FROM switches WHERE "
                "ts_ns < 1000000000") if end - begin > 2e9 else None
        if n and first is None:
            first = n
        if n and n != first:
            bad.append("the first second changed: %s, then %s" % (first, n))
        if rounds == 3:
            ask("export", "-i", path, "--to", "csv", "-o", tmp + "/export")
            shutil.rmtree(tmp + "/export", ignore_errors=True)
check("live, %s: %d rounds of answers, all consistent" % (kind, rounds), rounds >= 5 and not bad, bad or rounds)
if kind == "growing":
    check("live, growing: the first second was asked for, too", first and first[0]["n"] > 0, first)
    open(tmp + "/first", "w").write("%s,%s" % (first[0]["n"], first[0]["s"]) if first else "none")
else:
    check("live, kept: the beginning moved while it was read", len(starts) >= 3, starts)
