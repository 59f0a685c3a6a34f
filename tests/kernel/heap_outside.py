# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""heap_outside: what heap_outside.sh recorded. Each function is one claim."""
from heap_counts import *

SLACK = 65536    # blocks of the C library itself


def probes_of_a_running_process_count_each_call(t):
    w = truth(tmp + "/running.out")
    mine = " AND utid IN (SELECT utid FROM threads JOIN processes USING (upid) WHERE pid = %d)" % w["pid"]
    got = (t.one("SELECT count(*) FROM heap_allocs WHERE bytes = 5000" + mine),
           t.one("SELECT count(*) FROM allocations WHERE source = 'heap' AND bytes = 5000 AND free_ns IS NOT NULL" +
                 mine))
    check("heap: mallocs of this size, and frees of them", got == (w["allocs"], w["frees"]), (got, w))
    sums = t.balance(["alloc"])["alloc"]
    check("heap: read + lost = attempted", sums and sums[0] == sums[1] + sums[2], sums)


def reports_have_the_bytes_that_it_kept(t):
    w = truth(tmp + "/running.out")

    def heap(view, *window):
        return [r for r in t.report(view, "--pid", w["pid"], *window) if r["source"] == "heap"]

    rows = heap("alloc", *t.window(t.at(w["start"]), t.at(w["end"])))
    check("heap: the report's net are the blocks that it kept", len(rows) == 1 and
          100 * 5000 <= rows[0]["net_bytes"] <= 100 * 5000 + SLACK, rows)
    check("heap: its peak is all of them", len(rows) == 1 and
          2000 * 5000 <= rows[0]["peak_bytes"] <= 2000 * 5000 + SLACK, rows)
    whole = heap("alloc")
    check("heap: a process that ended has nothing", len(whole) == 1 and whole[0]["net_bytes"] == 0, whole)
    check("heap: its exit returned the blocks that nothing freed", len(whole) == 1
          and 100 * 5000 <= whole[0]["exit_bytes"] == whole[0]["alloc_bytes"] - whole[0]["free_bytes"] <= 100 * 5000 +
          SLACK, whole)
    leaked = heap("leaks")
    check("heap: leaks has the same", {r["held"] for r in leaked} - {"loader"} == {"at exit"} and
          sum(r["bytes"] for r in leaked) == whole[0]["exit_bytes"], (leaked, whole))


def heaps_are_recorded_on_request_only():
    got = Trace(tmp + "/default").one("SELECT count(*) FROM heap_allocs")
    check("heap: none unless asked for", got == 0, got)


def programs_of_musl_are_counted():
    t = Trace(tmp + "/musl")
    seen, counted = seen_and_counted(t, "musl")
    check("heap: a program of musl", len(counted) > 15 and {k: seen.get(k) for k in counted} == counted and
          t.balance(["alloc"])["alloc"][2] == 0, (counted, seen))


def probes_count_a_malloc_inside_the_program(name, what):
    t = Trace(tmp + "/" + name)
    seen, counted = seen_and_counted(t, name)
    check("heap: a program %s, by probes" % what, counted and {k: seen.get(k) for k in counted} == counted and
          t.one("SELECT value FROM info WHERE key = 'heap'") == "uprobes", (counted, seen))


def figures_of_such_heaps_are_incomplete():
    rows = Trace(tmp + "/own").report("alloc")
    check("heap: no figure of a trace with heaps left out is complete", rows and {r["complete"] for r in rows} == {0},
          rows)


def full_rings_lose_events_and_count_them():
    whole, full, waits = (Trace(tmp + "/" + n) for n in ("whole", "full", "waits"))
    w, f, waited = (t.balance(["alloc"])["alloc"] for t in (whole, full, waits))
    check("heap, waiting: nothing is lost, and every event is there", waited == w and w[2] == 0, (waited, w))
    check("heap, full: some are lost, and all are counted", f[2] > 0 and f[0] == f[1] + f[2] and
          f[0] == w[0] == w[1] >= 399999, (f, w))
    where = full.one("SELECT count(*) FROM losses WHERE cpu IS NULL AND full_cnt > 0 AND to_ns > from_ns "
                     "AND source = 'alloc.heap'")
    check("heap, full: the losses have their time, and no CPU", where > 0, full.sql("SELECT * FROM losses"))


def cost_has_the_share_of_the_library():
    t = Trace(tmp + "/whole")
    w = {r["part"]: r for r in t.report("cost")}["workload"]
    # the time per event is shown in whole ns
    check("heap: report cost has the library's events and time", w["runs"] == t.balance(["alloc"])["alloc"][1] and
          abs(w["cpu_ns"] - w["runs"] * w["ns_per_run"]) <= w["runs"] and w["events"] in (None, ""), w)
    for name in "whole", "stacks", "brief":
        ps = Trace(tmp + "/" + name).one("SELECT CAST(value AS INTEGER) FROM info WHERE key = 'heap.event_ps'")
        check("heap: the time of an event was measured, %s" % name, ps and ps > 0, ps)


running = Trace(tmp + "/running")
probes_of_a_running_process_count_each_call(running)
reports_have_the_bytes_that_it_kept(running)
heaps_are_recorded_on_request_only()
if os.path.exists(tmp + "/musl"):
    programs_of_musl_are_counted()
if os.path.exists(tmp + "/own"):
    probes_count_a_malloc_inside_the_program("probed", "with a malloc built in")
    probes_count_a_malloc_inside_the_program("static", "that is static")
    figures_of_such_heaps_are_incomplete()
full_rings_lose_events_and_count_them()
cost_has_the_share_of_the_library()
