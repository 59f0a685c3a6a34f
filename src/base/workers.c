/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* workers: starts threads for one call of workers_run() and joins them. */
#include "base/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

#define TICK_NS 100000000

static void *work(void *arg)
{
	struct workers *w = arg;
	struct err e = { "" };
	unsigned int piece;
	int ret = 0, none = 0;

	while (ret >= 0 && !w->stop && (piece = w->next++) < w->cnt)
		ret = w->run(w->ctx, piece, &e);
	if (ret < 0 && atomic_compare_exchange_strong(&w->failed, &none, ret)) {
		w->err = e;
		w->stop = true;
	}
	return NULL;
}

unsigned int workers_cpu_cnt(void)
{
	cpu_set_t cpus;

	/* fails if the affinity mask is larger than a cpu_set_t, which has CPU_SETSIZE bits */
	return sched_getaffinity(0, sizeof(cpus), &cpus) ? CPU_SETSIZE :
							   (unsigned int)CPU_COUNT(&cpus);
}

static unsigned int thread_cnt(const struct workers *w)
{
	unsigned int cnt = w->thread_max < w->cnt ? w->thread_max : w->cnt;

	return workers_cpu_cnt() < cnt ? workers_cpu_cnt() : cnt;
}

static void wait_for(const struct workers *w, pthread_t thread)
{
	for (;;) {
		struct timespec until = clock_after(CLOCK_REALTIME, TICK_NS);

		if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT)
			return;
		if (w->tick)
			w->tick(w->ctx);
	}
}

int workers_run(struct workers *w, struct err *e)
{
	unsigned int want = thread_cnt(w), started = 0, i;
	pthread_t threads[WORKERS_MAX];

	while (started < want && !pthread_create(&threads[started], NULL, work, w))
		started++;
	if (!started)
		work(w);
	for (i = 0; i < started; i++)
		wait_for(w, threads[i]);
	return w->failed ? err_set(e, w->failed, "%s", err_text(&w->err, w->failed)) : 0;
}
