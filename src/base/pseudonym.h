/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pseudonym: a short word for every string. Equal strings get equal words, and without the key a
 * word reveals nothing about its string.
 *
 * A word is 6 letters, one per 4 bits of a keyed hash (SipHash-2-4), or more letters if two strings
 * would get the same word. So different strings have different words in one dictionary;
 * dictionaries of several traces with the same key agree except for those rare longer words, which
 * depend on the order of strings. Threads: one per dictionary.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PSEUDONYM_KEY_BYTES 16
#define PSEUDONYM_WORD_MAX  17	/* with the NUL */

struct pseudonyms;

/* Fills in a key of random bytes; -errno if the kernel has none. */
int pseudonym_key_random(uint8_t key[PSEUDONYM_KEY_BYTES]);
/* Derives a key from a text of any length; it is as hard to guess as the text. */
void pseudonym_key_from(uint8_t key[PSEUDONYM_KEY_BYTES], const void *text, size_t bytes);

/* 0 or -ENOMEM */
int pseudonyms_new(struct pseudonyms **ret, const uint8_t key[PSEUDONYM_KEY_BYTES]);
void pseudonyms_free(struct pseudonyms *p);	/* wipes the key */

/* Returns the word of a string, valid as long as p; NULL: out of memory. */
const char *pseudonym_word(struct pseudonyms *p, const char *s, size_t bytes);
/*
 * Returns a number in [from, from + span) for v; different numbers get different ones. 0: out of
 * memory.
 */
uint64_t pseudonym_number(struct pseudonyms *p, uint64_t v, uint64_t from, uint64_t span);
