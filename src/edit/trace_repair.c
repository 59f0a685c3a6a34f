/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_repair: the blocks go through the writer that recordings use, so that files and manifest
 * come out as if recorded.
 */
#include "edit/trace_repair.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "edit/trace_copy.h"
#include "trace/trace_state.h"
#include "store/store_writer.h"

static int copy_manifest(struct trace *t, struct store_writer *w)
{
	const char *state = trace_get(t, "state");
	size_t i;
	int r;

	for (i = 0; i < t->manifest.cnt; i++) {
		const struct manifest_entry *m = &t->manifest.entries[i];

		/* the gaps that an earlier repair left are named again */
		if (!strcmp(m->key, "state") || !strncmp(m->key, "repaired", 8))
			continue;
		r = store_writer_set(w, m->key, m->value);
		if (r < 0)
			return r;
	}
	r = store_writer_set(w, "repaired", "1");
	if (r == 0)
		r = store_writer_set(w, "repaired.state", state ? state : "unknown");
	return r;
}

/* Names the hole [from_ns, to_ns). */
static int note_gap(struct store_writer *w, uint64_t number, uint64_t from_ns, uint64_t to_ns)
{
	char key[48], value[64];

	if (number >= TRACE_REPAIR_GAPS_MAX)
		return 0;
	snprintf(key, sizeof(key), "repaired.gap.%" PRIu64, number);
	snprintf(value, sizeof(value), "%" PRIu64 " %" PRIu64, from_ns, to_ns);
	return store_writer_set(w, key, value);
}

static int copy_blocks(struct trace *t, struct store_writer *w, struct repair_result *ret,
		       struct err *e)
{
	const struct trace_block *b = t->blocks.v;
	uint64_t covered_ns = 0;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < t->blocks.cnt; i++) {
		if (trace_block_is_damaged(t, i))
			continue;
		if (ret->block_cnt && b[i].from_ns > covered_ns)
			r = note_gap(w, ret->gap_cnt++, covered_ns, b[i].from_ns);
		if (r < 0)
			return err_set(e, r, "out of memory");
		r = trace_copy_block(t, i, w, e);
		ret->block_cnt++;
		ret->bytes += b[i].bytes;
		covered_ns = b[i].to_ns;
	}
	if (r == 0 && !ret->block_cnt)
		r = err_set(e, -ENODATA, "'%s' has no valid block: there is nothing to save",
			    t->path);
	return r;
}

struct repair {
	struct trace *t;
	struct repair_result res;
};

static int write_repaired(void *ctx, struct store_writer *w, struct err *e)
{
	struct repair *x = ctx;
	int r = copy_manifest(x->t, w);

	if (r < 0)
		return err_set(e, r, "out of memory");
	r = copy_blocks(x->t, w, &x->res, e);
	if (r == 0 && store_writer_set_number(w, "repaired.gaps", x->res.gap_cnt) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	return r;
}

int trace_repair(struct trace *t, const char *path, struct repair_result *ret, struct err *e)
{
	const struct store_config config = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct repair x = { .t = t };
	int r = trace_copy_make(t, path, &config, write_repaired, &x, e);

	if (r == 0)
		*ret = x.res;
	return r;
}
