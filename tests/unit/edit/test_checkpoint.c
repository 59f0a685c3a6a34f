/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The state at the beginning of a cut is the same to the byte, whether everything before the window
 * was read or only the events after the last checkpoints before it, at any positions of these in
 * the index (derived.idx). An index that is damaged, or that belongs to another trace, is not used.
 */
#include <sys/stat.h>

#include "analyze/analyze.h"
#include "edit/checkpoint.h"
#include "edit/trace_copy.h"
#include "trace/derived_file.h"
#include "trace/trace_state.h"
#include "tests/unit/gen/gen_chaos.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

#define below chaos_below

struct fixture {
	struct chaos f;
	char points[128]; /* derived.idx */
	struct trace *t;
};

static struct fixture fx;

static void begin(struct fixture *x, uint64_t seed, unsigned int blocks)
{
	chaos_begin(&x->f, seed);
	chaos_add_blocks(&x->f, blocks);
	chaos_end(&x->f, true);
	snprintf(x->points, sizeof(x->points), "%s/derived.idx", x->f.path);
	assert_int_equal(trace_open(&x->t, x->f.path, NULL), 0);
}

static void end(struct fixture *x)
{
	if (!x->f.dir[0])
		return;
	trace_close(x->t);
	gen_remove_dir(x->f.dir);
	memset(x, 0, sizeof(*x));
}

static struct checkpoint carry(struct trace *t, uint64_t at_ns, uint32_t kinds, bool use_stored)
{
	const struct analysis_index_use use = { .use = use_stored };
	struct checkpoint c;
	struct analysis *a;
	struct err e = { "" };

	assert_int_equal(analysis_open(&a, t, NULL), 0);
	analysis_use_index(a, &use);
	if (analysis_checkpoint(a, at_ns, kinds, &c, &e) < 0)
		fail_msg("%s", e.text);
	analysis_close(a);
	return c;
}

/* Counts the parts of a checkpoint at at_ns that begin at stored ones. */
static void count_stored(struct trace *t, uint64_t at_ns, unsigned int cnt[CHECKPOINT_PART_CNT])
{
	struct derived_file *d;
	struct checkpoint c;
	uint64_t found_ns;

	assert_int_equal(derived_file_open(&d, t, 0), 0);
	for (unsigned int part = 0; part < CHECKPOINT_PART_CNT; part++) {
		if (checkpoint_find(d, t, part, at_ns, &found_ns, &c) <= 0)
			continue;
		assert_true(found_ns <= at_ns);
		cnt[part]++;
		checkpoint_done(&c);
	}
	derived_file_close(d);
}

static void check_same(const struct checkpoint *a, const struct checkpoint *b, uint64_t at_ns,
		       const char *what)
{
	for (size_t i = 0; i < a->event_cnt && i < b->event_cnt; i++)
		if (memcmp(&a->events[i], &b->events[i], sizeof(*a->events)))
			fail_msg("%s, at %llu: event %zu is %s of %llu at %llx by %u, and %s of "
				 "%llu at %llx by %u", what,
				 (unsigned long long)at_ns, i, event_kind_name(a->events[i].kind),
				 (unsigned long long)a->events[i].ts_ns,
				 (unsigned long long)a->events[i].v[0], a->events[i].utid,
				 event_kind_name(b->events[i].kind),
				 (unsigned long long)b->events[i].ts_ns,
				 (unsigned long long)b->events[i].v[0], b->events[i].utid);
	assert_int_equal(a->event_cnt, b->event_cnt);
	for (size_t i = 0; i < a->memory_cnt && i < b->memory_cnt; i++)
		if (a->memory[i].upid != b->memory[i].upid ||
		    a->memory[i].unknown != b->memory[i].unknown ||
		    memcmp(a->memory[i].bytes, b->memory[i].bytes, sizeof(a->memory[i].bytes)) ||
		    a->memory[i].total_vm_bytes != b->memory[i].total_vm_bytes)
			fail_msg("%s, at %llu: memory of %u and %u", what,
				 (unsigned long long)at_ns, a->memory[i].upid, b->memory[i].upid);
	assert_int_equal(a->memory_cnt, b->memory_cnt);
}

static uint64_t instant(struct trace *t)
{
	uint64_t start = trace_start_ns(t), end = trace_end_ns(t);
	size_t cnt;
	const struct trace_block *b = trace_blocks(t, &cnt);

	return below(4) ? start + below(end - start + 1) : b[below(cnt)].from_ns;
}

static unsigned int seeds(void)
{
	return gen_seeds(12);
}

/* A part that is far from its last stored checkpoint reads more events, with the same result. */
UNIT_TEST(test_carried_from_the_index_is_carried_from_the_start)
{
	static const uint32_t kinds[] = { UINT32_MAX, UINT32_MAX,
					  1u << EVENT_SWITCH | 1u << EVENT_WAKEUP };
	struct checkpoint whole, stored;
	unsigned int i, k, used_cnt[CHECKPOINT_PART_CNT] = { 0 };
	struct fixture x;
	uint64_t at_ns;
	uint32_t mask;

	for (i = 0; i < seeds(); i++) {
		begin(&x, 3000 + i, 3 + (unsigned int)below(8));
		chaos_make_index(x.t, 1 + below(below(2) ? 20 : 2000));
		for (k = 0; k < 8; k++) {
			at_ns = instant(x.t);
			mask = kinds[below(3)];
			count_stored(x.t, at_ns, used_cnt);
			whole = carry(x.t, at_ns, mask, false);
			stored = carry(x.t, at_ns, mask, true);
			check_same(&whole, &stored, at_ns, x.f.path);
			checkpoint_done(&whole);
			checkpoint_done(&stored);
		}
		end(&x);
	}
	for (i = 0; i < CHECKPOINT_PART_CNT; i++)
		assert_true(used_cnt[i] > seeds());
}

/* The index continues where it ended when the trace was still growing. */
UNIT_TEST(test_carried_from_an_index_that_grew_is_the_same)
{
	struct checkpoint whole, stored;
	unsigned int i, k, used_cnt[CHECKPOINT_PART_CNT] = { 0 };
	struct fixture x = { 0 };
	uint64_t at_ns;

	for (i = 0; i < seeds(); i++) {
		chaos_begin(&x.f, 4000 + i);
		for (k = 0; k < 3; k++) {
			chaos_add_blocks(&x.f, 2 + (unsigned int)below(4));
			if (k == 2)
				chaos_end(&x.f, true);
			assert_int_equal(trace_open(&x.t, x.f.path, NULL), 0);
			chaos_make_index(x.t, 1 + below(300));
			if (k < 2)
				trace_close(x.t);
		}
		for (k = 0; k < 8; k++) {
			at_ns = instant(x.t);
			count_stored(x.t, at_ns, used_cnt);
			whole = carry(x.t, at_ns, UINT32_MAX, false);
			stored = carry(x.t, at_ns, UINT32_MAX, true);
			check_same(&whole, &stored, at_ns, x.f.path);
			checkpoint_done(&whole);
			checkpoint_done(&stored);
		}
		end(&x);
	}
	for (i = 0; i < CHECKPOINT_PART_CNT; i++)
		assert_true(used_cnt[i] > seeds());
}

UNIT_TEST(test_checkpoint_comes_back_from_bytes)
{
	struct checkpoint a, b;
	struct buf out = { 0 };
	unsigned int cpus;
	uint64_t at_ns;
	uint8_t *bytes;
	size_t i, cnt;

	begin(&fx, 71, 6);
	cpus = trace_cpu_cnt(fx.t);
	at_ns = trace_start_ns(fx.t) + (trace_end_ns(fx.t) - trace_start_ns(fx.t)) / 2;
	a = carry(fx.t, at_ns, UINT32_MAX, false);
	assert_true(a.event_cnt > 100 && a.memory_cnt > 3);
	checkpoint_encode(&a, at_ns, &out);
	assert_false(out.failed);
	cnt = out.len;
	bytes = calloc(1, cnt + 8);
	assert_non_null(bytes);
	memcpy(bytes, out.data, cnt);
	assert_int_equal(checkpoint_decode(bytes, cnt, a.event_cnt, at_ns, cpus, &b), 0);
	check_same(&a, &b, at_ns, "decoded");
	checkpoint_done(&b);
	/*
	 * of more events than there may be; of a CPU there is not; of another instant; cut short,
	 * at any place; more than there is
	 */
	assert_int_equal(checkpoint_decode(bytes, cnt, a.event_cnt - 1, at_ns, cpus, &b), -EBADMSG);
	assert_int_equal(checkpoint_decode(bytes, cnt, cnt, at_ns, 1, &b), -EBADMSG);
	assert_int_equal(checkpoint_decode(bytes, cnt, cnt, at_ns - 1, cpus, &b), -EBADMSG);
	for (i = 0; i < cnt; i += 1 + cnt / 500)
		assert_int_equal(checkpoint_decode(bytes, i, cnt, at_ns, cpus, &b), -EBADMSG);
	assert_int_equal(checkpoint_decode(bytes, cnt + 8, cnt, at_ns, cpus, &b), -EBADMSG);
	/* with an event at the instant itself */
	a.events[a.event_cnt - 1].ts_ns = at_ns;
	buf_reset(&out);
	checkpoint_encode(&a, at_ns, &out);
	assert_int_equal(checkpoint_decode(out.data, out.len, cnt, at_ns, cpus, &b), -EBADMSG);
	free(bytes);
	buf_done(&out);
	checkpoint_done(&a);
}

/* 1: the file is there and whole; 0: it is not there; -EBADMSG, -ESTALE. */
static int check_file(struct trace *t, uint64_t *ret_bytes)
{
	struct derived_file *d;
	int r;

	assert_int_equal(derived_file_open(&d, t, DERIVED_BESIDE), 0);
	r = derived_file_state(d, NULL);
	if (r > 0 && derived_file_verify(d) < 0)
		r = -EBADMSG;
	*ret_bytes = derived_file_bytes(d);
	derived_file_close(d);
	return r;
}

UNIT_TEST(test_a_file_with_any_bit_flipped_is_found_and_not_used)
{
	unsigned int stored_cnt[CHECKPOINT_PART_CNT] = { 0 };
	struct checkpoint whole, c;
	uint64_t at_ns, size;
	uint8_t *bytes;
	size_t i, cnt;

	begin(&fx, 81, 5);
	at_ns = trace_end_ns(fx.t) - 1000;
	whole = carry(fx.t, at_ns, UINT32_MAX, false);
	chaos_make_index(fx.t, 1000);
	count_stored(fx.t, at_ns, stored_cnt);
	assert_true(stored_cnt[CHECKPOINT_SCHED] && stored_cnt[CHECKPOINT_SLAB]);
	assert_int_equal(check_file(fx.t, &size), 1);
	bytes = file_read(fx.points, &cnt);
	assert_int_equal(size, cnt);
	for (i = 0; i < cnt; i += 1 + cnt / 120) {
		bytes[i] ^= (uint8_t)(1u << i % 8);
		file_write(fx.points, bytes, cnt);
		bytes[i] ^= (uint8_t)(1u << i % 8);
		if (check_file(fx.t, &size) >= 0)
			fail_msg("byte %zu of %zu is changed, and not found", i, cnt);
		c = carry(fx.t, at_ns, UINT32_MAX, true);
		check_same(&whole, &c, at_ns, "with a damaged file");
		checkpoint_done(&c);
	}
	/* cut short, too */
	file_write(fx.points, bytes, cnt / 2);
	assert_int_equal(check_file(fx.t, &size), -EBADMSG);
	c = carry(fx.t, at_ns, UINT32_MAX, true);
	check_same(&whole, &c, at_ns, "with half a file");
	checkpoint_done(&c);
	free(bytes);
	checkpoint_done(&whole);
}

UNIT_TEST(test_the_file_of_another_trace_is_not_used)
{
	struct checkpoint whole, c;
	struct fixture x, y;
	uint64_t at_ns, size;
	uint8_t *bytes;
	size_t cnt;

	begin(&x, 91, 5);
	chaos_make_index(x.t, 1000);
	bytes = file_read(x.points, &cnt);
	end(&x);
	begin(&y, 92, 5);
	file_write(y.points, bytes, cnt);
	free(bytes);
	assert_int_equal(check_file(y.t, &size), -ESTALE);
	at_ns = trace_end_ns(y.t) - 1000;
	whole = carry(y.t, at_ns, UINT32_MAX, false);
	c = carry(y.t, at_ns, UINT32_MAX, true);
	check_same(&whole, &c, at_ns, "with the file of another trace");
	checkpoint_done(&c);
	checkpoint_done(&whole);
	end(&y);
}

static int on_part(void *ctx, const struct check_part *p)
{
	if (!strcmp(p->file, "derived.idx"))
		*(struct check_part *)ctx = *p;
	return 0;
}

static struct check_part check_points(struct trace *t)
{
	struct check_part p = { .reason = "not told of" };
	struct check_result r;

	assert_int_equal(trace_check(t, on_part, &p, &r, NULL), 0);
	assert_int_equal(r.damaged_cnt, 0);
	return p;
}

/*
 * The file belongs to the trace: `check` lists it, only the owner may read it, and it is removed
 * with the trace.
 */
UNIT_TEST(test_the_file_belongs_to_its_trace)
{
	struct stat st, of;
	uint8_t *bytes;
	size_t cnt;

	begin(&fx, 81, 5);
	if (!geteuid())
		assert_int_equal(chown(fx.f.path, 4242, 4243), 0);
	assert_string_equal(check_points(fx.t).reason, "not told of");
	chaos_make_index(fx.t, 1000);
	assert_int_equal(check_points(fx.t).status, CHECK_VALID);
	assert_string_equal(check_points(fx.t).reason, "checksums hold, made of these blocks");
	assert_int_equal(stat(fx.points, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(fx.f.path, &of), 0);
	assert_int_equal(st.st_uid, of.st_uid);
	assert_int_equal(st.st_gid, of.st_gid);
	assert_int_equal(check_points(fx.t).bytes, st.st_size);
	bytes = file_read(fx.points, &cnt);
	bytes[cnt / 2] ^= 1;
	file_write(fx.points, bytes, cnt);
	free(bytes);
	assert_int_equal(check_points(fx.t).status, CHECK_NOTE);
	assert_non_null(strstr(check_points(fx.t).reason, "it is not used"));
	assert_int_equal(store_remove(fx.f.path, NULL), 0);
	assert_int_not_equal(access(fx.f.path, F_OK), 0);
}

static int state_of(struct trace *t, unsigned int flags)
{
	struct derived_file *d;
	int state;

	assert_int_equal(derived_file_open(&d, t, flags), 0);
	state = derived_file_state(d, NULL);
	derived_file_close(d);
	return state;
}

/* Where nothing can be written beside a trace, its file is in the user's cache, and found there. */
UNIT_TEST(test_the_file_may_lie_in_the_cache)
{
	char path[120], name[160];

	begin(&fx, 83, 3);
	chaos_make_index(fx.t, 1000);
	snprintf(path, sizeof(path), "%s/ebpfrec", fx.f.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(name, sizeof(name), "%s/%016llx%08x.idx", path,
		 (unsigned long long)trace_start_ns(fx.t), trace_more_at(fx.t, 0)->head.head_crc);
	assert_int_equal(setenv("XDG_CACHE_HOME", fx.f.dir, 1), 0);
	assert_int_equal(state_of(fx.t, 0), 1);
	assert_int_equal(rename(fx.points, name), 0);
	assert_int_equal(state_of(fx.t, 0), 1);
	assert_int_equal(state_of(fx.t, DERIVED_BESIDE), 0);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(state_of(fx.t, 0), 0);
	assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
}

/*
 * Parts follow each other in the file. A part without a checkpoint does not get the one of another
 * part. A checkpoint of a block that the trace does not have is damage.
 */
UNIT_TEST(test_a_checkpoint_is_of_its_part_and_of_a_block)
{
	const struct checkpoint empty = { 0 };
	struct derived_file *d;
	struct checkpoint c;
	uint64_t at_ns, found_ns = 0;

	begin(&fx, 82, 3);
	at_ns = trace_end_ns(fx.t);
	assert_int_equal(derived_file_open(&d, fx.t, DERIVED_APART), 0);
	assert_int_equal(derived_file_begin(d, false), 0);
	assert_int_equal(checkpoint_store(d, NULL, checkpoint_key(CHECKPOINT_REQUESTS, 1),
					  trace_block_at(fx.t, 1)->from_ns, &empty), 0);
	assert_int_equal(checkpoint_find(d, fx.t, CHECKPOINT_REQUESTS, at_ns, &found_ns, &c), 1);
	assert_int_equal(found_ns, trace_block_at(fx.t, 1)->from_ns);
	checkpoint_done(&c);
	assert_int_equal(checkpoint_find(d, fx.t, CHECKPOINT_SCHED, at_ns, &found_ns, &c), 0);
	assert_int_equal(checkpoint_find(d, fx.t, CHECKPOINT_IRQ, at_ns, &found_ns, &c), 0);
	assert_int_equal(checkpoint_store(d, NULL, checkpoint_key(CHECKPOINT_REQUESTS,
								  trace_block_cnt(fx.t)),
					  at_ns, &empty), 0);
	assert_int_equal(checkpoint_find(d, fx.t, CHECKPOINT_REQUESTS, at_ns, &found_ns, &c),
			 -EBADMSG);
	derived_file_close(d);
}

UNIT_TESTS_END(end, fx)
