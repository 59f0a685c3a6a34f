/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_format: private to render: the interface of a format, and the output buffer of all
 * formats. Only render*.c include this.
 */
#pragma once

#include "cmd/render/render.h"

/* Output buffer of a stream; keeps the first error. */
struct render_out {
	FILE *f;
	char *buf;
	size_t n, cap;
	int error;
	const char *more;	/* command that shows omitted rows; NULL or "": --limit 0 */
};

/*
 * Returns space for max bytes at the end of the buffer, or NULL (error is set). The caller adds the
 * used bytes to n.
 */
char *render_out_room(struct render_out *o, size_t max);
void render_out_text(struct render_out *o, const char *s);
void render_out_int(struct render_out *o, int64_t v);
/* Writes the shortest decimal that is parsed as v; a size of 40 suffices. */
void render_format_real(char *buf, size_t size, double v);
/* Writes the buffer to the stream. 0 or the first error. */
int render_out_flush(struct render_out *o);

/* Formats a number with the unit of its column. */
void render_format_value(char *buf, size_t size, const struct value *v, enum column_kind kind);

/* Write a cell of a row of Markdown, and a cell of the line below the headings. */
void render_markdown_cell(struct render_out *out, const char *text, bool is_first, bool is_last);
void render_markdown_rule(struct render_out *out, bool is_text, bool is_last);

struct render_format_ops {
	size_t state_bytes; /* size of the state, which is initially zeroed */
	int (*begin)(void *state, const struct render_options *o, struct render_out *out,
		     unsigned int col_cnt, const char *const *names);
	int (*row)(void *state, struct render_out *out, const struct value *values);
	void (*end)(void *state, struct render_out *out, uint64_t left_out); /* may be NULL */
	void (*clear)(void *state); /* frees the memory of a result; may be NULL */
};

extern const struct render_format_ops render_table_ops, render_lines_ops, render_folded_ops,
	render_flame_ops, render_pprof_ops, render_parquet_ops;
