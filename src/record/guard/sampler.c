/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sampler: a loss row has the losses of a hook on a CPU between two calls of sampler_look() (about
 * 50 ms). Rows of skipped programs have no CPU, because the kernel counts skips per program.
 */
#include "record/guard/sampler.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "record/encode/block_writer.h"
#include "format/event.h"

enum { STATS_FIRST = 4, STATS_EVERY = 8, HELPERS_MAX = 2 };

struct usage {
	uint64_t user_ns, sys_ns, helpers_ns;
};

struct loss_seen {
	uint64_t full[WIRE_HOOK_MAX], other[WIRE_HOOK_MAX];
};

struct sampler {
	struct probe *probe;
	struct ring_group *rings;
	uint64_t ring_bytes;
	struct ring_feed feeds[RING_FEEDS_MAX];
	unsigned int feed_cnt;
	unsigned int place_cnt;	/* one per CPU, and one for all feeds */

	uint64_t look_ns;			/* time of the last sampler_look() */
	struct loss_seen *seen;			/* by place (see place_cnt) */
	uint64_t missed_before[WIRE_HOOK_MAX];	/* skipped programs before the recording began */
	uint64_t missed_seen[WIRE_HOOK_MAX];	/* skipped programs since the recording began */
	struct trace_loss *losses;
	size_t loss_cnt, loss_cap;
	bool losses_given;	/* sampler_take() returned the list: the next loss begins another */

	uint64_t take_ns;			/* end of the last slice */
	uint64_t attempted_seen[WIRE_HOOK_MAX], kept_seen[WIRE_HOOK_MAX],
		outside_seen[WIRE_HOOK_MAX];
	uint64_t left_out[WIRE_HOOK_MAX]; /* see sampler_leave_out(), sampler_drop() */
	struct trace_hook_stat stats[WIRE_HOOK_MAX];
	struct trace_cost cost_row;
	/* resource use at the start of the recording, and at start and end of the slice */
	struct usage at_start, at_begin, at_end;
	uint64_t bytes_written, rss_max_bytes;

	const struct helper *stats_helper; /* if it has no process, statistics are unavailable */
	struct {
		int pid;
		uint64_t cpu_ns;
	} helpers[HELPERS_MAX];
	unsigned int helper_cnt;
	bool stats_on;
	unsigned int stats_slice;		/* number of slices that have begun */
	struct probe_run_stats stats_at_begin[WIRE_HOOK_MAX];
	uint64_t attempted_at_begin[WIRE_HOOK_MAX], stats_begin_ns;
	uint64_t run_cnt[WIRE_HOOK_MAX], run_time_ns[WIRE_HOOK_MAX];
	uint64_t sampled_cnt[WIRE_HOOK_MAX], sampled_ns;
	struct sampler_cost cost;
	struct hook_mean means[WIRE_HOOK_MAX];
};

int sampler_new(struct sampler **ret, struct probe *probe, struct ring_group *rings,
		uint64_t ring_bytes, const struct helper *stats_helper,
		const struct ring_feed *feeds, unsigned int feed_cnt, uint64_t now_ns)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->probe = probe;
	s->rings = rings;
	s->ring_bytes = ring_bytes;
	memcpy(s->feeds, feeds, feed_cnt * sizeof(feeds[0]));
	s->feed_cnt = feed_cnt;
	s->place_cnt = probe_cpu_cnt(probe) + 1;
	s->look_ns = s->take_ns = now_ns;
	s->stats_helper = stats_helper;
	sampler_add_helper(s, stats_helper->pid);
	s->seen = calloc(s->place_cnt, sizeof(*s->seen));
	if (!s->seen) {
		free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	free(s->seen);
	free(s->losses);
	free(s);
}

static int add_loss(struct sampler *s, const struct trace_loss *row)
{
	if (s->losses_given) {
		s->loss_cnt = 0;
		s->losses_given = false;
	}
	return array_add(&s->losses, &s->loss_cap, &s->loss_cnt, *row);
}

static struct probe_count count(const struct sampler *s, unsigned int place, unsigned int hook)
{
	struct probe_count sum = { 0 };

	if (place < s->place_cnt - 1)
		return probe_count(s->probe, place, hook);
	for (unsigned int i = 0; i < s->feed_cnt; i++) {
		struct ring_feed_count c = s->feeds[i].count(s->feeds[i].ctx, hook);

		sum.attempted += c.attempted;
		sum.lost_full += c.lost_full;
		sum.lost_other += c.lost_other;
	}
	return sum;
}

int sampler_look(struct sampler *s, uint64_t now_ns)
{
	struct trace_loss row = { .from_ns = s->look_ns, .to_ns = now_ns };
	int err;

	for (unsigned int place = 0; place < s->place_cnt; place++) {
		struct loss_seen *seen = &s->seen[place];

		for (unsigned int h = 1; h < WIRE_HOOK_MAX; h++) {
			struct probe_count c = count(s, place, h);
			uint64_t full = c.lost_full, other = c.lost_other;

			if (full == seen->full[h] && other == seen->other[h])
				continue;
			row.cpu = place < s->place_cnt - 1 ? (uint16_t)place : 0xffff;
			row.hook = h;
			row.cls = wire_hook_class[h];
			row.full_cnt = full - seen->full[h];
			row.other_cnt = other - seen->other[h];
			err = add_loss(s, &row);
			if (err)
				return err;
			seen->full[h] = full;
			seen->other[h] = other;
		}
	}
	s->look_ns = now_ns;
	return 0;
}

/* Counts the programs that the kernel skipped because they were already running on the CPU. */
static int look_for_skips(struct sampler *s, uint64_t now_ns)
{
	struct trace_loss row = { .from_ns = s->take_ns, .to_ns = now_ns, .cpu = 0xffff };
	struct probe_run_stats stats[WIRE_HOOK_MAX];
	int err;

	err = probe_read_stats(s->probe, stats);
	if (err)
		return err;
	for (unsigned int h = 1; h < WIRE_HOOK_MAX; h++) {
		uint64_t missed = stats[h].missed_cnt - s->missed_before[h];

		/*
		 * missed may be lower than before: when it was last read, a hook's second program
		 * may still have been about to send an event for which the first was skipped.
		 */
		if (stats[h].missed_cnt <= s->missed_before[h] || missed <= s->missed_seen[h])
			continue;
		row.hook = h;
		row.cls = wire_hook_class[h];
		row.missed_cnt = missed - s->missed_seen[h];
		err = add_loss(s, &row);
		if (err)
			return err;
		s->missed_seen[h] = missed;
		/* best effort: if this fails, skipped programs still count as losses */
		probe_take_skipped(s->probe, h, NULL);
	}
	return 0;
}

static uint64_t attempted(const struct sampler *s, unsigned int hook)
{
	uint64_t sum = 0;

	for (unsigned int place = 0; place < s->place_cnt; place++)
		sum += count(s, place, hook).attempted;
	return sum;
}

/*
 * Reads the counts of runs, then the counts of events, at start or end of a measurement. The
 * kernel's statistics are on during both reads, so the counts exclude the time of switching them.
 */
static bool read_counts(struct sampler *s, struct probe_run_stats stats[WIRE_HOOK_MAX],
			uint64_t cnt[WIRE_HOOK_MAX])
{
	if (probe_read_stats(s->probe, stats))
		return false;
	for (unsigned int h = 1; h < WIRE_HOOK_MAX; h++)
		cnt[h] = attempted(s, h);
	return true;
}

void sampler_stats_begin(struct sampler *s, bool each)
{
	unsigned int nth = s->stats_slice++;

	if ((!each && nth >= STATS_FIRST && nth % STATS_EVERY) || !s->stats_helper->pid ||
	    s->stats_on || probe_stats_switch(s->stats_helper, true))
		return;
	s->stats_on = read_counts(s, s->stats_at_begin, s->attempted_at_begin);
	s->stats_begin_ns = clock_mono_ns();
	if (!s->stats_on)
		probe_stats_switch(s->stats_helper, false);
}

void sampler_stats_end(struct sampler *s)
{
	struct probe_run_stats now[WIRE_HOOK_MAX];
	uint64_t cnt[WIRE_HOOK_MAX], end_ns;
	bool is_read;

	if (!s->stats_on)
		return;
	s->stats_on = false;
	is_read = read_counts(s, now, cnt);
	end_ns = clock_mono_ns();
	if (probe_stats_switch(s->stats_helper, false) || !is_read)
		return;
	s->sampled_ns += end_ns - s->stats_begin_ns;
	for (unsigned int h = 1; h < WIRE_HOOK_MAX; h++) {
		s->sampled_cnt[h] += cnt[h] - s->attempted_at_begin[h];
		s->run_cnt[h] += now[h].run_cnt - s->stats_at_begin[h].run_cnt;
		s->run_time_ns[h] += now[h].run_time_ns - s->stats_at_begin[h].run_time_ns;
	}
}

void sampler_add_helper(struct sampler *s, int pid)
{
	if (pid && s->helper_cnt < HELPERS_MAX)
		s->helpers[s->helper_cnt++].pid = pid;
}

/*
 * Returns the CPU time of the helpers, all as system time. A helper that has exited keeps its last
 * value.
 */
static uint64_t helpers_ns(struct sampler *s)
{
	struct timespec ts;
	clockid_t clock;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < s->helper_cnt; i++) {
		if (!clock_getcpuclockid(s->helpers[i].pid, &clock) && !clock_gettime(clock, &ts))
			s->helpers[i].cpu_ns = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
		sum += s->helpers[i].cpu_ns;
	}
	return sum;
}

static struct usage usage_now(struct sampler *s)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (struct usage){
		.user_ns = ru.ru_utime.tv_sec * 1000000000ULL + ru.ru_utime.tv_usec * 1000ULL,
		.sys_ns = ru.ru_stime.tv_sec * 1000000000ULL + ru.ru_stime.tv_usec * 1000ULL,
		.helpers_ns = helpers_ns(s),
	};
}

void sampler_begin(struct sampler *s, uint64_t start_ns)
{
	struct probe_run_stats stats[WIRE_HOOK_MAX];

	/* ignore earlier skips: hooks may not yet have had their second programs, see source.h */
	if (!probe_read_stats(s->probe, stats)) {
		for (unsigned int h = 0; h < WIRE_HOOK_MAX; h++)
			s->missed_before[h] = stats[h].missed_cnt;
	}

	s->at_start = s->at_begin = usage_now(s);
	s->take_ns = start_ns;
}

static bool leave_out(void *ctx, const struct wire_hdr *h)
{
	struct sampler *s = ctx;

	s->left_out[h->hook]++;
	return false;
}

void sampler_drop(struct sampler *s, struct ring_slice *slices, unsigned int slice_cnt)
{
	slices_filter(slices, slice_cnt, leave_out, s);
}

void sampler_leave_out(struct sampler *s, const uint64_t cnt[WIRE_HOOK_MAX])
{
	for (unsigned int h = 0; h < WIRE_HOOK_MAX; h++)
		s->left_out[h] += cnt[h];
}

/*
 * Returns how many of the records read are events of the recording: between its start and its end,
 * and not names.
 */
static uint64_t kept_of(const struct sampler *s, const struct ring_stats *ring, unsigned int hook)
{
	return wire_hook_is_name(hook) ? 0 : ring->kept_cnt[hook] - s->left_out[hook];
}

static uint64_t outside_of(const struct sampler *s, const struct ring_stats *ring,
			   unsigned int hook)
{
	return ring->read_cnt[hook] - kept_of(s, ring, hook);
}

static void add_cost(struct sampler *s, const struct trace_hook_stat *row)
{
	s->cost.bpf_ns[row->hook] += hook_cost_ns(row, &s->means[row->hook]);
	s->cost.read_cnt[row->hook] += row->read_cnt;
	hook_mean_add(&s->means[row->hook], row);
}

void sampler_cost(const struct sampler *s, struct sampler_cost *ret)
{
	*ret = s->cost;
}

static void fill_hook_stats(struct sampler *s, const struct ring_stats *ring,
			    struct block_slice *slice)
{
	uint64_t to_ns = slice->to_ns;

	slice->hook_stat_cnt = 0;
	for (unsigned int h = 1; h < WIRE_HOOK_MAX; h++) {
		struct trace_hook_stat row = { .from_ns = s->take_ns, .to_ns = to_ns, .hook = h };
		uint64_t att = attempted(s, h), kept = kept_of(s, ring, h),
			 outside = outside_of(s, ring, h);

		row.attempted_cnt = att - s->attempted_seen[h] - (outside - s->outside_seen[h]);
		row.read_cnt = kept - s->kept_seen[h];
		row.run_cnt = s->run_cnt[h];
		row.run_time_ns = s->run_time_ns[h];
		row.sampled_ns = s->sampled_ns;
		row.sampled_cnt = s->sampled_cnt[h];
		add_cost(s, &row);
		/* keep rows of programs that reject events: they cost time, even if not measured */
		if (!row.attempted_cnt && !row.read_cnt && !row.run_cnt &&
		    !hook_mean_filters(&s->means[h]))
			continue;
		s->attempted_seen[h] = att;
		s->kept_seen[h] = kept;
		s->outside_seen[h] = outside;
		s->stats[slice->hook_stat_cnt++] = row;
	}
	memset(s->run_cnt, 0, sizeof(s->run_cnt));
	memset(s->run_time_ns, 0, sizeof(s->run_time_ns));
	memset(s->sampled_cnt, 0, sizeof(s->sampled_cnt));
	s->sampled_ns = 0;
	slice->hook_stats = s->stats;
}

static uint64_t rss_now_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*s %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t online_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (uint64_t)n : 0;
}

void sampler_end_usage(struct sampler *s)
{
	s->at_end = usage_now(s);
}

int sampler_take(struct sampler *s, uint64_t bytes_written, struct block_slice *slice)
{
	const struct usage *from = &s->at_begin, *to = &s->at_end;
	uint64_t to_ns = slice->to_ns;
	struct ring_stats ring;
	int err;

	/* the last slice also gets the losses between its end and the detaching of the programs */
	err = sampler_look(s, slice->is_last ? to_ns : clock_mono_ns());
	err = err ?: look_for_skips(s, to_ns);
	if (err)
		return err;
	ring_group_stats(s->rings, &ring, true);
	fill_hook_stats(s, &ring, slice);
	s->cost.at_ns = to_ns;
	/* exclude the helpers' time, which turning off a source does not reduce */
	s->cost.own_ns += to->user_ns - from->user_ns + to->sys_ns - from->sys_ns;
	s->cost_row = (struct trace_cost){
		.from_ns = s->take_ns, .to_ns = to_ns,
		.user_ns = to->user_ns - from->user_ns,
		.sys_ns = to->sys_ns - from->sys_ns + to->helpers_ns - from->helpers_ns,
		.bytes_written = bytes_written - s->bytes_written,
		.ring_used_max_bytes = ring.used_max_bytes,
		.ring_size_bytes = s->ring_bytes, .rss_bytes = rss_now_bytes(),
		.queue_max_bytes = ring.slab_max_bytes, .queue_size_bytes = ring.slab_limit_bytes,
		.cpu_cnt = online_cpus(),
	};
	if (s->cost_row.rss_bytes > s->rss_max_bytes)
		s->rss_max_bytes = s->cost_row.rss_bytes;
	s->at_begin = s->at_end;
	s->bytes_written = bytes_written;
	s->take_ns = to_ns;
	if (s->losses_given)
		s->loss_cnt = 0;	/* no loss was added since the last call */
	slice->costs = &s->cost_row;
	slice->cost_cnt = 1;
	slice->losses = s->losses;
	slice->loss_cnt = s->loss_cnt;
	s->losses_given = true;
	return 0;
}

void sampler_totals(struct sampler *s, struct sampler_totals *ret)
{
	struct ring_stats ring;

	memset(ret, 0, sizeof(*ret));
	ring_group_stats(s->rings, &ring, false);
	for (unsigned int h = 1; h < WIRE_HOOK_MAX; h++) {
		ret->read += kept_of(s, &ring, h);
		ret->attempted += attempted(s, h) - outside_of(s, &ring, h);
		ret->lost_cnt[wire_hook_class[h]] += s->missed_seen[h];
		ret->bpf_ns += s->cost.bpf_ns[h];
		for (unsigned int place = 0; place < s->place_cnt; place++) {
			struct probe_count c = count(s, place, h);
			uint64_t lost = c.lost_full + c.lost_other;

			ret->lost += lost;
			ret->full_cnt += c.lost_full;
			ret->lost_cnt[wire_hook_class[h]] += lost;
		}
	}
	ret->user_ns = s->at_begin.user_ns - s->at_start.user_ns;
	ret->sys_ns = s->at_begin.sys_ns - s->at_start.sys_ns + s->at_begin.helpers_ns -
		      s->at_start.helpers_ns;
	ret->rss_max_bytes = s->rss_max_bytes;
}
