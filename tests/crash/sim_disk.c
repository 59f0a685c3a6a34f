/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sim_disk: each file is its synced content and a list of later changes; so is the directory. A
 * reader sees both. A crash leaves the synced content and some of the changes, chosen at random.
 */
#include "sim_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/gen/gen_trace.h"

#define SECTOR 512
#define FILES_MAX 128
#define NAMES_MAX 512
#define FD_BASE 100
#define DIR_FD 99
#define MUST(x)                                                             \
	do {                                                                \
		if (!(x)) {                                                 \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x); \
			abort();                                            \
		}                                                           \
	} while (0)

struct content {
	uint8_t *data;
	uint64_t bytes;
};

/* A write, or with data NULL a truncation to offset. */
struct change {
	struct change *next;
	uint8_t *data;
	uint64_t offset, bytes;
};

struct sim_file {
	struct content now, synced;
	struct change *first, **last;
	bool open;
	unsigned int names;
};

/* A name is given to a file, or taken away (file -1). A rename is both in one change. */
struct name_change {
	char name[40], gone[40];
	int file;
};

struct sim_disk {
	struct files files;
	struct sim_plan plan;
	pthread_mutex_t lock;
	pthread_cond_t released;
	bool held, failed, power_gone;
	uint64_t ops;
	bool dir;			/* made; its name is on the disk at once, see files.h */
	struct sim_file f[FILES_MAX];
	int file_cnt;
	struct name_change names[NAMES_MAX];
	int name_cnt, name_synced;	/* of these, the first so many are on the disk */
};

static void resize(struct content *c, uint64_t bytes)
{
	c->data = realloc(c->data, bytes + 1);
	MUST(c->data);
	if (bytes > c->bytes)
		memset(c->data + c->bytes, 0, bytes - c->bytes);
	c->bytes = bytes;
}

static void apply(struct content *c, const struct change *ch)
{
	if (!ch->data) {
		resize(c, ch->offset);
		return;
	}
	if (c->bytes < ch->offset + ch->bytes)
		resize(c, ch->offset + ch->bytes);
	memcpy(c->data + ch->offset, ch->data, ch->bytes);
}

static void add_change(struct sim_file *f, const void *data, uint64_t bytes, uint64_t offset)
{
	struct change *ch = calloc(1, sizeof(*ch));

	MUST(ch);
	if (data) {
		ch->data = malloc(bytes + 1);
		MUST(ch->data);
		memcpy(ch->data, data, bytes);
	}
	ch->offset = offset;
	ch->bytes = bytes;
	*f->last = ch;
	f->last = &ch->next;
	apply(&f->now, ch);
}

static void drop_changes(struct sim_file *f)
{
	struct change *ch;

	while ((ch = f->first)) {
		f->first = ch->next;
		free(ch->data);
		free(ch);
	}
	f->last = &f->first;
}

/*
 * Acquires the lock. Returns 0, or the error of the plan; HALF: the operation does half of its
 * work.
 */
#define HALF (-4095)
enum sim_op { SIM_LOOK, SIM_CHANGE, SIM_WRITE };
static int begin(struct sim_disk *d, enum sim_op what)
{
	uint64_t op;

	pthread_mutex_lock(&d->lock);
	op = d->ops++;
	if (op >= d->plan.power_at)
		d->power_gone = true;
	if (d->power_gone)
		return -EIO;
	if (op == d->plan.fail_at ||
	    (d->plan.fail_on && what != SIM_LOOK && op > d->plan.fail_at)) {
		if (!d->plan.error)
			return what == SIM_WRITE ? HALF : 0;
		d->failed = true;
		return -d->plan.error;
	}
	return 0;
}

static int end(struct sim_disk *d, int r)
{
	pthread_mutex_unlock(&d->lock);
	return r == HALF ? 0 : r;
}

static struct sim_file *file_of(struct sim_disk *d, int fd)
{
	MUST(fd >= FD_BASE && fd < FD_BASE + d->file_cnt && d->f[fd - FD_BASE].open);
	return &d->f[fd - FD_BASE];
}

/*
 * The file of this name after the first cnt changes, limited to changes in keep (NULL: all); -1: no
 * such file.
 */
static int lookup(const struct sim_disk *d, const char *name, int cnt, const bool *keep)
{
	int i, file = -1;

	for (i = 0; i < cnt; i++) {
		if (keep && !keep[i])
			continue;
		if (!strcmp(d->names[i].name, name))
			file = d->names[i].file;
		else if (!strcmp(d->names[i].gone, name))
			file = -1;
	}
	return file;
}

static int find(const struct sim_disk *d, const char *name)
{
	return lookup(d, name, d->name_cnt, NULL);
}

static void add_name(struct sim_disk *d, const char *name, const char *gone, int file)
{
	struct name_change *n = &d->names[d->name_cnt++];

	MUST(d->name_cnt < NAMES_MAX);
	snprintf(n->name, sizeof(n->name), "%s", name);
	snprintf(n->gone, sizeof(n->gone), "%s", gone);
	n->file = file;
}

/* ---- struct files ---- */

static int sim_make_dir(void *ctx, const char *path, mode_t mode)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_CHANGE);

	if (r == 0 && d->dir)
		r = -EEXIST;
	if (r == 0)
		d->dir = true;
	return end(d, r);
}

static int sim_remove_dir(void *ctx, const char *path)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_CHANGE), i;

	for (i = 0; r == 0 && i < d->name_cnt; i++)
		if (d->names[i].name[0] && find(d, d->names[i].name) >= 0)
			r = -ENOTEMPTY;
	if (r == 0)
		d->dir = false;
	return end(d, r);
}

static int sim_open_dir(void *ctx, const char *path, uid_t *ret_uid, mode_t *ret_mode)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_LOOK);

	*ret_uid = geteuid();
	*ret_mode = 0700;
	if (r == 0 && !d->dir)
		r = -ENOENT;
	r = end(d, r);
	return r < 0 ? r : DIR_FD;
}

static int sim_create(void *ctx, int dir_fd, const char *name)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_CHANGE), file;

	MUST(dir_fd == DIR_FD && d->dir);
	if (r == 0 && find(d, name) >= 0)
		r = -EEXIST;
	if (r < 0)
		return end(d, r);
	MUST(d->file_cnt < FILES_MAX);
	file = d->file_cnt++;
	d->f[file] = (struct sim_file){ .open = true, .names = 1 };
	d->f[file].last = &d->f[file].first;
	add_name(d, name, "", file);
	end(d, 0);
	return FD_BASE + file;
}

static int sim_set_owner(void *ctx, int fd, uid_t uid, gid_t gid)
{
	struct sim_disk *d = ctx;

	return end(d, begin(d, SIM_CHANGE));
}

static ssize_t sim_write_at(void *ctx, int fd, const void *data, size_t bytes, uint64_t offset)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_WRITE);

	MUST(bytes);
	if (r == HALF && bytes > 1)
		bytes /= 2;
	/* a full disk writes the part that fits, and fails the next time */
	if (r == -ENOSPC && !d->power_gone && bytes > SECTOR) {
		add_change(file_of(d, fd), data, SECTOR, offset);
		d->plan.fail_at = d->ops;
		end(d, 0);
		return SECTOR;
	}
	if (r == 0 || r == HALF)
		add_change(file_of(d, fd), data, bytes, offset);
	r = end(d, r);
	return r < 0 ? r : (ssize_t)bytes;
}

static int sim_truncate(void *ctx, int fd, uint64_t bytes)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_CHANGE);

	if (r == 0)
		add_change(file_of(d, fd), NULL, 0, bytes);
	return end(d, r);
}

static int sim_sync(void *ctx, int fd)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_CHANGE);
	struct sim_file *f;

	while (d->held && r == 0)
		pthread_cond_wait(&d->released, &d->lock);
	f = file_of(d, fd);
	if (r == 0) {
		resize(&f->synced, f->now.bytes);
		memcpy(f->synced.data, f->now.data, f->now.bytes);
		drop_changes(f);
	} else if (r != HALF && !d->power_gone) {
		/*
		 * As Linux does: pages that could not be written are called clean, and are never
		 * written.
		 */
		drop_changes(f);
	}
	return end(d, r);
}

static int sim_sync_dir(void *ctx, int dir_fd)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_CHANGE);

	if (r == 0)
		d->name_synced = d->name_cnt;
	return end(d, r);
}

static int sim_still_there(void *ctx, int fd)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_LOOK);

	return end(d, r == 0 && !file_of(d, fd)->names ? -ENOENT : r);
}

static int sim_rename(void *ctx, int dir_fd, const char *from, const char *to)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_CHANGE), file = find(d, from), old = find(d, to);

	if (r == 0 && file < 0)
		r = -ENOENT;
	if (r == 0) {
		if (old >= 0)
			d->f[old].names--;
		add_name(d, to, from, file);
	}
	return end(d, r);
}

static int sim_unlink(void *ctx, int dir_fd, const char *name)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_CHANGE), file = find(d, name);

	if (r == 0 && file < 0)
		r = -ENOENT;
	if (r == 0) {
		d->f[file].names--;
		add_name(d, "", name, -1);
	}
	return end(d, r);
}

static int sim_close(void *ctx, int fd)
{
	struct sim_disk *d = ctx;
	int r = begin(d, SIM_LOOK);

	if (fd != DIR_FD)
		file_of(d, fd)->open = false;	/* also after an error, as in Linux */
	return end(d, r);
}

/* ---- */

struct sim_disk *sim_new(const struct sim_plan *plan)
{
	struct sim_disk *d = calloc(1, sizeof(*d));

	MUST(d);
	d->plan = *plan;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->released, NULL);
	d->files = (struct files){
		.ctx = d, .make_dir = sim_make_dir, .remove_dir = sim_remove_dir,
		.open_dir = sim_open_dir, .create = sim_create, .set_owner = sim_set_owner,
		.write_at = sim_write_at, .truncate = sim_truncate, .sync = sim_sync,
		.sync_dir = sim_sync_dir, .still_there = sim_still_there, .rename = sim_rename,
		.unlink = sim_unlink, .close = sim_close,
	};
	return d;
}

void sim_free(struct sim_disk *d)
{
	for (int i = 0; i < d->file_cnt; i++) {
		drop_changes(&d->f[i]);
		free(d->f[i].now.data);
		free(d->f[i].synced.data);
	}
	free(d);
}

const struct files *sim_files(struct sim_disk *d)
{
	return &d->files;
}

uint64_t sim_op_cnt(struct sim_disk *d)
{
	uint64_t n;

	pthread_mutex_lock(&d->lock);
	n = d->ops;
	pthread_mutex_unlock(&d->lock);
	return n;
}

bool sim_failed(struct sim_disk *d)
{
	return d->failed;
}

unsigned int sim_open_cnt(struct sim_disk *d)
{
	unsigned int n = 0;

	for (int i = 0; i < d->file_cnt; i++)
		n += d->f[i].open;
	return n;
}

void sim_hold_syncs(struct sim_disk *d, bool hold)
{
	pthread_mutex_lock(&d->lock);
	d->held = hold;
	pthread_cond_broadcast(&d->released);
	pthread_mutex_unlock(&d->lock);
}

bool sim_is_durable(struct sim_disk *d, const char *name, uint64_t offset, uint64_t bytes)
{
	const struct sim_file *f;
	bool yes = false;
	int file;

	pthread_mutex_lock(&d->lock);
	file = lookup(d, name, d->name_synced, NULL);
	if (file >= 0) {
		f = &d->f[file];
		yes = offset + bytes <= f->synced.bytes && offset + bytes <= f->now.bytes &&
		      !memcmp(f->synced.data + offset, f->now.data + offset, bytes);
	}
	pthread_mutex_unlock(&d->lock);
	return yes;
}

/* ---- content after a crash ---- */

static void save_file(const char *path, const char *name, const struct content *c)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", path, name);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0 &&
	     write(fd, c->data ? c->data : (uint8_t *)"", c->bytes) == (ssize_t)c->bytes);
	close(fd);
}

/* A possible content of f after a crash. */
static struct content crash_file(const struct sim_file *f, uint64_t *seed)
{
	struct content c = { 0 };
	const struct change *ch;
	uint64_t size = f->synced.bytes, at, n;
	/* of 8 unsynced sectors, this number has arrived */
	unsigned int arrived = gen_random(seed) % 9;
	bool rubbish = gen_random(seed) % 4 == 0;

	for (ch = f->first; ch; ch = ch->next)
		if (gen_random(seed) % 8 < arrived)
			size = ch->data ? ch->offset + ch->bytes : ch->offset;
	resize(&c, f->synced.bytes > size ? f->synced.bytes : size);
	if (f->synced.bytes)
		memcpy(c.data, f->synced.data, f->synced.bytes);
	for (at = f->synced.bytes; rubbish && at < c.bytes; at++)
		c.data[at] = (uint8_t)gen_random(seed);
	for (ch = f->first; ch; ch = ch->next) {
		for (at = ch->offset; ch->data && at < ch->offset + ch->bytes; at += n) {
			n = SECTOR - at % SECTOR;
			if (n > ch->offset + ch->bytes - at)
				n = ch->offset + ch->bytes - at;
			if (gen_random(seed) % 8 < arrived && at + n <= c.bytes)
				memcpy(c.data + at, ch->data + (at - ch->offset), n);
		}
	}
	resize(&c, size);
	return c;
}

bool sim_save(struct sim_disk *d, const char *path)
{
	if (!d->dir || mkdir(path, 0700))
		return false;
	for (int i = 0; i < d->name_cnt; i++) {
		int file = find(d, d->names[i].name);

		if (d->names[i].name[0] && file >= 0)
			save_file(path, d->names[i].name, &d->f[file].now);
	}
	return true;
}

bool sim_save_after_crash(struct sim_disk *d, const char *path, uint64_t seed)
{
	bool keep[NAMES_MAX];

	if (!d->dir || mkdir(path, 0700))
		return false;
	for (int i = 0; i < d->name_cnt; i++)
		keep[i] = i < d->name_synced || gen_random(&seed) % 2;
	for (int i = 0; i < d->name_cnt; i++) {
		int file = lookup(d, d->names[i].name, d->name_cnt, keep);
		struct content c;

		if (!d->names[i].name[0] || file < 0)
			continue;
		c = crash_file(&d->f[file], &seed);
		save_file(path, d->names[i].name, &c);
		free(c.data);
	}
	return true;
}
