#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What recording cost, for any window: run time and runs of the programs, extrapolated from samples, against the
# kernel's own full count; recorder CPU and bytes add up over neighbouring windows and to what is on disk; the
# summary says the same. Then memory: in an overload whose events wait in the recorder, its resident memory stays below
# the bound that the manual states, and what did not fit is declared lost.
#
# The recorder among what it records: left out by default, there with --with-recorder, its CPU time is what
# the kernel says; it does not feed itself; its cost is in the trace. At last, what an event of a request takes.
#
# It does not feed itself: in a recording without workload the events that the recorder's own threads cause in a second
# stay below 2,000 (two CPUs writing a block a second cause some hundred), or below a quarter of what all others cause,
# since what it reads and writes for these takes memory; and below 30,000 at any rate. A recorder that records its own
# writes causes an event for each that it reads, in every second; so one of three may have more, such as the first on a
# busy machine, where the recorder still reads the kernel's symbols.
. "$(dirname "$0")/../kernel/harness.bash"

export -f programs_of bpftool_run

# The kernel's full count is on from before the programs are loaded, and off when the recorder ends, however that is.
# shellcheck disable=SC2016
"$WORK/with_stats" "$EBPFREC" record -o "$tmp/steady" -e sched.switch,alloc.slab -- bash -c \
	'"$WORK/alloc_storm" 4000 0; "$WORK/stamp" before
	for id in $(programs_of $PPID | sed "s/ .*//"); do bpftool_run -j prog show id $id; echo; done; "$WORK/stamp" \
		after' sh \
	>"$tmp/steady.out" 2>"$tmp/steady.err" </dev/null || { not_ok "recording steady" \
		"status $?: $(tail -n 5 "$tmp/steady.err")"; exit 1; }
recorded busy -- sh -c "'$WORK/give_away' 40000 500 >/dev/null; '$WORK/alloc_storm' 1500 500
	'$WORK/short_lived' storm 800 >/dev/null"
recorded idle -a -d 4s
checker <"$top/tests/full/recorder_self.py"

checker any <"$top/tests/full/self_cost.py"

# The slowest compression and two storms: records arrive faster than they can be encoded, on any machine. The readers,
# which need little time, keep their share of the CPUs, so that the queue fills. The storms last until it is full: the
# recorder's memory then has grown by more than the rest of it ever takes, and has not grown for 2 s, during which the
# rings fill. (That is checked below.)
touch "$tmp/storm"
# shellcheck disable=SC2016
"$EBPFREC" record -o "$tmp/flood" --level 19 -- bash -c \
	'for i in 1 2; do "$WORK/alloc_storm" 5000 0 "$tmp/storm" none >/dev/null & done
	of_recorder() { sed -n "s/^$1:[[:space:]]*\([0-9]*\) kB/\1/p" /proc/$PPID/status; }
	last=0 same=0
	for i in {1..600}; do
		now=$(of_recorder VmRSS)
		[ "$now" -gt $((last + 500)) ] && last=$now same=0 || same=$((same + 1))
		[ "$last" -gt 225000 ] && [ $same -ge 20 ] && break
		sleep 0.1
	done
	rm "$tmp/storm"; wait; echo "hwm_kib=$(of_recorder VmHWM)"' sh >"$tmp/flood.out" 2>"$tmp/flood.err" </dev/null
check "self_cost: a flood is recorded" "[ $? -eq 0 ]" "$(cat "$tmp/flood.err")"

checker flood <"$top/tests/full/self_cost.py"

# ---- a limit ----

# record --max-overhead: a storm of allocations costs more than is allowed, so alloc.slab goes off, and is turned on
# again when all is quiet. The workload allocates at least once a millisecond all the time: outside the intervals of
# source_gaps there is no hole, inside there is no event; reports, counts and pairing take them into account. With a
# budget that is never reached no source is touched.
# The storm lasts until the recorder has reported that the source is off, the quiet time until it is on again. A
# recorder that does not get its CPU is still busy with the rest of the storm when it checks again, and turns the other
# source off, too: that is part of the cost. So it gets its CPU, and the test is repeated if other processes had it.
gaps()
{
	sql_value tight "SELECT count(*) FROM source_gaps WHERE $1" 2>/dev/null
}
storm_and_quiet()
{
	rm -rf "$tmp/tight"
	hold storm
	hold quiet
	"${undisturbed[@]}" "$EBPFREC" record -o "$tmp/tight" --max-overhead 4 --only -e sched.switch,alloc.slab -- \
		"$WORK/alloc_storm" 2500 7000 "$tmp/hold.storm" "$tmp/hold.quiet" >"$tmp/tight.out" 2>"$tmp/tight.err" \
			</dev/null &
	recorder=$!
	wait_for "it is off" 60 "grep -q 'is off until' '$tmp/tight.err'"
	sleep 0.3
	release storm
	# on again: events after a gap were written, at least half a second ago
	wait_for "it is on again" 60 \
		"[ \"\$(gaps \"source = 'alloc.slab' AND to_ns < (SELECT max(to_ns)
			FROM blocks) - 1000000000\")\" -gt 0 ] 2>/dev/null &&
		[ \"\$(gaps \"to_ns > (SELECT max(to_ns)
			FROM blocks) - 1000000000\")\" = 0 ]"
	release quiet
	wait $recorder || { not_ok "recording tight" "$(cat "$tmp/tight.err")"; exit 1; }
	[ "$(gaps "source <> 'alloc.slab'")" = 0 ]
}
best_of 4 storm_and_quiet
# Programs are started all the time, so that task hooks have events while sources are off.
hold starts
start_recorder starts --max-overhead 0.001 -e alloc.rss,alloc.vm -- sh -c \
	"while [ -e '$tmp/hold.starts' ]; do /bin/true; done"
wait_for "both are off for a while" 100 \
	"[ \"\$(sql_value starts 'SELECT count(DISTINCT source) FROM source_gaps
	WHERE from_ns < (SELECT max(to_ns) FROM blocks) - 3000000000')\" = 2 ]"
release starts
wait $recorder || not_ok "recording starts" "$(cat "$tmp/starts.err")"
recorded wide --max-overhead 100 -e alloc.slab -- "$WORK/alloc_storm" 1500 200

checker <"$top/tests/full/max_overhead.py"

# ---- events of requests ----

# Two threads tell of 100,000 events of requests per second each, by ebpfrec.h, for 3 s: with the sizes that the
# recorder chooses itself none is lost, and each takes at most 60 ns (median of the threads' batches of 100 events: a
# batch that is interrupted says nothing of the events).
fresh

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
