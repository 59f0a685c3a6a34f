/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* sql_shell: collects lines until they are a statement, and passes them to cmd_sql. */
#include "cmd/sql/sql_shell.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/context/analysis.h"
#include "base/buf.h"
#include "cmd/render/say.h"
#include "cmd/sql/sql_schema.h"

#define PROMPT	    "ebpfrec> "
#define PROMPT_MORE "    ...> "

const struct sql_shell_command sql_shell_commands[] = {
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

/* The words there are, one after the other; a column once for each table. */
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

/* The next word that begins with text, in memory that libedit frees. */
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
	rl_attempted_completion_over = 1; /* file names are of no use */
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

	setlocale(LC_CTYPE, ""); /* libedit asks it how wide characters are */
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

/* A dot command is a line of its own; a statement ends with a semicolon. */
static bool is_whole(const struct buf *b)
{
	const char *s = (const char *)b->data;

	return *s == '.' || analysis_sql_is_complete(s);
}

static volatile sig_atomic_t dropped; /* Ctrl-C discards the typed text */

static void drop(int sig)
{
	dropped = 1;
}

/* Blank lines before a statement are ignored. Appends a NUL after b's data. */
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

int sql_shell_run(void (*ask)(void *ctx, const char *text), void *ctx)
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
		putchar('\n'); /* after Ctrl-D */
	end();
	buf_done(&b);
	return 0;
}
