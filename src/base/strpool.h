/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * strpool: keeps one copy of each string. Pointers are valid until the pool is freed. Threads: one.
 */
#pragma once

struct strpool;

int strpool_new(struct strpool **ret);
void strpool_free(struct strpool *p);
/* Returns the pool's copy of s; NULL: out of memory. "" is always the same static string. */
const char *strpool_put(struct strpool *p, const char *s);
