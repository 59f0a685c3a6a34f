/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* index_check: every byte of the index file beside a trace, and whether it is of that trace. */
#include <errno.h>
#include <sys/stat.h>

#include "analyze/analysis.h"
#include "analyze/context.h"
#include "analyze/index_state.h"

static int check_parts(const struct index *x)
{
	struct buf mem = { 0 };
	struct index_in in;
	unsigned int part;
	size_t cell;
	int r = 0;

	for (cell = 0; cell < x->saved_cnt && r == 0; cell++)
		for (part = 0; part < INDEX_PART_CNT && r == 0; part++)
			r = index_read(x, cell, part, &mem, &in);
	for (part = 0; part < INDEX_TAIL_CNT && r == 0; part++)
		r = index_read_tail(x, part, &mem, &in);
	buf_done(&mem);
	return r;
}

int analysis_index_check(struct analysis *a, uint64_t *ret_bytes, const char **ret_why)
{
	struct index *x;
	struct stat st;
	int r = index_new(&x, a);

	*ret_why = "out of memory";
	if (r < 0)
		return r;
	r = index_look(x, ret_why);
	if (r == 0)
		goto out;
	if (r > 0) {
		r = check_parts(x);
		*ret_why = r < 0 ? "a part of it is damaged: that is not used" :
			   x->saved_cnt < x->cell_cnt ? "checksums hold; of the first blocks, the rest is added when asked for" :
						       "checksums hold, made of these blocks";
		*ret_bytes = fstat(x->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
		r = r < 0 ? r : 1;
	}
	if (r < 0 && r != -ENOMEM && r != -ESTALE)
		r = -EBADMSG;
out:
	index_free(x);
	return r;
}
