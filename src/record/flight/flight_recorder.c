/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * flight_recorder: makes a trigger's snapshot AFTERMATH_NS after the trigger fired, to include what
 * followed. After that, triggers make no snapshots until most of the kept trace has been replaced.
 */
#include "record/flight/flight_recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/clock.h"
#include "base/units.h"
#include "probe/span_probes.h"
#include "store/files.h"
#include "store/store_writer.h"

/*
 * snapshotter: starts a thread per snapshot, because snapshots are rare. The copy is made in a
 * temporary directory, which is renamed when the copy is complete.
 */

#define NAMES_MAX 1000

struct snapshotter {
	int dir_fd;
	char *trace_path;
	uid_t uid;
	gid_t gid;
	bool busy;			/* the thread was started, and must be joined */
	pthread_t thread;
	/* the thread has ended: the caller's thread may access the members below */
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
 * Renames the copy to TRACE.snapshot-20260301T120000Z, after the time of the request, with -2, -3,
 * ... appended if that name exists.
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
	/* signals are for the main thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&s->thread, NULL, snapshot_main, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->busy = !r;
	return -r;
}

static bool snapshotter_is_busy(const struct snapshotter *s)
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

#define AFTERMATH_NS 1000000000ull
#define REST_NS 30000000000ull		/* used without --keep DUR */
#define TRIGGER_MAX_DEFAULT 10

/* ---- marks ---- */

/*
 * A message has its own timestamp. A line of --mark-fd gets the time of reading, which is the time
 * of its arrival, because the main thread polls the descriptor.
 */

void marks_done(struct marks *m)
{
	marks_clear(m);
	buf_done(&m->rows);
}

int marks_add(struct marks *m, uint64_t ts_ns, enum trace_mark_origin origin, const char *text)
{
	struct trace_mark row = { .ts_ns = ts_ns, .origin = (uint8_t)origin };

	if (m->rows.len / sizeof(row) >= MARKS_MAX) {
		m->dropped++;
		return 0;
	}
	row.text = strndup(text, TRACE_MARK_TEXT_MAX);
	if (!row.text)
		return -ENOMEM;
	buf_add(&m->rows, &row, sizeof(row));
	return m->rows.failed ? -ENOMEM : 0;
}

static int end_line(struct marks *m, uint64_t now_ns)
{
	size_t n = m->line_len < TRACE_MARK_TEXT_MAX ? m->line_len : TRACE_MARK_TEXT_MAX;

	m->line_len = 0;
	if (n && m->line[n - 1] == '\r')
		n--;
	m->line[n] = '\0';
	return *m->line ? marks_add(m, now_ns, TRACE_MARK_FD, m->line) : 0;
}

/* Reads once; the next call reads the rest. */
static int read_lines(struct marks *m, uint64_t now_ns)
{
	struct pollfd p = { .fd = m->fd, .events = POLLIN };
	char bytes[4096];
	ssize_t n, i;
	int r = 0;

	if (m->fd < 0 || poll(&p, 1, 0) <= 0)
		return 0;
	n = read(m->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	for (i = 0; i < n && r == 0; i++) {
		if (bytes[i] == '\n')
			r = end_line(m, now_ns);
		else if (m->line_len++ < TRACE_MARK_TEXT_MAX)
			m->line[m->line_len - 1] = bytes[i];
	}
	if (n > 0)
		return r;
	m->fd = -1;	/* a last line without a line feed is a mark, too */
	return end_line(m, now_ns);
}

int marks_read(struct marks *m, uint64_t start_ns, uint64_t now_ns)
{
	char text[CONTROL_MESSAGE_MAX];
	uint64_t ts;
	int r = 0;

	for (unsigned int i = 0; m->socket && i < MARKS_MAX && r == 0 &&
		    control_socket_receive(m->socket, &ts, text) > 0;
	     i++) {
		if (ts >= start_ns && ts <= now_ns)
			r = marks_add(m, ts, TRACE_MARK_COMMAND, text);
		else
			m->dropped++;
	}
	return r ? r : read_lines(m, now_ns);
}

size_t marks_rows(struct marks *m, const struct trace_mark **ret)
{
	*ret = (const struct trace_mark *)m->rows.data;
	return m->rows.len / sizeof(**ret);
}

void marks_clear(struct marks *m)
{
	const struct trace_mark *rows;
	size_t cnt = marks_rows(m, &rows), i;

	for (i = 0; i < cnt; i++)
		free((char *)rows[i].text);
	buf_reset(&m->rows);
}

/* ---- triggers and snapshots ---- */

struct flight_recorder {
	const struct flight_options *o;
	const struct notices *notices;
	const char *output;		/* the trace */
	uint64_t keep_ns;		/* length of time that is kept; 0: all */
	struct marks marks;
	struct snapshotter *snapshotter;
	struct trigger_set *triggers;	/* NULL: no triggers */
	/* reason of the trigger that fired; empty: none */
	char why[256];
	uint64_t fired_ns;
	uint64_t rest_until_ns;		/* triggers that fire before this make no snapshot */
	uint64_t taken_cnt;		/* number of snapshots for triggers */
	volatile sig_atomic_t asked, granted;	/* snapshots requested by signal, and made */
	bool told_dropped, path_parent_checked;
};

static void tell(const struct flight_recorder *w, const char *text)
{
	if (w->notices->notice)
		w->notices->notice(w->notices->ctx, text);
}

static int on_fired(void *ctx, const struct trigger *t, uint64_t ts_ns, const char *why)
{
	struct flight_recorder *w = ctx;
	char text[320];

	snprintf(text, sizeof(text), "trigger %s", why);
	tell(w, text);
	/* the exit trigger fires only once: ignore a pending trigger and rest_until_ns */
	if (w->taken_cnt < (w->o->trigger_max ? w->o->trigger_max : TRIGGER_MAX_DEFAULT) &&
	    (t->kind == TRIGGER_EXIT || (!w->why[0] && ts_ns >= w->rest_until_ns))) {
		snprintf(w->why, sizeof(w->why), "%s", why);
		w->fired_ns = ts_ns;
	}
	return marks_add(&w->marks, ts_ns, TRACE_MARK_TRIGGER, why);
}

/* Checks the given triggers, and creates the set of triggers. */
static int make_triggers(struct flight_recorder *w, uint32_t sources,
			 const struct span_probes *requests, bool has_command, struct err *e)
{
	const struct flight_options *o = w->o;
	const struct trigger_sink sink = { w, on_fired };
	struct trigger *t = calloc(o->trigger_cnt + 1, sizeof(*t));
	int r = t ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < o->trigger_cnt && r == 0; i++)
		r = trigger_parse(o->triggers[i], sources, has_command, &t[i], e);
	if (r == 0 && o->trigger_cnt)
		r = trigger_set_new(&w->triggers, t, o->trigger_cnt, &sink);
	if (r == 0 && w->triggers)
		trigger_set_name_requests(w->triggers, requests->names, requests->cnt);
	free(t);
	return r;
}

int flight_recorder_new(struct flight_recorder **ret, const struct flight_options *o,
			const struct notices *notices, uint32_t sources,
			const struct span_probes *requests, bool has_command, struct err *e)
{
	struct flight_recorder *w = calloc(1, sizeof(*w));
	int r = -ENOMEM;

	if (w) {
		w->o = o;
		w->notices = notices;
		w->marks.fd = o->mark_fd;
		r = make_triggers(w, sources, requests, has_command, e);
	}
	if (r < 0) {
		flight_recorder_free(w);
		return err_set(e, r, "out of memory");
	}
	*ret = w;
	return 0;
}

int flight_recorder_begin(struct flight_recorder *w, struct store_writer *store, const char *output,
			  const uint32_t own_pids[TRIGGER_OWN_MAX], struct err *e)
{
	int r = snapshotter_new(&w->snapshotter, store_writer_dir_fd(store), output,
				store_writer_uid(store), store_writer_gid(store));

	if (w->triggers)
		trigger_set_leave_out(w->triggers, own_pids);
	w->output = output;
	w->keep_ns = store_writer_keep(store)->keep_ns;
	w->marks.socket = store_writer_control_socket(store);
	return r < 0 ? err_set(e, r, "out of memory") : 0;
}

void flight_recorder_free(struct flight_recorder *w)
{
	if (!w)
		return;
	snapshotter_free(w->snapshotter);
	marks_done(&w->marks);
	trigger_set_free(w->triggers);
	free(w);
}

void flight_recorder_polls(const struct flight_recorder *w, struct pollfd *fds)
{
	const struct control_socket *socket = w->marks.socket;

	fds[0] = (struct pollfd){ .fd = socket ? control_socket_fd(socket) : -1, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = w->marks.fd, .events = POLLIN };
}

/* Returns the size of a trace in bytes: the sum of its files. */
static uint64_t dir_bytes(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	while (d && (entry = readdir(d)))
		if (!fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	if (d)
		closedir(d);
	return bytes;
}

static void reap(struct flight_recorder *w, bool wait)
{
	struct err e = { "" };
	const char *path;
	char text[700], size[UNITS_TEXT_MAX];
	int r = snapshotter_reap(w->snapshotter, wait, &path, &e);

	if (r > 0) {
		snprintf(text, sizeof(text), "snapshot written to %s: %s", path,
			 units_format_bytes_si(size, sizeof(size), dir_bytes(path)));
		tell(w, text);
	} else if (r < 0) {
		notices_warn(w->notices, "no snapshot: %s; recording goes on", err_text(&e, r));
	}
}

/*
 * Checks whether snapshots can be written beside the trace, to report an error now and not when the
 * first snapshot is due.
 */
static void check_place(struct flight_recorder *w)
{
	char *path = strdup(w->output);

	if (w->triggers && path &&
	    faccessat(AT_FDCWD, dirname(path), W_OK | X_OK, AT_EACCESS) < 0)
		notices_warn(w->notices,
			     "--trigger: snapshots cannot be made beside %s: user %u, who the "
			     "recorder is now, may not write there; choose another place with -o",
			     w->output, (unsigned int)geteuid());
	free(path);
	w->path_parent_checked = true;
}

int flight_recorder_look(struct flight_recorder *w, uint64_t start_ns, uint64_t now_ns,
			 struct err *e)
{
	int r = marks_read(&w->marks, start_ns, now_ns);

	if (!w->path_parent_checked)
		check_place(w);
	if (w->marks.dropped && !w->told_dropped) {
		w->told_dropped = true;
		notices_warn(w->notices,
			     "marks were thrown away: more than %d in a second, or of another time",
			     MARKS_MAX);
	}
	reap(w, false);
	return r < 0 ? err_set(e, r, "out of memory") : 0;
}

void flight_recorder_ask_snapshot(struct flight_recorder *w)
{
	w->asked = w->asked + 1;
}

bool flight_recorder_wants_slice(const struct flight_recorder *w)
{
	return w->asked != w->granted && !snapshotter_is_busy(w->snapshotter);
}

int flight_recorder_slice(struct flight_recorder *w, const struct ring_slice *slices,
			  size_t slice_cnt, const struct buf *snapshot, struct block_slice *slice,
			  struct err *e)
{
	int r = 0;

	if (w->triggers)
		r = trigger_set_feed(w->triggers, slices, slice_cnt, snapshot, slice);
	slice->mark_cnt = marks_rows(&w->marks, &slice->marks);
	return r < 0 ? err_set(e, r, "cannot look for triggers: %s", strerror(-r)) : 0;
}

static void begin_snapshot(struct flight_recorder *w, const char *trigger, uint64_t ts_ns)
{
	int r = snapshotter_begin(w->snapshotter, trigger, ts_ns);

	if (r < 0)
		notices_warn(w->notices, "no snapshot: %s; recording goes on", strerror(-r));
}

/* Begins a snapshot that is due, unless another one is in progress. */
static void begin_due(struct flight_recorder *w, uint64_t to_ns, bool now)
{
	if (snapshotter_is_busy(w->snapshotter))
		return;
	if (w->asked != w->granted) {
		/* several signals before a snapshot begins request one snapshot */
		w->granted = w->asked;
		begin_snapshot(w, NULL, to_ns);
	} else if (w->why[0] && (now || to_ns >= w->fired_ns + AFTERMATH_NS)) {
		begin_snapshot(w, w->why, w->fired_ns);
		w->taken_cnt++;
		w->rest_until_ns = to_ns + (w->keep_ns ? w->keep_ns : REST_NS);
		w->why[0] = '\0';
	}
}

void flight_recorder_written(struct flight_recorder *w, uint64_t to_ns)
{
	marks_clear(&w->marks);
	begin_due(w, to_ns, false);
}

int flight_recorder_exit(struct flight_recorder *w, uint64_t now_ns, int status, struct err *e)
{
	int r = w->triggers ? trigger_set_exit(w->triggers, now_ns, status) : 0;

	return r < 0 ? err_set(e, r, "out of memory") : 0;
}

void flight_recorder_end(struct flight_recorder *w)
{
	reap(w, true);
	begin_due(w, UINT64_MAX, true);
	reap(w, true);
	begin_due(w, UINT64_MAX, true);
	reap(w, true);
}
