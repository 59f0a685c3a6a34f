# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by fleet.sh."""
from fleet_ask import *
refused = sorted(f for f in os.listdir(tmp) if f.endswith((".bins", ".tables")))
check("fleet: the server that is up confirms nothing that the other one should have", len(refused) > 0, refused)
for name in refused:
    end = time.monotonic() + 120
    while os.path.exists(tmp + "/" + name):
        try:
            send(open(tmp + "/" + name, "rb").read())
            os.remove(tmp + "/" + name)
        except Failed as e:
            if time.monotonic() > end:
                sys.exit(e)
check("fleet: all eight hosts are whole", whole_hosts() == set(HOSTS), ask("SELECT * FROM loads WHERE NOT whole"))
shards = [ask("SELECT DISTINCT host FROM comm_bins_here", server=s) for s in (0, 1)]
check("fleet: both servers have some, and no host is on both", all(shards) and sum(map(len, shards)) == 8, shards)
traces = {h: Host(tmp + "/" + h) for h in HOSTS}


def counts():
    return {t: ask("SELECT host, count() FROM %s GROUP BY host ORDER BY host" % t)
            for t in ("comm_bins", *TABLES.split(","))}


before = counts()
for t in TABLES.split(","):
    want = [[h, traces[h].one("SELECT count(*) FROM " + t)] for h in HOSTS]
    check("fleet: all rows of %s, and none twice" % t, before[t] == [w for w in want if w[1]], (before[t], want))
everything = ask("SELECT of, sent_rows FROM loads WHERE host = 'host0' AND whole AND of NOT LIKE '%_bins' ORDER BY of")
want = sorted([t, traces["host0"].one("SELECT count(*) FROM " + t)]
              for t in (line.split()[0] for line in run("export", "--list").splitlines()))
check("fleet: every table of a trace is sent", everything == want and len(want) > 30, (everything, want))

# once more, whole, as the very same bytes, and in part; and a copy of the trace is the same trace
again = stream("host1", "--every", "1s")
send(again)
send(again)
send(stream("host1.zip", "-t", TABLES[5:]))  # its info says that it is a copy
part = stream("host2", "-t", TABLES)
request = urllib.request.Request(
    "http://127.0.0.1:%s/?query=INSERT+INTO+landing+FORMAT+RowBinary&max_insert_block_size=100"
    "&min_insert_block_size_rows=100&min_insert_block_size_bytes=0" % os.environ["http_0"], part[:len(part) * 2 // 3])
try:
    urllib.request.urlopen(request, timeout=60).read()
except urllib.error.HTTPError:
    pass
end = time.monotonic() + 120
while (len(ask("SELECT load FROM loads WHERE host = 'host1' AND whole GROUP BY load")) < 4 or
       not ask("SELECT 1 FROM loads WHERE host = 'host2' AND NOT whole")) and time.monotonic() < end:
    time.sleep(0.2)
loads = ask("SELECT uniq(load), uniq(trace_id) FROM loads WHERE host = 'host1' AND whole")
check("fleet: the same trace and its bundle have one trace_id", loads == [[4, 1]], loads)
check("fleet: what arrived in part is seen", len(ask("SELECT of FROM loads WHERE host = 'host2' AND NOT whole")) > 0,
      ask("SELECT of, sent_rows, arrived_rows FROM loads WHERE host = 'host2'"))
listed = ask("SELECT of FROM loads WHERE load GLOBAL IN (SELECT load FROM loads WHERE host = 'host2' AND NOT whole) "
             "ORDER BY of")
check("fleet: so are the tables of which no row has arrived", listed == [[t] for t in sorted(TABLES.split(","))],
      listed)
check("fleet: nothing of it counts", counts() == before, (counts(), before))
send(part)
wait_whole = time.monotonic() + 120
while ask("SELECT 1 FROM loads WHERE NOT whole LIMIT 1") and time.monotonic() < wait_whole:
    time.sleep(0.2)
twice = ask("SELECT uniq(load) FROM loads WHERE doubled AND whole AND host IN ('host1', 'host2')")
check("fleet: bytes that are sent again, after a part of them or all, are whole", twice == [[2]],
      ask("SELECT * FROM loads WHERE doubled OR NOT whole"))
# while bytes arrive for the second time, a question may count some rows twice (FLEET.md)
now, settled = counts(), time.monotonic() + 60
while now != before and time.monotonic() < settled:
    time.sleep(0.2)
    now = counts()
check("fleet: and change nothing", now == before, (now, before))

# A server that is killed during an INSERT has rows that it has not registered yet.
unsure = stream("host3", "-t", TABLES)
for server in (0, 1):
    ask("DROP TABLE sched_slices_in_arrived", server=server)
send(unsure)
end = time.monotonic() + 120
while not ask("SELECT 1 FROM loads WHERE NOT whole AND of = 'sched_slices'") and time.monotonic() < end:
    time.sleep(0.2)
check("fleet: rows that are not noted do not count", counts() == before
      and ask("SELECT host, of, arrived_rows FROM loads WHERE NOT whole") == [["host3", "sched_slices", 0]],
      ask("SELECT * FROM loads WHERE NOT whole"))
for server in (0, 1):
    for statement in run("export", "--to", "clickhouse", "--schema", "--cluster", "fleet").split(";\n"):
        if "sched_slices_in_arrived" in statement:
            ask(statement, server=server)
send(unsure)
wait_whole = time.monotonic() + 120
while ask("SELECT 1 FROM loads WHERE NOT whole LIMIT 1") and time.monotonic() < wait_whole:
    time.sleep(0.2)
check("fleet: nor do they twice, when they come again", counts() == before
      and not ask("SELECT 1 FROM loads WHERE NOT whole"), (counts(), before))

# ---- the ten questions ----
check_questions("fleet", ask, traces,
                traces["host2"].one(
    "SELECT real_ns - ts_ns FROM clocks ORDER BY ts_ns LIMIT 1") // 1_000_000_000 * 1_000_000_000)

# ---- the removal of old days, as FLEET.md has it ----
query = re.search(r'"(SELECT DISTINCT concat.*?)"', open(os.environ["schema"] + "/FLEET.md").read(), re.S)[1]
for server in (0, 1):
    for (statement,) in ask(query.replace("- 30", "+ 30"), server=server):
        ask(statement.rstrip(";"), server=server)
left = ask("SELECT sum(rows) FROM system.parts WHERE active AND database = 'default'")
check("fleet: days are removed whole", left == [[0]], left)

# ---- copies ----
info = {c: dict((r["key"], r["value"]) for r in Trace("%s/%s" % (tmp, c)).sql("SELECT key, value FROM info"))
        for c in ("host1", "cut", "host1.zip")}
check("fleet: a bundle keeps the trace_id, a cut has one of its own and names its origin",
      info["host1.zip"]["trace.uuid"] == info["host1"]["trace.uuid"] == info["cut"]["trace.origin"] != info["cut"][
    "trace.uuid"], {c: {k: v for k, v in info[c].items() if k.startswith("trace.")} for c in info})
