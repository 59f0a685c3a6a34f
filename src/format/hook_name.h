/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* hook_name: names for the hook numbers in loss and cost rows. Threads: any. No errors. */
#ifndef HOOK_NAME_H
#define HOOK_NAME_H

#include <stdint.h>

struct hook_name {
	const char *name;	/* "KMALLOC" */
	const char *source;	/* "alloc.slab", as in -e */
	uint8_t cls;		/* as in trace_loss.cls */
};

/* NULL: this version has no such hook. */
const struct hook_name *hook_name_find(unsigned int hook);

#endif /* HOOK_NAME_H */
