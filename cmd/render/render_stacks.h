/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stack_columns: finds the columns of a view of stacks, for the formats that draw stacks. A call
 * chain is one text, outermost function first, with ';' between functions. Rows without a recorded
 * stack have no text, but count in sums.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/context/analysis.h"
#include "base/buf.h"

#define STACK_COLUMNS_NONE "[not recorded]"	/* in place of a call chain */

struct stack_columns {
	int comm, source, pid, tid; /* column indices; -1: none */
	int number, amount; /* column of samples, objects or waits; first column of bytes or ns */
	int stacks[2];		/* the whole stack, or user space; kernel, -1: none */
};

/* Returns 0, or -EINVAL if the rows are not stacks. */
int stack_columns_find(struct stack_columns *s, unsigned int cnt, const char *const *names);

/*
 * Appends the line of a row and a blank: "comm;[source];outermost;...;innermost ", as text for a
 * terminal; if is_html, "[source];comm;...", as HTML. If memory is short, to->failed is set.
 */
void stack_columns_line(const struct stack_columns *s, struct buf *to, const struct value *values,
			bool is_html);

/* Parts of a frame with a line of source code: "NAME (PATH:NUMBER)". */
struct stack_line {
	size_t name_bytes;
	const char *path;
	size_t path_bytes;
	uint32_t number;
};
/*
 * Converts "outer;middle;inner" to a form for people, innermost function first: "inner < middle <
 * outer"; paths are cut to their last component. malloc'ed; NULL: out of memory.
 */
char *stack_turn(const char *text, size_t len);
