/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * keymap: a hash map from a pair of 64-bit keys to a 32-bit number, and an interner: the
 * n-th new pair gets number n, so that values live in the caller's dense arrays.
 *
 * Entries are never removed; keymap_clear() empties the map and keeps its memory.
 * All zeros is an empty map. Threads: one.
 */
#ifndef KEYMAP_H
#define KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keymap_slot {
	uint64_t a, b;
	uint32_t val;		/* UINT32_MAX: empty */
	uint32_t zero;
};

struct keymap {
	struct keymap_slot *slots;
	size_t cap;		/* power of two, or 0 */
	size_t cnt;
};

void keymap_done(struct keymap *m);
void keymap_clear(struct keymap *m);

/* True and *ret when (a, b) is there. */
bool keymap_find(const struct keymap *m, uint64_t a, uint64_t b, uint32_t *ret);

/*
 * The number of (a, b), which is the count of pairs before it when it is new. Returns 1 when it
 * was new, 0 when it was there, -ENOMEM.
 */
int keymap_intern(struct keymap *m, uint64_t a, uint64_t b, uint32_t *ret);

#endif /* KEYMAP_H */
