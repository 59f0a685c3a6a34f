# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
check.py ASK_MJS ENGINES DIR: DIR/host0 and so on are traces. See run.sh.
"""
import json
from fleet_questions import *

ASK_MJS, ENGINES, DIR = sys.argv[1:]
HOSTS = {h: Host(DIR + "/" + h) for h in sorted(os.listdir(DIR)) if h.startswith("host")}
ROLLOUT_NS = 1_700_001_002 * SECOND  # generated traces begin two seconds before


class Engine:
    def __init__(self, name):
        self.node = subprocess.Popen(["node", ASK_MJS, name, ENGINES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def try_to(self, query):
        """rows, or the error's text"""
        self.node.stdin.write(json.dumps(query) + "\n")
        self.node.stdin.flush()
        line = self.node.stdout.readline()
        answer = json.loads(line) if line else {"error": "it ended"}
        if "error" in answer:
            return answer["error"]
        return [[number(v) if isinstance(v, str) else v for v in row] for row in answer["rows"]]

    def ask(self, query):
        rows = self.try_to(query)
        if isinstance(rows, str):
            sys.exit("%s: %s" % (query[:300], rows[:500]))
        return rows

    def end(self):
        self.node.stdin.close()
        self.node.wait()


def export(host, to, *args):
    """the new file or directory"""
    path = "%s/%s%s.%s" % (DIR, host, "".join(args[-1:]).replace(",", "-"), to)
    run("export", "-q", "-i", HOSTS[host].path, "-o", path, "--to", to, *args)
    return path


# ---- chdb ----

def check_chdb():
    engine = Engine("chdb")
    for statement in run("export", "--to", "clickhouse", "--schema").split(";\n"):
        if statement.strip():
            engine.ask(statement)
    row = ", ".join("%s %s" % tuple(r[:2]) for r in engine.ask("DESCRIBE landing"))

    def send(path, part=""):
        engine.ask("INSERT INTO landing SELECT * FROM file('%s', 'RowBinary', '%s') %s" % (path, row, part))

    def missing():
        return engine.ask("SELECT host, of, sent_rows, arrived_rows FROM loads WHERE NOT whole")

    def seen():
        return engine.ask("SELECT (SELECT count() FROM wakeups WHERE host = 'host2'), (SELECT count() FROM sched_slices WHERE host = 'host2')")[0]

    for host in HOSTS:
        for keys in (["--every", "1s"], ["--every", "1s", "--by", "unit"], ["--every", "1s", "--by", "user"], []):
            path = export(host, "clickhouse", *keys)
            if host == "host2" and not keys:
                rows = engine.ask("SELECT count() FROM file('%s', 'RowBinary', '%s')" % (path, row))[0][0]

                def send_rows(begin, end):
                    send(path, "LIMIT %d OFFSET %d" % (end - begin, begin))

                middle = rows // 3
                send_rows(middle, 2 * middle)
                send_rows(0, 2 * middle)
                send_rows(rows // 6, middle)
                check("chdb: what arrived in part is seen, and does not count", len(missing()) > 5 and seen() == [0, 0], (missing(), seen()))
                send_rows(2 * middle + 1, rows)
                check("chdb: of all rows but one, one table is not whole", len(missing()) == 1 and missing()[0][2] - missing()[0][3] == 1, missing())
                send_rows(2 * middle - 50, 2 * middle + 50)
                check("chdb: pieces that overlap make it whole", not missing(), missing())
            else:
                send(path)
    check("chdb: all is whole", not missing(), missing())
    before = engine.ask("SELECT * EXCEPT doubled FROM loads ORDER BY host, of, load")
    send(path)
    after = engine.ask("SELECT * EXCEPT doubled FROM loads ORDER BY host, of, load")
    check("chdb: the same bytes once more change nothing", after == before and
          engine.ask("SELECT DISTINCT host FROM loads WHERE doubled ORDER BY host") == [["host2"], ["host3"]], (after, before))

    for h, t in HOSTS.items():
        tables = [line.split()[0] for line in run("export", "--list").splitlines()]
        want = t.sql("SELECT " + ", ".join("(SELECT count(*) FROM %s) AS %s" % (n, n) for n in tables))[0]
        got = engine.ask("SELECT " + ", ".join("(SELECT count() FROM %s WHERE host = '%s') AS %s" % (n, h, n) for n in tables))[0]
        check("chdb: all rows of all tables of %s, and none twice" % h, got == [want[n] for n in tables] and len(tables) > 30, (got, want))
    for key in ("comm", "unit", "user"):
        want = sorted(r for h, t in HOSTS.items() for r in added([((h, r[key]), r) for r in t.states(key)], "running_ns"))
        got = engine.ask("SELECT host, name, sum(running_ns) AS ns FROM %s_bins WHERE name != '' GROUP BY host, name ORDER BY host, name" % key)
        check("chdb: bins by %s" % key, [r for r in got if r[2]] == [r for r in want if r[2]] and len(got) >= len(HOSTS), (got, want))
    check_questions("chdb", engine.ask, HOSTS, ROLLOUT_NS)
    engine.end()


# ---- DuckDB ----

DUCKDB_TABLES = ("threads", "sched_slices", "block_requests", "slab_allocs")
DUCKDB_QUESTIONS = {
    "who used the CPUs": (
        "SELECT host, comm, sum(dur_ns)::BIGINT FROM sched_slices JOIN threads USING (host, utid) WHERE utid != 0 GROUP BY host, comm",
        lambda t: [[r["comm"], r["oncpu_ns"]] for r in t.by_comm("cpu") if r["oncpu_ns"]]),
    "requests": (
        "SELECT host, op, count(*), sum(bytes)::BIGINT, max(latency_ns) FROM block_requests WHERE end_ns IS NOT NULL GROUP BY host, op",
        lambda t: [[r["op"], r["ios"], r["bytes"], r["lat_max_ns"]] for r in t.report("io", "--by", "op", "--with-recorder")]),
    "slab memory": (
        "SELECT host, if(irq != 0, '[irq]', comm) AS name, count(*), sum(bytes)::BIGINT FROM slab_allocs JOIN threads USING (host, utid) "
        "WHERE irq != 0 OR utid != 0 GROUP BY host, name",
        lambda t: [[r["comm"], r["allocs"], r["alloc_bytes"]] for r in t.by_comm("alloc") if r["source"] == "slab"]),
}


def check_duckdb_questions(engine, of):
    for name, (query, want) in DUCKDB_QUESTIONS.items():
        want = sorted([h, *row] for h, t in HOSTS.items() for row in want(t))
        got = sorted(list(without_guard(dict(enumerate(r))).values()) for r in engine.ask(query))
        check("duckdb: %s of all hosts, from %s" % (name, of), got == want and len(got) >= len(HOSTS), (got, want))


def check_duckdb():
    engine = Engine("duckdb")
    for h in HOSTS:
        export(h, "csv", "--with-host", "-t", ",".join(DUCKDB_TABLES))
    for table in DUCKDB_TABLES:
        engine.ask("CREATE VIEW %s AS FROM read_csv('%s/*csv/%s.csv', union_by_name = true)" % (table, DIR, table))
    check_duckdb_questions(engine, "CSV")

    if isinstance(engine.try_to("LOAD sqlite"), str):
        print("SKIP duckdb_sqlite: DuckDB's extension sqlite is not installed; DuckDB reads CSV")
    else:
        for h in HOSTS:
            engine.ask("ATTACH '%s' AS %s (TYPE sqlite)" % (export(h, "sqlite"), h))
        for table in DUCKDB_TABLES:
            engine.ask("CREATE OR REPLACE VIEW %s AS %s" %
                       (table, " UNION ALL BY NAME ".join("SELECT '%s' AS host, * FROM %s.%s" % (h, h, table) for h in HOSTS)))
        check_duckdb_questions(engine, "SQLite")
    engine.end()


check_chdb()
check_duckdb()
