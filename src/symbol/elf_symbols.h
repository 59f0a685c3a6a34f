/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * elf_symbols: the functions of one ELF file, by where in the file they are.
 *
 *     file (and the separate file with its symbols, if there is one) --> [elf_symbols] --> name, offset
 *
 * The file may be anybody's: every size in it is checked against the file and against limits before memory is
 * asked for, and it is read, never mapped, since its owner may cut it at any time. Names are as the linker knows
 * them (C++ is mangled). No debugging information is read. Threads: one at a time per object.
 */
#ifndef ELF_SYMBOLS_H
#define ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 20	/* bytes; a longer one is cut, as the kernel does */
#define ELF_LINK_MAX 256

struct elf_symbols;

/*
 * Reads headers and symbol tables (.symtab and .dynsym) of the file open at fd, which stays the caller's.
 * -ENOEXEC: no ELF file of this machine's byte order, or damaged; -E2BIG: more symbols than 8 Mi, or longer names
 * than 512 MiB; -ENOMEM. A file without symbols is no error.
 */
int elf_symbols_read(struct elf_symbols **ret, int fd);
/* Adds those of another file that was split off the first (addresses are the same). Errors as above. */
int elf_symbols_add(struct elf_symbols *s, int fd);
void elf_symbols_free(struct elf_symbols *s);

/* Length of the build id, copied to ret; 0: it has none. */
size_t elf_symbols_build_id(const struct elf_symbols *s, uint8_t ret[ELF_BUILD_ID_MAX]);
/* Name and CRC-32 of the file that .gnu_debuglink names; NULL: it names none. */
const char *elf_symbols_link(const struct elf_symbols *s, uint32_t *ret_crc);
size_t elf_symbols_cnt(const struct elf_symbols *s);
/* There is a .symtab: functions that other files cannot call are known, too. */
int elf_symbols_is_full(const struct elf_symbols *s);
size_t elf_symbols_bytes(const struct elf_symbols *s);	/* of memory */

/*
 * The function that the byte at file_offset belongs to, and how far from its start that is. NULL: none known.
 * A function whose size is not given reaches to the next one.
 */
const char *elf_symbols_find(const struct elf_symbols *s, uint64_t file_offset,
			     uint64_t *ret_offset);

#endif /* ELF_SYMBOLS_H */
