/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * strpool: stores strings in pages that never move. A hash map maps each hash to the chain of
 * strings with this hash. The hash is seeded, because untrusted files may contain strings prepared
 * to collide.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash_map.h"
#include "base/strpool.h"

#define STRPOOL_PAGE 65536

struct strpool_entry {
	struct strpool_entry *next;	/* entry with the same hash */
	char text[];
};

struct strpool_page {
	struct strpool_page *next;
	size_t used, bytes;
	_Alignas(8) char data[];
};

struct strpool {
	struct hash_map by_hash;
	struct strpool_page *pages;
	uint64_t seed;
};

int strpool_new(struct strpool **ret)
{
	struct strpool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	if (getrandom(&p->seed, sizeof(p->seed), GRND_NONBLOCK) != sizeof(p->seed))
		p->seed = (uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15ull;
	*ret = p;
	return 0;
}

void strpool_free(struct strpool *p)
{
	struct strpool_page *page, *next;

	if (!p)
		return;
	for (page = p->pages; page; page = next) {
		next = page->next;
		free(page);
	}
	hash_map_done(&p->by_hash);
	free(p);
}

static void *pool_alloc(struct strpool *p, size_t bytes)
{
	struct strpool_page *page = p->pages;
	void *at;

	bytes = (bytes + 7) & ~(size_t)7;
	if (!page || page->bytes - page->used < bytes) {
		size_t room = bytes > STRPOOL_PAGE ? bytes : STRPOOL_PAGE;

		page = malloc(sizeof(*page) + room);
		if (!page)
			return NULL;
		page->next = p->pages;
		page->used = 0;
		page->bytes = room;
		p->pages = page;
	}
	at = page->data + page->used;
	page->used += bytes;
	return at;
}

const char *strpool_put(struct strpool *p, const char *s)
{
	struct strpool_entry *head, *e;
	uint64_t h = p->seed;
	size_t n, i;

	if (!*s)
		return "";
	n = strlen(s);
	for (i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3ull, h ^= h >> 32;
	head = hash_map_get(&p->by_hash, h);
	for (e = head; e; e = e->next)
		if (!strcmp(e->text, s))
			return e->text;
	e = pool_alloc(p, sizeof(*e) + n + 1);
	if (!e)
		return NULL;
	memcpy(e->text, s, n + 1);
	e->next = head;
	if (hash_map_put(&p->by_hash, h, e) < 0)
		return NULL;
	return e->text;
}
