/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * go_table: the functions of a Go program, their names and the sizes of their frames, from the
 * table that its own tracebacks use (pclntab). strip leaves this table in the file.
 *
 *     ELF file --> [go_table] --> functions, by number or address
 *
 * Go 1.18 and later, 64-bit little-endian files. The file is untrusted: every position in it is
 * checked when it is used. Threads: one at a time per ELF object.
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct go_table {
	const uint8_t *data;	/* the table; belongs to the ELF object */
	size_t bytes;
	uint64_t text;		/* address of the first function, as linked */
	uint32_t cnt;		/* functions */
	/* positions in the table; the names are in [names, names_end) */
	size_t names, names_end, functions, frames;
	unsigned int flags_at;	/* position of the flags in the description of a function */
	uint8_t pc_step;
};

struct go_function {
	uint64_t addr, end;	/* as linked */
	uint32_t name;		/* offset from go_table.names; the name ends with a NUL */
	bool is_outermost;	/* it has no caller: runtime.goexit */
	bool moves_stack;	/* the table does not describe its stack pointer */
	uint32_t frames;	/* offset from go_table.frames */
};

/* Finds the table of a file. False: the file has none, or it is not valid. */
bool go_table_read(struct go_table *ret, Elf *elf);
/* Returns a function by its number, in order of addresses; false: the entry is not valid. */
bool go_table_function(const struct go_table *g, uint32_t nr, struct go_function *ret);
/* Finds the function that holds the code at addr, as linked. */
bool go_table_find(const struct go_table *g, uint64_t addr, struct go_function *ret);
/*
 * Computes the distance from the stack pointer to the return address at addr, in function f. False:
 * unknown.
 */
bool go_table_frame_bytes(const struct go_table *g, const struct go_function *f, uint64_t addr,
			  uint64_t *ret);
