/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * static_loader: replaces dlopen() in a static program (ld --wrap=dlopen), which cannot load
 * libraries. SQLite refers to dlopen() for loading extensions, which is disabled.
 */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode)
{
	return NULL;
}
