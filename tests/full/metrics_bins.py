# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by metrics.sh."""
from trace_query import *
import urllib.error
import urllib.parse
import urllib.request


def ask(query, data=b"", **settings):
    url = "http://127.0.0.1:%s/?%s" % (os.environ["http_0"], urllib.parse.urlencode({"query": query, **settings}))
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=60) as f:
            return f.read().decode().splitlines()
    except urllib.error.HTTPError as e:
        sys.exit("%s: %s" % (query[:200], e.read().decode()[:300]))


for statement in run("export", "--to", "clickhouse", "--schema").split(";\n"):
    if "comm_bins_here (" in statement:
        ask(statement)
rows = [json.loads(line) for line in open(tmp + "/bins.jsonl")]
client = ["clickhouse-client", "--port", os.environ["tcp_0"], "--input_format_skip_unknown_fields", "1", "-q"]
subprocess.run([*client, "INSERT INTO comm_bins_here FORMAT JSONEachRow"], stdin=open(tmp + "/bins.jsonl"), check=True)
columns = [c for c in ask("SELECT name FROM system.columns WHERE table = 'comm_bins_here'")
           if any(c in r for r in rows)]
got = [json.loads(line) for line in ask("SELECT %s FROM comm_bins_here FORMAT JSONEachRow" % ", ".join(columns),
                                        output_format_json_quote_64bit_integers=0)]


def key(row):
    return sorted((k, v) for k, v in row.items() if v not in (None, ""))


check("bins: %d rows with %d columns arrive in ClickHouse as they are" % (len(got), len(columns)), len(columns) > 15
      and sorted(map(key, got)) == sorted(key({k: v for k, v in r.items() if k != "t_ns"}) for r in rows),
      (got[:1], rows[:1]))
