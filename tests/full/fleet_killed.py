# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by fleet.sh."""
import urllib.parse
import urllib.request
from fleet_questions import *
tmp, hosts = os.environ["tmp"], ["host%d" % i for i in range(int(os.environ["rounds"]) + 1)]


def ask(query):
    url = "http://127.0.0.1:%s/?%s" % (os.environ["http_0"], urllib.parse.urlencode({"query": query}))
    with urllib.request.urlopen(url, b"", timeout=60) as f:
        return [["" if v == "\\N" else number(v) for v in line.split("\t")] for line in f.read().decode().splitlines()]


missing = ask("SELECT host, of, sent_rows, arrived_rows FROM loads WHERE NOT whole")
check("killed: all loads are whole", not missing, missing)
loads = ask("SELECT uniq(host), uniq(load), countIf(doubled) > 0 FROM loads")
check("killed: and none is without its row", loads[0][:2] == [len(hosts), 2 * len(hosts)], loads)
traces = {h: Host("%s/%s/trace" % (tmp, h)) for h in hosts}
tables = os.environ["tables"].split(",")
want = {h: t.sql("SELECT " + ", ".join("(SELECT count(*) FROM %s) AS %s" % (n, n) for n in tables))[0] for h,
        t in traces.items()}
for n in tables:
    got = sorted(ask("SELECT host, count(), uniqExact(row) FROM %s GROUP BY host" % n))
    expected = sorted([h, want[h][n], want[h][n]] for h in hosts if want[h][n])
    check("killed: all rows of %s, and none twice" % n, got == expected and got,
          [r for r in got + expected if r not in got or r not in expected])
got = sorted(ask("SELECT host, name, sum(running_ns) AS ns FROM comm_bins GROUP BY host, name HAVING ns > 0"))
states = sorted(r for r in added([((h, r["comm"]), r) for h, t in traces.items() for r in t.states("comm")],
                                 "running_ns") if r[2])
check("killed: CPU time of every name on every host is what reports say", got == states and len(got) > len(hosts),
      (got[:5], states[:5]))
