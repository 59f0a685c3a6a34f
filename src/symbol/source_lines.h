/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * source_lines: the source lines of a file's code, from debugging information on this machine.
 *
 *     file, its build id, offset in it --> [source_lines] --> source file, line
 *
 * The file is used only if it has the build id. Its debugging information is in it, or in a
 * separate file (elf_symbols.h). If code was inlined, the line is that of the inlined code. libdw
 * reads these files as debuggers do: unlike elf_symbols, it is not meant for hostile files.
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * symbol_dirs: functions of files that are known by their build id, from any files below some
 * directories: programs, libraries, separate debug files, in any order and under any name.
 *
 *     directories, build id, offset in the file --> [symbol_dirs] --> function, offset
 *
 * Nothing but the build id of a file decides. A directory may hold hostile files (elf_symbols.h).
 * Threads: one.
 */
struct symbol_dirs;

/*
 * Reads the build ids of all files below the directories of a comma-separated list. -errno: one of
 * them cannot be read, *ret_dir is its name, valid as long as dirs; or -ENOMEM.
 */
int symbol_dirs_new(struct symbol_dirs **ret, const char *dirs, char ret_dir[256]);
void symbol_dirs_free(struct symbol_dirs *d);

/*
 * Finds the function that holds the byte at file_offset of the file with this build id (hexadecimal
 * digits), and the byte's offset in it. addr: its address as linked; 0: unknown, then the file
 * itself must be there, not only its separate debug file. NULL: unknown. Valid as long as d.
 */
const char *symbol_dirs_find(struct symbol_dirs *d, const char *build_id, uint64_t file_offset,
			     uint64_t addr, uint64_t *ret_offset);

struct source_lines;

/* False: this program was built without libdw. */
bool source_lines_is_offered(void);

/*
 * root: the directory below which all files are; the caller keeps it. "": this machine's. dirs: are
 * searched for files that are not there; the caller keeps them; may be NULL. 0 or -errno.
 */
int source_lines_new(struct source_lines **ret, const char *root,
		     const struct symbol_dirs *dirs);
void source_lines_free(struct source_lines *s);

/*
 * Finds the line of the byte at file_offset of a file, in *ret_line. Returns the path of the source
 * file, valid as long as s; NULL: unknown. path and build_id (hexadecimal digits; any other text
 * matches no file) must outlive s.
 */
const char *source_lines_find(struct source_lines *s, const char *path, const char *build_id,
			      uint64_t file_offset, unsigned int *ret_line);

/*
 * Returns the nr-th file, by reason and path, that was looked up and has no lines here, with the
 * reason. False: nr is too high.
 */
bool source_lines_missing(struct source_lines *s, unsigned int nr, const char **ret_path,
			  const char **ret_why);
