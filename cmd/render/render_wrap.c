/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * render_wrap: sentences beside and between tables, in lines that fit, or as Markdown has them: no
 * text of a trace can end its paragraph or act as markup (base/textsafe.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/textsafe.h"
#include "base/units.h"
#include "cmd/render/render.h"

/* Bytes of the next word; a command in backquotes is one, so that it can be pasted. */
static size_t word_len(const char *text)
{
	size_t len = 0;

	while (text[len] && text[len] != ' ' && text[len] != '\n') {
		if (text[len] == '`' && strchr(text + len + 1, '`'))
			len += strcspn(text + len + 1, "`") + 1;
		len++;
	}
	return len;
}

/* A list that is longer than a line continues after one of its commas. */
static size_t part_len(const char *text, size_t len, size_t room)
{
	size_t n = len > room && !memchr(text, '`', len) ? room : len;

	while (n < len && n && text[n - 1] != ',')
		n--;
	return n ?: len;
}

void render_html_text(FILE *f, const char *text)
{
	size_t n = strlen(text);
	char *safe = malloc(TEXTSAFE_HTML_MAX(n) + 1);

	if (safe)
		fwrite(safe, 1, textsafe_html(safe, text, n), f);
	free(safe);
}

void render_wrap_beside(FILE *f, const char *text, unsigned int width, unsigned int left)
{
	size_t used = left, len;

	for (;; text += len) {
		text += strspn(text, " \n");
		len = word_len(text);
		if (!len)
			break;
		if (width > left)
			len = part_len(text, len, width - left);
		if (used > left && width && used + 1 + len > width) {
			fprintf(f, "\n%*s", (int)left, "");
			used = left;
		} else if (used > left) {
			fputc(' ', f);
			used++;
		}
		fwrite(text, 1, len, f);
		used += len;
	}
	fputc('\n', f);
}

void render_wrap(FILE *f, const char *text, unsigned int width)
{
	render_wrap_beside(f, text, width, 0);
}

void render_paragraph(FILE *f, const char *text, unsigned int width, bool markdown)
{
	size_t n = strlen(text);
	char *safe = markdown ? malloc(TEXTSAFE_MARKDOWN_MAX(n) + 1) : NULL;

	if (!safe) {
		render_wrap(f, text, width);
		return;
	}
	safe[textsafe_markdown(safe, text, n)] = '\0';
	render_wrap(f, safe, 0);
	fputc('\n', f);
	free(safe);
}

void render_more(FILE *f, uint64_t cnt, const char *command, const struct render_options *o)
{
	char n[UNITS_TEXT_MAX], line[1024];
	bool is_command = command && *command;
	bool of_scope = o && is_command && o->scope && *o->scope;

	units_format_count(n, sizeof(n), cnt);
	snprintf(line, sizeof(line), "(%s more: %s%s%s%s)", n, is_command ? "ebpfrec " : "",
		 is_command ? command : "--limit 0", of_scope ? " " : "",
		 of_scope ? o->scope : "");
	render_paragraph(f, line, o ? o->width : 0, o && o->markdown);
}
