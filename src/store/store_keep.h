/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_keep: which chunk files of a growing trace may go.
 *
 *     store_writer --files and blocks, as written--> [store_keep] --the oldest file--> unlink
 *
 * The oldest file goes when what is left without it is still as much as was asked for: at least
 * keep_bytes, or at least keep_ns of time. With both, the one that is reached first decides. So the
 * trace never weighs more than keep_bytes and one chunk file. The file being written never goes.
 *
 * Only book-keeping: it touches no file. Threads: one.
 */
#ifndef STORE_KEEP_H
#define STORE_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_file {
	uint64_t number;
	uint64_t bytes;
	uint64_t from_ns, to_ns;	/* from_ns == to_ns: no block yet */
	uint64_t block_cnt, event_cnt;
};

struct store_keep {
	uint64_t keep_bytes, keep_ns;	/* 0: no limit */
	struct store_file *files;	/* present files, oldest first */
	size_t cnt, cap;
	uint64_t bytes;			/* of all files */
	/* of the removed files */
	uint64_t dropped_files, dropped_blocks, dropped_events, dropped_bytes;
};

void store_keep_done(struct store_keep *k);

/* Adds a new file. -ENOMEM. */
int store_keep_add_file(struct store_keep *k, uint64_t number);
/* Removes a file that could not be made after all; ignores unknown ones. */
void store_keep_undo_file(struct store_keep *k, uint64_t number);
/* Adds bytes of the newest file that belong to no block: its header. */
void store_keep_add_bytes(struct store_keep *k, uint64_t bytes);
void store_keep_add_block(struct store_keep *k, uint64_t bytes, uint64_t from_ns, uint64_t to_ns,
			  uint64_t event_cnt);

/*
 * True when the oldest file may go before a block of that size, ending at to_ns, is written. Ask
 * first, so that the limit holds at every instant.
 */
bool store_keep_has_excess(const struct store_keep *k, uint64_t bytes, uint64_t to_ns);
/* The instant at which the first block still there begins; 0: there is no file yet. */
uint64_t store_keep_from_ns(const struct store_keep *k);
/* The oldest file has been removed: adds it to the dropped ones. */
void store_keep_drop(struct store_keep *k);

/* The size and age at which to start a new file, so that dropping one is a small step. */
uint64_t store_keep_file_bytes(uint64_t keep_bytes);
uint64_t store_keep_file_age_ns(uint64_t keep_ns);

#endif /* STORE_KEEP_H */
