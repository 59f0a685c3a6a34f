#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# report leaks and report spikes say where from, by the stacks of --stacks: a program leaks, keeps pipes, and bursts, each
# from functions of known names.
. "$(dirname "$0")/harness.bash"

prog=$WORK/heap_sites
sources=alloc.heap,alloc.slab,alloc.page,alloc.rss,task
recorded all --only -e $sources --stacks 1/1 -- "$prog" leak
recorded some --only -e $sources --stacks 7000 -- "$prog" leak
recorded none --only -e $sources -- "$prog" leak
spikes=(spikes --spike-min 8MiB --spike-window 10s)

# last_free TRACE: the instant just after it: the burst is over, and the program still there, with its heap and its pipes
last_free()
{
	"$EBPFREC" sql -i "$1" --format csv "SELECT max(ts_ns) + 1 FROM heap_frees" | tail -n 1
}
to=$(last_free "$tmp/all")ns
"$EBPFREC" report -i "$tmp/all" leaks --to "$to" >"$tmp/leaks.txt"
"$EBPFREC" report -i "$tmp/all" "${spikes[@]}" >"$tmp/spikes.txt"
"$EBPFREC" report -i "$tmp/none" leaks >"$tmp/none.txt"
"$EBPFREC" report -i "$tmp/all" leaks --to "$to" --format folded >"$tmp/bytes"
"$EBPFREC" report -i "$tmp/all" leaks --to "$to" --format folded --sort objects >"$tmp/objects"
"$EBPFREC" report -i "$tmp/all" spikes --format folded >/dev/null 2>"$tmp/refused"
check "stack views: spikes are not folded, and it says what to ask instead" \
	"[ $? -eq 2 ] && grep -q 'report stacks --from' '$tmp/refused'" "$(cat "$tmp/refused")"

checker <<'EOF_PY'
import re
from trace_query import *
tmp = os.environ["tmp"]
every, some, none = (Trace("%s/%s" % (tmp, n)) for n in ("all", "some", "none"))
end = {t: t.one("SELECT max(ts_ns) + 1 FROM heap_frees") for t in (every, some, none)}
SPIKES = ("spikes", "--spike-min", "8MiB", "--spike-window", "10s")


def text(name):
    return open("%s/%s" % (tmp, name), encoding="utf-8").read()


def leaks(t, *args):
    return t.report("leaks", "--to", "%dns" % end[t], *args)


def lost(t):
    return t.one("SELECT coalesce(sum(lost_cnt), 0) FROM losses")


# ---- what leaked ----
for name, t in ("all", every), ("some", some):
    rows = [r for r in leaks(t) if r["source"] == "heap" and r["call_site"].startswith("leak_alpha")]
    check("stack views: %s: the leak is one row, of one stack" % name, len(rows) == 1 and
          re.search(r"(^|;)main;leak_outer;leak_alpha$", rows[0]["user_stack"]) and rows[0]["kernel_stack"] == "" or lost(t), rows)
    check("stack views: %s: with all its objects" % name, [(r["objects"], r["bytes"]) for r in rows] == [(50, 50 * 7001)] or lost(t), (rows, lost(t)))
    # (what the kernel took for itself meanwhile, such as a page table, it may keep)
    freed = [r for r in leaks(t) if r["source"] == "heap" and "burst_beta" in r["user_stack"]]
    check("stack views: %s: what was freed is not there" % name, not freed or lost(t), freed)
    # the same process ended by the end of the trace, and held it then
    rows = [r for r in t.report("leaks") if r["source"] == "heap" and r["call_site"].startswith("leak_alpha")]
    check("stack views: %s: what the process held when it ended is a leak, and told apart" % name,
          [(r["objects"], r["held"]) for r in rows] == [(50, "at exit")] or lost(t), rows)
    check("stack views: %s: before that, it is live" % name, {r["held"] for r in leaks(t) if r["call_site"].startswith("leak_alpha")} == {"live"}, "another")
    sites = [r for r in t.report("leaks", "--by", "site") if r["call_site"].startswith("leak_alpha")]
    check("stack views: %s: by site" % name, [r["objects"] for r in sites] == [50] and "pid" not in sites[0] or lost(t), sites)
    sites = t.report("leaks", "--by", "site")
    check("stack views: %s: a call site is one row, whatever has a stack" % name,
          len({(r["source"], r["kind"], r["call_site"]) for r in sites}) == len(sites), sites[:4])
    check("stack views: %s: kernel memory of the process that ended is not live" % name,
          {r["held"] for r in t.report("leaks") if r["comm"] == "heap_sites" and r["source"] != "heap"} <= {"after exit", "cache"}, "another")
    order = [(r["held"] == "cache", r["source"]) for r in t.report("leaks")]
    check("stack views: %s: heap first, then slab, pages and the kernel's caches" % name,
          order == sorted(order, key=lambda x: (x[0], ["heap", "slab", "page"].index(x[1]))), order[:40])
    kept = {r["held"] for r in t.report("leaks") if r["kind"] in ("dentry", "buffer_head")}
    check("stack views: %s: names of files are a cache" % name, kept <= {"cache"}, kept)
pipes = [r for r in leaks(every) if r["source"] == "slab" and r["call_site"].startswith("alloc_pipe_info")]
check("stack views: kept pipes have the kernel's stack and the program's", pipes and all(
      "keep_outer" in r["user_stack"] and re.search(r"pipe", r["kernel_stack"]) and r["kernel_stack"].endswith("alloc_pipe_info") for r in pipes), pipes)
check("stack views: and there are 40", sum(r["objects"] for r in pipes) == 80 or lost(every), pipes)
check("stack views: nothing of the recorder's programs", not [r for r in leaks(every) if "bpf_" in r["kernel_stack"] or "__traceiter" in r["kernel_stack"]], "bpf_")

# ---- each object by its own stack, and nothing lost or doubled by it ----
for name, t in ("all", every), ("some", some), ("none", none):
    got, want = {}, {}
    for r in leaks(t, "--with-recorder"):
        key = r["source"], bool(r["user_stack"] or r["kernel_stack"])
        was = got.get(key, (0, 0))
        got[key] = was[0] + r["objects"], was[1] + r["bytes"]
    for r in t.sql("""SELECT a.source AS source, s.stack IS NOT NULL AS has, count(*) AS n, sum(a.bytes) AS b FROM allocations AS a
                        LEFT JOIN (SELECT source, ts_ns, addr, max(stack) AS stack FROM stack_samples GROUP BY 1, 2, 3) AS s
                          ON s.source = a.source AND s.ts_ns = a.alloc_ns AND (s.addr = a.addr OR a.source = 'page')
                        JOIN processes AS p ON p.upid = a.upid
                       WHERE a.alloc_ns < %d AND (a.free_ns IS NULL OR a.free_ns >= %d) AND (a.source <> 'heap' OR p.end_ns IS NULL OR p.end_ns >= %d)
                       GROUP BY 1, 2""" % (end[t], end[t], end[t])):
        want[r["source"], bool(r["has"])] = r["n"], r["b"]
    check("stack views: %s: with and without a stack, the objects are those of allocations and stack_samples" % name, got == want and got, (got, want))
check("stack views: without --stacks no column is filled", not [r for r in leaks(none) + none.report(*SPIKES) if r["user_stack"] or r["kernel_stack"]], "filled")
check("stack views: nor shown", "user:" not in text("none.txt") and "STACK" not in text("none.txt"), text("none.txt")[:300])

# ---- what burst ----
for name, t in ("all", every), ("some", some):
    rows = {r["source"]: r for r in t.report(*SPIKES)}
    burst = rows.get("heap", {"user_stack": "", "stack_bytes": 0})
    check("stack views: %s: the burst is burst_beta's" % name, re.search(r"(^|;)main;burst_outer;burst_beta$", burst["user_stack"]), rows)
    check("stack views: %s: with its bytes" % name, burst["stack_bytes"] == 2000 * 10007 or lost(t), (burst, lost(t)))
burst = {r["source"]: r for r in every.report(*SPIKES)}.get("rss", {"user_stack": "", "kernel_stack": "", "stack_bytes": 0})
# a function that calls none may set up no frame, which hides its caller
check("stack views: what was touched is touch_gamma's, through a page fault", re.search(r"(^|;)main;(touch_outer;)?touch_gamma$", burst["user_stack"]) and
      re.search(r"fault|el0", burst["kernel_stack"]), burst)
check("stack views: with its pages", 24 << 20 <= burst["stack_bytes"] < 26 << 20 or lost(every), (burst, lost(every)))

# ---- for people, and for flame graphs ----
lines = text("leaks.txt").splitlines()
check("stack views: a table has them under the row, from where it happened",
      [x for x in lines if x.startswith("      user: leak_alpha < leak_outer < main")] and [x for x in lines if x.startswith("      kernel: alloc_pipe_info < ")], lines[:12])
check("stack views: so has the table of spikes", "      user: burst_beta < burst_outer < main" in text("spikes.txt"), text("spikes.txt"))
for name, column in ("bytes", "bytes"), ("objects", "objects"):
    sums, want = {}, {}
    for line in text(name).splitlines():
        comm, source, rest = line.split(";", 2)
        sums[source] = sums.get(source, 0) + int(rest.rsplit(" ", 1)[1])
    for r in leaks(every):
        want["[%s]" % r["source"]] = want.get("[%s]" % r["source"], 0) + r[column]
    check("stack views: folded %s add up to the table's" % name, sums == want and want, (sums, want))
check("stack views: folded lines go from the outermost to the innermost", re.search(r"(?m)^heap_sites;\[heap\];(.*;)?main;leak_outer;leak_alpha 350050$", text("bytes")) or lost(every), text("bytes")[:500])
EOF_PY
