# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""export_formats: tables of CSV, SQLite and JSON of export_formats.sh against reports"""
from trace_query import *
t = Trace(tmp + "/mixed")

def db(query):
    p = subprocess.run(["sqlite3", "-csv", "-header", tmp + "/mixed.db", query], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    if p.returncode:
        sys.exit("sqlite3: %s: %s" % (query, p.stderr.decode()))
    return rows_of(p.stdout.decode(errors="surrogateescape"))

files = sorted(f for f in os.listdir(tmp + "/csv") if f.endswith(".csv") and f != "export_info.csv")
must = {"switches", "wakeups", "sched_slices", "allocations", "rss_points", "block_requests", "losses", "processes",
        "threads", "task_events"}
check("export csv: every table is there", must <= {f[:-4] for f in files}, files)
bad = []
for f in files:
    with open(tmp + "/csv/" + f, newline="", encoding="utf-8", errors="surrogateescape") as fd:
        rows = csv.reader(fd, strict=True)
        head = next(rows, None)
        cnt = 0
        for row in rows:
            cnt += 1
            if len(row) != len(head):
                bad.append("%s row %d has %d fields, not %d" % (f, cnt, len(row), len(head)))
                break
    if not head or len(set(head)) != len(head):
        bad.append("%s: header %s" % (f, head))
    want = t.one("SELECT count(*) FROM " + f[:-4])
    in_db = db("SELECT count(*) AS n FROM " + f[:-4])[0]["n"]
    if cnt != want or in_db != want:
        bad.append("%s: %d rows in CSV, %d in SQLite, %d in sql" % (f, cnt, in_db, want))
check("export: CSV parses strictly, same number of rows in CSV, SQLite and sql", files and not bad, bad[:5])
check("export: the tables hold what was recorded", t.one("SELECT count(*) FROM allocations") > 1000
      and t.one("SELECT count(*) FROM block_requests") > 0, "allocations or block_requests empty")

# The same numbers from plain SQL on real tables as from report.
ours = {r["pid"]: r["oncpu_ns"] for r in t.report("cpu", "--by", "process", "--with-recorder") if r["pid"]}
plain = {r["pid"]: r["ns"] for r in db("SELECT p.pid AS pid, sum(s.dur_ns) AS ns FROM sched_slices s JOIN threads "
                                       "USING (utid) JOIN processes p USING (upid) WHERE p.pid > 0 GROUP BY p.upid "
                                       "HAVING ns > 0")}
diff = {p: (ours.get(p), plain.get(p)) for p in set(ours) | set(plain) if ours.get(p) != plain.get(p)}
check("export sqlite: CPU per process is report's", ours and not diff, list(diff.items())[:4])
io = {}
for r in t.report("io", "--by", "device", "--with-recorder"):
    io[r["device"], r["op"]] = (r["ios"], r["bytes"])
plain = {(r["device"], r["op"]): (r["n"], r["b"]) for r in db("SELECT d.name AS device, op, count(*) AS n, "
                                                              "sum(bytes) AS b FROM block_requests JOIN devices d "
                                                              "USING (dev) WHERE end_ns IS NOT NULL GROUP BY 1, 2")}
check("export sqlite: I/O per device is report's", io and io == plain, (io, plain))

# The views of an exported database need neither ebpfrec nor joins: five questions, and the reports' answers.
def same(question, view, key, columns, got):
    ours = {tuple(r[k] for k in key): tuple(r[c] for c in columns) for r in view if r["pid"]}
    diff = {k: (ours.get(k), got.get(k)) for k in set(ours) | set(got) if ours.get(k) != got.get(k)}
    check("export sqlite: a view answers: " + question, ours and not diff, list(diff.items())[:4])

def rows_by(key, query):
    return {tuple(r[k] for k in key): tuple(v for c, v in r.items() if c not in key) for r in db(query)}

reports = {v: t.report(v, "--with-recorder") for v in ("cpu", "sched", "states", "io", "alloc")}
same("who used the CPU?", reports["cpu"], ["pid"], ["oncpu_ns"], rows_by(["pid"], "SELECT pid, oncpu_ns FROM "
                                                                         "cpu_by_process WHERE pid > 0 AND oncpu_ns "
                                                                         "> 0"))
same("who waited for one?", [r for r in reports["sched"] if r["waits"]], ["pid"], ["waits", "wait_max_ns"],
     rows_by(["pid"], "SELECT pid, waits, wait_max_ns FROM waits_by_process WHERE pid > 0"))
# The view adds up waits with known beginning and end; the report also has the parts of other waits inside the trace.
end = t.one("SELECT max(to_ns) FROM blocks")
going_on = {r["pid"] for r in t.report("states", "--with-recorder", *t.window(end - 1, end)) if r["runnable_ns"]
            or r["preempted_ns"]}
ended = rows_by(["pid"], "SELECT pid, wait_ns FROM waits_by_process WHERE pid > 0")
more = [(r["pid"], r["pid"] in going_on, r["unknown_waits"], r["wait_ns"] - ended.get((r["pid"],), (0,))[0])
        for r in reports["sched"] if r["waits"] and r["pid"]]
bad = [x for x in more if (x[3] <= 0 if x[1] else x[3] < 0 if x[2] else x[3] != 0)]
check("export sqlite: a view answers: for how long, but for waits that begin before the trace or go on behind it", more
      and not bad, bad)
same("what did they do?", [r for r in reports["states"] if r["running_ns"]], ["pid"], ["running_ns"],
     rows_by(["pid"], "SELECT pid, running_ns FROM states_by_process WHERE pid > 0 AND running_ns > 0"))
same("who read and wrote, and how long did it take?", [r for r in reports["io"] if r["ios"]], ["pid", "device", "op"],
     ["ios", "bytes", "lat_max_ns"], rows_by(["pid", "device", "op"], "SELECT pid, device, op, ios, bytes, "
                                             "lat_max_ns FROM io_by_process WHERE pid > 0"))
same("who allocated?", [r for r in reports["alloc"] if r["source"] == "slab" and r["allocs"]], ["pid"],
     ["allocs", "alloc_bytes"], rows_by(["pid"], "SELECT pid, allocs, alloc_bytes FROM alloc_by_process WHERE pid > "
                                        "0 AND source = 'slab'"))
per_second = {(r["t_ns"], r["pid"]): (r["oncpu_ns"],) for r in t.report("cpu", "--every", "1s", "--with-recorder")
              if r["pid"] and r["oncpu_ns"]}
got = rows_by(["t_ns", "pid"], "SELECT t_ns, pid, oncpu_ns FROM cpu_by_second WHERE pid > 0 AND oncpu_ns > 0")
check("export sqlite: a view answers: who used the CPU in each second?", per_second and got == per_second,
      [(k, per_second.get(k), got.get(k)) for k in set(per_second) | set(got) if per_second.get(k) != got.get(k)][:4])

for view in ("summary", "cpu", "sched", "alloc", "spikes", "io", "latency", "loss", "cost"):
    text = run("report", "-i", t.path, view, "--format", "json")
    try:
        parsed = json.loads(text)
        rows = t.report(view)
        if view == "summary":  # an object of sections with rows; CSV has a line for each value
            parsed = [{"section": section, "row": row, "name": name, "value": value} for section,
                      of_section in parsed.items() for row, values in enumerate(of_section, 1) for name,
                      value in values.items()]
            check("export: sections, rows and names of the summary as JSON are those of the CSV",
                  [(p["section"], p["row"], p["name"]) for p in parsed] == [(r["section"], r["row"], r["name"])
                for r in rows], parsed[:9])
        check("export: %s as JSON has the rows of the CSV" % view, isinstance(parsed, list) and len(parsed) == len(rows)
              and (not rows or set(parsed[0]) == set(rows[0])), "%d and %d rows" % (len(parsed), len(rows)))
    except ValueError as e:
        not_ok("export: %s as JSON parses" % view, e)

# A window of an export holds exactly that window's events.
span = t.one("SELECT max(to_ns) FROM blocks")
lo, hi = span // 3, span // 2
run("export", "-i", t.path, "--to", "csv", "-o", tmp + "/part", *t.window(lo, hi))
part = list(csv.DictReader(open(tmp + "/part/switches.csv", newline="")))
check("export: --from/--to cut exactly", len(part) == t.one("SELECT count(*) FROM switches WHERE ts_ns >= %d AND "
                                                            "ts_ns < %d" % (lo, hi)) > 0, len(part))
