/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * span_probes: finds the functions and USDT probes of --request, before programs are loaded.
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
	char *path;		/* path of the program or library */
	uint64_t offset;	/* file offset of the function; 0: USDT probes */
	bool is_go;
	uint64_t *returns;	/* is_go: file offsets of the return instructions */
	int return_cnt;
	char *provider, *begin, *end;	/* USDT probes; else NULL */
	unsigned int arg;	/* 1 + index of the USDT argument with the id; 0: none */
};

/* All zeros: empty. Probe i has the name names[i]; its number in records is i + 1. */
struct span_probes {
	struct span_probe *v;
	const char **names;
	size_t cnt, cap, name_cap, name_cnt;
};

/*
 * Adds the probes of a --request argument. A pattern adds all matching functions, at most 64 in
 * all. -EINVAL: wrong form; -ENOENT: no such program or function; -E2BIG: more than 64; -ENOMEM.
 */
int span_probes_add(struct span_probes *p, const char *request, struct err *e);
void span_probes_done(struct span_probes *p);

/* Returns whether probes need cookies: there are several probes, or one of a Go function. */
bool span_probes_need_cookies(const struct span_probes *p);
/* Returns whether this program of bpf/span.bpf.c is needed. p may be NULL. */
bool span_probes_need(const struct span_probes *p, const char *program);

/*
 * For tests: stores in ret[max] the offsets of the return instructions in code[bytes], a whole
 * function. Returns their number, or -EILSEQ: an unknown instruction; -E2BIG: more than max;
 * -ENOTSUP: not this processor.
 */
int returns_find(const uint8_t *code, size_t bytes, uint32_t *ret, int max);
