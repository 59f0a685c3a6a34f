/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * map_book: a list of turns per process, sorted by time: a mapping, or an exec. The newest turn that covers the address
 * decides; at the list's beginning the parent is asked, as of the fork. So a fork costs nothing, and a parent stays
 * as long as a child has not called exec.
 */
#include "symbol/map_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/idmap.h"

#define THIN_OUT_TURNS 256

struct turn {
	uint64_t ts_ns;
	uint64_t start, end, offset;
	void *module;
	bool is_exec;
};

struct proc {
	uint32_t pid;
	uint32_t users;			/* children that look things up here */
	uint64_t since_ns, end_ns;	/* end 0: not exited */
	uint64_t known_ns;		/* earlier instants are taken for this one: /proc/PID/maps was read then */
	uint64_t needed_ns;		/* the earliest instant at which a child was forked; see map_book_forget() */
	struct proc *parent;
	struct proc *older;		/* who had the pid before */
	struct turn *turns;
	size_t cnt, room, thin_at;
};

struct map_book {
	struct idmap by_pid;		/* the newest of each pid */
	size_t cnt;
};

int map_book_new(struct map_book **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void release(struct proc *p)
{
	if (p->parent)
		p->parent->users--;
	p->parent = NULL;
}

static void free_proc(struct map_book *b, struct proc *p)
{
	release(p);
	free(p->turns);
	free(p);
	b->cnt--;
}

void map_book_free(struct map_book *b)
{
	size_t i;

	if (!b)
		return;
	for (i = 0; b->by_pid.slots && i < (size_t)1 << b->by_pid.bits; i++) {
		struct proc *p = b->by_pid.slots[i].value, *older;

		for (; p; p = older) {
			older = p->older;
			p->parent = NULL;	/* all go */
			free_proc(b, p);
		}
	}
	idmap_done(&b->by_pid);
	free(b);
}

static struct proc *proc_at(const struct map_book *b, uint32_t pid, uint64_t ts_ns)
{
	struct proc *p = idmap_get(&b->by_pid, pid);

	while (p && p->since_ns > ts_ns)
		p = p->older;
	return p;
}

static struct proc *add_proc(struct map_book *b, uint32_t pid, uint64_t since_ns)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->since_ns = since_ns;
	p->older = idmap_get(&b->by_pid, pid);
	if (idmap_put(&b->by_pid, pid, p)) {
		free(p);
		return NULL;
	}
	b->cnt++;
	return p;
}

int map_book_add(struct map_book *b, uint32_t pid, uint64_t now_ns)
{
	struct proc *p = idmap_get(&b->by_pid, pid);

	if (p && !p->end_ns)
		return map_book_renew(b, pid, now_ns);
	p = add_proc(b, pid, p ? p->end_ns : 0);
	if (!p)
		return -ENOMEM;
	p->known_ns = now_ns;
	return 0;
}

/* Sorted; of equal times the later one to come is the later one. */
static int add_turn(struct proc *p, const struct turn *t)
{
	size_t at;

	if (p->cnt == p->room) {
		size_t room = p->room ? p->room * 2 : 16;
		struct turn *v = realloc(p->turns, room * sizeof(*v));

		if (!v)
			return -ENOMEM;
		p->turns = v;
		p->room = room;
	}
	for (at = p->cnt; at && p->turns[at - 1].ts_ns > t->ts_ns; at--)
		p->turns[at] = p->turns[at - 1];
	p->turns[at] = *t;
	p->cnt++;
	return 0;
}

int map_book_renew(struct map_book *b, uint32_t pid, uint64_t now_ns)
{
	struct proc *p = proc_at(b, pid, now_ns);
	struct turn t = { .ts_ns = now_ns, .is_exec = true };

	return p ? add_turn(p, &t) : 0;
}

static int note_fork(struct map_book *b, const struct map_record *r)
{
	struct proc *parent = proc_at(b, r->parent_pid, r->ts_ns), *p;

	if (!parent || r->pid == r->parent_pid)
		return 0;
	p = idmap_get(&b->by_pid, r->pid);
	if (p && p->since_ns >= r->ts_ns)
		return 0;
	if (p && !p->end_ns)
		p->end_ns = r->ts_ns;
	p = add_proc(b, r->pid, r->ts_ns);
	if (!p)
		return -ENOMEM;
	p->parent = parent;
	parent->users++;
	return 0;
}

int map_book_note(struct map_book *b, const struct map_record *r)
{
	struct turn t = { .ts_ns = r->ts_ns, .start = r->start, .end = r->end,
			  .offset = r->offset, .module = r->module,
			  .is_exec = r->what == MAP_EXEC };
	struct proc *p;

	if (r->what == MAP_FORK)
		return note_fork(b, r);
	p = proc_at(b, r->pid, r->ts_ns);
	if (!p)
		return 0;
	if (r->what == MAP_EXIT)
		p->end_ns = r->ts_ns;
	return r->what == MAP_EXIT ? 0 : add_turn(p, &t);
}

bool map_book_follows(const struct map_book *b, uint32_t pid)
{
	return idmap_get(&b->by_pid, pid) != NULL;
}

static bool decides(const struct turn *t, uint64_t addr)
{
	return t->is_exec || (addr >= t->start && addr < t->end);
}

int map_book_find(const struct map_book *b, uint32_t pid, uint64_t addr, uint64_t ts_ns,
		  struct map_hit *ret)
{
	const struct proc *p = proc_at(b, pid, ts_ns);
	uint64_t until_ns = UINT64_MAX;

	if (!p)
		return -ESRCH;
	if (p->end_ns && p->end_ns > ts_ns)
		until_ns = p->end_ns;
	for (; p; ts_ns = p->since_ns, p = p->parent) {
		size_t i = p->cnt;

		if (ts_ns < p->known_ns)
			ts_ns = p->known_ns;
		for (; i && p->turns[i - 1].ts_ns > ts_ns; i--)
			if (decides(&p->turns[i - 1], addr) && p->turns[i - 1].ts_ns < until_ns &&
			    p->pid == pid)
				until_ns = p->turns[i - 1].ts_ns;
		for (; i; i--) {
			const struct turn *t = &p->turns[i - 1];

			if (!decides(t, addr))
				continue;
			if (t->is_exec)
				return -ENOENT;
			*ret = (struct map_hit){ .start = t->start, .end = t->end,
						 .offset = t->offset, .module = t->module,
						 .from_ns = t->ts_ns <= p->known_ns ? 0 : t->ts_ns,
						 .until_ns = until_ns };
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- forgetting ---- */

/* What an exec, or a later mapping at the same place, has replaced before that instant. */
static void thin_out(struct proc *p, uint64_t before_ns)
{
	size_t first = 0, i, k, kept = 0;

	if (p->needed_ns < before_ns)
		before_ns = p->needed_ns;
	for (i = 0; i < p->cnt && p->turns[i].ts_ns <= before_ns; i++)
		if (p->turns[i].is_exec)
			first = i;
	if (first || (p->cnt && p->turns[0].is_exec && p->turns[0].ts_ns <= before_ns)) {
		memmove(p->turns, p->turns + first, (p->cnt - first) * sizeof(*p->turns));
		p->cnt -= first;
		release(p);
	}
	if (p->cnt < THIN_OUT_TURNS || p->cnt < p->thin_at)
		return;
	for (i = 0; i < p->cnt; i++) {
		const struct turn *t = &p->turns[i];

		for (k = i + 1; k < p->cnt && p->turns[k].ts_ns <= before_ns; k++)
			if (!t->is_exec && p->turns[k].start <= t->start && p->turns[k].end >= t->end)
				break;
		if (k == p->cnt || p->turns[k].ts_ns > before_ns)
			p->turns[kept++] = *t;
	}
	p->cnt = kept;
	p->thin_at = kept * 2;
}

static bool is_over(const struct proc *p, uint64_t before_ns)
{
	return p->end_ns && p->end_ns < before_ns && !p->users;
}

/* Drops what is over from a chain; NULL: nothing is left. */
static struct proc *prune(struct map_book *b, struct proc *p, uint64_t before_ns)
{
	struct proc *kept = NULL, **end = &kept, *older;

	for (; p; p = older) {
		older = p->older;
		if (is_over(p, before_ns)) {
			free_proc(b, p);
			continue;
		}
		thin_out(p, before_ns);
		*end = p;
		end = &p->older;
	}
	*end = NULL;
	return kept;
}

static void find_needed(struct map_book *b)
{
	struct proc *p;
	size_t i;

	for (i = 0; b->by_pid.slots && i < (size_t)1 << b->by_pid.bits; i++)
		for (p = b->by_pid.slots[i].value; p; p = p->older)
			p->needed_ns = UINT64_MAX;
	for (i = 0; b->by_pid.slots && i < (size_t)1 << b->by_pid.bits; i++)
		for (p = b->by_pid.slots[i].value; p; p = p->older)
			if (p->parent && p->since_ns < p->parent->needed_ns)
				p->parent->needed_ns = p->since_ns;
}

int map_book_forget(struct map_book *b, uint64_t before_ns)
{
	struct buf pids = { 0 };
	size_t i;
	int r = 0;

	find_needed(b);
	/* changing the map moves its entries */
	for (i = 0; b->by_pid.slots && i < (size_t)1 << b->by_pid.bits; i++)
		if (b->by_pid.slots[i].value)
			buf_add(&pids, &b->by_pid.slots[i].key, sizeof(uint64_t));
	for (i = 0; i < pids.len / sizeof(uint64_t) && !pids.failed && !r; i++) {
		uint64_t pid = ((const uint64_t *)pids.data)[i];
		struct proc *p = prune(b, idmap_remove(&b->by_pid, pid), before_ns);

		if (p)
			r = idmap_put(&b->by_pid, pid, p);
	}
	if (pids.failed)
		r = -ENOMEM;
	buf_done(&pids);
	return r;
}

int map_book_each(struct map_book *b, int (*f)(void *ctx, uint32_t pid), void *ctx)
{
	size_t i;
	int r = 0;

	for (i = 0; b->by_pid.slots && i < (size_t)1 << b->by_pid.bits && !r; i++) {
		const struct proc *p = b->by_pid.slots[i].value;

		if (p && !p->end_ns)
			r = f(ctx, p->pid);
	}
	return r;
}

size_t map_book_cnt(const struct map_book *b)
{
	return b->cnt;
}
