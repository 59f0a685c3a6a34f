/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * module_book: the files that code was mapped from, and the names of functions in them.
 *
 *     mapping, and the process that has it --> [module_book] --> function + offset, file, build id, or why not
 *
 * A file is known by its build id, else by device, inode and path. It is opened when a mapping of it is first seen, so
 * that it may be deleted, and its process may exit, soon after; it is read when a name in it is first asked for.
 * What is opened by path is used only if it proves to be what was mapped. Symbols that were split off are looked for by
 * build id and .gnu_debuglink in the process's file system and in the recorder's. Threads: one.
 */
#ifndef MODULE_BOOK_H
#define MODULE_BOOK_H

#include "symbol/map_book.h"

/* Why there is no name. */
enum module_why {
	MODULE_NAMED = 0,
	MODULE_STRIPPED = 1,	/* it has no .symtab, and none was found beside it */
	MODULE_NO_FUNCTION = 2,	/* it has, but no function there */
	MODULE_ANONYMOUS = 3,	/* no file: code made at run time, or the kernel's own pages */
	MODULE_EXITED = 4,	/* the process was gone, and the file is not at that path here */
	MODULE_DELETED = 5,	/* the file was, before it could be opened */
	MODULE_CHANGED = 6,	/* there is another file by now */
	MODULE_UNREADABLE = 7,	/* may not be opened, or is no ELF file that makes sense */
	MODULE_UNMAPPED = 8,	/* of the address, no mapping is known */
};

struct module;
struct module_book;

/* A descriptor of the file that pid has mapped at [start, end), or < 0. */
typedef int (*module_open_mapped)(void *ctx, uint32_t pid, uint64_t start, uint64_t end);

int module_book_new(struct module_book **ret, module_open_mapped open_mapped, void *ctx);
void module_book_free(struct module_book *b);

/* The file of a MAP_CODE record; NULL: out of memory. Lasts as long as the book. */
struct module *module_book_of(struct module_book *b, const struct map_record *r);
/* Closes files that were opened before the call before this one and that nobody has asked for a name in. */
void module_book_close_unused(struct module_book *b);

struct module_answer {
	enum module_why why;
	const char *symbol;		/* "" if there is none */
	uint64_t symbol_offset;		/* of the byte asked for in it */
	const char *path;		/* without " (deleted)" */
	const char *build_id;		/* hexadecimal digits; "" if not known */
};

/*
 * What function the byte at file_offset belongs to. pid has the file mapped at [start, end). 0 or -ENOMEM; strings
 * last as long as the book.
 */
int module_book_find(struct module_book *b, struct module *m, uint32_t pid, uint64_t start,
		     uint64_t end, uint64_t file_offset, struct module_answer *ret);

/* Of all bytes of fd from its beginning on, as .gnu_debuglink has it; false: cannot be read. */
bool module_file_crc(int fd, uint32_t *ret_crc);

#endif /* MODULE_BOOK_H */
