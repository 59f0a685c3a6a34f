/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Every column that schema/events/ declares, filled: the target of its number (a thread, a process,
 * a stack, a code address, a name) is in a cut, in a redacted copy, and in a redacted cut, which is
 * the content of a bundle. The events come from the declarations, so a new column is tested as soon
 * as it is declared. Likewise the strings of all rows are passed to a redaction.
 */
#include "analyze/analyze.h"
#include "edit/trace_cut.h"
#include "edit/trace_redact.h"
#include "format/columns.h"
#include "store/store_writer.h"
#include "tests/unit/gen/gen_trace.h"
#include "trace/trace_state.h"
#include "tests/unit/unit_test.h"

#define BLOCKS 2
#define BLOCK_NS 1000000u
#define START_NS 5000000000u

static char dir[64];

/* ---- the trace ---- */

struct maker {
	struct row_writer rows[CHUNK_SMALL_END];
	uint64_t next_id;
	char text[64];
	struct event events[2 * EVENT_KIND_CNT];
	size_t event_cnt;
};

static const char *text_of(struct maker *m, const char *what, uint64_t id)
{
	snprintf(m->text, sizeof(m->text), "%s-%llu", what, (unsigned long long)id);
	return m->text;
}

static void add_name(struct maker *m, unsigned int type, uint64_t id, uint64_t arg)
{
	struct trace_name n = { .id = id, .arg = arg, .type = type };

	n.name = text_of(m, "name", id * 10 + type);
	row_put_name(&m->rows[CHUNK_NAMES], &n);
}

static uint32_t add_process(struct maker *m)
{
	uint32_t id = (uint32_t)m->next_id++;
	struct trace_process p = { .upid = id, .pid = id, .parent_upid = EVENT_ID_UNKNOWN,
				   .start_ns = 1, .cgroup_id = id, .uid = id % 900 };

	p.comm = p.exe = p.cmdline = text_of(m, "p", id);
	row_put_process(&m->rows[CHUNK_PROCESSES], &p);
	add_name(m, TRACE_NAME_CGROUP, id, 0);
	add_name(m, TRACE_NAME_USER, p.uid + 1ull, 0);
	return id;
}

static uint32_t add_thread(struct maker *m)
{
	uint32_t upid = add_process(m), id = (uint32_t)m->next_id++;
	struct trace_thread h = { .utid = id, .upid = upid, .tid = id, .start_ns = 1 };

	h.comm = text_of(m, "t", id);
	row_put_thread(&m->rows[CHUNK_THREADS], &h);
	return id;
}

static void add_site(struct maker *m, uint32_t upid, uint64_t addr)
{
	struct trace_site s = { .upid = upid, .addr = addr, .build_id = "ab12" };

	s.symbol = s.module = text_of(m, "f", addr);
	row_put_site(&m->rows[CHUNK_SITES], &s);
}

/* Adds a stack with a kernel frame and a user frame. */
static uint64_t add_stack(struct maker *m)
{
	uint64_t id = m->next_id++;
	struct trace_frame kernel = { .stack = id, .addr = m->next_id++ },
			   user = { .stack = id, .nth = 1, .addr = m->next_id++ };

	user.upid = add_process(m);
	add_name(m, TRACE_NAME_SYMBOL, kernel.addr, 0);
	add_site(m, user.upid, user.addr);
	row_put_frame(&m->rows[CHUNK_FRAMES], &kernel);
	row_put_frame(&m->rows[CHUNK_FRAMES], &user);
	return id;
}

static uint64_t fill(struct maker *m, const struct event *ev, const struct event_column *col)
{
	switch (col->refers) {
	case EVENT_REFERS_NOTHING:
		return col->shown ? 1 : m->next_id++;
	case EVENT_REFERS_THREAD:
		return add_thread(m);
	case EVENT_REFERS_PROCESS:
		return add_process(m);
	case EVENT_REFERS_STACK:
		return add_stack(m);
	case EVENT_REFERS_SITE:
		/* the thread was made after its process */
		add_site(m, ev->utid - 1, m->next_id);
		return m->next_id++;
	case EVENT_REFERS_FILE: /* the next column will be the next number */
		add_name(m, TRACE_NAME_FILE, m->next_id, m->next_id + 1);
		return m->next_id++;
	default:
		add_name(m, col->refers - EVENT_REFERS_NAME, m->next_id, 0);
		return m->next_id++;
	}
}

/* Rows with strings that no event refers to. */
static void add_others(struct maker *m, uint64_t ts_ns)
{
	union any_row mark = { .mark = { .ts_ns = ts_ns } },
		  gap = { .gap = { .from_ns = ts_ns, .to_ns = ts_ns + 1 } },
		  event = { .task_event = { .ts_ns = ts_ns, .utid = add_thread(m) } };

	/* the last one is of a later recorder */
	for (unsigned int type = 1; type <= TRACE_NAME_TYPE_CNT; type++)
		add_name(m, type, m->next_id++, 0);
	mark.mark.text = text_of(m, "Mark", m->next_id);
	row_put(&m->rows[CHUNK_MARKS], row_type_of(CHUNK_MARKS), &mark);
	gap.gap.source = gap.gap.reason = text_of(m, "Gap", m->next_id);
	row_put(&m->rows[CHUNK_GAPS], row_type_of(CHUNK_GAPS), &gap);
	event.task_event.upid = add_process(m);
	event.task_event.comm = event.task_event.exe = event.task_event.cmdline =
		text_of(m, "event", m->next_id);
	row_put(&m->rows[CHUNK_TASK_EVENTS], row_type_of(CHUNK_TASK_EVENTS), &event);
}

/* An event of each kind, each with a thread of its own. */
static void add_events(struct maker *m, uint64_t ts_ns)
{
	const struct event_column *col;
	unsigned int kind, i;

	for (kind = 1; kind < EVENT_KIND_CNT; kind++) {
		struct event *ev = &m->events[m->event_cnt];

		if (!event_kind_values(kind))
			continue;
		*ev = (struct event){ .ts_ns = ts_ns + kind, .kind = (uint8_t)kind };
		ev->utid = add_thread(m);
		for (i = 0; (col = event_column(kind, i)); i++)
			ev->v[i] = fill(m, ev, col);
		m->event_cnt++;
	}
}

static void append(struct store_writer *w, struct maker *m, uint64_t number)
{
	struct disk_block head = { .number = number, .cpu_cnt = 1 };
	const struct row_cpu_state idle = { 0, EVENT_ID_IDLE };
	struct block_out o;
	const void *bytes;
	size_t cnt;

	head.from_ns = START_NS + number * BLOCK_NS;
	head.to_ns = head.from_ns + BLOCK_NS;
	for (unsigned int s = 0; s < CHUNK_SMALL_END; s++)
		m->rows[s].base_ns = head.from_ns;
	m->event_cnt = 0;
	row_put_cpu_state(&m->rows[CHUNK_CPU_STATE], &idle);
	add_events(m, head.from_ns + 10);
	add_others(m, head.from_ns + 10);
	assert_int_equal(block_out_init(&o, 0), 0);
	block_out_begin(&o);
	for (unsigned int s = 0; s < CHUNK_SMALL_END; s++) {
		block_out_add_rows(&o, s, &m->rows[s]);
		buf_reset(&m->rows[s].out);
		m->rows[s].cnt = 0;
	}
	assert_int_equal(block_events_add(&o, m->events, m->event_cnt, &head), 0);
	assert_int_equal(block_out_seal(&o, &head, &bytes, &cnt), 0);
	assert_int_equal(store_writer_append(w, bytes, cnt, 0, NULL), 0);
	block_out_done(&o);
}

static void make(const char *path)
{
	const struct store_config config = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct maker m = { .next_id = 1000 };
	struct store_writer *w;

	assert_int_equal(store_writer_create(&w, path, &config, NULL), 0);
	for (unsigned int i = 0; i < BLOCKS; i++)
		append(w, &m, i);
	assert_int_equal(store_writer_finish(w, NULL), 0);
	for (unsigned int i = 0; i < CHUNK_SMALL_END; i++)
		buf_done(&m.rows[i].out);
}

/* ---- the target of a column, in words ---- */

struct words {
	char text[2000];
	size_t missing;
};

static void __attribute__((format(printf, 2, 3))) say(struct words *w, const char *fmt, ...)
{
	size_t n = strlen(w->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->text + n, sizeof(w->text) - n, fmt, ap);
	va_end(ap);
}

static void say_name(struct words *w, const struct trace_name *n)
{
	w->missing += !n;
	say(w, " %s", n ? n->name : "(no name)");
}

static void say_process(struct words *w, const struct trace *t, uint32_t upid)
{
	const struct trace_process *p = trace_process_find(t, upid);

	w->missing += !p;
	if (!p)
		return;
	say(w, " %u %s %s %s", p->pid, p->comm, p->exe, p->cmdline);
	say_name(w, trace_name_find(t, TRACE_NAME_CGROUP, p->cgroup_id));
	say_name(w, trace_name_find(t, TRACE_NAME_USER, p->uid + 1ull));
}

static void say_thread(struct words *w, const struct trace *t, uint32_t utid)
{
	const struct trace_thread *h = trace_thread_find(t, utid);

	w->missing += !h;
	if (h) {
		say(w, " %u %s", h->tid, h->comm);
		say_process(w, t, h->upid);
	}
}

static void say_site(struct words *w, const struct trace *t, uint32_t upid, uint64_t addr)
{
	const struct trace_site *s = trace_site_find(t, upid, addr, UINT64_MAX);

	w->missing += !s;
	if (s)
		say(w, " %s %s %s", s->symbol, s->module, s->build_id);
	say_process(w, t, upid);
}

static void say_stack(struct words *w, const struct trace *t, uint64_t stack)
{
	size_t cnt, i;
	const struct trace_frame *f = trace_stack_find(t, stack, &cnt);

	w->missing += cnt != 2;
	for (i = 0; i < cnt; i++)
		if (f[i].upid)
			say_site(w, t, f[i].upid, f[i].addr);
		else
			say_name(w, trace_name_find(t, TRACE_NAME_SYMBOL, f[i].addr));
}

static void say_column(struct words *w, const struct trace *t, const struct event *ev,
		       const struct event_column *col)
{
	uint64_t v = ev->v[col->index];

	say(w, "; %s %llu", col->name, (unsigned long long)v);
	if (col->refers == EVENT_REFERS_THREAD)
		say_thread(w, t, (uint32_t)v);
	else if (col->refers == EVENT_REFERS_PROCESS)
		say_process(w, t, (uint32_t)v);
	else if (col->refers == EVENT_REFERS_STACK)
		say_stack(w, t, v);
	else if (col->refers == EVENT_REFERS_SITE)
		say_site(w, t, trace_thread_find(t, ev->utid)->upid, v);
	else if (col->refers == EVENT_REFERS_FILE)
		say_name(w, trace_file_find(t, (uint32_t)ev->v[col->index + 1], v));
	else if (col->refers > EVENT_REFERS_NAME)
		say_name(w, trace_name_find(t, col->refers - EVENT_REFERS_NAME, v));
}

static void say_event(struct words *w, const struct trace *t, const struct event *ev)
{
	const struct event_column *col;

	w->text[0] = 0;
	w->missing = 0;
	say(w, "%s:", event_kind_name(ev->kind));
	say_thread(w, t, ev->utid);
	for (unsigned int i = 0; (col = event_column(ev->kind, i)); i++)
		say_column(w, t, ev, col);
}

/* Both traces have the same events, whose columns refer to the same targets. */
static void compare(const char *old_path, const char *new_path)
{
	struct event_cursor *old_events, *new_events;
	const struct event *a, *b;
	struct words wa, wb;
	struct trace *old, *new;
	size_t cnt = 0;

	assert_int_equal(trace_open(&old, old_path, NULL), 0);
	assert_int_equal(trace_open(&new, new_path, NULL), 0);
	assert_int_equal(event_cursor_open(&old_events, old, UINT32_MAX, 0, UINT64_MAX, NULL), 0);
	assert_int_equal(event_cursor_open(&new_events, new, UINT32_MAX, 0, UINT64_MAX, NULL), 0);
	while (event_cursor_next(old_events, &a, NULL) > 0) {
		assert_int_equal(event_cursor_next(new_events, &b, NULL), 1);
		say_event(&wa, old, a);
		say_event(&wb, new, b);
		if (strcmp(wa.text, wb.text) || wa.missing || wb.missing)
			fail_msg("%s: %zu and %zu are missing:\n%s\n%s", new_path, wa.missing,
				 wb.missing, wa.text, wb.text);
		cnt++;
	}
	assert_int_equal(event_cursor_next(new_events, &b, NULL), 0);
	assert_in_range(cnt, BLOCKS * 15, BLOCKS * EVENT_KIND_CNT);
	event_cursor_close(old_events);
	event_cursor_close(new_events);
	trace_close(old);
	trace_close(new);
}

/* ---- copies ---- */

/* All but the last instant, so that every block is written again. */
static void cut(const char *path, const char *new_path)
{
	struct trace_cut_request q = { .from_ns = START_NS, .reason = "cut",
				       .to_ns = START_NS + BLOCKS * BLOCK_NS - 1,
				       .before = analysis_checkpoint };
	struct trace_cut_result r;
	struct err e = { "" };
	struct analysis *a;
	struct trace *t;

	assert_int_equal(trace_open(&t, path, NULL), 0);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	q.before_ctx = a;
	if (trace_cut(t, &q, new_path, &r, &e) < 0)
		fail_msg("%s", e.text);
	analysis_close(a);
	trace_close(t);
}

/* Every word is kept, so that the copy says the same, if it says it at all. */
static void redact(const char *path, const char *new_path)
{
	static const char *const all[] = { "*" };
	const struct redact_options o = { .keep = all, .keep_cnt = 1 };
	struct redact_result r;
	struct err e = { "" };
	struct trace *t;

	assert_int_equal(trace_open(&t, path, NULL), 0);
	if (trace_redact(t, new_path, &o, &r, &e) < 0)
		fail_msg("%s", e.text);
	trace_close(t);
}

/* The texts of names of an unknown type; each may have any content. */
static size_t unknown_names(const char *path)
{
	struct trace_block_open o = { 0 };
	struct row_reader in;
	struct trace *t;
	union any_row row;
	size_t cnt = 0;

	assert_int_equal(trace_open(&t, path, NULL), 0);
	for (size_t i = 0; i < trace_block_cnt(t); i++) {
		struct trace_reader *r = trace_own_reader(t);

		assert_int_equal(trace_block_open(t, r, i, &o, NULL), 0);
		assert_int_equal(block_meta_rows(o.meta, r->zunpack, CHUNK_NAMES, &in), 0);
		while (row_get(&in, row_type_of(CHUNK_NAMES), &row) > 0)
			cnt += row.name.type >= TRACE_NAME_TYPE_CNT && *row.name.name;
		block_meta_free(o.meta);
	}
	trace_close(t);
	return cnt;
}

UNIT_TEST(test_copies_lose_nothing_that_a_column_refers_to)
{
	char whole[80], part[80], redacted[80], bundled[80];

	gen_temp_dir(dir);
	snprintf(whole, sizeof(whole), "%s/whole", dir);
	snprintf(part, sizeof(part), "%s/cut", dir);
	snprintf(redacted, sizeof(redacted), "%s/redacted", dir);
	snprintf(bundled, sizeof(bundled), "%s/bundled", dir);
	make(whole);
	compare(whole, whole);
	cut(whole, part);
	compare(whole, part);
	redact(whole, redacted);
	compare(whole, redacted);
	assert_int_equal(unknown_names(whole), BLOCKS);
	assert_int_equal(unknown_names(redacted), 0);
	redact(part, bundled);
	compare(whole, bundled);
	gen_remove_dir(dir);
}

/* ---- strings ---- */

struct texts {
	const char *v[10000];	/* those of the trace, which has each once in memory */
	size_t cnt;
	size_t kinds[REDACT_KIND_CNT];
};

static void add_text(void *ctx, enum redact_kind kind, const char *text)
{
	struct texts *x = ctx;

	assert_true(x->cnt < sizeof(x->v) / sizeof(x->v[0]));
	x->v[x->cnt++] = text;
	x->kinds[kind]++;
}

/* Takes a text out again. False: it is not there. */
static bool take_text(struct texts *x, const char *text)
{
	for (size_t i = 0; i < x->cnt; i++)
		if (x->v[i] == text) {
			x->v[i] = x->v[--x->cnt];
			return true;
		}
	return false;
}

/* The number of strings in the rows of a list; removes each from x. */
static size_t take_list(struct texts *x, const struct trace *t, unsigned int list)
{
	const struct row_type *of = trace_list_type(list);
	const void *at;
	union any_row row;
	const char **s;
	size_t cnt = 0;

	for (size_t i = 0; (at = trace_row_at(t, list, i)); i++) {
		memcpy(&row, at, of->bytes);
		for (unsigned int nth = 0; (s = row_string(of, &row, nth)); nth++, cnt++)
			if (!**s || !take_text(x, *s))
				fail_msg("list %u, string %u: '%s' was not handed over", list, nth,
					 *s);
	}
	return cnt;
}

UNIT_TEST(test_every_declared_string_is_seen)
{
	static struct texts x;
	unsigned int list, nth;
	union any_row row;
	struct trace *t;
	char path[80];

	gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/whole", dir);
	make(path);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	trace_strings_each(t, add_text, &x);
	for (list = 0; list < TRACE_LIST_CNT; list++) {
		const struct row_type *of = trace_list_type(list);

		for (nth = 0; of && row_string(of, &row, nth); nth++)
			;
		/* names are in the lists of their types */
		if (!take_list(&x, t, list) && nth && list != CHUNK_NAMES &&
		    list != TRACE_LIST_NAMES)
			fail_msg("no row of list %u has a string: the test lacks one", list);
	}
	assert_int_equal(x.cnt, 0);
	assert_int_equal(x.kinds[REDACT_MARK], BLOCKS);
	assert_int_equal(x.kinds[REDACT_NOTE], 2 * BLOCKS);
	assert_in_range(x.kinds[REDACT_USER], 1, 100000);
	trace_close(t);
	gen_remove_dir(dir);
}

UNIT_TESTS
