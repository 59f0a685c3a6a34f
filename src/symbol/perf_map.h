/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * perf_map: names of code that a process generated at run time, from a file that the process writes
 * for profilers: /tmp/perf-PID.map, with a line "START SIZE NAME" per function (hexadecimal
 * numbers), or jit-PID.dump, whose records also have the time at which a function was generated.
 *
 *     file that grows --> [perf_map] --> name, offset, at (address, ts)
 *
 * The file is untrusted: lines and names are bounded, and invalid lines are skipped. Later lines or
 * records replace earlier ones where they overlap. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_MAP_MAX_BYTES (64u << 20)	/* most bytes read of a file */
#define PERF_MAP_MAX_SYMBOLS (1u << 20)
#define PERF_MAP_NAME_MAX 1024		/* longer names are truncated */

struct perf_map;

int perf_map_new(struct perf_map **ret);
void perf_map_free(struct perf_map *m);
size_t perf_map_bytes(const struct perf_map *m);	/* bytes of memory in use */

/*
 * Reads the lines that were appended to the file at fd since the last call; if the file became
 * shorter, reads it from the start. *ret_grown: symbols were added. 0, -errno of reading, or
 * -ENOMEM.
 */
int perf_map_read(struct perf_map *m, int fd, bool *ret_grown);
/* Call this before perf_map_read() of another file, which is then read from its start. */
void perf_map_restart(struct perf_map *m);

/* The mapping that contains an address: its start, and a time during which it is known to exist. */
struct perf_map_mapping {
	uint64_t start;
	uint64_t from_ns, until_ns;
};

struct perf_map_hit {
	const char *name;	/* valid until the next perf_map_read() */
	uint64_t offset;	/* offset of the address from the symbol's start */
	uint64_t from_ns, until_ns;	/* the name is valid in [from_ns, until_ns) */
};

/*
 * Finds the name of the code at addr at ts_ns. The first symbol at an address is valid as long as
 * the mapping. A later symbol from a jitdump is valid from the time of its record on. A later
 * symbol from a line is valid from the read that found the line on. If the mapping changed between
 * the previous read and that read, the symbol is already valid from this change on.
 */
bool perf_map_find(struct perf_map *m, uint64_t addr, uint64_t ts_ns,
		   const struct perf_map_mapping *in, struct perf_map_hit *ret);
