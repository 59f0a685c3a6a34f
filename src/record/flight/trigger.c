/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trigger: runs a small state machine per condition on the merged records of each slice.
 *
 * Levels, bursts, requests, their owners and waits for a CPU come from the state machines of
 * src/model that reports use, too. A burst of memory fires once; bursts of other processes that
 * follow within the window are part of the same burst.
 */
#include "record/flight/trigger.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "base/units.h"
#include "bpf/wire.h"
#include "model/burst.h"
#include "model/mem_levels.h"
#include "model/request_track.h"
#include "model/span_track.h"
#include "model/thread_states.h"
#include "model/writeback_owners.h"
#include "probe/source.h"
#include "record/tasks/id_names.h"

/*
 * maximum number of addresses of block requests (which may belong to queues that no longer exist),
 * of open requests of programs, and of their names; beyond it, all are dropped
 */
#define ADDRESSES_MAX 65536

#define WIRE_BIT(hook) (1ull << (hook))

/* ---- expressions ---- */

static const struct kind {
	const char *name;
	const char *form;
	const char *source_names;
	enum trigger_kind kind;
	uint32_t sources;		/* sources that the condition needs */
	uint64_t hooks; /* hooks of the records that the condition needs: WIRE_BIT(WIRE_x) */
} kinds[] = {	/* index: enum trigger_kind */
	{ "spike", "spike>500MiB or spike>500MiB/250ms", "alloc.rss", TRIGGER_SPIKE,
	  SOURCE_BIT(SOURCE_RSS),
	  WIRE_BIT(WIRE_RSS) },
	{ "io-latency", "io-latency>200ms", "block", TRIGGER_IO_LATENCY, SOURCE_BIT(SOURCE_BLOCK),
	  WIRE_BIT(WIRE_BLOCK_INSERT) | WIRE_BIT(WIRE_BLOCK_ISSUE) | WIRE_BIT(WIRE_BLOCK_COMPLETE) |
	  WIRE_BIT(WIRE_BLOCK_REQUEUE) | WIRE_BIT(WIRE_BLOCK_MERGE) |
	  WIRE_BIT(WIRE_BLOCK_START) | WIRE_BIT(WIRE_BLOCK_DONE) | WIRE_BIT(WIRE_BIO_QUEUE) |
	  WIRE_BIT(WIRE_BIO_COMPLETE) | WIRE_BIT(WIRE_DIRTY) },
	{ "runq", "runq>50ms", "sched", TRIGGER_RUNQ,
	  SOURCE_BIT(SOURCE_SWITCH) | SOURCE_BIT(SOURCE_WAKEUP),
	  WIRE_BIT(WIRE_SWITCH) | WIRE_BIT(WIRE_SWITCH_MORE) | WIRE_BIT(WIRE_WAKING) |
	  WIRE_BIT(WIRE_WAKEUP_NEW) },
	{ "loss", "loss>0", "", TRIGGER_LOSS, 0, 0 },
	{ "exit", "exit!=0, exit=1 or exit>128", "", TRIGGER_EXIT, 0, 0 },
	{ "request", "request:NAME>200ms", "requests (--spans, --span-fd or --request)",
	  TRIGGER_REQUEST, SOURCE_BIT(SOURCE_SPAN), WIRE_BIT(WIRE_SPAN) },
};

/* Records of these hooks have the names, processes, creations and exits of tasks. */
#define TASK_HOOKS                                                                                 \
	(WIRE_BIT(WIRE_TASK_NEW) | WIRE_BIT(WIRE_TASK_EXEC) | WIRE_BIT(WIRE_TASK_RENAME) |         \
	 WIRE_BIT(WIRE_TASK_EXIT))

#define KIND_CNT (sizeof(kinds) / sizeof(kinds[0]))

static int parse_value(const struct kind *k, const char *value, struct trigger *t, struct err *e)
{
	const char *slash = strchr(value, '/');
	char size[64];
	int r;

	switch (k->kind) {
	case TRIGGER_SPIKE:
		t->window_ns = UNITS_NS_PER_S;
		snprintf(size, sizeof(size), "%.*s", slash ? (int)(slash - value) : 60, value);
		r = units_parse_size(size, &t->value, e);
		if (r == 0 && slash)
			r = units_parse_duration(slash + 1, &t->window_ns, e);
		if (r == 0 && (t->window_ns < 10000000 || t->window_ns > 60 * UNITS_NS_PER_S))
			r = err_set(e, -ERANGE, "a spike's time is from 10ms to 60s");
		return r;
	case TRIGGER_IO_LATENCY:
	case TRIGGER_RUNQ:
	case TRIGGER_REQUEST:
		return units_parse_duration(value, &t->value, e);
	default:
		r = units_parse_count(value, &t->value, e);
		if (r == 0 && k->kind == TRIGGER_EXIT && t->value > 255)
			r = err_set(e, -ERANGE, "an exit status is from 0 to 255");
		return r;
	}
}

int trigger_parse(const char *text, uint32_t sources, bool has_command, struct trigger *ret,
		  struct err *e)
{
	static const struct {
		const char *sign;
		enum trigger_op op;
	} ops[] = { { ">", TRIGGER_ABOVE }, { "!=", TRIGGER_NOT }, { "=", TRIGGER_IS } };
	size_t len = strcspn(text, ":>!= "), i, at, name_len = 0;
	struct trigger t = { .text = text };
	const struct kind *k = NULL;
	struct err why = { "" };
	int r;

	for (i = 0; i < KIND_CNT; i++)
		if (len == strlen(kinds[i].name) && !strncmp(text, kinds[i].name, len))
			k = &kinds[i];
	if (!k)
		return err_set(e, -EINVAL,
			       "--trigger '%s': there is no such condition; there are spike>SIZE, "
			       "io-latency>DUR, runq>DUR, request:NAME>DUR, loss>N and exit!=N",
			       text);
	/* the name may contain an operator */
	if (k->kind == TRIGGER_REQUEST && text[len] == ':' && strrchr(text, '>')) {
		const char *name = text + len + 1;

		len = (size_t)(strrchr(text, '>') - text);
		for (name_len = (size_t)(text + len - name); name_len && name[name_len - 1] == ' ';)
			name_len--;
		snprintf(t.name, sizeof(t.name), "%.*s", (int)name_len, name);
	}
	at = len + strspn(text + len, " ");
	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (!strncmp(text + at, ops[i].sign, strlen(ops[i].sign)))
			break;
	if (i == sizeof(ops) / sizeof(*ops) ||
	    (ops[i].op != TRIGGER_ABOVE && k->kind != TRIGGER_EXIT) ||
	    (k->kind == TRIGGER_REQUEST && !name_len) || name_len >= sizeof(t.name))
		return err_set(e, -EINVAL, "--trigger '%s': write it as %s", text, k->form);
	at += strlen(ops[i].sign);
	at += strspn(text + at, " ");
	t.kind = k->kind;
	t.op = ops[i].op;
	r = parse_value(k, text + at, &t, &why);
	if (r < 0)
		return err_set(e, r, "--trigger '%s': %s; write it as %s", text, err_text(&why, r),
			       k->form);
	if ((sources & k->sources) != k->sources)
		return err_set(e, -EINVAL, "--trigger '%s' needs %s%s", text, k->source_names,
			       k->kind == TRIGGER_REQUEST ? "" : ", which -e leaves out");
	if (k->kind == TRIGGER_EXIT && !has_command)
		return err_set(e, -EINVAL,
			       "--trigger '%s' is about the exit status of a COMMAND, and there is "
			       "none",
			       text);
	*ret = t;
	return 0;
}

/* ---- the set ---- */

/* Growth of the resident memory of a process, of all processes with a name, or of all processes. */
struct growth {
	struct burst burst;
	int64_t level;
	bool is_known;		/* the burst fired, or is part of one that fired */
};

struct process_memory {
	struct mem_process mem;
	struct growth own;
	uint32_t name;		/* index in names */
};

struct name_memory {		/* all processes with one name */
	struct growth together;
	uint32_t process_cnt;
	char comm[WIRE_COMM_LEN + 1];
};

struct task {
	uint32_t pid;
	char comm[WIRE_COMM_LEN + 1];
};

struct state {
	struct trigger t;
	bool fired;		/* during this slice */
	/* SPIKE: */
	struct hash_map by_id;	/* pid -> struct process_memory */
	struct hash_map by_comm;	/* comm -> index in names */
	struct name_memory *names;
	size_t name_cap;
	struct growth machine;
	uint64_t quiet_ns;	/* a burst that begins earlier is part of one that fired */
};

struct trigger_set {
	struct trigger_sink sink;
	uint64_t hooks;
	uint64_t page_bytes;
	uint64_t fed_to_ns;		/* end of the last slice */
	struct thread_states *threads;	/* RUNQ; index: number of a thread */
	struct hash_map numbers;	/* RUNQ: tid -> number of the thread */
	uint32_t *tids;			/* by number: tid; 0: the number is unused */
	size_t tid_cap;
	uint32_t tid_cnt;
	bool lacks_switches;		/* RUNQ: some switches of this slice were lost */
	uint32_t *free;			/* unused numbers */
	size_t free_cnt, free_cap;
	struct hash_map tasks; /* tid -> struct task, for names in messages */
	uint32_t own_pids[TRIGGER_OWN_MAX];	/* 0: none */
	struct request_track *requests;	/* IO; for ids of threads and processes see id_of() */
	struct writeback_owners owners;	/* IO; processes are pids */
	struct span_track spans;	/* REQUEST; the number of a name is its address */
	struct strpool *span_names;
	struct hash_map span_numbers; /* by address of the name in span_names: number of the name */
	const char *const *request_names;	/* of --request */
	size_t request_name_cnt;
	size_t cnt;
	struct state states[];
};

static void memory_done(struct state *st);
static int io_ended(void *ctx, const struct block_request *r);
static int ignore_piece(void *ctx, const struct thread_piece *p);
static int cpu_waited(void *ctx, const struct thread_wait *w);

int trigger_set_new(struct trigger_set **ret, const struct trigger *triggers, size_t cnt,
		    const struct trigger_sink *sink)
{
	struct trigger_set *s = calloc(1, sizeof(*s) + cnt * sizeof(s->states[0]));
	const struct thread_states_sink threads = { .ctx = s, .piece = ignore_piece,
						    .waited = cpu_waited };

	if (!s || request_track_new(&s->requests, io_ended, s) < 0 ||
	    thread_states_new(&s->threads, EVENT_ID_FIRST, &threads) < 0 ||
	    strpool_new(&s->span_names) < 0) {
		trigger_set_free(s);
		return -ENOMEM;
	}
	s->tid_cnt = EVENT_ID_FIRST;
	writeback_owners_init(&s->owners, NULL);
	s->sink = *sink;
	s->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	s->cnt = cnt;
	for (size_t i = 0; i < cnt; i++) {
		s->states[i].t = triggers[i];
		burst_init(&s->states[i].machine.burst, triggers[i].window_ns,
			   triggers[i].value + 1, true);
		s->hooks |= kinds[triggers[i].kind].hooks;
	}
	*ret = s;
	return 0;
}

void trigger_set_free(struct trigger_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->cnt; i++)
		memory_done(&s->states[i]);
	request_track_free(s->requests);
	thread_states_free(s->threads);
	span_track_done(&s->spans);
	strpool_free(s->span_names);
	hash_map_done(&s->span_numbers);
	hash_map_done(&s->numbers);
	free(s->tids);
	free(s->free);
	hash_map_done_values(&s->tasks);
	writeback_owners_clear(&s->owners);
	free(s);
}

void trigger_set_leave_out(struct trigger_set *s, const uint32_t pids[TRIGGER_OWN_MAX])
{
	memcpy(s->own_pids, pids, sizeof(s->own_pids));
}

void trigger_set_name_requests(struct trigger_set *s, const char *const *names, size_t cnt)
{
	s->request_names = names;
	s->request_name_cnt = cnt;
}

/* ---- tasks ---- */

static int set_task(struct trigger_set *s, uint32_t tid, uint32_t pid,
		    const char comm[WIRE_COMM_LEN])
{
	struct task *t = hash_map_make(&s->tasks, tid, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->pid = pid;
	memcpy(t->comm, comm, WIRE_COMM_LEN);
	return 0;
}

static int note_task(struct trigger_set *s, const struct wire_hdr *h)
{
	const struct wire_task *t = (const void *)h;
	const struct wire_exec *x = (const void *)h;
	const struct wire_rename *n = (const void *)h;

	switch (h->hook) {
	case WIRE_TASK_NEW:
		return set_task(s, t->tid, t->pid, t->comm);
	case WIRE_TASK_EXEC:
		return set_task(s, x->tid, x->pid, x->comm);
	case WIRE_TASK_RENAME:
		return set_task(s, n->tid, n->pid, n->comm);
	case WIRE_TASK_EXIT:
		free(hash_map_remove(&s->tasks, ((const struct wire_exit *)h)->tid));
		break;
	}
	return 0;
}

static bool is_own(const struct trigger_set *s, uint32_t pid)
{
	for (unsigned int i = 0; i < TRIGGER_OWN_MAX; i++)
		if (pid && pid == s->own_pids[i])
			return true;
	return false;
}

static bool is_own_thread(const struct trigger_set *s, uint32_t tid)
{
	const struct task *t = hash_map_get(&s->tasks, tid);

	return is_own(s, t ? t->pid : tid);
}

/* Formats "process 123 (cc1)". */
static const char *name_of(const struct trigger_set *s, const char *what, uint32_t id, char buf[64])
{
	const struct task *t = hash_map_get(&s->tasks, id);

	snprintf(buf, 64, t && t->comm[0] ? "%s %u (%s)" : "%s %u", what, id, t ? t->comm : "");
	return buf;
}

static int fire(struct trigger_set *s, struct state *st, uint64_t ts_ns, const char *what)
{
	char why[256];

	if (st->fired)
		return 0;
	st->fired = true;
	snprintf(why, sizeof(why), "%s: %s", st->t.text, what);
	return s->sink.fired(s->sink.ctx, &st->t, ts_ns, why);
}

/* ---- memory ---- */

static void memory_done(struct state *st)
{
	const struct hash_slot *slot;

	for (size_t pos = 0; (slot = hash_map_next(&st->by_id, &pos));)
		burst_done(&((struct process_memory *)slot->value)->own.burst);
	for (size_t i = 0; i < st->by_comm.cnt; i++)
		burst_done(&st->names[i].together.burst);
	burst_done(&st->machine.burst);
	hash_map_done_values(&st->by_id);
	hash_map_done(&st->by_comm);
	free(st->names);
}

static void shift(struct growth *g, int64_t delta)
{
	g->level += delta;
	burst_shift(&g->burst, delta);
}

/* Returns the index of a process's current name, or -ENOMEM. */
static int64_t name_at(const struct trigger_set *s, struct state *st, uint32_t pid)
{
	const struct task *t = hash_map_get(&s->tasks, pid);
	uint64_t key[2] = { 0 };
	uint32_t i;
	int r;

	_Static_assert(sizeof(key) == WIRE_COMM_LEN, "a name is a key");
	if (t)
		memcpy(key, t->comm, WIRE_COMM_LEN);
	r = hash_map_intern(&st->by_comm, key[0], key[1], &i);
	if (r < 0 || array_reserve(&st->names, &st->name_cap, i + 1) < 0)
		return -ENOMEM;
	if (r) {
		memset(&st->names[i], 0, sizeof(st->names[i]));
		memcpy(st->names[i].comm, key, WIRE_COMM_LEN);
		burst_init(&st->names[i].together.burst, st->t.window_ns, st->t.value + 1, true);
	}
	return i;
}

static void leave_name(struct state *st, const struct process_memory *p)
{
	struct name_memory *n = &st->names[p->name];

	n->together.level -= p->own.level;
	if (!--n->process_cnt) {	/* free the burst, whose ring may be large */
		burst_done(&n->together.burst);
		burst_init(&n->together.burst, st->t.window_ns, st->t.value + 1, true);
	}
}

/*
 * Moves the memory of a process to its current name. For that name, the moved bytes are not growth.
 * 0 or -ENOMEM.
 */
static int set_name(const struct trigger_set *s, struct state *st, uint32_t pid,
		    struct process_memory *p, bool is_new)
{
	int64_t i = name_at(s, st, pid);

	if (i < 0 || (!is_new && i == p->name))
		return i < 0 ? (int)i : 0;
	if (!is_new)
		leave_name(st, p);
	p->name = (uint32_t)i;
	st->names[i].process_cnt++;
	shift(&st->names[i].together, p->own.level);
	return 0;
}

static void drop_memory(struct state *st, uint32_t pid)
{
	struct process_memory *p = hash_map_remove(&st->by_id, pid);

	if (!p)
		return;
	leave_name(st, p);
	st->machine.level -= p->own.level;
	burst_done(&p->own.burst);
	free(p);
}

/*
 * Returns the memory of process pid; adds it if it is unknown. is_born: the process was just
 * created, so an entry with this pid is of an older process. NULL: out of memory.
 */
static struct process_memory *memory_of(const struct trigger_set *s, struct state *st, uint32_t pid,
					bool is_born)
{
	struct process_memory *p = hash_map_get(&st->by_id, pid);

	if (p && !is_born)
		return p;
	drop_memory(st, pid);
	p = hash_map_make(&st->by_id, pid, sizeof(*p));
	if (!p)
		return NULL;
	mem_process_init(&p->mem, is_born);
	burst_init(&p->own.burst, st->t.window_ns, st->t.value + 1, true);
	if (set_name(s, st, pid, p, true) < 0) {
		free(hash_map_remove(&st->by_id, pid));
		return NULL;
	}
	return p;
}

static uint64_t risen(const struct growth *g, uint64_t ts_ns)
{
	return g->level > 0 ? burst_risen(&g->burst, ts_ns, (uint64_t)g->level) : 0;
}

/* Returns the largest growth of a process, or 0. name: index in names; UINT32_MAX: any. */
static uint64_t largest_process(const struct state *st, uint64_t ts_ns, uint32_t name,
				uint32_t *ret_pid)
{
	const struct hash_slot *slot;
	uint64_t most = 0, bytes;

	for (size_t pos = 0; (slot = hash_map_next(&st->by_id, &pos));) {
		const struct process_memory *p = slot->value;

		bytes = name == UINT32_MAX || p->name == name ? risen(&p->own, ts_ns) : 0;
		if (bytes > most || (bytes && bytes == most && slot->a < *ret_pid)) {
			most = bytes;
			*ret_pid = (uint32_t)slot->a;
		}
	}
	return most;
}

static uint64_t largest_name(const struct state *st, uint64_t ts_ns, uint32_t *ret)
{
	uint64_t most = 0, bytes;

	for (uint32_t i = 0; i < st->by_comm.cnt; i++) {
		bytes = st->names[i].comm[0] ? risen(&st->names[i].together, ts_ns) : 0;
		if (bytes > most) {
			most = bytes;
			*ret = i;
		}
	}
	return most;
}

/*
 * Fires for a burst that has begun. pid, name: its process or name; UINT32_MAX: all. The message
 * names the process or name that has at least half of the burst.
 */
static int fire_growth(struct trigger_set *s, struct state *st, uint64_t ts_ns, uint64_t bytes,
		       uint32_t pid, uint32_t name)
{
	char what[220], who[64], all[64] = "all processes", n[UNITS_TEXT_MAX], m[UNITS_TEXT_MAX];
	uint64_t most = bytes;
	bool is_part = false;

	if (name != UINT32_MAX)
		snprintf(all, sizeof(all), "processes named %s", st->names[name].comm);
	if (pid == UINT32_MAX) {
		most = largest_process(st, ts_ns, name, &pid);
		is_part = most && most >= bytes - most;
		if (!is_part)
			pid = UINT32_MAX;
	}
	if (pid == UINT32_MAX && name == UINT32_MAX) {
		most = largest_name(st, ts_ns, &name);
		is_part = most && most >= bytes - most;
	}
	if (pid != UINT32_MAX)
		name_of(s, "process", pid, who);
	else if (is_part)
		snprintf(who, sizeof(who), "processes named %s", st->names[name].comm);
	if (is_part && most < bytes)
		snprintf(what, sizeof(what), "%s grew by %s, %s by %s", who,
			 units_format_bytes(n, sizeof(n), most), all,
			 units_format_bytes(m, sizeof(m), bytes));
	else
		snprintf(what, sizeof(what), "%s grew by %s", pid == UINT32_MAX ? all : who,
			 units_format_bytes(n, sizeof(n), bytes));
	return fire(s, st, ts_ns, what);
}

/* Adds bytes that a process allocated (delta > 0) or released. */
static int add_growth(struct trigger_set *s, struct state *st, uint64_t ts_ns, uint32_t pid,
		      struct process_memory *p, int64_t delta)
{
	struct growth *of[] = { &p->own, &st->names[p->name].together, &st->machine };
	struct burst_found ended;
	uint64_t level;
	int r = 0;

	for (unsigned int i = 0; i < 3 && r >= 0; i++) {
		level = of[i]->level > 0 ? (uint64_t)of[i]->level : 0;
		of[i]->level += delta;
		if (delta <= 0)
			continue;
		r = burst_add(&of[i]->burst, ts_ns, (uint64_t)delta, level, &ended);
		if (r > 0)
			of[i]->is_known = false;
	}
	for (unsigned int i = 0; i < 3 && r >= 0 && delta > 0; i++) {
		if (!of[i]->burst.active || (i == 1 && !st->names[p->name].comm[0]))
			continue;
		r = 0;
		if (!of[i]->is_known && ts_ns >= st->quiet_ns)
			r = fire_growth(s, st, ts_ns, risen(of[i], ts_ns), i ? UINT32_MAX : pid,
					i == 2 ? UINT32_MAX : p->name);
		of[i]->is_known = true;
		st->quiet_ns = ts_ns + st->t.window_ns;
	}
	return r < 0 ? r : 0;
}

/* Adds bytes that do not count as growth at this time: inherited, or allocated earlier. */
static void shift_all(struct state *st, struct process_memory *p, int64_t delta)
{
	shift(&p->own, delta);
	shift(&st->names[p->name].together, delta);
	shift(&st->machine, delta);
}

static int add_step(struct trigger_set *s, struct state *st, uint64_t ts_ns, uint32_t pid,
		    struct process_memory *p, const struct mem_step *step)
{
	int64_t delta = (int64_t)(step->after - step->before);

	if (step->inherited)
		shift_all(st, p, step->inherited);
	delta -= step->inherited;
	if (!step->is_baseline)
		return add_growth(s, st, ts_ns, pid, p, delta);
	shift_all(st, p, delta);
	return 0;
}

static int on_rss(struct trigger_set *s, struct state *st, const struct wire_rss *r)
{
	struct event ev = { .ts_ns = r->hdr.ts_ns, .kind = EVENT_RSS };
	struct process_memory *p = memory_of(s, st, r->pid, false);
	struct mem_step step;

	ev.v[EV_RSS_MEMBER] = r->member;
	ev.v[EV_RSS_BYTES] = (uint64_t)(r->pages * (int64_t)s->page_bytes);
	if (!p || !mem_process_event(&p->mem, &ev, &step))
		return p ? 0 : -ENOMEM;
	return add_step(s, st, r->hdr.ts_ns, r->pid, p, &step);
}

static int on_exec(struct trigger_set *s, struct state *st, const struct wire_exec *e)
{
	struct process_memory *p = memory_of(s, st, e->pid, false);
	uint64_t own[MEM_LEVEL_CNT];
	struct mem_step step;
	int r;

	if (!p)
		return -ENOMEM;
	mem_process_exec(&p->mem, &step, own);
	shift_all(st, p, -(int64_t)own[MEM_RSS]);
	r = set_name(s, st, e->pid, p, false);
	r = r ?: add_growth(s, st, e->hdr.ts_ns, e->pid, p, (int64_t)own[MEM_RSS]);
	return r ?: add_step(s, st, e->hdr.ts_ns, e->pid, p, &step);
}

static int spike_record(struct trigger_set *s, struct state *st, const struct wire_hdr *h)
{
	const struct wire_rss *m = (const void *)h;
	const struct wire_task *t = (const void *)h;
	const struct wire_exec *e = (const void *)h;
	const struct wire_rename *n = (const void *)h;
	const struct wire_exit *x = (const void *)h;
	struct process_memory *p;

	switch (h->hook) {
	case WIRE_RSS:
		return m->pid && !is_own(s, m->pid) ? on_rss(s, st, m) : 0;
	case WIRE_TASK_NEW:
		if (t->tid != t->pid || is_own(s, t->pid))
			return 0;
		return memory_of(s, st, t->pid, true) ? 0 : -ENOMEM;
	case WIRE_TASK_EXEC:
		return is_own(s, e->pid) ? 0 : on_exec(s, st, e);
	case WIRE_TASK_RENAME:
		p = n->tid == n->pid ? hash_map_get(&st->by_id, n->pid) : NULL;
		return p ? set_name(s, st, n->pid, p, false) : 0;
	case WIRE_TASK_EXIT:
		if (x->group_dead)
			drop_memory(st, x->pid);
	}
	return 0;
}

/* Sets the initial memory of processes: growth counts from the start of the recording. */
static int spike_snapshot(struct trigger_set *s, struct state *st, const struct buf *snapshot)
{
	const struct wire_snap *rows = (const struct wire_snap *)snapshot->data;
	struct process_memory *p;

	for (size_t i = 0; i < snapshot->len / sizeof(*rows); i++) {
		struct trace_rss row = { .unknown = 0 };

		if (is_own(s, rows[i].task.pid) || hash_map_get(&st->by_id, rows[i].task.pid))
			continue;
		for (unsigned int m = 0; m < MEM_MEMBER_CNT; m++)
			row.bytes[m] = rows[i].rss_pages[m] < 0 ? 0 :
				       (uint64_t)rows[i].rss_pages[m] * s->page_bytes;
		p = memory_of(s, st, rows[i].task.pid, false);
		if (!p)
			return -ENOMEM;
		mem_process_baseline(&p->mem, &row);
		shift_all(st, p, (int64_t)mem_process_rss(&p->mem));
	}
	return 0;
}

/* ---- requests ---- */

/*
 * Convert a kernel pid or tid to an event id and back. 0: unknown. The offset is necessary because
 * the kernel's 1 (init) would be a pseudo id.
 */
static uint32_t id_of(uint32_t number)
{
	return number ? number + EVENT_ID_FIRST : EVENT_ID_UNKNOWN;
}

static uint32_t number_of(uint32_t id)
{
	return id > EVENT_ID_FIRST ? id - EVENT_ID_FIRST : 0;
}

/* Fires the triggers whose limit the request exceeds at at_ns, and did not in earlier slices. */
static int io_slow(struct trigger_set *s, const struct block_request *r, uint64_t at_ns,
		   const char *verb)
{
	char what[220], device[64], whom[64], owner_name[64], n[UNITS_TEXT_MAX];
	uint32_t tid = number_of(r->submitter), owner = number_of(r->owner_upid);
	uint64_t queued_ns = block_request_queued_ns(r), ns = at_ns - queued_ns;
	int err = 0;

	if (!queued_ns || at_ns < queued_ns || (owner ? is_own(s, owner) : is_own_thread(s, tid)))
		return 0;
	for (size_t i = 0; i < s->cnt && !err; i++) {
		const struct trigger *t = &s->states[i].t;

		/*
		 * skip a request for which the trigger fired after an earlier slice, when the
		 * request was open
		 */
		if (t->kind != TRIGGER_IO_LATENCY || ns <= t->value ||
		    (s->fed_to_ns > queued_ns && s->fed_to_ns - queued_ns > t->value))
			continue;
		id_names_of_device(r->dev, device, sizeof(device));
		snprintf(what, sizeof(what), "a request %s %s on %s%s%s%s%s", verb,
			 units_format_duration(n, sizeof(n), ns), device,
			 tid ? ", submitted by " : "", tid ? name_of(s, "thread", tid, whom) : "",
			 owner ? ", owned by " : "",
			 owner ? name_of(s, "process", owner, owner_name) : "");
		err = fire(s, &s->states[i], r->end_ns ? r->end_ns : at_ns, what);
	}
	return err;
}

static int io_ended(void *ctx, const struct block_request *r)
{
	uint64_t ns;

	return r->end == BLOCK_END_DONE && block_request_latency(r, &ns) ?
		       io_slow(ctx, r, r->complete_ns, "took") : 0;
}

struct io_moment {
	struct trigger_set *s;
	uint64_t ts_ns;
};

static int io_open(void *ctx, const struct block_request *r)
{
	const struct io_moment *m = ctx;

	return io_slow(m->s, r, m->ts_ns, "has been open for");
}

static int io_record(struct trigger_set *s, const struct wire_hdr *h)
{
	const struct wire_dirty *d = (const void *)h;
	struct writeback issue;
	struct event ev;
	void *pid;

	if (h->hook == WIRE_DIRTY)
		return writeback_owners_dirty(&s->owners, h->ts_ns, d->ino, d->ino_dev,
					      (void *)(uintptr_t)d->pid);
	request_event_of(h, &ev);
	ev.utid = id_of(h->tid);
	if (request_has_pages(h)) {
		issue = request_writeback_of((const void *)h);
		if (writeback_owners_of(&s->owners, &issue, &pid) != EVENT_OWNER_NONE)
			ev.v[EV_REQUEST_OWNER_UPID] = id_of((uint32_t)(uintptr_t)pid);
	}
	return request_track_event(s->requests, &ev);
}

/* Drops the requests in flight: later records of these requests must not fire a trigger. */
static int forget_requests(struct trigger_set *s)
{
	request_track_free(s->requests);
	s->requests = NULL;
	return request_track_new(&s->requests, io_ended, s);
}

/* ---- requests of programs ---- */

static int span_record(struct trigger_set *s, const struct wire_hdr *h)
{
	const struct wire_span *r = (const void *)h;
	const struct task *task = hash_map_get(&s->tasks, h->tid);
	struct span_event ev = { .ts_ns = h->ts_ns, .thread = h->tid,
				 .process = task ? task->pid : h->tid,
				 .action = r->action, .id = r->id };
	char name[WIRE_SPAN_NAME + 1] = "";
	uint32_t nr;

	if (r->nr && r->nr <= s->request_name_cnt)
		snprintf(name, sizeof(name), "%s", s->request_names[r->nr - 1]);
	else
		memcpy(name, r->name, sizeof(r->name));
	if (*name || r->action == EVENT_SPAN_BEGIN) {
		ev.name = (uintptr_t)strpool_put(s->span_names, *name ? name : "(no name)");
		if (!ev.name || hash_map_intern(&s->span_numbers, ev.name, 0, &nr) < 0)
			return -ENOMEM;
	}
	/* the triggers need only begin and end of requests */
	return r->action == EVENT_SPAN_STEP || r->action == EVENT_SPAN_ATTACH ?
		       0 : span_track_event(&s->spans, &ev);
}

/* Ends the open requests of a process that has ended. */
static void end_spans(struct trigger_set *s, const struct wire_exit *x)
{
	for (size_t i = 0; i < s->spans.request_cnt && x->group_dead; i++)
		if (s->spans.requests[i].process == x->pid && !s->spans.requests[i].end_ns)
			s->spans.requests[i].end_ns = x->hdr.ts_ns;
}

static int span_slow(struct trigger_set *s, const struct span_request *r, uint64_t to_ns)
{
	const char *name = (const char *)(uintptr_t)r->name;
	uint64_t at_ns = r->end_ns ? r->end_ns : to_ns, ns = at_ns - r->begin_ns;
	char what[220], whom[64], n[UNITS_TEXT_MAX];
	int err = 0;

	for (size_t i = 0; i < s->cnt && !err && at_ns > r->begin_ns; i++) {
		const struct trigger *t = &s->states[i].t;

		/*
		 * skip a request for which the trigger fired after an earlier slice, when the
		 * request was open
		 */
		if (t->kind != TRIGGER_REQUEST || ns <= t->value ||
		    (s->fed_to_ns > r->begin_ns && s->fed_to_ns - r->begin_ns > t->value) ||
		    (strcmp(t->name, name) && fnmatch(t->name, name, 0)))
			continue;
		snprintf(what, sizeof(what), "a request %s%s %s %s, begun by %s", name,
			 r->id ? "" : "()", r->end_ns ? "took" : "has been open for",
			 units_format_duration(n, sizeof(n), ns),
			 name_of(s, "thread", r->thread, whom));
		err = fire(s, &s->states[i], at_ns, what);
	}
	return err;
}

/*
 * Fires for requests that ended in the slice or are open at its end; keeps the open ones. lacks:
 * events were lost, so requests that seem open may have ended.
 */
static int spans_slow(struct trigger_set *s, uint64_t to_ns, bool lacks)
{
	struct span_track all = s->spans;
	int err = 0;

	s->spans = (struct span_track){ 0 };
	for (size_t i = 0; i < all.request_cnt && !err; i++) {
		const struct span_request *r = &all.requests[i];
		const struct span_event begin = { r->begin_ns, r->thread, r->process,
						  EVENT_SPAN_BEGIN, r->name, r->id };

		if (!r->end_ns && lacks)
			continue;
		err = span_slow(s, r, to_ns);
		if (!err && !r->end_ns)
			err = span_track_event(&s->spans, &begin);
	}
	span_track_done(&all);
	return err;
}

/* Drops the open requests: their ends may have been lost, and their names use memory. */
static int forget_spans(struct trigger_set *s)
{
	span_track_done(&s->spans);
	strpool_free(s->span_names);
	s->span_names = NULL;
	hash_map_done(&s->span_numbers);
	return strpool_new(&s->span_names);
}

/* ---- run queue ---- */

static int ignore_piece(void *ctx, const struct thread_piece *p)
{
	return 0;
}

/* Checks a wait for a CPU; ignores waits for the quota of a group. */
static int cpu_waited(void *ctx, const struct thread_wait *w)
{
	struct trigger_set *s = ctx;
	char what[128], whom[64], n[UNITS_TEXT_MAX];
	uint64_t wait_ns = w->to_ns - w->from_ns;
	int err = 0;

	if (w->reason == THREAD_WAIT_THROTTLED || s->lacks_switches)
		return 0;
	for (size_t i = 0; i < s->cnt && !err; i++) {
		if (s->states[i].t.kind != TRIGGER_RUNQ || wait_ns <= s->states[i].t.value)
			continue;
		snprintf(what, sizeof(what), "%s waited %s for a CPU",
			 name_of(s, "thread", s->tids[w->thread], whom),
			 units_format_duration(n, sizeof(n), wait_ns));
		err = fire(s, &s->states[i], w->to_ns, what);
	}
	return err;
}

/* Sets *ret to the number of a thread; EVENT_ID_IDLE for the idle thread. 0 or -ENOMEM. */
static int thread_number(struct trigger_set *s, uint32_t tid, uint32_t *ret)
{
	uint32_t number = (uint32_t)(uintptr_t)hash_map_get(&s->numbers, tid);

	*ret = EVENT_ID_IDLE;
	if (!tid)
		return 0;
	if (!number) {
		number = s->free_cnt ? s->free[s->free_cnt - 1] : s->tid_cnt;
		if (array_reserve(&s->tids, &s->tid_cap, number + 1) < 0 ||
		    thread_states_grow(&s->threads, (uint32_t)s->tid_cap) < 0 ||
		    hash_map_put(&s->numbers, tid, (void *)(uintptr_t)number) < 0)
			return -ENOMEM;
		s->tids[number] = tid;
		if (s->free_cnt)
			s->free_cnt--;
		else
			s->tid_cnt++;
	}
	*ret = number;
	return 0;
}

/* Releases the number of a thread that has ended. */
static int drop_ended(struct trigger_set *s, uint32_t number)
{
	if (number < EVENT_ID_FIRST || thread_states_lives(s->threads, number))
		return 0;
	hash_map_remove(&s->numbers, s->tids[number]);
	s->tids[number] = 0;
	return array_add(&s->free, &s->free_cap, &s->free_cnt, number);
}

/* Returns whether this is a switch. Both kinds of switch records begin with the same members. */
static bool is_switch(const struct wire_hdr *h)
{
	return h->hook == WIRE_SWITCH || h->hook == WIRE_SWITCH_MORE;
}

static int switch_record(struct trigger_set *s, const struct wire_switch *w)
{
	struct event ev = { .ts_ns = w->hdr.ts_ns, .cpu = w->hdr.cpu,
			    .flags = w->hdr.flags & WIRE_F_PREEMPT ? EVENT_F_PREEMPT : 0 };
	uint32_t prev, next = EVENT_ID_IDLE;
	int err;

	ev.v[EV_SWITCH_PREV_STATE] = w->prev_state;
	ev.v[EV_SWITCH_CALL] = w->call;
	err = thread_number(s, w->hdr.tid, &prev);
	err = err ?: thread_states_leave(s->threads, &ev, prev);
	err = err ?: drop_ended(s, prev);
	/* most switches to a thread outside of the target set are not recorded */
	if (!(w->hdr.flags & WIRE_F_NEXT_OUT))
		err = err ?: thread_number(s, w->next_tid, &next);
	return err ?: thread_states_enter(s->threads, next, w->hdr.cpu, w->hdr.ts_ns);
}

static int runq_record(struct trigger_set *s, const struct wire_hdr *h)
{
	const struct wire_waking *k = (const void *)h;
	uint32_t target;
	int err;

	if (is_switch(h))
		return switch_record(s, (const void *)h);
	err = thread_number(s, k->target_tid, &target);
	return err ?: thread_states_wake(s->threads, target, h->ts_ns, EVENT_ID_UNKNOWN,
					 h->flags & WIRE_F_IRQ, k->call);
}

/* ---- the records of a slice, in order of time ---- */

struct record {
	uint64_t ts_ns;		/* sort key of array_order() */
	const struct wire_hdr *h;
};

struct records {
	struct record *v;
	size_t cnt, cap;
};

static int records_of(struct records *ret, const struct ring_slice *slices, size_t cnt,
		      uint64_t hooks)
{
	const struct wire_hdr *h;
	size_t at;

	for (size_t i = 0; i < cnt; i++) {
		for (const struct ring_slab *slab = slices[i].first; slab; slab = slab->next) {
			for (at = 0; (h = slab_next_record(slab, &at));) {
				struct record r = { h->ts_ns, h };

				if (hooks & WIRE_BIT(h->hook) &&
				    array_add(&ret->v, &ret->cap, &ret->cnt, r) < 0)
					return -ENOMEM;
			}
		}
	}
	return 0;
}

/* ---- slices ---- */

static int feed_record(struct trigger_set *s, const struct wire_hdr *h)
{
	int err = note_task(s, h);

	if (is_switch(h) || h->hook == WIRE_WAKING || h->hook == WIRE_WAKEUP_NEW)
		return runq_record(s, h);
	if (!err && h->hook == WIRE_SPAN)
		return span_record(s, h);
	if (h->hook == WIRE_TASK_EXIT)
		end_spans(s, (const void *)h);
	if (!err && (h->hook == WIRE_DIRTY || request_is_step(h)))
		return io_record(s, h);
	for (size_t i = 0; i < s->cnt && !err; i++)
		if (s->states[i].t.kind == TRIGGER_SPIKE)
			err = spike_record(s, &s->states[i], h);
	return err;
}

/* Returns the number of lost events, for any reason. */
static uint64_t lost_of(const struct block_slice *slice)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < slice->loss_cnt; i++)
		cnt += slice->losses[i].full_cnt + slice->losses[i].other_cnt +
		       slice->losses[i].missed_cnt;
	return cnt;
}

int trigger_set_feed(struct trigger_set *s, const struct ring_slice *rings, size_t ring_cnt,
		     const struct buf *snapshot, const struct block_slice *slice)
{
	const struct wire_snap *rows = (const struct wire_snap *)snapshot->data;
	bool lacks_spans = block_slice_lacks(slice, WIRE_SPAN, true);
	uint64_t lost_cnt = lost_of(slice);
	struct records records = {};
	size_t *order = NULL;
	char what[64];
	int err = 0;

	s->lacks_switches = block_slice_lacks(slice, WIRE_SWITCH, true);
	if (block_slice_lacks(slice, WIRE_DIRTY, false))
		writeback_owners_clear(&s->owners);
	/* the end of a request may have been lost, and another request may use its address */
	if (block_slice_lacks(slice, WIRE_BLOCK_DONE, true) ||
	    request_track_addresses(s->requests) > ADDRESSES_MAX)
		err = forget_requests(s);
	if (!err && (lacks_spans || s->spans.request_cnt > ADDRESSES_MAX ||
		     s->span_numbers.cnt > ADDRESSES_MAX))
		err = forget_spans(s);
	for (size_t i = 0; i < s->cnt && !err; i++) {
		struct state *st = &s->states[i];

		st->fired = false;
		if (st->t.kind == TRIGGER_SPIKE)
			err = spike_snapshot(s, st, snapshot);
		snprintf(what, sizeof(what), "%" PRIu64 " events were lost", lost_cnt);
		if (!err && st->t.kind == TRIGGER_LOSS && lost_cnt > st->t.value)
			err = fire(s, st, slice->to_ns, what);
	}
	if (err || !s->hooks)
		return err;
	for (size_t i = 0; i < snapshot->len / sizeof(*rows) && !err; i++)
		if (!hash_map_get(&s->tasks, rows[i].task.tid))
			err = set_task(s, rows[i].task.tid, rows[i].task.pid, rows[i].task.comm);
	err = err ?: records_of(&records, rings, ring_cnt, s->hooks | TASK_HOOKS);
	if (!err && records.cnt) {
		order = array_order(records.v, records.cnt, sizeof(*records.v));
		err = order ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < records.cnt && !err; i++)
		err = feed_record(s, records.v[order[i]].h);
	if (s->lacks_switches)
		thread_states_forget(s->threads);
	free(order);
	free(records.v);
	if (!err)
		err = request_track_open(s->requests, io_open,
					 &(struct io_moment){ s, slice->to_ns });
	err = err ?: spans_slow(s, slice->to_ns, lacks_spans);
	s->fed_to_ns = slice->to_ns;
	return err;
}

int trigger_set_exit(struct trigger_set *s, uint64_t ts_ns, int status)
{
	uint64_t v = (uint64_t)status;
	char what[64];
	int err = 0;

	snprintf(what, sizeof(what), "the command ended with status %d", status);
	for (size_t i = 0; i < s->cnt && !err; i++) {
		const struct trigger *t = &s->states[i].t;

		if (t->kind != TRIGGER_EXIT)
			continue;
		s->states[i].fired = false;
		if (t->op == TRIGGER_ABOVE ? v > t->value
					   : (v == t->value) == (t->op == TRIGGER_IS))
			err = fire(s, &s->states[i], ts_ns, what);
	}
	return err;
}
