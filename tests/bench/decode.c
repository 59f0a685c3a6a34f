/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * decode TRACE [FROM_S TO_S]: decodes all columns of all blocks of a trace, or of those that
 * overlap a window, once, on all CPUs, and prints the number of rows. It is the reference for
 * questions to which all events matter.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/workers.h"
#include "trace/trace_state.h"

#define BLOCKS 8	/* of a piece of work */

struct decode {
	struct trace *trace;
	size_t from, to;	/* blocks */
	_Atomic uint64_t row_cnt;
};

static int decode_block(struct decode *d, struct trace_reader *reader, size_t block)
{
	struct trace_block_open open;
	struct column_source src;
	uint32_t *utids = NULL;
	const char *why;
	int r = trace_block_open(d->trace, reader, block, &open, NULL);

	if (r < 0)
		return r;
	src = (struct column_source){ .meta = open.meta, .io = { chunk_io_read, &open.io },
				      .zunpack = reader->zunpack };
	r = block_meta_utids(open.meta, reader->zunpack, &utids, &src.utid_cnt);
	src.utids = utids;
	for (unsigned int kind = 1; r == 0 && kind < EVENT_KIND_CNT; kind++) {
		struct kind_columns c = { 0 };

		r = column_read_kind(&c, &src, kind, COLUMN_ASK_ALL, &why);
		d->row_cnt += c.cnt;
		kind_columns_done(&c);
	}
	free(utids);
	block_meta_free(open.meta);
	return r;
}

static int run(void *ctx, unsigned int piece, struct err *e)
{
	struct decode *d = ctx;
	struct trace_reader reader;
	size_t i = d->from + (size_t)piece * BLOCKS, end = i + BLOCKS;
	int r = trace_reader_init(&reader);

	for (; i < d->to && i < end && !r; i++)
		r = decode_block(d, &reader, i);
	trace_reader_done(d->trace, &reader);
	return r < 0 ? err_set(e, r, "a block cannot be decoded") : 0;
}

static void find_blocks(struct decode *d, double from_s, double to_s)
{
	const struct trace_block *b = trace_blocks(d->trace, &d->to);
	uint64_t start_ns = trace_start_ns(d->trace);

	while (d->from < d->to && b[d->from].to_ns <= start_ns + (uint64_t)(from_s * 1e9))
		d->from++;
	while (d->to > d->from && b[d->to - 1].from_ns >= start_ns + (uint64_t)(to_s * 1e9))
		d->to--;
}

int main(int argc, char **argv)
{
	struct decode d = { 0 };
	struct workers w = { .thread_max = WORKERS_MAX, .run = run, .ctx = &d };
	struct err e = { 0 };

	if ((argc != 2 && argc != 4) || trace_open_quick(&d.trace, argv[1], &e) < 0) {
		fprintf(stderr, "usage: decode TRACE [FROM_S TO_S]%s%s\n", *e.text ? ": " : "",
			e.text);
		return 2;
	}
	find_blocks(&d, argc == 4 ? atof(argv[2]) : 0, argc == 4 ? atof(argv[3]) : 1e9);
	w.cnt = (unsigned int)((d.to - d.from + BLOCKS - 1) / BLOCKS);
	if (workers_run(&w, &e) < 0) {
		fprintf(stderr, "decode: %s\n", e.text);
		return 1;
	}
	printf("rows=%llu\n", (unsigned long long)d.row_cnt);
	trace_close(d.trace);
	return 0;
}
