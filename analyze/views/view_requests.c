/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Block requests that ended, per bin, owning group, device and operation, or other keys. Those
 * whose owner is not known are apart by submitter's name and reason, too. A request counts in the
 * bin in which it ends.
 *
 * io_usage(from_ns, to_ns, every_ns, by): how many, how much, how fast. Merges are counted apart,
 * under whoever queued what was merged away. Latencies are exact up to 65536 requests of a row,
 * within 0.4 % beyond.
 *
 * io_pattern(...): how large they were, and whether they follow each other on the device. A request
 * is sequential when it borders on one of the 16 requests of its row that ended before it: many are
 * in flight at once and end in another order than they were sent. For it all of the window's block
 * events are decoded.
 *
 * latency_hist(...): the latencies of the same requests, counted by powers of two.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "analyze/fold/folds.h"
#include "analyze/views/request_owner.h"
#include "analyze/views/view.h"
#include "table_columns.h"

/* Holds what all requests of a row have in common. */
struct row_label {
	const char *op, *submitter, *how;	/* the latter two may be "several" */
	uint64_t dev, size;			/* 0 and NULL: not a key */
};

/* Each sum of these views has a row_label behind what is added up. */
struct request_view {
	struct view v;
	struct hash_map submitters, kinds;
	/* of the key that was looked up last */
	struct request_charge charge;
	struct row_label label;
};

static const struct fold_sums_def partition_pattern_sums;

/* ---- rows ---- */

static void close_view(struct view *v)
{
	struct request_view *s = (struct request_view *)v;

	hash_map_done(&s->submitters);
	hash_map_done(&s->kinds);
}

/* Finds the kind of a request within its group: its operation, and the reason for no owner. */
static int kind_of(struct request_view *s, uint32_t *ret)
{
	uint64_t name[2] = { 0, 0 };
	uint32_t submitter = 0, how = 0;

	if (!s->charge.is_known && s->v.groups.by && !s->v.a->scope.filter.merges_unknown) {
		memcpy(name, s->label.submitter, strnlen(s->label.submitter, sizeof(name)));
		how = 1 + s->charge.how;
	}
	if (hash_map_intern(&s->submitters, name[0], name[1], &submitter) < 0)
		return -ENOMEM;
	/* operations are compared by name: several numbers may share one */
	return hash_map_intern(&s->kinds, (uint64_t)(uintptr_t)s->label.op,
			     (uint64_t)how << 32 | submitter, ret);
}

/* n of values below 2^n and no less than half of that */
static unsigned int power_of(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

/* The keys of requests count as keys_of_requests() has it. */
static int open_view(struct view *v, const struct table_query *q, struct err *e)
{
	struct grouping *g = &v->groups;
	int ret = window_grouping(g, v->a, &q->args[3], e);

	if (ret < 0)
		return ret;
	g->others = keys_of_requests(g->by | g->others) & ~g->by;
	if (g->others & KEY(PARTITION))
		v->own_sums = v->def->sums ? &partition_pattern_sums : &fold_partition_requests;
	else if (g->others & KEY(SIZE) && !v->def->sums)
		v->own_sums = &fold_sized_requests;
	return 0;
}

/* A request counts once for each owner of its parts, or else once, with all of its bytes. */
static bool counts_owners(const struct view *v)
{
	return v->groups.by || scope_is_of_some(&v->a->scope);
}

static int place(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	struct request_view *s = (struct request_view *)v;
	struct block_request r;
	uint32_t kind;

	request_of_key(key, &r);
	if (r.is_share && !counts_owners(v))
		return 0;
	request_charge(v->a, &v->groups, &r, v->at_ns, &v->at_end_ns, &s->charge);
	if (!s->charge.in_scope)
		return 0;
	s->label = (struct row_label){ block_op_name(r.cmd_flags), s->charge.submitter,
				       request_owner_how_name(s->charge.how), r.dev };
	if (!(v->groups.others & (KEY(DEVICE) | KEY(PARTITION))))
		s->label.dev = 0;
	if (!(v->groups.others & KEY(OP)))
		s->label.op = NULL;
	if (v->groups.others & KEY(SIZE))
		s->label.size = r.bytes;
	if (s->charge.group == GROUPING_FAILED || kind_of(s, &kind) < 0)
		return -ENOMEM;
	ret->group = s->charge.group;
	ret->b = s->label.dev << 32 | (uint64_t)power_of(s->label.size) << 24 | kind;
	return 1;
}

static void name_one(const char **name, const char *of)
{
	if (!*name)
		*name = of;
	else if (strcmp(*name, of))
		*name = "several";
}

static void add_label(const struct request_view *s, struct row_label *l)
{
	l->op = s->label.op;
	l->dev = s->label.dev;
	l->size = s->label.size;
	name_one(&l->submitter, s->label.submitter);
	name_one(&l->how, s->label.how);
}

/* ---- io_usage ---- */

struct io_sum {
	struct request_sum r;
	struct row_label label;
};

static void size_cells(const struct view *v, const struct row_label *l, struct cell *c)
{
	if (!(v->groups.others & KEY(SIZE)))
		return;
	cell_int(&c[0], (int64_t)l->size);
	cell_int(&c[1], l->size ? (int64_t)(2 * l->size) : 1);
}

static void give_io(struct view *v, const struct view_place *at, void *sum)
{
	struct io_sum *x = sum;
	struct cell *c;

	if (counts_owners(v))
		x->r.bytes = x->r.part_bytes;
	c = view_row(v, at->group, sum);
	size_cells(v, &((const struct io_sum *)sum)->label, &c[COL_IO_USAGE_SIZE_FROM_BYTES]);
}

static void found_io(struct view *v, const struct fold_key *key, void *sum)
{
	const struct request_view *s = (const struct request_view *)v;
	struct io_sum *x = sum;

	x->r.owner_is_unknown = !s->charge.is_known;
	add_label(s, &x->label);
}

/* ---- latency_hist ---- */

static void give_phase(struct view *v, const struct view_place *at, struct io_sum *x,
		       const char *name, const struct quantile *latency)
{
	uint64_t counts[QUANTILE_POWERS] = { 0 };
	unsigned int first = 0, end = QUANTILE_POWERS;
	struct cell *c;

	quantile_count_powers(latency, counts);
	while (first < end && !counts[first])
		first++;
	while (first < end && !counts[end - 1])
		end--;
	for (unsigned int i = first; i < end; i++) {
		c = view_row(v, at->group, x);
		cell_text(&c[COL_LATENCY_HIST_PHASE], name);
		cell_int(&c[COL_LATENCY_HIST_LOW_NS], i ? (int64_t)(1ull << (i - 1)) : 0);
		cell_int(&c[COL_LATENCY_HIST_HIGH_NS], i < 63 ? (int64_t)(1ull << i) : INT64_MAX);
		cell_int(&c[COL_LATENCY_HIST_IOS], (int64_t)counts[i]);
		size_cells(v, &x->label, &c[COL_LATENCY_HIST_SIZE_FROM_BYTES]);
	}
}

static void give_hist(struct view *v, const struct view_place *at, void *sum)
{
	struct io_sum *x = sum;

	give_phase(v, at, x, "total", &x->r.latency);
	give_phase(v, at, x, "queue", &x->r.queue);
	give_phase(v, at, x, "device", &x->r.device);
}

/* ---- io_pattern ---- */

#define SEEN_CNT 16	/* requests a new one may border on */
#define SECTOR_BYTES 512

struct pattern_sum {
	struct quantile size;
	uint64_t ios, bytes, seq_ios;
	struct { uint64_t from, to; } seen[SEEN_CNT];	/* sectors; a ring */
	unsigned int seen_at;
	struct row_label label;
};

static bool is_sequential(struct pattern_sum *x, uint64_t from, uint64_t to)
{
	bool found = false;

	for (unsigned int i = 0; i < SEEN_CNT && !found; i++)
		found = x->seen[i].to > x->seen[i].from &&
			(x->seen[i].to == from || x->seen[i].from == to);
	x->seen[x->seen_at].from = from;
	x->seen[x->seen_at].to = to;
	x->seen_at = (x->seen_at + 1) % SEEN_CNT;
	return found;
}

static int add_pattern(struct fold_target *t, const struct block_request *r, uint32_t dev)
{
	struct block_request of_dev = *r;
	struct pattern_sum *x;
	struct fold_key key;
	void *sum;
	int ret;

	of_dev.dev = dev;
	key = request_key(t->ids, &of_dev);
	ret = r->end == BLOCK_END_MERGED ? 0 : fold_sum_at(t, r->end_ns, &key, &sum);

	if (ret <= 0)
		return ret;
	x = sum;
	x->ios++;
	x->bytes += r->bytes;
	if (r->bytes) {
		x->seq_ios += is_sequential(x, r->sector, r->sector + r->bytes / SECTOR_BYTES);
		if (quantile_add(&x->size, r->bytes) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int pattern_add(void *ctx, const void *found)
{
	return add_pattern(ctx, found, ((const struct block_request *)found)->dev);
}

static int partition_pattern_add(void *ctx, const void *found)
{
	const struct block_request *r = found;

	return add_pattern(ctx, found, r->part ?: r->dev);
}

static void found_pattern(struct view *v, const struct fold_key *key, void *sum)
{
	add_label((const struct request_view *)v, &((struct pattern_sum *)sum)->label);
}

static const struct fold_sums_def pattern_sums = {
	.bytes = sizeof(struct pattern_sum), .quantile_cnt = 1, .add = pattern_add,
};

static const struct fold_sums_def partition_pattern_sums = {
	.bytes = sizeof(struct pattern_sum), .quantile_cnt = 1, .add = partition_pattern_add,
};

#define REQUEST_VIEW                                                                              \
	.open = open_view, .close = close_view, .fold = &fold_requests, .place = place

static const struct view_def io_view = {
	REQUEST_VIEW, .sum_bytes = sizeof(struct io_sum), .found = found_io, .row = give_io,
};
static const struct view_def pattern_view = {
	REQUEST_VIEW, .sums = &pattern_sums, .found = found_pattern,
};
static const struct view_def hist_view = {
	REQUEST_VIEW, .sum_bytes = sizeof(struct io_sum), .found = found_io, .row = give_hist,
	.reads_quantiles = true,
};

const struct table_def table_io_usage = VIEW_TABLE(IO_USAGE, io_view, struct request_view);

const struct table_def table_io_pattern = VIEW_TABLE(IO_PATTERN, pattern_view, struct request_view);

const struct table_def table_latency_hist =
	VIEW_TABLE(LATENCY_HIST, hist_view, struct request_view);
