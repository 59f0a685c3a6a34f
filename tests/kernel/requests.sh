#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# app.span: begins, ends, steps and hand-overs of requests, as the programs themselves saw them.
. "$(dirname "$0")/harness.bash"

recorded lines -e task --span-fd 9 -- python3 "$here/requests.py" write "$tmp/lines.json"
python3 "$here/requests.py" check-lines "$tmp/lines" "$tmp/lines.json" "$tmp/lines.err"

cat > "$tmp/calls.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
/* What <sys/sdt.h> makes of DTRACE_PROBE1. */
#define PROBE(name, id) __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n" \
	".4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n.8byte base_\n" \
	".8byte 0\n.asciz \"shop\"\n.asciz \"" #name "\"\n.asciz \"8@%0\"\n994: .balign 4\n.popsection" \
	: : "nor"(id))
__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n.weak base_\n.hidden base_\n"
	"base_: .space 1\n.size base_, 1\n.popsection");
static uint64_t at[2][500][12];
static pid_t tids[2];
static __attribute__((noinline)) void inner(uint64_t *t) { t[2] = now(); t[3] = now(); __asm__ volatile(""); }
static __attribute__((noinline)) void outer(uint64_t *t)
{
	t[1] = now();
	inner(t);
	t[4] = now();
	__asm__ volatile("");
}
static void *run(void *of)
{
	long k = (long)of;
	tids[k] = gettid();
	for (long i = 0; i < 500; i++) {
		uint64_t *t = at[k][i];
		t[0] = now();
		outer(t);
		t[5] = now();
		PROBE(sale__begin, k * 500 + i + 1);
		t[6] = now();
		PROBE(sale__end, k * 500 + i + 1);
		t[7] = now();
	}
	return of;
}
#define SAY(from, to, text, ...) printf("[%lu,%lu,%d,\"" text "\"],\n", t[from], t[to], tids[k], ##__VA_ARGS__)
int main(void)
{
	pthread_t other;
	pthread_create(&other, 0, run, (void *)1L);
	run(0);
	pthread_join(other, 0);
	for (long k = 0; k < 2; k++)
		for (long i = 0; i < 500; i++) {
			uint64_t *t = at[k][i];
			SAY(0, 1, "begin outer");
			SAY(1, 2, "begin inner");
			SAY(3, 4, "end inner");
			SAY(4, 5, "end outer");
			SAY(5, 6, "begin shop:sale__begin %ld", k * 500 + i + 1);
			SAY(6, 7, "end shop:sale__begin %ld", k * 500 + i + 1);
		}
	return 0;
}
C
${CC:-cc} -O1 -w -o "$tmp/calls" "$tmp/calls.c" -lpthread || { skip "requests of functions" "no C compiler"; exit 0; }
recorded trace -e task --request "$tmp/calls:*er" --request "usdt:$tmp/calls:shop:sale__begin/sale__end:0" \
	--trigger 'request:out*>100ns' --trigger 'request:outer>100s' -- "$tmp/calls"
python3 "$here/requests.py" check-calls "$tmp/trace" "$tmp/trace.out"
check "trigger request: the one that has to fires, the other does not" \
	"grep -q 'trigger request:out\*>100ns: a request outer() took ' '$tmp/trace.err' && ! grep -q 100s '$tmp/trace.err'" \
	"$(cat "$tmp/trace.err")"

cat > "$tmp/spans.c" <<'C'
#include "ebpfrec.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
struct said { uint64_t from, to, id; const char *action, *name; };
static struct said all[4][24000];
static int cnt[4], tids[4];
static __thread int me;
#define TELL(call, action, name, id) do { \
	struct said *s = &all[me][cnt[me]++]; \
	uint64_t from_ = now(); \
	call; \
	*s = (struct said){ from_, now(), id, action, name }; \
} while (0)
static const char *const names[] = { "GET", "a name of 32 bytes, exactly that",
				     "/a/longer/one/that/has/48/bytes/exactly/to/the/b" };
static void print(void)
{
	for (int k = 0; k < 4; k++)
		for (int i = 0; i < cnt[k]; i++) {
			printf("[%lu,%lu,%d,\"%s", all[k][i].from, all[k][i].to, tids[k], all[k][i].action);
			printf(all[k][i].name ? " %s" : "", all[k][i].name);
			printf(all[k][i].id ? " %lu\"],\n" : "\"],\n", all[k][i].id);
		}
	fflush(stdout);
}
static void on_signal(int sig) { TELL(ebpfrec_step("in a handler"), "step", "in a handler", 0); }
static void *run(void *of)
{
	me = (long)of;
	tids[me] = syscall(SYS_gettid);
	for (uint64_t i = 1; i <= 4000; i++) {
		uint64_t id = i << 2 | me;
		const char *name = names[i % 3];
		TELL(ebpfrec_begin(name, id), "begin", name, id);
		TELL(ebpfrec_step("parse"), "step", "parse", 0);
		if (i % 1000 == 0)
			raise(SIGUSR1);
		TELL(ebpfrec_attach(i % 2 ? id : 0), "attach", NULL, i % 2 ? id : 0);
		if (i % 2)
			TELL(ebpfrec_end(id), "end", NULL, id);
		else
			TELL(ebpfrec_fail(id), "fail", NULL, id);
	}
	return of;
}
int main(void)
{
	pthread_t other;
	signal(SIGUSR1, on_signal);
	pthread_create(&other, 0, run, (void *)1L);
	run(0);
	pthread_join(other, 0);
	print();
	memset(cnt, 0, sizeof(cnt));
	if (!fork()) {		/* its own thread's chunk, not the parent's */
		run((void *)2L);
		print();
		_exit(0);
	}
	wait(0);
	me = 3;
	tids[3] = tids[0];
	TELL(ebpfrec_begin("after", 77), "begin", "after", 77);
	print();
	raise(SIGKILL);
}
C
${CC:-cc} -O2 -w -I"$top/cmd" -o "$tmp/spans" "$tmp/spans.c" -lpthread ||
	{ not_ok "ebpfrec.h" "it does not compile"; exit 1; }
record written -e task --spans -- "$tmp/spans"
python3 "$here/requests.py" check-spans "$tmp/written" "$tmp/written.out"
check "ebpfrec.h: no harm if nobody records" '[ "$("$tmp/spans" | wc -l)" = "$(wc -l <"$tmp/written.out")" ]' ""
