/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_requests: views of block requests, per bin, group of the owner, device and operation, or
 * other keys. If the owner is unknown, the submitter's name and the reason are keys, too. A request
 * counts in the bin in which it ends.
 *
 * io_usage(from_ns, to_ns, every_ns, by): number, bytes and latencies. A merge counts for the
 * process that queued the merged request. Latency quantiles are exact up to 65536 requests per row,
 * within 0.4 % beyond.
 *
 * io_pattern(...): sizes, and whether requests are adjacent on the device. A request is sequential
 * if it is adjacent to one of the last 16 requests of its row: many are in flight at once and may
 * end out of order. All block events of the window are decoded.
 *
 * latency_hist(...): the latencies of the same requests, counted by powers of two.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view_requests.h"
#include "analyze/views/view.h"
#include "table_columns.h"

/* Rules for the owner, in this order: operation, kind of the first page, flags, submitter. */

#define REQ_OP_MASK 0xffu
#define REQ_OP_READ 0u
#define REQ_OP_WRITE 1u
#define JOURNAL_THREADS "jbd2/"

const char *request_owner_how_name(enum owner_how how)
{
	static const char *const names[OWNER_HOW_CNT] = {
		[OWNER_UNKNOWN] = "unknown",
		[OWNER_DIRTIED] = "dirtied",
		[OWNER_DIRTIED_SHARED] = "dirtied_shared",
		[OWNER_DIRTIED_MIXED] = "dirtied_mixed",
		[OWNER_READ] = "read",
		[OWNER_DIRECT] = "direct",
		[OWNER_SUBMITTED] = "submitted",
		[OWNER_METADATA] = "metadata",
		[OWNER_JOURNAL] = "journal",
		[OWNER_SWAP] = "swap",
		[OWNER_VOLUME] = "volume",
		[OWNER_WAITER] = "waiter",
	};

	return (unsigned int)how < OWNER_HOW_CNT ? names[how] : "?";
}

/* True for a known process of user space; kernel threads work on behalf of others. */
static bool is_user(const struct analysis *a, uint32_t process)
{
	const struct trace_process *row = dense_process_row(&a->ids, process);

	return row && !(row->flags & TRACE_TASK_KTHREAD);
}

static bool is_journal_thread(const struct analysis *a, uint32_t process)
{
	const struct trace_process *row = dense_process_row(&a->ids, process);

	return row && row->flags & TRACE_TASK_KTHREAD &&
	       !strncmp(row->comm, JOURNAL_THREADS, strlen(JOURNAL_THREADS));
}

static enum owner_how dirtied_how(const struct block_request *r)
{
	switch (r->owner_how) {
	case EVENT_OWNER_DIRTIED:
		return OWNER_DIRTIED;
	case EVENT_OWNER_SHARED:
		return OWNER_DIRTIED_SHARED;
	case EVENT_OWNER_MIXED:
		return OWNER_DIRTIED_MIXED;
	default:
		return OWNER_UNKNOWN;
	}
}

static enum owner_how write_how(const struct analysis *a, const struct block_request *r,
				uint32_t submitter)
{
	enum owner_how dirtied = dirtied_how(r);

	if (r->pages == EVENT_PAGES_SWAP)
		return OWNER_SWAP;
	if (is_journal_thread(a, submitter) && r->pages != EVENT_PAGES_FILE)
		return OWNER_JOURNAL;
	if (block_request_is_meta(r))
		return OWNER_METADATA;
	switch (r->pages) {
	case EVENT_PAGES_NONE:
		return OWNER_SUBMITTED;
	case EVENT_PAGES_FILE:
		return dirtied;
	case EVENT_PAGES_DISK:
		/*
		 * Only a program that writes the device itself is the owner: blocks of a file
		 * system have many dirtiers.
		 */
		if (dirtied == OWNER_DIRTIED &&
		    is_user(a, dense_process(&a->ids, r->owner_upid)))
			return dirtied;
		return OWNER_METADATA;
	case EVENT_PAGES_ANON:
	case EVENT_PAGES_MAPPED:
		return is_user(a, submitter) ? OWNER_DIRECT : OWNER_UNKNOWN;
	default:
		return OWNER_UNKNOWN;
	}
}

uint32_t request_owner(const struct analysis *a, const struct block_request *r,
		       enum owner_how *ret_how)
{
	uint32_t submitter = dense_process_of(&a->ids, dense_thread(&a->ids, r->submitter));
	bool from_volume = r->below == REQUEST_PASSED_ON || (r->below && !is_user(a, submitter));
	enum owner_how how;
	uint32_t owner;

	if (from_volume && r->below != REQUEST_PASSED_ON)
		submitter = dense_process_of(&a->ids, dense_thread(&a->ids, r->asked_by));
	owner = is_user(a, submitter) ? submitter : EVENT_ID_UNKNOWN;
	if (owner == EVENT_ID_UNKNOWN && r->owner_how == EVENT_OWNER_WAITER &&
	    is_user(a, dense_process(&a->ids, r->owner_upid))) {
		if (ret_how)
			*ret_how = OWNER_WAITER;
		return dense_process(&a->ids, r->owner_upid);
	}
	switch (r->cmd_flags & REQ_OP_MASK) {
	case REQ_OP_READ:
		how = r->pages == EVENT_PAGES_SWAP ? OWNER_SWAP : OWNER_READ;
		break;
	case REQ_OP_WRITE:
		how = write_how(a, r, submitter);
		break;
	default:
		how = is_journal_thread(a, submitter) ? OWNER_JOURNAL : OWNER_SUBMITTED;
		break;
	}
	if (how == OWNER_DIRTIED || how == OWNER_DIRTIED_SHARED || how == OWNER_DIRTIED_MIXED)
		owner = dense_process(&a->ids, r->owner_upid);
	else if (how == OWNER_METADATA || how == OWNER_JOURNAL || how == OWNER_UNKNOWN ||
		 (how == OWNER_SWAP && r->cmd_flags & REQ_OP_MASK))
		owner = EVENT_ID_UNKNOWN;
	if (owner == EVENT_ID_UNKNOWN && (how == OWNER_READ || how == OWNER_SUBMITTED))
		how = OWNER_UNKNOWN;
	if (from_volume && owner != EVENT_ID_UNKNOWN)
		how = OWNER_VOLUME;
	if (ret_how)
		*ret_how = how;
	return owner;
}

/* Kernel workers share the name "kworker": their own names tell nothing about the cause. */
static const char *submitter_name(const struct analysis *a, const struct block_request *r)
{
	uint32_t process = dense_process_of(&a->ids, dense_thread(&a->ids, r->submitter));
	const struct trace_process *row = dense_process_row(&a->ids, process);

	if (row && row->flags & TRACE_TASK_KTHREAD && !strncmp(row->comm, "kworker/", 8))
		return "kworker";
	return dense_process_comm(&a->ids, process);
}

/*
 * Finds the owner's group at at_ns: the group of the submitting thread if this thread belongs to
 * the owner, else the group of the owner process. Lowers *end_ns to the end of the time for which
 * the answer holds.
 */
static void request_charge(const struct analysis *a, struct grouping *groups,
			   const struct block_request *r, uint64_t at_ns, uint64_t *end_ns,
			   struct request_charge *ret)
{
	uint32_t thread = dense_thread(&a->ids, r->submitter);
	uint32_t owner = request_owner(a, r, &ret->how);

	ret->submitter = submitter_name(a, r);
	ret->is_known = owner != EVENT_ID_UNKNOWN;
	if (!ret->is_known)
		thread = EVENT_ID_UNKNOWN;
	if (owner == dense_process_of(&a->ids, thread)) {
		ret->in_scope = scope_has_thread_at(&a->question->scope, thread, at_ns, end_ns);
		ret->group = grouping_of_thread(groups, thread, at_ns, end_ns);
	} else {
		ret->in_scope = scope_has_process_at(&a->question->scope, owner, at_ns, end_ns);
		ret->group = grouping_of_process(groups, owner, at_ns, end_ns);
	}
}

/* The values that all requests of a row have in common. */
struct row_label {
	const char *op, *submitter, *how;	/* submitter and how may be "several" */
	uint64_t dev, size;			/* dev or size 0, op NULL: not a key */
};

/* Each sum of these views ends with a row_label. */
struct request_view {
	struct view v;
	struct hash_map submitters, kinds;
	/* Results of the last place(): */
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

/* Returns a number for the operation, and for submitter and reason if the owner is unknown. */
static int kind_of(struct request_view *s, uint32_t *ret)
{
	uint64_t name[2] = { 0, 0 };
	uint32_t submitter = 0, how = 0;

	if (!s->charge.is_known && s->v.groups.by && !s->v.scope->filter.merges_unknown) {
		memcpy(name, s->label.submitter, strnlen(s->label.submitter, sizeof(name)));
		how = 1 + s->charge.how;
	}
	if (hash_map_intern(&s->submitters, name[0], name[1], &submitter) < 0)
		return -ENOMEM;
	/* The key is the address of the operation's name: several operations may share a name. */
	return hash_map_intern(&s->kinds, (uint64_t)(uintptr_t)s->label.op,
			     (uint64_t)how << 32 | submitter, ret);
}

/* Returns n for values in [2^(n-1), 2^n); 0 for 0. */
static unsigned int power_of(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

/* keys_of_requests() maps the query's keys to keys of requests. */
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

/*
 * Returns true if a request counts once per owner of its parts; false: once, with all of its bytes.
 */
static bool counts_owners(const struct view *v)
{
	return v->groups.by || scope_is_of_some(v->scope);
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

#define SEEN_CNT 16	/* number of last requests to which a new request may be adjacent */
#define SECTOR_BYTES 512

struct pattern_sum {
	struct quantile size;
	uint64_t ios, bytes, seq_ios;
	struct { uint64_t from, to; } seen[SEEN_CNT];	/* sectors of the last requests; a ring */
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

/*
 * device_usage(from_ns, to_ns, every_ns): how busy each block device was, per bin.
 *
 * A request is in flight during its latency: from its queueing (start of I/O accounting, else
 * insert, else issue) to its last completion. The depth of a device is the number of requests in
 * flight: inflight_ns is the integral of the depth over time, busy_ns the time during which the
 * depth was not 0. Both are exact for any window, and add up. A request in flight at the start of
 * the recording is unknown before its first event. Owners and the scope do not matter here: all
 * requests count.
 *
 * open_requests(from_ns, to_ns): the requests in flight at the window's end.
 */

#define OPEN_BATCH 4096	/* events */

enum { OP_READ, OP_WRITE, OP_OTHER, OP_CNT };

struct device {
	struct view_carried carried;
	uint64_t dev;
	uint64_t depth;			/* current depth; the following members are about the bin */
	uint64_t since_ns;		/* earlier time is already added */
	uint64_t busy_ns, inflight_ns, depth_max;
	uint64_t ios[OP_CNT], bytes[OP_CNT];
	uint64_t merges, errors, lat_sum_ns, timed_ios;
};

static const struct fold_sums_def devices_def = { .bytes = sizeof(struct device) };

/* Resets the sums of a device at the start of a bin, except its depth. */
static void enter(struct view *v, void *row)
{
	struct device *x = row;

	*x = (struct device){ .carried = x->carried, .dev = x->dev, .depth = x->depth,
			      .since_ns = v->bin_from_ns, .depth_max = x->depth };
}

static void account(struct device *x, uint64_t ts_ns)
{
	uint64_t dur = ts_ns > x->since_ns ? ts_ns - x->since_ns : 0;

	x->busy_ns += x->depth ? dur : 0;
	x->inflight_ns += x->depth * dur;
	if (ts_ns > x->since_ns)
		x->since_ns = ts_ns;
}

/*
 * Returns the column of /proc/diskstats, which counts zeroes, zone appends and secure erases as
 * writes.
 */
static unsigned int diskstats_kind(const struct block_request *r)
{
	static const char *const writes[] = { "write", "write_zeroes", "zone_append",
					      "secure_erase" };
	const char *op = block_op_name(r->cmd_flags);

	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		if (!strcmp(op, writes[i]))
			return OP_WRITE;
	return strcmp(op, "read") ? OP_OTHER : OP_READ;
}

static void add_request(struct device *x, const struct block_request *r)
{
	unsigned int kind = diskstats_kind(r);
	uint64_t ns;

	if (r->end == BLOCK_END_MERGED) {
		x->merges++;
		return;
	}
	x->merges += r->merge_cnt;
	x->ios[kind]++;
	x->bytes[kind] += r->bytes;
	x->errors += r->status != 0;
	if (block_request_latency(r, &ns)) {
		x->lat_sum_ns += ns;
		x->timed_ios++;
	}
}

static int on_step(void *ctx, const void *found)
{
	struct view *v = ctx;
	const struct request_step *step = found;
	struct device *x = view_carry(v, step->dev, 0);

	if (!x)
		return -ENOMEM;
	x->dev = step->dev;
	if (!v->run.before) {
		view_enter(v, x);
		if (step->ended)
			add_request(x, step->ended);
		if (step->more_in_flight)
			account(x, step->ts_ns);
	}
	x->depth += (uint64_t)(int64_t)step->more_in_flight;
	if (x->depth > x->depth_max)
		x->depth_max = x->depth;
	return 0;
}

static void give_row(struct view *v, const struct view_place *at, void *sum)
{
	struct device *x = sum;

	account(x, v->bin_to_ns);
	if (!x->busy_ns && !x->ios[OP_READ] && !x->ios[OP_WRITE] && !x->ios[OP_OTHER] &&
	    !x->merges)
		return;
	view_row(v, at->group, x);
}

static const struct view_def device_view = {
	.fold = &fold_in_flight, .sums = &devices_def,
	.carry = on_step, .enter = enter, .row = give_row,
};

/* ---- open_requests ---- */

static int give_open(void *ctx, const struct block_request *r)
{
	struct view *v = ctx;
	const struct dense_ids *d = &v->a->ids;
	struct cell *c = view_row(v, 0, NULL);
	uint64_t queued_ns = block_request_queued_ns(r);
	enum owner_how how;

	cell_int(&c[COL_OPEN_REQUESTS_DEV], r->dev);
	cell_text(&c[COL_OPEN_REQUESTS_OP], block_op_name(r->cmd_flags));
	cell_int(&c[COL_OPEN_REQUESTS_BYTES], (int64_t)r->bytes);
	cell_int(&c[COL_OPEN_REQUESTS_QUEUED_NS], context_rel(v->a, queued_ns));
	cell_int(&c[COL_OPEN_REQUESTS_OPEN_NS],
		 v->bin_to_ns > queued_ns ? (int64_t)(v->bin_to_ns - queued_ns) : 0);
	cell_int(&c[COL_OPEN_REQUESTS_SUBMITTER_UTID],
		 dense_utid(d, dense_thread(d, r->submitter)));
	cell_int(&c[COL_OPEN_REQUESTS_OWNER_UPID], dense_upid(d, request_owner(v->a, r, &how)));
	cell_text(&c[COL_OPEN_REQUESTS_OWNER_HOW], request_owner_how_name(how));
	return 0;
}

static int ignore(void *ctx, const void *found)
{
	return 0;
}

/* Restores only the state at the window's end. */
static int run_open(struct view *v, struct err *e)
{
	const struct fold_use use = { &fold_requests, { v, ignore } };
	struct fold_range range = { .from_ns = v->bin_to_ns - 1, .to_ns = v->bin_to_ns,
				    .start = FOLD_READER_AT };
	struct fold_reader *reader = NULL;
	int ret = analysis_index_of(v->a, fold_requests.kinds, &range.index, e);

	ret = ret ?: fold_reader_open(&reader, v->a, &range, &use, 1, e);
	if (!ret)
		do
			ret = fold_reader_run(reader, range.to_ns, OPEN_BATCH, NULL, e);
		while (ret > 0);
	if (!ret)
		ret = request_track_open(fold_requests_track(fold_reader_machine(reader, 0)),
					 give_open, v);
	fold_reader_close(reader);
	return ret;
}

static const struct view_def open_requests_view = {
	.is_one_bin = true, .run_bin = run_open,
};

const struct table_def table_open_requests = VIEW_TABLE(OPEN_REQUESTS, open_requests_view,
							  struct view);

const struct table_def table_device_usage = VIEW_TABLE(DEVICE_USAGE, device_view, struct view);
