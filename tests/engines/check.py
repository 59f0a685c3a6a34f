# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
check.py ASK_MJS ENGINES DIR: DIR/host0 and so on are traces. See run.sh.
"""
import csv
import glob
import io
import json
from fleet_questions import *

ASK_MJS, ENGINES, DIR = sys.argv[1:]
HOSTS = {h: Host(DIR + "/" + h) for h in sorted(os.listdir(DIR)) if h.startswith("host")}
INSTANTS = {line.split()[0] for line in open(os.path.dirname(ASK_MJS) + "/../../schema/columns.decl")
            if re.match(r"\w+ instant", line)}
ROLLOUT_NS = 1_700_001_002 * SECOND  # generated traces begin two seconds before


class Engine:
    def __init__(self, name):
        self.node = subprocess.Popen(["node", ASK_MJS, name, ENGINES], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)

    def try_to(self, query):
        """rows, or the error's text"""
        self.node.stdin.write(json.dumps(query) + "\n")
        self.node.stdin.flush()
        line = self.node.stdout.readline()
        answer = json.loads(line) if line else {"error": "it ended"}
        return answer["error"] if "error" in answer else answer["rows"]

    def texts(self, query):
        """rows, as the engine gives them"""
        rows = self.try_to(query)
        if isinstance(rows, str):
            sys.exit("%s: %s" % (query[:300], rows[:500]))
        return rows

    def ask(self, query):
        """rows, with numbers where texts are some"""
        return [[number(v) if isinstance(v, str) else v for v in row] for row in self.texts(query)]

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
        return engine.ask("SELECT (SELECT count() FROM wakeups WHERE host = 'host2'), (SELECT count() FROM "
                          "sched_slices WHERE host = 'host2')")[0]

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
                check("chdb: what arrived in part is seen, and does not count", len(missing()) > 5 and seen() == [0, 0],
                      (missing(), seen()))
                send_rows(2 * middle + 1, rows)
                check("chdb: of all rows but one, one table is not whole", len(missing()) == 1
                      and missing()[0][2] - missing()[0][3] == 1, missing())
                send_rows(2 * middle - 50, 2 * middle + 50)
                check("chdb: pieces that overlap make it whole", not missing(), missing())
            else:
                send(path)
    check("chdb: all is whole", not missing(), missing())
    before = engine.ask("SELECT * EXCEPT doubled FROM loads ORDER BY host, of, load")
    send(path)
    after = engine.ask("SELECT * EXCEPT doubled FROM loads ORDER BY host, of, load")
    check("chdb: the same bytes once more change nothing", after == before
          and engine.ask("SELECT DISTINCT host FROM loads WHERE doubled ORDER BY host") == [["host2"], ["host3"]],
          (after, before))

    for h, t in HOSTS.items():
        tables = [line.split()[0] for line in run("export", "--list").splitlines()]
        want = t.sql("SELECT " + ", ".join("(SELECT count(*) FROM %s) AS %s" % (n, n) for n in tables))[0]
        got = engine.ask("SELECT " + ", ".join("(SELECT count() FROM %s WHERE host = '%s') AS %s" % (n, h, n)
                                               for n in tables))[0]
        check("chdb: all rows of all tables of %s, and none twice" % h, got == [want[n] for n in tables]
              and len(tables) > 30, (got, want))
    for key in ("comm", "unit", "user"):
        want = sorted(r for h, t in HOSTS.items() for r in added([((h, r[key]), r) for r in t.states(key)],
            "running_ns"))
        got = engine.ask("SELECT host, name, sum(running_ns) AS ns FROM %s_bins WHERE name != '' GROUP BY host, name "
                         "ORDER BY host, name" % key)
        check("chdb: bins by %s" % key, [r for r in got if r[2]] == [r for r in want if r[2]]
              and len(got) >= len(HOSTS), (got, want))
    check_questions("chdb", engine.ask, HOSTS, ROLLOUT_NS)
    engine.end()


# ---- DuckDB ----

DUCKDB_TABLES = ("threads", "sched_slices", "block_requests", "slab_allocs")
DUCKDB_QUESTIONS = {"who used the CPUs": ("SELECT host, comm, sum(dur_ns)::BIGINT FROM sched_slices JOIN threads "
                                          "USING (host, utid) WHERE utid != 0 GROUP BY host, comm",
                                          lambda t: [list(r.values()) for r in t.sql(
                                              "SELECT comm, sum(dur_ns) AS ns FROM sched_slices JOIN threads "
                                              "USING (utid) WHERE utid != 0 GROUP BY comm")]),
                    "requests": ("SELECT host, op, count(*), sum(bytes)::BIGINT, max(latency_ns) FROM block_requests "
                                 "WHERE end_ns IS NOT NULL GROUP BY host, op",
                                 lambda t: [[r["op"], r["ios"], r["bytes"], r["lat_max_ns"]]
                                            for r in t.report("io", "--by", "op", "--with-recorder")]),
                    "slab memory": ("SELECT host, if(irq != 0, '[irq]', comm) AS name, count(*), sum(bytes)::BIGINT "
                                    "FROM slab_allocs JOIN threads USING (host, utid) "
                                    "WHERE irq != 0 OR utid != 0 GROUP BY host, name",
                                    lambda t: [[r["comm"], r["allocs"], r["alloc_bytes"]] for r in t.by_comm("alloc")
                                               if r["source"] == "slab"]),}


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
            engine.ask("CREATE OR REPLACE VIEW %s AS %s" % (table, " UNION ALL BY NAME ".join("SELECT '%s' AS host, "
                                                                                              "* FROM %s.%s" %
                (h, h, table) for h in HOSTS)))
        check_duckdb_questions(engine, "SQLite")
    engine.end()


# ---- Parquet, in three readers: each row of each table is that of the CSV ----

def csv_rows(path):
    """(columns, rows as texts; instants in UTC, ns); NULL and "" are the same"""
    with open(path, newline="") as f:
        text = f.read()
    reader, is_guarded = csv.reader(io.StringIO(text, newline="")), "'" in text
    columns, rows = next(reader)[2:], []
    instants = [i for i, c in enumerate(columns) if c in INSTANTS]
    for host, unix_ns, *row in reader:
        there = [i for i in instants if row[i]]
        if there:
            shift_ns = int(unix_ns) - int(row[there[0]])
            for i in there:
                row[i] = str(int(row[i]) + shift_ns)
        rows.append(list(without_guard(dict(enumerate(row))).values()) if is_guarded else row)
    return columns, rows


def compared(rows, reals):
    """Rows as texts, in an order of their own; real numbers as numbers."""
    texts = [["" if v is None else v if isinstance(v, str) else str(v) for v in row] for row in rows]
    for row in texts:
        for i in reals:
            if row[i] != "":
                row[i] = "%.9g" % float(row[i])
    texts.sort()
    return texts


def parquet_of(engine, name, path, columns):
    if name == "hyparquet":
        return [row[2:] for row in engine.texts(path)]
    ns, source = {"duckdb": ("epoch_ns(%s)::VARCHAR", "read_parquet('%s')"),
                  "chdb": ("toString(toUnixTimestamp64Nano(%s))", "file('%s', Parquet)")}[name]
    text = {"duckdb": "CAST(%s AS VARCHAR)", "chdb": "toString(%s)"}[name]
    names = ", ".join((ns if c in INSTANTS else text) % ('"%s"' % c) for c in columns)
    return engine.texts("SELECT %s FROM %s" % (names, source % path))


def check_rows(engines, h, parquet):
    """of all tables, in each reader"""
    lists = export(h, "csv", "--with-host")
    tables = sorted(f[:-4] for f in os.listdir(lists) if f != "export_info.csv")
    check("parquet: %s has a file for each table" % h, sorted(os.listdir(parquet)) == tables and len(tables) > 30,
          os.listdir(parquet))
    wrong, row_cnt = {name: [] for name in engines}, 0
    for table in tables:
        columns, want = csv_rows("%s/%s.csv" % (lists, table))
        reals = [i for i, c in enumerate(columns) if c.endswith("_pct")]
        want = compared(want, reals)
        row_cnt += len(want)
        path, = glob.glob("%s/%s/*.parquet" % (parquet, table))
        for name, engine in engines.items():
            got = compared(parquet_of(engine, name, path, columns), reals)
            if got != want:
                wrong[name].append((table, got[:2], want[:2]))
    for name in engines:
        check("%s: each row of the Parquet files of %s is that of the CSV" % (name, h), not wrong[name]
              and row_cnt > 100, wrong[name][:3])


def check_views(engine, h):
    """report --format parquet: the rows of a view, with instants in UTC"""
    t, path = HOSTS[h].path, DIR + "/view.parquet"
    for view in ("cpu", "waits", "cpu --every 100ms", "summary", "leaks", "latency"):
        with open(path, "wb") as f:
            subprocess.run([EBPFREC, "report", "-i", t, *view.split(), "--format", "parquet"], stdout=f, check=True)
        columns, *want = csv.reader(io.StringIO(run("report", "-i", t, *view.split(), "--format", "csv")))
        want = [list(without_guard(dict(enumerate(row))).values()) for row in want]
        got = [["" if v is None else str(v) for v in row] for row in engine.texts(path)]
        shifts = {int(g[i]) - int(w[i]) for g, w in zip(got, want) for i, c in enumerate(columns)
                  if c in INSTANTS and w[i]}
        for row in want:
            for i, c in enumerate(columns):
                if c in INSTANTS and row[i]:
                    row[i] = str(int(row[i]) + min(shifts))
        check("parquet: rows of report %s of %s" % (view, h), got == want and len(shifts) <= 1
              and abs(min(shifts, default=ROLLOUT_NS) - ROLLOUT_NS) < 10 * SECOND, (shifts, got[:2], want[:2]))


def check_row_groups(engine):
    """A reader leaves out row groups by what the footer says of them: a wrong bound would lose rows."""
    run("export", "-q", "-i", DIR + "/large", "--to", "parquet", "-t", "slab_allocs", "-o", DIR + "/large.parquet")
    source = "'%s/large.parquet/slab_allocs/*.parquet'" % DIR
    groups = engine.ask("SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata(%s) ORDER BY ALL" %
                        source)
    (start, end, bytes_), = engine.ask("SELECT epoch_ns(min(ts_ns)), epoch_ns(max(ts_ns)), sum(bytes)::BIGINT FROM "
                                       "read_parquet(%s)" % source)
    keys = {k for k, in engine.ask("SELECT decode(key) FROM parquet_kv_metadata(%s)" % source)}
    check("duckdb: the footer says which trace it is, and what is missing", {"trace.uuid", "incomplete"} <= keys, keys)
    edges = [start + (end + 1 - start) * i // 10 for i in range(11)]
    parts = [engine.ask("SELECT count(*), sum(bytes)::BIGINT FROM read_parquet(%s) WHERE ts_ns >= "
                        "make_timestamp_ns(%d) AND ts_ns < make_timestamp_ns(%d)" % (source, *edge))[0]
             for edge in zip(edges, edges[1:])]
    want = list(rows_of(run("sql", "-i", DIR + "/large", "--format", "csv",
                            "SELECT count(*), sum(bytes) FROM slab_allocs"))[0].values())
    check("duckdb: windows of %d row groups add up" % len(groups), len(groups) > 1
          and sum(n for _, n in groups) == want[0] and bytes_ == want[1] and [sum(c) for c in zip(*parts)] == want,
          (groups, parts, want))


def check_wide(engines):
    """More than 256 threads: the rows of the seldom ones are in a page of their own."""
    run("export", "-q", "-i", DIR + "/large", "--to", "parquet", "-t", "switches", "-o", DIR + "/wide")
    path, = glob.glob(DIR + "/wide/switches/*")
    columns = ["cpu", "utid", "next_utid", "prev_state"]
    got = sorted(tuple(map(int, r)) for r in engines["duckdb"].ask("SELECT %s FROM read_parquet('%s')" %
        (", ".join(columns), path)))
    rows = rows_of(run("sql", "-i", DIR + "/large", "--format", "csv", "SELECT %s FROM switches" % ", ".join(columns)))
    want = sorted(tuple(int(v) for v in r.values()) for r in rows)
    check("duckdb: %d switches of more than 256 threads" % len(want), got == want and len({r[1] for r in want}) > 256,
          (got[:2], want[:2]))
    for name in ("chdb", "hyparquet"):
        cnt = len(parquet_of(engines[name], name, path, columns))
        check("%s: as many" % name, cnt == len(want), cnt)


def check_ten_questions(engine):
    text = open(os.path.dirname(ASK_MJS) + "/../../schema/fleet/questions_duckdb.sql").read()
    questions = re.findall(r"^-- (\d+)\. [^\n]*\n(.*?);$", text, re.M | re.S)
    check("duckdb: ten questions", [n for n, _ in questions] == [str(i + 1) for i in range(10)],
          [n for n, _ in questions])
    for number_, query in questions:
        engine.ask("CREATE OR REPLACE VIEW answer AS " + query.replace("'*/", "'%s/*.parquet/" % DIR))
        (cnt,), = engine.ask("SELECT count(*) FROM answer")
        check("duckdb: question %s has an answer" % number_, cnt > 0, cnt)


def check_parquet():
    engines = {name: Engine(name) for name in ("duckdb", "chdb", "hyparquet")}
    for h in HOSTS:
        parquet = export(h, "parquet")
        if h in ("host0", "host3"):
            check_rows(engines, h, parquet)
    check_views(engines["hyparquet"], "host0")
    check_row_groups(engines["duckdb"])
    check_wide(engines)
    check_ten_questions(engines["duckdb"])
    engine = engines["duckdb"]
    for table in DUCKDB_TABLES:
        engine.ask("CREATE VIEW %s AS FROM read_parquet('%s/*.parquet/%s/*.parquet')" % (table, DIR, table))
    check_duckdb_questions(engine, "Parquet")
    for end in engines.values():
        end.end()


check_chdb()
check_duckdb()
check_parquet()
