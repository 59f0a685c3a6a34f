/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * map_cache: keeps a list of changes per process, sorted by time: mappings and execs. The newest
 * change that covers an address decides. Before the first change, the parent's mappings at the fork
 * apply. So a fork costs nothing, and a parent's list is kept until the child calls exec.
 */
#include "symbol/map_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"

#define THIN_OUT_CHANGES 256

struct change {
	uint64_t ts_ns;
	uint64_t start, end, offset;
	void *module;
	bool is_exec;
};

struct proc {
	uint32_t pid;
	uint32_t users;			/* children whose lookups use this list */
	uint64_t since_ns, end_ns;	/* end_ns 0: the process has not exited */
	/* when /proc/PID/maps was read; lookups of earlier times use this time */
	uint64_t known_ns;
	uint64_t needed_ns;		/* the earliest fork of a child; see map_cache_forget() */
	struct proc *parent;
	struct proc *older;		/* the process that had the pid before */
	struct change *changes;
	size_t cnt, cap, thin_at;
};

struct map_cache {
	struct hash_map by_pid;		/* the newest process of each pid */
};

int map_cache_new(struct map_cache **ret)
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

static void free_proc(struct proc *p)
{
	release(p);
	free(p->changes);
	free(p);
}

void map_cache_free(struct map_cache *c)
{
	struct hash_slot *s;
	size_t pos = 0;

	if (!c)
		return;
	while ((s = hash_map_next(&c->by_pid, &pos))) {
		struct proc *p, *older;

		for (p = s->value; p; p = older) {
			older = p->older;
			p->parent = NULL;	/* all processes are freed */
			free_proc(p);
		}
	}
	hash_map_done(&c->by_pid);
	free(c);
}

static struct proc *proc_at(const struct map_cache *c, uint32_t pid, uint64_t ts_ns)
{
	struct proc *p = hash_map_get(&c->by_pid, pid);

	while (p && p->since_ns > ts_ns)
		p = p->older;
	return p;
}

static struct proc *add_proc(struct map_cache *c, uint32_t pid, uint64_t since_ns)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->since_ns = since_ns;
	p->older = hash_map_get(&c->by_pid, pid);
	if (hash_map_put(&c->by_pid, pid, p)) {
		free(p);
		return NULL;
	}
	return p;
}

int map_cache_add(struct map_cache *c, uint32_t pid, uint64_t now_ns)
{
	struct proc *p = hash_map_get(&c->by_pid, pid);

	if (p && !p->end_ns)
		return map_cache_renew(c, pid, now_ns);
	p = add_proc(c, pid, p ? p->end_ns : 0);
	if (!p)
		return -ENOMEM;
	p->known_ns = now_ns;
	return 0;
}

/* Inserts a change by time; at equal times the change that arrived last comes last. */
static int add_change(struct proc *p, const struct change *t)
{
	size_t at;

	if (array_reserve(&p->changes, &p->cap, p->cnt + 1) < 0)
		return -ENOMEM;
	for (at = p->cnt; at && p->changes[at - 1].ts_ns > t->ts_ns; at--)
		p->changes[at] = p->changes[at - 1];
	p->changes[at] = *t;
	p->cnt++;
	return 0;
}

int map_cache_renew(struct map_cache *c, uint32_t pid, uint64_t now_ns)
{
	struct proc *p = proc_at(c, pid, now_ns);
	struct change t = { .ts_ns = now_ns, .is_exec = true };

	return p ? add_change(p, &t) : 0;
}

static int note_fork(struct map_cache *c, const struct map_record *r)
{
	struct proc *parent = proc_at(c, r->parent_pid, r->ts_ns), *p;

	if (!parent || r->pid == r->parent_pid)
		return 0;
	p = hash_map_get(&c->by_pid, r->pid);
	if (p && p->since_ns >= r->ts_ns)
		return 0;
	if (p && !p->end_ns)
		p->end_ns = r->ts_ns;
	p = add_proc(c, r->pid, r->ts_ns);
	if (!p)
		return -ENOMEM;
	p->parent = parent;
	parent->users++;
	return 0;
}

int map_cache_note(struct map_cache *c, const struct map_record *r)
{
	struct change t = { .ts_ns = r->ts_ns, .start = r->start, .end = r->end,
			  .offset = r->offset, .module = r->module,
			  .is_exec = r->what == MAP_EXEC };
	struct proc *p;

	if (r->what == MAP_FORK)
		return note_fork(c, r);
	p = proc_at(c, r->pid, r->ts_ns);
	if (!p)
		return 0;
	if (r->what == MAP_EXIT)
		p->end_ns = r->ts_ns;
	return r->what == MAP_EXIT ? 0 : add_change(p, &t);
}

bool map_cache_follows(const struct map_cache *c, uint32_t pid)
{
	return hash_map_get(&c->by_pid, pid) != NULL;
}

static bool decides(const struct change *t, uint64_t addr)
{
	return t->is_exec || (addr >= t->start && addr < t->end);
}

int map_cache_find(const struct map_cache *c, uint32_t pid, uint64_t addr, uint64_t ts_ns,
		  struct map_hit *ret)
{
	const struct proc *p = proc_at(c, pid, ts_ns);
	uint64_t until_ns = UINT64_MAX;

	if (!p)
		return -ESRCH;
	if (p->end_ns && p->end_ns > ts_ns)
		until_ns = p->end_ns;
	for (; p; ts_ns = p->since_ns, p = p->parent) {
		size_t i = p->cnt;

		if (ts_ns < p->known_ns)
			ts_ns = p->known_ns;
		for (; i && p->changes[i - 1].ts_ns > ts_ns; i--)
			if (decides(&p->changes[i - 1], addr) &&
			    p->changes[i - 1].ts_ns < until_ns && p->pid == pid)
				until_ns = p->changes[i - 1].ts_ns;
		for (; i; i--) {
			const struct change *t = &p->changes[i - 1];

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

/* Drops changes that an exec, or a later mapping of the same range, replaced before before_ns. */
static void thin_out(struct proc *p, uint64_t before_ns)
{
	size_t first = 0, i, k, kept = 0;

	if (p->needed_ns < before_ns)
		before_ns = p->needed_ns;
	for (i = 0; i < p->cnt && p->changes[i].ts_ns <= before_ns; i++)
		if (p->changes[i].is_exec)
			first = i;
	if (first || (p->cnt && p->changes[0].is_exec && p->changes[0].ts_ns <= before_ns)) {
		memmove(p->changes, p->changes + first, (p->cnt - first) * sizeof(*p->changes));
		p->cnt -= first;
		release(p);
	}
	if (p->cnt < THIN_OUT_CHANGES || p->cnt < p->thin_at)
		return;
	for (i = 0; i < p->cnt; i++) {
		const struct change *t = &p->changes[i];

		for (k = i + 1; k < p->cnt && p->changes[k].ts_ns <= before_ns; k++)
			if (!t->is_exec && p->changes[k].start <= t->start &&
			    p->changes[k].end >= t->end)
				break;
		if (k == p->cnt || p->changes[k].ts_ns > before_ns)
			p->changes[kept++] = *t;
	}
	p->cnt = kept;
	p->thin_at = kept * 2;
}

static bool is_over(const struct proc *p, uint64_t before_ns)
{
	return p->end_ns && p->end_ns < before_ns && !p->users;
}

/* Drops finished processes from the chain of a pid. True: the chain is empty. */
static bool prune(void *ctx, void **chain)
{
	uint64_t before_ns = *(uint64_t *)ctx;
	struct proc *p, *kept = NULL, **end = &kept, *older;

	for (p = *chain; p; p = older) {
		older = p->older;
		if (is_over(p, before_ns)) {
			free_proc(p);
			continue;
		}
		thin_out(p, before_ns);
		*end = p;
		end = &p->older;
	}
	*end = NULL;
	if (kept)
		*chain = kept;
	return !kept;
}

static void find_needed(struct map_cache *c)
{
	struct hash_slot *s;
	struct proc *p;
	size_t pos;

	for (pos = 0; (s = hash_map_next(&c->by_pid, &pos));)
		for (p = s->value; p; p = p->older)
			p->needed_ns = UINT64_MAX;
	for (pos = 0; (s = hash_map_next(&c->by_pid, &pos));)
		for (p = s->value; p; p = p->older)
			if (p->parent && p->since_ns < p->parent->needed_ns)
				p->parent->needed_ns = p->since_ns;
}

void map_cache_forget(struct map_cache *c, uint64_t before_ns)
{
	find_needed(c);
	hash_map_drop_if(&c->by_pid, prune, &before_ns);
}

int map_cache_each(struct map_cache *c, int (*f)(void *ctx, uint32_t pid), void *ctx)
{
	const struct hash_slot *s;
	size_t pos = 0;
	int r = 0;

	while (!r && (s = hash_map_next(&c->by_pid, &pos))) {
		const struct proc *p = s->value;

		if (!p->end_ns)
			r = f(ctx, p->pid);
	}
	return r;
}
