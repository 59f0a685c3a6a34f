#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Two threads tell of 100,000 events of requests per second each, by ebpfrec.h, for 3 s: with the sizes that the
# recorder chooses itself none is lost, and each takes at most 60 ns (median of the threads' batches of 100 events: a
# batch that is interrupted says nothing of the events).
. "$(dirname "$0")/../kernel/harness.bash"

cat > "$tmp/rate.c" <<'C'
#include "ebpfrec.h"
#include <pthread.h>
#include <stdio.h>
#define MS 3000
static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static unsigned int batch_ns[2][MS];
static int by_time(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}
static void *run(void *of)
{
	long k = (long)of;
	uint64_t id = k + 1, start = now();
	for (int ms = 0; ms < MS; ms++) {
		uint64_t from = now();
		for (int i = 0; i < 25; i++, id += 2) {
			ebpfrec_begin("GET", id);
			ebpfrec_step("parse");
			ebpfrec_step("send");
			ebpfrec_end(id);
		}
		batch_ns[k][ms] = now() - from;
		while (now() < start + (ms + 1) * 1000000ull)
			nanosleep(&(struct timespec){ .tv_nsec = 50000 }, 0);
	}
	qsort(batch_ns[k], MS, sizeof(unsigned int), by_time);
	return of;
}
int main(void)
{
	uint64_t start = now();
	pthread_t other;
	pthread_create(&other, 0, run, (void *)1L);
	run(0);
	pthread_join(other, 0);
	printf("ns0=%u\nns1=%u\nms=%lu\n", batch_ns[0][MS / 2] / 100, batch_ns[1][MS / 2] / 100, (now() - start) / 1000000);
	return 0;
}
C
${CC:-cc} -O2 -w -I"$top/cmd" -o "$tmp/told" "$tmp/rate.c" -lpthread ||
	{ skip "rate of requests" "no C compiler"; exit 0; }
recorded rate --spans -- "${undisturbed[@]}" "$tmp/told"
events=$("$EBPFREC" sql --format csv -i "$tmp/rate" "SELECT count(*), (SELECT coalesce(sum(lost_cnt), 0) FROM losses
	WHERE class = 'app') FROM span_events" | tail -n 1)
# shellcheck disable=SC2016
check "600,000 events in $(kv "$tmp/rate.out" ms) ms, none is lost" '[ "$events" = 600000,0 ]' "$events"
for k in 0 1; do
	# shellcheck disable=SC2016
	check "an event of thread $k takes at most 60 ns" '[ "$(kv "$tmp/rate.out" ns$k)" -le 60 ]' "$(cat "$tmp/rate.out")"
done
