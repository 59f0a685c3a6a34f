/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * demangle: names of C++ and Rust functions as people wrote them.
 *
 *     _ZN4tree5Maker4makeEi --> tree::Maker::make        _RNvC4tree4make --> tree::make
 *
 * Any program can choose its names, and a mangled name of a few hundred bytes can stand for
 * gigabytes: work ends when the room for the result is full. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False: this program was built without libiberty, and every name stays as it is. */
bool demangle_is_offered(void);

/*
 * Writes the name without parameters to to, cut to size, and returns to; or returns symbol, which
 * is no such name.
 */
const char *demangle(char *to, size_t size, const char *symbol);

#define FUNCTION_SHOWN 300	/* bytes of a function's name that reports show, at most */

/* The name of a function as reports show it: demangled, and cut. Returns to. */
const char *function_shown(char to[FUNCTION_SHOWN + 1], const char *symbol);
