#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Heaps that the library of record --heap cannot see: those of a process that runs already, of a malloc built into the
# program, of static and of setuid programs, and the C library musl. Probes record the first ones, counts are exact; the
# trace and its reports say of the others that they were not recorded. Full rings lose events and count them. Heaps that
# the library hardly sees: see the last section.
. "$(dirname "$0")/harness.bash"

calls=$WORK/heap_calls
work=$top/tests/kernel/work

# With -p, uprobes record all of it: the shell, too, is part of the workload.
recorded running -e alloc.heap,task -p $$ -- "$WORK/heap_user" 2000 5000 100
check "heap: a line says that uprobes record it" \
	'grep -qx heap=uprobes "$tmp/running/manifest" && grep -q "uprobes record the heap" "$tmp/running.err"' \
	"$(cat "$tmp/running.err")"
recorded default -e alloc.rss,task -- "$WORK/heap_user" 10 5000 1

# A setuid program gets nothing of the library, and no program a descriptor.
cp "$calls" "$(command -v cat)" "$tmp"
chown nobody "$tmp/heap_calls" "$tmp/cat" && chmod 4755 "$tmp/heap_calls" "$tmp/cat" && chmod 755 "$tmp"
recorded rights --heap -e alloc.heap,task -- sh -c '
	cat /proc/self/maps | grep -c "ebpfrec[_-]heap"
	"$1/cat" /proc/self/maps | grep -c "ebpfrec[_-]heap"
	ls -l /proc/self/fd | grep -c "ebpfrec[_-]heap"
	"$1/heap_calls" killed 5
	true' sh "$tmp"
check "heap: a setuid program has neither library nor memory, and none has a descriptor" \
	'[ "$(sed -n 1p "$tmp/rights.out")" -gt 1 ] && [ "$(sed -n 2,3p "$tmp/rights.out")" = $'"'0\\n0'"' ] &&
	grep -q size=50147,6,5, "$tmp/rights.out"' "$(cat "$tmp/rights.out")"
check "heap: the trace has the number of programs without the library" \
	'grep -qx heap.without=2 "$tmp/rights/manifest"' \
	"$(cat "$tmp/rights/manifest")"

if command -v musl-gcc >/dev/null; then
	musl-gcc -std=gnu11 -O2 -D_GNU_SOURCE -fno-builtin -o "$tmp/heap_calls_musl" "$work/heap_calls.c" -lpthread
	recorded musl --heap -e alloc.heap,task -- sh -c '
		for what in kinds threads forks killed; do "$1" $what 300; done; true' sh "$tmp/heap_calls_musl"
else
	skip "heap: programs of musl" "there is no musl-gcc"
fi

# answers TRACE: output of report, info and check, in $tmp/TRACE.leaks, .info and .check
answers()
{
	"$EBPFREC" report -i "$tmp/$1" leaks >"$tmp/$1.leaks" 2>&1
	"$EBPFREC" info -i "$tmp/$1" >"$tmp/$1.info" 2>&1
	"$EBPFREC" check -i "$tmp/$1" >"$tmp/$1.check" 2>&1
}

# An allocator inside the program precedes any library's.
if command -v cc >/dev/null; then
	cc=(cc -std=gnu11 -O2 -D_GNU_SOURCE -fno-builtin)
	"${cc[@]}" -DLIBRARY -c -o "$tmp/own_calls.o" "$work/heap_calls.c" &&
		"${cc[@]}" -o "$tmp/own_calls" "$work/heap_calls.c" "$tmp/own_calls.o" -rdynamic -lpthread &&
		"${cc[@]}" -static -o "$tmp/static_calls" "$work/heap_calls.c" -lpthread
	recorded own --heap -e alloc.heap,task -- sh -c '
		"$1" threads 10; "$1" killed 10; "$2" killed 10; true' sh "$tmp/own_calls" "$calls"
	answers own
	pid=$(sed -n 's/^size=50147,.*,//p' "$tmp/own.out" | head -n 1)
	check "heap: a line names the processes whose own malloc is not recorded" \
		'[ "$(grep -c "heap of process $pid and 1 more is not recorded" "$tmp/own.err")" = 1 ]' \
		"$(cat "$tmp/own.out" "$tmp/own.err")"
	check "heap: so do answers about heaps" \
		'grep -q "the heap of process $pid and 1 more was not recorded" "$tmp/own.leaks"' \
			"$(head -n 5 "$tmp/own.leaks")"
	check "heap: info has their number" \
		'grep -q "heaps *of 2 processes, which had a malloc built in" "$tmp/own.info"' "$(cat "$tmp/own.info")"
	check "heap: check has it, and the trace is whole" '"$EBPFREC" check -i "$tmp/own" >/dev/null &&
		grep -q "heaps of processes with a malloc built in were not recorded" "$tmp/own.check"' "$(cat "$tmp/own.check")"

	# A child that is static is seen by neither.
	recorded child --heap -e alloc.heap,task -- sh -c '
		"$1" threads 10; "$2" killed 10; env -i "$2" killed 10; true' sh "$tmp/static_calls" "$calls"
	answers child
	check "heap: a line has the number of programs without it" \
		'[ "$(grep -c "the heap of 2 programs is not recorded: static, " "$tmp/child.err")" = 1 ]' \
		"$(cat "$tmp/child.err")"
	check "heap: so have answers about heaps" 'grep -q "the heap of 2 programs was not recorded" "$tmp/child.leaks"' \
		"$(head -n 3 "$tmp/child.leaks")"
	check "heap: so has info" 'grep -q "heaps_unseen *of 2 programs" "$tmp/child.info"' "$(cat "$tmp/child.info")"
	check "heap: check says so" \
		'grep -q "heaps of programs without the library were not recorded" "$tmp/child.check"' \
			"$(cat "$tmp/child.check")"

	# If COMMAND itself is the program, probes record it.
	recorded probed --heap -e alloc.heap,task -- "$tmp/own_calls" threads 10
	check "heap: a line names the cost of probes" \
		'grep -q "uprobes record the heap of a program with a malloc built in; each malloc and free takes about" \
		"$tmp/probed.err"' "$(cat "$tmp/probed.err")"
	recorded static --heap -e alloc.heap,task -- "$tmp/static_calls" kinds 20
else
	skip "heap: programs with a malloc of their own" "there is no cc"
fi

# Without stacks and with; the second ring is far too small, the third one makes the workload wait for it.
recorded whole --heap -e alloc.heap,task -- "$WORK/heap_user" 200000 5000 1
recorded full --heap -e alloc.heap,task --ring-size 4KiB -- "$WORK/heap_user" 200000 5000 1
recorded waits --heap-wait -e alloc.heap,task --ring-size 4KiB -- "$WORK/heap_user" 200000 5000 1
recorded stacks --heap --stacks 1/1 -e alloc.heap,task -- "$WORK/heap_user" 20000 5000 1
recorded brief --heap -e alloc.heap,task -- "$WORK/heap_user" 200 50 1

# The workload does not wait for a recorder that has been killed.
record dead --heap-wait -e alloc.heap,task --ring-size 4KiB -- sh -c 'echo "memory=$EBPFREC_HEAP"; kill -9 $PPID
	"$1" 20000 5000 1; touch "$2/went_on"' sh "$WORK/heap_user" "$tmp"
wait_for "the workload has ended" 60 '[ -e "$tmp/went_on" ]'
check "heap, waiting: the workload ends without a recorder" "[ $? -eq 0 ]" "it waits"
memory=$(kv "$tmp/dead.out" memory)
[ -z "$memory" ] || rm -rf "${memory%/*}"

checker <"$here/heap_outside.py"

# ---- where the heap is hard to see ----

# The heap where it is hard to see: idle threads that own all chunks, an allocator's own operator new, plugins and
# pid namespaces that the library does not reach, a limited address space, and uprobes on a process under way.
fresh

cat > "$tmp/apart.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
void *operator_new(size_t bytes) __asm__("_Znwm");
void operator_delete(void *p) __asm__("_ZdlPv");
static pthread_barrier_t all;
static void *volatile v;
static void *idle(void *x) { free(malloc(5101)); pthread_barrier_wait(&all); return x; }
static void *busy(void *x)
{
	for (;;) {
		for (int i = 0; i < 20; i++) { void *volatile mine = malloc(6403); free(mine); }
		usleep(1000);
	}
	return x;
}
int main(int c, char **a)
{
	int n = c > 2 ? atoi(a[2]) : 0;
	pthread_t *t = calloc(n + 1, sizeof(*t));
	pthread_attr_t small;
	if (!strcmp(a[1], "idle")) {
		pthread_attr_init(&small);
		pthread_attr_setstacksize(&small, 65536);
		pthread_barrier_init(&all, 0, n);
		for (int i = 0; i < n; i++)
			pthread_create(&t[i], &small, idle, 0);
		for (int i = 0; i < n; i++)
			pthread_join(t[i], 0);
	} else if (!strcmp(a[1], "busy")) {
		for (int i = 0; i < n; i++)
			pthread_create(&t[i], 0, busy, 0);
		busy(0);
	} else if (!strcmp(a[1], "new")) {
		for (int i = 0; i < n; i++) {
			v = operator_new(7001);
			v = malloc(7003);
			v = operator_new(7005);
			operator_delete(v);
		}
	} else if (!strcmp(a[1], "apart")) {
		v = dlopen(a[3], RTLD_NOW | RTLD_DEEPBIND);
	} else if (!strcmp(a[1], "namespace")) {
		unshare(CLONE_NEWPID);
		if (!fork()) {
			for (int i = 0; i < n; i++)
				v = malloc(6103);
			_exit(0);
		}
		wait(0);
	}
	return 0;
}
C
cat > "$tmp/owns.c" <<'C'
#include <stddef.h>
static char pool[64 << 20];
static size_t at;
void *owns_new(size_t bytes) __asm__("_Znwm");
void owns_delete(void *p) __asm__("_ZdlPv");
void *owns_new(size_t bytes) { void *p = pool + at; at += (bytes + 15) & ~15ul; return p; }
void owns_delete(void *p) { (void)p; }
C
${CC:-cc} -O1 -w -fno-builtin -fPIC -shared -o "$tmp/libowns.so" "$tmp/owns.c" &&
	${CC:-cc} -O1 -w -fno-builtin -o "$tmp/program" "$tmp/apart.c" -L"$tmp" -lowns -Wl,-rpath,"$tmp" -ldl -lpthread ||
	{ skip "heap, apart" "no C compiler"; exit 0; }

counts() { "$EBPFREC" sql -i "$tmp/$1" --format csv "SELECT bytes, count(*), count(free_ns) FROM allocations
	WHERE source = 'heap' AND bytes IN (5101, 7001, 7003, 7005) GROUP BY 1" | tail -n +2 | tr '\n' ' '; }

recorded idle --heap-wait --ring-size 64KiB -e alloc.heap,task -d 60s -- "$tmp/program" idle 400
check "heap: idle threads leave chunks to others" '[ "$(counts idle)" = "5101,400,400 " ]' "$(counts idle)"
recorded new --heap -e alloc.heap,task -- "$tmp/program" new 1000
check "heap: an allocator's own operator new" '[ "$(counts new)" = "7001,1000,0 7003,1000,0 7005,1000,1000 " ]' \
	"$(counts new)"
recorded opened --heap -e alloc.heap,task -- "$tmp/program" apart 0 libm.so.6
check "heap: a library that is opened apart is said, and the window is incomplete" \
	'grep -q RTLD_DEEPBIND "$tmp/opened.err" &&
		"$EBPFREC" report -i "$tmp/opened" leaks | sed -n 1p | grep -q INCOMPLETE' \
	"$(cat "$tmp/opened.err")"
recorded namespace --heap -e alloc.heap,task -- "$tmp/program" namespace 500
check "heap: what a pid namespace allocated is lost" \
	'"$EBPFREC" report -i "$tmp/namespace" leaks | sed -n 1p | grep -q "500 events lost"' "$(cat "$tmp/namespace.err")"
recorded limited --heap -e alloc.heap,task -- sh -c 'ulimit -v 200000; exec "$1" new 1' sh "$tmp/program"
check "heap: a limited address space is left alone" 'grep -q "address space" "$tmp/limited.err"' \
	"$(cat "$tmp/limited.err")"
"$tmp/program" busy 3 &
pid=$!
recorded busy --heap -e alloc.heap,task -p $pid -d 1s
kill $pid
threads=$("$EBPFREC" sql -i "$tmp/busy" --format csv "SELECT count(DISTINCT utid) FROM heap_allocs WHERE bytes = 6403" \
	| tail -n 1)
check "heap: uprobes see every thread of a busy process" '[ "$threads" = 4 ]' "$threads"
