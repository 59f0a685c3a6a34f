/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A pool does every piece once, and begins none after the first failure. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/workers.h"
#include "tests/unit/gen/refuse_call.h"
#include "tests/unit/unit_test.h"

#define PIECES 100
#define BAD_PIECE 7

struct job {
	struct workers w;
	_Atomic unsigned int done[PIECES];
	_Atomic unsigned int at_once, most_at_once;
	_Atomic unsigned int ticks;
};

static int count_piece(void *ctx, unsigned int piece, struct err *e)
{
	struct job *j = ctx;
	unsigned int now = ++j->at_once;

	if (now > j->most_at_once)
		j->most_at_once = now;
	j->done[piece]++;
	j->at_once--;
	return 0;
}

static int fail_piece(void *ctx, unsigned int piece, struct err *e)
{
	(void)count_piece(ctx, piece, e);
	return piece == BAD_PIECE ? err_set(e, -EIO, "piece %u", piece) : 0;
}

/* Ends when the caller's thread has ticked twice. */
static int wait_piece(void *ctx, unsigned int piece, struct err *e)
{
	const struct job *j = ctx;

	while (j->ticks < 2)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return 0;
}

static void count_tick(void *ctx)
{
	((struct job *)ctx)->ticks++;
}

static void init(struct job *j, unsigned int cnt, unsigned int thread_max,
		 int (*run)(void *ctx, unsigned int piece, struct err *e))
{
	memset(j, 0, sizeof(*j));
	j->w = (struct workers){ .cnt = cnt, .thread_max = thread_max, .run = run,
				 .tick = count_tick, .ctx = j };
}

UNIT_TEST(test_workers_do_every_piece_once)
{
	unsigned int threads, i;
	struct job j;

	for (threads = 1; threads <= WORKERS_MAX; threads++) {
		init(&j, PIECES, threads, count_piece);
		assert_int_equal(workers_run(&j.w, NULL), 0);
		for (i = 0; i < PIECES; i++)
			assert_int_equal(j.done[i], 1);
		assert_in_range(j.most_at_once, 1, threads);
	}
}

UNIT_TEST(test_workers_without_pieces_end)
{
	struct job j;

	init(&j, 0, WORKERS_MAX, count_piece);
	assert_int_equal(workers_run(&j.w, NULL), 0);
}

UNIT_TEST(test_workers_return_the_first_failure_and_stop)
{
	struct err e = { "" };
	struct job j;

	init(&j, PIECES, 1, fail_piece);
	assert_int_equal(workers_run(&j.w, &e), -EIO);
	assert_string_equal(e.text, "piece 7");
	assert_true(j.w.stop);
	for (unsigned int i = 0; i < PIECES; i++)
		assert_int_equal(j.done[i], i <= BAD_PIECE);
}

UNIT_TEST(test_workers_tick_while_the_work_lasts)
{
	struct job j;

	init(&j, 1, WORKERS_MAX, wait_piece);
	assert_int_equal(workers_run(&j.w, NULL), 0);
	assert_true(j.ticks >= 2);
}

UNIT_TEST(test_workers_without_threads_do_it_themselves)
{
	pid_t pid = fork();
	unsigned int i, done = 0;
	struct job j;
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		init(&j, PIECES, WORKERS_MAX, count_piece);
		if (!refuse_call(SYS_clone, -1, 0, EAGAIN) ||
		    !refuse_call(SYS_clone3, -1, 0, EAGAIN))
			_exit(0);
		status = workers_run(&j.w, NULL);
		for (i = 0; i < PIECES; i++)
			done += j.done[i];
		_exit(status || done != PIECES || j.most_at_once != 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

UNIT_TESTS
