# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by thread_states.sh."""
import statistics
from trace_query import *
t = Trace(tmp + "/waits")
w = truth(tmp + "/waits.out")
MIN_NS = 10_000_000


def lost_of(t):
    return t.one("SELECT coalesce(sum(lost_cnt + missed_cnt), 0) FROM losses WHERE class = 'sched'")


lost = lost_of(t)


def waits(t, w, what):
    """Of each wait that the workload measured: how long its thread had no CPU, and the row that says so."""
    ret = []
    for i in range(5):
        if "%s_off_%d" % (what, i) in w:
            rows = t.sql(
                """SELECT o.*, k.tid AS waker, stack_text(stack, ts_ns) AS text, stack_text(waker_stack, ts_ns) AS
                waker_text
                FROM offcpu o JOIN threads h USING (utid) JOIN threads k ON k.utid = o.waker_utid WHERE h.tid = %d AND
                ts_ns >= %d AND ts_ns < %d
                ORDER BY dur_ns DESC LIMIT 1""" % (w["tid_" + what], t.at(w["%s_from_%d" % (what, i)]),
                                                   t.at(w["%s_to_%d" % (what, i)])))
            ret.append((w["%s_off_%d" % (what, i)], rows[0] if rows else None))
    return ret


def is_in(row, *functions):
    """The functions call each other in this order."""
    return row and re.search(r"(^|;)" + ";(.*;)?".join(functions) + r"(;|$)", row["text"]) is not None


for what, cnt in ("nap", 5), ("lock", 3), ("read", 4):
    got = waits(t, w, what)
    found = [(off, row) for off, row in got if row]
    check("offcpu: every %s has its wait" % what, len(got) == cnt and (len(found) == cnt or lost), (got, lost))
    # On a machine with other users, the thread was off the CPU for the wait and also while other threads preempted it
    # before or after the wait: so a wait is never longer, and the median of several has that length. 100 us: the
    # thread's own CPU clock begins at another instant.
    check("offcpu: no %s is longer than the thread had no CPU" % what,
          all(row["dur_ns"] <= off + 100_000 for off, row in found), found)
    share = statistics.median(row["dur_ns"] / off for off, row in found) if found else None
    near("offcpu: a %s is as long as the thread measured" % what, share, 1, rel=0.01)
    check("offcpu: a %s was asleep, and woken" % what, all(row["state"] & 1 and not row["preempted"]
                                                           and row["waker_utid"] != 1 for _, row in found), found)
    check("offcpu: the last part of a %s is the wait for a CPU" % what,
          all(0 < row["runnable_ns"] < row["dur_ns"] for _, row in found), found)
naps, locks, reads = (([row for _, row in waits(t, w, what) if row]) for what in ("nap", "lock", "read"))
check("offcpu: a nap's functions", naps and all(is_in(r, "naps", "nap_outer", "nap_alpha", ".*nanosleep.*")
                                                for r in naps), naps)
check("offcpu: a nap is ended by an interrupt", all(r["waker_utid"] == 2 for r in naps), naps)
check("offcpu: a pipe's functions", reads and all(is_in(r, "reads", "read_outer", "read_gamma", ".*pipe_.*")
                                                  for r in reads), reads)
check("offcpu: a read is ended by the writer", all(r["waker"] == w["tid_feed"] for r in reads), reads)
check("offcpu: with its stack", all(re.search(r";feeds;feed_outer;feed_delta;.*pipe_write;.*try_to_wake_up",
                                              r["waker_text"]) for r in reads), reads)
# the C library is between, and may have no frame pointers
check("offcpu: a mutex's functions", locks and all(is_in(r, "locks", ".*futex_wait.*") for r in locks), locks)
check("offcpu: a mutex is let go by its holder", all(r["waker"] == w["tid_hold"] and ";holds;" in r["waker_text"]
                                                     for r in locks), locks)
# the part of a stack outside an interrupt is the interrupted code, which may be the recorder's program
own = [r for r in naps + reads + locks
       if "bpf_" in r["text"] + re.sub(r"^.*;(asm_sysvec_|asm_common_interrupt|el[01][th]_64_irq)", r"\1",
                                       r["waker_text"])]
check("offcpu: no frame is the recorder's own", not own, own)

# The recorder unwinds stacks, except the waker's. A page of the stack that was swapped out is not read.
CHAINS = {"nap": "naps;nap_outer;nap_alpha", "lock": "locks;lock_outer;lock_beta;(.*lock;)?.*lll_lock_wait",
          "read": "reads;read_outer;read_gamma"}
if os.path.exists(tmp + "/bare") and Trace(tmp + "/bare").one("SELECT count(*) FROM info WHERE key = 'offcpu.unwind' "
                                                              "AND value = 'dwarf'"):
    for what, chain in CHAINS.items():
        texts = {}
        for name in "bare", "pointers":
            u = Trace("%s/%s" % (tmp, name))
            texts[name] = [row["text"] for _, row in waits(u, truth("%s/%s.out" % (tmp, name)), what) if row]
        whole = r"^(_*clone3?;)?(start_thread;)?%s;(entry_|el0).*" % chain
        check("offcpu: without frame pointers, --unwind dwarf has the whole chain of a %s" % what,
              len(texts["bare"]) >= 3 and all(re.search(whole, x) for x in texts["bare"]), texts["bare"])
        check("offcpu: frame pointers alone do not, which a %s has by default" % what, texts["pointers"] and
              not any(re.search(whole, x) for x in texts["pointers"]), texts["pointers"])
    folded = run("report", "-i", tmp + "/bare", "offcpu", "--format", "folded")
    check("offcpu: so do reports", re.search(";naps;nap_outer;nap_alpha;.* [0-9]+$", folded, re.M), folded)

# The same from the switches: every thread of the workload that left a CPU and came back.
threads = {r["utid"]: r["tid"] for r in t.sql("SELECT utid, tid FROM threads WHERE upid = (SELECT upid FROM "
                                              "processes WHERE pid = %d)" % w["pid"])}
left, gaps = {}, []
for r in t.sql("SELECT ts_ns, utid, next_utid FROM switches"):
    if r["next_utid"] in left:
        gaps.append(r["ts_ns"] - left.pop(r["next_utid"]))
    if r["utid"] in threads:
        left[r["utid"]] = r["ts_ns"]
rows = t.sql("SELECT dur_ns FROM offcpu WHERE utid IN (%s)" % ",".join(map(str, threads)))
# The two programs read the clock one after the other, with a walk of the stack between: 100 us.
least, most = (sum(g >= MIN_NS + d for g in gaps) for d in (100_000, -100_000))
check("offcpu: every wait of that length, as the switches say, and no other", least <= len(rows) <= most or lost,
      (least, len(rows), most, lost))
check("offcpu: a shorter wait is not there", t.one("SELECT min(dur_ns) FROM offcpu") >= MIN_NS, rows)
stats = t.sql("SELECT sum(attempted_cnt) AS attempted, sum(read_cnt) AS read FROM hook_stats WHERE source = "
              "'sched.offcpu'")[0]
its_lost = t.one("SELECT coalesce(sum(lost_cnt), 0) FROM losses WHERE source = 'sched.offcpu'")
check("offcpu: attempted = read + lost", stats["attempted"] == stats["read"] + its_lost
      and stats["read"] == t.one("SELECT count(*) FROM offcpu"), (stats, its_lost))

report = t.report("offcpu")
for name, column in ("folded", "offcpu_ns"), ("folded_waits", "waits"):
    lines = open("%s/%s" % (tmp, name), encoding="utf-8").read().splitlines()
    got = sum(int(s.rsplit(" ", 1)[1]) for s in lines)
    check("offcpu: %s adds up" % name, lines and got == sum(r[column] for r in report), (got, report))
by_waker = t.report("offcpu", "--by", "waker")
got = [r for r in by_waker if r["comm"] == "[irq]" and r["stack"].startswith(("asm_", "el"))]
check("offcpu: by waker, an interrupt's stack begins with it", got, by_waker)
check("offcpu: a window has its own", not t.report("offcpu", "--from", "0ns", "--to", "1ns"), "rows in a nanosecond")
check("offcpu: the source alone takes waits of 1 ms", 1_000_000 <= Trace(tmp + "/default").one("SELECT min(dur_ns) "
                                                                                               "FROM offcpu") < MIN_NS,
      "not")
check("offcpu: none unless asked for", "offcpu" not in run("info", "-i", tmp + "/none", "--format", "csv"), "programs")
inside = Trace(tmp + "/inside")
check("offcpu: only of the workload's threads", inside.one("SELECT count(*) FROM offcpu JOIN threads USING (utid) "
                                                           "WHERE NOT is_workload") == 0
      and inside.one("SELECT count(*) FROM offcpu") >= 1, inside.sql("SELECT comm, dur_ns FROM offcpu JOIN threads "
                                                                     "USING (utid)"))
other, e = truth(tmp + "/other.out"), Trace(tmp + "/everybody")
got = waits(e, other, "nap")
found = [row for _, row in got if row]
unseen = lost_of(e) + e.unjoined(e.at(other["nap_from_0"]), e.at(other["nap_to_4"]), other["tid_nap"])
check("offcpu: -a takes waits of all, with names", found and len(found) >= len(got) - unseen and
      all(is_in(row, "nap_outer", "nap_alpha") for row in found), (got, unseen))
for name in "part", "one":
    check("offcpu: a cut has the same (%s)" % name, Trace("%s/%s" % (tmp, name)).report("offcpu") == report,
          Trace("%s/%s" % (tmp, name)).report("offcpu"))
gone = Trace(tmp + "/gone")
texts = [r["stack"] for r in gone.report("offcpu")]
check("offcpu: redacted, the same waits without names of functions",
      sum(r["offcpu_ns"] for r in gone.report("offcpu")) == sum(r["offcpu_ns"] for r in report)
      and any(re.search(r"fn-[a-z0-9]+;fn-[a-z0-9]+", s) for s in texts) and not any("nap_" in s for s in texts), texts)
