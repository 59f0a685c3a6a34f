/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * demangle: converts names of C++ and Rust functions to their form in source code.
 *
 *     _ZN4tree5Maker4makeEi --> tree::Maker::make        _RNvC4tree4make --> tree::make
 *
 * Any program can choose its names, and a mangled name of a few hundred bytes can expand to
 * gigabytes: work ends when the buffer for the result is full. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False: this program was built without libiberty, and names are not changed. */
bool demangle_is_offered(void);

/*
 * Writes the name without parameters to `to`, cut to size, and returns `to`. Returns symbol if it
 * is not a mangled name.
 */
const char *demangle(char *to, size_t size, const char *symbol);

#define FUNCTION_SHOWN 300	/* bytes of a function's name that reports show, at most */

/* Returns `to` with the name of a function as reports show it: demangled, and cut. */
const char *function_shown(char to[FUNCTION_SHOWN + 1], const char *symbol);
