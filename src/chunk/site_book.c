/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* site_book: a map from a hash of (process, address) to what was asked, with the times the answer is good for. */
#include "chunk/site_book.h"

#include <errno.h>
#include <string.h>

struct site_asked {
	uint64_t addr;
	uint64_t from_ns, until_ns;
	uint32_t upid;
	uint32_t next;		/* of the same hash: index + 1; 0: none */
};

void site_book_init(struct site_book *b, const struct block_names *names)
{
	memset(b, 0, sizeof(*b));
	b->names = *names;
}

void site_book_done(struct site_book *b)
{
	idmap_done(&b->by_key);
	buf_done(&b->asked);
}

void site_book_begin(struct site_book *b)
{
	if (b->asked.len)
		idmap_done(&b->by_key);
	buf_reset(&b->asked);
}

int site_book_use(struct site_book *b, struct row_writer *w, uint32_t upid, uint32_t pid,
		  uint64_t addr, uint64_t ts_ns)
{
	uint64_t key = addr ^ (uint64_t)upid * 0x9e3779b97f4a7c15ull;
	struct site_asked *v = (struct site_asked *)b->asked.data, new = { .addr = addr, .upid = upid };
	uint32_t first = (uint32_t)(uintptr_t)idmap_get(&b->by_key, key), i;
	struct trace_site row = { .upid = upid, .addr = addr };
	size_t cnt = b->asked.len / sizeof(*v);
	int r;

	if (!b->names.site || !addr)
		return 0;
	for (i = first; i; i = v[i - 1].next)
		if (v[i - 1].addr == addr && v[i - 1].upid == upid && ts_ns >= v[i - 1].from_ns &&
		    ts_ns < v[i - 1].until_ns)
			return 0;
	if (cnt == SITE_BOOK_MAX)
		return 0;
	r = b->names.site(b->names.ctx, pid, ts_ns, &row, &new.until_ns);
	if (r)
		return r == -ENOMEM ? r : 0;
	row_put_site(w, &row);
	new.from_ns = row.from_ns;
	new.next = first;
	buf_add(&b->asked, &new, sizeof(new));
	if (b->asked.failed || idmap_put(&b->by_key, key, (void *)(uintptr_t)(cnt + 1)))
		return -ENOMEM;
	return 0;
}
