#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Where from: allocations of known sizes by functions of known names, in a program, in a library loaded later, stripped,
# with its symbols in a file beside it, deleted while it runs, in a mount namespace, and in code without a file.
# Processes whose file nobody else can open wait until the recording has ended; that is the only thing that matters.
. "$(dirname "$0")/harness.bash"

prog=$WORK/heap_sites
mkdir -p "$tmp/deleted" "$tmp/ns" "$tmp/split/.debug"
cp "$prog" "$tmp/deleted/sites"
strip -o "$tmp/stripped" "$prog"
strip -o "$tmp/stripped.so" "$prog.so"
objcopy --only-keep-debug "$prog" "$tmp/split/.debug/sites.debug"
strip -o "$tmp/split/sites" "$prog"
objcopy --add-gnu-debuglink="$tmp/split/.debug/sites.debug" "$tmp/split/sites"

recorded quick -e alloc.heap,task -- sh -c '
	"$1/heap_sites" here 10
	"$1/heap_sites" dlopen "$1/heap_sites.so"
	"$2/stripped" here 10
	"$1/heap_sites" dlopen "$2/stripped.so"
	"$2/split/sites" here 10
	"$1/heap_sites" code' sh "$WORK" "$tmp"

# These two live until the recorder has ended.
mkfifo "$tmp/fifo1" "$tmp/fifo2"
exec 7<>"$tmp/fifo1" 8<>"$tmp/fifo2"
start_recorder slow -e alloc.heap,task -- sh -c '
	"$2/deleted/sites" serve "$2/deleted/sites" <"$2/fifo1" &
	unshare -m sh -c "mount -t tmpfs none \"\$2/ns\" && cp \"\$1\" \"\$2/ns/inside\" && exec \"\$2/ns/inside\" serve" sh "$1" "$2" <"$2/fifo2" &
	wait' sh "$prog" "$tmp"
echo >&7
echo >&8
wait_for "both are done" 60 '[ "$(grep -c ^done= "$tmp/slow.out")" -eq 2 ]' || not_ok "where from: both processes were served" "$(cat "$tmp/slow.out" "$tmp/slow.err")"
kill -INT $recorder
wait $recorder
echo >&7
echo >&8
[ -e "$tmp/deleted/sites" ] && not_ok "where from: the binary is gone" "it is there"
build_id=$(readelf -n "$prog" | sed -n 's/.*Build ID: //p')
export build_id prog

checker <<'EOF_PY'
from trace_query import *
tmp, prog, build_id = os.environ["tmp"], os.environ["prog"], os.environ["build_id"]
quick, slow = Trace(tmp + "/quick"), Trace(tmp + "/slow")


def sites(t, bytes_, exe=None):
    """call sites of the allocations of that size, with what the trace says of them, by process"""
    return t.sql("""SELECT p.exe AS exe, p.pid AS pid, count(*) AS cnt, s.symbol AS symbol, s.symbol_offset AS symbol_offset,
                           s.module AS module, s.build_id AS build_id, s.unresolved AS unresolved, s.module_offset AS module_offset
                      FROM heap_allocs h JOIN threads USING (utid) JOIN processes p USING (upid)
                      LEFT JOIN user_sites s ON s.upid = p.upid AND s.addr = h.call_site
                     WHERE h.bytes = %d %s GROUP BY p.upid, h.call_site ORDER BY p.pid""" % (
                         bytes_, "AND p.exe = '%s'" % exe if exe else ""))


def named(what, rows, cnt, symbol, module, build=None):
    check(what, len(rows) == 1 and rows[0]["cnt"] == cnt and rows[0]["symbol"] == symbol and rows[0]["symbol_offset"] > 0
          and rows[0]["module"] == module and not rows[0]["unresolved"] and build in (None, rows[0]["build_id"]), rows)


def unnamed(what, rows, cnt, module, why):
    check(what, len(rows) == 1 and rows[0]["cnt"] == cnt and not rows[0]["symbol"] and (rows[0]["module"] or "") == module
          and rows[0]["unresolved"] == why and (not module or rows[0]["build_id"]), rows)


named("where from: a function that no other file can call", sites(quick, 4321, prog), 10, "sites_alpha", prog, build_id)
lib = sites(quick, 8642)
named("where from: of a library loaded later", lib[:1], 7, "lib_inner", prog + ".so")
unnamed("where from: a stripped program has file and build id", sites(quick, 4321, tmp + "/stripped"), 10, tmp + "/stripped", "stripped")
check("where from: stripping keeps the build id", sites(quick, 4321, tmp + "/stripped")[0]["build_id"] == build_id, build_id)
unnamed("where from: a stripped library, where it exports nothing", lib[1:], 7, tmp + "/stripped.so", "stripped")
named("where from: symbols in a file beside it", sites(quick, 4321, tmp + "/split/sites"), 10, "sites_alpha", tmp + "/split/sites", build_id)
if os.uname().machine == "x86_64":
    unnamed("where from: code without a file", sites(quick, 6543), 5, "", "anonymous")
deleted = sites(slow, 4321, tmp + "/deleted/sites")
named("where from: a file deleted while it runs", deleted, 6, "sites_alpha", tmp + "/deleted/sites", build_id)
inside = sites(slow, 4321, tmp + "/ns/inside")
named("where from: a file of another mount namespace", inside, 6, "sites_alpha", tmp + "/ns/inside", build_id)

text = "sites_alpha+0x%x [heap_sites]" % sites(quick, 4321, prog)[0]["symbol_offset"]
one = "--pid", str(sites(quick, 4321, prog)[0]["pid"])
for view, cnt in ("leaks", "objects"), ("lifetimes", "allocs"):
    t, where = (slow, ("--comm", "inside")) if view == "leaks" else (quick, one)
    rows = [r for r in t.report(view, *where) if r["call_site"].startswith("sites_alpha+0x")]
    check("where from: report %s names the function" % view, len(rows) == 1 and rows[0][cnt] == (6 if t is slow else 10), rows)
check("where from: user_symbol() says it in words", quick.one(
    "SELECT user_symbol(t.upid, h.call_site, h.ts_ns) FROM heap_allocs h JOIN threads t USING (utid) JOIN processes p USING (upid) WHERE h.bytes = 4321 AND p.exe = '%s'" % prog) == text, text)
spikes = [r for r in quick.report("spikes", "--spike-min", "30000", *one) if r["source"] == "heap"]
check("where from: report spikes names the function", len(spikes) == 1 and spikes[0]["cause"] == text, (spikes, text))
# a part of the trace, and a copy with pseudonyms, still say it, or not
subprocess.run([EBPFREC, "cut", "-i", tmp + "/quick", "-o", tmp + "/part", "--from", "0s"], check=True)
named("where from: a cut trace still says it", sites(Trace(tmp + "/part"), 4321, prog), 10, "sites_alpha", prog, build_id)
EOF_PY
