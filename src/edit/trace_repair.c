/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_repair: the blocks pass through the writer that recordings use, so that files and manifest
 * are as if recorded.
 */
#include "edit/trace_repair.h"

#include <errno.h>
#include <string.h>

#include "trace/trace_read.h"
#include "store/store_writer.h"

static int copy_manifest(struct trace *t, struct store_writer *w)
{
	const struct manifest *all = trace_stored_manifest(t);
	const char *state = trace_get(t, "state");
	int r;

	for (size_t i = 0; i < all->cnt; i++) {
		const struct manifest_entry *m = &all->entries[i];

		/* the gaps that an earlier repair left are listed again */
		if (!strcmp(m->key, "state") || !strncmp(m->key, "repaired", 8) ||
		    (trace_is_damaged(t) && trace_copy_key_is_of_whole(m->key)))
			continue;
		r = store_writer_set(w, m->key, m->value);
		if (r < 0)
			return r;
	}
	r = store_writer_set(w, "trace.origin", trace_uuid(t));
	r = r ?: store_writer_set(w, "repaired", "1");
	if (r == 0)
		r = store_writer_set(w, "repaired.state", state ? state : "unknown");
	return r;
}

static int copy_blocks(struct trace *t, struct store_writer *w, struct repair_result *ret,
		       struct err *e)
{
	const struct trace_block *b = trace_block_at(t, 0);
	int r = 0;

	for (size_t i = 0; r == 0 && i < trace_block_cnt(t); i++) {
		if (trace_block_is_damaged(t, i))
			continue;
		r = trace_copy_block(t, i, w, e);
		ret->block_cnt++;
		ret->bytes += b[i].bytes;
	}
	if (r == 0 && !ret->block_cnt)
		r = err_set(e, -ENODATA, "'%s' has no valid block: there is nothing to save",
			    trace_path(t));
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
	if (r == 0 && (store_writer_set_number(w, "repaired.gaps", 0) < 0 ||
		       trace_copy_declare_gaps(x->t, 0, UINT64_MAX, w, &x->res.gaps) < 0))
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
