/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* idmap: linear probing, at most two thirds full; removal shifts followers back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/idmap.h"

void idmap_done(struct idmap *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

static void idmap_insert(struct idmap *m, uint64_t key, void *value)
{
	size_t mask = ((size_t)1 << m->bits) - 1;
	size_t i = idmap_home(m, key);

	while (m->slots[i].value && m->slots[i].key != key)
		i = (i + 1) & mask;
	if (!m->slots[i].value)
		m->cnt++;
	m->slots[i].key = key;
	m->slots[i].value = value;
}

static int idmap_grow(struct idmap *m)
{
	struct idmap bigger = { .bits = m->slots ? m->bits + 1 : 6, .seed = m->seed };
	size_t i;

	if (!m->slots && getrandom(&bigger.seed, sizeof(bigger.seed), GRND_NONBLOCK) < 0)
		bigger.seed = (uint64_t)(uintptr_t)m;
	bigger.slots = calloc((size_t)1 << bigger.bits, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; m->slots && i < (size_t)1 << m->bits; i++)
		if (m->slots[i].value)
			idmap_insert(&bigger, m->slots[i].key, m->slots[i].value);
	free(m->slots);
	*m = bigger;
	return 0;
}

int idmap_put(struct idmap *m, uint64_t key, void *value)
{
	int r;

	if (!m->slots || (m->cnt + 1) * 3 > ((size_t)2 << m->bits)) {
		r = idmap_grow(m);
		if (r < 0)
			return r;
	}
	idmap_insert(m, key, value);
	return 0;
}

void *idmap_remove(struct idmap *m, uint64_t key)
{
	size_t mask, i, j;
	void *value;

	if (!m->slots)
		return NULL;
	mask = ((size_t)1 << m->bits) - 1;
	for (i = idmap_home(m, key); m->slots[i].value; i = (i + 1) & mask)
		if (m->slots[i].key == key)
			break;
	value = m->slots[i].value;
	if (!value)
		return NULL;
	m->cnt--;
	/* Whoever follows and could not have its home slot moves up, so that no probe ends early. */
	for (j = (i + 1) & mask; m->slots[j].value; j = (j + 1) & mask) {
		size_t home = idmap_home(m, m->slots[j].key);

		if (((j - home) & mask) >= ((j - i) & mask)) {
			m->slots[i] = m->slots[j];
			i = j;
		}
	}
	m->slots[i].value = NULL;
	return value;
}
