/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_lists: the lists of a finished trace from a file beside it (lists.idx), read as far as they are asked for: blocks,
 * losses, gaps, clocks and marks when the trace is opened, processes, threads and turns by the piece, the rest list by list.
 * So opening a trace of thousands of blocks neither reads the front of each, nor every task there ever was.
 *
 * The file holds for the trace when its chunk files are as long as they were and have not been changed since; of one that
 * may have been, or that was copied, every block's header must still have the CRC it had, which covers all bytes of the
 * block. What is in a block is checked when it is opened. Derived data: it can be deleted at any time.
 *
 * Each piece has a checksum, looked at when it is read. One that does not hold is made again from the blocks, with the
 * whole file; where that cannot be, its rows are empty and trace_lists_trouble() says so for good.
 *
 * Threads: any may ask; one reads at a time, under drop_lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "event/lists_disk.h"
#include "store/chunk_name.h"

/* Processes, threads or turns: rows lie where they will be, filled by the piece. */
struct piece_rows {
	struct trace_list *list;
	size_t row_bytes;
	const struct disk_piece *pieces;
	size_t piece_cnt;
	_Atomic uint8_t *ready;		/* by piece */
};

struct trace_lists {
	struct lists_file f;
	struct piece_rows rows[TRACE_ROWS_CNT];
	_Atomic uint8_t done[TRACE_NEED_CNT];
	_Atomic int trouble;
	bool made_again;
};

/* ---- blocks ---- */

/* The header that is there now is the one the lists were made of. */
static bool block_fits(struct trace *t, const struct trace_block *b,
		       const struct trace_block_more *m)
{
	struct disk_block head;
	struct chunk_io io;

	if (t->reader.fd < 0 || t->reader.fd_number != m->file) {
		if (t->reader.fd >= 0)
			trace_file_close(t, t->reader.fd);
		t->reader.fd = trace_file_open(t, m->file);
		t->reader.fd_number = m->file;
		if (t->reader.fd < 0) {
			t->reader.fd = -1;
			return false;
		}
	}
	io = (struct chunk_io){ t->reader.fd, b->offset };
	t->headers_read++;
	return chunk_io_read(&io, 0, &head, sizeof(head)) == 0 && head.head_crc == m->head_crc &&
	       crc32c(0, &head, offsetof(struct disk_block, head_crc)) == head.head_crc;
}

/* What is being read of a list of blocks. */
struct block_in {
	const uint8_t *p, *end;
	const uint64_t *numbers;	/* of the chunk files, ascending */
	const bool *changed;
	size_t file_cnt, file;		/* the one that the last block was in */
	const char *name;		/* of it */
};

static uint32_t *take_utids(struct block_in *in, uint32_t cnt)
{
	size_t bytes = (size_t)cnt * sizeof(uint32_t);
	uint32_t *v;

	if (bytes > (size_t)(in->end - in->p))
		return NULL;
	v = malloc(bytes + 1);
	if (v) {
		memcpy(v, in->p, bytes);
		in->p += bytes;
	}
	return v;
}

/* Blocks are in order of their files. */
static bool find_file(struct trace *t, struct block_in *in, uint64_t number)
{
	char name[CHUNK_NAME_BYTES];

	if (in->name && in->numbers[in->file] == number)
		return true;
	while (in->file < in->file_cnt && in->numbers[in->file] != number)
		in->file++;
	if (in->file == in->file_cnt)
		return false;
	chunk_name_format(name, number);
	in->name = strpool_put(t->strings, name);
	return in->name;
}

static int take_block(struct trace *t, struct block_in *in)
{
	struct trace_block *b = trace_list_add(&t->blocks, sizeof(*b));
	struct trace_block_more *m = trace_list_add(&t->more, sizeof(*m));
	struct disk_list_block d;
	unsigned int k;

	if (!b || !m)
		return -ENOMEM;
	if ((size_t)(in->end - in->p) < sizeof(d))
		return -EBADMSG;
	memcpy(&d, in->p, sizeof(d));
	in->p += sizeof(d);
	if (d.cpu_cnt > CHUNK_CPUS_MAX || !find_file(t, in, d.file))
		return -EBADMSG;
	b->file = in->name;
	b->offset = d.offset;
	b->bytes = d.bytes;
	b->from_ns = d.from_ns;
	b->to_ns = d.to_ns;
	b->first_ns = d.first_ns;
	b->last_ns = d.last_ns;
	for (k = 0; k < EVENT_KIND_CNT; k++)
		b->kind_cnt[k] = d.kind_cnt[k];
	m->file = d.file;
	m->number = d.number;
	m->front_bytes = d.front_bytes;
	m->head_crc = d.head_crc;
	m->carried = d.flags & LISTS_BLOCK_CARRIED;
	m->remade = d.flags & LISTS_BLOCK_REMADE;
	m->cut = d.flags & LISTS_BLOCK_CUT;
	m->cpu_cnt = d.cpu_cnt;
	m->running = take_utids(in, d.cpu_cnt);
	if (d.flags & LISTS_BLOCK_ENDS)
		m->ends = take_utids(in, d.cpu_cnt);
	if (!m->running || (d.flags & LISTS_BLOCK_ENDS && !m->ends))
		return -EBADMSG;
	if (m->cpu_cnt > t->cpu_cnt)
		t->cpu_cnt = m->cpu_cnt;
	if (b->to_ns < b->from_ns || (t->blocks.cnt > 1 && b->from_ns < b[-1].to_ns) ||
	    (in->changed[in->file] && !block_fits(t, b, m)))
		return -EBADMSG;
	return 0;
}

static int take_blocks(struct trace *t, const struct lists_file *f, const uint64_t *numbers, size_t cnt)
{
	struct block_in in = { .numbers = numbers, .file_cnt = cnt };
	bool *changed = calloc(cnt + 1, sizeof(*changed));
	uint8_t *raw = NULL;
	uint32_t i, rows;
	int r;

	in.changed = changed;
	r = changed ? lists_files_fit(t, f, numbers, cnt, changed) : -ENOMEM;
	for (i = 1; r == 0 && i < f->head.piece_cnt && f->dir[i].type == LISTS_BLOCKS; i++) {
		r = lists_read_piece(f, &f->dir[i], &raw);
		if (r)
			break;
		in.p = raw;
		in.end = raw + f->dir[i].raw_bytes;
		for (rows = f->dir[i].row_cnt; r == 0 && rows; rows--)
			r = take_block(t, &in);
		if (r == 0 && in.p != in.end)
			r = -EBADMSG;
		free(raw);
		raw = NULL;
	}
	free(changed);
	return r;
}

/* ---- lists ---- */

/* The blocks' pieces again, for when one of the file's has gone bad. */
static int make_again(struct trace *t, struct trace_lists *l)
{
	struct disk_piece *dir = NULL;
	struct trace *whole;
	struct disk_lists h;
	uint32_t i;
	int fd, r;

	if (l->made_again)
		return -EBADMSG;
	l->made_again = true;
	r = trace_open(&whole, t->path, NULL);
	if (r < 0)
		return r;
	fd = lists_make_file(whole, true);
	trace_close(whole);
	r = fd < 0 ? -EBADMSG : lists_read_head(fd, &h, &dir);
	if (r == 0 && h.piece_cnt != l->f.head.piece_cnt)
		r = -EBADMSG;
	/* the same lists: what was read before still holds */
	for (i = 0; r == 0 && i < h.piece_cnt; i++)
		if (dir[i].type != l->f.dir[i].type || dir[i].name_type != l->f.dir[i].name_type ||
		    dir[i].row_cnt != l->f.dir[i].row_cnt || dir[i].first != l->f.dir[i].first ||
		    dir[i].raw_bytes != l->f.dir[i].raw_bytes ||
		    (dir[i].type == LISTS_BLOCKS && dir[i].crc != l->f.dir[i].crc))
			r = -EBADMSG;
	if (r == 0) {
		close(l->f.fd);
		l->f.fd = fd;
		/* in place: piece_rows point into it */
		memcpy(l->f.dir, dir, h.piece_cnt * sizeof(*dir));
	} else if (fd >= 0) {
		close(fd);
	}
	free(dir);
	return r;
}

static int read_rows(const struct trace *t, const struct trace_lists *l, const struct disk_piece *p,
		     uint8_t **ret, struct row_reader *rows)
{
	int r = lists_read_piece(&l->f, p, ret);

	if (r == 0)
		*rows = (struct row_reader){ .p = *ret, .end = *ret + p->raw_bytes,
					     .base_ns = trace_start_ns(t) };
	return r;
}

/* A list that somebody looks at must not grow for the sake of another one. */
static bool names_fit(struct row_reader rows, unsigned int names)
{
	struct row_name row;
	int r;

	while ((r = row_get_name(&rows, &row)) > 0)
		if (row.type != names)
			return false;
	return r == 0;
}

/* All rows of a list. */
static int load_whole(struct trace *t, struct trace_lists *l, unsigned int type, unsigned int names)
{
	struct row_reader rows;
	uint8_t *raw = NULL;
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && i < l->f.head.piece_cnt; i++) {
		if (l->f.dir[i].type != type || l->f.dir[i].name_type != names)
			continue;
		r = read_rows(t, l, &l->f.dir[i], &raw, &rows);
		if (r == 0 && type == CHUNK_NAMES && !names_fit(rows, names))
			r = -EBADMSG;
		if (r == 0)
			r = trace_load_rows(t, (enum chunk_section_type)type, &rows);
		free(raw);
		raw = NULL;
	}
	if (r == 0)
		r = type == CHUNK_NAMES ? trace_settle_names(t, names) :
			trace_settle_list(t, (enum chunk_section_type)type);
	return r;
}

static const struct {
	uint16_t type;
	uint8_t names;
} needs[TRACE_NEED_CNT] = {
	[TRACE_NEED_TASK_EVENTS] = { CHUNK_TASK_EVENTS },
	[TRACE_NEED_BASELINES] = { CHUNK_RSS_STATE },
	[TRACE_NEED_RSS_SNAPS] = { CHUNK_RSS_SNAPS },
	[TRACE_NEED_COSTS] = { CHUNK_COST },
	[TRACE_NEED_HOOK_STATS] = { CHUNK_HOOK_STATS },
	[TRACE_NEED_SITES] = { CHUNK_SITES },
	[TRACE_NEED_FRAMES] = { CHUNK_FRAMES },
	[TRACE_NEED_NAMES + TRACE_NAME_CACHE] = { CHUNK_NAMES, TRACE_NAME_CACHE },
	[TRACE_NEED_NAMES + TRACE_NAME_DEVICE] = { CHUNK_NAMES, TRACE_NAME_DEVICE },
	[TRACE_NEED_NAMES + TRACE_NAME_CGROUP] = { CHUNK_NAMES, TRACE_NAME_CGROUP },
	[TRACE_NEED_NAMES + TRACE_NAME_SYMBOL] = { CHUNK_NAMES, TRACE_NAME_SYMBOL },
	[TRACE_NEED_NAMES + TRACE_NAME_FILE] = { CHUNK_NAMES, TRACE_NAME_FILE },
	[TRACE_NEED_NAMES + TRACE_NAME_IRQ] = { CHUNK_NAMES, TRACE_NAME_IRQ },
};

static void note_trouble(struct trace *t, struct trace_lists *l, int r)
{
	atomic_store(&l->trouble, r);
	if (r != -ENOMEM)
		(void)unlinkat(t->dir_fd, CHUNK_LISTS_NAME, 0);
}

static void forget_list(struct trace *t, unsigned int type, unsigned int names)
{
	if (type == CHUNK_NAMES) {
		t->names[names].cnt = 0;
		idmap_done(&t->by_name[names]);
	}
#define X(section, row, of, list)    \
	if (type == (section))       \
		t->list.cnt = 0;
	LISTS_OF_ROWS(X)
#undef X
	if (type == CHUNK_SITES)
		idmap_done(&t->by_site);
	if (type == CHUNK_FRAMES)
		idmap_done(&t->by_stack);
	if (type == CHUNK_RSS_STATE)
		idmap_done(&t->by_baseline);
}

void trace_lists_need(struct trace *t, unsigned int what)
{
	struct trace_lists *l = t->lists;
	int r;

	if (atomic_load_explicit(&l->done[what], memory_order_acquire))
		return;
	pthread_mutex_lock(&t->drop_lock);
	if (!atomic_load(&l->done[what]) && needs[what].type) {
		r = load_whole(t, l, needs[what].type, needs[what].names);
		if (r < 0)
			forget_list(t, needs[what].type, needs[what].names);
		if (r == -EBADMSG && make_again(t, l) == 0) {
			r = load_whole(t, l, needs[what].type, needs[what].names);
			if (r < 0)
				forget_list(t, needs[what].type, needs[what].names);
		}
		if (r < 0)
			note_trouble(t, l, r);
	}
	atomic_store_explicit(&l->done[what], 1, memory_order_release);
	pthread_mutex_unlock(&t->drop_lock);
}

/* ---- rows by the piece ---- */

/* What stands where a row could not be read: nobody's. */
static void fill_nothing(enum trace_rows of, void *rows, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		switch (of) {
		case TRACE_ROWS_PROCESSES:
			((struct trace_process *)rows)[i] =
				(struct trace_process){ .comm = "", .exe = "", .cmdline = "" };
			break;
		case TRACE_ROWS_THREADS:
			((struct trace_thread *)rows)[i] = (struct trace_thread){ .comm = "" };
			break;
		default:
			((struct trace_turn *)rows)[i] = (struct trace_turn){ .upid = EVENT_ID_UNKNOWN };
			break;
		}
}

static bool keep(struct trace *t, const char **s)
{
	*s = strpool_put(t->strings, *s);
	return *s;
}

static int take_processes(struct trace *t, struct row_reader *in, struct trace_process *v, size_t cnt)
{
	struct trace_process row;
	uint32_t last = 0;
	int r = 0;

	for (; cnt && (r = row_get_process(in, &row)) > 0; cnt--, v++) {
		if (row.upid <= last)
			return -EBADMSG;
		last = row.upid;
		if (!keep(t, &row.comm) || !keep(t, &row.exe) || !keep(t, &row.cmdline))
			return -ENOMEM;
		*v = row;
	}
	return r < 0 ? r : cnt || in->p != in->end ? -EBADMSG : 0;
}

static int take_threads(struct trace *t, struct row_reader *in, struct trace_thread *v, size_t cnt)
{
	struct trace_thread row;
	uint32_t last = 0;
	int r = 0;

	for (; cnt && (r = row_get_thread(in, &row)) > 0; cnt--, v++) {
		if (row.utid <= last)
			return -EBADMSG;
		last = row.utid;
		if (!keep(t, &row.comm))
			return -ENOMEM;
		*v = row;
	}
	return r < 0 ? r : cnt || in->p != in->end ? -EBADMSG : 0;
}

static int take_turns(struct row_reader *in, struct trace_turn *v, size_t cnt)
{
	uint64_t last = 0;
	struct disk_turn d;

	if ((size_t)(in->end - in->p) != cnt * sizeof(d))
		return -EBADMSG;
	for (; cnt; cnt--, in->p += sizeof(d)) {
		memcpy(&d, in->p, sizeof(d));
		if (d.ts_ns < last || (d.kind != TRACE_TURN_EXEC && d.kind != TRACE_TURN_EXIT))
			return -EBADMSG;
		last = d.ts_ns;
		*v++ = (struct trace_turn){ d.ts_ns, d.upid, d.kind };
	}
	return 0;
}

/* What rows are in the order of. */
static uint64_t key_of(const struct piece_rows *rows, enum trace_rows of, size_t i)
{
	switch (of) {
	case TRACE_ROWS_PROCESSES:
		return ((const struct trace_process *)rows->list->v)[i].upid;
	case TRACE_ROWS_THREADS:
		return ((const struct trace_thread *)rows->list->v)[i].utid;
	default:
		return ((const struct trace_turn *)rows->list->v)[i].ts_ns;
	}
}

static int take_piece(struct trace *t, struct trace_lists *l, enum trace_rows of, size_t piece)
{
	const struct piece_rows *rows = &l->rows[of];
	const struct disk_piece *p = &rows->pieces[piece];
	size_t at = piece * LISTS_PIECE_ROWS;
	struct row_reader in;
	uint8_t *raw = NULL;
	int r = read_rows(t, l, p, &raw, &in);

	if (r == 0 && of == TRACE_ROWS_PROCESSES)
		r = take_processes(t, &in, (struct trace_process *)rows->list->v + at, p->row_cnt);
	else if (r == 0 && of == TRACE_ROWS_THREADS)
		r = take_threads(t, &in, (struct trace_thread *)rows->list->v + at, p->row_cnt);
	else if (r == 0)
		r = take_turns(&in, (struct trace_turn *)rows->list->v + at, p->row_cnt);
	if (r == 0 && key_of(rows, of, at) != p->first)
		r = -EBADMSG;
	free(raw);
	return r;
}

static void load_piece(struct trace *t, enum trace_rows of, size_t piece)
{
	struct trace_lists *l = t->lists;
	struct piece_rows *rows = &l->rows[of];
	int r;

	pthread_mutex_lock(&t->drop_lock);
	if (!atomic_load(&rows->ready[piece])) {
		r = take_piece(t, l, of, piece);
		if (r == -EBADMSG && make_again(t, l) == 0)
			r = take_piece(t, l, of, piece);
		if (r < 0) {
			fill_nothing(of, (char *)rows->list->v + piece * LISTS_PIECE_ROWS * rows->row_bytes,
				     rows->pieces[piece].row_cnt);
			note_trouble(t, l, r);
		}
		atomic_store_explicit(&rows->ready[piece], 1, memory_order_release);
	}
	pthread_mutex_unlock(&t->drop_lock);
}

static void need_piece(struct trace *t, enum trace_rows of, size_t piece)
{
	if (!atomic_load_explicit(&t->lists->rows[of].ready[piece], memory_order_acquire))
		load_piece(t, of, piece);
}

void trace_lists_need_row(struct trace *t, enum trace_rows of, size_t row)
{
	need_piece(t, of, row / LISTS_PIECE_ROWS);
}

void trace_lists_need_rows(struct trace *t, enum trace_rows of)
{
	size_t i;

	for (i = 0; i < t->lists->rows[of].piece_cnt; i++)
		need_piece(t, of, i);
}

size_t trace_lists_lower_bound(struct trace *t, enum trace_rows of, uint64_t key)
{
	const struct piece_rows *rows = &t->lists->rows[of];
	size_t lo = 0, hi = rows->piece_cnt;

	/* all of a piece that begins lower may be lower, of one that does not nothing is */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (rows->pieces[mid].first < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	need_piece(t, of, lo - 1);
	hi = (lo - 1) * LISTS_PIECE_ROWS + rows->pieces[lo - 1].row_cnt;
	lo = (lo - 1) * LISTS_PIECE_ROWS;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (key_of(rows, of, mid) < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t trace_lists_find(struct trace *t, enum trace_rows of, uint32_t id)
{
	size_t i = trace_lists_lower_bound(t, of, id);

	if (i == t->lists->rows[of].list->cnt)
		return SIZE_MAX;
	trace_lists_need_row(t, of, i);
	return key_of(&t->lists->rows[of], of, i) == id ? i : SIZE_MAX;
}

uint64_t trace_lists_thread_hash(const struct trace *t)
{
	return t->lists->f.head.thread_hash;
}

static int begin_rows(struct trace_lists *l, enum trace_rows of, struct trace_list *list)
{
	static const struct {
		unsigned int type;
		size_t row_bytes;
	} kinds[TRACE_ROWS_CNT] = {
		[TRACE_ROWS_PROCESSES] = { CHUNK_PROCESSES, sizeof(struct trace_process) },
		[TRACE_ROWS_THREADS] = { CHUNK_THREADS, sizeof(struct trace_thread) },
		[TRACE_ROWS_TURNS] = { LISTS_TURNS, sizeof(struct trace_turn) },
	};
	struct piece_rows *rows = &l->rows[of];
	size_t cnt = 0;
	uint32_t i;

	rows->list = list;
	rows->row_bytes = kinds[of].row_bytes;
	for (i = 0; i < l->f.head.piece_cnt; i++) {
		if (l->f.dir[i].type != kinds[of].type)
			continue;
		if (!rows->piece_cnt++)
			rows->pieces = &l->f.dir[i];
		else if (l->f.dir[i - 1].type != kinds[of].type)
			return -EBADMSG;
		cnt += l->f.dir[i].row_cnt;
	}
	rows->ready = calloc(rows->piece_cnt + 1, 1);
	free(list->v);
	/* pages that nobody asks for stay as they are */
	list->v = calloc(cnt + 1, rows->row_bytes);
	list->cnt = list->cap = list->v ? cnt : 0;
	return list->v && rows->ready ? 0 : -ENOMEM;
}

/* ---- opening and closing ---- */

static void lists_free(struct trace_lists *l)
{
	unsigned int i;

	if (!l)
		return;
	lists_file_close(&l->f);
	for (i = 0; i < TRACE_ROWS_CNT; i++)
		free((void *)l->rows[i].ready);
	free(l);
}

static int take_all(struct trace *t, struct trace_lists *l, const uint64_t *numbers, size_t cnt)
{
	static const enum chunk_section_type now[] = { CHUNK_LOSS, CHUNK_GAPS, CHUNK_CLOCKS,
						       CHUNK_MARKS };
	int r = take_blocks(t, &l->f, numbers, cnt);
	size_t i;

	if (r < 0)
		return r;
	l->made_again = true;	/* as long as it is opened: the blocks are there to be read */
	trace_settle_blocks(t);
	for (i = 0; r == 0 && i < sizeof(now) / sizeof(*now); i++)
		r = load_whole(t, l, now[i], 0);
	l->made_again = false;
	if (r == 0)
		r = begin_rows(l, TRACE_ROWS_PROCESSES, &t->processes);
	if (r == 0)
		r = begin_rows(l, TRACE_ROWS_THREADS, &t->threads);
	if (r == 0)
		r = begin_rows(l, TRACE_ROWS_TURNS, &t->turns);
	return r;
}

int trace_lists_load(struct trace *t, const uint64_t *numbers, size_t cnt)
{
	struct trace_lists *l;

	if (t->is_live || t->dir_fd < 0 || !trace_is_finished(t))
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return 0;
	if (lists_file_open(&l->f, t) < 0) {
		lists_free(l);
		return 0;
	}
	if (take_all(t, l, numbers, cnt) == 0) {
		t->lists = l;
		return 1;
	}
	trace_blocks_done(t);
	t->cpu_cnt = 0;
#define X(section, row, of, list) forget_list(t, section, 0);
	LISTS_OF_ROWS(X)
#undef X
	t->turns.cnt = 0;
	lists_free(l);
	return 0;
}

void trace_lists_close(struct trace *t)
{
	lists_free(t->lists);
	t->lists = NULL;
}

bool trace_has_lists(const struct trace *t)
{
	return t->lists;
}

int trace_lists_trouble(const struct trace *t)
{
	return t->lists ? atomic_load_explicit(&t->lists->trouble, memory_order_relaxed) : 0;
}
