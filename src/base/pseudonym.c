/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pseudonym: SipHash-2-4 (Aumasson and Bernstein, 2012), a pseudo-random function of a 128-bit key,
 * and a dictionary of the words assigned so far.
 */
#include "base/pseudonym.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash_map.h"
#include "base/strpool.h"

#define DIGITS_FIRST 6
#define DIGITS_LAST  16

struct pseudonyms {
	uint8_t key[PSEUDONYM_KEY_BYTES];
	struct strpool *pool;
	struct hash_map words;	/* address of the string in the pool -> its word */
	struct hash_map taken;	/* hash of a word -> itself */
	struct hash_map numbers, numbers_taken;	/* + 1, as pointers */
};

static uint64_t rotate(uint64_t v, unsigned int bits)
{
	return v << bits | v >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static uint64_t siphash(const uint8_t key[PSEUDONYM_KEY_BYTES], const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t k[2], m, v[4];
	size_t left = bytes;

	memcpy(k, key, sizeof(k));
	v[0] = k[0] ^ 0x736f6d6570736575ull;
	v[1] = k[1] ^ 0x646f72616e646f6dull;
	v[2] = k[0] ^ 0x6c7967656e657261ull;
	v[3] = k[1] ^ 0x7465646279746573ull;
	for (;; p += 8, left -= 8) {
		m = 0;
		memcpy(&m, p, left < 8 ? left : 8);
		if (left < 8)
			m |= (uint64_t)bytes << 56;
		v[3] ^= m;
		sip_round(v);
		sip_round(v);
		v[0] ^= m;
		if (left < 8)
			break;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

int pseudonym_key_random(uint8_t key[PSEUDONYM_KEY_BYTES])
{
	ssize_t n = getrandom(key, PSEUDONYM_KEY_BYTES, 0);

	if (n < 0)
		return -errno;
	return n == PSEUDONYM_KEY_BYTES ? 0 : -EIO;
}

void pseudonym_key_from(uint8_t key[PSEUDONYM_KEY_BYTES], const void *text, size_t bytes)
{
	static const uint8_t half[2][PSEUDONYM_KEY_BYTES] = { "ebpfrec salt 0", "ebpfrec salt 1" };

	for (int i = 0; i < 2; i++) {
		uint64_t h = siphash(half[i], text, bytes);

		memcpy(key + 8 * i, &h, sizeof(h));
	}
}

int pseudonyms_new(struct pseudonyms **ret, const uint8_t key[PSEUDONYM_KEY_BYTES])
{
	struct pseudonyms *p = calloc(1, sizeof(*p));

	if (!p || strpool_new(&p->pool)) {
		free(p);
		return -ENOMEM;
	}
	memcpy(p->key, key, sizeof(p->key));
	*ret = p;
	return 0;
}

void pseudonyms_free(struct pseudonyms *p)
{
	if (!p)
		return;
	strpool_free(p->pool);
	hash_map_done(&p->words);
	hash_map_done(&p->taken);
	hash_map_done(&p->numbers);
	hash_map_done(&p->numbers_taken);
	explicit_bzero(p->key, sizeof(p->key));
	free(p);
}

/*
 * Words have no digits, since names that differ only in digits count as the same role (role.h), and
 * no vowels, so that they do not form real words.
 */
static const char letters[] = "bcdfghjklmnpqrst";

/* Returns the shortest unused word of this hash; NULL: none left, or no memory (*ret_err). */
static const char *take_word(struct pseudonyms *p, uint64_t hash, int *ret_err)
{
	char text[PSEUDONYM_WORD_MAX], word[PSEUDONYM_WORD_MAX];
	const char *kept;

	*ret_err = 0;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = letters[hash >> (60 - 4 * i) & 15];
	text[sizeof(text) - 1] = 0;
	for (int n = DIGITS_FIRST; n <= DIGITS_LAST; n += 2) {
		/* An id for n digits and their number; it differs from the id of any other word. */
		uint64_t id = n == DIGITS_LAST ? hash :
						 (hash >> (64 - 4 * n)) << 4 | (uint64_t)n / 2;

		if (hash_map_get(&p->taken, id))
			continue;
		snprintf(word, sizeof(word), "%.*s", n, text);
		kept = strpool_put(p->pool, word);
		if (!kept || hash_map_put(&p->taken, id, (void *)kept))
			*ret_err = -ENOMEM;
		return *ret_err ? NULL : kept;
	}
	return NULL;
}

const char *pseudonym_word(struct pseudonyms *p, const char *s, size_t bytes)
{
	char *copy = strndup(s, bytes);
	const char *mine, *word;
	uint64_t hash;
	int err = 0;

	mine = copy ? strpool_put(p->pool, copy) : NULL;
	free(copy);
	if (!mine)
		return NULL;
	word = hash_map_get(&p->words, (uintptr_t)mine);
	hash = siphash(p->key, mine, strlen(mine));
	while (!word && !err) {
		word = take_word(p, hash, &err);
		if (!word && !err)
			hash = siphash(p->key, &hash, sizeof(hash));
		else if (!err && hash_map_put(&p->words, (uintptr_t)mine, (void *)word))
			return NULL;
	}
	return word;
}

uint64_t pseudonym_number(struct pseudonyms *p, uint64_t v, uint64_t from, uint64_t span)
{
	uint64_t n = (uintptr_t)hash_map_get(&p->numbers, v);

	if (n)
		return n - 1;
	n = siphash(p->key, &v, sizeof(v)) % span;
	while (hash_map_get(&p->numbers_taken, n))
		n = (n + 1) % span;
	if (hash_map_put(&p->numbers_taken, n, p) ||
	    hash_map_put(&p->numbers, v, (void *)(uintptr_t)(from + n + 1)))
		return 0;
	return from + n;
}
