/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * columns: which kinds of events there are, what columns they have, and how each is stored.
 *
 * Kinds and columns are declared in schema/events/; the codec, FORMAT.md's table, the SQL event
 * tables and `info --columns` follow the declarations.
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stdint.h>

#include "event_lists.h"

/* utid and upid of things that are not tasks. Real ids start at EVENT_ID_FIRST. */
enum {
	EVENT_ID_IDLE = 0,	/* the idle task of any CPU */
	EVENT_ID_UNKNOWN = 1,	/* the thread is unknown, because of a declared loss */
	EVENT_ID_IRQ = 2,	/* interrupt context: no task to charge */
	EVENT_ID_FILTERED = 3,	/* left out of the recording by --only */
	EVENT_ID_FIRST = 16,
};

#define EVENT_VALUES 14	/* columns of a kind at most */

/*
 * How a column is stored (schema/FORMAT.md, "Columns"):
 *   UTID     index into the block's list of utids
 *   PREV     as UTID; 0 when it is the thread the CPU's last switch went to
 *   TUPLE    one index per row into a per-kind list of the value combinations that occur;
 *            shared by all TUPLE columns of the kind and by flags
 *   PLAIN    the value                        DELTA    difference to the row before
 *   TDELTA   difference to the last row with the same tuple
 *   BACKREF  how many rows ago the same value was; new ones as differences
 *   XREF     the row of the kind before this one (alloc of a free) that has the value
 */
enum event_codec {
	EVENT_CODEC_UTID = 1,
	EVENT_CODEC_PREV = 2,
	EVENT_CODEC_TUPLE = 3,
	EVENT_CODEC_PLAIN = 4,
	EVENT_CODEC_DELTA = 5,
	EVENT_CODEC_TDELTA = 6,
	EVENT_CODEC_BACKREF = 7,
	EVENT_CODEC_XREF = 8,
};

/* event.flags */
#define EVENT_F_IRQ 0x01	/* interrupt context: utid is who was interrupted, not who did it */
#define EVENT_F_PREEMPT 0x02	/* SWITCH: the thread that leaves could have gone on */
#define EVENT_F_NEXT_OUT 0x08	/* SWITCH under --only: next is not a recorded thread */
#define EVENT_F_FLUSH_SEQ 0x20	/* REQUEST complete: a flush sequence may go on with this request */
#define EVENT_F_BROKEN                                                                             \
	0x10 /* IRQ entry, in a cut: how it ended was lost, after the end of the cut */

unsigned int column_codec(unsigned int kind,
			  unsigned int index); /* enum event_codec; 0: there is none */
/* True when older blocks may lack the column; its value is 0 there. */
int column_may_lack(unsigned int kind, unsigned int index);
unsigned int column_tuple_cnt(unsigned int kind);	/* how many TUPLE columns the kind has */
unsigned int column_xref_kind(unsigned int kind); /* the kind its XREF column refers to; 0: none */

#endif /* COLUMNS_H */
