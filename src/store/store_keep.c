/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* store_keep: a short list, since a bounded trace has a bounded number of files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/store_keep.h"

#define PARTS 16			/* a file has about this fraction of what is kept */
#define FILE_BYTES_MIN (64ull << 10)
#define FILE_BYTES_MAX (64ull << 20)
#define FILE_AGE_MIN_NS 1000000000ull
#define FILE_AGE_MAX_NS (600ull * 1000000000)

void store_keep_done(struct store_keep *k)
{
	free(k->files);
	memset(k, 0, sizeof(*k));
}

int store_keep_add_file(struct store_keep *k, uint64_t number)
{
	if (array_reserve(&k->files, &k->cap, k->cnt + 1) < 0)
		return -ENOMEM;
	k->files[k->cnt++] = (struct store_file){ .number = number };
	return 0;
}

void store_keep_undo_file(struct store_keep *k, uint64_t number)
{
	if (!k->cnt || k->files[k->cnt - 1].number != number)
		return;
	k->bytes -= k->files[k->cnt - 1].bytes;
	k->cnt--;
}

void store_keep_add_bytes(struct store_keep *k, uint64_t bytes)
{
	k->files[k->cnt - 1].bytes += bytes;
	k->bytes += bytes;
}

void store_keep_add_block(struct store_keep *k, uint64_t bytes, uint64_t from_ns, uint64_t to_ns,
			  uint64_t event_cnt)
{
	struct store_file *f = &k->files[k->cnt - 1];

	if (!f->block_cnt)
		f->from_ns = from_ns;
	f->to_ns = to_ns;
	f->block_cnt++;
	f->event_cnt += event_cnt;
	store_keep_add_bytes(k, bytes);
}

uint64_t store_keep_from_ns(const struct store_keep *k)
{
	return k->cnt ? k->files[0].from_ns : 0;
}

/* The instant at which the trace would begin without its oldest file. */
static uint64_t second_from_ns(const struct store_keep *k)
{
	return k->files[1].block_cnt ? k->files[1].from_ns : k->files[0].to_ns;
}

bool store_keep_has_excess(const struct store_keep *k, uint64_t bytes, uint64_t to_ns)
{
	if (k->cnt < 2)
		return false;
	if (k->keep_bytes && k->bytes - k->files[0].bytes + bytes >= k->keep_bytes)
		return true;
	return k->keep_ns && to_ns >= second_from_ns(k) &&
	       to_ns - second_from_ns(k) >= k->keep_ns;
}

void store_keep_drop(struct store_keep *k)
{
	const struct store_file *f = &k->files[0];

	k->dropped_files++;
	k->dropped_blocks += f->block_cnt;
	k->dropped_events += f->event_cnt;
	k->dropped_bytes += f->bytes;
	k->bytes -= f->bytes;
	k->cnt--;
	memmove(k->files, k->files + 1, k->cnt * sizeof(*k->files));
}

static uint64_t clamp(uint64_t v, uint64_t min, uint64_t max)
{
	return v < min ? min : v > max ? max : v;
}

uint64_t store_keep_file_bytes(uint64_t keep_bytes)
{
	return keep_bytes ? clamp(keep_bytes / PARTS, FILE_BYTES_MIN, FILE_BYTES_MAX)
			  : FILE_BYTES_MAX;
}

uint64_t store_keep_file_age_ns(uint64_t keep_ns)
{
	return keep_ns ? clamp(keep_ns / PARTS, FILE_AGE_MIN_NS, FILE_AGE_MAX_NS)
		       : FILE_AGE_MAX_NS;
}
