/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* chunk_name: six digits, or more if needed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/chunk_name.h"
#include "store/files.h"

void chunk_name_format(char name[CHUNK_NAME_BYTES], uint64_t number)
{
	snprintf(name, CHUNK_NAME_BYTES, "chunk-%06llu.ebr",
		 (unsigned long long)(number % 1000000000000ull));
}

int chunk_name_parse(const char *name, uint64_t *ret_number)
{
	char again[CHUNK_NAME_BYTES];
	unsigned long long n;

	if (strlen(name) >= CHUNK_NAME_BYTES || sscanf(name, "chunk-%12llu", &n) != 1)
		return -EINVAL;
	chunk_name_format(again, n);
	if (strcmp(again, name))
		return -EINVAL;
	*ret_number = n;
	return 0;
}

struct numbers {
	uint64_t *v;
	size_t cnt, cap;
};

static int add_number(void *ctx, const char *name)
{
	struct numbers *l = ctx;
	uint64_t n;

	if (chunk_name_parse(name, &n) < 0)
		return 0;
	if (l->cnt == CHUNK_FILES_MAX)
		return -E2BIG;
	return array_add(&l->v, &l->cap, &l->cnt, n);
}

int chunk_name_list(int dir_fd, uint64_t **ret, size_t *ret_cnt)
{
	struct numbers l = { 0 };
	int r = files_each(dir_fd, add_number, &l);

	if (r < 0) {
		free(l.v);
		return r;
	}
	if (l.cnt)
		qsort(l.v, l.cnt, sizeof(*l.v), compare_u64);
	*ret = l.v;
	*ret_cnt = l.cnt;
	return 0;
}
