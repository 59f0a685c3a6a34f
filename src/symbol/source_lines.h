/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * source_lines: the lines of source code that a file's code was made from, as the debugging
 * information on this machine says.
 *
 *     file, its build id, place in it --> [source_lines] --> source file, line
 *
 * The file is taken only if it has the build id. Its debugging information is in it, or in a
 * separate file (debug_file.h). Where code was inlined, the line is that of the inlined code.
 * libdw reads these files as debuggers do: unlike elf_symbols, it is not meant for files of an
 * enemy. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct source_lines;

/* False: this program was built without libdw. */
bool source_lines_is_offered(void);

/* root: the directory below which all files are, not copied; "": this machine's. 0 or -errno. */
int source_lines_new(struct source_lines **ret, const char *root);
void source_lines_free(struct source_lines *s);

/*
 * The line of the byte at file_offset of a file, in *ret_line, and the path of the source file,
 * which is valid as long as s; NULL: not known. path and build_id (hexadecimal digits, or anything
 * else, which no file has) must outlive s.
 */
const char *source_lines_find(struct source_lines *s, const char *path, const char *build_id,
			      uint64_t file_offset, unsigned int *ret_line);

/*
 * Gives the nr-th file, by reason and path, that was asked for and has no lines here, and the
 * reason. False: there are not so many.
 */
bool source_lines_missing(struct source_lines *s, unsigned int nr, const char **ret_path,
			  const char **ret_why);
