/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * unwind_table: what an ELF file says about the way from a function's frame to its caller's
 * (.eh_frame), and the way itself, through a copy of a thread's registers and stack.
 *
 *     registers, stack, and the file of each code address
 *         --> [unwind_table] --> return addresses, innermost first
 *
 * Code without such a table (made at run time, or by compilers that keep frame pointers instead)
 * is left by its frame pointer. Threads: one at a time per object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_table;

/* False: the program was built without libdw, and there are no tables. */
bool unwind_is_offered(void);

/*
 * Reads the table of the file open at fd, which stays the caller's, or with fd < 0 of the vDSO.
 * NULL: there is none, it is not for this machine, or memory is out.
 */
struct unwind_table *unwind_table_read(int fd);
void unwind_table_free(struct unwind_table *t);
size_t unwind_table_bytes(const struct unwind_table *t);	/* about so many in use */

struct unwind_stack {
	const uint64_t *regs;	/* struct pt_regs of this machine: WIRE_REGS */
	const uint8_t *bytes;	/* from the stack pointer on */
	size_t byte_cnt;
	/*
	 * The table of the file that has the code at pc, and pc's offset in that file; NULL: there
	 * is no table. *ret_mapped, which is true before: whether code is known to be there.
	 */
	struct unwind_table *(*table)(void *ctx, uint64_t pc, uint64_t *ret_offset,
				      bool *ret_mapped);
	void *ctx;
};

/*
 * Returns the number of frames, at most max; 0 of 32-bit code. The first is where the thread is,
 * the others are return addresses. *ret_whole: they reach the thread's first function.
 */
unsigned int unwind_walk(const struct unwind_stack *s, uint64_t *frames, unsigned int max,
			 bool *ret_whole);
