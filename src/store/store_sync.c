/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_sync: an ordered queue of jobs. Closing a file is a job, too, because the file is synced
 * first.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/store_sync.h"

#define CLOSES_MAX                                                                                 \
	4 /* with more files waiting to be closed, the disk is too slow: the writer waits */

struct job {
	struct job *next;
	int fd;
	bool close;
	char *text;		/* NULL: sync a file; else text of the new manifest */
	size_t bytes;
	struct manifest_place place;
	uint64_t number;	/* the file's number */
	uint64_t asked_ns;
};

struct store_sync {
	const struct files *files;
	pthread_t thread;
	pthread_mutex_t lock;		/* protects everything below */
	pthread_cond_t work, idle;
	struct job *first, *last;	/* queue */
	unsigned int closes;		/* queued jobs that close a file */
	bool busy, stop;
	int error;
	struct store_sync_stats stats;
};

static int run_job(const struct files *f, const struct job *j)
{
	int r, r2;

	if (j->text)
		return manifest_replace(&j->place, j->text, j->bytes);
	r = f->sync(f->ctx, j->fd);
	if (!j->close)
		return r;
	r2 = f->close(f->ctx, j->fd);
	return r < 0 ? r : r2;
}

static void finish_job(struct store_sync *s, struct job *j, int r)
{
	uint64_t ns = clock_mono_ns() - j->asked_ns;

	s->busy = false;
	s->stats.cnt++;
	if (ns > s->stats.max_ns)
		s->stats.max_ns = ns;
	if (r == 0 && j->close)
		s->stats.whole_below = j->number + 1;
	if (r < 0 && !s->error) {
		s->error = r;
		s->stats.failed_number = j->number;
	}
	free(j->text);
	free(j);
	pthread_cond_broadcast(&s->idle);
}

static void *sync_main(void *arg)
{
	struct store_sync *s = arg;
	struct job *j;
	int r;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->first && !s->stop)
			pthread_cond_wait(&s->work, &s->lock);
		j = s->first;
		if (!j)
			break;
		s->first = j->next;
		if (!s->first)
			s->last = NULL;
		s->closes -= j->close;
		s->busy = true;
		if (s->error) {
			/* after an error no file is synced, but all are closed */
			if (j->close)
				s->files->close(s->files->ctx, j->fd);
			s->stats.cnt--;
			finish_job(s, j, 0);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		r = run_job(s->files, j);
		pthread_mutex_lock(&s->lock);
		finish_job(s, j, r);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int store_sync_new(struct store_sync **ret, const struct files *files)
{
	struct store_sync *s = calloc(1, sizeof(*s));
	sigset_t all, old;
	int r;

	if (!s)
		return -ENOMEM;
	s->files = files;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->idle, NULL);
	/* signals are for the main thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&s->thread, NULL, sync_main, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r) {
		free(s);
		return -r;
	}
	pthread_setname_np(s->thread, "ebpfrec-sync");
	*ret = s;
	return 0;
}

void store_sync_free(struct store_sync *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->idle);
	free(s);
}

/* Appends a job; the caller holds the lock. */
static int add_job(struct store_sync *s, const struct job *job)
{
	struct job *j = malloc(sizeof(*j));

	if (!j)
		return -ENOMEM;
	*j = *job;
	j->next = NULL;
	j->asked_ns = clock_mono_ns();
	if (s->last)
		s->last->next = j;
	else
		s->first = j;
	s->last = j;
	s->closes += j->close;
	pthread_cond_signal(&s->work);
	return 0;
}

static int ask(struct store_sync *s, const struct job *j)
{
	int r;

	pthread_mutex_lock(&s->lock);
	while (j->close && s->closes >= CLOSES_MAX && !s->error)
		pthread_cond_wait(&s->idle, &s->lock);
	r = s->error;
	/* a queued sync of the same file will include these bytes */
	if (r == 0 && (j->close || j->text || !s->last || s->last->fd != j->fd || s->last->close))
		r = add_job(s, j);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int store_sync_ask(struct store_sync *s, int fd, uint64_t number)
{
	return ask(s, &(struct job){ .fd = fd, .number = number });
}

int store_sync_close(struct store_sync *s, int fd, uint64_t number)
{
	int r = ask(s, &(struct job){ .fd = fd, .close = true, .number = number });

	if (r < 0)
		s->files->close(s->files->ctx, fd);
	return r;
}

int store_sync_manifest(struct store_sync *s, const struct manifest_place *place, char *text,
			size_t bytes)
{
	int r = ask(s, &(struct job){ .fd = -1, .text = text, .bytes = bytes, .place = *place });

	if (r < 0)
		free(text);
	return r;
}

int store_sync_wait(struct store_sync *s)
{
	int r;

	pthread_mutex_lock(&s->lock);
	while (s->first || s->busy)
		pthread_cond_wait(&s->idle, &s->lock);
	r = s->error;
	pthread_mutex_unlock(&s->lock);
	return r;
}

void store_sync_get_stats(struct store_sync *s, struct store_sync_stats *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->stats;
	pthread_mutex_unlock(&s->lock);
}
