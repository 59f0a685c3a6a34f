/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Growth is by doubling; the search halves a range [low, high) that holds the answer. */
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 16
#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

int array_grow(void *items, size_t *cap, size_t need, size_t elem_bytes)
{
	void **at = items;
	size_t more = *cap ? *cap : FIRST_CAP, bytes;
	char *p;

	while (more < need)
		if (__builtin_mul_overflow(more, 2, &more))
			return -ENOMEM;
	if (__builtin_mul_overflow(more, elem_bytes, &bytes))
		return -ENOMEM;
	p = realloc(*at, bytes);
	if (!p)
		return -ENOMEM;
	memset(p + *cap * elem_bytes, 0, bytes - *cap * elem_bytes);
	*at = p;
	*cap = more;
	return 0;
}

size_t lower_bound_field(const void *items, size_t cnt, size_t elem_bytes, size_t offset,
			 size_t field_bytes, uint64_t key)
{
	size_t low = 0, high = cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const void *field = (const char *)items + mid * elem_bytes + offset;
		uint64_t v = field_bytes == 4 ? *(const uint32_t *)field : *(const uint64_t *)field;

		if (v < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct place {
	uint64_t key;
	size_t at;
};

/* Sorts by one digit. Those with the same digit keep their order. */
static void sort_digit(struct place *to, const struct place *from, size_t cnt, unsigned int shift)
{
	size_t end[DIGITS + 1] = { 0 }, i;

	for (i = 0; i < cnt; i++)
		end[(from[i].key >> shift) % DIGITS + 1]++;
	for (i = 1; i < DIGITS; i++)
		end[i] += end[i - 1];
	for (i = 0; i < cnt; i++)
		to[end[(from[i].key >> shift) % DIGITS]++] = from[i];
}

/* Digit by digit, from the lowest on, without those that are the same in all keys. */
size_t *array_order(const void *items, size_t cnt, size_t elem_bytes)
{
	struct place *places = malloc(2 * (cnt + 1) * sizeof(*places));
	struct place *from = places, *to, *swap;
	size_t *order = malloc((cnt + 1) * sizeof(*order)), i;
	uint64_t differ = 0;

	if (!places || !order) {
		free(places);
		free(order);
		return NULL;
	}
	to = places + cnt;
	for (i = 0; i < cnt; i++) {
		from[i].at = i;
		memcpy(&from[i].key, (const char *)items + i * elem_bytes, sizeof(uint64_t));
		differ |= from[i].key ^ from[0].key;
	}
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!((differ >> shift) % DIGITS))
			continue;
		sort_digit(to, from, cnt, shift);
		swap = from;
		from = to;
		to = swap;
	}
	for (i = 0; i < cnt; i++)
		order[i] = from[i].at;
	free(places);
	return order;
}

int compare_u32(const void *a, const void *b)
{
	return compare_numbers(*(const uint32_t *)a, *(const uint32_t *)b);
}

int compare_u64(const void *a, const void *b)
{
	return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

int compare_u64_pair(const void *a, const void *b)
{
	return compare_u64(a, b) ?: compare_u64((const uint64_t *)a + 1, (const uint64_t *)b + 1);
}

int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}
