/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Plans: for every join of schema/QUERIES.md and of the canned reports no order of its tables,
 * forced by CROSS JOIN, decodes fewer rows than the order that SQLite chooses.
 */
#include <strings.h>
#include <sqlite3.h>

#include "analyze/context/context.h"
#include "analyze/engine/report_view.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"
#include "trace/trace_state.h"

#define T0 1000000000ull
#define ITEMS_MAX 6
#define PROGRESS_OPS 2000
#define SLACK_ROWS 50
#define STATEMENTS_MAX 64

static struct made_trace made;
static double events_per_block;

static int setup(void **state)
{
	struct gen_mix m = { .seed = 5, .now_ns = T0 };
	const struct trace_block *b;
	struct gen *g;
	size_t cnt, i;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = 3, .from_ns = T0 });
	g = made.g;
	gen_mix_start(g, &m);
	for (i = 0; i < 6; i++) {
		gen_mix_run(g, &m, 1500);
		gen_slice(g, m.now_ns + 1);
	}
	gen_mix_done(&m);
	made_open(&made);
	b = trace_blocks(made.t, &cnt);
	for (i = 0; i < cnt * EVENT_KIND_CNT; i++)
		events_per_block += (double)b[i / EVENT_KIND_CNT].kind_cnt[i % EVENT_KIND_CNT];
	events_per_block /= (double)cnt;
	return 0;
}

static int teardown(void **state)
{
	made_close(&made);
	return 0;
}

/* ---- the cost of a statement ---- */

static double rows_decoded(void)
{
	return (double)atomic_load(&made.t->decoded_blocks) * events_per_block +
	       (double)made.a->rows_made;
}

static double cost_limit;
static uint64_t rows_given;	/* by the statement that ran last */

static int is_too_much(void *ctx)
{
	return rows_decoded() > cost_limit;
}

/* Rows that a statement decodes; a negative number: it cannot be planned, or decodes more than
 * max. */
static double cost_of(const char *sql, double max)
{
	double before = rows_decoded();
	sqlite3_stmt *stmt;
	int rc;

	if (sqlite3_prepare_v2(made.a->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return -1;
	cost_limit = before + max;
	sqlite3_progress_handler(made.a->db, PROGRESS_OPS, is_too_much, NULL);
	rows_given = 0;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		rows_given++;
	sqlite3_progress_handler(made.a->db, 0, NULL, NULL);
	sqlite3_finalize(stmt);
	if (rc != SQLITE_DONE && rc != SQLITE_INTERRUPT)
		return -1;
	return rc == SQLITE_DONE ? rows_decoded() - before : -1;
}

/* ---- the joins of a statement ---- */

struct span {
	const char *at;
	size_t len;
};

/* FROM item JOIN item ON condition ...: the inner joins at the beginning of a FROM clause. */
struct join {
	const char *from, *end;		/* of the text from the first item to the last condition */
	unsigned int item_cnt, on_cnt;
	struct span items[ITEMS_MAX], ons[ITEMS_MAX];
};

/* The length of the token at s: a text, a comment, blanks, a word, or else one character. */
static size_t token_length(const char *s)
{
	const char *end;

	if (*s == '\'' || *s == '"') {
		end = strchr(s + 1, *s);
		return end ? (size_t)(end - s) + 1 : strlen(s);
	}
	if (!strncmp(s, "--", 2))
		return strcspn(s, "\n");
	if (strspn(s, " \t\n"))
		return strspn(s, " \t\n");
	if (sqlite3_strnicmp(s, "_", 1) && !strchr("abcdefghijklmnopqrstuvwxyz", *s | 0x20))
		return 1;
	return strspn(s, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
}

static bool is_word(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && !strncasecmp(s, word, len);
}

static bool is_one_of(const char *s, size_t len, const char *const *words)
{
	for (; *words; words++)
		if (is_word(s, len, *words))
			return true;
	return false;
}

/* Reads a join after FROM. Returns its end. */
static const char *read_join(const char *s, struct join *j)
{
	static const char *const ends[] = { "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", "EXCEPT",
					    "LEFT", "HAVING", ";", NULL };
	static const char *const separators[] = { "JOIN", "CROSS", "INNER", ",", NULL };
	struct span *part = NULL;
	int depth = 0;
	size_t len;

	memset(j, 0, sizeof(*j));
	for (j->from = s; *s; s += len) {
		len = token_length(s);
		depth += *s == '(';
		depth -= *s == ')';
		if (depth < 0 || (!depth && is_one_of(s, len, ends)))
			break;
		if (!depth && is_word(s, len, "USING"))
			j->item_cnt = ITEMS_MAX;	/* of no use here */
		if (j->item_cnt == ITEMS_MAX)
			continue;
		if (!depth && is_one_of(s, len, separators)) {
			part = NULL;
		} else if (!depth && is_word(s, len, "ON")) {
			part = &j->ons[j->on_cnt++];
		} else if (!strspn(s, " \t\n") && strncmp(s, "--", 2)) {
			if (!part)
				part = &j->items[j->item_cnt++];
			if (!part->at)
				part->at = s;
			part->len = (size_t)(s + len - part->at);
		}
	}
	j->end = s;
	if (j->item_cnt == ITEMS_MAX)
		j->item_cnt = 0;
	return s;
}

/* The statement with the items of a join in another order. */
static char *forced(const char *sql, const struct join *j, const unsigned int *order)
{
	sqlite3_str *s = sqlite3_str_new(NULL);

	sqlite3_str_append(s, sql, (int)(j->from - sql));
	for (unsigned int i = 0; i < j->item_cnt; i++)
		sqlite3_str_appendf(s, "%s%.*s", i ? " CROSS JOIN " : " ",
				    (int)j->items[order[i]].len, j->items[order[i]].at);
	for (unsigned int i = 0; i < j->on_cnt; i++)
		sqlite3_str_appendf(s, "%s(%.*s)", i ? " AND " : " ON ", (int)j->ons[i].len,
				    j->ons[i].at);
	sqlite3_str_appendf(s, " %s", j->end);
	return sqlite3_str_finish(s);
}

static bool next_permutation(unsigned int *v, unsigned int cnt)
{
	unsigned int i, k, x;

	for (i = cnt - 1; i && v[i - 1] > v[i]; i--)
		;
	if (!i)
		return false;
	for (k = cnt - 1; v[k] < v[i - 1]; k--)
		;
	x = v[k];
	v[k] = v[i - 1];
	v[i - 1] = x;
	for (k = cnt - 1; i < k; i++, k--) {
		x = v[k];
		v[k] = v[i];
		v[i] = x;
	}
	return true;
}

static void check_join(const char *sql, const struct join *j, double chosen)
{
	unsigned int order[ITEMS_MAX], i;
	uint64_t wanted = rows_given;
	double cost;
	char *other;

	for (i = 0; i < j->item_cnt; i++)
		order[i] = i;
	do {
		other = forced(sql, j, order);
		cost = cost_of(other, chosen);
		/*
		 * a function whose argument is a column of a later item returns no rows in this
		 * order
		 */
		if (rows_given != wanted)
			cost = -1;
		/* no estimate can know which of two short lists has no row that is wanted */
		if (cost >= 0 && cost < 0.99 * chosen - SLACK_ROWS)
			fail_msg("%.0f rows are decoded instead of %.0f:\n%s", chosen, cost,
				 strstr(other, "SELECT"));
		sqlite3_free(other);
	} while (next_permutation(order, j->item_cnt));
}

/* Returns the number of joins. */
static unsigned int check_statement(const char *sql)
{
	double chosen = cost_of(sql, 1e18);
	uint64_t given = rows_given;
	const char *s = sql;
	unsigned int cnt = 0;
	struct join j;
	size_t len;

	if (chosen < 0)
		fail_msg("%s: %s", sqlite3_errmsg(made.a->db), sql);
	for (; *s; s += len) {
		len = token_length(s);
		if (!is_word(s, len, "FROM"))
			continue;
		read_join(s + len, &j);
		if (j.item_cnt < 2)
			continue;
		rows_given = given;
		check_join(sql, &j, chosen);
		cnt++;
	}
	return cnt;
}

/* ---- the statements ---- */

static char *read_document(void)
{
	char path[512], *text = calloc(1, 1 << 20);
	FILE *f;

	assert_non_null(text);
	snprintf(path, sizeof(path), "%.*s../../../schema/QUERIES.md",
		 (int)(strrchr(__FILE__, '/') + 1 - __FILE__), __FILE__);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s cannot be read", path);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 1000);
	fclose(f);
	return text;
}

UNIT_TEST(test_queries_of_the_document_are_planned_best)
{
	char *text = read_document(), *s = text, *end;
	unsigned int cnt = 0;

	while ((s = strstr(s, "```sql\n"))) {
		s += strlen("```sql\n");
		end = strstr(s, "```");
		assert_non_null(end);
		*end = 0;
		cnt += check_statement(s);
		s = end + 1;
	}
	free(text);
	if (cnt < 20)
		fail_msg("only %u joins found in QUERIES.md", cnt);
}

struct statements {
	char *sql[STATEMENTS_MAX];
	unsigned int cnt;
};

/*
 * A callback of sqlite3_trace_v2(). A statement that runs inside another one, for causes(), comes
 * as a comment, without its parameters: it is left out.
 */
static int note_statement(unsigned int what, void *ctx, void *stmt, void *text)
{
	struct statements *s = ctx;

	char *sql = sqlite3_expanded_sql(stmt);

	if (s->cnt < STATEMENTS_MAX && strncmp(sql, "-- SELECT", 9) && strncmp(sql, "-- WITH", 7))
		s->sql[s->cnt++] = sql;
	else
		sqlite3_free(sql);
	return 0;
}

static unsigned int check_report(const struct report_view *v, unsigned int by, uint64_t every_ns)
{
	struct report_request q = { .view = v->name, .from_ns = T0, .to_ns = trace_end_ns(made.t),
				    .by = by, .every_ns = every_ns };
	struct statements s = { .cnt = 0 };
	unsigned int i, joins = 0;
	struct rows r;

	sqlite3_trace_v2(made.a->db, SQLITE_TRACE_STMT, note_statement, &s);
	rows_report(&r, made.a, &q);
	sqlite3_trace_v2(made.a->db, 0, NULL, NULL);
	rows_done(&r);
	assert_in_range(s.cnt, 1, STATEMENTS_MAX - 1);
	for (i = 0; i < s.cnt; i++) {
		joins += check_statement(s.sql[i]);
		sqlite3_free(s.sql[i]);
	}
	return joins;
}

UNIT_TEST(test_canned_reports_are_planned_best)
{
	const struct report_view *views = report_view_list;
	unsigned int cnt = report_view_cnt, i, by, joins = 0;

	for (i = 0; i < cnt; i++) {
		for (by = 0; by <= REPORT_BY_CNT; by++) {
			unsigned int key = by < REPORT_BY_CNT ? 1u << by : 0;

			if (key & ~views[i].by_mask)
				continue;
			joins += check_report(&views[i], key, 0);
			if (views[i].takes & REPORT_TAKES_EVERY)
				joins += check_report(&views[i], key, 5000000);
		}
	}
	if (joins < 20)
		fail_msg("only %u joins found in reports", joins);
}

/* ---- long scans are reported ---- */

static void note_scan(void *ctx, const char *table, uint64_t rows)
{
	assert_string_equal(table, "switches");
	*(uint64_t *)ctx = rows;
}

static uint64_t scan_said(const char *sql, uint64_t rows_max)
{
	uint64_t said = 0;
	const struct analysis_scan_watch watch = { rows_max, note_scan, &said };

	analysis_watch_scans(made.a, &watch);
	assert_true(cost_of(sql, 1e9) >= 0);
	analysis_watch_scans(made.a, &(struct analysis_scan_watch){});
	return said;
}

UNIT_TEST(test_scan_of_many_rows_is_said_before)
{
	uint64_t all = scan_said("SELECT count(*) FROM switches", 1), part;
	char sql[128];

	cost_of("SELECT * FROM switches", 1e9);
	assert_int_equal(all, rows_given);
	assert_int_equal(scan_said("SELECT count(*) FROM switches", all), all);
	assert_int_equal(scan_said("SELECT count(*) FROM switches", all + 1), 0);
	/* of a window the blocks that it touches */
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM switches WHERE ts_ns < %llu",
		 (unsigned long long)(made.a->end_ns - made.a->start_ns) / 4);
	part = scan_said(sql, 1);
	assert_in_range(part, 1, all - 1);
	assert_int_equal(scan_said(sql, all), 0);
	/* functions are the answer, not the question */
	assert_int_equal(scan_said("SELECT count(*) FROM cpu_usage", 1), 0);
	assert_int_equal(scan_said("SELECT * FROM totals('switches', 'cpu', 'prev_prio')", 1), 0);
}

UNIT_TESTS_IN(setup, teardown)
