# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by fleet.sh."""
from fleet_questions import *
hosts = {m: Host("%s/%s/trace" % (tmp, m)) for m in os.environ["machines"].split()}
window = ["--from", os.environ["from"], "--until", os.environ["at"]]
running = [((r["comm"],), r) for t in hosts.values() for r in t.report("states", "--by", "comm", "--with-recorder",
    *window)]
want = {name: ns for name, ns in added(running, "running_ns") if ns > 50_000_000}
said = [line.split("\t") for line in open(tmp + "/said").read().splitlines()]
got = {name: int(ns) for name, _, ns in said}
check("events: all has arrived, and the answer names who used the CPUs", len(want) > 0 and set(want) <= set(got) and
      all(len(columns) == 3 for columns in said), (said, want))
for name, ns in want.items():
    # the recorder has read the clocks once more since the bins were sent, so the window's ends may be some ns elsewhere
    near("events: CPU time of %s is what reports say" % name, got.get(name), ns, rel=1e-4)
events = subprocess.check_output(["clickhouse-client", "-q", "SELECT host, count() FROM switches GROUP BY host ORDER "
                                  "BY host"], text=True)
rows = [["%s" % m, Host("%s/%s/minute" % (tmp, m)).one("SELECT count(*) FROM switches")] for m in sorted(hosts)]
check("events: all of the same minute", [[h, int(n)] for h, n in (line.split("\t")
    for line in events.splitlines())] == rows, (events, rows))
