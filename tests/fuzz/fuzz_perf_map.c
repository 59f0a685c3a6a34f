/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fuzz_perf_map: a map file or a jitdump of code made at run time, which grows in two steps. */
#include <sys/mman.h>

#include "fuzz.h"
#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const uint64_t addrs[] = { 0,	    1,		    0x1000,    0x2000,
					  0x2010, 0x7f0000000000, UINT64_MAX };
	const struct perf_map_mapping in = { .start = 0x1000, .from_ns = 1,
					     .until_ns = UINT64_MAX };
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct perf_map_hit hit;
	struct perf_map *m;
	bool grown;

	FUZZ_CHECK(fd >= 0 && !perf_map_new(&m));
	for (size_t part = 0; part < 2; part++) {
		size_t from = part ? bytes / 2 : 0, to = part ? bytes : bytes / 2;

		FUZZ_CHECK(write(fd, data + from, to - from) == (ssize_t)(to - from));
		FUZZ_CHECK(perf_map_read(m, fd, &grown) == 0);
		for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++)
			for (uint64_t ts_ns = 1; ts_ns && ts_ns < UINT64_MAX / 2; ts_ns <<= 13)
				if (perf_map_find(m, addrs[i], ts_ns, &in, &hit)) {
					FUZZ_CHECK(*hit.name);
					FUZZ_CHECK(strlen(hit.name) <= PERF_MAP_NAME_MAX);
					FUZZ_CHECK(hit.from_ns <= ts_ns && ts_ns < hit.until_ns);
				}
	}
	perf_map_free(m);
	close(fd);
	return 0;
}
