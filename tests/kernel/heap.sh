#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --heap -- COMMAND, with the library in each program of one workload. Programs count their own calls, by sizes
# that nothing else asks for; the trace has the same counts: for every function of the allocator, threads, fork, exec,
# signal handlers, up to a kill -9. Call sites have names: in a program, a library loaded later, stripped, with symbols
# in a file beside it, deleted while it runs, in a mount namespace, and in code without a file.
. "$(dirname "$0")/harness.bash"

calls=$WORK/heap_calls
prog=$WORK/heap_sites
mkdir -p "$tmp/deleted" "$tmp/ns" "$tmp/split/.debug"
cp "$prog" "$tmp/deleted/sites"
strip -o "$tmp/stripped" "$prog"
strip -o "$tmp/stripped.so" "$prog.so"
objcopy --only-keep-debug "$prog" "$tmp/split/.debug/sites.debug"
strip -o "$tmp/split/sites" "$prog"
objcopy --add-gnu-debuglink="$tmp/split/.debug/sites.debug" "$tmp/split/sites"

# programs that print how many allocations they made
counted='
	"$1" kinds 1000
	"$1" threads 500
	"$1" forks 700
	LD_PRELOAD=$LD_PRELOAD:$1.so "$1" signals 3000
	"$1" closed 600
	"$1" vforks 200
	"$1" sandboxed 2000
	"$1" killed 900
'
recorded all --heap -e alloc.heap,task -- sh -c 'echo "memory=$EBPFREC_HEAP"'"$counted"'
	GLIBC_TUNABLES=glibc.malloc.tcache_count=0 "$1" live 3000 >"$3/live.out"
	"$2/growth" 600 >"$3/growth.out"
	exec >"$3/sites.out"
	"$2/heap_sites" here 10
	"$2/heap_sites" dlopen "$2/heap_sites.so"
	"$3/stripped" here 10
	"$2/heap_sites" dlopen "$3/stripped.so"
	"$3/split/sites" here 10
	"$2/heap_sites" code
	exec >"$3/chain.out" env exec_chain=1 sh -c "exec $1 kinds 11"' sh "$calls" "$WORK" "$tmp"
cat "$tmp/chain.out" >>"$tmp/all.out"
memory=$(kv "$tmp/all.out" memory)
check "heap: the library recorded it" 'grep -qx heap=library "$tmp/all/manifest"' "$(cat "$tmp/all/manifest")"
check "heap: every program began with the library" '! grep -q ^heap.without "$tmp/all/manifest"' \
	"$(cat "$tmp/all/manifest" "$tmp/all.err")"
check "heap: its memory is gone" '[ -n "$memory" ] && [ ! -e "${memory%/*}" ]' "$memory"
check "heap: no program is said to have its own malloc" '! grep -q "a malloc is built in" "$tmp/all.err"' \
	"$(cat "$tmp/all.err")"

# More threads than chunks; each thread ends at once.
recorded short --heap-wait -e alloc.heap,task -- "$calls" short_lived 3000
recorded frames --heap --stacks 1/1 -e alloc.heap,task -- "$calls" frames 200

# All counted sizes are far above the 64 bytes between samples: each such allocation is a sample, and stands for itself.
recorded sampled --heap=64 --stacks -e alloc.heap,task -- sh -c "$counted"'
	"$2/growth" 600 >"$3/sampled_growth.out"
	exec env exec_chain=1 sh -c "exec $1 kinds 11"' sh "$calls" "$WORK" "$tmp"

# These two live until the recorder has ended.
mkfifo "$tmp/fifo1" "$tmp/fifo2"
exec 7<>"$tmp/fifo1" 8<>"$tmp/fifo2"
start_recorder slow -e alloc.heap,task -- sh -c '
	"$2/deleted/sites" serve "$2/deleted/sites" <"$2/fifo1" &
	unshare -m sh -c "mount -t tmpfs none \"\$2/ns\" && cp \"\$1\" \"\$2/ns/inside\" &&
		exec \"\$2/ns/inside\" serve" sh "$1" "$2" <"$2/fifo2" &
	wait' sh "$prog" "$tmp"
echo >&7
echo >&8
wait_for "both are done" 60 '[ "$(grep -c ^done= "$tmp/slow.out")" -eq 2 ]' ||
	not_ok "heap: both processes were served" "$(cat "$tmp/slow.out" "$tmp/slow.err")"
kill -INT $recorder
wait $recorder
echo >&7
echo >&8
check "heap: the binary is deleted" '[ ! -e "$tmp/deleted/sites" ]' "it exists"
build_id=$(readelf -n "$prog" | sed -n 's/.*Build ID: //p')
export build_id prog

checker <"$here/heap_library.py"
