# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by request_causes.sh."""
import textwrap
from trace_query import *
WANTED = {"lock": r"for lock audit_lock \(request_causes\), held by audit \(\d+\): .*disk \d+ %",
          "disk": r"for a disk: .*/cold, while neighbour moved \d", "cpu": r"for a CPU, behind hog \(\d+\)",
          "quota": r"throttled for \d.* by a quota of CPU time",
          "peer": r"for sockets: .*, ended by peer \(\d+\): timer \d+ %",
          "faults": r"for a disk in page faults", "burst": r"on CPUs,.* while the process grew by (6[4-9]|70)\.\d MiB",
          "stop": r"stopped for (19|2\d)\.\d ms, until stopper: timer \d+ %",
          "datagram": r"for sockets: .*, until a timeout", "function": r"on CPUs, \d\d % of it in slow_path"}
for cause in os.environ["causes"].split():
    t = Trace(tmp + "/" + cause)
    wrong = t.sql("SELECT r.id AS id, r.dur_ns AS dur_ns, sum(x.dur_ns) AS parts_ns FROM requests AS r LEFT JOIN "
                  "request_time AS x ON x.id = r.id GROUP BY r.id HAVING sum(x.dur_ns) IS NOT r.dur_ns")
    check("%s: the parts of each of 200 requests are its length" % cause,
          not wrong and t.one("SELECT count(*) FROM requests WHERE end_ns NOTNULL") == 200, wrong)
    said = [r["value"] for r in rows_of(run("report", "-i", t.path, "why", "--requests", "GET", "--format", "csv"))
            if r["section"] == "In short"]
    # a path is as long as the test's directory makes it
    lines = [line for s in said for line in textwrap.wrap(s.replace(tmp, "/srv"), 80)][:3]
    check("%s: the first three lines name it" % cause, re.search(WANTED[cause], " ".join(lines)), said)
    slow = t.one("SELECT id FROM requests ORDER BY dur_ns DESC LIMIT 1")
    rows = rows_of(run("report", "-i", t.path, "why", "--request", str(slow), "--format", "csv"))
    sums = [sum(int(r["value"]) for r in rows if r["section"] == s and r["name"] == n)
            for s, n in (("Parts", "time_ns"), ("Path", "path_ns"))]
    want = t.one("SELECT dur_ns FROM requests WHERE id = %d" % slow)
    check("%s: the slowest one's parts and path are its length" % cause, sums == [want, want], (sums, want))
