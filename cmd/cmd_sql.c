/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_sql: `ebpfrec sql` runs SQL statements on the trace's tables: one from the command line or
 * stdin, or several from its shell. It also describes the tables.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "base/buf.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/input/opts.h"
#include "cmd/render/say.h"
#include "cmd/sql_schema.h"

/* ---- the schema ---- */

#define NAMES_MAX 512
#define WIDTH	  100	/* columns if stdout is not a terminal */

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

/* Prints all items. r renders the rows; NULL: prints a table. Returns an exit status. */
static int sql_schema_list(struct render *r)
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

static void show_item(const struct sql_schema_item *it, struct render *r)
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

/*
 * Prints the columns of one item; r: as in sql_schema_list(). Lists the known names if the name is
 * unknown.
 */
static int sql_schema_show(const char *name, struct render *r)
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
		show_item(&sql_schema_items[i], r);
		found++;
	}
	return found ? EXIT_SUCCESS :
		       say_unknown(say_format("there is no table, view or function '%s'", name),
				   name, "there are", names,
				   names_of(NAMES_TABLES | NAMES_FUNCTIONS, names));
}

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

/*
 * Prints SQLite's message on a statement. For an unknown table, function or column, also prints the
 * nearest name and a list of the known names. Returns EXIT_FAILED.
 */
static int sql_schema_error(const char *statement, const char *message)
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

/* ---- the shell ---- */

/* The dot commands, with their help; .name NULL ends the list. */
struct sql_shell_command {
	const char *name, *arg, *help;
};
/* sql_shell: collects lines until a statement is complete, and passes it to cmd_sql. */

#define PROMPT	    "ebpfrec> "
#define PROMPT_MORE "    ...> "

static const struct sql_shell_command sql_shell_commands[] = {
	{ ".tables", "", "list the tables, views and functions" },
	{ ".schema", " [NAME]", "show the columns of a table, view or function" },
	{ ".examples", "", "show questions and their queries" },
	{ ".mode", " FORMAT", "answer as table, vertical, csv, json or jsonl" },
	{ ".help", "", "show this list" },
	{ ".quit", "", "leave; so does Ctrl-D" },
	{ 0 },
};

#ifdef EBPFREC_EDIT
#include <editline/readline.h>

#define HISTORY_LINES 1000

static const char *const keywords[] = {
	"SELECT", "FROM",  "WHERE", "GROUP",  "ORDER",	  "BY",	  "LIMIT", "JOIN", "LEFT", "DESC",
	"AND",	  "COUNT", "SUM",   "HAVING", "DISTINCT", "WITH", "AS",	   "ON",   "NULL",
};

#define KEYWORD_CNT (sizeof(keywords) / sizeof(keywords[0]))

static bool completes_commands;

/*
 * Returns the word number `at` among keywords, tables and columns; NULL: past the end. A column
 * occurs once per table.
 */
static const char *word_at(size_t at)
{
	const struct sql_schema_item *it = sql_schema_items;

	if (at < KEYWORD_CNT)
		return keywords[at];
	at -= KEYWORD_CNT;
	for (; it < sql_schema_items + sql_schema_item_cnt; it++) {
		if (!at--)
			return it->name;
		if (at < it->column_cnt)
			return it->columns[at].name;
		at -= it->column_cnt;
	}
	return NULL;
}

static bool is_repeated(size_t at, const char *word)
{
	while (at--) {
		if (!strcmp(word_at(at), word))
			return true;
	}
	return false;
}

/* Returns the next word that begins with text, malloc'ed: libedit frees it. */
static char *next_match(const char *text, int state)
{
	static size_t at;
	size_t n = strlen(text);
	const char *w;

	at = state ? at : 0;
	if (completes_commands) {
		while ((w = sql_shell_commands[at].name)) {
			at++;
			if (!strncasecmp(w + 1, text, n))
				return strdup(w + 1);
		}
		return NULL;
	}
	while ((w = word_at(at++))) {
		if (!strncasecmp(w, text, n) && !is_repeated(at - 1, w))
			return strdup(w);
	}
	return NULL;
}

static char **complete(const char *text, int start, int end)
{
	rl_attempted_completion_over = 1; /* do not complete file names */
	completes_commands = start == 1 && rl_line_buffer[0] == '.';
	return rl_completion_matches(text, next_match);
}

static const char *history_path(void)
{
	const char *home = getenv("HOME");

	return home && *home ? say_format("%s/.ebpfrec_history", home) : NULL;
}

static void begin(void)
{
	const char *path = history_path();

	setlocale(LC_CTYPE, ""); /* libedit needs the locale for the width of characters */
	rl_readline_name = "ebpfrec";
	rl_attempted_completion_function = complete;
	rl_basic_word_break_characters = " \t\n\"'`$><=;|&{(,.+-*/%";
	using_history();
	stifle_history(HISTORY_LINES);
	if (path)
		read_history(path);
}

static char *read_line(const char *prompt)
{
	return readline(prompt);
}

static void remember(const char *statement)
{
	add_history(statement);
}

static void end(void)
{
	const char *path = history_path();
	mode_t old = umask(077);

	if (path)
		write_history(path);
	umask(old);
}

#else

static void begin(void)
{
	say_note("built without libedit: lines are read as they are, without editing, history and "
		 "completion");
}

static char *read_line(const char *prompt)
{
	char *line = NULL;
	size_t size = 0;

	fputs(prompt, stdout);
	fflush(stdout);
	if (getline(&line, &size, stdin) < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static void remember(const char *statement)
{
}

static void end(void)
{
}

#endif /* EBPFREC_EDIT */

static bool is_quit(const char *s)
{
	return !strcmp(s, ".quit") || !strcmp(s, ".exit") || !strcmp(s, ".q");
}

/*
 * Returns whether the input is complete: a dot command ends with its line, a statement with a
 * semicolon.
 */
static bool is_whole(const struct buf *b)
{
	const char *s = (const char *)b->data;

	return *s == '.' || analysis_sql_is_complete(s);
}

static volatile sig_atomic_t dropped; /* set by Ctrl-C, which discards the typed text */

static void drop(int sig)
{
	dropped = 1;
}

/* Appends a line; ignores blank lines before a statement. Keeps a NUL after b's data. */
static void add_line(struct buf *b, const char *line)
{
	const char *s = line + (b->len ? 0 : strspn(line, " \t"));

	if (!*s && !b->len)
		return;
	if (b->len)
		buf_add(b, "\n", 1);
	buf_add(b, s, strlen(s) + 1);
	b->len -= !b->failed;
}

/*
 * Calls ask() for each statement and dot command, until .quit or the end of the input. Returns an
 * exit status.
 */
static int sql_shell_run(void (*ask)(void *ctx, const char *text), void *ctx)
{
	struct sigaction on_interrupt = { .sa_handler = drop }, before;
	struct buf b = { 0 };
	bool more = true;
	char *line;

	begin();
	sigaction(SIGINT, &on_interrupt, &before);
	while (more) {
		line = read_line(b.len ? PROMPT_MORE : PROMPT);
		if (!line && !dropped)
			break;
		if (line)
			add_line(&b, line);
		if (!line || b.failed) {
			buf_reset(&b);
			clearerr(stdin);
			puts("");
		}
		free(line);
		dropped = 0;
		if (!b.len || !is_whole(&b))
			continue;
		remember((const char *)b.data);
		more = !is_quit((const char *)b.data);
		if (more)
			ask(ctx, (const char *)b.data);
		fflush(stdout);
		buf_reset(&b);
	}
	sigaction(SIGINT, &before, NULL);
	if (more)
		putchar('\n'); /* Ctrl-D leaves the cursor after the prompt */
	end();
	buf_done(&b);
	return 0;
}

#define STATEMENT_MAX (1 << 20)
#define LARGE_SCAN_ROWS 20000000

struct sql {
	struct input in;
	const char *statement;
	char *from_stdin;
	bool schema, examples;
};

static int take_format(void *format, const char *value, struct err *e)
{
	return render_parse_format(value, RENDER_OF_ROWS | RENDER_OF_SQL, format) ?
		       opts_usage_error("unknown format '%s'; there are table, vertical, csv, "
					"json and jsonl", value) : 0;
}

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct sql, in),
	{ 0, "format", "FORMAT", "table (default), vertical (a line per value), csv, json or jsonl",
	  OPTS_CALL, offsetof(struct sql, in.format), take_format },
	INPUT_OPTION_LINES(struct sql, in),
	INPUT_OPTION_SYMBOLS(struct sql, in.symbols),
	INPUT_OPTION_RAW_FRAMES(struct sql, in.raw_frames),
	INPUT_OPTION_NO_INDEX(struct sql, in),
	{ 'l', "list", NULL, "list the tables of events and objects", OPTS_CALL,
	  .take = input_list_tables },
	{ 0, "schema", NULL,
	  "list all tables, views and functions, or the columns of TABLE, with units",
	  OPTS_FLAG, offsetof(struct sql, schema) },
	{ 0, "examples", NULL, "show questions and their queries", OPTS_FLAG,
	  offsetof(struct sql, examples) },
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

/* Reads all of stdin into a NUL-terminated statement. EXIT_FAILED: the error is printed. */
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

/*
 * Prints the declaration of a table, view or function, which does not depend on the trace. name
 * NULL: lists all.
 */
static int show_schema(struct sql *q, const char *name)
{
	struct render *r = NULL;
	int c;

	if (q->in.format != RENDER_TABLE) {
		r = input_render(&q->in, 0, false, NULL);
		if (!r)
			return EXIT_FAILED;
	}
	c = name ? sql_schema_show(name, r) : sql_schema_list(r);
	if (r && !c)
		return input_render_end(r, 0, NULL);
	render_free(r);
	return c;
}

/* Runs a dot command. */
static int run_command(struct sql *q, const char *line)
{
	char name[16] = "", arg[64] = "";
	const struct sql_shell_command *c = sql_shell_commands;

	sscanf(line, "%15s %63[^; ]", name, arg);
	name[strcspn(name, ";")] = '\0';
	if (!strcmp(name, ".tables"))
		return show_schema(q, NULL);
	if (!strcmp(name, ".schema"))
		return show_schema(q, *arg ? arg : NULL);
	if (!strcmp(name, ".mode") && *arg)
		return take_format(&q->in.format, arg, NULL);
	if (!strcmp(name, ".examples"))
		fputs(sql_schema_examples, stdout);
	else if (!strcmp(name, ".help"))
		for (; c->name; c++)
			printf("%s%-*s %s\n", c->name, 18 - (int)strlen(c->name), c->arg, c->help);
	else
		return say_error("there is no command '%s'; .help lists them", line);
	return 0;
}

/* Suggests faster queries before a large scan, once per statement. */
static void note_large_scan(void *ctx, const char *table, uint64_t rows)
{
	struct sql *q = ctx;

	analysis_watch_scans(q->in.analysis, &(struct analysis_scan_watch){});
	say_note("this reads %" PRIu64 " million rows of %s one by one: sums are quicker by "
		 "totals('%s', ...) or functions like cpu_usage() (see --examples), and other "
		 "questions in an engine for columns (export --to parquet)",
		 rows / 1000000, table, table);
}

static int run_statement(struct sql *q)
{
	const struct analysis_scan_watch watch = { LARGE_SCAN_ROWS, note_large_scan, q };
	struct render *r = input_render(&q->in, 0, false, NULL);
	struct err e = { "" };
	int c;

	if (!r)
		return EXIT_FAILED;
	analysis_watch_scans(q->in.analysis, &watch);
	c = analysis_sql(q->in.analysis, q->statement, render_sink(r), &e);
	if (c == -EINVAL && *e.text)
		c = sql_schema_error(q->statement, e.text);
	else
		c = input_status(c, &e);
	input_note_damage(&q->in);
	input_note_lines(&q->in);
	render_free(r);
	return c;
}

static struct analysis *interrupted; /* analysis that Ctrl-C interrupts */

static void interrupt(int sig)
{
	analysis_interrupt(interrupted);
}

/* Runs a statement or a dot command. An error ends only that statement, not the shell. */
static void ask(void *ctx, const char *text)
{
	struct sql *q = ctx;
	struct sigaction on_interrupt = { .sa_handler = interrupt }, before;

	q->statement = text;
	if (*text == '.') {
		run_command(q, text);
		return;
	}
	interrupted = q->in.analysis;
	sigaction(SIGINT, &on_interrupt, &before);
	run_statement(q);
	sigaction(SIGINT, &before, NULL);
}

static int run(void *job)
{
	struct sql *q = job;
	bool shell = !q->statement && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	int c;

	if (q->examples)
		fputs(sql_schema_examples, stdout);
	if (q->examples || q->schema)
		return q->examples ? EXIT_SUCCESS : show_schema(q, q->statement);
	if (!q->statement && !shell)
		return opts_usage_error("no statement; give one in quotes, or - to read it from "
					"stdin");
	if (!shell && *q->statement == '.')
		return run_command(q, q->statement);
	c = shell || strcmp(q->statement, "-") ? 0 : read_statement(q);
	c = c ?: input_open(&q->in, true) ?: input_analysis(&q->in);
	c = c ?: input_use_lines(&q->in);
	if (c || !shell)
		return c ? c : run_statement(q);
	say_note("%s; a statement ends with ';', .help shows what else there is",
		 input_path(&q->in));
	return sql_shell_run(ask, q);
}

static void done(void *job)
{
	struct sql *q = job;

	input_close(&q->in);
	free(q->from_stdin);
}

const struct opts_command sql_opts = {
	.name = "sql",
	.about = "Query a trace in SQL.",
	.synopsis = "[-i TRACE] [--format FORMAT] ['SELECT ...' | -]\n"
		    "       ebpfrec sql --schema [TABLE] | --examples",
	.text = "With -, the statement is read from stdin. Without a statement, on a terminal, a "
		"shell\n"
		"asks for them. Times are in ns from the trace's start.\n"
		"The dialect is SQLite's; statements that write are refused. A query reads only "
		"the\n"
		"time it asks for: say WHERE ts_ns >= ... AND ts_ns < ... on event tables.\n",
	.options = options,
	.examples = "  ebpfrec sql --schema\n"
		    "  ebpfrec sql --schema sched_slices\n"
		    "  ebpfrec sql 'SELECT pid, comm, cmdline FROM processes ORDER BY start_ns'\n"
		    "  ebpfrec sql --format csv - < question.sql > answer.csv\n",
	.bytes = sizeof(struct sql),
	.initial = &(const struct sql){ .in.quick = true },
	.done = done,
	.operand = take_statement,
	.run = run,
};
