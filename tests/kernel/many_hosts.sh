#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Several traces at once: two recordings lie on one axis where the wall clock says they do, and their rows are those
# of each alone. Many: the tables of several hosts in a column store give the sums that each trace gives.
. "$(dirname "$0")/harness.bash"

recorded a -e sched -- "$WORK/busy_threads" one 300
sleep 0.3
recorded b -e sched -- "$WORK/busy_threads" one 300
sed -i 's/^host=.*/host=other/' "$tmp/b/manifest"

checker <<'EOF_PY'
import subprocess
from trace_query import *
tmp = os.environ["tmp"]
a, b = Trace(tmp + "/a"), Trace(tmp + "/b")
START = "SELECT real_ns - ts_ns AS ns FROM clocks ORDER BY ts_ns LIMIT 1"
apart = b.one(START) - a.one(START)
p = subprocess.run([EBPFREC, "report", "cpu", "--format", "csv", "-i", a.path, b.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
rows = rows_of(p.stdout)
for host, t in ((a.one("SELECT value FROM info WHERE key = 'host'"), a), ("other", b)):
    mine = [{k: v for k, v in r.items() if k != "host"} for r in rows if r["host"] == host]
    check("hosts: rows of %s are those of its trace alone" % host, mine == t.report("cpu") and len(mine) > 1, mine[:2])
check("hosts: the uncertainty is said", "aligned by wall clock" in p.stderr and "not known" in p.stderr, p.stderr)
rows = rows_of(run("report", "timeline", "--every", "100ms", "--format", "csv", "-i", a.path, b.path))
first = min(r["t_ns"] for r in rows if r["host"] == "other")
check("hosts: bins of both are the axis' own", all(r["t_ns"] % 100_000_000 == 0 for r in rows), first)
check("hosts: the second begins where the wall clock says (%d ms later)" % (apart // 1_000_000),
      first <= apart < first + 100_000_000 and min(r["t_ns"] for r in rows) == 0, (first, apart))
window = ["--from", "%dns" % (apart + 50_000_000), "--to", "%dns" % (apart + 150_000_000)]
rows = [r for r in rows_of(run("report", "cpu", "--format", "csv", *window, "-i", a.path, b.path)) if r["host"] == "other"]
alone = b.report("cpu", "--from", "50ms", "--to", "150ms")
busy = max(alone, key=lambda r: r["oncpu_ns"])
near("hosts: a window of the axis", next(r["oncpu_ns"] for r in rows if r["pid"] == busy["pid"]), busy["oncpu_ns"], absolute=2_000_000)
EOF_PY

server=$(PATH=$PATH:/usr/sbin command -v clickhouse-server)
[ -n "$server" ] || { skip "hosts_column_store" "clickhouse-server is not installed"; exit; }
mkdir -p "$tmp/store/data" "$tmp/store/tmp"
port=$((20000 + RANDOM % 10000))
cat >"$tmp/store/users.xml" <<END
<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>
END
cat >"$tmp/store/config.xml" <<END
<yandex><logger><level>warning</level><log>$tmp/store/log</log><errorlog>$tmp/store/err</errorlog></logger>
<http_port>$port</http_port><listen_host>127.0.0.1</listen_host>
<path>$tmp/store/data/</path><tmp_path>$tmp/store/tmp/</tmp_path><mark_cache_size>67108864</mark_cache_size>
<users_config>$tmp/store/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database></yandex>
END
"$server" --config-file="$tmp/store/config.xml" >"$tmp/store/out" 2>&1 &
wait_for "the column store answers" 30 "(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null" ||
	{ skip "hosts_column_store" "clickhouse-server does not start: $(tail -n 1 "$tmp/store/err" "$tmp/store/out" 2>&1 | tr '\n' ' ')"; exit; }
export port schema=$top/schema/hosts.clickhouse
checker <<'EOF_PY'
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from trace_query import *
tmp, url = os.environ["tmp"], "http://127.0.0.1:%s/" % os.environ["port"]


def ask(query, data=None):
    body = query.encode() if data is None else data
    try:
        with urllib.request.urlopen(url if data is None else url + "?query=" + urllib.parse.quote(query), body, 60) as f:
            return [line.split("\t") for line in f.read().decode().splitlines()]
    except urllib.error.HTTPError as e:
        sys.exit("%s: %s" % (query, e.read().decode()[:300]))


tables = []
for statement in re.sub("(?m)^--.*$", "", open(os.environ["schema"]).read()).split(";"):
    if statement.strip():
        ask(statement)
        tables += re.findall(r"CREATE TABLE ebpfrec_(\w+)", statement)
for trace in "ab":
    for table in tables:
        p = subprocess.run([EBPFREC, "export", "-q", "-i", "%s/%s" % (tmp, trace), "--to", "csv", "--with-host", "-t", table, "-o", "-"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        ask("INSERT INTO ebpfrec_%s FORMAT CSVWithNames" % table, p.stdout)
hosts = ask("SELECT DISTINCT host FROM ebpfrec_sched_slices ORDER BY host")
check("column store: both hosts are in it", len(hosts) == 2, hosts)
for trace in "ab":
    t = Trace("%s/%s" % (tmp, trace))
    host = t.one("SELECT value FROM info WHERE key = 'host'")
    mine = list(t.sql("SELECT count(*), sum(dur_ns), sum(wait_ns), sum(wait_ns > 0) FROM sched_slices")[0].values())
    got = [int(v) for v in ask("SELECT count(), sum(dur_ns), sum(wait_ns), countIf(wait_ns > 0) FROM ebpfrec_sched_slices WHERE host = '%s'" % host)[0]]
    check("column store: slices of %s" % trace, got == mine and got[0] > 10, (got, mine))
    for table in ("processes", "threads"):
        got = [int(v) for v in ask("SELECT count(), countIf(start_ns != 0), sum(is_workload) FROM ebpfrec_%s WHERE host = '%s'" % (table, host))[0]]
        mine = list(t.sql("SELECT count(*), count(start_ns), sum(is_workload) FROM %s" % table)[0].values())
        check("column store: %s of %s" % (table, trace), got == mine and got[0] > 10, (got, mine))
    first = int(ask("SELECT min(unix_ns) FROM ebpfrec_sched_slices WHERE host = '%s'" % host)[0][0])
    near("column store: wall clock of %s" % trace, first, t.one("SELECT real_ns - ts_ns FROM clocks ORDER BY ts_ns LIMIT 1"), absolute=1_000_000)
busy = ask("SELECT host, comm, sum(dur_ns) AS ns FROM ebpfrec_sched_slices ANY LEFT JOIN "
           "(SELECT host, utid, comm FROM ebpfrec_threads) USING host, utid WHERE comm = 'busy_threads' GROUP BY host, comm ORDER BY host")
mine = sum(Trace("%s/%s" % (tmp, trace)).one("SELECT sum(dur_ns) FROM sched_slices JOIN threads USING (utid) WHERE comm = 'busy_threads'") for trace in "ab")
check("column store: one question to all hosts", len(busy) == 2 and sum(int(r[2]) for r in busy) == mine, (busy, mine))
EOF_PY
