/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * request_event: converts a record of class block to the event that its block will have.
 *
 *     wire record --[request_event]--> struct event --> src/model/request_track
 *                                  \--> struct writeback --> src/model/writeback_owners
 *
 * Columns that the recorder looks up by itself (thread, path, owner) stay 0.
 */
#pragma once

#include "bpf/wire.h"
#include "format/event.h"
#include "model/writeback_owners.h"

/* Returns whether a record is a step of a request or a bio. */
bool request_is_step(const struct wire_hdr *h);
/* Returns whether such a record has pages: then it is a struct wire_request_issue. */
bool request_has_pages(const struct wire_hdr *h);
/* h: request_is_step(). */
void request_event_of(const struct wire_hdr *h, struct event *ret);
/* Returns the pages of a record that has them, to find their owner. */
struct writeback request_writeback_of(const struct wire_request_issue *r);
