#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --stacks: functions of known names call each other and allocate; the stacks say so, and their bytes add up to
# what was allocated.
. "$(dirname "$0")/harness.bash"

prog=$WORK/heap_sites
recorded all --only -e alloc.heap,alloc.slab,task --stacks 1/1 -- "$prog" here 10
recorded large --only -e alloc.heap,alloc.page,task --stacks 4321 -- "$prog" here 10
recorded none --only -e alloc.heap,alloc.slab,task -- "$prog" here 10
"$EBPFREC" report -i "$tmp/all" stacks --format folded >"$tmp/bytes"
"$EBPFREC" report -i "$tmp/all" stacks --format folded --sort samples >"$tmp/samples"
"$EBPFREC" redact -i "$tmp/all" -o "$tmp/gone" 2>"$tmp/gone.err" && "$EBPFREC" cut -i "$tmp/all" -o "$tmp/part" --from 0s 2>"$tmp/part.err"
check "stacks: redact and cut take them" "[ $? -eq 0 ]" "$(cat "$tmp/gone.err" "$tmp/part.err")"
"$EBPFREC" report -i "$tmp/all" cpu --format folded >/dev/null 2>"$tmp/refused"
check "stacks: folded is of no other view" "[ $? -eq 2 ] && grep -q 'views .*stacks' '$tmp/refused'" "$(cat "$tmp/refused")"

checker <<'EOF_PY'
import re
from trace_query import *
tmp = os.environ["tmp"]
a, large, none = (Trace("%s/%s" % (tmp, n)) for n in ("all", "large", "none"))
pid = truth(tmp + "/all.out")["pid"]


def folded(name):
    """{(comm, source): sum}, and the lines"""
    sums, lines = {}, open("%s/%s" % (tmp, name), encoding="utf-8").read().splitlines()
    for line in lines:
        comm, source, _ = line.split(";", 2)
        sums[comm, source] = sums.get((comm, source), 0) + int(line.rsplit(" ", 1)[1])
    return sums, lines


lost = a.one("SELECT coalesce(sum(lost_cnt), 0) FROM losses")
by_bytes, lines = folded("bytes")
by_count, _ = folded("samples")
heap = [s for s in lines if ";[heap];" in s and ";sites_alpha " in s]
check("stacks: who called whom, in one line", len(heap) == 1 and re.fullmatch(r"heap_sites;\[heap\];(.*;)?main;sites_outer;sites_alpha 43210", heap[0]), heap)
for source in "slab", "heap":
    rows = [r for r in a.report("alloc", "--pid", pid) if r["source"] == source]
    got = by_bytes.get(("heap_sites", "[%s]" % source)), by_count.get(("heap_sites", "[%s]" % source))
    # what the process allocated under its name before exec is under another comm's, not in another process
    check("stacks: of 1/1, bytes and number of %s are those of report alloc" % source,
          rows and (got == (rows[0]["alloc_bytes"], rows[0]["allocs"]) or lost), (got, rows, lost))
kernel = [s for s in lines if ";[slab];" in s]
check("stacks: kernel frames have names, and none is the recorder's program",
      kernel and any("do_syscall_64" in s or "el0" in s for s in kernel) and not any("bpf_trace_run" in s or "bpf_prog" in s for s in kernel), kernel[:2])
check("stacks: a window has its own", not a.report("stacks", "--from", "0ns", "--to", "1ns"), "rows in a nanosecond")
small = large.one("SELECT count(*) FROM stack_samples WHERE bytes < 4321")
want = large.one("SELECT (SELECT count(*) FROM heap_allocs WHERE bytes >= 4321) + (SELECT count(*) FROM page_allocs WHERE page_bytes() << page_order >= 4321)")
got = large.one("SELECT count(*) FROM stack_samples")
check("stacks: of a size, all of at least that, and no other", small == 0 and (got == want or large.one("SELECT count(*) FROM losses")), (small, got, want))
check("stacks: each belongs to an allocation",
      large.one("SELECT count(*) FROM stack_samples s JOIN heap_allocs h USING (ts_ns, cpu, addr) WHERE s.source = 'heap' AND s.bytes = h.bytes") == large.one("SELECT count(*) FROM stack_samples WHERE source = 'heap'"), "not all")
pages = [r["stack"] for r in large.report("stacks") if r["source"] == "page"]
check("stacks: of pages end where they were asked for", not any("bpf_" in s or "__traceiter" in s for s in pages), pages[:3])
check("stacks: none unless asked for", none.one("SELECT count(*) FROM stack_samples") + none.one("SELECT count(*) FROM stack_frames") == 0, "stacks")
part = [r for r in Trace(tmp + "/part").report("stacks") if r["stack"].endswith("main;sites_outer;sites_alpha")]
check("stacks: a cut trace has them", len(part) == 1 and part[0]["bytes"] == 43210, part)
gone = [r for r in Trace(tmp + "/gone").report("stacks") if r["source"] == "heap" and r["bytes"] == 43210]
check("stacks: with pseudonyms in a redacted one", len(gone) == 1 and re.search(r"fn-[a-z0-9]+;fn-[a-z0-9]+;fn-[a-z0-9]+$", gone[0]["stack"]), gone)
EOF_PY
