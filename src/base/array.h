/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * array: growing arrays, search in sorted arrays, and comparison functions for sorting.
 *
 * An array is a pointer and a capacity in elements (size_t) in two variables of the caller, both
 * initially zero. The caller frees the pointer. Threads: no shared state.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for at least need elements in the array at *items; new elements are zero. The capacity
 * at least doubles, so that appending an element takes constant time on average. 0 or -ENOMEM; an
 * error leaves the array unchanged.
 */
#define array_reserve(items, cap, need)                                  \
	((size_t)(need) <= *(cap) ? 0 :                                  \
				    array_grow(items, cap, need, sizeof(**(items))))

/* Appends an element to the array's *cnt elements. 0 or -ENOMEM. */
#define array_add(items, cap, cnt, ...)                                  \
	(array_reserve(items, cap, *(cnt) + 1) < 0 ? -ENOMEM :           \
						     ((*(items))[(*(cnt))++] = (__VA_ARGS__), 0))

/* Implements array_reserve(); items is the address of the array's pointer. */
int array_grow(void *items, size_t *cap, size_t need, size_t elem_bytes);

/*
 * Returns the index of the first element whose field is not below key, or cnt. The array is sorted
 * by that field, which is a uint32_t or uint64_t.
 */
#define lower_bound(items, cnt, field, key)                                             \
	lower_bound_field((items), (cnt), sizeof(*(items)),                             \
			  offsetof(typeof(*(items)), field),                            \
			  _Generic((items)->field, uint32_t: 4, uint64_t: 8), (key))
/* Like lower_bound(), for an array of numbers. */
#define lower_bound_plain(items, cnt, key)                           \
	lower_bound_field((items), (cnt), sizeof(*(items)), 0,       \
			  _Generic(*(items), uint32_t: 4, uint64_t: 8), (key))

/* Implements the macros above. */
size_t lower_bound_field(const void *items, size_t cnt, size_t elem_bytes, size_t offset,
			 size_t field_bytes, uint64_t key);

/*
 * Returns the indexes 0 .. cnt - 1, sorted by the uint64_t at the start of each element. Unlike
 * qsort(), the sort is stable. malloc'ed; NULL: out of memory.
 */
size_t *array_order(const void *items, size_t cnt, size_t elem_bytes);

/* Compares two numbers for qsort(): negative, 0 or positive if a is below, equal to or above b. */
#define compare_numbers(a, b) (((a) > (b)) - ((a) < (b)))
/* Comparison functions for qsort(). These compare the number at the start of each element. */
int compare_u32(const void *a, const void *b);
int compare_u64(const void *a, const void *b);
int compare_double(const void *a, const void *b);
/* Compares the first number of each element, then the second. */
int compare_u64_pair(const void *a, const void *b);
/* Compares the strings that the pointers at the start of each element point to. */
int compare_texts(const void *a, const void *b);

/*
 * need: estimates the recent need for a buffer: the largest request, reduced by an eighth at each
 * later request. Callers free capacity beyond this estimate, so capacity that is soon needed again
 * stays.
 */
/*
 * Updates *need, which is initially 0. Returns the new estimate, at least wanted. Threads: one per
 * *need.
 */
static inline uint64_t need_note(uint64_t *need, uint64_t wanted)
{
	uint64_t before = *need - *need / 8;

	*need = wanted > before ? wanted : before;
	return *need;
}
