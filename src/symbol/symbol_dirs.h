/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * symbol_dirs: functions of files that are known by their build id, from any files below some
 * directories: programs, libraries, separate debug files, in any order and under any name.
 *
 *     directories, build id, offset in the file --> [symbol_dirs] --> function, offset
 *
 * Nothing but the build id of a file decides. A directory may hold hostile files (elf_symbols.h).
 * Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct symbol_dirs;

/*
 * Reads the build ids of all files below the directories of a comma-separated list. -errno: one of
 * them cannot be read, *ret_dir is its name, valid as long as dirs; or -ENOMEM.
 */
int symbol_dirs_new(struct symbol_dirs **ret, const char *dirs, char ret_dir[256]);
void symbol_dirs_free(struct symbol_dirs *d);

/* Returns the path of the nr-th file with this build id; NULL: there are fewer. */
const char *symbol_dirs_path(const struct symbol_dirs *d, const char *build_id, size_t nr);

/*
 * Finds the function that holds the byte at file_offset of the file with this build id (hexadecimal
 * digits), and the byte's offset in it. addr: its address as linked; 0: unknown, then the file
 * itself must be there, not only its separate debug file. NULL: unknown. Valid as long as d.
 */
const char *symbol_dirs_find(struct symbol_dirs *d, const char *build_id, uint64_t file_offset,
			     uint64_t addr, uint64_t *ret_offset);
