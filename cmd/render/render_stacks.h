/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stack_columns: the columns of a view of stacks, for the formats that draw stacks. A call chain is
 * one text, outermost function first, with ';' between functions. Rows without a recorded stack
 * have no text, but sums need them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/context/analysis.h"
#include "base/buf.h"

#define STACK_COLUMNS_NONE "[not recorded]"	/* in place of a call chain */

struct stack_columns {
	int comm, source, pid, tid; /* -1: none */
	int number, amount;	/* samples, objects or waits; the first of bytes or ns */
	int stacks[2];		/* the whole, or user space and (-1: none) the kernel */
};

/* Returns 0, or -EINVAL if the rows are not stacks. */
int stack_columns_find(struct stack_columns *s, unsigned int cnt, const char *const *names);

/*
 * Appends the line of a row and a blank, "comm;[source];outermost;...;innermost ", as text for a
 * terminal; or, is_html, "[source];comm;...", as HTML. Memory failures are kept in to.
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
 * "outer;middle;inner" as people read it, from where it happened: "inner < middle < outer"; of the
 * path of a line only the name. NULL: out of memory.
 */
char *stack_turn(const char *text, size_t len);
