/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * source_lines: finds source lines of code in debugging information on this machine.
 *
 *     file, its build id, offset in it --> [source_lines] --> source file, line
 *
 * A file must have the build id. Its debugging information is in the file, or in a separate one
 * (elf_symbols.h). For inlined code, the line is in the inlined function. Files are read with
 * libdw, as by debuggers: unlike elf_symbols, libdw is not safe against hostile files. Threads:
 * one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * symbol_dirs: finds functions by build id and offset in files below some directories: programs,
 * libraries or separate debug files, with any names.
 *
 *     directories, build id, offset in the file --> [symbol_dirs] --> function, offset
 *
 * Files are identified only by their build id. They may be hostile (elf_symbols.h). Threads: one.
 */
struct symbol_dirs;

/*
 * Reads the build ids of all files below the directories of a comma-separated list. 0; -ENOMEM;
 * -E2BIG: too many files; other errors: the directory whose path is in ret_dir cannot be read.
 */
int symbol_dirs_new(struct symbol_dirs **ret, const char *dirs, char ret_dir[256]);
void symbol_dirs_free(struct symbol_dirs *d);

/*
 * Returns the function that contains the byte at file_offset of the file with this build id
 * (hexadecimal digits), and the byte's offset in it; NULL: unknown. addr: the byte's address in the
 * ELF file; 0: unknown, which requires the file itself, not only its separate debug file. Valid as
 * long as d.
 */
const char *symbol_dirs_find(struct symbol_dirs *d, const char *build_id, uint64_t file_offset,
			     uint64_t addr, uint64_t *ret_offset);

struct source_lines;

/* Returns whether this program was built with libdw. */
bool source_lines_is_offered(void);

/*
 * root: directory with the file system of the code's files, owned by the caller; "": this
 * machine's. dirs: searched for files that are not below root; owned by the caller; may be NULL. 0
 * or -errno.
 */
int source_lines_new(struct source_lines **ret, const char *root,
		     const struct symbol_dirs *dirs);
void source_lines_free(struct source_lines *s);

/*
 * Finds the source line of the byte at file_offset of a file. Returns the path of the source file,
 * valid as long as s, and *ret_line; NULL: unknown. path and build_id (hexadecimal digits; other
 * texts match no file) must outlive s.
 */
const char *source_lines_find(struct source_lines *s, const char *path, const char *build_id,
			      uint64_t file_offset, unsigned int *ret_line);

/*
 * Returns the nr-th file that was looked up and has no lines here, and the reason; sorted by reason
 * and path. False: nr is too high.
 */
bool source_lines_missing(struct source_lines *s, unsigned int nr, const char **ret_path,
			  const char **ret_why);
