/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap: where the C library's allocator is, and the uprobes on it.
 */
#ifndef HEAP_H
#define HEAP_H

#include <limits.h>

#include "base/err.h"

struct bpf_link;
struct bpf_program;

#define HEAP_LIBRARIES_MAX 4

struct heap_library {
	char path[PATH_MAX];
};

/* Finds the C libraries of this system (glibc, musl). Returns their number. */
unsigned int heap_find_libraries(struct heap_library libs[HEAP_LIBRARIES_MAX]);

/*
 * Attaches the program to the functions of lib it is meant for; a function the library
 * does not have is passed over. Adds to links, of which there may be link_max.
 */
int heap_attach(struct bpf_program *prog, const char *name, const struct heap_library *lib,
		struct bpf_link **links, unsigned int *link_cnt, unsigned int link_max,
		struct err *e);

#endif /* HEAP_H */
