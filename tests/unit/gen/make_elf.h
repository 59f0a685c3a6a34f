/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* make_elf: small ELF files for tests of ELF readers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct elf_function {
	const char *name;
	uint64_t addr, size;
	unsigned int bind;	/* STB_* */
	unsigned int type;	/* STT_*; 0: STT_FUNC */
};

struct elf_plan {
	const struct elf_function *functions;
	size_t cnt;
	const uint8_t *build_id;	/* NULL: none */
	size_t build_id_bytes;
	const char *link;		/* of .gnu_debuglink; NULL: none */
	uint32_t link_crc;
	int dynamic;			/* .dynsym in place of .symtab */
	const struct buf *go;		/* .gopclntab; NULL: none */
	uint64_t text_offset, text_addr, text_bytes;	/* of the one PT_LOAD */
	uint64_t zero_bytes;	/* after these; not 0: the PT_LOAD holds data */
};

void make_elf(struct buf *out, const struct elf_plan *plan);
/*
 * The table of a Go 1.20 program with functions that follow each other. bind: 1 the function is the
 * outermost, 2 it moves the stack pointer. A frame has 0 bytes in the function's first 4 bytes, 8
 * in the next 4, then 40.
 */
void make_go_table(struct buf *out, const struct elf_function *functions, size_t cnt);
/* A descriptor of a file without a name that has these bytes. */
int make_elf_fd(const void *data, size_t bytes);
