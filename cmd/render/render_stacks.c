/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_stacks: the formats for stacks. render_folded writes a line per stack,
 * "comm;[source];outermost;...;innermost COUNT", for flame graph tools. Sources overlap, so each
 * gets a separate tower. Rows without a recorded stack form a tower, too, so that sums are right.
 * Rows with equal lines are added up: lines are kept in order of their first row, and written at
 * the end.
 *
 * As HTML, the lines begin with the source and are embedded in a page whose script draws them
 * (cmd/page/flame.html).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "analyze/engine/column.h"
#include "analyze/export/proto.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "base/textsafe.h"
#include "cmd/render/page.h"
#include "cmd/render/render.h"
#include "cmd/render/render_format.h"

/*
 * stack_columns: finds columns by their names, writes lines of stacks, and parses a frame's text.
 */

int stack_columns_find(struct stack_columns *s, unsigned int cnt, const char *const *names)
{
	*s = (struct stack_columns){ -1, -1, -1, -1, -1, -1, { -1, -1 } };
	for (unsigned int i = 0; i < cnt; i++) {
		enum column_kind kind = column_find(names[i])->kind;

		if (s->amount < 0 && (kind == COLUMN_BYTES || kind == COLUMN_DURATION))
			s->amount = (int)i;
		else if (!strcmp(names[i], "comm"))
			s->comm = (int)i;
		else if (!strcmp(names[i], "pid"))
			s->pid = (int)i;
		else if (!strcmp(names[i], "tid"))
			s->tid = (int)i;
		else if (!strcmp(names[i], "source") || !strcmp(names[i], "state"))
			s->source = (int)i;
		else if (!strcmp(names[i], "stack") || !strcmp(names[i], "user_stack"))
			s->stacks[0] = (int)i;
		else if (!strcmp(names[i], "kernel_stack"))
			s->stacks[1] = (int)i;
		else if (!strcmp(names[i], "samples") || !strcmp(names[i], "objects") ||
			 !strcmp(names[i], "waits"))
			s->number = (int)i;
	}
	return s->stacks[0] < 0 || s->number < 0 || s->amount < 0 ? -EINVAL : 0;
}

static void put(struct buf *to, const char *before, const struct value *v, const char *after,
		bool is_html)
{
	size_t n = v->type == VALUE_TEXT ? v->text_bytes : 0;
	size_t room = (is_html ? TEXTSAFE_HTML_MAX(n) : n * TEXTSAFE_GROWTH) + 1;
	char *p;

	buf_add(to, before, strlen(before));
	p = (char *)buf_room(to, room);
	if (p && n)
		to->len += is_html ? textsafe_html(p, v->text, n) :
				     textsafe_escape(p, room, v->text, n, NULL);
	buf_add(to, after, strlen(after));
}

void stack_columns_line(const struct stack_columns *s, struct buf *to, const struct value *values,
			bool is_html)
{
	const char *between = "";

	if (s->comm >= 0 && !is_html)
		put(to, "", &values[s->comm], ";", is_html);
	if (s->source >= 0)
		put(to, "[", &values[s->source], "];", is_html);
	if (s->comm >= 0 && is_html)
		put(to, "", &values[s->comm], ";", is_html);
	for (int i = 0; i < 2; i++) {
		if (s->stacks[i] < 0 || values[s->stacks[i]].type != VALUE_TEXT)
			continue;
		put(to, between, &values[s->stacks[i]], "", is_html);
		between = ";";
	}
	if (*between)
		buf_add(to, " ", 1);
	else
		buf_add(to, STACK_COLUMNS_NONE " ", sizeof(STACK_COLUMNS_NONE));
}

/* Parts of a frame with a line of source code: "NAME (PATH:NUMBER)". */
struct stack_line {
	size_t name_bytes;
	const char *path;
	size_t path_bytes;
	uint32_t number;
};

/* Finds the parts of a frame. False: the frame has no line of source code. */
static bool stack_line_find(struct stack_line *ret, const char *frame, size_t bytes)
{
	uint64_t number = 0, unit = 1;
	size_t end = bytes, at;

	if (!end || frame[--end] != ')')
		return false;
	for (; end && frame[end - 1] >= '0' && frame[end - 1] <= '9' && unit < UINT32_MAX;
	     unit *= 10)
		number += unit * (uint64_t)(frame[--end] - '0');
	if (unit == 1 || number > UINT32_MAX || !end || frame[--end] != ':')
		return false;
	for (at = end; at && !(frame[at - 1] == '(' && at > 1 && frame[at - 2] == ' '); at--)
		;
	if (!at)
		return false;
	*ret = (struct stack_line){ at - 2, frame + at, end - at, (uint32_t)number };
	return true;
}

/* Appends a frame, with only the last component of its path. Returns the end. */
static char *put_frame(char *to, const char *frame, size_t bytes)
{
	struct stack_line line;
	const char *slash;
	size_t skip = 0;

	if (stack_line_find(&line, frame, bytes)) {
		slash = memrchr(line.path, '/', line.path_bytes);
		skip = slash ? (size_t)(slash + 1 - line.path) : 0;
		to = mempcpy(to, frame, line.name_bytes + 2);
		frame += line.name_bytes + 2 + skip;
		bytes -= line.name_bytes + 2 + skip;
	}
	return mempcpy(to, frame, bytes);
}

char *stack_turn(const char *text, size_t len)
{
	char *turned = malloc(len * 3 + 1), *to = turned;
	size_t end = len, at = len;

	if (!turned)
		return NULL;
	for (;;) {
		while (at && text[at - 1] != ';')
			at--;
		to = put_frame(to, text + at, end - at);
		if (!at)
			break;
		memcpy(to, " < ", 3);
		to += 3;
		end = --at;
	}
	*to = 0;
	return turned;
}

struct folded {
	struct stack_columns cols;
	int count;	/* index of the column with the count */
	const char *rest; /* rest of the page; NULL: write plain lines */
	struct buf line;	/* line of the current row */
	struct strpool *texts;
	struct hash_map places;	/* text of the pool -> index in lines */
	struct folded_line {
		const char *text;
		int64_t count;
	} *lines;
	size_t cnt, cap;
};

static int folded_begin(void *state, const struct render_options *o, struct render_out *out,
			unsigned int cnt, const char *const *names)
{
	struct folded *f = state;
	int ret = stack_columns_find(&f->cols, cnt, names);

	f->count = o->folded_count ? f->cols.number : f->cols.amount;
	return ret ? ret : strpool_new(&f->texts);
}

static int folded_row(void *state, struct render_out *out, const struct value *values)
{
	struct folded *f = state;
	const char *text;
	uint32_t place;
	int ret;

	buf_reset(&f->line);
	stack_columns_line(&f->cols, &f->line, values, f->rest);
	buf_add(&f->line, "", 1);
	text = f->line.failed ? NULL : strpool_put(f->texts, (const char *)f->line.data);
	ret = text ? hash_map_intern(&f->places, (uintptr_t)text, 0, &place) : -ENOMEM;
	if (ret > 0) {
		if (array_reserve(&f->lines, &f->cap, f->cnt + 1) < 0)
			return -ENOMEM;
		f->lines[f->cnt++] = (struct folded_line){ .text = text };
	}
	if (ret >= 0)
		f->lines[place].count += values[f->count].i;
	return ret < 0 ? ret : 0;
}

static void folded_end(void *state, struct render_out *out, uint64_t left_out)
{
	const struct folded *f = state;

	for (size_t i = 0; i < f->cnt; i++) {
		render_out_text(out, f->lines[i].text);
		render_out_int(out, f->lines[i].count);
		render_out_text(out, "\n");
	}
}

static void folded_clear(void *state)
{
	struct folded *f = state;

	buf_done(&f->line);
	strpool_free(f->texts);
	hash_map_done(&f->places);
	free(f->lines);
}

const char *render_flame_begin(FILE *f, const char *title, const char *unit, const char *note)
{
	/* must be in the order of the marks in the page */
	const char *const marks[][2] = { { "@TITLE@", title }, { "@NOTE@", note },
					 { "@UNIT@", unit }, { "@STACKS@", "" } };
	const char *rest = page_flame;

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *at = strstr(rest, marks[i][0]);

		fwrite(rest, 1, (size_t)(at - rest), f);
		render_html_text(f, marks[i][1]);
		rest = at + strlen(marks[i][0]);
	}
	return rest;
}

static int html_begin(void *state, const struct render_options *o, struct render_out *out,
		      unsigned int cnt, const char *const *names)
{
	struct folded *f = state;
	int ret = folded_begin(state, o, out, cnt, names) ?: render_out_flush(out);

	if (!ret)
		f->rest = render_flame_begin(out->f, o->title, column_find(names[f->count])->unit,
					     "");
	return ret;
}

static void html_end(void *state, struct render_out *out, uint64_t left_out)
{
	const struct folded *f = state;

	folded_end(state, out, left_out);
	render_out_text(out, f->rest);
}

const struct render_format_ops render_folded_ops = {
	.state_bytes = sizeof(struct folded),
	.begin = folded_begin,
	.row = folded_row,
	.end = folded_end,
	.clear = folded_clear,
};

const struct render_format_ops render_flame_ops = {
	.state_bytes = sizeof(struct folded),
	.begin = html_begin,
	.row = folded_row,
	.end = html_end,
	.clear = folded_clear,
};

/*
 * render_pprof: stacks as a profile for `go tool pprof`, speedscope and Pyroscope: messages of
 * https://github.com/google/pprof/blob/main/proto/profile.proto, compressed with gzip.
 *
 * A sample has two values, a number and bytes or time. Its outermost frames are source and process,
 * because sources overlap. A function is identified by its name and source file, a location by its
 * function and line. Fields of a message may have any order, so everything is written immediately.
 */

#define WRITE_BYTES 65536

/* Fields of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6, PROFILE_TIME = 9, PROFILE_DURATION = 10, PROFILE_PERIOD_TYPE = 11,
       PROFILE_PERIOD = 12, PROFILE_COMMENT = 13, PROFILE_DEFAULT_TYPE = 14 };
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILENAME = 4 };

struct pprof {
	struct stack_columns cols;
	struct proto out;
	struct strpool *texts;
	struct hash_map numbers; /* text -> index in the table of strings */
	struct hash_map functions; /* (name, file) -> id - 1 */
	struct hash_map locations; /* (function, line) -> id - 1 */
	gzFile file;
	uint32_t *frames; /* frames of a sample, outermost first */
	size_t frame_cnt, frame_cap;
	int error;
};

/*
 * Sets *ret to the index of a text in the table of strings. Returns 1 if it is new, 0, or -ENOMEM.
 */
static int number_of(struct pprof *p, const char *text, uint32_t *ret)
{
	const char *kept = strpool_put(p->texts, text);
	int r = kept ? hash_map_intern(&p->numbers, (uintptr_t)kept, 0, ret) : -ENOMEM;

	if (r > 0)
		proto_text(&p->out, PROFILE_STRING, kept);
	if (r < 0)
		p->error = r;
	return r;
}

static void put_number_of(struct pprof *p, unsigned int field, const char *text)
{
	uint32_t number = 0;

	number_of(p, text, &number);
	proto_uint(&p->out, field, number);
}

/* Writes a field that is a message ValueType. */
static void put_type(struct pprof *p, unsigned int field, const char *type, const char *unit)
{
	uint32_t numbers[2] = { 0 };

	number_of(p, type, &numbers[0]);
	number_of(p, unit, &numbers[1]);
	proto_begin(&p->out, field);
	proto_uint(&p->out, VALUE_TYPE_TYPE, numbers[0]);
	proto_uint(&p->out, VALUE_TYPE_UNIT, numbers[1]);
	proto_end(&p->out);
}

static void put_function(struct pprof *p, uint32_t id, uint32_t name, uint32_t file)
{
	proto_begin(&p->out, PROFILE_FUNCTION);
	proto_uint(&p->out, FUNCTION_ID, id);
	proto_uint(&p->out, FUNCTION_NAME, name);
	proto_uint(&p->out, FUNCTION_FILENAME, file);
	proto_end(&p->out);
}

static void put_location(struct pprof *p, uint32_t id, uint32_t function, uint32_t number)
{
	proto_begin(&p->out, PROFILE_LOCATION);
	proto_uint(&p->out, LOCATION_ID, id);
	proto_begin(&p->out, LOCATION_LINE);
	proto_uint(&p->out, LINE_FUNCTION, function);
	proto_uint(&p->out, LINE_LINE, number);
	proto_end(&p->out);
	proto_end(&p->out);
}

/*
 * Sets *ret to the index of the text before + part + after. part has n bytes and is escaped first.
 */
static int number_of_part(struct pprof *p, const char *before, const char *part, size_t n,
			  const char *after, uint32_t *ret)
{
	size_t room = n * TEXTSAFE_GROWTH + 1;
	char *safe = malloc(room), *text = NULL;
	int r = -ENOMEM;

	if (safe)
		textsafe_escape(safe, room, part, n, NULL);
	if (safe && asprintf(&text, "%s%s%s", before, safe, after) >= 0)
		r = number_of(p, text, ret);
	free(text);
	free(safe);
	return r;
}

/* Adds a frame named before + name + after. */
static void add_frame(struct pprof *p, const char *before, const char *name, size_t n,
		      const char *after)
{
	struct stack_line line = { n, "", 0, 0 };
	uint32_t at = 0, file = 0, function = 0, id;
	int ret = array_reserve(&p->frames, &p->frame_cap, p->frame_cnt + 1);

	if (!n)
		line.name_bytes = strlen(name = "[no name]");
	else
		stack_line_find(&line, name, n);
	if (ret >= 0)
		ret = number_of_part(p, before, name, line.name_bytes, after, &at);
	if (ret >= 0)
		ret = number_of_part(p, "", line.path, line.path_bytes, "", &file);
	if (ret >= 0)
		ret = hash_map_intern(&p->functions, at, file, &function);
	if (ret > 0)
		put_function(p, function + 1, at, file);
	if (ret >= 0)
		ret = hash_map_intern(&p->locations, function, line.number, &id);
	if (ret > 0)
		put_location(p, id + 1, function + 1, line.number);
	if (ret < 0)
		p->error = ret;
	else
		p->frames[p->frame_cnt++] = id + 1;
}

static void add_value(struct pprof *p, const char *before, const struct value *v, const char *after)
{
	bool is_text = v->type == VALUE_TEXT;

	add_frame(p, before, is_text ? v->text : "", is_text ? v->text_bytes : 0, after);
}

static void add_chain(struct pprof *p, const struct value *v)
{
	const char *at = v->text, *end;

	if (v->type != VALUE_TEXT)
		return;
	for (end = at + v->text_bytes; at <= end;) {
		const char *to = memchr(at, ';', (size_t)(end - at));

		to = to ? to : end;
		add_frame(p, "", at, (size_t)(to - at), "");
		at = to + 1;
	}
}

static int write_out(struct pprof *p)
{
	if (p->out.buf.failed)
		p->error = -ENOMEM;
	if (!p->error && p->out.buf.len &&
	    gzwrite(p->file, p->out.buf.data, (unsigned int)p->out.buf.len) <= 0)
		p->error = errno ? -errno : -EIO;
	p->out.buf.len = 0;
	return p->error;
}

static int pprof_begin(void *state, const struct render_options *o, struct render_out *out,
		       unsigned int cnt, const char *const *names)
{
	struct pprof *p = state;
	int ret = stack_columns_find(&p->cols, cnt, names), fd;
	enum column_kind kind;
	uint32_t empty;

	ret = ret ?: strpool_new(&p->texts);
	if (ret)
		return ret;
	fd = dup(fileno(o->out));
	p->file = fd < 0 ? NULL : gzdopen(fd, "wb");
	if (!p->file) {
		ret = -errno;
		close(fd);
		return ret;
	}
	/* the format requires "" as the first text */
	number_of(p, "", &empty);
	put_type(p, PROFILE_SAMPLE_TYPE, names[p->cols.number], "count");
	kind = column_find(names[p->cols.amount])->kind;
	put_type(p, PROFILE_SAMPLE_TYPE, names[p->cols.amount],
		 kind == COLUMN_DURATION ? "nanoseconds" : "bytes");
	proto_uint(&p->out, PROFILE_TIME, o->time_ns);
	proto_uint(&p->out, PROFILE_DURATION, o->duration_ns);
	if (o->period_ns) {
		put_type(p, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
		proto_uint(&p->out, PROFILE_PERIOD, o->period_ns);
	}
	put_number_of(p, PROFILE_COMMENT, o->title);
	put_number_of(p, PROFILE_DEFAULT_TYPE,
		      names[o->folded_count ? p->cols.number : p->cols.amount]);
	return p->error;
}

/* A label of a sample. Its key and text need an index before the sample begins. */
struct label {
	uint32_t key, text;
	uint64_t number;
	bool is_there;
};

static void find_label(struct pprof *p, const char *key, int column, const struct value *values,
		       struct label *ret)
{
	const struct value *v = column < 0 ? NULL : &values[column];

	*ret = (struct label){ .is_there = v && v->type != VALUE_NULL };
	if (!ret->is_there)
		return;
	number_of(p, key, &ret->key);
	if (v->type == VALUE_TEXT)
		number_of_part(p, "", v->text, v->text_bytes, "", &ret->text);
	else
		ret->number = (uint64_t)v->i;
}

static void put_label(struct pprof *p, const struct label *l)
{
	if (!l->is_there)
		return;
	proto_begin(&p->out, SAMPLE_LABEL);
	proto_uint(&p->out, LABEL_KEY, l->key);
	proto_uint(&p->out, l->text ? LABEL_TEXT : LABEL_NUMBER, l->text ?: l->number);
	proto_end(&p->out);
}

static int pprof_row(void *state, struct render_out *out, const struct value *values)
{
	struct pprof *p = state;
	const struct stack_columns *c = &p->cols;
	struct label labels[3];
	size_t before;

	p->frame_cnt = 0;
	find_label(p, "comm", c->comm, values, &labels[0]);
	find_label(p, "pid", c->pid, values, &labels[1]);
	find_label(p, "tid", c->tid, values, &labels[2]);
	if (c->source >= 0)
		add_value(p, "[", &values[c->source], "]");
	if (c->comm >= 0)
		add_value(p, "", &values[c->comm], "");
	before = p->frame_cnt;
	for (int i = 0; i < 2; i++)
		if (c->stacks[i] >= 0)
			add_chain(p, &values[c->stacks[i]]);
	if (p->frame_cnt == before)
		add_frame(p, "", STACK_COLUMNS_NONE, strlen(STACK_COLUMNS_NONE), "");
	proto_begin(&p->out, PROFILE_SAMPLE);
	proto_begin(&p->out, SAMPLE_LOCATIONS);
	while (p->frame_cnt)
		buf_add_varint(&p->out.buf, p->frames[--p->frame_cnt]);
	proto_end(&p->out);
	proto_begin(&p->out, SAMPLE_VALUES);
	buf_add_varint(&p->out.buf, (uint64_t)values[c->number].i);
	buf_add_varint(&p->out.buf, (uint64_t)values[c->amount].i);
	proto_end(&p->out);
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		put_label(p, &labels[i]);
	proto_end(&p->out);
	return p->out.buf.len >= WRITE_BYTES ? write_out(p) : p->error;
}

static void pprof_end(void *state, struct render_out *out, uint64_t left_out)
{
	struct pprof *p = state;

	out->error = write_out(p);
	if (gzclose(p->file) != Z_OK && !out->error)
		out->error = errno ? -errno : -EIO;
	p->file = NULL;
}

static void pprof_clear(void *state)
{
	struct pprof *p = state;

	if (p->file)
		gzclose(p->file);
	strpool_free(p->texts);
	hash_map_done(&p->numbers);
	hash_map_done(&p->functions);
	hash_map_done(&p->locations);
	free(p->frames);
	buf_done(&p->out.buf);
}

const struct render_format_ops render_pprof_ops = {
	.state_bytes = sizeof(struct pprof),
	.begin = pprof_begin,
	.row = pprof_row,
	.end = pprof_end,
	.clear = pprof_clear,
};
