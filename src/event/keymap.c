/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Open addressing with linear probing, at most 5/8 full. The hash is two rounds of
 * multiply and fold over both keys: addresses, pids and time bins are all near-sequential.
 */
#include "event/keymap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t keymap_hash(uint64_t a, uint64_t b)
{
	uint64_t h = a * 0x9e3779b97f4a7c15ull;

	h ^= h >> 32;
	h = (h + b) * 0xd6e8feb86659fd93ull;
	return h ^ (h >> 32);
}

static struct keymap_slot *keymap_slot(const struct keymap *m, uint64_t a, uint64_t b)
{
	size_t i = keymap_hash(a, b) & (m->cap - 1);

	while (m->slots[i].val != UINT32_MAX && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static int keymap_grow(struct keymap *m)
{
	struct keymap old = *m;
	size_t i;

	m->cap = old.cap ? old.cap * 2 : 64;
	m->slots = malloc(m->cap * sizeof(*m->slots));
	if (!m->slots) {
		*m = old;
		return -ENOMEM;
	}
	memset(m->slots, 0xff, m->cap * sizeof(*m->slots));
	for (i = 0; i < old.cap; i++)
		if (old.slots[i].val != UINT32_MAX)
			*keymap_slot(m, old.slots[i].a, old.slots[i].b) = old.slots[i];
	free(old.slots);
	return 0;
}

void keymap_done(struct keymap *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

void keymap_clear(struct keymap *m)
{
	if (m->cnt)
		memset(m->slots, 0xff, m->cap * sizeof(*m->slots));
	m->cnt = 0;
}

bool keymap_find(const struct keymap *m, uint64_t a, uint64_t b, uint32_t *ret)
{
	const struct keymap_slot *s;

	if (!m->cnt)
		return false;
	s = keymap_slot(m, a, b);
	if (s->val == UINT32_MAX)
		return false;
	*ret = s->val;
	return true;
}

int keymap_intern(struct keymap *m, uint64_t a, uint64_t b, uint32_t *ret)
{
	struct keymap_slot *s;

	if (m->cnt >= UINT32_MAX - 1)
		return -ENOMEM;
	if (m->cnt * 8 >= m->cap * 5 && keymap_grow(m) < 0)
		return -ENOMEM;
	s = keymap_slot(m, a, b);
	if (s->val != UINT32_MAX) {
		*ret = s->val;
		return 0;
	}
	s->a = a;
	s->b = b;
	s->val = (uint32_t)m->cnt++;
	s->zero = 0;
	*ret = s->val;
	return 1;
}
