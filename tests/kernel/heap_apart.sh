#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The heap where it is hard to see: idle threads that own all chunks, an allocator's own operator new, plugins and
# pid namespaces that the library does not reach, a limited address space, and uprobes on a process under way.
. "$(dirname "$0")/harness.bash"

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
