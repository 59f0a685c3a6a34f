/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * unwind_table: reads the unwind table of an ELF file (.eh_frame), and unwinds a copy of a thread's
 * registers and stack.
 *
 *     registers, stack, and the file of each code address
 *         --> [unwind_table] --> return addresses, innermost first
 *
 * Code without such a table (generated at run time, or compiled with frame pointers instead) is
 * unwound by frame pointers. Threads: one at a time per object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_table;

/* Returns whether this program was built with libdw. False: tables cannot be read. */
bool unwind_is_offered(void);

/*
 * Reads the table of the file open at fd, which the caller keeps; fd < 0: reads the vDSO's table.
 * NULL: no table, a table of another machine, or out of memory.
 */
struct unwind_table *unwind_table_read(int fd);
void unwind_table_free(struct unwind_table *t);
/* Returns the approximate memory in use. */
size_t unwind_table_bytes(const struct unwind_table *t);

struct unwind_stack {
	const uint64_t *regs;	/* this machine's struct pt_regs: WIRE_REGS */
	const uint8_t *bytes;	/* copy of the stack, from the stack pointer on */
	size_t byte_cnt;
	/*
	 * Returns the table of the file that contains the code at pc, and pc's offset in the file;
	 * NULL: no table. Sets *ret_mapped, which is true before the call, to whether pc is known
	 * to be code.
	 */
	struct unwind_table *(*table)(void *ctx, uint64_t pc, uint64_t *ret_offset,
				      bool *ret_mapped);
	void *ctx;
};

/*
 * Returns the number of frames, at most max; 0 for 32-bit code. frames[0] is the interrupted
 * instruction, the others are return addresses. *ret_whole: the frames reach the thread's first
 * function.
 */
unsigned int unwind_walk(const struct unwind_stack *s, uint64_t *frames, unsigned int max,
			 bool *ret_whole);
