/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Bundles: written files read back unchanged, a trace in a bundle is equal to the trace, and
 * malicious zip files are refused.
 */
#include "trace/trace_state.h"
#include "edit/trace_copy.h"
#include "edit/trace_cut.h"
#include "store/bundle.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/slice_count.h"
#include "tests/unit/unit_test.h"

struct place {
	char dir[64], trace[96], zip[96], chunk[128], manifest[128];
};

static void make_trace(struct place *p)
{
	struct gen *g;

	gen_temp_dir(p->dir);
	snprintf(p->trace, sizeof(p->trace), "%s/trace", p->dir);
	snprintf(p->zip, sizeof(p->zip), "%s/b.zip", p->dir);
	snprintf(p->chunk, sizeof(p->chunk), "%s/chunk-000000.ebr", p->trace);
	snprintf(p->manifest, sizeof(p->manifest), "%s/manifest", p->trace);
	g = gen_open(p->trace, &(struct gen_config){ .cpu_cnt = 2, .from_ns = 1000 });
	gen_snap(g, 1000, 0, 100, 100, 1, "init");
	gen_kmalloc(g, 1500, 0, 100, 0x1000, 64, 0xf00, 0);
	gen_switch(g, 2000, 0, 100, 0, 0);
	gen_slice(g, 10000);
	gen_switch(g, 12000, 0, 0, 100, 0);
	gen_kfree(g, 15000, 0, 100, 0x1000);
	gen_slice(g, 20000);
	gen_finish(g);
}

static void write_bundle(const struct place *p, const char *folder)
{
	const struct bundle_member m[] = {
		{ .name = "chunk-000000.ebr", .path = p->chunk },
		{ .name = "manifest", .path = p->manifest },
		{ .name = "note.txt", .data = "hello\n", .bytes = 6 },
	};
	uint64_t bytes;

	assert_int_equal(bundle_write(p->zip, folder, m, 3, 1700000000, &bytes, NULL), 0);
	assert_true(bytes > 224);
}

/* write_bundle(), and then fn changes bytes of the file. */
static int open_changed(void (*fn)(uint8_t *p, size_t n), const char *folder)
{
	struct bundle b = { 0 };
	struct err e = { "" };
	static uint8_t bytes[1 << 16];
	struct place p;
	size_t n;
	FILE *f;
	int r;

	make_trace(&p);
	write_bundle(&p, folder);
	f = fopen(p.zip, "re");
	assert_non_null(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_true(n < sizeof(bytes));
	fn(bytes, n);
	f = fopen(p.zip, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
	r = bundle_open(&b, p.zip, &e);
	if (r == 0)
		bundle_close(&b);
	else
		assert_true(e.text[0]);
	gen_remove_dir(p.dir);
	return r;
}

/* The nr-th entry of the central directory. */
static uint8_t *entry(uint8_t *p, size_t n, unsigned int nr)
{
	for (size_t i = 0; i + 46 < n; i++)
		if (!memcmp(p + i, "PK\1\2", 4) && !nr--)
			return p + i;
	fail_msg("no entry");
	return NULL;
}

static void nothing(uint8_t *p, size_t n)
{
}

static void name_with_slash(uint8_t *p, size_t n)
{
	entry(p, n, 2)[46 + 4] = '/';
}

/* entry 0 is the folder itself */
static void another_folder(uint8_t *p, size_t n)
{
	entry(p, n, 2)[46] = 'F';
}

static void folder_in_folder(uint8_t *p, size_t n)
{
	entry(p, n, 3)[46 + 7 + 4] = '/';
}

static void name_twice(uint8_t *p, size_t n)
{
	memcpy(entry(p, n, 2) + 46, "manifest", 8);
}

static void compressed(uint8_t *p, size_t n)
{
	entry(p, n, 0)[10] = 8;
}

static void too_large(uint8_t *p, size_t n)
{
	memset(entry(p, n, 0) + 20, 0x7f, 8);
}

static void encrypted(uint8_t *p, size_t n)
{
	entry(p, n, 0)[8] |= 1;
}

static void many_members(uint8_t *p, size_t n)
{
	p[n - 22 + 10] = p[n - 22 + 8] = 0xff;
	p[n - 22 + 11] = p[n - 22 + 9] = 0x7f;
}

static void no_end(uint8_t *p, size_t n)
{
	p[n - 22] = 'x';
}

static void no_manifest(uint8_t *p, size_t n)
{
	entry(p, n, 1)[46] = 'M';
}

UNIT_TEST(test_bundle_refuses_what_is_made_to_harm)
{
	static const struct {
		const char *name;
		void (*fn)(uint8_t *p, size_t n);
	} cases[] = {
		{ "slash", name_with_slash }, { "twice", name_twice },
		{ "compressed", compressed }, { "too large", too_large },
		{ "encrypted", encrypted },   { "many", many_members },
		{ "no end", no_end },	      { "no manifest", no_manifest },
	};

	if (!bundle_library_version())
		skip();
	assert_int_equal(open_changed(nothing, NULL), 0);
	assert_int_equal(open_changed(nothing, "folder"), 0);
	if (!open_changed(another_folder, "folder") || !open_changed(folder_in_folder, "folder"))
		fail_msg("members in two folders were taken");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!open_changed(cases[i].fn, NULL))
			fail_msg("%s was taken", cases[i].name);
}

static void expect_the_trace(const char *folder)
{
	struct trace *a, *b;
	size_t a_cnt, b_cnt, i;
	const struct trace_block *x, *y;
	struct place p;

	make_trace(&p);
	write_bundle(&p, folder);
	assert_int_equal(trace_open(&a, p.trace, NULL), 0);
	assert_int_equal(trace_open(&b, p.zip, NULL), 0);
	assert_int_equal(trace_start_ns(a), trace_start_ns(b));
	assert_true(trace_is_finished(b));
	assert_int_equal(b->dir_fd, -1);
	x = trace_blocks(a, &a_cnt);
	y = trace_blocks(b, &b_cnt);
	assert_int_equal(a_cnt, 2);
	assert_int_equal(b_cnt, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(x[i].bytes, y[i].bytes);
		assert_int_equal(trace_block_verify(b, i, NULL), 0);
	}
	trace_close(a);
	trace_close(b);
	gen_remove_dir(p.dir);
}

UNIT_TEST(test_bundle_is_the_trace_in_a_folder_or_not)
{
	if (!bundle_library_version())
		skip();
	expect_the_trace("folder");
	expect_the_trace(NULL);
}

UNIT_TEST(test_other_files_are_no_trace)
{
	struct bundle b;
	struct place p;

	make_trace(&p);
	assert_int_equal(bundle_open(&b, p.manifest, NULL), -ENOTDIR);
	assert_int_equal(bundle_open(&b, "/dev/zero", NULL), -ENOTDIR);
	assert_int_equal(bundle_open(&b, "/nonexistent", NULL), -ENOENT);
	gen_remove_dir(p.dir);
}

/* A source left out is a gap of the whole trace; the rest stays, and the blocks are whole. */
UNIT_TEST(test_cut_leaves_out_a_source)
{
	struct trace_cut_request q = { .to_ns = UINT64_MAX, .reason = "test" };
	const struct slice_share *s;
	struct check_result checked;
	struct trace_cut_result made;
	const struct trace_block *b;
	const struct trace_gap *g;
	char path[96];
	struct place p;
	struct trace *t;
	size_t cnt, i, k;

	make_trace(&p);
	snprintf(path, sizeof(path), "%s/cut", p.dir);
	for (i = 0; trace_cut_source((unsigned int)i); i++)
		if (!strcmp(trace_cut_source((unsigned int)i), "alloc.slab"))
			q.left_out = 1u << i;
	assert_true(q.left_out);
	assert_int_equal(trace_open(&t, p.trace, NULL), 0);
	assert_int_equal(trace_cut(t, &q, path, &made, NULL), 0);
	trace_close(t);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	b = trace_blocks(t, &cnt);
	assert_int_equal(cnt, 2);
	for (i = 0; i < cnt; i++) {
		assert_int_equal(b[i].kind_cnt[EVENT_SLAB_ALLOC] + b[i].kind_cnt[EVENT_SLAB_FREE],
				 0);
		assert_int_equal(b[i].kind_cnt[EVENT_SWITCH], 1);
		assert_int_equal(slice_count(t, i, &s, &k, NULL), 0);
		while (k--)
			assert_int_equal(s[k].slab_allocs, 0);
	}
	assert_int_equal(trace_check(t, NULL, NULL, &checked, NULL), 0);
	assert_int_equal(checked.damaged_cnt, 0);
	assert_int_equal(checked.block_cnt, 2);
	g = trace_gaps(t, &cnt);
	assert_int_equal(cnt, 1);
	assert_string_equal(g->source, "alloc.slab");
	assert_string_equal(g->reason, "test");
	assert_int_equal(g->from_ns, trace_start_ns(t));
	assert_int_equal(g->to_ns, trace_end_ns(t));
	trace_close(t);
	gen_remove_dir(p.dir);
}

UNIT_TESTS
