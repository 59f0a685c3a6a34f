/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Every fold, over random traces with losses, late records, unknown threads, lost frees, split
 * pages, tiny and empty blocks, finished or not, and random windows, bins and keys: the answer with
 * an index is the answer without, and the sum of its neighbours' and its bins' answers.
 */
#include "tests/unit/gen/fold_check.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

/* Reports are made of the folds: rows of equal weight may change places, so sums are compared. */
static void compare_reports(const struct fold_check *c)
{
	static const struct {
		const char *view;
		enum report_by by;
	} reports[] = {
		{ "cpu", REPORT_BY_CPU },     { "cpu", REPORT_BY_COMM },
		{ "alloc", REPORT_BY_CGROUP }, { "alloc", REPORT_BY_PROCESS },
		{ "sched", REPORT_BY_THREAD }, { "io", REPORT_BY_DEVICE },
	};
	unsigned int i, k;

	for (i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		struct report_request q = { .view = reports[i].view, .by = 1u << reports[i].by };
		struct rows a, b;

		q.from_ns = trace_start_ns(c->t) + chaos_below(100000);
		q.to_ns = trace_end_ns(c->t);
		rows_report(&a, c->plain, &q);
		rows_report(&b, c->indexed, &q);
		assert_int_equal(a.row_cnt, b.row_cnt);
		for (k = 0; k < a.col_cnt; k++) {
			int64_t x = 0, y = 0;
			unsigned int row;

			if (strstr(a.names[k], "_p50_") || strstr(a.names[k], "_p9"))
				continue;
			for (row = 0; row < a.row_cnt; row++) {
				x += rows_int(&a, row, k);
				y += rows_int(&b, row, k);
			}
			if (x != y)
				fail_msg("report %s: %s", reports[i].view, a.names[k]);
		}
		rows_done(&a);
		rows_done(&b);
	}
}

UNIT_TEST(test_folds_add_up_with_and_without_index)
{
	struct fold_check c;
	struct chaos f;
	unsigned int i, seeds = gen_seeds(3);

	for (i = 0; i < seeds; i++) {
		chaos_begin(&f, 100 + i);
		f.m.irqs = 100;
		chaos_add_blocks(&f, 4 + (unsigned int)chaos_below(16));
		chaos_end(&f, i % 3 != 1);
		fold_check_open(&c, &f);
		fold_check_windows(&c, 30, true);
		compare_reports(&c);
		fold_check_close(&c);
		/* again, from the file */
		fold_check_open(&c, &f);
		fold_check_windows(&c, 6, false);
		fold_check_close(&c);
		gen_remove_dir(f.dir);
	}
}

UNIT_TESTS
