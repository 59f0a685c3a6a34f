/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff_rows: the rows of diff_run() as a table's, for people or for machines. Threads: one.
 */
#pragma once

#include "analyze/diff/diff.h"
#include "cmd/render/render.h"

struct diff_rows {
	const struct row_sink *out;
	enum render_format format;
	bool only_changed;
	bool has_small, has_few, has_digits; /* of rows that came, which a legend explains */
};

int diff_rows_begin(const struct diff_rows *d);
/* ctx: a struct diff_rows. */
int diff_rows_put(void *ctx, const struct diff_row *row);
