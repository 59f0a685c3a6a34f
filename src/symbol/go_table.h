/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * go_table: reads names and frame sizes of a Go program's functions from the table for Go's own
 * tracebacks (pclntab), which strip does not remove.
 *
 *     ELF file --> [go_table] --> functions, by number or address
 *
 * Go 1.18 and later, 64-bit little-endian files. The file is untrusted: every position is checked
 * before use. Threads: one at a time per ELF object.
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct go_table {
	const uint8_t *data;	/* the table; owned by the ELF object */
	size_t bytes;
	uint64_t text;		/* address of the first function in the ELF file */
	uint32_t cnt;		/* number of functions */
	/* offsets in the table; the names are in [names, names_end) */
	size_t names, names_end, functions, frames;
	unsigned int flags_at;	/* offset of the flags in a function's description */
	uint8_t pc_step;
};

struct go_function {
	uint64_t addr, end;	/* addresses in the ELF file */
	uint32_t name;		/* offset from go_table.names; NUL-terminated */
	bool is_outermost;	/* has no caller: runtime.goexit */
	bool moves_stack;	/* the table lacks changes of its stack pointer */
	uint32_t frames;	/* offset from go_table.frames */
};

/* Finds the table of a file. False: no table, or an invalid one. */
bool go_table_read(struct go_table *ret, Elf *elf);
/* Returns a function by its number, in order of addresses; false: the entry is invalid. */
bool go_table_function(const struct go_table *g, uint32_t nr, struct go_function *ret);
/* Finds the function that contains the code at addr in the ELF file. */
bool go_table_find(const struct go_table *g, uint64_t addr, struct go_function *ret);
/*
 * Computes the distance, at addr in function f, from the stack pointer to the return address.
 * False: unknown.
 */
bool go_table_frame_bytes(const struct go_table *g, const struct go_function *f, uint64_t addr,
			  uint64_t *ret);
