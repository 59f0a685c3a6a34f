# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
views_memory: memory that one process allocates and another one frees is the first one's; resident memory is as the
kernel counts it. Each function is one claim about what views.sh recorded.
"""
from trace_query import *

t, touched = Trace(tmp + "/views"), Trace(tmp + "/touch")
gift, touch = truth(tmp + "/gift.out"), truth(tmp + "/touch.out")
MIB = 1 << 20
# The kernel adds up RSS counters per CPU, in batches of this many pages per counter (file, anon, shmem).
BATCH_BYTES = 3 * 4096 * os.cpu_count() * max(32, 2 * os.cpu_count())
# An interrupt that allocates while a program of the recorder runs on its CPU is skipped by the kernel, and counted.
missed = t.one("SELECT coalesce(sum(missed_cnt), 0) FROM losses WHERE class = 'alloc'")


def rings_lost_nothing():
    lost = t.one("SELECT coalesce(sum(full_cnt + other_cnt), 0) FROM losses WHERE class = 'alloc'")
    check("pairing: no allocation is lost in a ring, so counts are exact", lost == 0, t.report("loss"))
    for name, sums in t.balance(("alloc", "task")).items():
        check("pairing: read + lost = attempted, class %s" % name, sums and sums[0] == sums[1] + sums[2], sums)


def slab_of(pid):
    rows = [r for r in t.report("alloc", "--by", "process", "--pid", pid) if r["source"] == "slab"]
    return rows[0] if len(rows) == 1 else {"allocs": 0, "alloc_bytes": 0, "frees": 0, "free_bytes": 0}


def buffers_are_the_givers_until_the_taker_frees_them():
    giver, taker = slab_of(gift["giver"]), slab_of(gift["taker"])
    cnt, payload = gift["count"], gift["count"] * gift["bytes"]
    check("pairing: the giver allocated the buffers", giver["allocs"] >= cnt - missed and
          giver["alloc_bytes"] >= payload - missed * gift["bytes"], (giver, missed))
    # Objects that the taker freed, by the process that allocated them: all buffers are the giver's.
    freed = t.one("SELECT count(*) FROM allocations a JOIN processes p USING (upid) WHERE a.source = 'slab' "
                  "AND p.pid = %d AND a.bytes >= %d AND a.free_ns IS NOT NULL" % (gift["giver"], gift["bytes"]))
    check("pairing: what the taker freed is taken off the giver", freed >= cnt - missed, (freed, missed))
    check("pairing: and not off the taker", taker["frees"] <= taker["allocs"] and
          taker["free_bytes"] <= taker["alloc_bytes"], taker)


def every_event_is_an_allocation_or_frees_one():
    n = t.sql("SELECT (SELECT count(*) FROM slab_allocs) AS allocs, (SELECT count(*) FROM slab_frees) AS frees, "
              "count(*) AS objects, sum(free_ns IS NOT NULL AND free_lost = 0) AS paired "
              "FROM allocations WHERE source = 'slab'")[0]
    check("pairing: every allocation event is an allocation", n["allocs"] == n["objects"], n)
    check("pairing: no more are paired than freed", 0 < n["paired"] <= n["frees"], n)
    early = t.one("SELECT count(*) FROM allocations WHERE free_ns < alloc_ns")
    check("pairing: none is freed before it is made", early == 0, early)
    rows = [r for r in t.report("alloc", "--with-recorder") if r["source"] in ("slab", "page")]
    over = [r for r in rows if r["pid"] and r["pid"] > 0 and (r["frees"] > r["allocs"]
        or r["free_bytes"] > r["alloc_bytes"])]
    check("pairing: frees of a process never exceed its allocations", not over, over[:3])
    slab = [r for r in rows if r["source"] == "slab"]
    check("pairing: all rows together are all events", sum(r["allocs"] for r in slab) == n["allocs"] and
          sum(r["alloc_bytes"] for r in slab) == t.one("SELECT sum(bytes) FROM slab_allocs"), n)
    pages = sum(r["alloc_bytes"] for r in rows if r["source"] == "page")
    check("pairing: pages too", pages == t.one("SELECT sum(4096 << page_order) FROM page_allocs"), pages)


def of_touch(source, from_ns=None, to_ns=None):
    window = touched.window(touched.at(from_ns), touched.at(to_ns)) if from_ns else []
    rows = [r for r in touched.report("alloc", "--by", "process", "--pid", touch["pid"], *window)
            if r["source"] == source]
    return rows[0] if len(rows) == 1 else {}


def resident_memory_is_the_kernels():
    w = touch
    check("touch: the workload did it", w["hwm_kib"] - w["hwm_before_kib"] > 299 * 1024, w)
    near("touch: the peak is VmHWM", of_touch("rss").get("peak_bytes"), w["hwm_kib"] * 1024, absolute=BATCH_BYTES)
    near("touch: growth while touching", of_touch("rss", w["start"], w["touched"]).get("net_bytes"), 300 * MIB,
         absolute=BATCH_BYTES + MIB)
    held = of_touch("rss", w["touched"], w["free"])
    near("touch: the level while it is held", held.get("peak_bytes"), w["rss_held_kib"] * 1024, absolute=BATCH_BYTES)
    near("touch: a net of zero from before to after", of_touch("rss", w["start"], w["freed"]).get("net_bytes"), 0,
         absolute=BATCH_BYTES + MIB)
    near("touch: what it freed", of_touch("rss", w["free"], w["freed"]).get("free_bytes"), 300 * MIB,
         absolute=BATCH_BYTES + MIB)
    near("touch: the mapping", of_touch("vm", w["start"], w["touched"]).get("net_bytes"), 300 * MIB, absolute=MIB)
    check("touch: nothing is left of a process that ended", of_touch("rss").get("now_bytes") == 0, of_touch("rss"))
    points = {}
    for r in touched.sql("SELECT member, bytes FROM rss_points WHERE upid = (SELECT upid FROM processes WHERE pid = "
                         "%d) " "AND ts_ns < %d ORDER BY ts_ns" % (w["pid"], touched.at(w["free"]))):
        points[r["member"]] = r["bytes"]
    near("touch: the last points add up to VmRSS", sum(points.get(m, 0) for m in ("file", "anon", "shmem")),
         w["rss_held_kib"] * 1024, absolute=BATCH_BYTES)


def the_spike_is_where_it_was_touched():
    rows = [r for r in touched.report("spikes", "--spike-min", "128MiB", "--spike-window", "60s", "--pid", touch["pid"])
            if r["source"] == "rss"]
    check("touch: one spike, that starts between the first touches and ends with the last one", len(rows) == 1 and
          rows[0]["start_ns"] <= touched.at(touch["touched"]) and
          abs(rows[0]["bytes"] - 300 * MIB) <= BATCH_BYTES + MIB, rows)


def the_oom_killer_and_its_victim_have_names():
    oom = Trace(tmp + "/oom")
    rows = oom.report("pressure", "--workload")
    killed = [r for r in rows if r["kind"] == "killed"]
    stalled = [r for r in rows if r["kind"] == "group limit"]
    check("pressure: one process was killed", len(killed) == 1 and killed[0]["comm"].startswith("python3") and
          oom.one("SELECT exit_code & 127 FROM processes WHERE pid = %d" % killed[0]["pid"]) == 9, rows)
    points = {r["member"]: r["bytes"] for r in oom.sql(
        "SELECT member, bytes FROM rss_points JOIN processes USING (upid) WHERE pid = %d AND ts_ns <= %d ORDER BY ts_ns"
        % (killed[0]["pid"], killed[0]["at_ns"]))}
    check("pressure: its size is that of its last counters", killed[0]["rss_bytes"] ==
          sum(points.get(m, 0) for m in ("file", "anon", "shmem")) > 32 * MIB, (killed, points))
    check("pressure: the limit is that of its group", killed[0]["limit_bytes"] == int(os.environ["oom_limit"]) and
          killed[0]["limit_of"] == "/" + os.path.basename(os.environ["oom_group"]), killed)
    check("pressure: it stalled at the limit of its group", len(stalled) == 1 and stalled[0]["pid"] == killed[0]["pid"]
          and 0 < stalled[0]["stall_max_ns"] <= stalled[0]["stall_ns"], stalled)
    said = oom.report("why", "--pid", killed[0]["pid"])
    check("pressure: why begins with it", str(said[0]).count("Killed by the OOM killer: python3") == 1, said[:2])


rings_lost_nothing()
buffers_are_the_givers_until_the_taker_frees_them()
every_event_is_an_allocation_or_frees_one()
resident_memory_is_the_kernels()
the_spike_is_where_it_was_touched()
if os.path.exists(tmp + "/oom"):
    the_oom_killer_and_its_victim_have_names()
