/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report: prepared reports, a SQL file per view (schema/report_VIEW.sql, whose head declares the
 * view) and per variant of a view. These marks are replaced before the SQL runs:
 *
 *     $t       "t_ns, " with --every, else nothing: the bin's beginning as first column
 *     $t_spike the same for the bin that contains u.start_ns; $tgroup: "t_ns, " to group or
 *              order by
 *     $slowest the text of report_requests_slowest.sql
 *     $binfrom, $binto: the bin (or window) of a row r of an inner query
 *     $keys    key columns of a table-valued function that does its own grouping (upid, utid,
 *              name, member_upid)
 *     $cpukeys key columns of cpu_usage; $cpugroup: the columns to group by; $rkeys: their names
 *              in a row r. Each of these is empty or ends with a comma
 *     $stack_text, $frame: stack_text and "function"; if modules are a key: stack_modules and
 *              "module"
 *     $sched   policy, nice value and CPUs of a thread, if threads are a key
 *     $names   "comm_then, thread_name_then, " if a name is among the keys, else NULLs with these
 *              names; $bynames: these names as further keys; $bycomm, $bythreadname: 1 or 0
 *
 * The parameters are :from :to :every (ns from the trace's start), :by, :spike_window, :spike_min,
 * :top (rows of a summary's section), :brief (fewer rows and sections, for a screen), :stacks (1: a
 * row per stack, with any key), :merge_alike (1: merge rows that differ only in the process),
 * :requests (a pattern), :request (an id), :slow_pct, :slow_ns (or NULL), :slowest, :without (or
 * NULL), :continues (the previous query was for the window before this one), :of_command (the scope
 * is the workload because the trace has a command), :hint_options (options for commands in texts).
 * The scope selects the processes of a report; table-valued functions apply it themselves.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/context/context.h"
#include "analyze/context/keys.h"
#include "analyze/engine/column.h"
#include "analyze/engine/report_view.h"
#include "analyze/engine/statement.h"
#include "analyze/engine/table.h"
#include "analyze/engine/unowned.h"
#include "base/array.h"
#include "base/words.h"

struct report_bins;

/*
 * report_bins: adds rows of zeros to empty bins. A group is identified by the text of its key
 * columns, which are the first columns of a row.
 */

#define ROWS_MAX 10000000 /* limit of added rows: about 1 GiB of CSV */
#define KEY_MAX	 512
#define COLS_MAX 64

struct group {
	char *key;		/* texts of all key values */
	struct value *values;	/* values of the key columns; texts point into key */
	uint64_t first, end;	/* range of bins in which the group may have a row */
	uint64_t seen;		/* number of the last bin with a row of the group, + 1 */
};

struct report_bins {
	struct analysis *a;
	const struct report_request *r;
	const struct report_view *view;
	const struct row_sink *next;
	struct row_sink groups_sink, rows_sink;
	/* base_ns: start of bin 0; end_ns: end of the window, inside the trace */
	uint64_t base_ns, end_ns;
	uint64_t bin_cnt;
	unsigned int col_cnt, key_cnt;
	/* column numbers; -1: no such column */
	int pid, comm, source, complete, lost, unowned_ios, unowned_bytes;
	/* types of the columns; VALUE_NULL: no row has a value */
	enum value_type types[COLS_MAX];
	bool is_single[COLS_MAX];	/* the column describes a single event */
	struct group *groups;	/* in the order of the whole window's rows */
	size_t cnt, cap;
	struct group **by_key;	/* cnt_keys groups, sorted by key; NULL: groups are unused */
	size_t cnt_keys;
	uint64_t bin;		/* the current bin */
	uint64_t rows_in_bin;
	/* a row of zeros for the current bin; valid if has_zeros */
	struct value zeros[COLS_MAX + 1];
	bool has_zeros, zeros_complete;
	bool is_sparse;
};

static int begin(struct report_bins *b, unsigned int col_cnt, const char *const *names, bool has_t)
{
	if (col_cnt > COLS_MAX)
		return -E2BIG;
	b->col_cnt = col_cnt;
	b->pid = b->comm = b->source = b->complete = b->lost = -1;
	b->unowned_ios = b->unowned_bytes = -1;
	for (b->key_cnt = 0; has_t + b->key_cnt < col_cnt; b->key_cnt++)
		if (!column_find(names[has_t + b->key_cnt])->is_key)
			break;
	for (unsigned int i = 0; i + has_t < col_cnt; i++) {
		const char *name = names[i + has_t];
		int *at = !strcmp(name, "pid")	       ? &b->pid :
			  !strcmp(name, "comm")	       ? &b->comm :
			  !strcmp(name, "source")      ? &b->source :
			  !strcmp(name, "complete")    ? &b->complete :
			  !strcmp(name, "lost_events") ? &b->lost :
			  !strcmp(name, "unowned_ios") ? &b->unowned_ios :
			  !strcmp(name, "unowned_bytes") ? &b->unowned_bytes : NULL;

		b->is_single[i] = column_find(name)->is_single;
		if (at)
			*at = (int)i;
	}
	return 0;
}

/* Formats the values of the key columns, concatenated. Returns false if they are too long. */
static bool key_of(const struct report_bins *b, const struct value *v, char key[KEY_MAX])
{
	size_t at = 0;

	for (unsigned int i = 0; i < b->key_cnt && at < KEY_MAX; i++) {
		bool is_text = v[i].type == VALUE_TEXT;
		char number[24] = "-";

		if (v[i].type == VALUE_INT)
			snprintf(number, sizeof(number), "%" PRId64, v[i].i);
		at += (size_t)snprintf(key + at, KEY_MAX - at, "%.*s\x1f",
				       is_text ? (int)v[i].text_bytes : (int)sizeof(number),
				       is_text ? v[i].text : number);
	}
	return b->key_cnt && at < KEY_MAX;
}

/* ---- groups ---- */

static uint64_t bin_of(const struct report_bins *b, uint64_t ts_ns)
{
	return ts_ns > b->base_ns ? (ts_ns - b->base_ns) / b->r->every_ns : 0;
}

/*
 * Finds the bins in which processes with the group's PID were alive. If some of these processes
 * have the group's name, the others are ignored.
 */
static void find_life(const struct report_bins *b, struct group *g)
{
	const struct value *pid = b->pid >= 0 ? &g->values[b->pid] : NULL,
			   *comm = b->comm >= 0 ? &g->values[b->comm] : NULL;
	bool named = false;
	size_t cnt, i;
	const struct trace_process *p = trace_processes(b->a->trace, &cnt);

	g->end = b->bin_cnt;
	if (!pid || pid->type != VALUE_INT)
		return;
	g->first = b->bin_cnt;
	g->end = 0;
	for (i = 0; i < cnt; i++) {
		uint64_t first = bin_of(b, p[i].start_ns);
		uint64_t end = p[i].end_ns ? bin_of(b, p[i].end_ns) + 1 : b->bin_cnt;
		bool same = comm && comm->type == VALUE_TEXT &&
			    strlen(p[i].comm) == comm->text_bytes &&
			    !memcmp(p[i].comm, comm->text, comm->text_bytes);

		if (p[i].pid != (uint32_t)pid->i || (named && !same))
			continue;
		if (same && !named) {
			g->first = b->bin_cnt;
			g->end = 0;
		}
		named |= same;
		g->first = first < g->first ? first : g->first;
		g->end = end > g->end ? end : g->end;
	}
	g->end = g->end < b->bin_cnt ? g->end : b->bin_cnt;
}

static int groups_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	return begin(ctx, col_cnt, names, false);
}

static int groups_row(void *ctx, const struct value *v)
{
	struct report_bins *b = ctx;
	char key[KEY_MAX], *at;
	struct group *g;

	for (unsigned int i = 0; i < b->col_cnt; i++)
		if (v[i].type != VALUE_NULL)
			b->types[i] = v[i].type;
	if (!key_of(b, v, key))
		return 0;
	if (array_reserve(&b->groups, &b->cap, b->cnt + 1) < 0)
		return -ENOMEM;
	g = &b->groups[b->cnt];
	*g = (struct group){ .key = strdup(key), .values = calloc(b->key_cnt, sizeof(*g->values)) };
	b->cnt++;
	if (!g->key || !g->values)
		return -ENOMEM;
	at = g->key;
	for (unsigned int i = 0; i < b->key_cnt; i++) {
		g->values[i] = v[i];
		g->values[i].text = at;
		at += v[i].type == VALUE_TEXT ? strnlen(v[i].text, v[i].text_bytes) :
						strcspn(at, "\x1f");
		at++;
	}
	find_life(b, g);
	return 0;
}

static int by_key(const void *x, const void *y)
{
	const struct group *const *a = x, *const *b = y;

	return strcmp((*a)->key, (*b)->key);
}

static int groups_end(void *ctx)
{
	struct report_bins *b = ctx;
	uint64_t rows = 0;
	size_t i, n = 0;

	b->by_key = calloc(b->cnt + 1, sizeof(*b->by_key));
	if (!b->by_key)
		return -ENOMEM;
	for (i = 0; i < b->cnt; i++) {
		struct group *g = &b->groups[i];

		b->by_key[i] = g;
		rows += g->end > g->first ? g->end - g->first : 0;
	}
	qsort(b->by_key, b->cnt, sizeof(*b->by_key), by_key);
	/* merge groups with equal keys: their rows differ only in other columns */
	for (i = 1; i < b->cnt; i++) {
		if (strcmp(b->by_key[n]->key, b->by_key[i]->key))
			b->by_key[++n] = b->by_key[i];
		else
			b->by_key[i]->end = 0;
	}
	b->cnt_keys = b->cnt ? n + 1 : 0;
	b->is_sparse = rows > ROWS_MAX;
	return 0;
}

/* ---- rows ---- */

static int rows_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct report_bins *b = ctx;
	int ret = begin(b, col_cnt, names, true);

	return ret ? ret : b->next->begin(b->next->ctx, col_cnt, names);
}

/*
 * Initializes the columns that all rows of zeros of the current bin share, such as the bin's
 * beginning and its completeness. If the keys include a source, only the group's source determines
 * the completeness.
 */
static void begin_zeros(struct report_bins *b, const struct group *g)
{
	uint64_t from = b->base_ns + b->bin * b->r->every_ns, to = from + b->r->every_ns;
	const struct value *of = b->source >= 0 && g ? &g->values[b->source] : NULL;
	struct loss_index *losses = &b->a->losses;
	struct value *v = b->zeros + 1;
	char source[32] = "", room[LOSS_SOURCES_MAX];
	struct loss_needs needs;

	if (of && of->type == VALUE_TEXT)
		snprintf(source, sizeof(source), "%.*s", (int)of->text_bytes, of->text);
	needs = loss_needs_of(b->view->needs, source, room);
	b->zeros[0] = (struct value){ .type = VALUE_INT, .i = context_rel(b->a, from) };
	to = to < b->r->to_ns ? to : b->r->to_ns;
	for (unsigned int i = 0; i + 1 < b->col_cnt; i++) {
		bool has = i >= b->key_cnt && !b->is_single[i] && b->types[i] != VALUE_TEXT;

		v[i] = (struct value){ .type = has ? b->types[i] : VALUE_NULL };
	}
	b->zeros_complete = b->complete >= 0 &&
			    loss_index_is_complete(losses, needs, from, to, NULL, NULL);
	if (b->complete >= 0)
		v[b->complete] = value_int(b->zeros_complete);
	if (b->lost >= 0)
		v[b->lost] = (struct value){
			.type = VALUE_INT,
			.i = (int64_t)loss_index_lost(losses, needs.sources, from, to),
		};
	b->has_zeros = !of;
}

/*
 * Returns the requests of unknown owners that a row of zeros in the current bin may lack. g NULL:
 * no group.
 */
static struct request_cnt zeros_lack(const struct report_bins *b, const struct group *g)
{
	uint64_t from = b->base_ns + b->bin * b->r->every_ns, to = from + b->r->every_ns;
	bool is_known = true;

	for (unsigned int i = 0; g && i < b->key_cnt; i++)
		is_known &= g->values[i].type != VALUE_TEXT ||
			    g->values[i].text_bytes != strlen(KEYS_UNKNOWN) ||
			    memcmp(g->values[i].text, KEYS_UNKNOWN, strlen(KEYS_UNKNOWN));
	to = to < b->r->to_ns ? to : b->r->to_ns;
	return unowned_of_row(b->a, context_rel(b->a, from), context_rel(b->a, to), is_known);
}

/* Adds a row of zeros to the current bin. g NULL: no group. */
static int put_zero(struct report_bins *b, const struct group *g)
{
	struct request_cnt lack;

	if (!b->has_zeros)
		begin_zeros(b, g);
	lack = zeros_lack(b, g);
	if (b->complete >= 0)
		b->zeros[1 + b->complete].i = b->zeros_complete &&
					      !(lack.ios && b->a->question->unowned.of_some);
	if (b->unowned_ios >= 0)
		b->zeros[1 + b->unowned_ios] = value_int(lack.ios);
	if (b->unowned_bytes >= 0)
		b->zeros[1 + b->unowned_bytes] = value_int(lack.bytes);
	for (unsigned int i = 0; g && i < b->key_cnt; i++)
		b->zeros[1 + i] = g->values[i];
	return b->next->row(b->next->ctx, b->zeros);
}

/* Ends all bins before `bin`: adds their missing rows. */
static int go_to(struct report_bins *b, uint64_t bin)
{
	int ret = 0;

	for (; b->bin < bin && b->bin < b->bin_cnt && !b->is_sparse && ret >= 0; b->bin++) {
		for (size_t i = 0; i < b->cnt && ret >= 0; i++) {
			struct group *g = &b->groups[i];

			if (b->bin >= g->first && b->bin < g->end && g->seen != b->bin + 1)
				ret = put_zero(b, g);
		}
		if (!b->by_key && !b->rows_in_bin && ret >= 0)
			ret = put_zero(b, NULL);
		b->rows_in_bin = 0;
		b->has_zeros = false;
	}
	b->bin = bin;
	return ret < 0 ? ret : 0;
}

static void note_seen(struct report_bins *b, const struct value *v)
{
	char key[KEY_MAX];
	struct group wanted = { .key = key }, *p = &wanted, **found;

	found = key_of(b, v, key) ? bsearch(&p, b->by_key, b->cnt_keys, sizeof(*b->by_key), by_key)
				  : NULL;
	if (found)
		(*found)->seen = b->bin + 1;
}

static int rows_row(void *ctx, const struct value *v)
{
	struct report_bins *b = ctx;
	int ret = go_to(b, bin_of(b, context_abs(b->a, v[0].i)));

	if (ret)
		return ret;
	if (b->by_key)
		note_seen(b, v + 1);
	else /* without groups, the rows show the types of the columns */
		for (unsigned int i = 0; i + 1 < b->col_cnt; i++)
			b->types[i] = v[i + 1].type ?: b->types[i];
	b->rows_in_bin++;
	return b->next->row(b->next->ctx, v);
}

static int rows_end(void *ctx)
{
	struct report_bins *b = ctx;
	int ret = b->by_key || b->rows_in_bin || b->bin ? go_to(b, b->bin_cnt) : 0;

	return ret ? ret : b->next->end ? b->next->end(b->next->ctx) : 0;
}

/* ---- the whole object ---- */

/* Sets *ret to NULL if the view never has rows of zeros. */
static int report_bins_new(struct report_bins **ret, struct analysis *a,
			   const struct report_view *v, const struct report_request *r,
			   const struct row_sink *next)
{
	struct report_bins *b;

	*ret = NULL;
	if (!(v->rows & REPORT_ROWS_ZEROS) || r->histogram)
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->a = a;
	b->r = r;
	b->view = v;
	b->next = next;
	b->groups_sink = (struct row_sink){ b, groups_begin, groups_row, groups_end, NULL };
	b->rows_sink = (struct row_sink){ b, rows_begin, rows_row, rows_end, NULL };
	/* bins are counted from the window's start; skip bins that end before the trace */
	b->base_ns = r->from_ns;
	if (r->from_ns < a->start_ns)
		b->base_ns += (a->start_ns - r->from_ns) / r->every_ns * r->every_ns;
	b->end_ns = r->to_ns < a->end_ns ? r->to_ns : a->end_ns;
	if (b->end_ns > b->base_ns)
		b->bin_cnt = (b->end_ns - b->base_ns + r->every_ns - 1) / r->every_ns;
	*ret = b;
	return 0;
}

static void report_bins_free(struct report_bins *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->cnt; i++) {
		free(b->groups[i].key);
		free(b->groups[i].values);
	}
	free(b->groups);
	free(b->by_key);
	free(b);
}

/*
 * Returns the sink for the rows of the whole window, which define the groups. Without groups, rows
 * are added only to bins without any row.
 */
static const struct row_sink *report_bins_groups(struct report_bins *b)
{
	return &b->groups_sink;
}

/* Returns the sink for the rows of the bins. Use the sink of report_bins_groups() first. */
static const struct row_sink *report_bins_rows(struct report_bins *b)
{
	return &b->rows_sink;
}

/* Returns whether rows of zeros were omitted because of ROWS_MAX. */
static bool report_bins_is_sparse(const struct report_bins *b)
{
	return b->is_sparse;
}

#define MARK "-- section: "	/* starts a section in report_summary.sql */

const struct report_view *report_view_find(const char *name)
{
	for (unsigned int i = 0; i < report_view_cnt + report_view_hidden_cnt; i++)
		if (!strcmp(report_view_list[i].name, name))
			return &report_view_list[i];
	return NULL;
}

/*
 * SQL text of each key: its columns of a table-valued function, of a row r, and of cpu_usage, and
 * the columns by which cpu_usage is grouped. Keys that are a text of processes all have the same
 * SQL (expand_keys()).
 */
enum key_mark { KEY_MARK_KEYS, KEY_MARK_ROW, KEY_MARK_CPU, KEY_MARK_GROUP, KEY_MARK_CNT };

static const char *const key_sql[REPORT_BY_CNT][KEY_MARK_CNT] = {
	[REPORT_BY_PROCESS] = { "p.pid AS pid, u.name AS comm,", "r.pid, r.comm,",
				"p.pid AS pid, comm_at(p.upid, :to - 1) AS comm,", "u.upid," },
	[REPORT_BY_THREAD] = { "p.pid AS pid, t.tid AS tid, u.name AS comm,",
			       "r.pid, r.tid, r.comm,",
			       "p.pid AS pid, t.tid AS tid, "
			       "thread_comm_at(t.utid, :to - 1) AS comm,",
			       "u.utid," },
	[REPORT_BY_THREAD_NAME] = { "u.thread_name_then AS thread_name,", "r.thread_name,",
				    "u.thread_name_then AS thread_name,", "u.thread_name_then," },
	[REPORT_BY_COMM] = { "u.comm_then AS comm,", "r.comm,", "u.comm_then AS comm,",
			     "u.comm_then," },
	[REPORT_BY_CPU] = { "u.cpu AS cpu,", "r.cpu,", "u.cpu AS cpu,", "u.cpu," },
	[REPORT_BY_DEVICE] = { "device_name(u.dev) AS device,", NULL,
			       "device_name(u.dev) AS device,", "u.dev," },
	[REPORT_BY_PARTITION] = { "device_name(u.dev) AS partition,", NULL,
				  "device_name(u.part) AS partition,", "u.part," },
	[REPORT_BY_OP] = { "u.op AS op,", NULL, "u.op AS op,", "u.op," },
	[REPORT_BY_FILE] = { NULL, NULL, "u.file AS file,", "u.file," },
	[REPORT_BY_SIZE] = { "u.size_from_bytes AS size_from_bytes, "
			     "u.size_to_bytes AS size_to_bytes," },
	[REPORT_BY_SITE] = { [KEY_MARK_GROUP] = "u.source," },
	[REPORT_BY_FUNCTION] = { [KEY_MARK_CPU] =
		"iif(min(p.pid) = max(p.pid), min(p.pid), NULL) AS pid, "
		"iif(min(comm_at(p.upid, :to - 1)) = max(comm_at(p.upid, :to - 1)), "
		"min(comm_at(p.upid, :to - 1)), NULL) AS comm," },
};
/* shows the name at the time, not the last one */
static const char function_with_name[] =
	"iif(min(p.pid) = max(p.pid), min(p.pid), NULL) AS pid, u.comm_then AS comm,";

/*
 * Appends the SQL of the keys for the mark of length len at `at`. Returns false if the mark is
 * unknown.
 */
static bool expand_keys(sqlite3_str *s, unsigned int keys, const char *at, size_t len)
{
	static const struct {
		/* format for a text key; has the key's name twice */
		const char *mark, *text;
	} marks[KEY_MARK_CNT] = {
		[KEY_MARK_KEYS] = { "$keys", "task_key('%s', u.member_upid) AS %s," },
		[KEY_MARK_ROW] = { "$rkeys", "r.%.0s%s," },
		[KEY_MARK_CPU] = { "$cpukeys", "task_key('%s', p.upid) AS %s," },
		[KEY_MARK_GROUP] = { "$cpugroup", "task_key('%s', p.upid),%.0s" },
	};
	unsigned int m, k;
	bool is_named;

	for (m = 0; m < KEY_MARK_CNT; m++)
		if (strlen(marks[m].mark) == len && !strncmp(marks[m].mark, at, len))
			break;
	if (m == KEY_MARK_CNT)
		return false;
	is_named = m == KEY_MARK_CPU && (keys & KEY(THREAD) ? keys & KEY(THREAD_NAME) :
					 keys & KEY(PROCESS) && keys & KEY(COMM));
	/* rows of processes and threads have a name column already */
	if (keys & (KEY(PROCESS) | KEY(THREAD)) && m != KEY_MARK_GROUP)
		keys &= ~KEY(COMM);
	if (keys & KEY(THREAD) && m != KEY_MARK_GROUP)
		keys &= ~(KEY(PROCESS) | KEY(THREAD_NAME));
	if (is_named) {
		sqlite3_str_appendall(s, "p.pid AS pid, ");
		sqlite3_str_appendall(s, keys & KEY(THREAD) ?
						 "t.tid AS tid, u.thread_name_then AS comm," :
						 "u.comm_then AS comm,");
		keys &= ~(KEY(PROCESS) | KEY(THREAD));
	}
	if (keys & KEY(FUNCTION) && keys & KEY(COMM) && m == KEY_MARK_CPU) {
		sqlite3_str_appendall(s, function_with_name);
		keys &= ~(KEY(FUNCTION) | KEY(COMM));
	}
	for (k = 0; k < REPORT_BY_CNT; k++) {
		if (!(keys & 1u << k))
			continue;
		if (KEYS_TEXT & 1u << k && !key_sql[k][m])
			sqlite3_str_appendf(s, marks[m].text, report_key_name(k),
					    report_key_name(k));
		else
			sqlite3_str_appendall(s, key_sql[k][m] ? key_sql[k][m] : "");
	}
	return true;
}

static const char thread_sched[] =
	", t.policy AS policy, t.nice AS nice, "
	"coalesce(cpu_list(t.cpu_mask), t.allowed_cpus) AS allowed";

/* Replaces the marks. A mark is a whole word, so $t does not match in $tid. */
static char *expand(const struct analysis *a, const struct report_request *r, unsigned int keys,
		    const char *text)
{
	const struct {
		const char *mark, *value;
	} marks[] = {
		{ "$t", r->every_ns ? "u.t_ns AS t_ns," : "" },
		{ "$t_spike",
		  r->every_ns ? ":from + (u.start_ns - :from) / :every * :every AS t_ns," : "" },
		{ "$tgroup", r->every_ns ? "t_ns," : "" },
		{ "$names", keys & KEYS_NAME ? "comm_then, thread_name_then," :
					       "NULL AS comm_then, NULL AS thread_name_then," },
		{ "$bynames", keys & KEYS_NAME ? "',comm,thread_name'" : "''" },
		{ "$sched", keys & KEY(THREAD) ? thread_sched : "" },
		{ "$bycomm", keys & KEY(COMM) ? "1" : "0" },
		{ "$bythreadname", keys & KEY(THREAD_NAME) ? "1" : "0" },
		{ "$stack_text", keys & KEY(MODULE) ? "stack_modules" : "stack_text" },
		{ "$frame", keys & KEY(MODULE) ? "module" : "function" },
		{ "$binfrom", r->every_ns ? "r.t_ns" : ":from" },
		{ "$slowest", schema_text("report_requests_slowest") },
		{ "$binto", r->every_ns ? "min(r.t_ns + :every, :to)" : ":to" },
	};
	sqlite3_str *s = sqlite3_str_new(NULL);
	size_t len, i;

	while (*text) {
		len = strcspn(text, "$");
		sqlite3_str_append(s, text, (int)len);
		text += len;
		if (!*text)
			break;
		len = 1 + strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");
		if (len == strlen("$sampled") && !strncmp(text, "$sampled", len)) {
			text += a->heap_mean ? len : strcspn(text, "\n");
			continue;
		}
		if (len == strlen("$full") && !strncmp(text, "$full", len)) {
			text += a->heap_mean ? strcspn(text, "\n") : len;
			continue;
		}
		for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
			if (strlen(marks[i].mark) == len && !strncmp(marks[i].mark, text, len))
				break;
		if (i < sizeof(marks) / sizeof(marks[0]))
			sqlite3_str_appendall(s, marks[i].value);
		else if (!expand_keys(s, keys, text, len))
			sqlite3_str_append(s, text, (int)len);
		text += len;
	}
	return sqlite3_str_finish(s);
}

static void trim(char *sql)
{
	size_t len = strlen(sql);

	while (len && strchr(" \t\n;", sql[len - 1]))
		sql[--len] = 0;
}

/* Adds the requested order and limit to a report's SQL. Frees sql. */
static char *finish_sql(char *sql, const struct report_request *r)
{
	const char *col = r->sort;
	char *out;

	trim(sql);
	if (!col || !*col) {
		out = r->limit
			      ? sqlite3_mprintf("%s\nLIMIT %llu", sql, (unsigned long long)r->limit)
			      : sqlite3_mprintf("%s", sql);
	} else {
		bool ascending = *col == '-';

		out = sqlite3_mprintf(
			"SELECT * FROM (\n%s\n) ORDER BY %s\"%w\" %s LIMIT %lld", sql,
			r->every_ns ? "t_ns, " : "", col + ascending, ascending ? "ASC" : "DESC",
			r->limit && r->limit < INT64_MAX ? (long long)r->limit : -1LL);
	}
	sqlite3_free(sql);
	return out;
}

/* Keys that select another kind of rows of a view, and so cannot be combined with other keys. */
#define KEYS_ALONE (KEY(CPU) | KEY(VECTOR) | KEY(SITE) | KEY(WAKER))

int report_check_keys(const struct report_view *v, unsigned int by, struct err *e)
{
	char has[160], names[160];

	if (!by || !v->by_mask)
		return by ? err_set(e, -EINVAL, "view '%s' takes no --by", v->name) : 0;
	keys_format(v->by_mask, names, sizeof(names));
	keys_format(by & ~v->by_mask, has, sizeof(has));
	if (by & ~v->by_mask)
		return err_set(e, -EINVAL, "view '%s' has no rows by %s; it takes --by %s", v->name,
			       has, names);
	if (by & KEY(FILE) && by & (KEYS_THREAD | KEY(SIZE)))
		return err_set(e, -EINVAL,
			       "view '%s' cannot have rows by file together with thread, "
			       "thread_name or size",
			       v->name);
	if (by & KEY(DEVICE) && by & KEY(PARTITION))
		return err_set(e, -EINVAL,
			       "--by: a partition names its device: use one of device and "
			       "partition");
	if (by & KEY(FUNCTION) && by & KEY(MODULE))
		return err_set(e, -EINVAL, "--by: a function is in one module: use one of function "
					   "and module");
	if (by & KEY(STEP) && by & KEY(THREAD))
		return err_set(e, -EINVAL, "--by: use one of step and thread");
	keys_format(by & KEYS_ALONE, has, sizeof(has));
	if (by & KEYS_ALONE && by & (by - 1))
		return err_set(e, -EINVAL,
			       "view '%s' has rows by %s alone, not together with other keys",
			       v->name, has);
	return 0;
}

/* Finds the sort column in the report's result, and sets r->sort to its name, stored in `name`. */
static int check_sort(struct analysis *a, struct report_request *r, const char *inner,
		      char name[64], struct err *e)
{
	const char *col = r->sort, *at;
	bool ascending = col && *col == '-';
	char columns[1200];

	if (!col || !*col || statement_columns(a, inner, columns, sizeof(columns)) < 0)
		return 0;	/* an error in the SQL is found when it runs */
	col += ascending;
	for (at = columns; *col && *at;) {
		struct word w = word_next(&at);

		snprintf(name, 64, "%s%.*s", ascending ? "-" : "", w.len, w.s);
		if (!column_is_called(name + ascending, col))
			continue;
		r->sort = name;
		return 0;
	}
	return err_set(e, -EINVAL, "--sort: there is no column \"%.40s\" here; there are %s", col,
		       columns);
}

/* ---- reports with several sections ---- */

/* Joins all sections into one long result. */
struct flat {
	const struct row_sink *out;
	const char *title;
	unsigned int col_cnt;
	const char *const *names;
	int64_t row;
};

static int flat_begin(void *ctx, unsigned int cnt, const char *const *names)
{
	struct flat *f = ctx;

	f->row = 0;
	f->col_cnt = cnt;
	f->names = names;
	return 0;
}

static int flat_row(void *ctx, const struct value *values)
{
	struct flat *f = ctx;
	struct value row[4] = { value_text(f->title), value_int((uint64_t)++f->row) };
	int ret = 0;

	for (unsigned int i = 0; i < f->col_cnt && ret >= 0; i++) {
		row[2] = value_text(f->names[i]);
		row[3] = values[i];
		ret = f->out->row(f->out->ctx, row);
	}
	return ret;
}

/* Sends the first max rows of a section to out; cnt: number of all rows. */
struct part {
	const struct row_sink *out;
	char title[64], command[64];
	uint64_t max, cnt;
	/* send the title and the columns only with the first row */
	bool waits;
	unsigned int col_cnt;
	const char *const *names;
};

/*
 * Parses a title such as "CPU by name (4: report cpu --by comm)": on a screen, at most 4 rows are
 * shown, followed by the command that shows all. A title without parentheses shows all rows.
 */
static void part_init(struct part *p, const char *line, bool brief, uint64_t top,
		      const struct row_sink *out)
{
	size_t len = strcspn(line, "(\n");
	const char *at = line + len;

	*p = (struct part){ .out = out, .max = UINT64_MAX };
	while (len && line[len - 1] == ' ')
		len--;
	snprintf(p->title, sizeof(p->title), "%.*s", (int)len, line);
	if (*at != '(')
		return;
	p->max = brief ? strtoull(at + 1, NULL, 10) : top;
	at += strcspn(at, ":)\n");
	at += *at == ':' ? 2 : 0;
	snprintf(p->command, sizeof(p->command), "%.*s", (int)strcspn(at, ")\n"), at);
}

static int part_begin(void *ctx, unsigned int cnt, const char *const *names)
{
	struct part *p = ctx;

	p->col_cnt = cnt;
	p->names = names;
	return !p->waits && p->out->begin ? p->out->begin(p->out->ctx, cnt, names) : 0;
}

static int part_row(void *ctx, const struct value *values)
{
	struct part *p = ctx;
	int ret = 0;

	if (p->waits) {
		p->waits = false;
		ret = p->out->section(p->out->ctx, p->title) ?: part_begin(p, p->col_cnt, p->names);
	}
	return !ret && p->cnt++ < p->max ? p->out->row(p->out->ctx, values) : ret;
}

static int part_end(void *ctx)
{
	const struct part *p = ctx;

	if (p->waits)
		return 0;
	if (p->cnt > p->max && p->out->more)
		p->out->more(p->out->ctx, p->cnt - p->max, p->command);
	return p->out->end ? p->out->end(p->out->ctx) : 0;
}

static int run_part(struct analysis *a, const char *text, size_t len,
		    const struct statement_param *params, const struct row_sink *sink,
		    struct err *e)
{
	char *sql = strndup(text, len);
	int ret;

	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	ret = statement_run(a, sql, params, sink, e);
	free(sql);
	return ret;
}

/* Runs a section about the whole machine, for which the report's scope is ignored. */
static int run_machine_part(struct analysis *a, const char *text, size_t len,
			    const struct statement_param *params, const struct row_sink *sink,
			    struct err *e)
{
	struct question machine = *a->question;
	int ret = question_begin(&machine, a, NULL);

	machine.unowned.of_some = false;
	machine.memo = NULL;
	ret = ret < 0 ? err_set(e, ret, "out of memory") :
			run_part(a, text, len, params, sink, e);
	question_end(&machine, a);
	return ret;
}

/* Texts above and below the sections; NULL: not wanted. */
struct around {
	char *first, *second;
};

/* Appends a line. Line breaks inside a command become spaces. */
static void keep_line(char *text, const struct value *v)
{
	size_t len = strlen(text);

	snprintf(text + len, REPORT_BELOW_BYTES - len, "%s%s", len ? "\n" : "", v->text);
	for (char *at = text + len + (len > 0); *at; at++)
		*at = *at == '\n' ? ' ' : *at;
}

static int keep_text(void *ctx, const struct value *values)
{
	const struct around *x = ctx;

	if (x->first && values[0].type == VALUE_TEXT)
		keep_line(x->first, &values[0]);
	if (x->second && values[1].type == VALUE_TEXT)
		keep_line(x->second, &values[1]);
	return 0;
}

/*
 * Runs a text with sections, one after the other. With sink->section each section is a separate
 * result, otherwise all are rows of one result: section, row, name, value. A title may begin with a
 * mark. +: omitted on the first screen. @: about the machine. ?: if the output is for people
 * (sink->more), omitted without rows. *: only for programs. =: two columns, the texts above and
 * below all sections. ^: more text above, about the machine.
 */
static int run_sections(struct analysis *a, const struct report_request *r, const char *text,
			const struct statement_param *params, const struct row_sink *sink,
			struct err *e)
{
	static const char *const flat_names[] = { "section", "row", "name", "value" };
	const char *at = strstr(text, MARK), *next;
	struct flat f = { .out = sink };
	struct row_sink flat_sink = { .ctx = &f, .begin = flat_begin, .row = flat_row };
	bool brief = sink->section && !r->summary_rows;
	unsigned int nth = 0;
	size_t len;
	int ret = 0;

	if (!sink->section && sink->begin)
		ret = sink->begin(sink->ctx, 4, flat_names);
	for (; at && ret >= 0; at = next) {
		const char *title = at + strlen(MARK);
		bool more = *title == '+', of_machine = *title == '@', if_any = *title == '?';
		bool waits = if_any && sink->more;
		struct part p;
		const struct row_sink part_sink = {
			.ctx = &p, .begin = part_begin, .row = part_row, .end = part_end
		};

		ret = 0;
		next = strstr(at + 1, MARK);
		if (*title == '*' && sink->more)
			continue;
		if (*title == '^' || *title == '=') {
			struct around around = { r->ret_above,
						 *title == '=' ? r->ret_below : NULL };
			const struct row_sink text_sink = { .ctx = &around, .row = keep_text };

			len = next ? (size_t)(next - at) : strlen(at);
			ret = !r->ret_above   ? 0
			      : *title == '=' ? run_part(a, at, len, params, &text_sink, e)
					      : run_machine_part(a, at, len, params, &text_sink, e);
			continue;
		}
		if ((more && brief) || (++nth != r->section && r->section))
			continue;
		if (r->section)
			*r->ret_has_section = true;
		part_init(&p, title + (strchr("+@?*", *title) != NULL), brief,
			  (uint64_t)(r->summary_rows ?: REPORT_SECTION_ROWS),
			  sink->section ? sink : &flat_sink);
		f.title = p.title;
		p.waits = waits;
		if (sink->section && !waits)
			ret = sink->section(sink->ctx, p.title);
		if (!ret)
			ret = (of_machine ? run_machine_part : run_part)(
				a, at, next ? (size_t)(next - at) : strlen(at), params, &part_sink,
				e);
	}
	if (ret >= 0 && !sink->section && sink->end)
		ret = sink->end(sink->ctx);
	return ret < 0 ? ret : 0;
}

/* ---- one report ---- */

const struct report_variant *report_variant_find(const struct report_view *v,
						 const struct report_request *r)
{
	for (const struct report_variant *x = v->variants; x && x->sql; x++)
		if (x->when == REPORT_WHEN_HISTOGRAM ? r->histogram :
		    x->when == REPORT_WHEN_STACKS    ? r->stacks_apart :
		    x->when == REPORT_WHEN_REQUESTS  ? r->requests != NULL :
		    x->when == REPORT_WHEN_REQUEST   ? r->request != 0 :
		    x->when == REPORT_WHEN_SLOWEST   ? r->slowest > 0 :
		    x->when == REPORT_WHEN_BY	     ? r->by & x->by :
						       r->every_ns > 0)
			return x;
	return NULL;
}

/* Returns the SQL of the view or its variant. NULL: the view has no histogram. */
static const char *view_text(const struct report_view *v, const struct report_request *r)
{
	const struct report_variant *x = report_variant_find(v, r);

	return x ? schema_text(x->sql) : r->histogram ? NULL : schema_text(v->sql);
}

enum { BY_MAX = 160 };

/*
 * Formats the argument "by" of SQL functions. With KEY(FILE), the other keys are already columns of
 * the function.
 */
static const char *by_argument(unsigned int keys, char by[BY_MAX])
{
	keys_format(keys & KEY(FILE) ? KEY(FILE) : keys, by, BY_MAX);
	return by;
}

static int run_view(struct analysis *a, const struct report_request *r, const struct report_view *v,
		    unsigned int keys, const struct row_sink *sink, struct err *e)
{
	char by[BY_MAX];
	bool brief = sink->section && !r->summary_rows;
	struct statement_param params[] = {
		{ ":from", value_int((uint64_t)context_rel_clamped(a, r->from_ns)) },
		{ ":to", value_int((uint64_t)context_rel_clamped(a, r->to_ns)) },
		{ ":every", value_int(r->every_ns > INT64_MAX ? INT64_MAX : r->every_ns) },
		{ ":by", value_text(by_argument(keys, by)) },
		{ ":brief", value_int(brief) },
		{ ":merge_alike", value_int(r->merge_alike) },
		{ ":spike_window", value_int(r->spike_window_ns) },
		{ ":spike_min", value_int(r->spike_min_bytes) },
		{ ":continues", value_int(r->continues) },
		{ ":of_command", value_int(r->of_command) },
		{ ":workload", value_int(r->workload) },
		{ ":hint_options", value_text(r->hint_options ? r->hint_options : "") },
		{ ":stacks", value_int(r->stacks_apart) },
		{ ":peaks", value_text(r->peaks) },
		{ ":requests", value_text(r->requests ? r->requests : "*") },
		{ ":request", value_int(r->request) },
		{ ":slow_pct", value_int(r->slow_pct ? r->slow_pct : 99) },
		{ ":slow_ns", r->slow_ns ? value_int(r->slow_ns) : value_text(NULL) },
		{ ":slowest", value_int(r->slowest ? r->slowest : 3) },
		{ ":without", value_text(r->without) },
		{ .name = NULL },
	};
	struct report_request sorted = *r;
	char column[64];
	const char *text;
	char *sql;
	int ret;

	text = view_text(v, r);
	if (!text)
		return err_set(e, -EINVAL, "report %s has no --histogram", v->name);
	sql = expand(a, r, keys, text);
	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	if (strstr(sql, MARK)) {
		ret = run_sections(a, r, sql, params, sink, e);
		sqlite3_free(sql);
		return ret;
	}
	ret = check_sort(a, &sorted, sql, column, e);
	if (ret < 0) {
		sqlite3_free(sql);
		return ret;
	}
	sql = finish_sql(sql, &sorted);
	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	ret = statement_run(a, sql, params, sink, e);
	sqlite3_free(sql);
	return ret < 0 ? err_prefix(e, ret, "report %s", v->name) : ret;
}

/* Runs a view, and adds rows of zeros to empty bins. */
static int run_filled(struct analysis *a, const struct report_request *r,
		      const struct report_view *v, unsigned int keys, const struct row_sink *sink,
		      struct err *e)
{
	struct report_request whole = *r;
	struct report_bins *bins;
	int ret = report_bins_new(&bins, a, v, r, sink);

	if (ret < 0)
		return err_set(e, ret, "out of memory");
	if (!bins)
		return run_view(a, r, v, keys, sink, e);
	whole.every_ns = whole.limit = 0;
	whole.sort = NULL;
	if (r->fill == REPORT_FILL_GROUPS)
		ret = run_view(a, &whole, v, keys, report_bins_groups(bins), e);
	ret = ret ?: run_view(a, r, v, keys, report_bins_rows(bins), e);
	if (r->ret_sparse)
		*r->ret_sparse = report_bins_is_sparse(bins);
	report_bins_free(bins);
	return ret;
}

int analysis_report(struct analysis *a, const struct report_request *r, const struct row_sink *sink,
		    struct err *e)
{
	const struct report_view *v = report_view_find(r->view ? r->view : "summary");
	struct scope_filter f = {
		.pids = r->pids, .pid_cnt = r->pid_cnt, .comm = r->comm,
		.tids = r->tids, .tid_cnt = r->tid_cnt, .thread = r->thread,
		.workload = r->workload,
		.with_recorder = r->with_recorder, .with_idle = r->with_idle,
		.merges_unknown = r->merge_unknown,
	};
	struct question q = { .edges = r->edges, .edge_cnt = r->edge_cnt };
	unsigned int by;
	int ret;

	if (!v)
		return err_set(e, -EINVAL,
			       "there is no report \"%.40s\"; `ebpfrec report --list` shows all",
			       r->view);
	by = r->by ? r->by : v->by_default;
	/*
	 * if tasks are a key, functions are shown per task; KEY(FUNCTION) merges all processes
	 */
	if (by & KEYS_WHO)
		by &= ~KEY(FUNCTION);
	else if (by & KEY(MODULE))
		by |= KEY(FUNCTION);
	/*
	 * with a filter by name, rows show the name at the time, not a later one; views of spikes
	 * do so without a filter, too
	 */
	if (r->comm && by & (KEY(PROCESS) | KEY(FUNCTION)) && v->by_mask & KEY(COMM) &&
	    !(v->takes & REPORT_TAKES_SPIKES))
		by |= KEY(COMM);
	if (r->thread && by & KEY(THREAD) && v->by_mask & KEY(THREAD_NAME))
		by |= KEY(THREAD_NAME);
	if (r->every_ns && !(v->takes & REPORT_TAKES_EVERY))
		return err_set(e, -EINVAL, "report %s has no --every: it looks at the window's end",
			       v->name);
	ret = report_check_keys(v, r->by, e);
	if (ret < 0)
		return ret;
	if (v->rows & REPORT_ROWS_MACHINE)
		f.with_recorder = f.with_idle = true;
	f.with_pseudo = by == KEY(CPU);
	f.workload_only = context_workload_only(a);
	q.needs = v->needs;
	q.memo = a->memo ? a->memo : scan_memo_new();
	ret = question_begin(&q, a, &f);
	if (ret < 0)
		ret = err_set(e, ret, "out of memory");
	if (v->by_mask & KEY(OP))
		by = keys_of_requests(by);
	ret = ret ?: unowned_find(&q, a, r, by, e);
	ret = ret ?: r->fill && r->every_ns ? run_filled(a, r, v, by, sink, e) :
					      run_view(a, r, v, by, sink, e);
	question_end(&q, a);
	free(q.unowned.bins);
	if (q.memo != a->memo)
		scan_memo_free(q.memo);
	return ret;
}

void analysis_keep_rows(struct analysis *a, bool keeps)
{
	scan_memo_free(a->memo);
	a->memo = keeps ? scan_memo_new() : NULL;
}

struct request_cnt analysis_unowned(struct analysis *a, const struct report_request *r)
{
	const struct report_view *v = report_view_find(r->view ? r->view : "summary");
	bool of_some = r->pid_cnt || r->tid_cnt || r->comm || r->thread || r->workload;

	if (!v || !of_some || !unowned_matters(v->needs.sources))
		return (struct request_cnt){ 0 };
	return unowned_count(a, context_rel_clamped(a, r->from_ns),
			     context_rel_clamped(a, r->to_ns));
}
