/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * static_loader: in a static program nothing is ever loaded. SQLite's library could load
 * extensions (which is off, and stays off); the Makefile has it call this instead (--wrap=dlopen).
 */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode)
{
	return NULL;
}
