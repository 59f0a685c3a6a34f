/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* index_state: what index_file.c (bytes on disk) and index_build.c (making it) share. Nobody else. */
#ifndef INDEX_STATE_H
#define INDEX_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "analyze/index.h"

struct index_blob {
	uint64_t offset;
	uint32_t stored_bytes, raw_bytes, crc;
	uint8_t pack;		/* enum chunk_pack */
	uint8_t fresh;		/* in index.fresh_fd, not in index.fd */
};

struct index_cell {
	struct index_blob parts[INDEX_PART_CNT];
};

struct index {
	struct analysis *a;
	int fd;			/* what was saved before; -1: nothing */
	int fresh_fd;		/* what was made now; -1: nothing */
	int dir_fd;		/* where it is kept; -1: nowhere */
	char *name;		/* in that directory */
	uint64_t fresh_end;	/* of the bytes in fresh_fd; under lock */
	pthread_mutex_t lock;
	size_t cell_cnt;	/* as many as the trace has blocks */
	size_t saved_cnt;	/* of these, the first are in fd */
	uint64_t *from_ns;	/* of the cells */
	struct index_cell *cells;
	_Atomic uint8_t *known;	/* by cell: 1: its parts are there; 0: they are in fd's directory */
	uint64_t dir_offset;	/* in fd */
	struct index_blob tails[INDEX_TAIL_CNT];
	struct zunpack *zunpack;
	size_t damage_cnt;	/* of the trace, when all this was found true */
	bool damaged;
	struct index *before;	/* no longer true */
};

/* ---- index_file.c ---- */

/* Cells of the trace as it is, all parts empty. */
int index_new(struct index **ret, struct analysis *a);
/*
 * Finds a place and what was saved there before: cells that still hold are taken over. 0: there
 * may be none. save: the place must be writable, else there is none and dir_fd is -1.
 */
int index_load(struct index *x, bool save);
/* Only the file beside the trace, to look at it. 1: x has it; 0: there is none; else it is of no use, *ret_why says why. */
int index_look(struct index *x, const char **ret_why);
/* What was saved is of no use any more: all cells are empty. */
void index_forget_saved(struct index *x);
/* Opens fresh_fd: an unnamed file in the place, or memory. */
int index_begin(struct index *x, bool save);
/* Writes the directory for the first cnt cells behind what is fresh, and puts the file in place. */
int index_save(struct index *x, size_t cnt);

/* ---- index_build.c ---- */

/* Makes the cells from "from" on; tails are those behind cell "last" - 1. */
int index_build(struct index *x, size_t from, size_t last, const struct analysis_index_use *use,
		struct err *e);

#endif /* INDEX_STATE_H */
