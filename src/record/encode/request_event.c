/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* request_event: fills the columns that request_track reads. */
#include "record/encode/request_event.h"

/* Hooks and actions are numbered alike, and stay so: traces hold both. */
_Static_assert(WIRE_BLOCK_ISSUE - WIRE_BLOCK_INSERT == EVENT_REQUEST_ISSUE - EVENT_REQUEST_INSERT &&
		       WIRE_BLOCK_COMPLETE - WIRE_BLOCK_INSERT ==
			       EVENT_REQUEST_COMPLETE - EVENT_REQUEST_INSERT &&
		       WIRE_BLOCK_MERGE - WIRE_BLOCK_INSERT ==
			       EVENT_REQUEST_MERGE - EVENT_REQUEST_INSERT &&
		       WIRE_BLOCK_DONE - WIRE_BLOCK_INSERT ==
			       EVENT_REQUEST_DONE - EVENT_REQUEST_INSERT &&
		       WIRE_BIO_REMAP - WIRE_BIO_QUEUE ==
			       EVENT_REQUEST_BIO_REMAP - EVENT_REQUEST_BIO_QUEUE,
	       "an action follows from its hook");

void request_event_of(const struct wire_hdr *h, struct event *ret)
{
	const struct wire_request *b = (const void *)h;

	*ret = (struct event){ .ts_ns = h->ts_ns, .kind = EVENT_REQUEST, .flags = h->flags };
	ret->v[EV_REQUEST_ACTION] =
		h->hook >= WIRE_BIO_QUEUE ? h->hook - WIRE_BIO_QUEUE + EVENT_REQUEST_BIO_QUEUE :
					    h->hook - WIRE_BLOCK_INSERT + EVENT_REQUEST_INSERT;
	ret->v[EV_REQUEST_RQ] = b->rq;
	ret->v[EV_REQUEST_DEV] = b->dev;
	ret->v[EV_REQUEST_SECTOR] = b->sector;
	ret->v[EV_REQUEST_BYTES] = b->bytes;
	ret->v[EV_REQUEST_CMD_FLAGS] = b->cmd_flags;
	ret->v[EV_REQUEST_DONE_BYTES] = b->done_bytes;
	ret->v[EV_REQUEST_STATUS] = b->status;
	if (request_has_pages(h) || h->hook == WIRE_BIO_REMAP) {
		const struct wire_request_issue *x = (const void *)h;

		ret->v[EV_REQUEST_PAGES] = x->pages;
		ret->v[EV_REQUEST_INO] = x->ino;
		ret->v[EV_REQUEST_INO_DEV] = x->ino_dev;
	}
}

bool request_is_step(const struct wire_hdr *h)
{
	return (h->hook >= WIRE_BLOCK_INSERT && h->hook <= WIRE_BLOCK_DONE) ||
	       (h->hook >= WIRE_BIO_QUEUE && h->hook <= WIRE_BIO_REMAP);
}

bool request_has_pages(const struct wire_hdr *h)
{
	return h->hook == WIRE_BLOCK_ISSUE || h->hook == WIRE_BIO_QUEUE ||
	       h->hook == WIRE_BIO_BACKMERGE || h->hook == WIRE_BIO_FRONTMERGE;
}

struct writeback request_writeback_of(const struct wire_request_issue *r)
{
	return (struct writeback){ .ts_ns = r->step.hdr.ts_ns, .ino = r->ino,
				   .last_ino = r->last_ino, .ino_dev = r->ino_dev,
				   .cmd_flags = r->step.cmd_flags, .pages = (uint8_t)r->pages };
}
