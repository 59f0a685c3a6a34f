/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The file: header, blobs, directory. It is made without a name, in the directory where it will
 * be, and gets its name when it is whole. What is read is believed after its checksum held, and
 * only for blocks that are the ones it was made of: their headers' CRCs cover all their bytes.
 * Entries of the directory are read as cells are asked for: a window needs few.
 */
#include "analyze/index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/context.h"
#include "analyze/index_state.h"
#include "base/crc32c.h"
#include "chunk/chunk.h"
#include "chunk/zpack.h"
#include "store/chunk_name.h"
#include "store/files.h"

#define INDEX_MAGIC "EBRINDX\n"
#define INDEX_VERSION 4
#define BLOB_RAW_MAX (1u << 30)
#define BLOB_RATIO_MAX 256	/* more is stored as it is: a file makes a reader take so many times its size */

struct disk_index {
	uint8_t magic[8];
	uint16_t version;
	uint16_t part_cnt, tail_cnt;
	uint16_t zero0;
	uint64_t dir_offset;
	uint64_t cells_hash;	/* of which blocks the cells were made */
	uint32_t cell_cnt;
	uint32_t thread_cnt;	/* of the trace then */
	uint64_t thread_hash;	/* of which process they belong to */
	uint32_t tails_crc;	/* of their entries */
	uint32_t zero1;
	uint32_t zero2;
	uint32_t crc;		/* of the 60 bytes before */
};

struct disk_index_blob {
	uint64_t offset;
	uint32_t stored_bytes, raw_bytes, crc;
	uint32_t pack;
};

struct disk_index_cell {
	struct disk_index_blob parts[INDEX_PART_CNT];
	uint32_t cell;		/* its number */
	uint32_t crc;		/* of what is before */
};

_Static_assert(sizeof(struct disk_index) == 64, "layout of disk_index");
_Static_assert(sizeof(struct disk_index_blob) == 24, "layout of disk_index_blob");
_Static_assert(sizeof(struct disk_index_cell) == 24 * INDEX_PART_CNT + 8, "layout of a cell");

static int read_at(int fd, void *dst, size_t bytes, uint64_t offset)
{
	uint8_t *p = dst;

	while (bytes) {
		ssize_t n = pread(fd, p, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		p += n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* ---- cells ---- */

size_t index_cell_cnt(const struct index *x)
{
	return x->cell_cnt;
}

uint64_t index_cell_from(const struct index *x, size_t cell)
{
	return x->from_ns[cell];
}

uint64_t index_cell_to(const struct index *x, size_t cell)
{
	return cell + 1 < x->cell_cnt ? x->from_ns[cell + 1] : x->a->end_ns;
}

size_t index_cell_at(const struct index *x, uint64_t ts_ns)
{
	size_t lo = 0, hi = x->cell_cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->from_ns[mid] <= ts_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* cells may have no length: the last that begins there holds the instant */
	return lo ? lo - 1 : 0;
}

/* ---- blobs ---- */

static bool take_blob(const struct disk_index_blob *d, uint64_t end, struct index_blob *ret)
{
	if (d->stored_bytes &&
	    (d->offset < sizeof(struct disk_index) || d->offset > end ||
	     d->stored_bytes > end - d->offset || d->raw_bytes > BLOB_RAW_MAX || d->pack > 1 ||
	     (uint64_t)d->raw_bytes > (uint64_t)d->stored_bytes * BLOB_RATIO_MAX))
		return false;
	*ret = (struct index_blob){ .offset = d->offset, .stored_bytes = d->stored_bytes,
				    .raw_bytes = d->raw_bytes, .crc = d->crc,
				    .pack = (uint8_t)d->pack };
	return true;
}

/* An entry of the directory, when its cell is first asked for. */
static int read_cell(struct index *x, size_t cell)
{
	struct disk_index_cell d;
	unsigned int p;
	int r = read_at(x->fd, &d, sizeof(d), x->dir_offset + cell * sizeof(d));

	if (r < 0)
		return r;
	if (d.cell != cell || crc32c(0, &d, offsetof(struct disk_index_cell, crc)) != d.crc)
		return -EBADMSG;
	for (p = 0; p < INDEX_PART_CNT; p++)
		if (!take_blob(&d.parts[p], x->dir_offset, &x->cells[cell].parts[p]))
			return -EBADMSG;
	return 0;
}

static int know_cell(const struct index *index, size_t cell)
{
	struct index *x = (struct index *)index;
	int r = 0;

	if (atomic_load_explicit(&x->known[cell], memory_order_acquire))
		return 0;
	pthread_mutex_lock(&x->lock);
	if (!atomic_load(&x->known[cell]))
		r = read_cell(x, cell);
	if (r == 0)
		atomic_store_explicit(&x->known[cell], 1, memory_order_release);
	pthread_mutex_unlock(&x->lock);
	return r;
}

static int read_blob(const struct index *x, const struct index_blob *b, struct buf *mem,
		     struct index_in *ret)
{
	uint8_t *room;
	int r;

	*ret = (struct index_in){ 0 };
	if (!b->stored_bytes)
		return 0;
	buf_reset(mem);
	/* the stored bytes behind the unpacked ones */
	room = buf_room(mem, (size_t)b->raw_bytes + b->stored_bytes);
	if (!room)
		return -ENOMEM;
	r = read_at(b->fresh ? x->fresh_fd : x->fd, room + b->raw_bytes, b->stored_bytes,
		    b->offset);
	if (r < 0)
		return r;
	if (crc32c(0, room + b->raw_bytes, b->stored_bytes) != b->crc)
		return -EBADMSG;
	/* jobs begin with the tails, side by side */
	pthread_mutex_lock(&((struct index *)x)->lock);
	r = zunpack_run(x->zunpack, b->pack, room, b->raw_bytes, room + b->raw_bytes,
			b->stored_bytes);
	pthread_mutex_unlock(&((struct index *)x)->lock);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	ret->p = room;
	ret->end = room + b->raw_bytes;
	return 0;
}

int index_read(const struct index *x, size_t cell, unsigned int part, struct buf *mem,
	       struct index_in *ret)
{
	int r = know_cell(x, cell);

	*ret = (struct index_in){ 0 };
	return r < 0 ? r : read_blob(x, &x->cells[cell].parts[part], mem, ret);
}

int index_has(const struct index *x, size_t cell, unsigned int part)
{
	int r = know_cell(x, cell);

	return r < 0 ? r : x->cells[cell].parts[part].stored_bytes != 0;
}

int index_read_tail(const struct index *x, unsigned int tail, struct buf *mem,
		    struct index_in *ret)
{
	return read_blob(x, &x->tails[tail], mem, ret);
}

static int add_blob(struct index *x, struct zpack *z, struct index_blob *ret, const struct buf *b)
{
	struct index_blob blob = { .raw_bytes = (uint32_t)b->len, .fresh = 1 };
	size_t room = zpack_bound(b->len), stored;
	uint8_t *packed;
	int pack, r;

	*ret = (struct index_blob){ 0 };
	if (b->failed)
		return -ENOMEM;
	if (b->len > BLOB_RAW_MAX)
		return -EFBIG;
	if (!b->len)
		return 0;
	packed = malloc(room);
	if (!packed)
		return -ENOMEM;
	pack = zpack_run(z, packed, room, b->data, b->len, b->len / BLOB_RATIO_MAX + 1, &stored);
	if (pack < 0) {
		free(packed);
		return pack;
	}
	blob.pack = (uint8_t)pack;
	blob.stored_bytes = (uint32_t)stored;
	blob.crc = crc32c(0, packed, stored);
	pthread_mutex_lock(&x->lock);
	blob.offset = x->fresh_end;
	x->fresh_end += stored;
	pthread_mutex_unlock(&x->lock);
	r = files_write_all(&files_kernel, x->fresh_fd, packed, stored, blob.offset);
	free(packed);
	if (r == 0)
		*ret = blob;
	return r;
}

int index_add(struct index *x, struct zpack *z, size_t cell, unsigned int part,
	      const struct buf *b)
{
	return add_blob(x, z, &x->cells[cell].parts[part], b);
}

int index_add_tail(struct index *x, struct zpack *z, unsigned int tail, const struct buf *b)
{
	return add_blob(x, z, &x->tails[tail], b);
}

/* ---- the whole ---- */

void index_free(struct index *x)
{
	if (!x)
		return;
	index_free(x->before);
	if (x->fd >= 0)
		close(x->fd);
	if (x->fresh_fd >= 0)
		close(x->fresh_fd);
	if (x->dir_fd >= 0)
		close(x->dir_fd);
	zunpack_free(x->zunpack);
	pthread_mutex_destroy(&x->lock);
	free(x->name);
	free(x->from_ns);
	free((void *)x->known);
	free(x->cells);
	free(x);
}

int index_new(struct index **ret, struct analysis *a)
{
	struct index *x = calloc(1, sizeof(*x));
	const struct trace_block *blocks;
	size_t i;

	if (!x)
		return -ENOMEM;
	x->a = a;
	x->fd = x->fresh_fd = x->dir_fd = -1;
	pthread_mutex_init(&x->lock, NULL);
	blocks = trace_blocks(a->trace, &x->cell_cnt);
	trace_damages(a->trace, &x->damage_cnt);
	x->cells = calloc(x->cell_cnt + 1, sizeof(*x->cells));
	x->from_ns = calloc(x->cell_cnt + 1, sizeof(*x->from_ns));
	x->known = malloc(x->cell_cnt + 1);
	if (!x->cells || !x->from_ns || !x->known || zunpack_new(&x->zunpack) < 0) {
		index_free(x);
		return -ENOMEM;
	}
	memset((void *)x->known, 1, x->cell_cnt);
	for (i = 0; i < x->cell_cnt; i++)
		x->from_ns[i] = blocks[i].from_ns;
	*ret = x;
	return 0;
}

bool index_is_true(const struct index *x)
{
	size_t cnt;

	trace_damages(x->a->trace, &cnt);
	return !x->damaged && cnt == x->damage_cnt;
}

int index_fail(const struct index *x, int ret, struct err *e)
{
	if (ret != -EBADMSG)
		return err_set(e, ret, "analysis index: %s", err_text(NULL, ret));
	((struct index *)x)->damaged = true;
	if (x->dir_fd >= 0)
		(void)unlinkat(x->dir_fd, x->name, 0);
	return err_set(e, ret, "the analysis index is damaged, and was removed: ask again, and it is "
			       "made anew");
}

void index_follow(struct index *next, struct index *before)
{
	next->before = before;
}

/* Over what the first cells were made of. */
static uint64_t cells_hash(const struct index *x, size_t cell_cnt)
{
	size_t cnt, i, k;
	const struct trace_block *b = trace_blocks(x->a->trace, &cnt);
	uint64_t h = 0, file;
	uint32_t crc;

	for (i = 0; i < cell_cnt; i++) {
		trace_block_identity(x->a->trace, i, &file, &crc);
		const uint64_t v[] = { file, b[i].offset, b[i].bytes, x->from_ns[i], index_cell_to(x, i),
				       (uint64_t)crc << 1 | trace_block_is_damaged(x->a->trace, i) };

		for (k = 0; k < sizeof(v) / sizeof(*v); k++)
			h = (h ^ v[k]) * 0x9e3779b97f4a7c15ull + (h >> 29);
	}
	return h;
}

void index_forget_saved(struct index *x)
{
	x->saved_cnt = 0;
	memset(x->cells, 0, x->cell_cnt * sizeof(*x->cells));
	memset((void *)x->known, 1, x->cell_cnt);
	memset(x->tails, 0, sizeof(x->tails));
}

#define TAILS_BYTES (INDEX_TAIL_CNT * sizeof(struct disk_index_blob))

static uint64_t tails_offset(const struct disk_index *h)
{
	return h->dir_offset + h->cell_cnt * sizeof(struct disk_index_cell);
}

/* What there is of the file is one of ours, and the directory is where it says. */
static int read_head(const struct index *x, int fd, struct disk_index *ret, const char **ret_why)
{
	struct disk_index h;
	struct stat st;

	*ret_why = "is no index, or its checksum does not hold: it is not used";
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || read_at(fd, &h, sizeof(h), 0) < 0 ||
	    memcmp(h.magic, INDEX_MAGIC, sizeof(h.magic)) ||
	    crc32c(0, &h, offsetof(struct disk_index, crc)) != h.crc)
		return -EBADMSG;
	*ret_why = "is of another version of this program: it is not used";
	if (h.version != INDEX_VERSION || h.part_cnt != INDEX_PART_CNT ||
	    h.tail_cnt != INDEX_TAIL_CNT)
		return -ESTALE;
	*ret_why = "was cut off, or is damaged: it is not used";
	if (h.dir_offset > (uint64_t)st.st_size ||
	    tails_offset(&h) - h.dir_offset + TAILS_BYTES > (uint64_t)st.st_size - h.dir_offset)
		return -EBADMSG;
	*ret_why = "was made of other blocks than there are: it is not used";
	if (h.cell_cnt > x->cell_cnt || cells_hash(x, h.cell_cnt) != h.cells_hash ||
	    trace_thread_hash(x->a->trace, h.thread_cnt) != h.thread_hash)
		return -ESTALE;
	*ret = h;
	return 0;
}

static int read_index(struct index *x, int fd, const char **ret_why)
{
	struct disk_index_blob tails[INDEX_TAIL_CNT];
	struct disk_index h;
	unsigned int p;
	int r = read_head(x, fd, &h, ret_why);

	if (r < 0)
		return r;
	*ret_why = "its directory is damaged: it is not used";
	if (read_at(fd, tails, sizeof(tails), tails_offset(&h)) < 0 ||
	    crc32c(0, tails, sizeof(tails)) != h.tails_crc)
		r = -EBADMSG;
	for (p = 0; r == 0 && p < INDEX_TAIL_CNT; p++)
		if (!take_blob(&tails[p], h.dir_offset, &x->tails[p]))
			r = -EBADMSG;
	if (r < 0) {
		memset(x->tails, 0, sizeof(x->tails));
		return r;
	}
	x->saved_cnt = h.cell_cnt;
	x->dir_offset = h.dir_offset;
	memset((void *)x->known, 0, h.cell_cnt);
	return 0;
}

static bool try_place(struct index *x, int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const char *why;

	if (fd < 0)
		return false;
	if (read_index(x, fd, &why) < 0) {
		close(fd);
		return false;
	}
	x->fd = fd;
	return true;
}

int index_look(struct index *x, const char **ret_why)
{
	int dir_fd = trace_dir_fd(x->a->trace), r;

	if (dir_fd < 0)
		return 0;
	x->fd = openat(dir_fd, CHUNK_INDEX_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	*ret_why = "cannot be opened, or is no file: it is not used";
	if (x->fd < 0)
		return errno == ENOENT ? 0 : -EBADMSG;
	r = read_index(x, x->fd, ret_why);
	return r < 0 ? r : 1;
}

/* $XDG_CACHE_HOME/ebpfrec; -1: there is none. */
static int cache_dir(bool make)
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

static int use_place(struct index *x, int dir_fd, const char *name)
{
	x->dir_fd = dir_fd;
	x->name = strdup(name);
	return x->name ? 0 : -ENOMEM;
}

int index_load(struct index *x, bool save)
{
	char name[64];
	uint64_t file;
	uint32_t crc;
	int fd;

	if (!x->cell_cnt)
		return 0;
	/* a bundle is one file, nothing goes beside it */
	fd = trace_dir_fd(x->a->trace) < 0 ? -1 : dup(trace_dir_fd(x->a->trace));
	if (fd < 0 && trace_dir_fd(x->a->trace) >= 0)
		return -errno;
	if (fd >= 0 && (try_place(x, fd, CHUNK_INDEX_NAME) ||
			(save && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0)))
		return use_place(x, fd, CHUNK_INDEX_NAME);
	if (fd >= 0)
		close(fd);
	fd = cache_dir(save);
	if (fd < 0)
		return 0;
	trace_block_identity(x->a->trace, 0, &file, &crc);
	snprintf(name, sizeof(name), "%016" PRIx64 "%08" PRIx32 ".idx", x->a->start_ns, crc);
	if (try_place(x, fd, name) || save)
		return use_place(x, fd, name);
	close(fd);
	return 0;
}

/* Takes over the saved blobs' bytes, so that the new file has all. */
static int copy_saved(struct index *x)
{
	uint64_t at = sizeof(struct disk_index), end = 0;
	struct disk_index h;
	uint8_t *block;
	unsigned int p;
	size_t i;
	int r = read_at(x->fd, &h, sizeof(h), 0);

	if (r < 0)
		return r;
	end = h.dir_offset;
	block = malloc(1 << 20);
	if (!block)
		return -ENOMEM;
	while (r == 0 && at < end) {
		size_t n = end - at < 1 << 20 ? (size_t)(end - at) : 1 << 20;

		r = read_at(x->fd, block, n, at);
		if (r == 0)
			r = files_write_all(&files_kernel, x->fresh_fd, block, n, at);
		at += n;
	}
	free(block);
	if (r < 0)
		return r;
	x->fresh_end = end;
	for (i = 0; i < x->saved_cnt && r == 0; i++) {
		r = know_cell(x, i);
		for (p = 0; p < INDEX_PART_CNT; p++)
			x->cells[i].parts[p].fresh = 1;
	}
	return r;
}

int index_begin(struct index *x, bool save)
{
	int r = 0;

	x->fresh_end = sizeof(struct disk_index);
	if (save && x->dir_fd >= 0)
		x->fresh_fd = openat(x->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (x->fresh_fd >= 0 && x->fd >= 0)
		r = copy_saved(x);
	if (r == -EBADMSG) {
		index_forget_saved(x);
		x->fresh_end = sizeof(struct disk_index);
		r = 0;
	}
	if (x->fresh_fd < 0)
		x->fresh_fd = memfd_create("ebpfrec-index", MFD_CLOEXEC);
	return r < 0 ? r : x->fresh_fd < 0 ? -errno : 0;
}

/* Under root the file belongs to whom the directory belongs to. */
static int name_file(const struct index *x)
{
	char proc[64], temp[96];
	struct stat st;
	int r = 0;

	if (fstat(x->dir_fd, &st) < 0)
		return -errno;
	if (geteuid() == 0 && fchown(x->fresh_fd, st.st_uid, st.st_gid) < 0)
		return -errno;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", x->fresh_fd);
	snprintf(temp, sizeof(temp), "%s.new", x->name);
	(void)unlinkat(x->dir_fd, temp, 0);
	if (linkat(AT_FDCWD, proc, x->dir_fd, temp, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	if (renameat(x->dir_fd, temp, x->dir_fd, x->name) < 0) {
		r = -errno;
		(void)unlinkat(x->dir_fd, temp, 0);
	}
	return r;
}

static void describe_blob(struct disk_index_blob *d, const struct index_blob *b)
{
	*d = (struct disk_index_blob){ b->offset, b->stored_bytes, b->raw_bytes, b->crc, b->pack };
}

static int describe_cell(const struct index *x, size_t cell, struct disk_index_cell *d)
{
	int r = know_cell(x, cell);
	unsigned int p;

	for (p = 0; p < INDEX_PART_CNT; p++)
		describe_blob(&d->parts[p], &x->cells[cell].parts[p]);
	d->cell = (uint32_t)cell;
	d->crc = crc32c(0, d, offsetof(struct disk_index_cell, crc));
	return r;
}

int index_save(struct index *x, size_t cnt)
{
	struct disk_index h = { .version = INDEX_VERSION, .part_cnt = INDEX_PART_CNT,
				.tail_cnt = INDEX_TAIL_CNT, .dir_offset = (x->fresh_end + 7) & ~7ull,
				.cell_cnt = (uint32_t)cnt };
	size_t bytes = cnt * sizeof(struct disk_index_cell) + TAILS_BYTES, i;
	struct disk_index_cell *cells = malloc(bytes);
	struct disk_index_blob *tails;
	unsigned int p;
	int r = 0;

	if (!cells)
		return -ENOMEM;
	tails = (struct disk_index_blob *)(cells + cnt);
	for (i = 0; i < cnt && r == 0; i++)
		r = describe_cell(x, i, &cells[i]);
	for (p = 0; p < INDEX_TAIL_CNT; p++)
		describe_blob(&tails[p], &x->tails[p]);
	memcpy(h.magic, INDEX_MAGIC, sizeof(h.magic));
	h.cells_hash = cells_hash(x, cnt);
	h.thread_cnt = (uint32_t)trace_thread_cnt(x->a->trace);
	h.thread_hash = trace_thread_hash(x->a->trace, h.thread_cnt);
	h.tails_crc = crc32c(0, tails, TAILS_BYTES);
	h.crc = crc32c(0, &h, offsetof(struct disk_index, crc));
	if (r == 0)
		r = files_write_all(&files_kernel, x->fresh_fd, cells, bytes, h.dir_offset);
	free(cells);
	if (r == 0)
		r = files_write_all(&files_kernel, x->fresh_fd, &h, sizeof(h), 0);
	return r < 0 ? r : name_file(x);
}
