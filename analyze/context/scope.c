/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * scope: scope and grouping are tables with an entry per thread and process, which is filled on
 * first use, so that each event needs only a lookup.
 */
#include "analyze/context/scope.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/context.h"
#include "base/array.h"

static bool name_matches(const char *pattern, const char *name)
{
	/* try "[kworker]" as a name before trying it as a pattern */
	return !pattern || !strcmp(pattern, name) || fnmatch(pattern, name, 0) == 0;
}

static bool is_listed(const uint32_t *ids, unsigned int cnt, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < cnt && ids[i] != id; i++)
		;
	return !ids || i < cnt;
}

/* Returns whether any name of the member matches. member: a thread, or thread_cnt + a process. */
static bool ever_matches(const struct dense_ids *d, const char *pattern, uint32_t member,
			 const char *last)
{
	const struct task_names *n = d->names;

	if (name_matches(pattern, last))
		return true;
	for (size_t i = 0; n->is_ready && i < n->cnt[member]; i++)
		if (name_matches(pattern, n->names[n->first[member] + i].name))
			return true;
	return false;
}

static bool process_in(const struct scope *s, uint32_t process, const struct trace_process *p)
{
	const struct scope_filter *f = &s->filter;

	if ((p->flags & TRACE_TASK_RECORDER) && !f->with_recorder)
		return false;
	if ((f->workload_only || f->workload) &&
	    !(p->flags & (TRACE_TASK_WORKLOAD | TRACE_TASK_RECORDER)))
		return false;
	return is_listed(f->pids, f->pid_cnt, p->pid) &&
	       ever_matches(s->ids, f->comm, s->ids->thread_cnt + process, p->comm);
}

static bool pseudo_in(const struct scope_filter *f, uint32_t id)
{
	const char *name = dense_pseudo_name(id) ? dense_pseudo_name(id) : "";

	if (f->with_pseudo)
		return true;
	if (f->pids || f->tids || f->workload)
		return false;
	if (f->comm || f->thread)
		return (!f->comm || !strcmp(f->comm, name)) &&
		       (!f->thread || !strcmp(f->thread, name));
	if (id == EVENT_ID_IDLE || id == EVENT_ID_FILTERED)
		return f->with_idle;
	return id == EVENT_ID_UNKNOWN || id == EVENT_ID_IRQ;
}

int scope_init(struct scope *s, const struct dense_ids *d, const struct scope_filter *f)
{
	s->threads = calloc(d->thread_cnt, 1);
	s->processes = calloc(d->process_cnt, 1);
	s->names = NULL;
	s->ids = d;
	s->filter = *f;
	if (!s->threads || !s->processes ||
	    ((f->comm || f->thread) && task_names_prepare(d) < 0)) {
		scope_done(s);
		return -ENOMEM;
	}
	if (f->comm || f->thread)
		s->names = calloc(d->names->name_cnt + 1, 1);
	if ((f->comm || f->thread) && !s->names) {
		scope_done(s);
		return -ENOMEM;
	}
	return 0;
}

/* Returns whether a process matches all filters except those for threads. */
static bool is_process_in(const struct scope *s, uint32_t process)
{
	const struct trace_process *p = dense_process_row(s->ids, process);

	return p ? process_in(s, process, p) : pseudo_in(&s->filter, process);
}

bool scope_decide_process(const struct scope *s, uint32_t process)
{
	bool in = is_process_in(s, process) &&
		  (process < EVENT_ID_FIRST || !scope_is_of_threads(s));

	s->processes[process] = in ? SCOPE_IN : SCOPE_OUT;
	return in;
}

bool scope_decide_thread(const struct scope *s, uint32_t thread)
{
	const struct scope_filter *f = &s->filter;
	const struct trace_thread *t = dense_thread_row(s->ids, thread);
	bool in = is_process_in(s, dense_process_of(s->ids, thread)) &&
		  (!t || (is_listed(f->tids, f->tid_cnt, t->tid) &&
			  ever_matches(s->ids, f->thread, thread, t->comm)));

	s->threads[thread] = in ? SCOPE_IN : SCOPE_OUT;
	return in;
}

static bool matches_at(const struct scope *s, const char *pattern, uint32_t member, uint64_t ts_ns,
		       uint64_t *end_ns)
{
	const struct task_name *x = pattern ? task_name_at(s->ids, member, ts_ns) : NULL;
	uint8_t *decided;

	if (!x)	/* a member with only one name has matched already */
		return true;
	if (end_ns && x->to_ns < *end_ns)
		*end_ns = x->to_ns;
	decided = &s->names[x - s->ids->names->names];
	if (*decided == SCOPE_UNDECIDED)
		*decided = name_matches(pattern, x->name) ? SCOPE_IN : SCOPE_OUT;
	return *decided == SCOPE_IN;
}

bool scope_decide_at(const struct scope *s, uint32_t thread, uint32_t process, uint64_t ts_ns,
		     uint64_t *end_ns)
{
	return matches_at(s, s->filter.comm, s->ids->thread_cnt + process, ts_ns, end_ns) &&
	       (thread == UINT32_MAX || matches_at(s, s->filter.thread, thread, ts_ns, end_ns));
}

void scope_done(struct scope *s)
{
	free(s->threads);
	free(s->processes);
	free(s->names);
	*s = (struct scope){ 0 };
}

/* ---- groups ---- */

static bool is_by_text(const struct grouping *g)
{
	return g->by & KEYS_NAME || (g->by && !(g->by & (KEY(THREAD) | KEY(PROCESS))));
}

static uint32_t member_process(const struct grouping *g, uint32_t member)
{
	const struct dense_ids *d = g->ids;

	return member < d->thread_cnt ? dense_process_of(d, member) : member - d->thread_cnt;
}

/* Returns a member's text for a key; for a name, the name at the time. NULL: out of memory. */
static const char *key_text(struct grouping *g, unsigned int key, const struct group_first *m)
{
	if (key == REPORT_BY_THREAD_NAME)
		return m->thread_name ? task_keys_name(&g->keys, m->thread_name) :
					task_keys_thread_name(&g->keys, m->member);
	return key == REPORT_BY_COMM && m->comm ?
		       task_keys_name(&g->keys, m->comm) :
		       task_keys_text(&g->keys, key, member_process(g, m->member));
}

/* Returns a value that identifies the member's key. 0: out of memory. */
static uint64_t key_value(struct grouping *g, unsigned int key, const struct group_first *m)
{
	return key == REPORT_BY_PROCESS ? member_process(g, m->member) + 1ull :
	       key == REPORT_BY_THREAD	? m->member + 1ull :
					  (uintptr_t)key_text(g, key, m);
}

/*
 * Finds or adds a group. Numbers the keys one after the other: each pair (value of a key, number of
 * the previous keys) has a number. The number of the last pair is the group.
 */
static int intern_keys(struct grouping *g, const struct group_first *m, uint32_t *ret)
{
	uint32_t number = 0;
	uint64_t value;
	int r = 0;

	for (unsigned int key = 0, nth = 0; key < REPORT_BY_CNT && r >= 0; key++) {
		if (!(g->by & 1u << key))
			continue;
		value = key_value(g, key, m);
		if (!value)
			return -ENOMEM;
		r = hash_map_intern(&g->map, value, (uint64_t)number << 8 | nth++, &number);
		if (r > 0 && array_reserve(&g->firsts, &g->first_cap, number + 1ull) < 0)
			return -ENOMEM;
		if (r > 0)
			g->firsts[number] = *m;
	}
	*ret = number;
	return r < 0 ? r : 0;
}

/* Returns the name of a member at ts_ns; NULL: same as its last name. */
static const char *earlier_name(const struct grouping *g, uint32_t member, uint64_t ts_ns,
				uint64_t *end_ns)
{
	const struct task_name *x = task_name_at(g->ids, member, ts_ns);

	if (x && end_ns && x->to_ns < *end_ns)
		*end_ns = x->to_ns;
	return x && !x->is_last ? x->name : NULL;
}

static uint32_t text_group(struct grouping *g, uint32_t member, uint64_t ts_ns, uint64_t *end_ns)
{
	uint32_t *at = &g->groups[member - g->first], group;
	struct group_first m = { member, NULL, NULL };

	if (g->by & KEY(COMM))
		m.comm = earlier_name(g, g->ids->thread_cnt + member_process(g, member), ts_ns,
				      end_ns);
	if (g->by & KEY(THREAD_NAME) && member < g->ids->thread_cnt)
		m.thread_name = earlier_name(g, member, ts_ns, end_ns);
	if (*at && !m.comm && !m.thread_name)
		return *at - 1;
	if (intern_keys(g, &m, &group) < 0)
		return GROUPING_FAILED;
	if (!m.comm && !m.thread_name)
		*at = group + 1;
	return group;
}

int grouping_init(struct grouping *g, const struct dense_ids *d, unsigned int by)
{
	*g = (struct grouping){ .by = by & KEYS_WHO, .others = by & ~KEYS_WHO, .ids = d };
	task_keys_init(&g->keys, d);
	if (!is_by_text(g))
		return 0;
	if (g->by & KEYS_NAME && task_names_prepare(d) < 0)
		return -ENOMEM;
	g->first = by & KEYS_THREAD ? 0 : d->thread_cnt;
	g->groups = calloc((size_t)d->thread_cnt + d->process_cnt - g->first, sizeof(*g->groups));
	return g->groups ? 0 : -ENOMEM;
}

int grouping_number_all(struct grouping *g)
{
	for (uint32_t i = g->first; g->groups && i < g->ids->thread_cnt + g->ids->process_cnt; i++)
		if (text_group(g, i, UINT64_MAX, NULL) == GROUPING_FAILED)
			return -ENOMEM;
	return 0;
}

void grouping_done(struct grouping *g)
{
	free(g->groups);
	free(g->firsts);
	hash_map_done(&g->map);
	task_keys_done(&g->keys);
	memset(g, 0, sizeof(*g));
}

static uint32_t merged_group(const struct grouping *g, uint32_t group)
{
	return g->merge ? g->merge->into(g->merge->ctx, group) : group;
}

uint32_t grouping_of_thread(struct grouping *g, uint32_t thread, uint64_t ts_ns, uint64_t *end_ns)
{
	if (g->groups && thread >= g->first)
		return text_group(g, thread, ts_ns, end_ns);
	if (g->by & KEY(THREAD))
		return merged_group(g, thread);
	return grouping_of_process(g, dense_process_of(g->ids, thread), ts_ns, end_ns);
}

uint32_t grouping_of_process(struct grouping *g, uint32_t process, uint64_t ts_ns,
			     uint64_t *end_ns)
{
	if (g->groups)
		return text_group(g, g->ids->thread_cnt + process, ts_ns, end_ns);
	return g->by & KEY(THREAD)  ? g->ids->thread_cnt + process :
	       g->by & KEY(PROCESS) ? merged_group(g, process) :
				      0;
}

/* Returns the name of a group that consists of a single task. */
static const char *task_label(const struct grouping *g, const struct group_first *m, bool is_thread)
{
	uint32_t member = is_thread ? m->member : g->ids->thread_cnt + member_process(g, m->member);
	const char *name = is_thread ? m->thread_name : m->comm;

	if (name)
		return name;
	if (g->label_ns && !(g->by & (is_thread ? KEY(THREAD_NAME) : KEY(COMM))))
		return task_name_text(g->ids, member, g->label_ns);
	return is_thread ? dense_thread_comm(g->ids, member) :
			   dense_process_comm(g->ids, member - g->ids->thread_cnt);
}

void grouping_label(struct grouping *g, uint32_t group, struct grouping_label *ret)
{
	const struct dense_ids *d = g->ids;
	const struct group_first task = { g->by & KEY(THREAD) ? group : d->thread_cnt + group,
					  NULL, NULL };
	const struct group_first *m = g->groups ? &g->firsts[group] : &task;

	*ret = (struct grouping_label){ -1, -1, -1, "", NULL, NULL };
	if (!g->by)
		return;
	ret->member_upid = dense_upid(d, member_process(g, m->member));
	if (g->by & KEYS_THREAD && m->member < d->thread_cnt)
		ret->utid = dense_utid(d, m->member);
	if (g->by & KEY(COMM))
		ret->comm = key_text(g, REPORT_BY_COMM, m);
	if (g->by & KEY(THREAD_NAME) && m->member < d->thread_cnt)
		ret->thread_name = key_text(g, REPORT_BY_THREAD_NAME, m);
	if (!(g->by & (KEY(THREAD) | KEY(PROCESS)))) {
		ret->name = key_text(g, (unsigned int)__builtin_ctz(g->by), m);
		return;
	}
	ret->upid = ret->member_upid;
	ret->name = task_label(g, m, g->by & KEY(THREAD) && ret->utid >= 0);
}

/* ---- questions ---- */

const struct question question_of_all = { .needs = LOSS_NEEDS_ALL };

int question_begin(struct question *q, struct analysis *a, const struct scope_filter *scope)
{
	const struct scope_filter machine = { .workload_only = context_workload_only(a) };

	q->outer = a->question;
	a->question = q;
	return scope_init(&q->scope, &a->ids, scope ? scope : &machine);
}

void question_end(struct question *q, struct analysis *a)
{
	a->question = q->outer;
	scope_done(&q->scope);
}

/* window: arithmetic of windows and bins. */

void context_clip(const struct analysis *a, uint64_t *from_ns, uint64_t *to_ns)
{
	if (*from_ns < a->start_ns)
		*from_ns = a->start_ns;
	if (*to_ns > a->end_ns)
		*to_ns = a->end_ns;
	if (*from_ns > *to_ns)
		*from_ns = *to_ns = a->start_ns;
}

uint64_t context_events(const struct analysis *a, uint32_t kinds, uint64_t from_ns, uint64_t to_ns)
{
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);
	uint64_t events = 0;

	for (i = 0; i < cnt; i++)
		if (b[i].first_ns < to_ns && b[i].to_ns > from_ns)
			events += trace_block_events(&b[i], kinds);
	return events;
}

uint64_t window_bin_of_edges(const struct window *w, uint64_t ts_ns)
{
	size_t i = lower_bound_plain(w->edges, w->edge_cnt, ts_ns);

	i -= i == w->edge_cnt || w->edges[i] != ts_ns;
	return i == SIZE_MAX ? 0 : i + 1 < w->edge_cnt ? i : w->edge_cnt - 2;
}

/* Returns the beginning of a bin, even of a bin after the window. */
static uint64_t bin_begin(const struct window *w, uint64_t bin)
{
	return w->edges ? w->edges[bin] : w->base_ns + bin * w->every_ns;
}

void window_bin_span(const struct window *w, uint64_t bin, uint64_t *ret_from_ns,
		     uint64_t *ret_to_ns)
{
	uint64_t from = w->from_ns, to = w->to_ns;

	if (w->every_ns && bin > w->first_bin)
		from = bin_begin(w, bin);
	if (w->every_ns && bin + 1 < w->end_bin)
		to = bin_begin(w, bin + 1);
	*ret_from_ns = from;
	*ret_to_ns = to;
}
