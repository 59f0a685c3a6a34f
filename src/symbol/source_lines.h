/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * source_lines: the source lines of a file's code, from debugging information on this machine.
 *
 *     file, its build id, offset in it --> [source_lines] --> source file, line
 *
 * The file is used only if it has the build id. Its debugging information is in it, or in a
 * separate file (debug_file.h). If code was inlined, the line is that of the inlined code. libdw
 * reads these files as debuggers do: unlike elf_symbols, it is not meant for hostile files.
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbol/symbol_dirs.h"

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
