/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* array: grows arrays by doubling; searches sorted arrays by bisection of a range [low, high). */
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 16

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

size_t *array_order(const void *items, size_t cnt, size_t elem_bytes)
{
	struct place *places = malloc((cnt + 1) * sizeof(*places));
	size_t *order = malloc((cnt + 1) * sizeof(*order)), i;

	if (!places || !order) {
		free(places);
		free(order);
		return NULL;
	}
	for (i = 0; i < cnt; i++) {
		places[i].at = i;
		memcpy(&places[i].key, (const char *)items + i * elem_bytes, sizeof(uint64_t));
	}
	qsort(places, cnt, sizeof(*places), compare_u64_pair);
	for (i = 0; i < cnt; i++)
		order[i] = places[i].at;
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

int compare_double(const void *a, const void *b)
{
	return compare_numbers(*(const double *)a, *(const double *)b);
}

int compare_u64_pair(const void *a, const void *b)
{
	return compare_u64(a, b) ?: compare_u64((const uint64_t *)a + 1, (const uint64_t *)b + 1);
}

int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}
