/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * analysis: opens an in-memory SQLite database whose tables read the trace, and sets up the state
 * that the tables share.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/context/context.h"
#include "analyze/engine/statement.h"
#include "analyze/engine/table.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/folds.h"
#include "analyze/fold/index.h"
#include "analyze/fold/index_memory.h"
#include "symbol/source_lines.h"
#include "trace/derived_file.h"

/* Decoding this many events takes about as long as opening an index. */
#define FEW_EVENTS 1000000

/* Marks blocks as clean: no later block has a record from before a clean block's start. */
static int find_clean_blocks(struct analysis *a)
{
	size_t cnt, i;
	const struct trace_block *blocks = trace_blocks(a->trace, &cnt);
	uint64_t first = UINT64_MAX;

	a->block_is_clean = calloc(cnt + 1, 1);
	if (!a->block_is_clean)
		return -ENOMEM;
	for (i = cnt; i-- > 0;) {
		if (trace_block_events(&blocks[i], UINT32_MAX) && blocks[i].first_ns < first)
			first = blocks[i].first_ns;
		a->block_is_clean[i] = first >= blocks[i].from_ns;
	}
	return 0;
}

/* Marks the CPUs with switches in the last block, which no later keyframe covers. */
static int mark_switching(struct analysis *a, uint8_t *exists, unsigned int cnt, struct err *e)
{
	size_t block_cnt;
	const struct trace_block *blocks = trace_blocks(a->trace, &block_cnt);
	const struct event *ev;
	struct event_cursor *c;
	int ret;

	if (!block_cnt)
		return 0;
	ret = event_cursor_open(&c, a->trace, 1u << EVENT_SWITCH, blocks[block_cnt - 1].from_ns,
				UINT64_MAX, e);
	if (ret < 0)
		return ret;
	while ((ret = event_cursor_next(c, &ev, e)) > 0)
		if (ev->cpu < cnt)
			exists[ev->cpu] = 1;
	event_cursor_close(c);
	return ret;
}

/* Lists the CPUs on which a thread ran. CPUs without a thread are assumed not to exist. */
static int find_cpus(struct analysis *a, struct err *e)
{
	unsigned int cnt = trace_cpu_cnt(a->trace), i, missing = 0;
	uint8_t *exists = calloc(cnt + 1, 1);
	size_t block_cnt, b;
	int ret = 0;

	a->cpus = calloc(cnt + 1, sizeof(*a->cpus));
	if (!exists || !a->cpus) {
		free(exists);
		return err_set(e, -ENOMEM, "out of memory");
	}
	trace_blocks(a->trace, &block_cnt);
	for (i = 0; i < cnt; i++) {
		for (b = block_cnt; b-- > 0 && !exists[i];)
			exists[i] = trace_block_running(a->trace, b, i) != EVENT_ID_UNKNOWN;
		missing += !exists[i];
	}
	if (missing)
		ret = mark_switching(a, exists, cnt, e);
	for (i = 0; i < cnt; i++)
		if (exists[i])
			a->cpus[a->cpu_cnt++] = i;
	free(exists);
	return ret;
}

static int open_db(struct analysis *a, struct err *e)
{
	char *msg = NULL;
	int ret;

	if (sqlite3_open_v2(":memory:", &a->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return err_set(e, -ENOMEM, "SQLite: %s",
			       a->db ? sqlite3_errmsg(a->db) : "out of memory");
	/* a misspelt "column" is an error, not a text */
	sqlite3_db_config(a->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(a->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	ret = table_vtab_register(a, e) ?: sql_functions_register(a, e);
	if (!ret && sqlite3_exec(a->db, schema_text("views"), NULL, NULL, &msg) != SQLITE_OK)
		ret = err_set(e, -EIO, "schema/views.sql: %s", msg ? msg : "out of memory");
	sqlite3_free(msg);
	return ret;
}

/* Reads the current contents of the trace. After an error, call drop_trace(), too. */
static int take_in_trace(struct analysis *a, struct err *e)
{
	int r;

	a->start_ns = trace_start_ns(a->trace);
	a->end_ns = trace_end_ns(a->trace);
	if (a->end_ns < a->start_ns)
		a->end_ns = a->start_ns;
	a->heap_mean = trace_get_number(a->trace, "heap.sample_bytes");
	task_keys_init(&a->keys, &a->ids);
	r = dense_init(&a->ids, a->trace) ?: loss_index_init(&a->losses, a->trace);
	r = r ?: find_clean_blocks(a);
	if (r < 0)
		return err_set(e, r, "out of memory");
	return find_cpus(a, e);
}

static void drop_trace(struct analysis *a)
{
	task_keys_done(&a->keys);
	dense_done(&a->ids);
	loss_index_done(&a->losses);
	free(a->block_is_clean);
	free(a->cpus);
	a->block_is_clean = NULL;
	a->cpus = NULL;
	a->cpu_cnt = 0;
}

int analysis_open(struct analysis **ret, struct trace *t, struct err *e)
{
	struct analysis *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_set(e, -ENOMEM, "out of memory");
	a->trace = t;
	a->stop = &a->is_given_up;
	a->question = &question_of_all;
	r = take_in_trace(a, e) ?: open_db(a, e);
	if (r < 0) {
		analysis_close(a);
		return r;
	}
	*ret = a;
	return 0;
}

int analysis_refresh(struct analysis *a, uint64_t follow_from_ns, struct err *e)
{
	int r;

	drop_trace(a);
	r = take_in_trace(a, e);
	a->index_use.follow_from_ns = follow_from_ns;
	if (r < 0 || !a->index || index_follow_on(a->index))
		return r;
	index_free(a->index);
	a->index = NULL;
	a->index_tries = 0;
	return 0;
}

void analysis_close(struct analysis *a)
{
	if (!a)
		return;
	analysis_close(a->helper);
	trace_close(a->helper_trace);
	statement_forget_all(a);
	scan_memo_free(a->memo);
	sqlite3_close_v2(a->db);
	index_free(a->index);
	drop_trace(a);
	source_lines_free(a->lines);
	free(a);
}

void analysis_use_index(struct analysis *a, const struct analysis_index_use *use)
{
	index_free(a->index);
	a->index = NULL;
	a->index_use = *use;
	a->index_tries = 0;
	a->direct_kinds = 0;
}

int analysis_use_lines(struct analysis *a, const char *root, const struct symbol_dirs *dirs)
{
	return source_lines_new(&a->lines, root, dirs);
}

void analysis_use_raw_frames(struct analysis *a)
{
	a->has_raw_frames = true;
}

bool analysis_lines_missing(const struct analysis *a, unsigned int nr, const char **ret_path,
			    const char **ret_why)
{
	return a->lines && source_lines_missing(a->lines, nr, ret_path, ret_why);
}

int analysis_prepare(struct analysis *a, struct err *e)
{
	const struct index *x;

	return analysis_index_of(a, ANALYSIS_KINDS | ANALYSIS_STATES, &x, e);
}

int analysis_prepare_window(struct analysis *a, uint32_t kinds, uint64_t from_ns, uint64_t to_ns,
			    struct err *e)
{
	const struct index *x;
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);
	uint32_t read = kinds | (kinds & ANALYSIS_STATES ? fold_states.kinds : 0) |
			(kinds & ANALYSIS_RATES ? fold_rates.kinds : 0);
	struct index *opened;
	bool few;
	int r;

	for (unsigned int part = 0; part <= CHECKPOINT_IRQ; part++)
		read |= kinds & ANALYSIS_CARRIED(part) ? fold_carried[part].kinds : 0;
	few = context_events(a, read, from_ns, to_ns) <= FEW_EVENTS;
	a->direct_kinds = few && !a->index_use.always ? kinds : 0;
	if (!a->direct_kinds)
		return analysis_index_of(a, kinds, &x, e);
	r = index_open_if_used(a, &opened, e);
	for (i = 0; i < cnt && !r; i++)
		if (b[i].first_ns < to_ns && b[i].to_ns > from_ns &&
		    trace_block_events(&b[i], read) &&
		    trace_block_verify(a->trace, i, NULL) == -ENOMEM)
			r = err_set(e, -ENOMEM, "out of memory");
	return r;
}

bool analysis_knows_block(struct analysis *a, size_t block)
{
	return a->index && index_is_true(a->index) && block < index_read_cnt(a->index);
}

void analysis_interrupt(struct analysis *a)
{
	sqlite3_interrupt(a->db);
}

void analysis_give_up(struct analysis *a, bool is_given_up)
{
	a->is_given_up = is_given_up;
	if (is_given_up)
		analysis_interrupt(a);
}

bool analysis_sql_is_complete(const char *text)
{
	return sqlite3_complete(text);
}

/* ---- tables ---- */

unsigned int schema_tables(const struct schema_table **ret)
{
	static struct schema_table tables[64];
	static unsigned int cnt;
	const struct table_def *d;
	unsigned int i, n = 0;

	for (i = 0; !cnt && (d = table_at(i)) && n < 64; i++)
		if (d->is_exported)
			tables[n++] = (struct schema_table){ d->name, d->doc, d->kinds != 0 };
	if (!cnt)
		cnt = n;
	*ret = tables;
	return cnt;
}

/*
 * Formats a SELECT of all columns, ordered by time, of the rows in the window of the parameters
 * :from and :to. whole: select all rows, and do not cut intervals at the window.
 */
static int select_rows(const struct table_def *def, bool whole, char *buf, size_t size)
{
	const char *where = whole ? NULL : def->window;
	/* the function's arguments select the window */
	bool has_args = !whole && !where && def->arg_cnt;
	bool ordered = !def->is_ordered && def->time_col >= 0;
	int len;

	len = snprintf(buf, size, "SELECT * FROM main.\"%s\"%s%s%s%s%s", def->name,
		       has_args ? "(:from, :to)" : "", where ? " WHERE " : "", where ? where : "",
		       ordered ? " ORDER BY " : "",
		       ordered ? def->cols[def->time_col].name : "");
	return len < 0 || (size_t)len >= size ? -ENOBUFS : 0;
}

int analysis_table(struct analysis *a, const char *table, uint64_t from_ns, uint64_t to_ns,
		   const struct row_sink *sink, struct err *e)
{
	const struct table_def *def = table_find(table);
	const struct statement_param params[] = {
		{ ":from", value_int((uint64_t)context_rel_clamped(a, from_ns)) },
		{ ":to", value_int((uint64_t)context_rel_clamped(a, to_ns)) },
		{ .name = NULL },
	};
	char sql[512];
	int ret;

	if (!def || !def->is_exported)
		return err_set(e, -ENOENT, "there is no table \"%.80s\"", table);
	ret = select_rows(def, from_ns <= a->start_ns && to_ns >= a->end_ns, sql, sizeof(sql));
	if (ret < 0)
		return err_set(e, ret, "table %s: the statement is too long", def->name);
	return statement_run(a, sql, params, sink, e);
}

const char *analysis_library_version(void)
{
	return sqlite3_libversion();
}

/*
 * analysis_checkpoint: computes the state at an instant, with which a trace that is cut at this
 * instant begins (edit/checkpoint.h). Each part is the state of one fold's machine, which continues
 * from the last checkpoint in the derived file, or begins at the trace's start.
 */

static const struct fold_def *fold_of(unsigned int part)
{
	return part < CHECKPOINT_SLAB ? &fold_carried[part] :
					fold_memory((enum index_group)(part - CHECKPOINT_SLAB));
}

/*
 * Returns whether a part is needed for some kinds of events. The part for process memory is always
 * needed.
 */
static bool is_wanted(unsigned int part, uint32_t kind_mask)
{
	return fold_of(part)->kinds & kind_mask || part == CHECKPOINT_LEVELS;
}

/* Makes one part. d: derived file with checkpoints; NULL: start at the trace's start. */
static int make_part(struct analysis *a, struct derived_file *d, enum checkpoint_part part,
		     uint64_t at_ns, struct checkpoint *ret, struct err *e)
{
	const struct fold_use use = { fold_of(part), { 0 } };
	struct fold_range range = { .to_ns = at_ns, .start = FOLD_READER_TRACE };
	struct fold_reader *reader = NULL;
	struct checkpoint from = { 0 };
	int r = d ? checkpoint_find(d, a->trace, part, at_ns, &range.from_ns, &from) : 0;

	if (r > 0)
		range.checkpoint = &from;
	if (r >= 0)
		r = fold_reader_open(&reader, a, &range, &use, 1, e);
	if (r >= 0)
		r = fold_reader_run(reader, at_ns, SIZE_MAX, NULL, e);
	if (r >= 0)
		r = use.def->checkpoint(fold_reader_machine(reader, 0), at_ns, ret);
	fold_reader_close(reader);
	checkpoint_done(&from);
	return r;
}

/* Makes all parts. Live objects follow the events of all other parts, which are sorted by time. */
static int make_parts(struct analysis *a, struct derived_file *d, uint64_t at_ns,
		      uint32_t kind_mask, struct checkpoint *ret, struct err *e)
{
	size_t first;
	int r = 0;

	for (unsigned int part = 0; part < CHECKPOINT_PART_CNT && r >= 0; part++) {
		if (!is_wanted(part, kind_mask))
			continue;
		first = part < CHECKPOINT_SLAB ? 0 : ret->event_cnt;
		r = make_part(a, d, part, at_ns, ret, e);
		if (r >= 0 && part != CHECKPOINT_LEVELS)
			r = checkpoint_sort(ret, first, part >= CHECKPOINT_SLAB);
	}
	return r;
}

/*
 * Makes the index parts that contain the checkpoints before at_ns, if there is a place to store
 * them.
 */
static int make_index(struct analysis *a, uint32_t kind_mask, uint64_t at_ns, struct err *e)
{
	struct derived_file *d;
	uint32_t kinds = 0;
	bool has_place;
	int r = derived_file_open(&d, a->trace, DERIVED_SAVE);

	if (r < 0)
		return r;
	has_place = derived_file_has_place(d);
	derived_file_close(d);
	for (unsigned int part = 0; part < CHECKPOINT_PART_CNT; part++)
		if (is_wanted(part, kind_mask))
			kinds |= fold_of(part)->asks ? fold_of(part)->asks : fold_of(part)->kinds;
	return has_place ? analysis_prepare_window(a, kinds, 0, at_ns, e) : 0;
}

static bool may_use_stored(const struct analysis *a)
{
	size_t damage_cnt;

	trace_damages(a->trace, &damage_cnt);
	return a->index_use.use && trace_is_finished(a->trace) && !damage_cnt;
}

int analysis_checkpoint(void *analysis, uint64_t at_ns, uint32_t kind_mask, struct checkpoint *ret,
			struct err *e)
{
	struct analysis *a = analysis;
	struct derived_file *d = NULL;
	struct checkpoint out = { 0 };
	int r = 0;

	if (may_use_stored(a) && a->index_use.save)
		r = make_index(a, kind_mask, at_ns, e);
	if (r == 0 && may_use_stored(a))
		r = derived_file_open(&d, a->trace, 0);
	r = r ?: make_parts(a, d, at_ns, kind_mask, &out, e);
	if (r == -EBADMSG && d) {
		/* the derived file is damaged: remove it, so that the next query makes it again */
		derived_file_forget(d);
		checkpoint_done(&out);
		r = make_parts(a, NULL, at_ns, kind_mask, &out, e);
	}
	derived_file_close(d);
	if (r < 0) {
		checkpoint_done(&out);
		return err_set(e, r, "%s", err_text(e, r));
	}
	*ret = out;
	return 0;
}
