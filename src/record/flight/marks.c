/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * marks: a message carries its own instant. A line of --mark-fd gets the instant at which it was
 * read, which is when it arrived, since the main thread polls for it.
 */
#include "record/flight/marks.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/control_socket.h"

void marks_done(struct marks *m)
{
	marks_clear(m);
	buf_done(&m->rows);
}

int marks_add(struct marks *m, uint64_t ts_ns, enum trace_mark_origin origin, const char *text)
{
	struct trace_mark row = { .ts_ns = ts_ns, .origin = (uint8_t)origin };

	if (m->rows.len / sizeof(row) >= MARKS_MAX) {
		m->dropped++;
		return 0;
	}
	row.text = strndup(text, TRACE_MARK_TEXT_MAX);
	if (!row.text)
		return -ENOMEM;
	buf_add(&m->rows, &row, sizeof(row));
	return m->rows.failed ? -ENOMEM : 0;
}

static int end_line(struct marks *m, uint64_t now_ns)
{
	size_t n = m->line_len < TRACE_MARK_TEXT_MAX ? m->line_len : TRACE_MARK_TEXT_MAX;

	m->line_len = 0;
	if (n && m->line[n - 1] == '\r')
		n--;
	m->line[n] = '\0';
	return *m->line ? marks_add(m, now_ns, TRACE_MARK_FD, m->line) : 0;
}

/* Reads once; more is read at the next look. */
static int read_lines(struct marks *m, uint64_t now_ns)
{
	struct pollfd p = { .fd = m->fd, .events = POLLIN };
	char bytes[4096];
	ssize_t n, i;
	int r = 0;

	if (m->fd < 0 || poll(&p, 1, 0) <= 0)
		return 0;
	n = read(m->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	for (i = 0; i < n && r == 0; i++) {
		if (bytes[i] == '\n')
			r = end_line(m, now_ns);
		else if (m->line_len++ < TRACE_MARK_TEXT_MAX)
			m->line[m->line_len - 1] = bytes[i];
	}
	if (n > 0)
		return r;
	m->fd = -1;	/* a last line without a line feed is a mark, too */
	return end_line(m, now_ns);
}

int marks_read(struct marks *m, uint64_t start_ns, uint64_t now_ns)
{
	char text[CONTROL_MESSAGE_MAX];
	unsigned int i;
	uint64_t ts;
	int r = 0;

	for (i = 0; m->socket && i < MARKS_MAX && r == 0 &&
		    control_socket_receive(m->socket, &ts, text) > 0;
	     i++) {
		if (ts >= start_ns && ts <= now_ns)
			r = marks_add(m, ts, TRACE_MARK_COMMAND, text);
		else
			m->dropped++;
	}
	return r ? r : read_lines(m, now_ns);
}

size_t marks_rows(struct marks *m, const struct trace_mark **ret)
{
	*ret = (const struct trace_mark *)m->rows.data;
	return m->rows.len / sizeof(**ret);
}

void marks_clear(struct marks *m)
{
	const struct trace_mark *rows;
	size_t cnt = marks_rows(m, &rows), i;

	for (i = 0; i < cnt; i++)
		free((char *)rows[i].text);
	buf_reset(&m->rows);
}
