/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sql_schema: reads the documents, which are part of the program. A table, view or table-valued
 * function is a heading "### name(arguments)", a text and a Markdown table of columns; a function
 * is a row of the table of functions.
 */
#include "cmd/sql_schema.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/input/nearest.h"
#include "cmd/render/say.h"

#define NAMES_MAX 512
#define WIDTH	  100	/* of what is not a terminal */

static struct {
	char *text;
	struct sql_schema_item *items;
	size_t cnt, cap;
} schema;

/* ---- reading ---- */

/* Takes the Markdown out of a text, in place. */
static char *plain(char *s)
{
	char *o = s;

	for (const char *p = s; *p; p++) {
		if (*p != '`' && (*p != '\\' || p[1] != '|'))
			*o++ = *p;
	}
	*o = '\0';
	return s;
}

/* Splits a row "| a | b |" in place. Returns the number of cells. */
static unsigned int split_row(char *line, char **cells, unsigned int max)
{
	unsigned int cnt = 0;
	char *p = line + 2, *end;

	while (cnt < max && (end = strstr(p, " |"))) {
		*end = '\0';
		cells[cnt++] = plain(p);
		p = end + 2 + (end[2] == ' ');
	}
	return cnt;
}

static struct sql_schema_item *add_item(const char *kind, char *call)
{
	struct sql_schema_item *it;
	size_t n = strcspn(call, "(");
	char *name;

	if (array_reserve(&schema.items, &schema.cap, schema.cnt + 1) < 0)
		return NULL;
	name = strndup(call, n);
	if (!name)
		return NULL;
	it = &schema.items[schema.cnt++];
	*it = (struct sql_schema_item){ .kind = kind, .call = call, .name = name, .text = "" };
	return it;
}

static int add_column(struct sql_schema_item *it, char *const *cells)
{
	struct sql_schema_column *c = realloc(it->columns, (it->column_cnt + 1) * sizeof(*c));

	if (!c)
		return -ENOMEM;
	it->columns = c;
	c[it->column_cnt++] = (struct sql_schema_column){ cells[0], cells[1], cells[2] };
	return 0;
}

/* What follows a heading, up to the next one. */
static int read_item(const char *kind, char *section)
{
	char *line = strchr(section, '\n'), *rows = strstr(section, "\n\n| column |"), *cells[3];
	struct sql_schema_item *it;

	if (!line || !rows)
		return 0;
	*line = *rows = '\0';
	it = add_item(kind, plain(section));
	if (!it)
		return -ENOMEM;
	if (rows > line)
		it->text = plain(line + 1 + strspn(line + 1, "\n"));
	strtok(rows + 2, "\n");
	while ((line = strtok(NULL, "\n")) && *line == '|') {
		if (!strncmp(line, "| `", 3) && split_row(line, cells, 3) == 3 &&
		    add_column(it, cells) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_functions(char *part)
{
	char *cells[2];

	for (char *line = strtok(part, "\n"); line; line = strtok(NULL, "\n")) {
		struct sql_schema_item *it;

		if (strncmp(line, "| `", 3) != 0 || split_row(line, cells, 2) != 2)
			continue;
		it = add_item("function", cells[0]);
		if (!it)
			return -ENOMEM;
		it->text = cells[1];
	}
	return 0;
}

static int read_part(char *part)
{
	const char *kind = !strncmp(part, "Tables\n", 7) ? "table" :
			   !strncmp(part, "Views\n", 6)  ? "view" :
							     "table-valued function";
	char *p = strstr(part, "\n### ");
	int r = 0;

	if (!strncmp(part, "Functions\n", 10))
		return read_functions(part);
	while (!r && p) {
		char *section = p + 5;

		p = strstr(section, "\n### ");
		if (p)
			*p = '\0';
		r = read_item(kind, section);
	}
	return r;
}

const struct sql_schema_item *sql_schema_items(unsigned int *ret_cnt)
{
	char *p;
	int r = 0;

	if (!schema.text) {
		schema.text = strdup(analysis_document("TABLES.md"));
		p = schema.text ? strstr(schema.text, "\n## ") : NULL;
		while (!r && p) {
			char *part = p + 4;

			p = strstr(part, "\n## ");
			if (p)
				*p = '\0';
			r = read_part(part);
		}
	}
	*ret_cnt = (unsigned int)schema.cnt;
	return schema.text && !r ? schema.items : NULL;
}

/* ---- showing ---- */

/* Functions, and what else there is. */
enum { NAMES_TABLES = 1, NAMES_FUNCTIONS = 2 };

static unsigned int names_of(unsigned int which, const char **names)
{
	unsigned int cnt, n = 0;
	const struct sql_schema_item *items = sql_schema_items(&cnt);

	for (unsigned int i = 0; items && i < cnt && n < NAMES_MAX; i++) {
		if (which & (strcmp(items[i].kind, "function") ? NAMES_TABLES : NAMES_FUNCTIONS))
			names[n++] = items[i].name;
	}
	return n;
}

/* "WHAT; did you mean 'NAME'?" and the list. */
static int say_unknown(const char *what, const char *word, const char *list_of,
		       const char *const *names, unsigned int cnt)
{
	int near = nearest_find(word, names, cnt);
	unsigned int width = input_terminal_width(), used = 0;

	say_error(near < 0 ? "%s" : "%s; did you mean '%s'?", what, near < 0 ? "" : names[near]);
	used = (unsigned int)fprintf(stderr, "%s:", list_of);
	for (unsigned int i = 0; i < cnt; i++) {
		unsigned int n = (unsigned int)strlen(names[i]) + 1;

		if (i && !strcmp(names[i], names[i - 1]))
			continue;
		if (used + n > (width ? width : WIDTH)) {
			fputs("\n ", stderr);
			used = 1;
		}
		used += (unsigned int)fprintf(stderr, " %s", names[i]);
	}
	fputc('\n', stderr);
	return EXIT_FAILED;
}

/* A line of cells and a text that is wrapped beside them. */
static void print_line(const char *const *cells, const unsigned int *widths, unsigned int cnt,
		       const char *text)
{
	unsigned int width = input_terminal_width(), used = 0, left = 0;

	for (unsigned int i = 0; i < cnt; i++) {
		printf("%-*s  ", (int)widths[i], cells[i]);
		left += widths[i] + 2;
	}
	for (used = left; *text; text += strcspn(text, " \n"), text += strspn(text, " \n")) {
		unsigned int n = (unsigned int)strcspn(text, " \n");

		if (used > left && used + n + 1 > (width ? width : WIDTH)) {
			printf("\n%*s", (int)left, "");
			used = left;
		}
		used += (unsigned int)printf("%s%.*s", used > left ? " " : "", (int)n, text);
	}
	putchar('\n');
}

/* The first sentence. */
static const char *first_sentence(const char *text)
{
	const char *end = text;

	while ((end = strchr(end, '.')) && end[1] && !isspace((unsigned char)end[1]))
		end++;
	return say_format("%.*s", end ? (int)(end - text) : (int)strlen(text), text);
}

int sql_schema_list(struct render *r)
{
	static const char *const names[] = { "name", "kind", "meaning" };
	unsigned int cnt, widths[] = { 0, 0 };
	const struct sql_schema_item *items = sql_schema_items(&cnt);

	if (!items)
		return say_error("out of memory");
	if (r)
		render_begin(r, 3, names);
	for (unsigned int i = 0; i < cnt; i++) {
		unsigned int n = (unsigned int)strlen(items[i].name);

		widths[0] = n > widths[0] ? n : widths[0];
	}
	for (unsigned int i = 0; i < cnt; i++) {
		const struct sql_schema_item *it = &items[i];
		const char *text = first_sentence(it->text);
		const struct value row[] = { value_text(it->name), value_text(it->kind),
					     value_text(text) };

		if (r)
			render_put(r, row);
		else if (!i || strcmp(it->kind, items[i - 1].kind) != 0)
			printf("%s%ss\n", i ? "\n" : "", it->kind);
		if (!r)
			print_line(&it->name, widths, 1, text);
	}
	return EXIT_SUCCESS;
}

static void show(const struct sql_schema_item *it, struct render *r)
{
	static const char *const none = "";
	unsigned int widths[] = { 0, 7, 9 };

	if (!r) {
		printf("%s\n", it->call);
		print_line(&none, widths, 0, it->text);
	}
	for (unsigned int i = 0; i < it->column_cnt; i++) {
		unsigned int n = (unsigned int)strlen(it->columns[i].name);

		widths[0] = n > widths[0] ? n : widths[0];
	}
	for (unsigned int i = 0; i < it->column_cnt; i++) {
		const struct sql_schema_column *c = &it->columns[i];
		const char *const cells[] = { c->name, c->type, column_find(c->name)->unit };
		const struct value row[] = { value_text(it->name), value_text(c->name),
					     value_text(c->type),
					     *cells[2] ? value_text(cells[2]) : value_null(),
					     value_text(c->meaning) };

		if (r)
			render_put(r, row);
		else
			print_line(cells, widths, 3, c->meaning);
	}
	if (r && !it->column_cnt)
		render_put(r, (struct value[]){ value_text(it->name), value_text(it->call),
						value_null(), value_null(), value_text(it->text) });
}

int sql_schema_show(const char *name, struct render *r)
{
	static const char *const columns[] = { "table", "column", "type", "unit", "meaning" };
	const char *names[NAMES_MAX];
	unsigned int cnt, found = 0;
	const struct sql_schema_item *items = sql_schema_items(&cnt);

	if (!items)
		return say_error("out of memory");
	for (unsigned int i = 0; i < cnt; i++) {
		if (strcasecmp(items[i].name, name) != 0)
			continue;
		if (r && !found)
			render_begin(r, 5, columns);
		else if (found)
			putchar('\n');
		show(&items[i], r);
		found++;
	}
	return found ? EXIT_SUCCESS :
		       say_unknown(say_format("there is no table, view or function '%s'", name),
				   name, "there are", names,
				   names_of(NAMES_TABLES | NAMES_FUNCTIONS, names));
}

void sql_schema_examples(void)
{
	const char *end, *before = NULL;	/* before: a line of the query; NULL: no query */

	/* from the first heading on, without what marks headings */
	for (const char *p = strstr(analysis_document("QUERIES.md"), "\n## ") + 1; *p;
	     p = end + (*end == '\n')) {
		int n;

		p += *p == '#' ? strspn(p, "# ") : 0;
		n = (int)strcspn(p, "\n");
		end = p + n;
		if (!strncmp(p, "```", 3)) {
			printf("%s", before ? ";\n" : "");
			before = before ? NULL : "";
		} else if (before) {
			printf("%s%.*s", before, n, p);
			before = "\n";
		} else {
			printf("%s%.*s\n", n ? "-- " : "", n, p);
		}
	}
}

/* ---- errors ---- */

/* Whether a statement has name as a word. */
static bool mentions(const char *statement, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = statement; (p = strcasestr(p, name)); p++) {
		if ((p == statement || (!isalnum((unsigned char)p[-1]) && p[-1] != '_')) &&
		    !isalnum((unsigned char)p[n]) && p[n] != '_')
			return true;
	}
	return false;
}

static int say_no_column(const char *statement, const char *message, const char *word)
{
	const char *dot = strrchr(word, '.'), *names[NAMES_MAX];
	unsigned int cnt, n = 0;
	const struct sql_schema_item *items = sql_schema_items(&cnt);

	for (unsigned int i = 0; items && i < cnt; i++) {
		if (!mentions(statement, items[i].name))
			continue;
		for (unsigned int c = 0; c < items[i].column_cnt && n < NAMES_MAX; c++)
			names[n++] = items[i].columns[c].name;
	}
	return n ? say_unknown(message, dot ? dot + 1 : word, "the columns are", names, n) :
		   say_error("%s", message);
}

int sql_schema_error(const char *statement, const char *message)
{
	const char *names[NAMES_MAX], *word = strstr(message, ": ");

	if (word && !strncmp(message, "no such column", 14))
		return say_no_column(statement, message, word + 2);
	if (word && !strncmp(message, "no such table", 13))
		return say_unknown(message, word + 2, "there are", names,
				   names_of(NAMES_TABLES, names));
	if (word && !strncmp(message, "no such function", 16))
		return say_unknown(message, word + 2, "besides SQLite's own there are", names,
				   names_of(NAMES_FUNCTIONS, names));
	return say_error("%s", message);
}
