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

struct sql {
	struct input in;
	const char *statement;
	char *from_stdin;
};

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct sql, in),
	INPUT_OPTION_FORMAT(struct sql, in),
	INPUT_OPTION_NO_INDEX(struct sql, in),
	{ 'l', "list", NULL, "list the tables", OPTS_CALL, .take = input_list_tables },
	{ 0 },
};

static int take_statement(void *job, const char *value)
{
	struct sql *q = job;

	if (q->statement)
		return opts_usage_error("more than one statement; put the whole statement in "
					"quotes");
	q->statement = value;
	return 0;
}

/* All of stdin, NUL-terminated. EXIT_FAILED: the error is printed. */
static int read_statement(struct sql *q)
{
	char *text = q->from_stdin = malloc(STATEMENT_MAX + 1);
	size_t n;

	if (!text)
		return say_error("out of memory");
	n = fread(text, 1, STATEMENT_MAX + 1, stdin);
	if (ferror(stdin))
		return say_error("stdin: %s", strerror(errno));
	if (n > STATEMENT_MAX)
		return say_error("stdin: longer than 1 MiB, which is no statement");
	if (memchr(text, '\0', n))
		return say_error("stdin: has a NUL byte, which is no statement");
	text[n] = '\0';
	q->statement = text;
	return 0;
}

static int run(void *job)
{
	struct sql *q = job;
	struct err e = { "" };
	struct render *r;
	int c;

	if (!q->statement)
		return opts_usage_error("no statement; give one in quotes, or - to read it from "
					"stdin");
	c = strcmp(q->statement, "-") ? 0 : read_statement(q);
	if (!c)
		c = input_open(&q->in, true);
	if (c)
		return c;
	r = input_render(&q->in, 0, false, NULL);
	if (!r)
		return EXIT_FAILED;
	c = input_analysis(&q->in);
	if (!c)
		c = analysis_sql(q->in.analysis, q->statement, render_sink(r), &e);
	c = input_status(c, &e);
	input_note_damage(&q->in);
	render_free(r);
	return c;
}

static void done(void *job)
{
	struct sql *q = job;

	input_close(&q->in);
	free(q->from_stdin);
}

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
	.bytes = sizeof(struct sql),
	.initial = &(const struct sql){ .in.quick = true },
	.done = done,
	.operand = take_statement,
	.run = run,
};
