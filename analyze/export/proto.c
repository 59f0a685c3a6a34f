/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * proto: writes messages of Protocol Buffers, and the packets, task ids and ftrace events that all
 * parts of an export to Perfetto share.
 */
#include <errno.h>
#include <string.h>

#include "analyze/export/perfetto.h"
#include "analyze/export/proto.h"
#include "base/textsafe.h"

/* Fields of messages are appended to a growing buffer. */

enum { WIRE_VARINT = 0, WIRE_LEN = 2 };

/* A message's length is filled in at its end: reserve a varint of four bytes. */
enum { LEN_BYTES = 4 };

static void tag(struct proto *p, unsigned int field, unsigned int wire)
{
	buf_add_varint(&p->buf, (uint64_t)field << 3 | wire);
}

void proto_uint(struct proto *p, unsigned int field, uint64_t v)
{
	tag(p, field, WIRE_VARINT);
	buf_add_varint(&p->buf, v);
}

void proto_bytes(struct proto *p, unsigned int field, const void *data, size_t bytes)
{
	tag(p, field, WIRE_LEN);
	buf_add_varint(&p->buf, bytes);
	buf_add(&p->buf, data, bytes);
}

void proto_text(struct proto *p, unsigned int field, const char *text)
{
	proto_bytes(p, field, text, strlen(text));
}

void proto_begin(struct proto *p, unsigned int field)
{
	tag(p, field, WIRE_LEN);
	if (buf_room(&p->buf, LEN_BYTES))
		p->buf.len += LEN_BYTES;
	p->marks[p->depth++] = p->buf.len;
}

void proto_end(struct proto *p)
{
	size_t mark = p->marks[--p->depth], bytes = p->buf.len - mark;

	if (!p->buf.failed && bytes >> (7 * LEN_BYTES))
		p->buf.failed = true;
	if (p->buf.failed)
		return;
	for (unsigned int i = 0; i < LEN_BYTES; i++, bytes >>= 7)
		p->buf.data[mark - LEN_BYTES + i] =
			(uint8_t)((bytes & 0x7f) | (i + 1 < LEN_BYTES ? 0x80 : 0));
}

enum { TRACE_PACKET = 1, EVENT_TIMESTAMP = 1, EVENT_PID = 2 };

/*
 * CLOCK_BOOTTIME and CLOCK_MONOTONIC are read every second, a few microseconds apart. Smaller
 * changes of their difference are errors of reading.
 */
#define SUSPEND_NS 1000000

static void find_ahead(struct perfetto *x, uint64_t mono_ns)
{
	size_t cnt, i;
	const struct trace_clock *c = trace_clocks(x->t, &cnt);

	x->ahead_ns = cnt ? c[0].boot_ns - c[0].mono_ns : 0;
	x->ahead_from_ns = 0;
	x->ahead_to_ns = UINT64_MAX;
	for (i = 1; i < cnt; i++) {
		uint64_t ahead = c[i].boot_ns - c[i].mono_ns;

		if (ahead - x->ahead_ns + SUSPEND_NS <= 2 * SUSPEND_NS)
			continue;
		if (c[i].mono_ns > mono_ns) {
			x->ahead_to_ns = c[i].mono_ns;
			return;
		}
		x->ahead_ns = ahead;
		x->ahead_from_ns = c[i].mono_ns;
	}
}

uint64_t perfetto_boot_ns(struct perfetto *x, uint64_t mono_ns)
{
	if (mono_ns < x->ahead_from_ns || mono_ns >= x->ahead_to_ns)
		find_ahead(x, mono_ns);
	return mono_ns + x->ahead_ns;
}

void perfetto_packet(struct perfetto *x, uint64_t ts_ns)
{
	x->packet.buf.len = 0;
	x->packet.depth = 0;
	proto_begin(&x->packet, TRACE_PACKET);
	if (ts_ns)
		proto_uint(&x->packet, PACKET_TIMESTAMP, perfetto_boot_ns(x, ts_ns));
	proto_uint(&x->packet, PACKET_SEQUENCE_ID, x->sequence);
}

int perfetto_packet_end(struct perfetto *x)
{
	const struct buf *b = &x->packet.buf;

	while (x->packet.depth)
		proto_end(&x->packet);
	if (b->failed)
		return -ENOMEM;
	errno = 0;
	if (fwrite(b->data, 1, b->len, x->out) != b->len)
		return errno ? -errno : -EIO;
	return 0;
}

void perfetto_text(struct proto *p, unsigned int field, const char *text)
{
	char safe[4096];

	textsafe_escape(safe, sizeof(safe), text, strlen(text), NULL);
	proto_text(p, field, safe);
}

/* First id of pseudo threads; the kernel's ids are below 2^22. */
#define PSEUDO_TID 0x7fffff00u

uint32_t perfetto_tid(const struct perfetto *x, uint32_t thread)
{
	const struct trace_thread *t = dense_thread_row(&x->a->ids, thread);

	if (t)
		return t->tid;
	return thread == EVENT_ID_IDLE ? 0 : PSEUDO_TID + thread;
}

uint32_t perfetto_pid(const struct perfetto *x, uint32_t process)
{
	const struct trace_process *p = dense_process_row(&x->a->ids, process);

	if (p)
		return p->pid;
	return process == EVENT_ID_IDLE ? 0 : PSEUDO_TID + process;
}

/* ---- events ---- */

void perfetto_event(struct perfetto *x, uint64_t ts_ns, unsigned int cpu, uint32_t tid,
		    unsigned int field)
{
	perfetto_packet(x, 0);
	perfetto_event_in(x, ts_ns, cpu, tid, field);
}

void perfetto_event_in(struct perfetto *x, uint64_t ts_ns, unsigned int cpu, uint32_t tid,
		       unsigned int field)
{
	struct proto *p = &x->packet;

	proto_begin(p, PACKET_FTRACE);
	proto_uint(p, BUNDLE_CPU, cpu);
	proto_begin(p, BUNDLE_EVENT);
	proto_uint(p, EVENT_TIMESTAMP, perfetto_boot_ns(x, ts_ns));
	proto_uint(p, EVENT_PID, tid);
	proto_begin(p, field);
}

int perfetto_event_end(struct perfetto *x)
{
	x->row_cnt++;
	return perfetto_packet_end(x);
}
