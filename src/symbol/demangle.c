/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * demangle: libiberty passes parts of a name to a callback, which cannot stop it: the callback
 * leaves with longjmp() when the buffer is full. In this mode libiberty allocates no memory, except
 * for one identifier of a Rust name with letters beyond ASCII.
 *
 * libiberty's demanglers use stack space that grows with the name's length, at worst with its
 * square. Current versions refuse C++ names of more than 1024 bytes; older versions did not.
 */
#include "symbol/demangle.h"

#include <stdio.h>

#ifndef EBPFREC_DEMANGLE

bool demangle_is_offered(void)
{
	return false;
}

const char *demangle(char *to, size_t size, const char *symbol)
{
	return symbol;
}

#else

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#define MANGLED_MAX 1024

struct text {
	char *to;
	size_t size, len;
	jmp_buf is_full;
};

bool demangle_is_offered(void)
{
	return true;
}

static void add(const char *piece, size_t n, void *ctx)
{
	struct text *t = ctx;
	size_t room = t->size - 1 - t->len;

	memcpy(t->to + t->len, piece, n < room ? n : room);
	t->len += n < room ? n : room;
	if (n > room)
		longjmp(t->is_full, 1);
}

const char *demangle(char *to, size_t size, const char *symbol)
{
	struct text t = { .to = to, .size = size };

	if (symbol[0] != '_' || strlen(symbol) > MANGLED_MAX)
		return symbol;
	if (!setjmp(t.is_full)) {
		/* older Rust names look like C++ names: try Rust first */
		if (!rust_demangle_callback(symbol, DMGL_NO_OPTS, add, &t)) {
			t.len = 0;
			if (!cplus_demangle_v3_callback(symbol, DMGL_NO_OPTS, add, &t))
				return symbol;
		}
	}
	to[t.len] = 0;
	return to;
}

#endif

const char *function_shown(char to[FUNCTION_SHOWN + 1], const char *symbol)
{
	const char *name = demangle(to, FUNCTION_SHOWN + 1, symbol);

	if (name != to)
		snprintf(to, FUNCTION_SHOWN + 1, "%s", name);
	return to;
}
