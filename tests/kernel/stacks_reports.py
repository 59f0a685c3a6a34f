# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""stacks_reports: what reports say of the stacks that stacks.sh recorded. Each function is one claim."""
from trace_query import *

every, some, none = (Trace(n) for n in ("all", "some", "none"))
TRACES = (("all", every), ("some", some))
# the last program of each, and the instant after its last free: it has its heap and its pipes
LAST = {t: truth(t.path + ".out")["pid"][-1] for t in (every, some, none)}
END = {t: t.one("SELECT max(ts_ns) + 1 FROM heap_frees JOIN threads USING (utid) JOIN processes USING (upid) "
                "WHERE pid = %d" % pid) for t, pid in LAST.items()}


def text(name):
    return open(name, encoding="utf-8").read()


def leaks(t, *args):
    """of the last program, while it is alive"""
    return t.report("leaks", "--pid", LAST[t], "--to", "%dns" % END[t], *args)


def spikes(t):
    return {r["source"]: r for r in t.report("spikes", "--pid", LAST[t], "--spike-min", "8MiB", "--spike-window",
                                             "10s")}


def nothing_is_lost():
    for name, t in (*TRACES, ("none", none)):
        lost = t.one("SELECT coalesce(sum(lost_cnt), 0) FROM losses")
        check("stacks: %s: nothing is lost, so counts are exact" % name, lost == 0, t.sql("SELECT * FROM losses"))


def folded(name):
    """{(comm, source): sum}"""
    sums = {}
    for line in text(name).splitlines():
        comm, source, rest = line.split(";", 2)
        sums[comm, source] = sums.get((comm, source), 0) + int(rest.rsplit(" ", 1)[1])
    return sums


def a_folded_line_says_who_called_whom():
    heap = [s for s in text("bytes.stacks").splitlines() if ";[heap];" in s and ";sites_alpha " in s]
    check("stacks: who called whom, in one line", len(heap) == 1 and
          re.fullmatch(r"heap_sites;\[heap\];(.*;)?main;sites_outer;sites_alpha 43210", heap[0]), heap)
    check("stacks: folded lines go from the outermost to the innermost function", re.search(
        r"(?m)^heap_sites;\[heap\];(.*;)?main;leak_outer;leak_alpha 350050$", text("bytes.leaks")),
        text("bytes.leaks")[:500])


def bytes_and_numbers_of_all_stacks_are_those_of_alloc():
    by_bytes, by_count = folded("bytes.stacks"), folded("samples.stacks")
    # a line has the last name of its process
    for source in "slab", "heap":
        rows = [r for r in every.report("alloc") if r["source"] == source and r["comm"] == "heap_sites"]
        got = by_bytes.get(("heap_sites", "[%s]" % source)), by_count.get(("heap_sites", "[%s]" % source))
        check("stacks: of 1/1, bytes and number of %s are those of report alloc" % source, rows and
              got == (sum(r["alloc_bytes"] for r in rows), sum(r["allocs"] for r in rows)), (got, rows))


def kernel_frames_have_names_and_none_is_the_recorders():
    kernel = [s for s in text("bytes.stacks").splitlines() if ";[slab];" in s]
    check("stacks: kernel frames have names, and none is the recorder's program", kernel and
          any("do_syscall_64" in s or "el0" in s for s in kernel) and
          not any("bpf_trace_run" in s or "bpf_prog" in s for s in kernel), kernel[:2])
    pages = [r["stack"] for r in every.report("stacks") if r["source"] == "page"]
    check("stacks: of pages end where they were asked for", pages and
          not any("bpf_" in s or "__traceiter" in s for s in pages), pages[:3])
    own = [r for r in leaks(every) if "bpf_" in r["kernel_stack"] or "__traceiter" in r["kernel_stack"]]
    check("stacks: leaks have nothing of the recorder's programs", not own, own[:3])


def a_threshold_keeps_all_of_at_least_that_size():
    small = some.one("SELECT count(*) FROM stack_samples WHERE bytes < 4321 AND source <> 'rss'")
    want = some.one("SELECT (SELECT count(*) FROM heap_allocs WHERE bytes >= 4321) + (SELECT count(*) FROM slab_allocs "

            "WHERE bytes >= 4321) + (SELECT count(*) FROM page_allocs WHERE page_bytes() << page_order >= 4321)")
    got = some.one("SELECT count(*) FROM stack_samples WHERE source <> 'rss'")
    check("stacks: of a size, all of at least that, and no other", small == 0 and got == want, (small, got, want))
    joined = some.one("SELECT count(*) FROM stack_samples s JOIN heap_allocs h USING (ts_ns, cpu, addr) "
                      "WHERE s.source = 'heap' AND s.bytes = h.bytes")
    heap = some.one("SELECT count(*) FROM stack_samples WHERE source = 'heap'")
    check("stacks: each belongs to an allocation", joined == heap > 0, (joined, heap))


def there_are_none_unless_asked_for():
    got = none.one("SELECT count(*) FROM stack_samples") + none.one("SELECT count(*) FROM stack_frames")
    check("stacks: none unless asked for", got == 0, got)
    filled = [r for r in leaks(none) + list(spikes(none).values()) if r["user_stack"] or r["kernel_stack"]]
    check("stacks: without --stacks no column is filled", not filled, filled[:3])
    check("stacks: nor shown", "user:" not in text("none.txt") and "STACK" not in text("none.txt"),
          text("none.txt")[:300])
    rows = every.report("stacks", "--from", "0ns", "--to", "1ns")
    check("stacks: a window has its own", not rows, rows)


def the_leak_is_one_row_of_one_stack(name, t):
    rows = [r for r in leaks(t) if r["source"] == "heap" and r["call_site"].startswith("leak_alpha")]
    check("stacks: %s: the leak is one row, of one stack" % name, len(rows) == 1 and
          re.search(r"(^|;)main;leak_outer;leak_alpha$", rows[0]["user_stack"]) and rows[0]["kernel_stack"] == "", rows)
    check("stacks: %s: with all its objects" % name, [(r["objects"], r["bytes"]) for r in rows] == [(50, 50 * 7001)],
          rows)
    check("stacks: %s: while the process lives, they are live" % name, {r["held"] for r in rows} == {"live"}, rows)
    freed = [r for r in leaks(t) if r["source"] == "heap" and "burst_beta" in r["user_stack"]]
    check("stacks: %s: freed blocks are not there" % name, not freed, freed)
    rows = [r for r in t.report("leaks", "--pid", LAST[t]) if r["call_site"].startswith("leak_alpha")]
    check("stacks: %s: blocks that the process held when it ended are told apart" % name,
          [(r["objects"], r["held"]) for r in rows] == [(50, "at exit")], rows)


def a_call_site_is_one_row(name, t):
    leaked = t.report("leaks", "--pid", LAST[t], "--by", "site")
    rows = [r for r in leaked if r["call_site"].startswith("leak_alpha")]
    check("stacks: %s: by site" % name, [r["objects"] for r in rows] == [50] and "pid" not in rows[0], rows)
    check("stacks: %s: a call site is one row, whatever has a stack" % name,
          len({(r["source"], r["kind"], r["call_site"]) for r in leaked}) == len(leaked), leaked[:4])


def leaks_are_in_the_order_of_their_kinds(name, t):
    rows = t.report("leaks")
    held = {r["held"] for r in rows if r["comm"] == "heap_sites" and r["source"] != "heap"}
    check("stacks: %s: kernel memory of a process that ended is not live" % name, held <= {"after exit", "cache"}, held)
    order = [(r["held"] == "cache", ["heap", "slab", "page"].index(r["source"])) for r in rows]
    check("stacks: %s: heap first, then slab, pages and the kernel's caches" % name, order == sorted(order), order[:40])
    kept = {r["held"] for r in rows if r["kind"] in ("dentry", "buffer_head")}
    check("stacks: %s: names of files are a cache" % name, kept <= {"cache"}, kept)


def kept_pipes_have_both_stacks():
    pipes = [r for r in leaks(every) if r["source"] == "slab" and r["call_site"].startswith("alloc_pipe_info")]
    check("stacks: kept pipes have the kernel's stack and the program's", pipes
          and all("keep_outer" in r["user_stack"] and "pipe" in r["kernel_stack"]
                  and r["kernel_stack"].endswith("alloc_pipe_info") for r in pipes), pipes)
    # struct pipe_inode_info and its array of buffers: two objects per pipe
    check("stacks: and there are 40", sum(r["objects"] for r in pipes) == 80, pipes)


def each_object_has_its_own_stack(name, t):
    got, want = {}, {}
    end = END[t]
    for r in t.report("leaks", "--with-recorder", "--to", "%dns" % end):
        key = r["source"], bool(r["user_stack"] or r["kernel_stack"])
        before = got.get(key, (0, 0))
        got[key] = before[0] + r["objects"], before[1] + r["bytes"]
    for r in t.sql("""SELECT a.source AS source, s.stack IS NOT NULL AS has, count(*) AS n, sum(a.bytes) AS b
                        FROM allocations AS a LEFT JOIN (SELECT source, ts_ns, addr, max(stack) AS stack
                                                           FROM stack_samples GROUP BY 1, 2, 3) AS s
                          ON s.source = a.source AND s.ts_ns = a.alloc_ns AND (s.addr = a.addr OR a.source = 'page')
                       WHERE a.alloc_ns < %d AND (a.free_ns IS NULL OR a.free_ns >= %d)
                       GROUP BY 1, 2""" % (end, end)):
        want[r["source"], bool(r["has"])] = r["n"], r["b"]
    check("stacks: %s: objects with and without a stack are those of allocations and stack_samples" % name,
          got == want and got, (got, want))


def bursts_have_their_stacks(name, t):
    burst = spikes(t).get("heap", {"user_stack": "", "stack_bytes": 0})
    check("stacks: %s: the burst is burst_beta's, with its bytes" % name,
          re.search(r"(^|;)main;burst_outer;burst_beta$", burst["user_stack"]) and burst["stack_bytes"] == 2000 * 10007,
          burst)


def touched_memory_has_the_stack_of_the_page_fault():
    burst = spikes(every).get("rss", {"user_stack": "", "kernel_stack": "", "stack_bytes": 0})
    # a function without calls may set up no frame, which hides its caller
    check("stacks: touched memory is touch_gamma's, through a page fault",
          re.search(r"(^|;)main;(touch_outer;)?touch_gamma$", burst["user_stack"]) and
          re.search(r"fault|el0", burst["kernel_stack"]), burst)
    check("stacks: with its pages", 24 << 20 <= burst["stack_bytes"] < 26 << 20, burst)
    # there the frame pointer is still the caller's, which hides it
    rows = every.sql("SELECT DISTINCT stack_text(stack, ts_ns, 'user') AS text FROM stack_samples")
    texts = [r["text"] for r in rows if re.search("touch_(before|first)", r["text"] or "")]
    check("stacks: a fault at a function's first instruction is in that function",
          texts and all(x.endswith("main;touch_first") for x in texts), texts[:3])


def tables_have_the_stacks_below_their_rows():
    lines = text("leaks.txt").splitlines()
    check("stacks: a table has them below the row, the innermost first",
          [x for x in lines if x.startswith("      user: leak_alpha < leak_outer < main")] and
          [x for x in lines if x.startswith("      kernel: alloc_pipe_info < ")], lines[:12])
    check("stacks: so has the table of spikes", "      user: burst_beta < burst_outer < main" in text("spikes.txt"),
          text("spikes.txt"))


def folded_leaks_add_up_to_the_table():
    for name, column in ("bytes.leaks", "bytes"), ("objects.leaks", "objects"):
        sums, want = {}, {}
        for (_, source), n in folded(name).items():
            sums[source] = sums.get(source, 0) + n
        for r in leaks(every):
            want["[%s]" % r["source"]] = want.get("[%s]" % r["source"], 0) + r[column]
        check("stacks: folded %s add up to the table's" % column, sums == want and want, (sums, want))


nothing_is_lost()
a_folded_line_says_who_called_whom()
bytes_and_numbers_of_all_stacks_are_those_of_alloc()
kernel_frames_have_names_and_none_is_the_recorders()
a_threshold_keeps_all_of_at_least_that_size()
there_are_none_unless_asked_for()
for which, trace in TRACES:
    the_leak_is_one_row_of_one_stack(which, trace)
    a_call_site_is_one_row(which, trace)
    leaks_are_in_the_order_of_their_kinds(which, trace)
    bursts_have_their_stacks(which, trace)
for which, trace in (*TRACES, ("none", none)):
    each_object_has_its_own_stack(which, trace)
kept_pipes_have_both_stacks()
touched_memory_has_the_stack_of_the_page_fault()
tables_have_the_stacks_below_their_rows()
folded_leaks_add_up_to_the_table()
