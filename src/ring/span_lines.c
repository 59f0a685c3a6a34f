/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * span_lines: see span_lines.h. The kernel stamps a datagram with the wall clock when it is queued.
 * The offset between the wall clock and CLOCK_MONOTONIC changes only when the wall clock is set,
 * because both clocks are slewed together.
 */
#include "ring/span_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "event_lists.h"

#define DATAGRAM_MAX 65536
#define QUEUE_BYTES (4 << 20)	/* queue of unread datagrams: about 5,000 lines */
#define CLOCK_TRIES 5
#define CLOCK_SLACK_NS 10000
#define COMPARE_EVERY_NS 1000000
#define TID_DIGITS 7

struct span_lines {
	int socket;
	/* wall clock - CLOCK_MONOTONIC, and the time that reading both clocks took */
	int64_t offset_ns, width_ns;
	int64_t old_offset_ns;		/* offset before the wall clock was last set */
	uint64_t compared_ns;		/* when the clocks were compared */
	uint64_t empty_ns;		/* last time when the queue was empty; 0: never */

	/* the current datagram */
	char text[DATAGRAM_MAX];
	size_t at, len;			/* at: the next line; at == len: all lines are read */
	uint64_t ts_ns;
	uint32_t pid;

	struct wire_span record;	/* the last returned record */
	bool again;
	char first_bad[48];
	uint64_t taken_cnt, bad_cnt;	/* atomic */
	uint32_t unsure_pid;		/* atomic */
};

#define load(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

int span_lines_socket(int fd)
{
	int on = 1, bytes = QUEUE_BYTES, ends[2], r = 0;

	if (fcntl(fd, F_GETFD) >= 0)
		return -EEXIST;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	if (ends[0] == fd) {
		ends[0] = ends[1];
		ends[1] = fd;
	}
	if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    setsockopt(ends[0], SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    (setsockopt(ends[1], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) &&
	     setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes))))
		r = -errno;
	if (!r && (ends[1] == fd ? fcntl(fd, F_SETFD, 0) < 0 : dup2(ends[1], fd) < 0))
		r = -errno;
	if (r || ends[1] != fd)
		close(ends[1]);
	if (!r)
		return ends[0];
	close(ends[0]);
	return r;
}

struct span_lines *span_lines_new(int socket)
{
	struct span_lines *s = calloc(1, sizeof(*s));

	if (s) {
		s->socket = socket;
		s->width_ns = INT64_MAX;
	}
	return s;
}

void span_lines_free(struct span_lines *s)
{
	free(s);
}

/* ---- time ---- */

/* Compares the clocks; the most exact comparison counts until the wall clock is set. */
static void compare_clocks(struct span_lines *s)
{
	int64_t offset_ns = 0, width_ns = INT64_MAX;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t before = clock_mono_ns(), real = clock_real_ns();
		int64_t width = (int64_t)(clock_mono_ns() - before);

		if (width >= width_ns)
			continue;
		width_ns = width;
		offset_ns = (int64_t)(real - before) - width / 2;
	}
	if (s->width_ns == INT64_MAX)
		s->old_offset_ns = offset_ns;
	else if (llabs(offset_ns - s->offset_ns) > width_ns + s->width_ns)
		s->old_offset_ns = s->offset_ns;
	else if (width_ns >= s->width_ns)
		return;
	s->offset_ns = offset_ns;
	s->width_ns = width_ns;
}

/* Converts the time of a datagram that was written between empty_ns and now_ns. */
static uint64_t to_mono(const struct span_lines *s, const struct timespec *real, uint64_t now_ns)
{
	uint64_t ns = (uint64_t)real->tv_sec * 1000000000 + (uint64_t)real->tv_nsec;
	uint64_t mono_ns = ns - (uint64_t)s->offset_ns;

	if (mono_ns > now_ns || mono_ns + CLOCK_SLACK_NS < s->empty_ns)
		mono_ns = ns - (uint64_t)s->old_offset_ns;
	return mono_ns > now_ns ? now_ns : mono_ns;
}

/* ---- lines ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Removes blanks at both ends. */
static void trim(const char **text, size_t *len)
{
	while (*len && is_blank((*text)[*len - 1]))
		--*len;
	for (; *len && is_blank(**text); --*len)
		++*text;
}

/* Splits off the last word; false: the text is empty. */
static bool last_word(const char *text, size_t *len, const char **ret, size_t *ret_len)
{
	size_t from = *len;

	while (from && !is_blank(text[from - 1]))
		from--;
	*ret = text + from;
	*ret_len = *len - from;
	while (from && is_blank(text[from - 1]))
		from--;
	*len = from;
	return *ret_len;
}

/*
 * Returns the id for a word: a number up to 2^63 - 1 is the id; for any other word, its FNV-1a hash
 * without the highest bit, or 1 if that is 0.
 */
static uint64_t parse_id(const char *word, size_t len)
{
	uint64_t number = 0, hash = 0xcbf29ce484222325;
	bool is_number = len && len <= 19;

	for (size_t i = 0; i < len; i++) {
		is_number &= word[i] >= '0' && word[i] <= '9';
		number = number * 10 + (uint64_t)(word[i] - '0');
		hash = (hash ^ (unsigned char)word[i]) * 0x100000001b3;
	}
	if (is_number && number <= INT64_MAX)
		return number;
	return (hash & INT64_MAX) ?: 1;
}

static bool parse_tid(const char *word, size_t len, uint32_t *ret)
{
	uint64_t tid;

	if (len <= 4 || len > 4 + TID_DIGITS || memcmp(word, "tid=", 4))
		return false;
	for (size_t i = 4; i < len; i++)
		if (word[i] < '0' || word[i] > '9')
			return false;
	tid = parse_id(word + 4, len - 4);
	*ret = (uint32_t)tid;
	return tid;
}

static void set_name(struct wire_span *r, const char *name, size_t len)
{
	if (len > sizeof(r->name)) {
		len = sizeof(r->name);
		while (len && (name[len] & 0xc0) == 0x80) /* drop a UTF-8 character that is cut */
			len--;
	}
	memcpy(r->name, name, len);
}

bool span_lines_parse(const char *line, size_t len, struct wire_span *ret)
{
	static const char *const words[] = EVENT_SHOWN_SPAN;
	unsigned int action = EVENT_SPAN_BEGIN;
	const char *word;
	size_t n, before;

	memset(ret, 0, sizeof(*ret));
	trim(&line, &len);
	before = len;
	if (!last_word(line, &len, &word, &n) || !parse_tid(word, n, &ret->hdr.tid))
		len = before;
	for (n = 0; n < len && !is_blank(line[n]); n++)
		;
	while (action < EVENT_SPAN_CNT &&
	       (strlen(words[action]) != n || memcmp(words[action], line, n)))
		action++;
	line += n;
	len -= n;
	trim(&line, &len);
	ret->action = (uint16_t)action;
	if (action == EVENT_SPAN_CNT)
		return false;
	if (action == EVENT_SPAN_STEP) {
		set_name(ret, line, len);
		return len;
	}
	before = len;
	if (!last_word(line, &len, &word, &n))	/* ends the innermost request without an id */
		return action == EVENT_SPAN_END || action == EVENT_SPAN_FAIL;
	if (action == EVENT_SPAN_BEGIN) {
		if (!len) {
			set_name(ret, line, before);
			return true;
		}
		set_name(ret, line, len);
	} else if (len) {
		return false;
	}
	ret->id = parse_id(word, n);
	return ret->id || action == EVENT_SPAN_ATTACH;
}

/* ---- datagrams ---- */

static void count_bad(struct span_lines *s, const char *line, size_t len)
{
	if (!load(&s->bad_cnt)) {
		for (size_t i = 0; i < len && i < sizeof(s->first_bad) - 1; i++)
			s->first_bad[i] = line[i] < ' ' || line[i] > '~' ? '?' : line[i];
	}
	store(&s->bad_cnt, s->bad_cnt + 1);
}

/* Receives a datagram. False: none is queued. */
static bool receive(struct span_lines *s)
{
	/* no room for descriptors, which a writer might send */
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct timespec)) +
			   CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec text = { s->text, sizeof(s->text) };
	struct msghdr m = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(s->socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	uint64_t now_ns = clock_mono_ns();

	if (n <= 0)
		return false;
	if (now_ns - s->compared_ns > COMPARE_EVERY_NS) {
		compare_clocks(s);
		s->compared_ns = now_ns;
	}
	s->at = 0;
	s->len = (size_t)n;
	s->ts_ns = now_ns;
	s->pid = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		struct timespec real;
		struct ucred writer;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_TIMESTAMPNS) {
			memcpy(&real, CMSG_DATA(c), sizeof(real));
			s->ts_ns = to_mono(s, &real, now_ns);
		} else if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&writer, CMSG_DATA(c), sizeof(writer));
			s->pid = (uint32_t)writer.pid;
		}
	}
	if (m.msg_flags & MSG_TRUNC) {	/* the last line is incomplete, or lines are missing */
		while (s->len && s->text[s->len - 1] != '\n')
			s->len--;
		count_bad(s, s->text + s->len, (size_t)n - s->len);
	}
	return true;
}

/* Returns whether tid may be a thread of the writer: it is one, or has ended. */
static bool may_be_thread(const struct span_lines *s, uint32_t tid)
{
	char path[32];

	if (tid == s->pid || !syscall(SYS_tgkill, (pid_t)s->pid, (pid_t)tid, 0) || errno != ESRCH)
		return true;
	snprintf(path, sizeof(path), "/proc/%u", tid);
	return access(path, F_OK) != 0;
}

/*
 * Returns whether the process has several threads: any of these may have written a line without
 * tid=N.
 */
static bool has_threads(uint32_t pid)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	/*
	 * the directory has a link from its parent, one from itself, and one from each thread's
	 * directory
	 */
	return !stat(path, &st) && st.st_nlink > 3;
}

const struct wire_hdr *span_lines_next(void *lines, uint64_t end_ns, size_t *ret_bytes)
{
	struct span_lines *s = lines;
	struct wire_hdr *h = &s->record.hdr;

	*ret_bytes = sizeof(s->record);
	if (s->again) {
		s->again = false;
		return h;
	}
	for (;;) {
		const char *line, *end;
		size_t len;

		if (s->at >= s->len && !receive(s)) {
			s->empty_ns = end_ns;
			return NULL;
		}
		if (s->ts_ns > end_ns)	/* written after this pass began */
			return NULL;
		line = s->text + s->at;
		end = memchr(line, '\n', s->len - s->at);
		len = end ? (size_t)(end - line) : s->len - s->at;
		s->at += len + (end != NULL);
		if (!len)
			continue;
		if (!s->pid || !span_lines_parse(line, len, &s->record) ||
		    (h->tid && !may_be_thread(s, h->tid))) {
			count_bad(s, line, len);
			continue;
		}
		h->ts_ns = s->ts_ns;
		h->hook = WIRE_SPAN;
		if (!h->tid && !load(&s->unsure_pid) && has_threads(s->pid))
			store(&s->unsure_pid, s->pid);
		h->tid = h->tid ?: s->pid;
		store(&s->taken_cnt, s->taken_cnt + 1);
		return h;
	}
}

void span_lines_unread(void *lines)
{
	((struct span_lines *)lines)->again = true;
}

struct ring_feed_count span_lines_count(const void *lines, unsigned int hook)
{
	const struct span_lines *s = lines;
	struct ring_feed_count c = { 0 };

	if (hook == WIRE_SPAN) {
		c.lost_other = load(&s->bad_cnt);
		c.attempted = load(&s->taken_cnt) + c.lost_other;
	}
	return c;
}

uint32_t span_lines_unsure_pid(const struct span_lines *s)
{
	return load(&s->unsure_pid);
}

const char *span_lines_first_bad(const struct span_lines *s)
{
	return s->first_bad;
}
