/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hash_map: the hash map of this program. A key is a pair of 64-bit numbers (the second is 0 if
 * one number suffices); a value is a pointer or a small number. One lookup touches one or two cache
 * lines.
 *
 * All zeros is an empty map. Keys may come from an untrusted file: every map has its own random
 * seed, so that no file can contain keys prepared to collide. The order of slots therefore differs
 * between runs, and output must not depend on that order.
 *
 * Threads: a map belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t a, b;
	union {
		void *value;		/* NULL: the slot is empty */
		uintptr_t number;	/* hash_map_intern(): the number + 1 */
	};
};

struct hash_map {
	struct hash_slot *slots;
	size_t cnt;		/* keys in the map */
	uint64_t seed;
	unsigned int bits;	/* 1 << bits slots; valid when slots is not NULL */
};

/* Frees the map but not its values. */
void hash_map_done(struct hash_map *m);
/* Frees the map and, with free(), its values. */
void hash_map_done_values(struct hash_map *m);
/* Removes all keys; keeps the memory. */
void hash_map_clear(struct hash_map *m);

/* Sets the value of a key; value must not be NULL. 0 or -ENOMEM. */
int hash_map_put(struct hash_map *m, uint64_t key, void *value);
/*
 * Returns the value of a key; a new key gets a calloc'ed value of `bytes` bytes. NULL: out of
 * memory.
 */
void *hash_map_make(struct hash_map *m, uint64_t key, size_t bytes);
/* Removes a key. Returns its value; NULL: not found. */
void *hash_map_remove(struct hash_map *m, uint64_t key);

/*
 * Numbers pairs: the n-th new pair gets number n, counted from 0, so that the caller can store
 * values in an array. Only for maps without removals. 1: the pair is new; 0: it already has a
 * number; -ENOMEM.
 */
int hash_map_intern(struct hash_map *m, uint64_t a, uint64_t b, uint32_t *ret);
/* Finds the number of a pair; false: the pair has none. */
bool hash_map_find(const struct hash_map *m, uint64_t a, uint64_t b, uint32_t *ret);

/*
 * Removes every key for whose value drop returns true; drop frees that value. If drop returns
 * false, it may replace the value by another one, not NULL. drop may be called more than once for a
 * value.
 */
void hash_map_drop_if(struct hash_map *m, bool (*drop)(void *ctx, void **value), void *ctx);

/* Iterates over the slots in use; *pos is initially 0. Returns NULL after the last slot. */
struct hash_slot *hash_map_next(const struct hash_map *m, size_t *pos);

static inline size_t hash_map_home(const struct hash_map *m, uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ m->seed) * 0x9e3779b97f4a7c15ull;

	h = ((h ^ h >> 32) + b) * 0xd6e8feb86659fd93ull;
	return (size_t)((h ^ h >> 32) * 0x9e3779b97f4a7c15ull >> (64 - m->bits));
}

/* Returns the slot of a key, or the empty slot where the key belongs. m->slots must not be NULL. */
static inline struct hash_slot *hash_map_slot(const struct hash_map *m, uint64_t a, uint64_t b)
{
	size_t i = hash_map_home(m, a, b), mask = ((size_t)1 << m->bits) - 1;

	while (m->slots[i].value && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & mask;
	return &m->slots[i];
}

/* Returns the value of a key, or NULL. */
static inline void *hash_map_get(const struct hash_map *m, uint64_t key)
{
	return m->slots ? hash_map_slot(m, key, 0)->value : NULL;
}
