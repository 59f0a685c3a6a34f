/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * span_probes: finds the functions and USDT probes of --request, before anything is loaded.
 *
 *     'PROGRAM:FUNCTION', 'usdt:PROGRAM:PROVIDER:BEGIN/END[:ARG]' --> [span_probes] --> attach
 *
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct span_probe {
	char *path;		/* of the program or library */
	uint64_t offset;	/* of the function in the file; 0: USDT probes */
	bool is_go;
	uint64_t *returns;	/* is_go: offsets of the return instructions */
	int return_cnt;
	char *provider, *begin, *end;	/* of USDT probes; else NULL */
	unsigned int arg;	/* index + 1 of the USDT argument that is the id; 0: none */
};

/* All zeros: empty. Probe i has the name names[i], and the number i + 1 in records. */
struct span_probes {
	struct span_probe *v;
	const char **names;
	size_t cnt, cap, name_cap, name_cnt;
};

/*
 * Adds what a --request names. A pattern adds each function that matches, up to 64 in all. -EINVAL:
 * not of that form; -ENOENT: no such program or function; -E2BIG; -ENOMEM.
 */
int span_probes_add(struct span_probes *p, const char *request, struct err *e);
void span_probes_done(struct span_probes *p);

/* Returns whether probes need cookies: there are several, or Go's. */
bool span_probes_need_cookies(const struct span_probes *p);
/* Returns whether a program of bpf/span.bpf.c is needed. p may be NULL. */
bool span_probes_need(const struct span_probes *p, const char *program);
