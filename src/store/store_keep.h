/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * store_keep: which chunk files of a growing trace may go.
 *
 *     store_writer --files and blocks as they are written--> [store_keep] --the oldest goes--> unlink
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
	uint64_t from_ns, to_ns;	/* of its blocks; from_ns == to_ns: none yet */
	uint64_t block_cnt, event_cnt;
};

struct store_keep {
	uint64_t keep_bytes, keep_ns;	/* 0: no limit */
	struct store_file *files;	/* there now, oldest first */
	size_t cnt, cap;
	uint64_t bytes;			/* of all of them */
	/* what went */
	uint64_t dropped_files, dropped_blocks, dropped_events, dropped_bytes;
};

void store_keep_done(struct store_keep *k);

/* A new file. -ENOMEM. */
int store_keep_add_file(struct store_keep *k, uint64_t number);
/* It could not be made after all. Nothing if it was never added. */
void store_keep_undo_file(struct store_keep *k, uint64_t number);
/* So many more bytes in the newest file that are no block: header, index, trailer. */
void store_keep_add_bytes(struct store_keep *k, uint64_t bytes);
void store_keep_add_block(struct store_keep *k, uint64_t bytes, uint64_t from_ns, uint64_t to_ns,
			  uint64_t event_cnt);

/*
 * Whether the oldest file may go before a block of so many bytes, ending at to_ns, is written. It is
 * asked first, so that the bound holds at every instant.
 */
bool store_keep_has_excess(const struct store_keep *k, uint64_t bytes, uint64_t to_ns);
/* The oldest file is gone: moves it to what went. */
void store_keep_drop(struct store_keep *k);

/* Size and age at which files are started anew, so that dropping one is a small step. */
uint64_t store_keep_file_bytes(uint64_t keep_bytes);
uint64_t store_keep_file_age_ns(uint64_t keep_ns);

#endif /* STORE_KEEP_H */
