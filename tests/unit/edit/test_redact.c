/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Functions shown under one name have one pseudonym, and different ones otherwise; some names stay.
 */
#include <fnmatch.h>

#include "bpf/wire.h"
#include "edit/trace_redact.h"
#include "symbol/elf_symbols.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000ull
#define SYMBOLS 7
#define LONG 310	/* longer than the part of a name in reports */

static char long_names[2][LONG + 2];
/* The first two are tree::grow, the last two differ only after the part that is shown. */
static const char *const symbols[SYMBOLS] = {
	"_ZN4tree4growEi", "_ZN4tree4growEl", "_ZN4tree5plantEv", "main", "grow",
	long_names[0], long_names[1],
};

static void make(struct made_trace *m)
{
	for (unsigned int i = 0; i < 2; i++) {
		memset(long_names[i], 'a', LONG);
		long_names[i][LONG] = (char)('x' + i);
	}
	made_begin(m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .sites = true,
					    .symbols = symbols });
	gen_snap(m->g, T0, 0, 100, 100, 1, "worker");
	for (unsigned int i = 0; i < SYMBOLS; i++) {
		const uint64_t frame = 0x5500000000 + (i << 8) + 16, ts_ns = T0 + 100 * i + 1;

		gen_kmalloc(m->g, ts_ns, 0, 100, 0x1000 * (i + 1), 64, 0, 0);
		gen_stack(m->g, ts_ns, 0, 100, WIRE_KMALLOC, 0x1000 * (i + 1), 64, &frame, 0, 1);
	}
	made_finish(m, T0 + 10000);
}

/* How many functions the stacks have, as shown. */
static int64_t functions(struct analysis *a)
{
	return rows_one(a, "SELECT count(DISTINCT stack_text(stack, ts_ns)) FROM stack_samples");
}

static int64_t redacted_functions(const struct made_trace *m, const struct redact_options *o,
				  const char *kept)
{
	struct redact_result r;
	struct analysis *a;
	struct trace *t;
	char path[100];
	int64_t cnt;

	snprintf(path, sizeof(path), "%s/redacted-%s", m->dir, kept ? "kept" : "all");
	assert_int_equal(trace_redact(m->t, path, o, &r, NULL), 0);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	cnt = functions(a);
	rows_want(a, kept ? 2 : 0, "SELECT count(*) FROM stack_samples WHERE stack_text(stack, "
		  "ts_ns) NOT LIKE 'fn-%%'");
	if (kept)
		rows_want(a, 2, "SELECT count(*) FROM stack_samples WHERE stack_text(stack, ts_ns) "
			  "= '%s'", kept);
	analysis_close(a);
	trace_close(t);
	return cnt;
}

UNIT_TEST(test_functions_of_one_shown_name_have_one_pseudonym)
{
	static const char *const keep[] = { "tree::grow" };
	const struct redact_options all = { .salt = "x", .salt_bytes = 1 };
	const struct redact_options some = { .salt = "x", .salt_bytes = 1, .keep = keep,
					     .keep_cnt = 1 };
	struct made_trace m;

	make(&m);
	assert_int_equal(functions(m.a), demangle_is_offered() ? 5 : 6);
	assert_int_equal(redacted_functions(&m, &all, NULL), functions(m.a));
	if (demangle_is_offered())
		assert_int_equal(redacted_functions(&m, &some, "tree::grow"), functions(m.a));
	made_close(&m);
}

static void add_process(struct gen *g, uint32_t pid, uint64_t cgroup_id, unsigned int flags)
{
	struct wire_snap r = {
		.task = { .hdr = { .ts_ns = T0, .hook = WIRE_TASK_SNAP, .tid = pid,
				   .flags = (wire_u8)flags }, .tid = pid, .pid = pid, .ppid = 1,
			  .ns_tid = pid, .ns_pid = pid, .cgroup_id = cgroup_id, .comm = "worker" },
	};

	gen_raw(g, &r, sizeof(r));
}

/* Also when the records of how its processes began have been dropped. */
UNIT_TEST(test_the_workload_keeps_its_cgroup)
{
	static const char *const cgroups[] = { "/", "/ours.slice", "/theirs.slice", NULL };
	const struct redact_options o = { .salt = "x", .salt_bytes = 1, .keep_workload = true };
	struct redact_result result;
	struct analysis *a;
	struct made_trace m;
	struct trace *t;
	char path[100];

	made_begin(&m, &(struct gen_config){ .cpu_cnt = 1, .from_ns = T0, .cgroups = cgroups,
					     .file_bytes = 1, .keep_ns = 1000 });
	add_process(m.g, 100, 1, WIRE_F_TARGET);
	add_process(m.g, 200, 2, 0);
	gen_slice(m.g, T0 + 10000);
	gen_switch(m.g, T0 + 10100, 0, 100, 200, 0);
	gen_slice(m.g, T0 + 20000);
	gen_switch(m.g, T0 + 20100, 0, 200, 100, 0);
	made_finish(&m, T0 + 30000);
	rows_want(m.a, 0, "SELECT count(*) FROM task_events");
	snprintf(path, sizeof(path), "%s/redacted", m.dir);
	assert_int_equal(trace_redact(m.t, path, &o, &result, NULL), 0);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	rows_want(a, 1, "SELECT count(*) FROM processes WHERE pid = 100 AND cgroup = "
		  "'/ours.slice'");
	rows_want(a, 1, "SELECT count(*) FROM processes WHERE pid = 200 AND cgroup NOT LIKE "
		  "'%%theirs%%'");
	analysis_close(a);
	trace_close(t);
	made_close(&m);
}

/* The unchanged part of a string, as a pattern; letters match only themselves. */
UNIT_TEST(test_of_names_stays_what_tells_no_name)
{
	static const struct {
		enum redact_kind kind;
		const char *is, *becomes;
	} words[] = {
		{ REDACT_PATH, "/home/ann/libown.so.1.2", "/[a-z]*/[a-z]*/[a-z]*.so" },
		{ REDACT_PATH, "/own.so.1x", "/[a-z]*[a-z]" },
		{ REDACT_PATH, "/own.so.", "/[a-z]*[a-z]" },
		{ REDACT_PATH, "/own.tar.gz", "/[a-z]*[a-z].gz" },
		{ REDACT_PATH, "/own.17", "/[a-z]*[a-z]" },
		{ REDACT_PATH, "/.so", "/[a-z]*[a-z]" },
		{ REDACT_CMDLINE, "own -o --own=/own.c 1", "[a-z]* -[a-z]* --[a-z]*=/[a-z]*.c *" },
		{ REDACT_SYMBOL, "bpf_prog_6deef7357e7b4530_own+0x1f", "sym-[a-z]*+0x1f" },
		{ REDACT_SYMBOL, "vfs_read+0x1f", "vfs_read+0x1f" },
		{ REDACT_DEVICE, "sda", "sda" },
		{ REDACT_DEVICE, "own-volume", "dev-[a-z]*" },
		{ REDACT_COMM, "own", "proc-[a-z]*" },
	};
	static const uint8_t key[PSEUDONYM_KEY_BYTES] = { 1 };
	static const uint32_t uids[] = { 0, 999, 1000, 65534 };
	struct redact_words *w;
	const char *got;
	uint32_t uid;

	assert_int_equal(redact_words_new(&w, key, NULL, 0), 0);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		got = redact_word(w, words[i].kind, words[i].is);
		if (fnmatch(words[i].becomes, got, 0) || (strcmp(words[i].is, words[i].becomes) &&
							   strstr(got, "own")))
			fail_msg("%s is %s, not %s", words[i].is, got, words[i].becomes);
	}
	for (size_t i = 0; i < sizeof(uids) / sizeof(uids[0]); i++) {
		uid = uids[i];
		assert_int_equal(redact_uid(w, &uid), 0);
		assert_true((uid == uids[i]) == (uids[i] != 1000));
	}
	assert_true(redact_words_is_kernels(w, "kswapd0"));
	assert_false(redact_words_is_kernels(w, "own"));
	redact_words_free(w);
}

UNIT_TESTS
