/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* hash_map: open addressing with linear probing, at most 5/8 full. Removals leave no tombstones. */
#include "base/hash_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_BITS 6

void hash_map_done(struct hash_map *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

void hash_map_done_values(struct hash_map *m)
{
	struct hash_slot *s;
	size_t pos = 0;

	while ((s = hash_map_next(m, &pos)))
		free(s->value);
	hash_map_done(m);
}

void hash_map_clear(struct hash_map *m)
{
	if (m->cnt)
		memset(m->slots, 0, sizeof(*m->slots) << m->bits);
	m->cnt = 0;
}

static int hash_map_grow(struct hash_map *m)
{
	struct hash_map bigger = { .bits = m->slots ? m->bits + 1 : FIRST_BITS, .seed = m->seed,
				   .cnt = m->cnt };
	const struct hash_slot *s;
	size_t pos = 0;

	if (!m->slots && getrandom(&bigger.seed, sizeof(bigger.seed), GRND_NONBLOCK) < 0)
		bigger.seed = (uint64_t)(uintptr_t)m;
	bigger.slots = calloc((size_t)1 << bigger.bits, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	while ((s = hash_map_next(m, &pos)))
		*hash_map_slot(&bigger, s->a, s->b) = *s;
	free(m->slots);
	*m = bigger;
	return 0;
}

/* Returns the slot of a pair. For a new pair, sets *ret_new; the caller then sets the value. */
static struct hash_slot *slot_for(struct hash_map *m, uint64_t a, uint64_t b, bool *ret_new)
{
	struct hash_slot *s;

	if ((!m->slots || m->cnt * 8 >= (size_t)5 << m->bits) && hash_map_grow(m) < 0)
		return NULL;
	s = hash_map_slot(m, a, b);
	*ret_new = !s->value;
	if (*ret_new) {
		s->a = a;
		s->b = b;
		m->cnt++;
	}
	return s;
}

int hash_map_put(struct hash_map *m, uint64_t key, void *value)
{
	bool is_new;
	struct hash_slot *s = slot_for(m, key, 0, &is_new);

	if (!s)
		return -ENOMEM;
	s->value = value;
	return 0;
}

void *hash_map_make(struct hash_map *m, uint64_t key, size_t bytes)
{
	void *value = hash_map_get(m, key);

	if (value)
		return value;
	value = calloc(1, bytes);
	if (value && hash_map_put(m, key, value) < 0) {
		free(value);
		value = NULL;
	}
	return value;
}

void *hash_map_remove(struct hash_map *m, uint64_t key)
{
	size_t mask, i, j;
	struct hash_slot *s;
	void *value;

	if (!m->slots)
		return NULL;
	mask = ((size_t)1 << m->bits) - 1;
	s = hash_map_slot(m, key, 0);
	value = s->value;
	if (!value)
		return NULL;
	m->cnt--;
	i = (size_t)(s - m->slots);
	/* move back each follower whose probe sequence includes the emptied slot */
	for (j = (i + 1) & mask; m->slots[j].value; j = (j + 1) & mask) {
		size_t home = hash_map_home(m, m->slots[j].a, m->slots[j].b);

		if (((j - home) & mask) >= ((j - i) & mask)) {
			m->slots[i] = m->slots[j];
			i = j;
		}
	}
	m->slots[i].value = NULL;
	return value;
}

void hash_map_drop_if(struct hash_map *m, bool (*drop)(void *ctx, void **value), void *ctx)
{
	size_t i = 0;

	/* a removal moves a follower into the slot, so the slot is checked again */
	while (m->slots && i < (size_t)1 << m->bits) {
		if (m->slots[i].value && drop(ctx, &m->slots[i].value))
			hash_map_remove(m, m->slots[i].a);
		else
			i++;
	}
}

int hash_map_intern(struct hash_map *m, uint64_t a, uint64_t b, uint32_t *ret)
{
	struct hash_slot *s;
	bool is_new;

	if (m->cnt >= UINT32_MAX - 1)
		return -ENOMEM;
	s = slot_for(m, a, b, &is_new);
	if (!s)
		return -ENOMEM;
	if (is_new)
		s->number = m->cnt;
	*ret = (uint32_t)(s->number - 1);
	return is_new;
}

bool hash_map_find(const struct hash_map *m, uint64_t a, uint64_t b, uint32_t *ret)
{
	const struct hash_slot *s = m->slots ? hash_map_slot(m, a, b) : NULL;

	if (!s || !s->value)
		return false;
	*ret = (uint32_t)(s->number - 1);
	return true;
}

struct hash_slot *hash_map_next(const struct hash_map *m, size_t *pos)
{
	while (m->slots && *pos < (size_t)1 << m->bits) {
		struct hash_slot *s = &m->slots[(*pos)++];

		if (s->value)
			return s;
	}
	return NULL;
}
