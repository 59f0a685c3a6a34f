/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pseudonym: a short word for every string, the same for the same string, telling nothing about it to whoever
 * does not have the key.
 *
 * Words are letters, a digit of base 16 each, of a keyed hash (SipHash-2-4): 6 of them, more where two strings would get the same
 * word. So within one book different strings have different words; with the same key, books of different traces
 * agree but for these rare longer ones, which depend on who came first. Threads: one per book.
 */
#ifndef PSEUDONYM_H
#define PSEUDONYM_H

#include <stddef.h>
#include <stdint.h>

#define PSEUDONYM_KEY_BYTES 16
#define PSEUDONYM_WORD_MAX  17	/* with the 0 at its end */

struct pseudonyms;

/* A key of random bytes; -errno when the kernel has none. */
int pseudonym_key_random(uint8_t key[PSEUDONYM_KEY_BYTES]);
/* A key made of a text of any length: as hard to guess as the text is. */
void pseudonym_key_from(uint8_t key[PSEUDONYM_KEY_BYTES], const void *text, size_t bytes);

int pseudonyms_new(struct pseudonyms **ret, const uint8_t key[PSEUDONYM_KEY_BYTES]); /* 0 or -ENOMEM */
void pseudonyms_free(struct pseudonyms *p);	/* wipes the key */

/* The word for a string, lasting as long as p; NULL: out of memory. */
const char *pseudonym_word(struct pseudonyms *p, const char *s, size_t bytes);
/* A number for a number, in [from, from + span); different ones for different ones. 0: out of memory. */
uint64_t pseudonym_number(struct pseudonyms *p, uint64_t v, uint64_t from, uint64_t span);

#endif /* PSEUDONYM_H */
