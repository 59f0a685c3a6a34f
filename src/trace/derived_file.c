/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * derived_file: reads and writes the header, the parts and the directory.
 *
 * The directory consists of a table for each type of parts, with 40 bytes per part, and a list of
 * these tables. The list is read when the file is opened, a table when a part of its type is first
 * looked up, and a part's bytes on request. All have checksums. New parts are appended to a new
 * file that begins with a copy of the old parts; its tables and header are written last.
 */
#include "trace/derived_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/crc32c.h"
#include "format/zpack.h"
#include "store/files.h"
#include "trace/trace_state.h"

#define DERIVED_MAGIC "EBRDERV\n"
#define DERIVED_VERSION 41
#define PART_RAW_MAX (1u << 31)
/*
 * Limit of compression: a part that packing would make more than this many times smaller is stored
 * unpacked. A reader's allocations are therefore bounded by a multiple of the file's size.
 */
#define PART_RATIO_MAX 256
#define COPY_BYTES (1u << 20)

struct disk_derived {
	uint8_t magic[8];
	uint16_t version, kind_cnt;
	uint32_t zero0;
	/* end of the parts; the list of tables follows, then the tables */
	uint64_t dir_offset;
	uint64_t blocks_hash;	/* trace_blocks_hash() of block_cnt blocks */
	uint64_t thread_hash;	/* trace_thread_hash() of thread_cnt threads */
	uint32_t block_cnt, thread_cnt;
	uint32_t dir_crc;
	uint32_t zero1[2];
	uint32_t crc;		/* of the 60 bytes above */
};

/* Table of the parts of one type. Tables are adjacent, and so are parts of all types. */
struct disk_table {
	uint32_t part_cnt;
	uint32_t crc;		/* of the table's part_cnt * 40 bytes */
};

_Static_assert(sizeof(struct disk_derived) == 64, "layout of disk_derived");
_Static_assert(sizeof(struct disk_table) == 8, "layout of disk_table");
_Static_assert(sizeof(struct derived_part) == 40, "layout of derived_part");

struct part_list {
	struct derived_part *v;	/* by key */
	size_t cnt, cap;
	struct disk_table table;	/* its entry in the file */
	uint64_t table_offset;
	_Atomic int state;	/* 1: v is valid; 0: the table is not read yet; -EBADMSG */
};

struct derived_file {
	struct disk_derived head;	/* header of the opened file */
	int fd;			/* the opened file; -1: none */
	uint64_t bytes;		/* size of the opened file */
	int new_fd;		/* file to which parts are added; -1: not begun */
	uint64_t new_end;	/* end of the parts in new_fd; under lock */
	bool saves;		/* new_fd has all parts, and will replace the opened file */
	int dir_fd;		/* directory for the opened or new file; -1: none */
	char name[64];
	int state;
	const char *why;
	struct part_list lists[DERIVED_TYPE_CNT];
	struct zunpack *zunpack;	/* under lock */
	pthread_mutex_t lock;
};

/* ---- opening ---- */

static int read_at(int fd, uint64_t offset, void *to, size_t bytes)
{
	struct chunk_io io = { fd, offset };
	int r = chunk_io_read(&io, 0, to, bytes);

	return r == -ENODATA ? -EBADMSG : r;
}

static bool part_fits(const struct derived_part *p, const struct derived_part *before,
		      unsigned int type, uint64_t end)
{
	return p->type == type && !p->is_new && !p->zero && p->stored_bytes &&
	       p->offset >= sizeof(struct disk_derived) && p->offset <= end &&
	       p->stored_bytes <= end - p->offset && p->raw_bytes <= PART_RAW_MAX &&
	       p->raw_bytes / PART_RATIO_MAX <= p->stored_bytes &&
	       (!before || p->key > before->key);
}

static int read_table(const struct derived_file *d, struct part_list *l, unsigned int type)
{
	size_t bytes = l->table.part_cnt * sizeof(*l->v), i;
	int r = 0;

	if (array_reserve(&l->v, &l->cap, l->table.part_cnt) < 0)
		return -ENOMEM;
	r = read_at(d->fd, l->table_offset, l->v, bytes);
	if (r == 0 && crc32c(0, l->v, bytes) != l->table.crc)
		r = -EBADMSG;
	for (i = 0; r == 0 && i < l->table.part_cnt; i++)
		if (!part_fits(&l->v[i], i ? &l->v[i - 1] : NULL, type, d->head.dir_offset))
			r = -EBADMSG;
	l->cnt = r == 0 ? l->table.part_cnt : 0;
	return r;
}

/* Reads the table of a type if it is not read yet. 0 or an error. */
static int need_table(const struct derived_file *file, unsigned int type)
{
	struct derived_file *d = (struct derived_file *)file;
	struct part_list *l = &d->lists[type];
	int r = atomic_load_explicit(&l->state, memory_order_acquire);

	if (r == 0) {
		pthread_mutex_lock(&d->lock);
		r = atomic_load(&l->state);
		if (r == 0) {
			r = read_table(d, l, type);
			r = r == 0 ? 1 : r;
			if (r != -ENOMEM)
				atomic_store_explicit(&l->state, r, memory_order_release);
		}
		pthread_mutex_unlock(&d->lock);
	}
	return r > 0 ? 0 : r;
}

static int read_head(struct derived_file *d, const char **ret_why)
{
	struct disk_derived h;
	struct stat st;

	*ret_why = "is no derived file, or its checksum does not hold: it is not used";
	if (fstat(d->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    read_at(d->fd, 0, &h, sizeof(h)) < 0 ||
	    memcmp(h.magic, DERIVED_MAGIC, sizeof(h.magic)) ||
	    crc32c(0, &h, offsetof(struct disk_derived, crc)) != h.crc)
		return -EBADMSG;
	*ret_why = "is of another version of this program: it is not used";
	if (h.version != DERIVED_VERSION || h.kind_cnt != EVENT_KIND_CNT)
		return -ESTALE;
	*ret_why = "was cut off, or is damaged: it is not used";
	d->bytes = (uint64_t)st.st_size;
	if (h.dir_offset < sizeof(h) || h.dir_offset > d->bytes)
		return -EBADMSG;
	d->head = h;
	return 0;
}

static int read_dir(struct derived_file *d, const char **ret_why)
{
	uint64_t at = d->head.dir_offset + sizeof(struct disk_table) * DERIVED_TYPE_CNT;
	struct disk_table tables[DERIVED_TYPE_CNT];

	*ret_why = "its directory is damaged: it is not used";
	if (read_at(d->fd, d->head.dir_offset, tables, sizeof(tables)) < 0 ||
	    crc32c(0, tables, sizeof(tables)) != d->head.dir_crc)
		return -EBADMSG;
	for (unsigned int type = 0; type < DERIVED_TYPE_CNT; type++) {
		d->lists[type].table = tables[type];
		d->lists[type].table_offset = at;
		d->lists[type].state = 0;
		at += (uint64_t)tables[type].part_cnt * sizeof(struct derived_part);
	}
	return at == d->bytes ? 0 : -EBADMSG;
}

static void no_parts(struct derived_file *d)
{
	derived_file_drop(d, 0, DERIVED_TYPE_CNT);
	if (d->fd >= 0)
		close(d->fd);
	if (d->new_fd >= 0)
		close(d->new_fd);
	d->fd = d->new_fd = -1;
	d->saves = false;
}

/* Returns true if the blocks, the threads and the threads' processes are the same. */
static bool belongs_to(const struct disk_derived *h, const struct trace *t)
{
	return h->block_cnt <= t->blocks.cnt &&
	       trace_blocks_hash(t, h->block_cnt) == h->blocks_hash &&
	       trace_thread_hash(t, h->thread_cnt) == h->thread_hash;
}

int derived_file_bind(struct derived_file *d, struct trace *t)
{
	if (d->state != 1)
		return 0;
	if (belongs_to(&d->head, t)) {
		/* after growth of the trace, only parts about single blocks are valid */
		if (d->head.block_cnt < t->blocks.cnt)
			derived_file_drop(d, 0, DERIVED_FIRST_OF_INDEX);
		return 0;
	}
	d->why = "was made of other blocks than there are: it is not used";
	d->state = -ESTALE;
	no_parts(d);
	return -ESTALE;
}

/* Opens the file `name`. True: it exists and can be used. */
static bool try_place(struct derived_file *d, struct trace *t, int dir_fd, const char *name,
		      unsigned int flags)
{
	d->fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	d->why = "cannot be opened, or is no file: it is not used";
	d->state = d->fd >= 0 ? 1 : errno == ENOENT ? 0 : -EBADMSG;
	if (d->fd < 0)
		return false;
	d->state = read_head(d, &d->why);
	if (d->state == 0)
		d->state = read_dir(d, &d->why);
	if (d->state < 0) {
		no_parts(d);
		return false;
	}
	d->state = 1;
	return flags & DERIVED_UNBOUND || derived_file_bind(d, t) == 0;
}

static void use_place(struct derived_file *d, int dir_fd, const char *name)
{
	d->dir_fd = dir_fd;
	snprintf(d->name, sizeof(d->name), "%s", name);
}

/*
 * Opens $XDG_CACHE_HOME/ebpfrec; the caller closes the descriptor. make: creates the directory if
 * needed. -1: not possible.
 */
static int open_cache_dir(bool make)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[4096];
	int n;

	if (base && *base == '/')
		n = snprintf(path, sizeof(path), "%s/ebpfrec", base);
	else if (home && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.cache/ebpfrec", home);
	else
		return -1;
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	if (make)
		(void)mkdir(path, 0700);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int find_place(struct derived_file *d, struct trace *t, unsigned int flags)
{
	bool save = flags & DERIVED_SAVE;
	const struct trace_block_more *m = t->more.v;
	char name[64];
	int fd;

	/* a bundle is a single file, without a directory for other files */
	if (t->dir_fd >= 0) {
		fd = dup(t->dir_fd);
		if (fd < 0)
			return -errno;
		if (try_place(d, t, fd, DERIVED_FILE_NAME, flags) || flags & DERIVED_BESIDE ||
		    (save && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0)) {
			use_place(d, fd, DERIVED_FILE_NAME);
			return 0;
		}
		close(fd);
	}
	if (flags & DERIVED_BESIDE || !t->blocks.cnt)
		return 0;
	fd = open_cache_dir(save);
	if (fd < 0)
		return 0;
	snprintf(name, sizeof(name), "%016" PRIx64 "%08" PRIx32 ".idx", trace_start_ns(t),
		 m[0].head.head_crc);
	if (try_place(d, t, fd, name, flags) || save)
		use_place(d, fd, name);
	else
		close(fd);
	return 0;
}

int derived_file_open(struct derived_file **ret, struct trace *t, unsigned int flags)
{
	struct derived_file *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->fd = d->new_fd = d->dir_fd = -1;
	derived_file_drop(d, 0, DERIVED_TYPE_CNT);
	pthread_mutex_init(&d->lock, NULL);
	r = zunpack_new(&d->zunpack);
	if (r == 0 && !(flags & DERIVED_APART))
		r = find_place(d, t, flags);
	if (r == 0 && d->state == -ENOMEM)
		r = -ENOMEM;
	if (r < 0) {
		derived_file_close(d);
		return r;
	}
	*ret = d;
	return 0;
}

void derived_file_close(struct derived_file *d)
{
	if (!d)
		return;
	no_parts(d);
	for (unsigned int type = 0; type < DERIVED_TYPE_CNT; type++)
		free(d->lists[type].v);
	if (d->dir_fd >= 0)
		close(d->dir_fd);
	zunpack_free(d->zunpack);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

int derived_file_state(const struct derived_file *d, const char **ret_why)
{
	if (ret_why)
		*ret_why = d->why;
	return d->state;
}

uint64_t derived_file_thread_hash(const struct derived_file *d)
{
	return d->head.thread_hash;
}

bool derived_file_has_place(const struct derived_file *d)
{
	return d->dir_fd >= 0;
}

uint64_t derived_file_bytes(const struct derived_file *d)
{
	return d->bytes;
}

void derived_file_forget(struct derived_file *d)
{
	if (d->dir_fd >= 0)
		(void)unlinkat(d->dir_fd, d->name, 0);
}

/* ---- reading ---- */

int derived_file_get(const struct derived_file *d, unsigned int type, uint64_t key,
		     struct derived_part *ret)
{
	pthread_mutex_t *lock = &((struct derived_file *)d)->lock;
	const struct part_list *l = &d->lists[type];
	int r = need_table(d, type);
	size_t i;

	if (r < 0)
		return r;
	pthread_mutex_lock(lock);
	i = lower_bound(l->v, l->cnt, key, key);
	r = i < l->cnt && l->v[i].key == key;
	if (r)
		*ret = l->v[i];
	pthread_mutex_unlock(lock);
	return r;
}

int derived_file_parts(const struct derived_file *d, unsigned int type,
		       const struct derived_part **ret, size_t *ret_cnt)
{
	int r = need_table(d, type);

	*ret = d->lists[type].v;
	*ret_cnt = r < 0 ? 0 : d->lists[type].cnt;
	return r;
}

int derived_file_read_stored(const struct derived_file *d, const struct derived_part *p, void *to)
{
	int r = read_at(p->is_new ? d->new_fd : d->fd, p->offset, to, p->stored_bytes);

	return r < 0 ? r : crc32c(0, to, p->stored_bytes) != p->crc ? -EBADMSG : 0;
}

int derived_file_read(const struct derived_file *d, const struct derived_part *p, struct buf *mem,
		      const uint8_t **ret)
{
	pthread_mutex_t *lock = &((struct derived_file *)d)->lock;
	uint8_t *raw, *stored;
	int r;

	buf_reset(mem);
	/* the stored bytes follow the unpacked ones */
	raw = buf_room(mem, (size_t)p->raw_bytes + p->stored_bytes);
	if (!raw)
		return -ENOMEM;
	stored = raw + p->raw_bytes;
	r = derived_file_read_stored(d, p, stored);
	if (r < 0)
		return r;
	*ret = stored;
	if (p->pack == CHUNK_PACK_NONE)
		return p->raw_bytes == p->stored_bytes ? 0 : -EBADMSG;
	*ret = raw;
	pthread_mutex_lock(lock);
	r = zunpack_run(d->zunpack, p->pack, raw, p->raw_bytes, stored, p->stored_bytes);
	pthread_mutex_unlock(lock);
	return r < 0 && r != -ENOMEM ? -EBADMSG : r;
}

int derived_file_verify(const struct derived_file *d)
{
	const struct derived_part *p;
	struct buf mem = { 0 };
	const uint8_t *raw;
	size_t cnt, i;
	int r = 0;

	for (unsigned int type = 0; r == 0 && type < DERIVED_TYPE_CNT; type++) {
		r = derived_file_parts(d, type, &p, &cnt);
		for (i = 0; r == 0 && i < cnt; i++)
			r = derived_file_read(d, &p[i], &mem, &raw);
	}
	buf_done(&mem);
	return r;
}

/* ---- adding ---- */

/* Copies the bytes of all parts to another file. */
static int copy_parts(int to, int from, uint64_t end)
{
	uint8_t *block = malloc(COPY_BYTES);
	uint64_t at = sizeof(struct disk_derived);
	int r = block ? 0 : -ENOMEM;

	while (r == 0 && at < end) {
		size_t n = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;

		r = read_at(from, at, block, n) ?: files_write_all(&files_kernel, to, block, n, at);
		at += n;
	}
	free(block);
	return r;
}

/* Reads all tables and marks all parts as new. */
static int mark_all_new(struct derived_file *d)
{
	int r;

	for (unsigned int type = 0; type < DERIVED_TYPE_CNT; type++) {
		r = need_table(d, type);
		if (r < 0)
			return r;
		for (size_t i = 0; i < d->lists[type].cnt; i++)
			d->lists[type].v[i].is_new = 1;
	}
	return 0;
}

int derived_file_begin(struct derived_file *d, bool save)
{
	int fd = -1, r = 0;

	if (d->new_fd >= 0)
		return 0;
	if (save && d->dir_fd >= 0)
		fd = openat(d->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	d->saves = fd >= 0;
	if (fd < 0)
		fd = memfd_create("ebpfrec-derived", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	d->new_end = sizeof(struct disk_derived);
	if (d->saves && d->fd >= 0) {
		r = mark_all_new(d) ?: copy_parts(fd, d->fd, d->head.dir_offset);
		if (r == 0)
			d->new_end = d->head.dir_offset;
		else if (r != -EBADMSG)
			goto fail;
		/* no part of a damaged or truncated file is used */
		if (r < 0)
			no_parts(d);
		else
			close(d->fd);
		d->fd = -1;
		d->saves = true;
	}
	d->new_fd = fd;
	return 0;
fail:
	close(fd);
	return r;
}

/*
 * Adds a part to its list, or replaces the part with the same key. If p has no bytes, only removes
 * the part with the same key.
 */
static int put_part(struct derived_file *d, const struct derived_part *p)
{
	struct part_list *l = &d->lists[p->type];
	size_t i = lower_bound(l->v, l->cnt, key, p->key);
	bool had = i < l->cnt && l->v[i].key == p->key;
	size_t after = l->cnt - i - had;

	if (!had && p->stored_bytes && array_reserve(&l->v, &l->cap, l->cnt + 1) < 0)
		return -ENOMEM;
	if (after)
		memmove(&l->v[i + !!p->stored_bytes], &l->v[i + had], after * sizeof(*p));
	if (p->stored_bytes)
		l->v[i] = *p;
	l->cnt = i + !!p->stored_bytes + after;
	return 0;
}

/* Appends a part whose bytes are already packed. */
static int store_part(struct derived_file *d, struct derived_part *p, const void *stored)
{
	int r = need_table(d, p->type);

	if (r < 0)
		return r;
	p->crc = crc32c(0, stored, p->stored_bytes);
	p->is_new = 1;
	pthread_mutex_lock(&d->lock);
	p->offset = d->new_end;
	d->new_end += p->stored_bytes;
	pthread_mutex_unlock(&d->lock);
	r = files_write_all(&files_kernel, d->new_fd, stored, p->stored_bytes, p->offset);
	if (r < 0)
		return r;
	pthread_mutex_lock(&d->lock);
	r = put_part(d, p);
	pthread_mutex_unlock(&d->lock);
	return r;
}

int derived_file_add(struct derived_file *d, struct zpack *z, unsigned int type, uint64_t key,
		     uint32_t row_cnt, const struct buf *raw)
{
	struct derived_part p = { .type = (uint16_t)type, .key = key, .row_cnt = row_cnt,
				  .raw_bytes = (uint32_t)raw->len,
				  .stored_bytes = (uint32_t)raw->len };
	size_t room = z ? zpack_bound(raw->len) : 0, stored;
	uint8_t *packed;
	int r;

	if (raw->failed || raw->len > PART_RAW_MAX)
		return raw->failed ? -ENOMEM : -EFBIG;
	if (!z || !raw->len)
		return store_part(d, &p, raw->data);
	packed = malloc(room);
	if (!packed)
		return -ENOMEM;
	r = zpack_run(z, packed, room, raw->data, raw->len, raw->len / PART_RATIO_MAX + 1, &stored);
	if (r >= 0) {
		p.pack = (uint8_t)r;
		p.stored_bytes = (uint32_t)stored;
		r = store_part(d, &p, packed);
	}
	free(packed);
	return r;
}

void derived_file_drop(struct derived_file *d, unsigned int first, unsigned int end)
{
	for (; first < end; first++) {
		d->lists[first].cnt = 0;
		d->lists[first].state = 1;
	}
}

static void make_dir(const struct derived_file *d, struct buf *dir)
{
	struct disk_table tables[DERIVED_TYPE_CNT] = { { 0 } };
	struct derived_part p;

	buf_add(dir, tables, sizeof(tables));
	for (unsigned int type = 0; type < DERIVED_TYPE_CNT; type++) {
		tables[type].part_cnt = (uint32_t)d->lists[type].cnt;
		for (size_t i = 0; i < d->lists[type].cnt; i++) {
			p = d->lists[type].v[i];
			p.is_new = 0;
			tables[type].crc = crc32c(tables[type].crc, &p, sizeof(p));
			buf_add(dir, &p, sizeof(p));
		}
	}
	if (!dir->failed)
		memcpy(dir->data, tables, sizeof(tables));
}

/*
 * Links an unnamed file (O_TMPFILE) as `name` in dir_fd, replacing a file of that name. If the
 * caller is root, the file gets the owner of the directory.
 */
static int name_file(int fd, int dir_fd, const char *name)
{
	char proc[64], temp[80];
	struct stat st;
	int r = 0;

	if (fstat(dir_fd, &st) < 0)
		return -errno;
	if (geteuid() == 0 && fchown(fd, st.st_uid, st.st_gid) < 0)
		return -errno;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	snprintf(temp, sizeof(temp), "%s.new", name);
	(void)unlinkat(dir_fd, temp, 0);
	if (linkat(AT_FDCWD, proc, dir_fd, temp, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	if (renameat(dir_fd, temp, dir_fd, name) < 0) {
		r = -errno;
		(void)unlinkat(dir_fd, temp, 0);
	}
	return r;
}

/* Makes the new file the opened file; further parts require another new file. */
static void take_as_opened(struct derived_file *d, const struct disk_derived *h)
{
	for (unsigned int type = 0; type < DERIVED_TYPE_CNT; type++)
		for (size_t i = 0; i < d->lists[type].cnt; i++)
			d->lists[type].v[i].is_new = 0;
	d->head = *h;
	d->fd = d->new_fd;
	d->new_fd = -1;
	d->saves = false;
}

int derived_file_commit(struct derived_file *d, struct trace *t, size_t block_cnt)
{
	struct disk_derived h = { .version = DERIVED_VERSION, .kind_cnt = EVENT_KIND_CNT,
				  .dir_offset = d->new_end, .block_cnt = (uint32_t)block_cnt,
				  .thread_cnt = (uint32_t)trace_thread_cnt(t) };
	struct buf dir = { 0 };
	int r;

	if (!d->saves)
		return 0;
	make_dir(d, &dir);
	memcpy(h.magic, DERIVED_MAGIC, sizeof(h.magic));
	h.blocks_hash = trace_blocks_hash(t, block_cnt);
	h.thread_hash = trace_thread_hash(t, h.thread_cnt);
	if (!dir.failed)
		h.dir_crc = crc32c(0, dir.data, sizeof(struct disk_table) * DERIVED_TYPE_CNT);
	h.crc = crc32c(0, &h, offsetof(struct disk_derived, crc));
	r = dir.failed ? -ENOMEM :
			 files_write_all(&files_kernel, d->new_fd, dir.data, dir.len, h.dir_offset);
	r = r ?: files_write_all(&files_kernel, d->new_fd, &h, sizeof(h), 0);
	buf_done(&dir);
	r = r ?: name_file(d->new_fd, d->dir_fd, d->name);
	if (r == 0)
		take_as_opened(d, &h);
	return r;
}
