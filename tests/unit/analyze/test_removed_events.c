/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Complete means right: whatever events are removed from a trace, a row of any window that says
 * that it is complete is a row of the whole trace's answer. Events are removed as a full ring does
 * it, with a loss in the slice, or without a word, as those from before the recording. tests/damage
 * removes bytes, blocks and files.
 */
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 5000000000ull
#define BLOCKS 5
#define KEY(x) (1u << REPORT_BY_##x)

static uint64_t dice;

static uint64_t below(uint64_t n)
{
	return (gen_random(&dice) >> 11) % n;
}

/* The same machine each time, but for what is dropped. */
static void make(struct made_trace *m, uint64_t seed, struct gen_drop *drop)
{
	struct gen_mix mix = { .seed = seed, .now_ns = T0 };

	made_begin(m, &(struct gen_config){ .cpu_cnt = 2,
					    .from_ns = T0,
					    .drop = drop,
					    .sources = "sched.switch,sched.wakeup,alloc.rss,alloc."
						       "vm,alloc.slab,alloc.page,block" });
	gen_mix_start(m->g, &mix);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		gen_mix_run(m->g, &mix, 1500);
		gen_slice(m->g, ++mix.now_ns);
	}
	gen_mix_done(&mix);
	made_open(m);
}

static const struct {
	const char *view;
	unsigned int by;
	const char *comm;
} questions[] = {
	{ "io", 0, NULL },
	{ "io", KEY(COMM), NULL },
	{ "io", KEY(DEVICE), NULL },
	{ "io", KEY(PROCESS), "thread-1*" },
	{ "io", KEY(OP), "thread-*" },
	{ "io", KEY(FILE) | KEY(COMM), NULL },
	{ "io", KEY(SIZE), "cc1" },
	{ "latency", 0, NULL },
	{ "latency", KEY(COMM), "thread-2*" },
	{ "pattern", KEY(COMM), NULL },
	{ "devices", 0, NULL },
	{ "totals", 0, NULL },
	{ "totals", 0, "thread-*" },
	{ "cpu", KEY(PROCESS), NULL },
	{ "cpu", KEY(CPU), NULL },
	{ "sched", KEY(COMM), NULL },
	{ "states", KEY(THREAD), NULL },
	{ "waits", KEY(COMM), NULL },
	{ "alloc", KEY(COMM), NULL },
	{ "memory", KEY(PROCESS), NULL },
	{ "sizes", 0, NULL },
	{ "parallel", 0, NULL },
	{ "bins", KEY(COMM), NULL },
};

static bool same_value(const struct value *a, const struct value *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == VALUE_TEXT)
		return a->text_bytes == b->text_bytes && !memcmp(a->text, b->text, a->text_bytes);
	return a->type == VALUE_NULL || (a->type == VALUE_REAL ? a->r == b->r : a->i == b->i);
}

/* Columns that state how owners were found, which a row of a device may state in any way. */
static bool is_of_owners(const char *name)
{
	return !strcmp(name, "unknown_owner_ios") || !strcmp(name, "owner_how") ||
	       !strcmp(name, "submitter");
}

static bool has_row(const struct rows *r, const struct value *row)
{
	for (unsigned int i = 0, k; i < r->row_cnt; i++) {
		for (k = 0; k < r->col_cnt && (is_of_owners(r->names[k]) ||
					       same_value(&r->values[i * r->col_cnt + k], &row[k]));
		     k++)
			;
		if (k == r->col_cnt)
			return true;
	}
	return false;
}

/* Column of the result, or -1. */
static int find_col(const struct rows *r, const char *name)
{
	for (unsigned int i = 0; i < r->col_cnt; i++)
		if (!strcmp(r->names[i], name))
			return (int)i;
	return -1;
}

static void print_row(const struct rows *r, const struct value *v)
{
	for (unsigned int i = 0; i < r->col_cnt; i++)
		if (v[i].type == VALUE_TEXT)
			print_error("%s=%.*s ", r->names[i], (int)v[i].text_bytes, v[i].text);
		else if (v[i].type != VALUE_NULL)
			print_error("%s=%g ", r->names[i],
				    v[i].type == VALUE_REAL ? v[i].r : (double)v[i].i);
	print_error("\n");
}

/* The row has what belongs to unknown owners: the fewer are known, the more it has. */
static bool is_of_unknown(const struct rows *r, const struct value *row)
{
	for (unsigned int i = 0; i < r->col_cnt; i++)
		if (row[i].type == VALUE_TEXT && row[i].text_bytes == 9 &&
		    !memcmp(row[i].text, "[unknown]", 9))
			return true;
	return false;
}

/* Asks both the same. Returns how many rows of the lesser trace say that they are complete. */
static unsigned int compare(struct made_trace *whole, struct made_trace *less,
			    const struct gen_drop *d, unsigned int nr)
{
	struct report_request q = { .view = questions[nr].view, .by = questions[nr].by,
				    .comm = questions[nr].comm };
	uint64_t span = trace_end_ns(whole->t) - T0;
	unsigned int cnt = 0;
	struct rows a, b;
	int complete, unowned;

	/* half of the windows begin later: in, before or after the loss */
	q.from_ns = T0 + below(2) * below(span);
	q.to_ns = q.from_ns + 1 + below(T0 + span - q.from_ns);
	q.every_ns = !strcmp(q.view, "bins") ? span : 0;
	rows_report(&a, whole->a, &q);
	rows_report(&b, less->a, &q);
	complete = find_col(&b, "complete");
	unowned = find_col(&b, "unowned_ios");	/* by how much the row may be off */
	if (complete < 0)
		fail_msg("report %s has no column complete", q.view);
	for (unsigned int i = 0; i < b.row_cnt; i++) {
		const struct value *row = &b.values[i * b.col_cnt];

		if (row[complete].type != VALUE_INT || !row[complete].i ||
		    (unowned >= 0 && row[unowned].i) ||
		    (d->is_silent && is_of_unknown(&b, row)))
			continue;
		cnt++;
		if (has_row(&a, row))
			continue;
		print_row(&b, row);
		for (unsigned int k = 0; k < a.row_cnt; k++)
			if (same_value(&a.values[k * a.col_cnt], row))
				print_row(&a, &a.values[k * a.col_cnt]);
		fail_msg("report %s, question %u: a row that says complete is not in the whole "
			 "trace's answer; hook %u was "
			 "dropped in %llu .. %llu ns%s",
			 q.view, nr, d->hook, (unsigned long long)(d->from_ns - T0),
			 (unsigned long long)(d->to_ns - T0),
			 d->is_silent ? " without a word" : "");
	}
	rows_done(&a);
	rows_done(&b);
	return cnt;
}

UNIT_TEST(test_a_row_that_says_complete_is_right)
{
	static const unsigned int hooks[] = {
		WIRE_SWITCH,
		WIRE_WAKING,
		WIRE_KMALLOC,
		WIRE_KFREE,
		WIRE_CACHE_ALLOC,
		WIRE_CACHE_FREE,
		WIRE_PAGE_ALLOC,
		WIRE_PAGE_FREE,
		WIRE_RSS,
		WIRE_VM,
		WIRE_BLOCK_INSERT,
		WIRE_BLOCK_ISSUE,
		WIRE_BLOCK_COMPLETE,
		WIRE_DIRTY,
		WIRE_PATH,
		WIRE_TASK_NEW,
		WIRE_TASK_EXEC,
		WIRE_TASK_EXIT,
	};
	unsigned int seeds = gen_seeds(2), cnt = 0;

	for (unsigned int seed = 1; seed <= seeds; seed++) {
		struct made_trace whole;

		dice = seed;
		make(&whole, seed, NULL);
		for (unsigned int h = 0; h < sizeof(hooks) / sizeof(hooks[0]); h++) {
			/* what was dirtied before the recording is never told */
			bool is_silent = hooks[h] == WIRE_DIRTY && seed % 2;
			uint64_t span = trace_end_ns(whole.t) - T0,
				 from = is_silent ? 0 : T0 + below(span);
			struct gen_drop d = { hooks[h], from,
					      (is_silent ? T0 : from) + 1 + below(span / 2),
					      is_silent };
			struct made_trace less;

			make(&less, seed, &d);
			for (unsigned int i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
				cnt += compare(&whole, &less, &d, i);
			made_close(&less);
		}
		made_close(&whole);
	}
	assert_true(cnt > 100); /* some answers are complete */
}

UNIT_TESTS
