/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * snapshotter: starts a thread per snapshot, since snapshots are rare. The copy is made in a
 * temporary directory, which is renamed when the copy is complete.
 */
#include "record/flight/snapshotter.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/atomic_output.h"
#include "store/store_writer.h"

#define NAMES_MAX 1000

struct snapshotter {
	int dir_fd;
	char *trace_path;
	uid_t uid;
	gid_t gid;
	bool busy;			/* the thread has to be joined */
	pthread_t thread;
	/* the thread has ended, and the members below belong to the caller's thread again */
	atomic_bool done;
	time_t begun;
	char *path;			/* the finished snapshot */
	char *trigger;			/* NULL: requested by signal */
	uint64_t ts_ns;
	int result;
	struct err e;
};

int snapshotter_new(struct snapshotter **ret, int dir_fd, const char *trace_path, uid_t uid,
		    gid_t gid)
{
	struct snapshotter *s = calloc(1, sizeof(*s));
	size_t n;

	if (!s)
		return -ENOMEM;
	s->dir_fd = dir_fd;
	s->uid = uid;
	s->gid = gid;
	for (n = strlen(trace_path); n > 1 && trace_path[n - 1] == '/'; n--)
		;
	s->trace_path = strndup(trace_path, n);
	if (!s->trace_path) {
		free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void snapshotter_free(struct snapshotter *s)
{
	const char *path;

	if (!s)
		return;
	snapshotter_reap(s, true, &path, NULL);
	free(s->trace_path);
	free(s->trigger);
	free(s->path);
	free(s);
}

/*
 * Renames the copy to TRACE.snapshot-20260301T120000Z, the time at which it was requested, or with
 * -2, -3, ... appended if that name exists.
 */
static int commit(struct snapshotter *s, const struct atomic_output *copy, struct err *e)
{
	char text[32];
	struct tm tm;
	int r = -EEXIST;

	gmtime_r(&s->begun, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
	for (unsigned int i = 1; r == -EEXIST && i < NAMES_MAX; i++) {
		free(s->path);
		s->path = NULL;
		if ((i == 1 ? asprintf(&s->path, "%s.snapshot-%s", s->trace_path, text)
			    : asprintf(&s->path, "%s.snapshot-%s-%u", s->trace_path, text, i)) <
		    0) {
			s->path = NULL;
			return err_set(e, -ENOMEM, "out of memory");
		}
		r = atomic_output_commit(copy, s->path, false, NULL);
	}
	return r < 0 ? err_set(e, r, "cannot make '%s': %s", s->path, strerror(-r)) : 0;
}

static int take(struct snapshotter *s, const struct atomic_output *copy)
{
	char real[24], mono[24];
	const struct store_snapshot_note notes[] = {
		{ "snapshot.mono_ns", mono },
		{ "snapshot.real_ns", real },
		{ "note.trigger", s->trigger },
	};
	struct store_snapshot what = {
		.uid = s->uid, .gid = s->gid, .notes = notes, .note_cnt = s->trigger ? 3 : 2,
	};
	int r;

	what.path = copy->path;
	snprintf(mono, sizeof(mono), "%" PRIu64, s->ts_ns);
	snprintf(real, sizeof(real), "%" PRIu64, clock_real_ns() - (clock_mono_ns() - s->ts_ns));
	r = store_snapshot_take(s->dir_fd, &what, &s->e);
	return r < 0 ? r : commit(s, copy, &s->e);
}

static void *snapshot_main(void *arg)
{
	struct snapshotter *s = arg;
	struct atomic_output copy;

	s->result = atomic_output_begin(&copy, s->trace_path, false, &s->e);
	if (!s->result)
		s->result = take(s, &copy);
	atomic_output_drop(&copy);
	atomic_store(&s->done, true);
	return NULL;
}

int snapshotter_begin(struct snapshotter *s, const char *trigger, uint64_t ts_ns)
{
	sigset_t all, old;
	int r;

	if (s->busy)
		return -EBUSY;
	s->begun = time(NULL);
	free(s->trigger);
	s->trigger = trigger ? strdup(trigger) : NULL;
	if (trigger && !s->trigger)
		return -ENOMEM;
	s->ts_ns = ts_ns;
	s->e.text[0] = '\0';
	atomic_store(&s->done, false);
	/* the main thread handles signals */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&s->thread, NULL, snapshot_main, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->busy = !r;
	return -r;
}

bool snapshotter_is_busy(const struct snapshotter *s)
{
	return s->busy;
}

int snapshotter_reap(struct snapshotter *s, bool wait, const char **ret_path, struct err *e)
{
	if (!s->busy || (!wait && !atomic_load(&s->done)))
		return 0;
	pthread_join(s->thread, NULL);
	s->busy = false;
	if (s->result < 0)
		return err_set(e, s->result, "%s", err_text(&s->e, s->result));
	*ret_path = s->path;
	return 1;
}
