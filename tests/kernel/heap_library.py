# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""heap_library: what heap.sh recorded. Each function is one claim."""
from heap_counts import *

prog, build_id = os.environ["prog"], os.environ["build_id"]
SIZES = {
    "every function": [50003, 50008, 50017, 50176, 50047, 50053, 50061, 50069, 50101],
    "realloc": [50021, 50023, 100003, 90001, 30027, 50033, 50051],
    "64 threads": [50111],
    "a parent and its child": [50123, 50129],
    "vfork": [50251],
    "without descriptors": [50247],
    "in a sandbox": [50263],
    "signal handlers, also inside the allocator": [50131, 50223, 50231, 50137, 50171, 50207],
    "kill -9": [50147],
}


def counts_are_those_of_the_programs(t, name, how=""):
    seen, counted = seen_and_counted(t, name)
    for what, sizes in SIZES.items():
        want = {k: v for k, v in counted.items() if k[1] in sizes}
        check("heap: %s%s" % (what, how), want and {k: seen.get(k) for k in want} == want,
              {k: (v, seen.get(k)) for k, v in want.items() if seen.get(k) != v})
    twice = [k for k in counted if k[1] == 50003]
    check("heap: two programs, the second after a chain of execs" + how, len(twice) == 2, counted)
    sums = t.balance(["alloc"])["alloc"]
    check("heap: nothing is lost" + how, sums[2] == 0 and sums[0] == sums[1], sums)


def live_blocks_are_those_of_mallinfo2(t):
    """
    glibc's chunk: 8 bytes of its own, 32 at least, multiples of 16; from 128 KiB on, mapped, 16 of its own and whole
    pages. The rest are tables of glibc, 656 bytes per thread and 2.3 KiB for the second arena, and up to 16 bytes per
    aligned block; 8 KiB are four blocks of this program.
    """
    w = truth(tmp + "/live.out")
    rows = [r["bytes"] for r in t.sql("SELECT bytes FROM allocations JOIN threads USING (utid) JOIN processes USING "
                                      "(upid) " "WHERE source = 'heap' AND free_ns IS NULL AND pid = %d" % w["pid"])]
    given = sum(max(32, (b + 23) & ~15) for b in rows if b < 1 << 17)
    mapped = sum((b + 16 + 4095) & ~4095 for b in rows if b >= 1 << 17)
    check("heap: blocks live at the end of a program, as mallinfo2 says", len(rows) > 3000 and mapped == w["mapped"] and
          0 <= w["live"] - given <= 8192, (w, given, len(rows)))
    leaks = [r for r in t.report("leaks", "--pid", w["pid"]) if r["source"] == "heap"]
    held = [(r["held"], "[ld-" in r["call_site"]) for r in leaks]
    check("heap: objects of the loader come after all others", set(held) == {("at exit", False), ("loader", True)} and
          held == sorted(held), held)
    check("heap: report leaks has the same", (sum(r["objects"] for r in leaks), sum(r["bytes"] for r in leaks)) ==
          (len(rows), sum(rows)), leaks)


def growth_names_the_function_that_keeps_a_third(t, name):
    w = truth(tmp + "/%s.out" % name)
    lo, hi = t.at(w["start"]), t.at(w["end"])

    def heap(view, *window):
        return [r for r in t.report(view, "--comm", "growth", *t.window(*window)) if r["source"] == "heap"]

    rows = heap("growth", lo, hi)
    check("growth: every third block of parse_header is kept", len(rows) == 1 and "parse_header" in rows[0]["call_site"]
          and (rows[0]["grown_bytes"], rows[0]["kept_bytes"], round(rows[0]["kept_pct"], 1)) == (2_000_000, 2_000_000,
        33.3), rows)
    # With the 1 MiB before the window, the growth is a step and a line.
    rows = heap("growth", 0, hi)
    check("growth: blocks kept from the start count, too", len(rows) == 1 and
          rows[0]["grown_bytes"] >= 2_000_000 + (1 << 20) and rows[0]["linear_pct"] < 100, rows)
    rows = heap("alloc", lo, hi)
    check("growth: its bytes are those of alloc", [x["net_bytes"] for x in rows] == [2_000_000], rows)


def views_of_a_sampled_heap_add_up(t):
    """heap_bytes() of all samples is what each view has, and heap_error() what it may be off by"""
    want, live = [t.one("SELECT sum(heap_bytes(bytes)) FROM allocations WHERE source = 'heap' %s" % which)
                  for which in ("", "AND free_ns IS NULL")]
    small = t.one("SELECT sum(heap_bytes(bytes)) > 1.5 * sum(bytes) AND sum(heap_weight(bytes)) > 1.5 * count(*) "
                  "FROM heap_allocs WHERE bytes < 64")
    check("heap: small samples stand for more than themselves", small == 1, small)

    def rows(view):
        return [r for r in t.report(view) if r["source"] == "heap"]

    alloc = rows("alloc")
    errors = [t.one("SELECT heap_error(%d)" % r["alloc_bytes"]) for r in alloc]
    check("heap: report alloc has each estimate's error", errors and all(errors) and
          [r["alloc_error_bytes"] for r in alloc] == errors, (alloc, errors))
    for view, column, bytes_ in (("alloc", "alloc_bytes", want), ("lifetimes", "bytes", want),
                                 ("sizes", "bytes", want), ("stacks", "bytes", want),
                                 ("leaks", "bytes", live)):
        got = sum(r[column] for r in rows(view))
        check("heap: report %s of a sampled heap adds up to the same" % view, got == bytes_, (got, bytes_))
    text = run("report", "alloc", "-i", t.path)
    check("heap: a report of estimates says so", "its figures are estimates" in " ".join(text.split()), text)


def threads_that_end_at_once_are_counted():
    seen, counted = seen_and_counted(Trace(tmp + "/short"), "short")
    check("heap: 3,000 threads that end at once", counted and seen == counted, (counted, seen))


def each_allocation_has_a_stack_whatever_the_frame_pointer():
    t = Trace(tmp + "/frames")
    bytes_, allocs, _, _ = map(int, truth(tmp + "/frames.out")["size"].split(","))
    got = [t.one("SELECT count(*) FROM %s WHERE bytes = %d" % (table, bytes_))
           for table in ("heap_allocs", "stack_samples")]
    check("heap: any frame pointer does no harm, and each allocation has a stack", got == [allocs, allocs] and
          t.balance(["alloc"])["alloc"][2] == 0, (got, allocs))


def sites(t, bytes_, exe=None):
    """call sites of the allocations of this size, by process"""
    return t.sql("""SELECT p.exe AS exe, p.pid AS pid, count(*) AS cnt, s.symbol AS symbol,
                           s.symbol_offset AS symbol_offset, s.module AS module, s.build_id AS build_id,
                           s.unresolved AS unresolved, s.module_offset AS module_offset
                      FROM heap_allocs h JOIN threads USING (utid) JOIN processes p USING (upid)
                      LEFT JOIN user_sites s ON s.upid = p.upid AND s.addr = h.call_site
                     WHERE h.bytes = %d %s GROUP BY p.upid, h.call_site ORDER BY p.start_ns""" %
                 (bytes_, "AND p.exe = '%s'" % exe if exe else ""))


def named(what, rows, cnt, symbol, module, build=None):
    check(what, len(rows) == 1 and rows[0]["cnt"] == cnt and rows[0]["symbol"] == symbol and
          rows[0]["symbol_offset"] > 0 and rows[0]["module"] == module and not rows[0]["unresolved"] and
          build in (None, rows[0]["build_id"]), rows)


def unnamed(what, rows, cnt, module, why):
    check(what, len(rows) == 1 and rows[0]["cnt"] == cnt and not rows[0]["symbol"] and
          (rows[0]["module"] or "") == module and rows[0]["unresolved"] == why and (not module or rows[0]["build_id"]),
          rows)


def call_sites_have_names(t):
    named("where from: a function that no other file can call", sites(t, 4321, prog), 10, "sites_alpha", prog, build_id)
    lib = sites(t, 8642)
    named("where from: of a library loaded later", lib[:1], 7, "lib_inner", prog + ".so")
    stripped = sites(t, 4321, tmp + "/stripped")
    unnamed("where from: a stripped program has file and build id", stripped, 10, tmp + "/stripped", "stripped")
    check("where from: stripping keeps the build id", stripped[0]["build_id"] == build_id, build_id)
    unnamed("where from: a stripped library that exports nothing", lib[1:], 7, tmp + "/stripped.so", "stripped")
    split = tmp + "/split/sites"
    named("where from: symbols in a file beside it", sites(t, 4321, split), 10, "sites_alpha", split, build_id)
    if os.uname().machine == "x86_64":
        unnamed("where from: code without a file", sites(t, 6543), 5, "", "anonymous")


def files_that_others_cannot_open_have_names(t):
    for what, exe in (("a file deleted while it runs", "/deleted/sites"),
                      ("a file of another mount namespace", "/ns/inside")):
        named("where from: " + what, sites(t, 4321, tmp + exe), 6, "sites_alpha", tmp + exe, build_id)


def views_show_the_names(t, slow):
    site = sites(t, 4321, prog)[0]
    text = "sites_alpha+0x%x [heap_sites]" % site["symbol_offset"]
    one = "--pid", site["pid"]
    for trace, view, where, column, cnt in ((slow, "leaks", ("--comm", "inside"), "objects", 6),
                                            (t, "lifetimes", one, "allocs", 10)):
        rows = [r for r in trace.report(view, *where) if r["call_site"].startswith("sites_alpha+0x")]
        check("where from: report %s names the function" % view, len(rows) == 1 and rows[0][column] == cnt, rows)
    got = t.one("SELECT user_symbol(t.upid, h.call_site, h.ts_ns) FROM heap_allocs h JOIN threads t USING (utid) "
                "JOIN processes p USING (upid) WHERE h.bytes = 4321 AND p.exe = '%s'" % prog)
    check("where from: user_symbol() has the same text", got == text, (got, text))
    spikes = [r for r in t.report("spikes", "--spike-min", "30000", *one) if r["source"] == "heap"]
    check("where from: report spikes names the function", len(spikes) == 1 and spikes[0]["cause"] == text,
          (spikes, text))
    run("cut", "-i", t.path, "-o", tmp + "/part", "--from", "0s")
    named("where from: so does a cut", sites(Trace(tmp + "/part"), 4321, prog), 10, "sites_alpha", prog, build_id)


whole, late = Trace(tmp + "/all"), Trace(tmp + "/slow")
counts_are_those_of_the_programs(whole, "all")
live_blocks_are_those_of_mallinfo2(whole)
growth_names_the_function_that_keeps_a_third(whole, "growth")
sampled = Trace(tmp + "/sampled")
counts_are_those_of_the_programs(sampled, "sampled", " (samples)")
growth_names_the_function_that_keeps_a_third(sampled, "sampled_growth")
views_of_a_sampled_heap_add_up(sampled)
threads_that_end_at_once_are_counted()
each_allocation_has_a_stack_whatever_the_frame_pointer()
call_sites_have_names(whole)
files_that_others_cannot_open_have_names(late)
views_show_the_names(whole, late)
