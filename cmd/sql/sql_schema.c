/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* sql_schema: prints the declared tables, views and functions of SQL. */
#include "cmd/sql/sql_schema.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/input.h"
#include "cmd/input/opts.h"
#include "cmd/render/say.h"

#define NAMES_MAX 512
#define WIDTH	  100	/* columns if stdout is not a terminal */

/* ---- showing ---- */

/* Selects functions, or all other items. */
enum { NAMES_TABLES = 1, NAMES_FUNCTIONS = 2 };

static unsigned int names_of(unsigned int which, const char **names)
{
	const struct sql_schema_item *it = sql_schema_items;
	unsigned int n = 0;

	for (; it < sql_schema_items + sql_schema_item_cnt && n < NAMES_MAX; it++)
		if (which & (strcmp(it->kind, "function") ? NAMES_TABLES : NAMES_FUNCTIONS))
			names[n++] = it->name;
	return n;
}

/* Prints "WHAT; did you mean 'NAME'?" and the list of names. Returns EXIT_FAILED. */
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

/* Prints a line of cells, and a text that is wrapped to the right of them. */
static void print_line(const char *const *cells, const unsigned int *widths, unsigned int cnt,
		       const char *text)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < cnt; i++) {
		printf("%-*s  ", (int)widths[i], cells[i]);
		left += widths[i] + 2;
	}
	render_wrap_beside(stdout, text, input_terminal_width() ?: WIDTH, left);
}

/* Returns the first sentence of text. */
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
	const struct sql_schema_item *items = sql_schema_items;
	unsigned int cnt = sql_schema_item_cnt, widths[] = { 0, 0 };

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
	unsigned int found = 0;

	for (unsigned int i = 0; i < sql_schema_item_cnt; i++) {
		if (strcasecmp(sql_schema_items[i].name, name) != 0)
			continue;
		if (r && !found)
			render_begin(r, 5, columns);
		else if (found)
			putchar('\n');
		show(&sql_schema_items[i], r);
		found++;
	}
	return found ? EXIT_SUCCESS :
		       say_unknown(say_format("there is no table, view or function '%s'", name),
				   name, "there are", names,
				   names_of(NAMES_TABLES | NAMES_FUNCTIONS, names));
}

/* ---- errors ---- */

/* Returns whether name occurs as a word in a statement. */
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
	const struct sql_schema_item *it = sql_schema_items;
	unsigned int n = 0;

	for (; it < sql_schema_items + sql_schema_item_cnt; it++) {
		if (!mentions(statement, it->name))
			continue;
		for (unsigned int c = 0; c < it->column_cnt && n < NAMES_MAX; c++)
			names[n++] = it->columns[c].name;
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
