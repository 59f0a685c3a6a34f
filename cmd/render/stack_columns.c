/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* stack_columns: finds columns by their names, lines of stacks, and the parts of a frame's text. */
#include "cmd/render/stack_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/column.h"
#include "base/textsafe.h"

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

bool stack_line_find(struct stack_line *ret, const char *frame, size_t bytes)
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

/* Appends a frame, and of the path of its line only the name. Returns the end. */
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
