/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_writer: appends blocks to chunk files.
 *
 * Files are only appended to. A partially written block is truncated; if that fails, too, the file
 * is abandoned, and the next block starts a new one: no data follows damage in a file. Names are
 * relative to the directory's descriptor, and files must be new, so no user can redirect writes.
 */
#include "store/store_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "format/chunk.h"
#include "store/chunk_scan.h"

/*
 * store_sync: syncs chunk files to the disk in a thread, so that their writer need not wait.
 *
 *     [store_writer] --"this file, please"--> [store_sync: a thread] --> files->sync()
 *
 * A sync can take seconds on a busy disk. During a sync, further blocks are written to the page
 * cache, where they survive a crash of the recorder; queued requests for the same file are merged.
 * A block is therefore on the disk after at most two syncs of its file.
 *
 * After an error, all later calls return this error and do nothing. Files passed for closing are
 * closed in any case.
 *
 * Threads: one controlling thread calls the functions; the syncing thread is internal.
 */

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

/* *files must stay valid until store_sync_free(). -ENOMEM; -EAGAIN: no thread could be started. */
static int store_sync_new(struct store_sync **ret, const struct files *files)
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

/* Finishes the queue (after an error, only closes its files) and frees s. NULL is fine. */
static void store_sync_free(struct store_sync *s)
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

/* Queues a sync of fd, which is closed afterwards: the caller must no longer use it. */
static int store_sync_close(struct store_sync *s, int fd, uint64_t number)
{
	int r = ask(s, &(struct job){ .fd = fd, .close = true, .number = number });

	if (r < 0)
		s->files->close(s->files->ctx, fd);
	return r;
}

/* Queues the replacement of a directory's manifest by text, which is freed afterwards. */
static int store_sync_manifest(struct store_sync *s, const struct manifest_place *place, char *text,
			       size_t bytes)
{
	int r = ask(s, &(struct job){ .fd = -1, .text = text, .bytes = bytes, .place = *place });

	if (r < 0)
		free(text);
	return r;
}

/* Waits until the queue is empty. */
static int store_sync_wait(struct store_sync *s)
{
	int r;

	pthread_mutex_lock(&s->lock);
	while (s->first || s->busy)
		pthread_cond_wait(&s->idle, &s->lock);
	r = s->error;
	pthread_mutex_unlock(&s->lock);
	return r;
}

static void store_sync_get_stats(struct store_sync *s, struct store_sync_stats *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->stats;
	pthread_mutex_unlock(&s->lock);
}

/* ---- files that may be removed ---- */

/* a file has about 1/PARTS of the kept size or time */
#define PARTS 16
#define FILE_BYTES_MIN (64ull << 10)
#define FILE_BYTES_MAX (64ull << 20)
#define FILE_AGE_MIN_NS 1000000000ull
#define FILE_AGE_MAX_NS (600ull * 1000000000)

void store_keep_done(struct store_keep *k)
{
	free(k->files);
	memset(k, 0, sizeof(*k));
}

int store_keep_add_file(struct store_keep *k, uint64_t number)
{
	return array_add(&k->files, &k->cap, &k->cnt, (struct store_file){ .number = number });
}

void store_keep_undo_file(struct store_keep *k, uint64_t number)
{
	if (!k->cnt || k->files[k->cnt - 1].number != number)
		return;
	k->bytes -= k->files[k->cnt - 1].bytes;
	k->cnt--;
}

/* Adds bytes of the newest file: the file's header, or a block. */
static void keep_add_bytes(struct store_keep *k, uint64_t bytes)
{
	k->files[k->cnt - 1].bytes += bytes;
	k->bytes += bytes;
}

void store_keep_add_block(struct store_keep *k, uint64_t bytes, uint64_t from_ns, uint64_t to_ns,
			  uint64_t event_cnt)
{
	struct store_file *f = &k->files[k->cnt - 1];

	if (!f->block_cnt)
		f->from_ns = from_ns;
	f->to_ns = to_ns;
	f->block_cnt++;
	f->event_cnt += event_cnt;
	keep_add_bytes(k, bytes);
}

uint64_t store_keep_from_ns(const struct store_keep *k)
{
	return k->cnt ? k->files[0].from_ns : 0;
}

/* Returns the time at which the trace would begin without its oldest file. */
static uint64_t second_from_ns(const struct store_keep *k)
{
	return k->files[1].block_cnt ? k->files[1].from_ns : k->files[0].to_ns;
}

bool store_keep_has_excess(const struct store_keep *k, uint64_t bytes, uint64_t to_ns)
{
	if (k->cnt < 2)
		return false;
	if (k->keep_bytes && k->bytes - k->files[0].bytes + bytes >= k->keep_bytes)
		return true;
	return k->keep_ns && to_ns >= second_from_ns(k) && to_ns - second_from_ns(k) >= k->keep_ns;
}

void store_keep_drop(struct store_keep *k)
{
	const struct store_file *f = &k->files[0];

	k->dropped_files++;
	k->dropped_blocks += f->block_cnt;
	k->dropped_events += f->event_cnt;
	k->dropped_bytes += f->bytes;
	k->bytes -= f->bytes;
	k->cnt--;
	memmove(k->files, k->files + 1, k->cnt * sizeof(*k->files));
}

static uint64_t clamp(uint64_t v, uint64_t min, uint64_t max)
{
	return v < min ? min : v > max ? max : v;
}

/*
 * Return size and age at which to start a new file, small enough that removing a file removes
 * little.
 */
static uint64_t file_bytes_for(uint64_t keep_bytes)
{
	return keep_bytes ? clamp(keep_bytes / PARTS, FILE_BYTES_MIN, FILE_BYTES_MAX)
			  : FILE_BYTES_MAX;
}

static uint64_t file_age_for(uint64_t keep_ns)
{
	return keep_ns ? clamp(keep_ns / PARTS, FILE_AGE_MIN_NS, FILE_AGE_MAX_NS)
		       : FILE_AGE_MAX_NS;
}

/* ---- the trace ---- */

struct store_writer {
	struct store_config config;
	const struct files *files;
	struct store_sync *sync;	/* created when first needed */
	char *path;
	int dir_fd;
	int fd;				/* current chunk file, -1: none */
	char name[CHUNK_NAME_BYTES];	/* the chunk file's name */
	uint64_t next_number;		/* number of the next file */
	uint64_t offset;		/* end of the last complete block in the file */
	uint64_t made_ns;
	uint64_t last_bytes;		/* size of the last block */
	uint64_t bytes;			/* size of all files, including removed ones */
	struct control_socket *socket;	/* NULL: the file system has no sockets */
	struct store_keep keep;
	/* rotates: whether the next block begins a file; valid if is_decided */
	bool is_decided, rotates;
	uint64_t file_blocks;		/* blocks in the current file */
	uint64_t whole_below;		/* files with lower numbers are completely on the disk */
	bool gave_up_file; /* a file was abandoned, so whole_below no longer increases */
	struct manifest manifest;
	bool lacks_entry;		/* there was no memory for an entry of the manifest */
	uint64_t trace_id;
	/* set by store_writer_begins_with() */
	bool has_earlier;
	struct store_file earlier;
};

static int set_owner(const struct store_writer *w, int fd)
{
	if (w->config.uid == (uid_t)-1 && w->config.gid == (gid_t)-1)
		return 0;
	return w->files->set_owner(w->files->ctx, fd, w->config.uid, w->config.gid);
}

static int close_fd(const struct store_writer *w, int fd)
{
	return w->files->close(w->files->ctx, fd);
}

static int unlink_name(const struct store_writer *w, const char *name)
{
	return w->files->unlink(w->files->ctx, w->dir_fd, name);
}

/* Abandons the current file without a sync. */
static void drop_file(struct store_writer *w)
{
	/* wait first: the file's descriptor may be queued for a sync */
	if (w->sync)
		store_sync_wait(w->sync);
	close_fd(w, w->fd);
	w->fd = -1;
	w->gave_up_file = true;
}

static void store_free(struct store_writer *w)
{
	if (!w)
		return;
	control_socket_close(w->socket);
	if (w->fd >= 0)
		drop_file(w);
	store_sync_free(w->sync);
	if (w->dir_fd >= 0)
		close_fd(w, w->dir_fd);
	manifest_done(&w->manifest);
	store_keep_done(&w->keep);
	free(w->path);
	free(w);
}

static int make_directory(struct store_writer *w, struct err *e)
{
	uid_t uid = 0;
	mode_t mode = 0;
	int r;

	r = w->files->make_dir(w->files->ctx, w->path, 0700);
	if (r == -EEXIST)
		return err_set(e, r,
			       "'%s' exists already; choose another name with -o, or move it away",
			       w->path);
	if (r == -ELOOP)
		return err_set(e, r,
			       "'%s' leads through a symbolic link that somebody else made where "
			       "others may write; name the place itself with -o",
			       w->path);
	if (r < 0)
		return err_set(e, r, "cannot make directory '%s': %s", w->path, err_text(NULL, r));
	w->dir_fd = w->files->open_dir(w->files->ctx, w->path, &uid, &mode);
	/* a user who may write to the parent directory may have replaced this directory */
	if (w->dir_fd == -ENOTEMPTY || w->dir_fd == -ELOOP || w->dir_fd == -ENOTDIR)
		return err_set(e, -EPERM,
			       "'%s' is not the directory just made: somebody else replaced it",
			       w->path);
	if (w->dir_fd < 0) {
		r = w->dir_fd;
		w->files->remove_dir(w->files->ctx, w->path);
		return err_set(e, r, "cannot open the directory '%s' just made: %s", w->path,
			       err_text(NULL, r));
	}
	if (uid != geteuid() || mode & 077)
		return err_set(e, -EPERM,
			       "'%s' is not the directory just made: somebody else replaced it",
			       w->path);
	r = set_owner(w, w->dir_fd);
	if (r < 0) {
		w->files->remove_dir(w->files->ctx, w->path);
		return err_set(e, r, "cannot give '%s' to user %u: %s", w->path,
			       (unsigned int)w->config.uid, err_text(NULL, r));
	}
	return 0;
}

int store_writer_create(struct store_writer **ret, const char *path,
			const struct store_config *config, struct err *e)
{
	struct store_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	w->dir_fd = w->fd = -1;
	w->config = *config;
	w->files = config->files ? config->files : &files_kernel;
	if (!w->config.file_bytes)
		w->config.file_bytes = file_bytes_for(config->keep_bytes);
	if (!w->config.file_age_ns)
		w->config.file_age_ns = file_age_for(config->keep_ns);
	w->trace_id = config->trace_id;
	/* an id that is not fully random is better than none */
	while (!w->trace_id)
		if (getrandom(&w->trace_id, sizeof(w->trace_id), GRND_NONBLOCK) < 0)
			w->trace_id = clock_real_ns();
	w->keep.keep_bytes = config->keep_bytes;
	w->keep.keep_ns = config->keep_ns;
	w->path = strdup(path);
	if (!w->path) {
		store_free(w);
		return err_set(e, -ENOMEM, "out of memory");
	}
	r = make_directory(w, e);
	if (r == 0) {
		r = manifest_set(&w->manifest, "state", "recording");
		r = r ?: store_writer_flush_manifest(w, e);
		if (r < 0 && w->dir_fd >= 0) {
			unlink_name(w, MANIFEST_NEW);
			unlink_name(w, MANIFEST_NAME);
			w->files->remove_dir(w->files->ctx, path);
		}
	}
	if (r < 0) {
		store_free(w);
		return r;
	}
	/* simulated disks and some file systems have no sockets */
	if (w->files != &files_kernel ||
	    control_socket_open(&w->socket, w->dir_fd, w->config.uid, w->config.gid) < 0)
		w->socket = NULL;
	*ret = w;
	return 0;
}

int store_writer_renamed(struct store_writer *w, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	free(w->path);
	w->path = copy;
	return 0;
}

int store_writer_set(struct store_writer *w, const char *key, const char *value)
{
	int r = manifest_set(&w->manifest, key, value);

	w->lacks_entry |= r == -ENOMEM;
	return r;
}

int store_writer_set_number(struct store_writer *w, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return store_writer_set(w, key, text);
}

/* Formats the manifest, malloc'ed. */
static int format_manifest(struct store_writer *w, char **ret, size_t *ret_bytes, struct err *e)
{
	char *text = NULL, id[20], uuid[MANIFEST_UUID_BYTES];
	size_t bytes = 0;
	int r;

	snprintf(id, sizeof(id), "%016" PRIx64, w->trace_id);
	store_writer_set(w, "trace.id", id);
	manifest_format_uuid(uuid, w->trace_id);
	store_writer_set(w, "trace.uuid", uuid);
	r = w->lacks_entry ? -ENOMEM : manifest_format(&w->manifest, &text, &bytes);
	if (r < 0)
		return err_set(e, r, "out of memory");
	if (bytes > MANIFEST_MAX_BYTES) {
		free(text);
		return err_set(e, -E2BIG, "the notes of this trace do not fit in %u bytes",
			       MANIFEST_MAX_BYTES);
	}
	*ret = text;
	*ret_bytes = bytes;
	return 0;
}

int store_writer_flush_manifest(struct store_writer *w, struct err *e)
{
	const struct manifest_place place = { w->files, w->dir_fd, w->config.uid, w->config.gid };
	char *text;
	size_t bytes;
	int r;

	r = format_manifest(w, &text, &bytes, e);
	if (r < 0)
		return r;
	r = manifest_replace(&place, text, bytes);
	free(text);
	if (r < 0)
		return err_set(e, r, "cannot write '%s/%s': %s", w->path, MANIFEST_NAME,
			       err_text(NULL, r));
	return 0;
}

/* Queues the writing of the manifest, without waiting for the disk. */
static int flush_manifest_later(struct store_writer *w, struct err *e)
{
	const struct manifest_place place = { w->files, w->dir_fd, w->config.uid, w->config.gid };
	char *text;
	size_t bytes;
	int r;

	if (!w->sync)
		return store_writer_flush_manifest(w, e);
	r = format_manifest(w, &text, &bytes, e);
	return r < 0 ? r : store_sync_manifest(w->sync, &place, text, bytes);
}

/* ---- chunk files ---- */

static int file_error(const struct store_writer *w, int r, struct err *e)
{
	return err_set(e, r, "cannot write '%s/%s': %s", w->path, w->name, err_text(NULL, r));
}

static int start_file(struct store_writer *w, struct err *e)
{
	struct disk_file h = {
		.version = CHUNK_VERSION, .bytes = sizeof(h), .number = w->next_number,
		.mono_ns = clock_mono_ns(), .real_ns = clock_real_ns(),
		.trace_id = w->trace_id,
	};
	struct store_sync_stats sync;
	int r;

	store_writer_sync_stats(w, &sync);
	if (w->sync && !w->gave_up_file)
		w->whole_below = sync.whole_below;
	h.whole_below = w->whole_below;

	memcpy(h.magic, CHUNK_FILE_MAGIC, sizeof(h.magic));
	h.crc = crc32c(0, &h, offsetof(struct disk_file, crc));
	chunk_name_format(w->name, w->next_number);
	w->fd = w->files->create(w->files->ctx, w->dir_fd, w->name);
	if (w->fd < 0) {
		r = w->fd;
		w->fd = -1;
		return file_error(w, r, e);
	}
	r = set_owner(w, w->fd) ?: store_keep_add_file(&w->keep, w->next_number);
	r = r ?: files_write_all(w->files, w->fd, &h, sizeof(h), 0);
	/* The file's name must be on the disk before its blocks. */
	r = r ?: w->files->sync_dir(w->files->ctx, w->dir_fd);
	if (r < 0) {
		close_fd(w, w->fd);
		w->fd = -1;
		unlink_name(w, w->name);
		store_keep_undo_file(&w->keep, w->next_number);
		return file_error(w, r, e);
	}
	w->next_number++;
	w->offset = sizeof(h);
	w->bytes += sizeof(h);
	keep_add_bytes(&w->keep, sizeof(h));
	w->made_ns = h.mono_ns;
	w->file_blocks = 0;
	return 0;
}

/* Reports the error of an earlier sync, with its file. */
static int sync_error(struct store_writer *w, int r, struct err *e)
{
	struct store_sync_stats sync;

	store_writer_sync_stats(w, &sync);
	if (w->sync)
		chunk_name_format(w->name, sync.failed_number);
	return file_error(w, r, e);
}

/* Syncs and closes the current file. */
static int close_file(struct store_writer *w, struct err *e)
{
	int r, r2;

	if (w->fd < 0)
		return 0;
	if (w->sync) {
		/* closes the descriptor, even after an error */
		r = store_sync_close(w->sync, w->fd, w->next_number - 1);
	} else {
		r = w->files->sync(w->files->ctx, w->fd);
		r2 = close_fd(w, w->fd);
		r = r < 0 ? r : r2;
		if (r == 0 && !w->gave_up_file)
			w->whole_below = w->next_number;
	}
	w->fd = -1;
	return r < 0 ? sync_error(w, r, e) : 0;
}

static void count_block(struct store_writer *w, const struct disk_block *h)
{
	uint64_t events = 0;

	for (unsigned int i = 0; i < CHUNK_KINDS; i++)
		events += h->kind_cnt[i];
	w->file_blocks++;
	store_keep_add_block(&w->keep, h->block_bytes, h->from_ns, h->to_ns, events);
}

bool store_writer_begins_file(struct store_writer *w)
{
	if (!w->is_decided)
		w->rotates = w->fd >= 0 && w->file_blocks &&
			     (w->offset + w->last_bytes > w->config.file_bytes ||
			      clock_mono_ns() - w->made_ns > w->config.file_age_ns);
	w->is_decided = true;
	return w->rotates || w->fd < 0;
}

static int note_dropped(struct store_writer *w, struct err *e)
{
	const struct {
		const char *key;
		uint64_t value;
	} facts[] = {
		{ "kept.from_ns", w->keep.files[0].from_ns },
		{ "dropped.files", w->keep.dropped_files },
		{ "dropped.blocks", w->keep.dropped_blocks },
		{ "dropped.events", w->keep.dropped_events },
		{ "dropped.bytes", w->keep.dropped_bytes },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		store_writer_set_number(w, facts[i].key, facts[i].value);
	return flush_manifest_later(w, e);
}

/*
 * Removes files to make room for a block. Call this before writing the manifest, which needs the
 * files' space on a full disk.
 */
static int drop_files(struct store_writer *w, const struct disk_block *h, struct err *e)
{
	char name[CHUNK_NAME_BYTES];
	bool dropped = false;
	int r;

	while (store_keep_has_excess(&w->keep, h->block_bytes, h->to_ns)) {
		chunk_name_format(name, w->keep.files[0].number);
		r = unlink_name(w, name);
		if (r < 0 && r != -ENOENT)
			return err_set(e, r, "cannot remove '%s/%s': %s", w->path, name,
				       err_text(NULL, r));
		store_keep_drop(&w->keep);
		dropped = true;
	}
	/* if no block is left, the new block is the first one */
	if (dropped && !w->keep.files[0].block_cnt)
		w->keep.files[0].from_ns = h->from_ns;
	return dropped ? note_dropped(w, e) : 0;
}

const struct store_keep *store_writer_keep(const struct store_writer *w)
{
	return &w->keep;
}

static int sync_block(struct store_writer *w)
{
	int r = w->config.sync_inline || w->sync ? 0 : store_sync_new(&w->sync, w->files);

	if (r < 0)
		return r;
	if (w->sync)
		return ask(w->sync, &(struct job){ .fd = w->fd, .number = w->next_number - 1 });
	return w->files->sync(w->files->ctx, w->fd);
}

int store_writer_append(struct store_writer *w, const void *block, size_t bytes, int sync,
			struct err *e)
{
	struct disk_block h;
	int r;

	if (bytes < sizeof(h))
		return err_set(e, -EINVAL, "not a block");
	memcpy(&h, block, sizeof(h));
	store_writer_begins_file(w);
	w->is_decided = false;
	if (w->rotates) {
		r = close_file(w, e);
		if (r < 0)
			return r;
	}
	if (w->fd < 0) {
		r = start_file(w, e);
		if (r < 0)
			return r;
	}
	r = drop_files(w, &h, e);
	if (r < 0)
		return r;
	r = w->files->still_there(w->files->ctx, w->fd);
	if (r == -ENOENT) {
		drop_file(w);
		return err_set(e, r, "'%s/%s' was removed while it was being written", w->path,
			       w->name);
	}
	r = r ?: files_write_all(w->files, w->fd, block, bytes, w->offset);
	if (r < 0) {
		if (w->files->truncate(w->files->ctx, w->fd, w->offset) < 0)
			drop_file(w);
		return file_error(w, r, e);
	}
	count_block(w, &h);
	w->last_bytes = bytes;
	w->offset += bytes;
	w->bytes += bytes;
	r = sync ? sync_block(w) : 0;
	if (r < 0) {
		/* The kernel may have dropped dirty pages of the file: write no more to it. */
		drop_file(w);
		return sync_error(w, r, e);
	}
	return 0;
}

int store_writer_dir_fd(const struct store_writer *w)
{
	return w->dir_fd;
}

uid_t store_writer_uid(const struct store_writer *w)
{
	return w->config.uid;
}

gid_t store_writer_gid(const struct store_writer *w)
{
	return w->config.gid;
}

void store_writer_set_next_file(struct store_writer *w, uint64_t number)
{
	w->next_number = number;
}

struct control_socket *store_writer_control_socket(const struct store_writer *w)
{
	return w->socket;
}

uint64_t store_writer_bytes(const struct store_writer *w)
{
	return w->bytes;
}

void store_writer_sync_stats(const struct store_writer *w, struct store_sync_stats *ret)
{
	*ret = (struct store_sync_stats){ 0 };
	if (w->sync)
		store_sync_get_stats(w->sync, ret);
}

void store_writer_begins_with(struct store_writer *w, uint64_t number, uint64_t from_ns)
{
	w->has_earlier = true;
	w->earlier = (struct store_file){ .number = number, .from_ns = from_ns };
}

/* Stores span and files of the trace in the manifest, so that readers can detect missing files. */
static void note_span(struct store_writer *w)
{
	const struct store_file *first = NULL, *last = NULL;

	for (size_t i = 0; i < w->keep.cnt; i++) {
		if (!w->keep.files[i].block_cnt)
			continue;
		first = first ? first : &w->keep.files[i];
		last = &w->keep.files[i];
	}
	if (w->has_earlier && last)
		first = &w->earlier;
	store_writer_set_number(w, "span.first_file", first ? first->number : 0);
	store_writer_set_number(w, "span.last_file", last ? last->number : 0);
	store_writer_set_number(w, "span.from_ns", first ? first->from_ns : 0);
	store_writer_set_number(w, "span.to_ns", last ? last->to_ns : 0);
}

int store_writer_finish(struct store_writer *w, struct err *e)
{
	int r = close_file(w, e);

	if (r == 0 && w->sync) {
		r = store_sync_wait(w->sync);
		if (r < 0)
			sync_error(w, r, e);
	}
	note_span(w);
	r = r ?: manifest_set(&w->manifest, "state", "finished");
	r = r ?: store_writer_flush_manifest(w, e);
	store_free(w);
	return r;
}

void store_writer_abort(struct store_writer *w)
{
	store_free(w);
}
