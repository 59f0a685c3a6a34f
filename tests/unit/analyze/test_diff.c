/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff makes two judgements, which are tested against known answers: is a difference noise, and
 * do two processes play the same role.
 */
#include <math.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/role.h"
#include "tests/unit/unit_test.h"

static void near(double got, double want, double allowed)
{
	if (fabs(got - want) > allowed)
		fail_msg("got %.12g, expected %.12g", got, want);
}

/* Two-sided tail of Student's t, from published tables; df 1 and 2 also have closed forms. */
UNIT_TEST(test_student_p_has_the_tables_values)
{
	static const struct {
		double t, df, p;
	} table[] = {
		{ 12.706204736, 1, 0.05 }, { 4.302652730, 2, 0.05 }, { 2.228138852, 10, 0.05 },
		{ 3.169272673, 10, 0.01 }, { 2.042272456, 30, 0.05 }, { 2.575829304, 1e7, 0.01 },
		{ 0, 7, 1 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		near(student_p(table[i].t, table[i].df), table[i].p, 1e-6);
	near(student_p(-1, 1), 0.5, 1e-12);	/* 1 - 2/pi atan(1) */
	near(student_p(3, 2), 1 - 3 / sqrt(11), 1e-12);
	assert_true(student_p(INFINITY, 5) == 0);
	assert_true(student_p(40, 30) > 0);
}

UNIT_TEST(test_noise_is_what_differs_between_neighbours)
{
	const double step[] = { 1, 1, 1, 1, 9, 9, 9, 9 }, saw[] = { 1, 3, 1, 3, 1, 3 };

	/* one jump of 8 in 7 differences; the plain variance would be 18.3 */
	near(bin_noise_variance(step, 8), 64.0 / 14, 1e-12);
	near(bin_noise_variance(saw, 6), 2, 1e-12);
	near(bin_noise_variance(saw, 1), 0, 0);
	near(bin_estimate_sum(saw, 6).value, 12, 0);
	near(bin_estimate_sum(saw, 6).variance, 12, 1e-12);
	near(bin_estimate_max(step, 8).value, 9, 0);
}

static double noise(uint64_t *seed)
{
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
		sum += (double)(*seed >> 33) / (double)(1u << 31);
	}
	return sum - 6;
}

/*
 * About one in a hundred pairs of equal series has a p-value below 0.01. All pairs whose means are
 * two deviations apart have.
 */
UNIT_TEST(test_compare_errs_as_often_as_it_says)
{
	unsigned int below = 0, found = 0, run, i;
	uint64_t seed = 7;

	for (run = 0; run < 2000; run++) {
		double a[50], b[50], c[50];
		struct bin_estimate x, y, z;

		for (i = 0; i < 50; i++) {
			a[i] = 10 + noise(&seed);
			b[i] = 10 + noise(&seed);
			c[i] = 12 + noise(&seed);
		}
		x = bin_estimate_sum(a, 50);
		y = bin_estimate_sum(b, 50);
		z = bin_estimate_sum(c, 50);
		below += bin_compare(&x, &y) < 0.01;
		found += bin_compare(&x, &z) < 0.01;
	}
	assert_in_range(below, 5, 45);
	assert_int_equal(found, 2000);
	near(bin_compare(&(struct bin_estimate){ 5, 0, 1 }, &(struct bin_estimate){ 5, 0, 1 }), 1,
	     0);
	near(bin_compare(&(struct bin_estimate){ 5, 0, 1 }, &(struct bin_estimate){ 6, 0, 1 }), 0,
	     0);
}

UNIT_TEST(test_correction_is_for_all_comparisons_together)
{
	near(bin_corrected(0.001, 1), 0.001, 0);
	near(bin_corrected(0.001, 60), 0.06, 1e-12);
	near(bin_corrected(0.5, 60), 1, 0);
	near(bin_corrected(0, 1000), 0, 0);
	near(bin_corrected(1, 1), 1, 0);
}

/*
 * Comparisons of 60 figures; 3 of them changed by one and a half deviations. Other figures seldom
 * seem to have changed. Without a correction, nearly every second comparison has such a figure.
 */
UNIT_TEST(test_correction_keeps_the_level_of_a_comparison)
{
	enum { RUNS = 200, FIGURES = 60, CHANGED = 3, BINS = 50 };
	unsigned int wrong = 0, uncorrected = 0, found = 0, run, f, i;
	uint64_t seed = 11;

	for (run = 0; run < RUNS; run++) {
		bool is_wrong = false, is_uncorrected = false;

		for (f = 0; f < FIGURES; f++) {
			double a[BINS], b[BINS], p, more = f < CHANGED ? 1.5 : 0;
			struct bin_estimate x, y;

			for (i = 0; i < BINS; i++) {
				a[i] = 10 + noise(&seed);
				b[i] = 10 + more + noise(&seed);
			}
			x = bin_estimate_sum(a, BINS);
			y = bin_estimate_sum(b, BINS);
			p = bin_compare(&x, &y);
			found += f < CHANGED && bin_corrected(p, FIGURES) < 0.01;
			is_wrong |= f >= CHANGED && bin_corrected(p, FIGURES) < 0.01;
			is_uncorrected |= f >= CHANGED && p < 0.01;
		}
		wrong += is_wrong;
		uncorrected += is_uncorrected;
	}
	assert_in_range(uncorrected, RUNS / 3, RUNS * 2 / 3);
	/* 1 % of 200 are 2; 8 come by chance once in 1000 times */
	assert_in_range(wrong, 0, RUNS / 25);
	assert_in_range(found, RUNS * CHANGED * 9 / 10, RUNS * CHANGED);
}

#define PROCESS(id, parent, name, file, args)                                                      \
	{                                                                                          \
		.upid = id, .parent_upid = parent, .comm = (char *)(name), .exe = (char *)(file),  \
		.cmdline = (char *)(args)                                                          \
	}

UNIT_TEST(test_roles_match_by_what_runs)
{
	struct role_process a[] = {
		PROCESS(20, 1, "make", "/usr/bin/make", "make -j2"),
		PROCESS(21, 20, "python3.11", "/usr/bin/python3.11", "python3 train.py --lr 1"),
		PROCESS(22, 20, "python3.11", "/usr/bin/python3.11", "python3 eval.py"),
		PROCESS(23, 20, "sh", "/bin/dash", "sh -c 'cc -c a.c'"),
		PROCESS(24, 1, "gone", "/usr/bin/gone", "gone"),
		{ .upid = 25, .parent_upid = 1, .is_kthread = true, .comm = (char *)"kworker/0:1H",
		  .exe = (char *)"", .cmdline = (char *)"" },
	};
	struct role_process b[] = {
		PROCESS(30, 1, "make", "/opt/bin/make", "make -j8"),
		PROCESS(31, 30, "python3.12", "/usr/bin/python3.12", "python3 -u /tmp/x/eval.py"),
		PROCESS(32, 30, "python3.12", "/usr/bin/python3.12", "python3 train.py --lr 2"),
		PROCESS(33, 1, "sh", "/bin/dash", "sh other.sh"),
		{ .upid = 34, .parent_upid = 1, .is_kthread = true, .comm = (char *)"kworker/1:2H",
		  .exe = (char *)"", .cmdline = (char *)"" },
		PROCESS(35, 1, "new", "/usr/bin/new", "new"),
	};
	const struct role_processes p[2] = { { a, 6, 6 }, { b, 6, 6 } };
	const struct role_processes *const sides[2] = { &p[0], &p[1] };
	struct role *roles;
	size_t role_cnt;

	assert_int_equal(role_assign(sides, &roles, &role_cnt), 0);
	assert_int_equal(a[0].role, b[0].role);
	assert_int_equal(a[1].role, b[2].role);
	assert_int_equal(a[2].role, b[1].role);
	assert_int_equal(a[3].role, b[3].role);		/* by program alone */
	assert_int_equal(a[5].role, b[4].role);
	assert_int_not_equal(a[4].role, b[5].role);
	assert_int_not_equal(a[1].role, a[2].role);
	assert_string_equal(roles[a[1].role].name, "python#.# train.py");
	assert_string_equal(roles[a[1].role].parent, "make");
	assert_string_equal(roles[a[3].role].parent, "");
	assert_string_equal(roles[a[5].role].name, "kworker/#:#H");
	role_free(roles, role_cnt);
}

UNIT_TEST(test_role_has_the_digits_that_all_its_processes_have)
{
	struct role_process a[] = {
		PROCESS(20, 1, "python3.11", "/usr/bin/python3.11", "python3 run2.py"),
		PROCESS(21, 20, "gcc", "/usr/bin/gcc", "gcc -O2 -o /tmp/x1 main2.c"),
		PROCESS(22, 20, "seq", "/usr/bin/seq", "seq 40"),
	};
	struct role_process b[] = {
		PROCESS(30, 1, "python3.11", "/usr/bin/python3.11", "python3 run2.py"),
		PROCESS(31, 30, "gcc", "/usr/bin/gcc", "gcc -O2 -o /tmp/y main2.c"),
		PROCESS(32, 30, "seq", "/usr/bin/seq", "seq 41"),
	};
	const struct role_processes p[2] = { { a, 3, 3 }, { b, 3, 3 } };
	const struct role_processes *const sides[2] = { &p[0], &p[1] };
	struct role *roles;
	size_t role_cnt;

	assert_int_equal(role_assign(sides, &roles, &role_cnt), 0);
	assert_int_equal(role_cnt, 3);
	assert_string_equal(roles[a[0].role].name, "python3.11 run2.py");
	assert_string_equal(roles[a[1].role].name, "gcc main2.c");
	assert_string_equal(roles[a[1].role].parent, "python3.11");
	assert_string_equal(roles[a[2].role].name, "seq #");
	role_free(roles, role_cnt);
}

UNIT_TEST(test_a_compiler_is_one_role)
{
	char args[2][40][32];
	struct role_process side[2][40];
	const struct role_processes p[2] = { { side[0], 40, 40 }, { side[1], 40, 40 } };
	const struct role_processes *const sides[2] = { &p[0], &p[1] };
	struct role *roles;
	size_t role_cnt;
	unsigned int s, i;

	for (s = 0; s < 2; s++) {
		for (i = 0; i < 40; i++) {
			snprintf(args[s][i], sizeof(args[s][i]), "cc1 -quiet %c%c%s.c",
				 'a' + i / 26, 'a' + i % 26, s ? "x" : "");
			side[s][i] = (struct role_process)PROCESS(100 + i, 1, "cc1",
								  "/usr/lib/gcc/cc1", args[s][i]);
		}
	}
	assert_int_equal(role_assign(sides, &roles, &role_cnt), 0);
	assert_int_equal(role_cnt, 1);
	assert_string_equal(roles[0].name, "cc1");
	role_free(roles, role_cnt);
}

UNIT_TESTS
