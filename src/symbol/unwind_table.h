/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * unwind_table: rules of an ELF file to get from a function's frame to its caller's (.eh_frame),
 * and the walk itself, through a copy of a thread's registers and stack.
 *
 *     registers, stack, and the file of each code address
 *         --> [unwind_table] --> return addresses, innermost first
 *
 * For code without such a table (made at run time, or by compilers that keep frame pointers
 * instead) the frame pointer is used. Threads: one at a time per object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_table;

/* False: the program was built without libdw, so no table can be read. */
bool unwind_is_offered(void);

/*
 * Reads the table of the file open at fd, which the caller keeps, or with fd < 0 of the vDSO. NULL:
 * there is none, it is for another machine, or out of memory.
 */
struct unwind_table *unwind_table_read(int fd);
void unwind_table_free(struct unwind_table *t);
size_t unwind_table_bytes(const struct unwind_table *t);	/* memory in use, roughly */

struct unwind_stack {
	const uint64_t *regs;	/* struct pt_regs of this machine: WIRE_REGS */
	const uint8_t *bytes;	/* from the stack pointer on */
	size_t byte_cnt;
	/*
	 * Returns the table of the file that has the code at pc, and pc's offset in that file;
	 * NULL: no table. *ret_mapped, initially true: whether pc is known to be in code.
	 */
	struct unwind_table *(*table)(void *ctx, uint64_t pc, uint64_t *ret_offset,
				      bool *ret_mapped);
	void *ctx;
};

/*
 * Returns the number of frames, at most max; 0 for 32-bit code. The first is the interrupted
 * instruction, the others are return addresses. *ret_whole: they reach the thread's first function.
 */
unsigned int unwind_walk(const struct unwind_stack *s, uint64_t *frames, unsigned int max,
			 bool *ret_whole);
