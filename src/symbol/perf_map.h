/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * perf_map: names of code that a process made at run time, from the map file that it writes for
 * profilers (/tmp/perf-PID.map: a line "START SIZE NAME" for each function, hexadecimal; or
 * jit-PID.dump, whose records have the instants at which functions were made).
 *
 *     file that grows --> [perf_map] --> name, offset, at (address, ts)
 *
 * The file is untrusted: lines and names are bounded, and invalid lines are skipped. A later line
 * or record replaces an earlier one where both overlap. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_MAP_MAX_BYTES (64u << 20)	/* of a file; the rest is ignored */
#define PERF_MAP_MAX_SYMBOLS (1u << 20)
#define PERF_MAP_NAME_MAX 1024		/* bytes of a name; the rest is cut off */

struct perf_map;

int perf_map_new(struct perf_map **ret);
void perf_map_free(struct perf_map *m);
size_t perf_map_bytes(const struct perf_map *m);	/* bytes of memory in use */

/*
 * Reads the lines that were appended to the file at fd since the last call; from its start again if
 * it became shorter. *ret_grown: symbols were added. 0, -errno of reading, or -ENOMEM.
 */
int perf_map_read(struct perf_map *m, int fd, bool *ret_grown);
/* The file was replaced by another: the next call reads from its start. */
void perf_map_restart(struct perf_map *m);

/* The mapping that holds an address: its start, and the time during which it is known to exist. */
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
 * the mapping. A symbol that replaces another is valid from the instant of its record, of a
 * jitdump; of lines from the mapping's change between the two reads, if there was one, or else from
 * the read that found it.
 */
bool perf_map_find(struct perf_map *m, uint64_t addr, uint64_t ts_ns,
		   const struct perf_map_mapping *in, struct perf_map_hit *ret);
