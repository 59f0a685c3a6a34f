/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* chunk_name: six digits, or more where six are too few. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "store/chunk_name.h"

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

int chunk_name_list(int dir_fd, uint64_t **ret, size_t *ret_cnt)
{
	size_t cnt = 0, cap = 0;
	uint64_t *v = NULL, n;
	struct dirent *d;
	int fd, r;
	DIR *dir;

	/* a descriptor of its own has a position of its own */
	fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	r = 0;
	while ((d = readdir(dir))) {
		if (chunk_name_parse(d->d_name, &n) < 0)
			continue;
		if (cnt == CHUNK_FILES_MAX) {
			r = -E2BIG;
			break;
		}
		r = array_reserve(&v, &cap, cnt + 1);
		if (r < 0)
			break;
		v[cnt++] = n;
	}
	closedir(dir);
	if (r < 0) {
		free(v);
		return r;
	}
	if (cnt)
		qsort(v, cnt, sizeof(*v), compare_u64);
	*ret = v;
	*ret_cnt = cnt;
	return 0;
}
