/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sql_functions: the SQL functions that read the trace. schema/tables.decl describes their results;
 * schema/TABLES.md and `ebpfrec sql --schema` are made from it. loss_index.h defines classes and
 * sources.
 */
#include "analyze/context/context.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "model/call.h"
#include "model/live_objects.h"
#include "model/quantile.h"
#include "analyze/context/code_text.h"
#include "analyze/engine/unowned.h"
/* report_view.h must follow fold/index.h: it defines macros with the names of that file's enums */
#include "analyze/engine/report_view.h"
#include "model/thread_states.h"
#include "table_columns.h"

static uint64_t real_of(const struct analysis *a, int64_t ts_ns)
{
	return trace_real_ns(a->trace, context_abs(a, ts_ns));
}

static void fn_wall_time(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	char date[64], text[96];
	uint64_t real;
	struct tm tm;
	time_t s;

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	real = real_of(a, sqlite3_value_int64(argv[0]));
	s = (time_t)(real / 1000000000u);
	if (!real || !gmtime_r(&s, &tm) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	snprintf(text, sizeof(text), "%s.%09uZ", date, (unsigned int)(real % 1000000000u));
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static void fn_unix_ns(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_int64(ctx, (int64_t)real_of(sqlite3_user_data(ctx),
							   sqlite3_value_int64(argv[0])));
}

static void name_result(sqlite3_context *ctx, enum trace_name_type type, sqlite3_value *id)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	const char *name = NULL;

	if (sqlite3_value_type(id) == SQLITE_INTEGER)
		name = name_text(a->trace, type, (uint64_t)sqlite3_value_int64(id));
	sqlite3_result_text(ctx, name, -1, SQLITE_TRANSIENT);
}

static void fn_symbol(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	name_result(ctx, TRACE_NAME_SYMBOL, argv[0]);
}

/* heap_weight(bytes): an integer if the heap is not sampled, so that sums are integers, too */
static void fn_heap_weight(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	uint64_t mean = a->heap_mean, bytes = (uint64_t)sqlite3_value_int64(argv[0]);

	if (!mean)
		sqlite3_result_int64(ctx, 1);
	else
		sqlite3_result_double(ctx, (double)heap_weight_cnt(mean, bytes) /
						   (double)heap_weight_unit(mean));
}

static void fn_heap_bytes(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);

	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_int64(ctx, (int64_t)heap_weight_bytes(
			a->heap_mean, (uint64_t)sqlite3_value_int64(argv[0])));
}

static void fn_heap_error(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	int64_t bytes = sqlite3_value_int64(argv[0]);

	if (a->heap_mean && sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_int64(ctx, (int64_t)heap_weight_error(
			a->heap_mean, bytes < 0 ? 0 : (uint64_t)bytes));
}

/* user_symbol(upid, addr, ts_ns) */
static void fn_user_symbol(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	const struct trace_site *s;
	char text[SITE_TEXT_MAX];

	for (int i = 0; i < 3; i++)
		if (sqlite3_value_type(argv[i]) != SQLITE_INTEGER)
			return;
	s = trace_site_find(a->trace, (uint32_t)sqlite3_value_int64(argv[0]),
			    (uint64_t)sqlite3_value_int64(argv[1]),
			    context_abs(a, sqlite3_value_int64(argv[2])));
	if (!s)
		return;
	site_text_format(text, sizeof(text), s, true, a->lines);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static void fn_code_text(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)sqlite3_value_int64(argv[1]));
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_value(ctx, argv[0]);
	else if (sqlite3_value_type(argv[1]) != SQLITE_NULL)
		sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static void add_stack(sqlite3_context *ctx, int argc, sqlite3_value **argv, bool of_modules)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	static const char *const parts[] = { [STACK_USER] = "user", [STACK_KERNEL] = "kernel",
					     [STACK_INTERRUPT] = "interrupt" };
	const char *name = argc > 2 ? (const char *)sqlite3_value_text(argv[2]) : NULL;
	unsigned int part = argc > 2 ? STACK_USER : STACK_ALL;
	struct buf out = { 0 };
	uint64_t stack, ts_ns;
	bool has;

	while (argc > 2 && part <= STACK_INTERRUPT && (!name || strcmp(name, parts[part])))
		part++;
	if (part > STACK_INTERRUPT) {
		sqlite3_result_error(
			ctx, "a part of a stack is 'user', 'kernel' or 'interrupt'", -1);
		return;
	}
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER ||
	    sqlite3_value_type(argv[1]) != SQLITE_INTEGER)
		return;
	stack = (uint64_t)sqlite3_value_int64(argv[0]);
	ts_ns = context_abs(a, sqlite3_value_int64(argv[1]));
	has = stack_text_add(&out, a->trace, stack, ts_ns, part,
			     of_modules ? STACK_MODULES :
			     a->has_raw_frames ? STACK_RAW : STACK_FOLDED,
			     of_modules ? NULL : a->lines);
	if (out.failed)
		sqlite3_result_error_nomem(ctx);
	else if (has)
		sqlite3_result_text(ctx, (const char *)out.data, -1, SQLITE_TRANSIENT);
	buf_done(&out);
}

/* stack_text(stack, ts_ns [, part]) */
static void fn_stack_text(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	add_stack(ctx, argc, argv, false);
}

/* stack_modules(stack, ts_ns [, part]) */
static void fn_stack_modules(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	add_stack(ctx, argc, argv, true);
}

static void fn_cache_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	name_result(ctx, TRACE_NAME_CACHE, argv[0]);
}

static void fn_file_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	const struct trace_name *n = NULL;

	if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER &&
	    sqlite3_value_type(argv[1]) == SQLITE_INTEGER)
		n = trace_file_find(a->trace, (uint32_t)sqlite3_value_int64(argv[0]),
				    (uint64_t)sqlite3_value_int64(argv[1]));
	if (n)
		sqlite3_result_text(ctx, n->name, -1, SQLITE_TRANSIENT);
}

static void fn_path_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	name_result(ctx, TRACE_NAME_PATH, argv[0]);
}

static void fn_device_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	uint64_t dev = (uint64_t)sqlite3_value_int64(argv[0]);
	const char *name = name_text(a->trace, TRACE_NAME_DEVICE, dev);
	char number[32];

	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER)
		return;
	snprintf(number, sizeof(number), "%u:%u", (unsigned int)(dev >> 20),
		 (unsigned int)(dev & 0xfffff));
	sqlite3_result_text(ctx, name && *name ? name : number, -1, SQLITE_TRANSIENT);
}

static void fn_errno_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *name = strerrorname_np(sqlite3_value_int(argv[0]));

	if (name && sqlite3_value_int64(argv[0]))
		sqlite3_result_text(ctx, name, -1, SQLITE_STATIC);
	else if (sqlite3_value_int64(argv[0]))
		sqlite3_result_value(ctx, argv[0]);
}

static void fn_irq_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	const char *type = (const char *)sqlite3_value_text(argv[0]), *name = NULL;

	if (type && sqlite3_value_type(argv[1]) == SQLITE_INTEGER)
		name = irq_vector_name(a->trace, irq_type_find(type),
				       (uint64_t)sqlite3_value_int64(argv[1]));
	if (name)
		sqlite3_result_text(ctx, name, -1, SQLITE_TRANSIENT);
}

/* Returns the needs of a class, a source, or "report VIEW". Sources NULL: an error was set. */
static struct loss_needs loss_needs_named(sqlite3_context *ctx, sqlite3_value *arg)
{
	static const char *const classes[][2] = {
		{ "all", "task,sched?,alloc?,block?" },
		{ "sched", "sched,sched.switch,sched.wakeup" },
		{ "alloc", "alloc,alloc.rss,alloc.slab,alloc.page" },
	};
	const char *name = (const char *)sqlite3_value_text(arg);
	const struct report_view *v =
		name && !strncmp(name, "report ", 7) ? report_view_find(name + 7) : NULL;

	for (unsigned int i = 0; name && i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!strcmp(name, classes[i][0]))
			return (struct loss_needs){ .sources = classes[i][1] };
	if (v)
		return v->needs;
	if (name && loss_source_class(name) < LOSS_CLASS_CNT)
		return (struct loss_needs){ .sources = name };
	sqlite3_result_error(ctx,
			     "a class ('task', 'sched', 'alloc', 'block', 'cpu', 'mem', 'app', "
			     "'all'), a source "
			     "or 'report VIEW' is expected",
			     -1);
	return (struct loss_needs){ .sources = NULL };
}

static uint64_t abs_of(const struct analysis *a, sqlite3_value *v)
{
	return context_abs(a, sqlite3_value_int64(v));
}

/* Sets the result for a window: whether it is complete, or the number of events lost in it. */
static void loss_result(sqlite3_context *ctx, const struct loss_needs *needs, bool wants_lost,
			sqlite3_value **window)
{
	struct analysis *a = sqlite3_user_data(ctx);
	uint64_t from_ns = abs_of(a, window[0]), to_ns = abs_of(a, window[1]);

	if (!needs->sources)
		return;
	if (wants_lost)
		sqlite3_result_int64(ctx, (int64_t)loss_index_lost(&a->losses, needs->sources,
								   from_ns, to_ns));
	else
		sqlite3_result_int(ctx, loss_index_is_complete(&a->losses, *needs, from_ns, to_ns,
							       NULL, NULL));
}

static void fn_lost_events(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct loss_needs needs = loss_needs_named(ctx, argv[0]);

	loss_result(ctx, &needs, true, argv + 1);
}

static void fn_is_complete(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct loss_needs needs = loss_needs_named(ctx, argv[0]);

	loss_result(ctx, &needs, false, argv + 1);
}

/*
 * Sets the result for the report's needs or, with a third argument, for the needs of a row about
 * that source.
 */
static void view_result(sqlite3_context *ctx, int argc, sqlite3_value **argv, bool wants_lost)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	const char *source = argc > 2 ? (const char *)sqlite3_value_text(argv[2]) : NULL;
	char room[LOSS_SOURCES_MAX];
	struct loss_needs needs = loss_needs_of(a->question->needs, source ? source : "", room);

	loss_result(ctx, &needs, wants_lost, argv);
}

static void fn_view_lost(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	view_result(ctx, argc, argv, true);
}

/*
 * A window is also incomplete if its requests of unknown owners may belong to the report's
 * processes.
 */
static void fn_view_complete(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	if (argc == 2 && unowned_of_window(sqlite3_user_data(ctx), sqlite3_value_int64(argv[0]),
					   sqlite3_value_int64(argv[1])).ios)
		sqlite3_result_int(ctx, 0);
	else
		view_result(ctx, argc, argv, false);
}

static struct request_cnt unowned_of(sqlite3_context *ctx, sqlite3_value **argv)
{
	return unowned_of_row(sqlite3_user_data(ctx), sqlite3_value_int64(argv[0]),
			      sqlite3_value_int64(argv[1]), sqlite3_value_int(argv[2]));
}

static void fn_view_unowned_ios(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_result_int64(ctx, (int64_t)unowned_of(ctx, argv).ios);
}

static void fn_view_unowned_bytes(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_result_int64(ctx, (int64_t)unowned_of(ctx, argv).bytes);
}

static void fn_unowned_ios(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_result_int64(ctx, (int64_t)unowned_count(sqlite3_user_data(ctx),
							 sqlite3_value_int64(argv[0]),
							 sqlite3_value_int64(argv[1])).ios);
}

static void fn_unowned_bytes(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_result_int64(ctx, (int64_t)unowned_count(sqlite3_user_data(ctx),
							 sqlite3_value_int64(argv[0]),
							 sqlite3_value_int64(argv[1])).bytes);
}

static void fn_was_recorded(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	const char *source = (const char *)sqlite3_value_text(argv[0]);

	if (source)
		sqlite3_result_int(ctx, trace_was_recorded(a->trace, source));
}

static void fn_source_off_ns(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct analysis *a = sqlite3_user_data(ctx);
	const char *sources = loss_needs_named(ctx, argv[0]).sources;

	if (sources)
		sqlite3_result_int64(ctx, (int64_t)loss_index_off_ns(&a->losses, sources,
								     abs_of(a, argv[1]),
								     abs_of(a, argv[2])));
}

/* Returns whether interrupts were recorded or, if the manifest is lost, whether there are any. */
static bool has_irqs(const struct analysis *a)
{
	const char *sources = trace_get(a->trace, "sources");
	size_t cnt, i = 0;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);

	if (sources)
		return strstr(sources, "sched.irq");
	while (i < cnt && !b[i].kind_cnt[EVENT_IRQ])
		i++;
	return i < cnt;
}

static void fn_irq_recorded(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct analysis *a = sqlite3_user_data(ctx);
	uint64_t from = abs_of(a, argv[0]), to = abs_of(a, argv[1]);

	context_clip(a, &from, &to);
	sqlite3_result_int(ctx, has_irqs(a) && loss_index_off_ns(&a->losses, "sched.irq", from,
								 to) < to - from);
}

/*
 * window_share(value, from, to, window_from, window_to): spreads a value evenly over [from, to),
 * and returns the part inside the window. Shares of adjacent windows add up exactly.
 */
static void fn_window_share(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	int64_t v[5], lo, hi, len;

	for (int i = 0; i < 5; i++) {
		if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
			return;
		v[i] = sqlite3_value_int64(argv[i]);
	}
	len = v[2] - v[1];
	if (len <= 0) {		/* an instant is in one window only */
		sqlite3_result_int64(ctx, v[1] >= v[3] && v[1] < v[4] ? v[0] : 0);
		return;
	}
	lo = v[3] > v[1] ? v[3] - v[1] : 0;
	hi = v[4] < v[2] ? v[4] - v[1] : len;
	if (lo >= hi || v[3] >= v[2] || v[4] <= v[1]) {
		sqlite3_result_int64(ctx, 0);
		return;
	}
	sqlite3_result_int64(ctx, (int64_t)((__int128)v[0] * hi / len) -
					  (int64_t)((__int128)v[0] * lo / len));
}

static void fn_is_covered(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct analysis *a = sqlite3_user_data(ctx);
	bool to_end = sqlite3_value_type(argv[1]) == SQLITE_NULL;

	sqlite3_result_int(ctx, loss_index_covered(&a->losses, abs_of(a, argv[0]),
						   to_end ? a->end_ns : abs_of(a, argv[1])));
}

/* Returns false if the number is not a valid id. */
static bool id_of(sqlite3_value *v, uint32_t *ret)
{
	int64_t id = sqlite3_value_int64(v);

	*ret = (uint32_t)id;
	return id >= 0 && id <= UINT32_MAX;
}

static void fn_in_scope(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct analysis *a = sqlite3_user_data(ctx);
	const struct scope *s = &a->question->scope;
	uint32_t upid, process;
	bool is_in = id_of(argv[0], &upid);

	process = dense_process(&a->ids, upid);
	is_in = is_in && (argc < 2 ? scope_has_process(s, process) :
				     scope_has_process_at(s, process, abs_of(a, argv[1]), NULL));
	sqlite3_result_int(ctx, is_in);
}

static void fn_thread_in_scope(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct analysis *a = sqlite3_user_data(ctx);
	const struct scope *s = &a->question->scope;
	uint32_t utid, thread;
	bool is_in = id_of(argv[0], &utid);

	thread = dense_thread(&a->ids, utid);
	is_in = is_in && (argc < 2 ? scope_has_thread(s, thread) :
				     scope_has_thread_at(s, thread, abs_of(a, argv[1]), NULL));
	sqlite3_result_int(ctx, is_in);
}

static void fn_scope_of_threads(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct analysis *a = sqlite3_user_data(ctx);

	sqlite3_result_int(ctx, scope_is_of_threads(&a->question->scope));
}

static void fn_task_key(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct analysis *a = sqlite3_user_data(ctx);
	const char *name = (const char *)sqlite3_value_text(argv[0]), *text;
	unsigned int key = 0;
	uint32_t upid;

	if (!name || !keys_parse(name, &key) || !key || key & (key - 1) || key & ~KEYS_TEXT) {
		sqlite3_result_error(ctx, "task_key(): a key is 'comm', 'cgroup', 'container', "
					  "'unit', 'user' or 'tree'", -1);
		return;
	}
	if (sqlite3_value_type(argv[1]) != SQLITE_INTEGER || !id_of(argv[1], &upid))
		return;
	text = task_keys_text(&a->keys, (unsigned int)__builtin_ctz(key),
			      dense_process(&a->ids, upid));
	if (text)
		sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_error_nomem(ctx);
}

/*
 * Converts an argument (time from the trace's start) for a lookup of names. UINT64_MAX: use the
 * last name, without a lookup.
 */
static uint64_t name_instant(struct analysis *a, sqlite3_value *ts_ns)
{
	int64_t at = sqlite3_value_type(ts_ns) == SQLITE_NULL ? INT64_MAX :
								sqlite3_value_int64(ts_ns);
	uint64_t abs_ns = context_abs(a, at);

	if (abs_ns + 1 < a->end_ns)
		return abs_ns;
	return trace_is_cut_short(a->trace) ? a->end_ns - 1 : UINT64_MAX;
}

static void name_at(sqlite3_context *ctx, struct analysis *a, uint32_t member, uint64_t at_ns,
		    const char *last)
{
	const struct task_name *x;

	if (at_ns != UINT64_MAX && task_names_prepare(&a->ids) < 0) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	x = at_ns == UINT64_MAX ? NULL : task_name_at(&a->ids, member, at_ns);
	sqlite3_result_text(ctx, x ? x->name : last, -1, SQLITE_TRANSIENT);
}

static void fn_comm_at(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct analysis *a = sqlite3_user_data(ctx);
	uint32_t upid, process;

	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || !id_of(argv[0], &upid))
		return;
	process = dense_process(&a->ids, upid);
	name_at(ctx, a, a->ids.thread_cnt + process, name_instant(a, argv[1]),
		dense_process_comm(&a->ids, process));
}

static void fn_thread_comm_at(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct analysis *a = sqlite3_user_data(ctx);
	uint32_t utid, thread;

	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || !id_of(argv[0], &utid))
		return;
	thread = dense_thread(&a->ids, utid);
	name_at(ctx, a, thread, name_instant(a, argv[1]), dense_thread_comm(&a->ids, thread));
}

static void fn_thread_state(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	uint64_t bits = (uint64_t)sqlite3_value_int64(argv[0]);

	const char *name = task_state_of_bits(bits) == TASK_STATE_DEAD ?
				   "dead" : thread_state_name(thread_state_of_bits(bits));

	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_text(ctx, name, -1, SQLITE_STATIC);
}

static void fn_call_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	const char *name = call_name(call_machine_of(trace_get(a->trace, "machine")),
				     (uint32_t)sqlite3_value_int64(argv[0]));

	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && name)
		sqlite3_result_text(ctx, name, -1, SQLITE_STATIC);
}

/* object_name(call, object [, utid, ts_ns]) */
static void fn_object_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);
	uint32_t utid = argc > 2 ? (uint32_t)sqlite3_value_int64(argv[2]) : EVENT_ID_UNKNOWN;
	uint64_t ts_ns = argc > 3 ? context_abs(a, sqlite3_value_int64(argv[3])) : UINT64_MAX;
	char text[OBJECT_TEXT_BYTES];

	if (object_text(a->trace, utid, ts_ns, (uint32_t)sqlite3_value_int64(argv[0]),
			(uint64_t)sqlite3_value_int64(argv[1]), text))
		sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static void fn_cpu_list(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	uint64_t mask = (uint64_t)sqlite3_value_int64(argv[0]);
	sqlite3_str *s = sqlite3_str_new(NULL);
	unsigned int from, to = 0;

	while (to < 64) {
		for (from = to; from < 64 && !(mask >> from & 1); from++)
			;
		for (to = from; to < 64 && mask >> to & 1; to++)
			;
		if (to > from)
			sqlite3_str_appendf(s, to > from + 1 ? "%s%u-%u" : "%s%u",
					    sqlite3_str_length(s) ? "," : "", from, to - 1);
	}
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_text(ctx, sqlite3_str_value(s) ?: "", -1, SQLITE_TRANSIENT);
	sqlite3_free(sqlite3_str_finish(s));
}

static void fn_duration_text(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	char text[UNITS_TEXT_MAX];
	int64_t ns = sqlite3_value_int64(argv[0]);

	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && ns >= 0)
		sqlite3_result_text(ctx, units_format_duration(text, sizeof(text), (uint64_t)ns),
				    -1, SQLITE_TRANSIENT);
}

static void fn_size_class(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	int64_t v = sqlite3_value_int64(argv[0]);

	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_int64(
			ctx, v > 0 ? (int64_t)(1ull << (63 - __builtin_clzll((uint64_t)v))) : 0);
}

static void fn_page_bytes(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);

	sqlite3_result_int64(ctx, trace_page_bytes(a->trace));
}

static void fn_trace_finished(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct analysis *a = sqlite3_user_data(ctx);

	sqlite3_result_int(ctx, trace_is_finished(a->trace));
}

struct percentile {
	struct quantile negative;	/* absolute values of numbers below 0 */
	struct quantile other;
	double pct;
};

static void percentile_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct percentile *p = sqlite3_aggregate_context(ctx, sizeof(*p));
	int type = sqlite3_value_numeric_type(argv[0]), r;
	int64_t v;

	if (!p) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	p->pct = sqlite3_value_double(argv[1]);
	if ((sqlite3_value_numeric_type(argv[1]) != SQLITE_INTEGER &&
	     sqlite3_value_numeric_type(argv[1]) != SQLITE_FLOAT) ||
	    !(p->pct >= 0 && p->pct <= 100)) {
		sqlite3_result_error(ctx, "percentile(x, p): p must be a number from 0 to 100", -1);
		return;
	}
	if (type == SQLITE_NULL)
		return;
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
		sqlite3_result_error(ctx, "percentile(x, p): x must be a number", -1);
		return;
	}
	v = sqlite3_value_int64(argv[0]);
	r = v < 0 ? quantile_add(&p->negative, -(uint64_t)v) : quantile_add(&p->other, (uint64_t)v);
	if (r < 0)
		sqlite3_result_error_nomem(ctx);
}

/*
 * Returns the value with a rank, from 1, in ascending order. quantile_get() rounds ranks up, hence
 * - 0.5.
 */
static uint64_t value_of_rank(struct quantile *q, uint64_t rank)
{
	if (rank <= 1)
		return q->min;
	if (rank >= q->cnt)
		return q->max;
	return quantile_get(q, ((double)rank - 0.5) * 100 / (double)q->cnt);
}

static void percentile_final(sqlite3_context *ctx)
{
	struct percentile *p = sqlite3_aggregate_context(ctx, 0);
	uint64_t cnt, rank;

	if (!p)
		return;
	cnt = p->negative.cnt + p->other.cnt;
	/* rounded as in quantile_get() */
	rank = (uint64_t)ceil(p->pct * (double)cnt / 100 - 1e-9);
	rank = rank < 1 ? 1 : rank > cnt ? cnt : rank;
	/* the lowest value has the largest absolute value */
	if (cnt && rank <= p->negative.cnt)
		sqlite3_result_int64(ctx, (int64_t)-value_of_rank(&p->negative,
								  p->negative.cnt - rank + 1));
	else if (cnt)
		sqlite3_result_int64(ctx, (int64_t)value_of_rank(&p->other,
								 rank - p->negative.cnt));
	quantile_done(&p->negative);
	quantile_done(&p->other);
}

int sql_functions_register(struct analysis *a, struct err *e)
{
	static const struct {
		const char *name;
		int args;
		void (*fn)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
#define FUNCTION(name_, args_) { #name_, args_, fn_##name_ },
		SQL_FUNCTIONS(FUNCTION)
		/* variants with a source as third argument */
		{ "view_complete", 3, fn_view_complete }, { "view_lost", 3, fn_view_lost },
	};
	/*
	 * not DETERMINISTIC: reading may discover damage, so is_complete() must be called each time
	 */
	int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS;
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && rc == SQLITE_OK; i++)
		rc = sqlite3_create_function(a->db, functions[i].name, functions[i].args, flags, a,
					     functions[i].fn, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(a->db, "percentile", 2, flags, a, NULL,
					     percentile_step, percentile_final);
	return rc == SQLITE_OK ? 0 : err_set(e, -EIO, "SQL functions: %s", sqlite3_errmsg(a->db));
}
