# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""stacks_copies: the stacks of stacks.sh in cut, redacted, repaired and exported traces. Each function is one claim."""
import sqlite3
from trace_query import *

good = Trace("all")
HOLE = int(os.environ["from"]), int(os.environ["to"])
SAMPLES = ("SELECT s.ts_ns, s.cpu, s.source, s.addr, s.bytes, stack_text(s.stack, s.ts_ns) AS text "
           "FROM stack_samples AS s %s ORDER BY 1, 2, 3, 4")


def cuts_and_redacted_traces_have_them():
    part = [r for r in Trace("part").report("stacks") if r["stack"].endswith("main;sites_outer;sites_alpha")]
    check("stacks: a cut has them", len(part) == 1 and part[0]["bytes"] == 43210, part)
    gone = [r for r in Trace("gone").report("stacks") if r["source"] == "heap" and r["bytes"] == 43210]
    check("stacks: a redacted trace has them with pseudonyms", len(gone) == 1 and
          re.search(r"fn-[a-z0-9]+;fn-[a-z0-9]+;fn-[a-z0-9]+$", gone[0]["stack"]), gone)


def intact_blocks_keep_their_stacks():
    lo, hi = HOLE
    want = good.sql(SAMPLES % ("WHERE NOT (s.ts_ns >= %d AND s.ts_ns < %d)" % HOLE))
    sides = [len([r for r in want if r["ts_ns"] < lo]), len([r for r in want if r["ts_ns"] >= hi])]
    check("stacks: there are some on both sides of the hole", min(sides) > 100, (HOLE, sides))
    for name, path in ("repaired", "mended"), ("damaged", "hole"):
        got = Trace(path).sql(SAMPLES % "")
        check("stacks: a %s trace has the stacks of all intact blocks, and their names" % name, got == want,
              (len(got), len(want), [pair for pair in zip(want, got) if pair[0] != pair[1]][:1]))
    # names defined before the hole are defined again after it
    after = [r for r in want if r["ts_ns"] >= hi and r["text"].endswith("main;burst_outer;burst_beta")]
    check("stacks: with the program's functions after the hole", len(after) >= 2000, len(after))


def sqlite_has_them():
    db = sqlite3.connect("all.db")
    check("stacks: the database is sound", db.execute("PRAGMA integrity_check").fetchone() == ("ok",),
          "integrity_check")
    for table, columns in (("stack_samples", "count(*) AS n, min(stack) AS a, max(stack) AS b"),
                           ("stack_frames", "count(*) AS n, min(stack) AS a, max(stack) AS b"),
                           ("user_sites", "count(*) AS n, count(symbol) AS a, count(build_id) AS b"),
                           ("allocations", "count(*) AS n, count(stack) AS a, count(DISTINCT stack) AS b")):
        query = "SELECT %s FROM %s" % (columns, table)
        a, b = db.execute(query).fetchone(), tuple(good.sql(query)[0].values())
        check("stacks: %s in SQLite" % table, a == b and min(a[0], a[2]) > 0, (a, b))
    leaks = db.execute(
        """SELECT count(*) FROM allocations AS a JOIN stack_frames AS f ON f.stack = a.stack AND f.nth = 0
                            JOIN user_sites AS u ON u.upid = f.upid AND u.addr = f.addr
                           WHERE (u.symbol = 'leak_alpha' OR u.unresolved = 'exited') AND a.bytes = 7001""").fetchone()[
        0]
    check("stacks: plain SQL finds the leaks by their innermost frame", leaks == 150, leaks)


def several_traces_keep_them_apart():
    rows, alone = rows_of(open("several", newline="").read()), good.report("stacks")
    hosts = list(dict.fromkeys(r["host"] for r in rows))
    check("stacks: of several traces those with stacks, each under its own name", len(hosts) == 2, hosts)
    for h in hosts:
        got = [{k: v for k, v in r.items() if k != "host"} for r in rows if r["host"] == h]
        check("stacks: of several traces each has its own", got == alone, (len(got), len(alone)))


cuts_and_redacted_traces_have_them()
intact_blocks_keep_their_stacks()
sqlite_has_them()
several_traces_keep_them_apart()
