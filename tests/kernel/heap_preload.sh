#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --heap -- COMMAND: the library in the workload. What a program counted itself, by sizes that nothing else asks
# for, is in the trace: every function of the allocator, threads, fork, exec, signal handlers, and up to a kill -9.
. "$(dirname "$0")/harness.bash"

calls=$WORK/heap_calls

recorded many --heap -e alloc.heap,task -- sh -c '
	echo "memory=$EBPFREC_HEAP"
	"$1" kinds 1000
	"$1" threads 500
	"$1" forks 700
	LD_PRELOAD=$LD_PRELOAD:$1.so "$1" signals 3000
	"$1" closed 600
	"$1" vforks 200
	"$1" sandboxed 2000
	"$1" killed 900
	exec env exec_chain=1 sh -c "exec $1 kinds 11"' sh "$calls"
check "heap: the library recorded it" 'grep -qx heap=library "$tmp/many/manifest"' "$(cat "$tmp/many/manifest")"
memory=$(kv "$tmp/many.out" memory)
check "heap: every program began with the library" '! grep -q ^heap.without "$tmp/many/manifest"' "$(cat "$tmp/many/manifest" "$tmp/many.err")"
check "heap: its memory is gone" '[ -n "$memory" ] && [ ! -e "${memory%/*}" ]' "$memory"

# A setuid program gets nothing of it, and no program a descriptor.
cp "$calls" "$(command -v cat)" "$tmp" && chown nobody "$tmp/heap_calls" "$tmp/cat" && chmod 4755 "$tmp/heap_calls" "$tmp/cat" && chmod 755 "$tmp"
recorded rights --heap -e alloc.heap,task -- sh -c '
	cat /proc/self/maps | grep -c "ebpfrec[_-]heap"
	"$1/cat" /proc/self/maps | grep -c "ebpfrec[_-]heap"
	ls -l /proc/self/fd | grep -c "ebpfrec[_-]heap"
	"$1/heap_calls" killed 5
	true' sh "$tmp"
check "heap: a setuid program has neither library nor memory, and none has a descriptor" \
	'[ "$(sed -n 1p "$tmp/rights.out")" -gt 1 ] && [ "$(sed -n 2,3p "$tmp/rights.out")" = $'"'0\\n0'"' ] && grep -q size=50147,6,5, "$tmp/rights.out"' \
	"$(cat "$tmp/rights.out")"
check "heap: the trace says of how many programs it has no heap" 'grep -qx heap.without=2 "$tmp/rights/manifest"' "$(cat "$tmp/rights/manifest")"

# More threads than chunks, of which each ends at once.
recorded short --heap-wait -e alloc.heap,task -- "$calls" short_lived 3000

recorded frames --heap --stacks 1/1 -e alloc.heap,task -- "$calls" frames 200

# heaptrack counts one more: the memory that libstdc++, which its own library needs, has in store. (It does not count valloc
# and pvalloc.)
if command -v heaptrack >/dev/null; then
	heaptrack -o "$tmp/heaptrack" "$calls" threads 100 >"$tmp/heaptrack.out" 2>&1
	recorded beside --heap -e alloc.heap,task -- "$calls" threads 100
	theirs=$(sed -n 's/^[[:space:]]*allocations:[[:space:]]*//p' "$tmp/heaptrack.out")
	ours=$("$EBPFREC" sql -i "$tmp/beside" --format csv 'SELECT count(*) FROM heap_allocs' | tail -n 1 | tr -d '\r')
	check "heap: as many allocations as heaptrack counts" '[ "$ours" -ge 6400 ] && [ $((theirs - ours)) -ge 0 ] && [ $((theirs - ours)) -le 2 ]' "$ours, heaptrack $theirs"
else
	skip beside_heaptrack "heaptrack is not installed"
fi

# Of musl instead of glibc: the same library.
if command -v musl-gcc >/dev/null; then
	musl-gcc -std=gnu11 -O2 -D_GNU_SOURCE -fno-builtin -o "$tmp/heap_calls_musl" "$top/tests/kernel/work/heap_calls.c" -lpthread
	recorded musl --heap -e alloc.heap,task -- sh -c 'for what in kinds threads forks killed; do "$1" $what 300; done; true' sh "$tmp/heap_calls_musl"
else
	skip "heap: programs of musl" "there is no musl-gcc"
fi

# An allocator that is in the program itself comes before any library's.
if command -v cc >/dev/null; then
	cc -std=gnu11 -O2 -D_GNU_SOURCE -fno-builtin -DLIBRARY -c -o "$tmp/own_calls.o" "$top/tests/kernel/work/heap_calls.c" &&
		cc -std=gnu11 -O2 -D_GNU_SOURCE -fno-builtin -o "$tmp/own_calls" "$top/tests/kernel/work/heap_calls.c" "$tmp/own_calls.o" -rdynamic -lpthread
	recorded own --heap -e alloc.heap,task -- sh -c '"$1" threads 10; "$1" killed 10; "$2" killed 10; true' sh "$tmp/own_calls" "$calls"
	pid=$(sed -n 's/^size=50147,.*,//p' "$tmp/own.out" | head -n 1)
	check "heap: a line says whose malloc is not recorded" '[ "$(grep -c "heap of process $pid and 1 more is not recorded" "$tmp/own.err")" = 1 ]' "$(cat "$tmp/own.out" "$tmp/own.err")"
	"$EBPFREC" report -i "$tmp/own" leaks >"$tmp/own.leaks" 2>&1
	"$EBPFREC" info -i "$tmp/own" >"$tmp/own.info" 2>&1
	check "heap: the trace says it, too, above the answers about heaps" 'grep -q "the heap of process $pid and 1 more was not recorded" "$tmp/own.leaks"' "$(head -n 5 "$tmp/own.leaks")"
	check "heap: no figure of such a trace's heaps is complete" \
		'[ "$("$EBPFREC" report -i "$tmp/own" alloc --format csv | awk -F, "NR == 1 { for (i = 1; i <= NF; i++) if (\$i == \"complete\") c = i } NR > 1 { print \$c }" | sort -u)" = 0 ]' \
		"$("$EBPFREC" report -i "$tmp/own" alloc --format csv)"
	check "heap: info says it" 'grep -q "heaps *of 2 processes, which had a malloc built in" "$tmp/own.info"' "$(cat "$tmp/own.info")"
	check "heap: check says it, and the trace is whole" '"$EBPFREC" check -i "$tmp/own" >"$tmp/own.check" && grep -q "heaps of processes with a malloc built in were not recorded" "$tmp/own.check"' "$(cat "$tmp/own.check")"
	# Where it is COMMAND itself, probes record it.
	recorded probed --heap -e alloc.heap,task -- "$tmp/own_calls" threads 10
	check "heap: a line says what probes of a malloc built in cost" 'grep -q "uprobes record the heap of a program with a malloc built in; each malloc and free takes about 6 us more" "$tmp/probed.err"' "$(cat "$tmp/probed.err")"
	cc -std=gnu11 -O2 -D_GNU_SOURCE -fno-builtin -static -o "$tmp/static_calls" "$top/tests/kernel/work/heap_calls.c" -lpthread
	recorded static --heap -e alloc.heap,task -- "$tmp/static_calls" kinds 20
	# A child that is static is seen by neither.
	recorded child --heap -e alloc.heap,task -- sh -c '"$1" threads 10; "$2" killed 10; env -i "$2" killed 10; true' sh "$tmp/static_calls" "$calls"
	check "heap: a line says of how many programs it is not recorded" '[ "$(grep -c "the heap of 2 programs is not recorded: static, " "$tmp/child.err")" = 1 ]' "$(cat "$tmp/child.err")"
	"$EBPFREC" report -i "$tmp/child" leaks >"$tmp/child.leaks" 2>&1
	"$EBPFREC" info -i "$tmp/child" >"$tmp/child.info" 2>&1
	"$EBPFREC" check -i "$tmp/child" >"$tmp/child.check" 2>&1
	check "heap: so do the answers about heaps, info and check" 'grep -q "the heap of 2 programs was not recorded" "$tmp/child.leaks" && grep -q "heaps_unseen *of 2 programs" "$tmp/child.info" &&
		grep -q "heaps of programs without the library were not recorded" "$tmp/child.check"' "$(head -n 3 "$tmp/child.leaks" "$tmp/child.check"; grep heaps "$tmp/child.info")"
	check "heap: and of no other program" '! grep -q "a malloc is built in" "$tmp"/{many,rights,frames}.err' "$(cat "$tmp"/{many,rights,frames}.err)"
fi

# Nothing that the program gave back stays out of its allocator's figures.
recorded live --heap -e alloc.heap,task -- env GLIBC_TUNABLES=glibc.malloc.tcache_count=0 "$calls" live 3000

recorded whole --heap -e alloc.heap,task -- "$WORK/heap_user" 200000 5000 1
recorded full --heap -e alloc.heap,task --ring-size 4KiB -- "$WORK/heap_user" 200000 5000 1
recorded waits --heap-wait -e alloc.heap,task --ring-size 4KiB -- "$WORK/heap_user" 200000 5000 1

# ps for an event, of a new recording with these options
event_ps()
{
	rm -rf "$tmp/timed"
	recorded timed --heap -e alloc.heap,task "$@" -- "$WORK/heap_user" 200000 5000 1
	kv "$tmp/timed/manifest" heap.event_ps
}
# That stacks make it more is test_heap_ring's: a short one takes no more than one measurement differs from the next.
with_ps=$(event_ps --stacks 1/1) without_ps=$(event_ps)
check "heap: what an event takes was measured, with a stack and without" "[ '$with_ps' -gt 1000 -a '$with_ps' -lt 100000000 -a '$without_ps' -gt 1000 -a '$without_ps' -lt 100000000 ]" \
	"$with_ps ps with one, $without_ps without"

# The workload does not wait for a recorder that is no more.
record dead --heap-wait -e alloc.heap,task --ring-size 4KiB -- \
	sh -c 'echo "memory=$EBPFREC_HEAP"; kill -9 $PPID; "$1" 20000 5000 1; touch "$2/went_on"' sh "$WORK/heap_user" "$tmp"
wait_for "the workload has ended" 60 '[ -e "$tmp/went_on" ]' && ok "heap, waiting: it ends without a recorder"
memory=$(kv "$tmp/dead.out" memory)
[ -z "$memory" ] || rm -rf "${memory%/*}"

checker <<'EOF_PY'
from trace_query import *
tmp = os.environ["tmp"]
t = Trace(tmp + "/many")
def seen_and_said(trace, name):
    """(allocations, frees) by (process, bytes): of the trace, and as the programs counted."""
    rows = trace.sql("""SELECT p.pid AS pid, h.bytes AS bytes, count(*) AS allocs, count(h.free_ns) AS frees FROM allocations h
                          JOIN threads USING (utid) JOIN processes p USING (upid)
                         WHERE source = 'heap' AND bytes BETWEEN 30027 AND 100003 GROUP BY 1, 2""")
    said = {}
    lines = truth("%s/%s.out" % (tmp, name))["size"]
    for line in [lines] if isinstance(lines, str) else lines:
        bytes_, allocs, frees, pid = map(int, line.split(","))
        said[pid, bytes_] = (allocs, frees)
    return {(r["pid"], r["bytes"]): (r["allocs"], r["frees"]) for r in rows}, said
seen, said = seen_and_said(t, "many")
for what, sizes in (("every function", [50003, 50008, 50017, 50176, 50047, 50053, 50061, 50069, 50101]),
                    ("realloc", [50021, 50023, 100003, 90001, 30027, 50033, 50051]), ("64 threads", [50111]),
                    ("a parent and its child", [50123, 50129]), ("vfork", [50251]),
                    ("without descriptors", [50247]), ("in a sandbox", [50263]), ("signal handlers, also while the allocator calls itself", [50131, 50223, 50231, 50137, 50171, 50207]), ("kill -9", [50147])):
    want = {k: v for k, v in said.items() if k[1] in sizes}
    check("heap: %s" % what, want and {k: seen.get(k) for k in want} == want,
          {k: (v, seen.get(k)) for k, v in want.items() if seen.get(k) != v})
check("heap: both programs, the second after a chain of execs", len([k for k in said if k[1] == 50003]) == 2, said)
sums = t.balance(["alloc"])["alloc"]
check("heap: nothing is lost", sums[2] == 0 and sums[0] == sums[1], sums)

seen, said = seen_and_said(Trace(tmp + "/short"), "short")
check("heap: 3,000 threads that end at once", said and seen == said, (said, seen))

if os.path.exists(tmp + "/musl"):
    t = Trace(tmp + "/musl")
    seen, said = seen_and_said(t, "musl")
    check("heap: a program of musl", len(said) > 15 and {k: seen.get(k) for k in said} == said and
          t.balance(["alloc"])["alloc"][2] == 0, (said, seen))

for name, what in (("probed", "with a malloc built in"), ("static", "that is static")):
    if os.path.exists(tmp + "/" + name):
        t = Trace(tmp + "/" + name)
        seen, said = seen_and_said(t, name)
        check("heap: a program %s, by probes" % what, said and {k: seen.get(k) for k in said} == said and
              t.one("SELECT value FROM info WHERE key = 'heap'") == "uprobes", (said, seen))

# glibc's chunk: 8 bytes of its own, 32 at least, multiples of 16; from 128 KiB on, mapped, 16 of its own and whole pages.
# What is left are tables of glibc's, 656 bytes for each thread and 2.3 KiB for the second arena, and up to 16 bytes where a
# block was aligned; 8 KiB are four blocks of this program.
t, w = Trace(tmp + "/live"), truth(tmp + "/live.out")
rows = [r["bytes"] for r in t.sql("""SELECT bytes FROM allocations JOIN threads USING (utid) JOIN processes USING (upid)
                                      WHERE source = 'heap' AND free_ns IS NULL AND pid = %d""" % w["pid"])]
given = sum(max(32, (b + 23) & ~15) for b in rows if b < 1 << 17)
check("heap: what is live when a program ends, as mallinfo2 says", len(rows) > 3000 and
      sum((b + 16 + 4095) & ~4095 for b in rows if b >= 1 << 17) == w["mapped"] and 0 <= w["live"] - given <= 8192,
      (w, given, len(rows)))
leaks = [r for r in t.report("leaks", "--pid", w["pid"]) if r["source"] == "heap"]
check("heap: report leaks says the same", {r["held"] for r in leaks} == {"at exit"} and
      (sum(r["objects"] for r in leaks), sum(r["bytes"] for r in leaks)) == (len(rows), sum(rows)), leaks)

t = Trace(tmp + "/frames")
bytes_, allocs, frees, pid = map(int, truth(tmp + "/frames.out")["size"].split(","))
got = [t.one("SELECT count(*) FROM %s WHERE bytes = %d" % (table, bytes_)) for table in ("heap_allocs", "stack_samples")]
check("heap: any frame pointer does no harm, and each allocation has a stack", got == [allocs, allocs] and
      t.balance(["alloc"])["alloc"][2] == 0, (got, allocs))

whole, full = Trace(tmp + "/whole"), Trace(tmp + "/full")
waits = Trace(tmp + "/waits")
check("heap, waiting: nothing is lost, and every event is there", waits.balance(["alloc"])["alloc"] == whole.balance(["alloc"])["alloc"],
      (waits.balance(["alloc"]), whole.balance(["alloc"])))
cost = {r["part"]: r for r in whole.report("cost")}
w = cost["workload"]
check("heap: report cost has the library's share, beside the recorder's", w["runs"] == whole.balance(["alloc"])["alloc"][1] and
      abs(w["cpu_ns"] - w["runs"] * w["ns_per_run"]) <= w["runs"] * 0.06 and w["events"] in (None, ""), w)
w, f = whole.balance(["alloc"])["alloc"], full.balance(["alloc"])["alloc"]
check("heap, full: some is lost, and all is counted", f[2] > 0 and f[0] == f[1] + f[2] and f[0] == w[0] == w[1] >= 399999, (f, w))
where = full.one("SELECT count(*) FROM losses WHERE cpu IS NULL AND full_cnt > 0 AND to_ns > from_ns AND source = 'alloc.heap'")
check("heap, full: the losses have their time, and no CPU", where > 0, full.sql("SELECT * FROM losses"))
EOF_PY
