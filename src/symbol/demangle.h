/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * demangle: converts names of C++ and Rust functions to their form in source code.
 *
 *     _ZN4tree5Maker4makeEi --> tree::Maker::make        _RNvC4tree4make --> tree::make
 *
 * Names are untrusted, and a mangled name of a few hundred bytes can expand to gigabytes:
 * demangling ends when the buffer for the result is full. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns whether this program was built with libiberty. False: names are not demangled. */
bool demangle_is_offered(void);

/*
 * Writes the name without parameters to `to`, truncated to size bytes. Returns `to`, or symbol if
 * it is not a mangled name.
 */
const char *demangle(char *to, size_t size, const char *symbol);

#define FUNCTION_SHOWN 300	/* most bytes of a function's name in reports */

/*
 * Writes the name of a function to `to` as reports show it: demangled and truncated. Returns `to`.
 */
const char *function_shown(char to[FUNCTION_SHOWN + 1], const char *symbol);
