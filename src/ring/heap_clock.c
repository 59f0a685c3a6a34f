/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_clock: see heap_clock.h. To read a pair, the counter is read before and after the clock, a
 * few times; the closest two counter values enclose the most exact clock value.
 */
#include "ring/heap_clock.h"

#include <stdio.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/clock.h"

#define TRIES 8
#define CLOSE_CYCLES 200	/* an interruption takes longer than this */

bool heap_clock_is_there(void)
{
#ifdef __x86_64__
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	unsigned int a, b, c, d;
	char name[16] = "";

	if (f && fscanf(f, "%15s", name) != 1)
		name[0] = 0;
	if (f)
		fclose(f);
	return !strcmp(name, "tsc") && __get_cpuid(0x80000001, &a, &b, &c, &d) && d & 1u << 27;
#else
	return false;
#endif
}

void heap_clock_read(struct heap_clock *c)
{
#ifdef __x86_64__
	struct heap_clock_pair best = { 0, 0 };
	uint64_t width = UINT64_MAX, before, after, ns, error_ns;
	unsigned int i, cpu;

	for (i = 0; i < TRIES && width > CLOSE_CYCLES; i++) {
		before = __rdtscp(&cpu);	/* waits until earlier instructions are complete */
		ns = clock_mono_ns();
		after = __rdtscp(&cpu);
		if (after - before >= width)
			continue;
		width = after - before;
		best = (struct heap_clock_pair){ before + width / 2, ns };
	}
	heap_clock_add(c, best);
	error_ns = heap_clock_ns(c, best.cycles + width / 2 + 1);
	if (error_ns && error_ns - best.ns > c->error_ns)
		c->error_ns = error_ns - best.ns;
#endif
}

static const struct heap_clock_pair *pair(const struct heap_clock *c, unsigned int number)
{
	return &c->pairs[number % HEAP_CLOCK_PAIRS];
}

void heap_clock_add(struct heap_clock *c, struct heap_clock_pair p)
{
	const struct heap_clock_pair *last = c->cnt ? pair(c, c->cnt - 1) : NULL;

	if (last && (p.cycles <= last->cycles || p.ns <= last->ns))
		return;
	c->pairs[c->cnt++ % HEAP_CLOCK_PAIRS] = p;
}

uint64_t heap_clock_last(const struct heap_clock *c)
{
	return c->cnt ? pair(c, c->cnt - 1)->cycles : 0;
}

/* Converts a number of cycles to ns, at the rate between two pairs. */
static uint64_t length_ns(const struct heap_clock_pair *a, const struct heap_clock_pair *b,
			  uint64_t cycles)
{
	uint64_t ns = b->ns - a->ns;

	if (!((cycles | ns) >> 32))
		return cycles * ns / (b->cycles - a->cycles);
	return (uint64_t)((unsigned __int128)cycles * ns / (b->cycles - a->cycles));
}

uint64_t heap_clock_ns(const struct heap_clock *c, uint64_t cycles)
{
	unsigned int first = c->cnt > HEAP_CLOCK_PAIRS ? c->cnt - HEAP_CLOCK_PAIRS : 0;
	unsigned int i = c->cnt - 1;
	const struct heap_clock_pair *a, *b;
	uint64_t reach, back, ns;

	if (c->cnt < 2)
		return 0;
	reach = pair(c, i)->cycles - pair(c, first)->cycles;
	while (i > first + 1 && pair(c, i - 1)->cycles > cycles)
		i--;
	a = pair(c, i - 1);
	b = pair(c, i);
	if (cycles < a->cycles) {
		back = a->cycles - cycles;
		ns = length_ns(a, b, back);
		return back > reach || ns >= a->ns ? 0 : a->ns - ns;
	}
	if (cycles > b->cycles && cycles - b->cycles > reach)
		return 0;
	return a->ns + length_ns(a, b, cycles - a->cycles);
}
