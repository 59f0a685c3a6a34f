/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stack_text: kernel frames are named by their address, user frames by process, address and time.
 */
#include "analyze/engine/stack_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/engine/site_text.h"

static void frame_text(char *to, size_t size, const struct trace *t, const struct trace_frame *f,
		       uint64_t ts_ns)
{
	const struct trace_name *n;
	const struct trace_site *s;

	if (f->upid) {
		s = trace_site_find(t, f->upid, f->addr, ts_ns);
		if (s)
			site_text_frame(to, size, s);
		else
			snprintf(to, size, "0x%" PRIx64, f->addr);
		return;
	}
	n = trace_name_find(t, TRACE_NAME_SYMBOL, f->addr);
	if (n)
		snprintf(to, size, "%.*s", (int)strcspn(n->name, "+"), n->name);
	else
		snprintf(to, size, "0x%" PRIx64, f->addr);
}

/*
 * How many of the innermost frames are the tracepoint's and the recorder's own program. Of slab
 * objects they were cut off when the stack was recorded, since it is known who asked; of pages it
 * is not.
 */
static size_t own_frames(const struct trace *t, const struct trace_frame *f, size_t cnt)
{
	static const char *const own[] = { "__traceiter_", "bpf_trace_run" };
	const struct trace_name *n;
	size_t i, k, skip = 0;

	for (i = 0; i < cnt && i < 8 && !f[i].upid; i++) {
		n = trace_name_find(t, TRACE_NAME_SYMBOL, f[i].addr);
		for (k = 0; n && k < sizeof(own) / sizeof(own[0]); k++)
			if (!strncmp(n->name, own[k], strlen(own[k])))
				skip = i + 1;
	}
	return skip;
}

/* The kernel's frames come first, as the innermost ones. */
static size_t kernel_frames(const struct trace_frame *f, size_t cnt)
{
	size_t i = 0;

	while (i < cnt && !f[i].upid)
		i++;
	return i;
}

bool stack_text_add(struct buf *out, const struct trace *t, uint64_t stack, uint64_t ts_ns,
		    enum stack_part part)
{
	char text[SITE_TEXT_MAX], *p;
	size_t cnt, i, inner, outer;
	const struct trace_frame *f = trace_stack_find(t, stack, &cnt);

	inner = part == STACK_USER ? kernel_frames(f, cnt) : own_frames(t, f, cnt);
	outer = part == STACK_KERNEL ? kernel_frames(f, cnt) : cnt;
	if (part == STACK_KERNEL ? inner >= outer : part == STACK_USER && cnt && inner >= outer)
		return false;
	if (!cnt)
		buf_add(out, "[no stack]", 10);
	for (i = outer; i-- > inner;) {
		frame_text(text, sizeof(text), t, &f[i], ts_ns);
		for (p = text; *p; p++)
			if (*p == ';' || *p == '\n')
				*p = ':';
		buf_add(out, text, strlen(text));
		if (i > inner)
			buf_add(out, ";", 1);
	}
	buf_add(out, "", 1);
	return true;
}
