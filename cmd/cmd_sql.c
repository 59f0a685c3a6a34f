/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_sql: `ebpfrec sql`: one SQL statement over the trace's tables, from the command line or
 * stdin.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"

#define STATEMENT_MAX (1 << 20)

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	INPUT_OPTION_FORMAT,
	INPUT_OPTION_NO_INDEX,
	{ 'l', 'l', "list", NULL, "list the tables" },
	{ 0 },
};

const struct opts_command sql_opts = {
	.name = "sql",
	.about = "Ask a trace in SQL.",
	.synopsis = "[-i TRACE] [--format FORMAT] 'SELECT ...' | -",
	.text = "With -, the statement is read from stdin. Times are in ns from the trace's "
		"start.\n"
		"The dialect is SQLite's; statements that write are refused. A query reads only "
		"the\n"
		"time it asks for: say WHERE ts_ns >= ... AND ts_ns < ... on event tables.\n",
	.options = options,
	.examples = "  ebpfrec sql --list\n"
		    "  ebpfrec sql 'SELECT pid, comm, cmdline FROM processes ORDER BY start_ns'\n"
		    "  ebpfrec sql --format csv - < question.sql > answer.csv\n",
};

static int list_tables(void)
{
	const struct schema_table *tables;
	unsigned int cnt = schema_tables(&tables);

	for (unsigned int i = 0; i < cnt; i++)
		printf("%-16s %s\n", tables[i].name, tables[i].doc);
	return 0;
}

/* All of stdin, NUL-terminated; the caller frees it. NULL: the error is printed. */
static char *read_statement(void)
{
	char *text = malloc(STATEMENT_MAX + 1);
	size_t n;

	if (!text) {
		say_error("out of memory");
		return NULL;
	}
	n = fread(text, 1, STATEMENT_MAX + 1, stdin);
	if (ferror(stdin) || n > STATEMENT_MAX || memchr(text, '\0', n)) {
		say_error("stdin: %s", ferror(stdin) ? strerror(errno)
				       : n > STATEMENT_MAX
					       ? "longer than 1 MiB, which is no statement"
					       : "has a NUL byte, which is no statement");
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

static int run(struct input *in, const char *statement)
{
	struct analysis *a = NULL;
	struct trace *t = NULL;
	struct err e = { "" };
	struct render *r;
	int c;

	c = input_open(in, true, &t);
	if (c)
		return c;
	r = input_render(in, 0, false);
	if (!r) {
		trace_close(t);
		return EXIT_FAILED;
	}
	c = input_analysis(in, t, &a);
	if (!c)
		c = analysis_sql(a, statement, render_sink(r), &e);
	if (c < 0)
		c = input_failed(c, &e);
	input_note_damage(in, t);
	render_free(r);
	analysis_close(a);
	trace_close(t);
	return c;
}

int cmd_sql(int argc, char **argv)
{
	struct input in = { .format = RENDER_TABLE, .quick = true };
	const char *value, *statement = NULL;
	char *from_stdin = NULL;
	struct opts o;
	int id, c;

	opts_init(&o, &sql_opts, argc, argv);
	while ((id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		if (id == 'l')
			return list_tables();
		if (id == OPTS_OPERAND && statement)
			return opts_usage_error(
				&sql_opts,
				"more than one statement; put the whole statement in quotes");
		if (id == OPTS_OPERAND) {
			statement = value;
			continue;
		}
		c = input_take(&in, &sql_opts, id, value);
		if (c)
			return c;
	}
	if (!statement)
		return opts_usage_error(
			&sql_opts, "no statement; give one in quotes, or - to read it from stdin");
	if (!strcmp(statement, "-")) {
		from_stdin = read_statement();
		if (!from_stdin)
			return EXIT_FAILED;
		statement = from_stdin;
	}
	c = run(&in, statement);
	free(from_stdin);
	return c;
}
