/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * chunk: the bytes of a chunk file, shared by its writer and its reader.
 *
 *     file header | block | block | ...
 *
 * The terms, the codecs and the validity rule are in schema/FORMAT.md; this file has the layout.
 * All numbers are little-endian and fixed-width, without holes, and padding and reserved fields are
 * zero. Enums are append-only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "traces are little-endian; this machine is not, and nothing here swaps"
#endif

#define CHUNK_VERSION 2 /* version of files and blocks; readers refuse other versions */

#define CHUNK_FILE_MAGIC "EBRCHNK\n"
#define CHUNK_BLOCK_MAGIC "\xEB" "BRblk\r\n"

/*
 * Limits that a reader checks before it allocates memory. A writer never exceeds them.
 *
 * The limits per byte restrict the work that a block causes relative to its size. An event has at
 * least a timestamp, so a block with less than a bit per event is not from a recorder; the densest
 * block measured (a ping-pong) has 0.7 events per byte. Rows are small and all different: the
 * highest measured ratio of unpacked to packed size is 17 (the exits of 20,000 threads of one
 * process, 1.7 packed bytes each).
 */
#define CHUNK_SECTIONS_MAX 512
#define CHUNK_EVENTS_MAX (1u << 23)	/* per block, all kinds */
#define CHUNK_CPUS_MAX 8192
#define CHUNK_FRONT_MAX (64u << 20)	/* header, section table and small sections */
#define CHUNK_BLOCK_MAX (1u << 30)
#define CHUNK_ROWS_MAX (64u << 20)	/* all small sections, unpacked */
#define CHUNK_EVENTS_PER_BYTE 8		/* per byte of the block */
#define CHUNK_ROWS_RATIO 32		/* small section: unpacked bytes per stored byte */
#define CHUNK_ROWS_PER_BYTE 1		/* small section: rows per stored byte */
#define CHUNK_KINDS 32			/* length of kind_cnt; more than there are kinds */

/* At offset 0 of every chunk file. */
struct disk_file {
	uint8_t magic[8];	/* CHUNK_FILE_MAGIC */
	uint16_t version;	/* CHUNK_VERSION */
	uint16_t zero0;
	uint32_t bytes;		/* size of this header, and offset of the first block; 64 */
	uint64_t number;	/* the file's number in its trace, from 0 */
	uint64_t mono_ns;	/* creation of the file */
	uint64_t real_ns;
	/* files with lower numbers were completely on the disk when this one was created */
	uint64_t whole_below;
	uint64_t trace_id;	/* the same in all files of a trace; 0: none */
	uint8_t zero1[4];
	uint32_t crc;		/* of the 60 bytes above */
};

/* disk_block.flags */
#define CHUNK_BLOCK_TRIMMED                                                                        \
	0x0002 /* kinds of events were removed: first_ns and last_ns are bounds */
/* the block is not a slice: it has events before from_ns that still matter after from_ns */
#define CHUNK_BLOCK_CARRIED 0x0004
#define CHUNK_BLOCK_CUT 0x0010	/* last block of a trace cut from a longer one */
#define CHUNK_BLOCK_REWRITTEN                                                                      \
	0x0008 /* made from a part of another block, whose size on disk is in the COST rows */

struct disk_block {
	uint8_t magic[8];	/* CHUNK_BLOCK_MAGIC */
	uint16_t version;
	uint16_t flags;
	uint32_t head_bytes;	/* this header and the section table */
	uint64_t block_bytes;	/* the whole block; a multiple of 8 */
	uint32_t front_bytes;	/* bytes of the head and the small sections, which come first */
	uint32_t section_cnt;
	uint64_t from_ns;	/* the slice [from_ns, to_ns) that this block covers */
	uint64_t to_ns;
	uint64_t first_ns; /* lowest and highest timestamp of events; UINT64_MAX and 0: no events */
	uint64_t last_ns;
	uint64_t number;	/* of the block in its trace, from 0 */
	uint32_t cpu_cnt;	/* highest possible CPU number + 1 */
	uint32_t zero0;
	uint32_t kind_cnt[CHUNK_KINDS];	/* events by kind */
	uint32_t zero1[2];
	uint32_t table_crc;	/* of the section table */
	uint32_t head_crc;	/* of the header's bytes before this field */
};

/*
 * Small sections with rows: X(name, number, name in messages, type of the rows in rows.h).
 * Development versions used 7 and 14.
 */
#define CHUNK_SECTIONS(X)                                                                       \
	X(PROCESSES, 1, processes, process)                                                     \
	X(THREADS, 2, threads, thread)                                                          \
	X(TASK_EVENTS, 3, task_events, task_event)                                              \
	X(CPU_STATE, 4, cpu_state, cpu_state)	/* keyframe: thread on each CPU at from_ns */  \
	X(RSS_STATE, 5, rss_state, rss)	/* keyframe: memory of each process known at from_ns */ \
	X(RSS_SNAPS, 6, rss_snaps, rss)		/* memory at snapshot rows */                   \
	X(LOSS, 8, loss, loss)                                                                  \
	X(COST, 9, cost, cost)                                                                  \
	X(HOOK_STATS, 10, hook_stats, hook_stat)                                                \
	X(CLOCKS, 11, clocks, clock)                                                            \
	X(NAMES, 12, names, name)                                                               \
	X(GAPS, 15, gaps, gap)			/* sources that were switched off */            \
	X(MARKS, 16, marks, mark)		/* named points in time */                      \
	X(SITES, 17, sites, site)		/* names of user-space code addresses */      \
	/* in a cut trace's last block: the thread on each CPU until to_ns */                     \
	X(CPU_END, 18, cpu_end, cpu_end)                                                        \
	X(FRAMES, 19, frames, frame)		/* stacks, a row for each frame */              \
	X(QUOTAS, 20, quotas, quota)		/* CPU quotas of control groups */

enum chunk_section_type {
	/* small sections, at the front */
#define X(name, number, text, row) CHUNK_##name = number,
	CHUNK_SECTIONS(X)
#undef X
	CHUNK_UTIDS = 13,	/* list of utids, to which UTID columns have indices */
	CHUNK_SMALL_END = 32,
	/* event columns */
	CHUNK_COLUMN = 33,	/* a column, or one part of it */
	CHUNK_TUPLES = 34,	/* values of one TUPLE column, by tuple index */
};

/* values of disk_section.column besides 0 .. EVENT_VALUES - 1 */
enum chunk_column {
	CHUNK_COL_CPU = 0xf0,	/* (cpu, rows) runs */
	CHUNK_COL_TS = 0xf1,
	CHUNK_COL_UTID = 0xf2,
	CHUNK_COL_FLAGS = 0xf3,	/* CHUNK_TUPLES only */
	CHUNK_COL_TUPLE = 0xf4,	/* the tuple index, shared by all TUPLE columns */
};

/* disk_section.part: number of a stream of the column */
enum chunk_part {
	CHUNK_PART_MAIN = 0,	/* tokens, or index bytes */
	CHUNK_PART_BITS = 1,	/* the tokens' extra bits, or escaped indices */
	CHUNK_PART_NEW = 2,	/* BACKREF, XREF: tokens of new values */
	CHUNK_PART_NEW_BITS = 3,
};

/* disk_section.encoding: type of the unpacked bytes */
enum chunk_encoding {
	CHUNK_ENC_ROWS = 1,	/* self-sized rows of varints and strings */
	CHUNK_ENC_TOKENS = 2,	/* one token byte per value */
	CHUNK_ENC_BITS = 3,	/* extra bits */
	CHUNK_ENC_INDEX = 4, /* one byte per row; 255: the index is the next varint of PART_BITS */
	CHUNK_ENC_VARINTS = 5,
	CHUNK_ENC_VARINT_DELTAS = 6,	/* zigzag differences */
};

enum chunk_pack {
	CHUNK_PACK_NONE = 0,
	CHUNK_PACK_ZSTD = 1,	/* one zstd frame */
};

/*
 * An entry of the section table, which follows disk_block. The sections follow in the order of
 * their entries, from head_bytes on, without gaps.
 */
struct disk_section {
	uint16_t type;
	uint8_t kind;		/* enum event_kind; small sections: 0 */
	uint8_t column;
	uint8_t part;
	uint8_t encoding;
	uint8_t pack;
	uint8_t shift;		/* values are stored divided by 2^shift */
	uint32_t item_cnt;
	uint32_t raw_bytes;	/* unpacked */
	uint32_t stored_bytes;
	uint32_t crc;		/* of the stored bytes */
};

#define CHUNK_ASSERT_AT(type, field, at) \
	_Static_assert(offsetof(struct type, field) == (at), "layout of " #type "." #field)

_Static_assert(sizeof(struct disk_file) == 64, "layout of disk_file");
CHUNK_ASSERT_AT(disk_file, version, 8);
CHUNK_ASSERT_AT(disk_file, bytes, 12);
CHUNK_ASSERT_AT(disk_file, number, 16);
CHUNK_ASSERT_AT(disk_file, mono_ns, 24);
CHUNK_ASSERT_AT(disk_file, real_ns, 32);
CHUNK_ASSERT_AT(disk_file, whole_below, 40);
CHUNK_ASSERT_AT(disk_file, trace_id, 48);
CHUNK_ASSERT_AT(disk_file, zero1, 56);
CHUNK_ASSERT_AT(disk_file, crc, 60);

_Static_assert(sizeof(struct disk_block) == 224, "layout of disk_block");
CHUNK_ASSERT_AT(disk_block, version, 8);
CHUNK_ASSERT_AT(disk_block, flags, 10);
CHUNK_ASSERT_AT(disk_block, head_bytes, 12);
CHUNK_ASSERT_AT(disk_block, block_bytes, 16);
CHUNK_ASSERT_AT(disk_block, front_bytes, 24);
CHUNK_ASSERT_AT(disk_block, section_cnt, 28);
CHUNK_ASSERT_AT(disk_block, from_ns, 32);
CHUNK_ASSERT_AT(disk_block, to_ns, 40);
CHUNK_ASSERT_AT(disk_block, first_ns, 48);
CHUNK_ASSERT_AT(disk_block, last_ns, 56);
CHUNK_ASSERT_AT(disk_block, number, 64);
CHUNK_ASSERT_AT(disk_block, cpu_cnt, 72);
CHUNK_ASSERT_AT(disk_block, zero0, 76);
CHUNK_ASSERT_AT(disk_block, kind_cnt, 80);
CHUNK_ASSERT_AT(disk_block, zero1, 208);
CHUNK_ASSERT_AT(disk_block, table_crc, 216);
CHUNK_ASSERT_AT(disk_block, head_crc, 220);

_Static_assert(sizeof(struct disk_section) == 24, "layout of disk_section");
CHUNK_ASSERT_AT(disk_section, kind, 2);
CHUNK_ASSERT_AT(disk_section, column, 3);
CHUNK_ASSERT_AT(disk_section, part, 4);
CHUNK_ASSERT_AT(disk_section, encoding, 5);
CHUNK_ASSERT_AT(disk_section, pack, 6);
CHUNK_ASSERT_AT(disk_section, shift, 7);
CHUNK_ASSERT_AT(disk_section, item_cnt, 8);
CHUNK_ASSERT_AT(disk_section, raw_bytes, 12);
CHUNK_ASSERT_AT(disk_section, stored_bytes, 16);
CHUNK_ASSERT_AT(disk_section, crc, 20);
