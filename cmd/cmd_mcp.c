/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_mcp: `ebpfrec mcp` answers questions of a program, such as an assistant, about the traces of
 * a directory. It reads and writes JSON-RPC 2.0 messages, one per line, on stdin and stdout, as the
 * Model Context Protocol requires.
 *
 * Each tool is a command of this program with some of its options; an argument's value cannot add
 * another option. The answer is the command's output, cut to a maximum size, with a note on the
 * omitted part and on whether the data is complete.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef EBPFREC_JSON
#include <jansson.h>
#endif

#include "base/words.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/mcp/answer.h"
#include "cmd/render/say.h"

struct mcp {
	const char *dir;
	/* input: [from, end) is read but not yet handled; room: size of the buffer */
	char *in;
	size_t from, end, room;
	bool is_over;
	/* the request being answered */
	const void *id, *progress; /* json_t; progress: its progress token, or NULL */
};

#ifndef EBPFREC_JSON

static int run(void *job)
{
	return say_error("mcp: this program was built without jansson (Debian: libjansson-dev)");
}

#else

/* trace_list: opens one trace at a time, and reports on stderr the traces that cannot be opened. */

static void list_trace(const char *dir, const char *name)
{
	char *path, missing[400];
	struct input in = { .quick = true };
	uint64_t from_ns, to_ns;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return;
	in.path = path;
	if (!input_open(&in, false)) {
		from_ns = trace_start_ns(in.trace);
		to_ns = trace_end_ns(in.trace);
		input_verify(&in, true, from_ns, to_ns);
		printf("%s: %s from %s, %s%s; command: %s; in a browser: ebpfrec view -i %s\n",
		       say_text(name), say_duration(to_ns - from_ns),
		       say_wall(trace_real_ns(in.trace, from_ns), false),
		       input_is_complete(in.trace, LOSS_NEEDS_ALL, from_ns, to_ns, missing,
					 sizeof(missing)) ? "complete" : "INCOMPLETE: ", missing,
		       say_text(trace_get(in.trace, "command") ?: "none"), say_text(path));
	}
	input_close(&in);
	free(path);
}

static int is_trace(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return *d->d_name != '.' && (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN ||
				     d->d_type == DT_LNK || (dot && !strcmp(dot, ".zip")));
}

static int trace_list_print(const char *dir)
{
	struct dirent **found;
	int cnt = scandir(dir, &found, is_trace, alphasort);
	char path[4200];

	if (cnt < 0)
		return say_error("%s: %s", dir, strerror(errno));
	for (int i = 0; i < cnt; i++) {
		snprintf(path, sizeof(path), "%s/%s/manifest", dir, found[i]->d_name);
		if (strstr(found[i]->d_name, ".zip") || !access(path, F_OK))
			list_trace(dir, found[i]->d_name);
		free(found[i]);
	}
	free(found);
	return 0;
}

#define BYTES_DEFAULT 8192 /* default maximum size of a message */
#define BYTES_MAX (1 << 20)
#define ARGC_MAX 80
#define ROWS_DEFAULT "20"
#define SQL_SECONDS 10
#define PROTOCOL "2025-06-18"

enum json_rpc { NOT_JSON = -32700, NOT_A_REQUEST = -32600, NO_METHOD = -32601, NOT_VALID = -32602 };

/* An argument that becomes the option of the same name. A flag's value is true or false. */
struct argument {
	const char *name, *meaning;
	bool is_flag;
};

static const struct argument arguments[] = {
	{ "from", "window begins: 1.5s after the start, -2s before the end, or mark:NAME" },
	{ "until", "window ends before this instant" },
	{ "during", "window is the life of this process or thread (a name, PID or TID), or of a "
		    "request: request:ID" },
	{ "by", "rows by: process, thread, thread_name, comm, cgroup, cpu, device, op, file ..." },
	{ "pid", "only these PIDs: 12,34" },
	{ "tid", "only these TIDs: 12,34" },
	{ "comm", "only processes of this name; may be a pattern: cc*" },
	{ "thread", "only threads of this name; may be a pattern: req-*" },
	{ "requests", "compares the slow requests of this name with the others; or a pattern" },
	{ "request", "explains the request of a program with this id" },
	{ "slow", "which of these requests are slow: p99, or of at least 50ms" },
	{ "workload", "only what was recorded as the workload, and its descendants", true },
	{ "every", "a row per bin of this length: 100ms" },
	{ "sort", "largest first by this column; -COLUMN: smallest first" },
	{ "limit", "rows at most (default: 20)" },
};

static const struct tool {
	const char *name, *about;
	/* the command line after "ebpfrec"; words such as "VIEW" are replaced by arguments */
	const char *argv[8];
	const char *takes; /* accepted names of arguments[], comma-separated */
	const char *needs; /* other arguments; mandatory unless in brackets */
	bool of_trace;
	const char *more; /* how to request the omitted part */
} tools[] = {
	{ "list",
	  "The traces there are: name, start, length, command, and whether each is complete.",
	  { NULL }, "", "", false, "" },
	{ "summary", "What happened in a window and who used the most, with the next question.",
	  { "report", "summary" }, "from,until,during,pid,comm,workload", "", true,
	  "ask the view of a section, such as cpu, waits or io" },
	{ "why",
	  "What a process or thread waited for, who held it up and what those did meanwhile, in "
	  "sentences and tables; with `requests`, what the slow requests of a program did that "
	  "the others did not; with `request`, what one of them did.",
	  { "report", "why" },
	  "from,until,during,pid,tid,comm,thread,workload,requests,slow,request", "",
	  true,
	  "ask a shorter window, or the views waits, locks, path" },
	{ "views",
	  "The views there are, the questions they answer, and their keys for `by`; with `view`, "
	  "what the figures of one mean.",
	  { "report", "--list", "--format=csv", "[VIEW]" }, "", "[view]", false, "" },
	{ "view", "Rows of one view as CSV; units are in the columns' names.",
	  { "report", "VIEW", "--format=csv", "--limit=" ROWS_DEFAULT },
	  "from,until,during,by,pid,tid,comm,thread,workload,every,sort,limit", "view", true,
	  "give a larger limit, a shorter window, another `by`, or --sort" },
	{ "schema",
	  "The tables, views and functions of SQL; with `table`, the columns of one.",
	  { "sql", "--schema" }, "", "[table]", false, "ask one table" },
	{ "sql",
	  "Rows of one SQL statement (SQLite's dialect, read only) as CSV. Times are ns from the "
	  "trace's start. Ends after 10 s, 256 MiB of memory or 1 GiB of temporary file, unless "
	  "more is asked for.",
	  { "sql", "--format=csv" }, "", "statement,[max_seconds],[max_memory_mib],[max_temp_mib]",
	  true, "add LIMIT and OFFSET, or group rows" },
	{ "diff", "What changed from traces a to traces b, beyond noise. Several of each tell "
	  "more.",
	  { "diff", "--workload" }, "from,until", "a,b", false, "" },
	{ "view_link",
	  "The address of a page of charts about a window, for a person with a browser on this "
	  "machine.",
	  { "view" }, "from,until,during", "", true, "" },
};

#define TOOL_CNT (sizeof(tools) / sizeof(tools[0]))

/* ---- a command line ---- */

struct question {
	const struct mcp *m;
	const struct tool *tool;
	const json_t *args;
	char *argv[ARGC_MAX + 1];
	char *owned[ARGC_MAX];
	unsigned int argc, owned_cnt;
	const char *path; /* path of its trace */
	char error[400];
};

static bool add(struct question *q, char *arg)
{
	if (!arg || q->argc == ARGC_MAX || q->owned_cnt == ARGC_MAX) {
		free(arg);
		snprintf(q->error, sizeof(q->error), "too many arguments");
		return false;
	}
	q->owned[q->owned_cnt++] = arg;
	q->argv[q->argc++] = arg;
	return true;
}

/*
 * Returns the path of a trace in the directory. A name that could lead outside is an error.
 * malloc'ed, or NULL.
 */
static char *path_of(struct question *q, const char *name)
{
	char *path;

	if (!name || !*name || *name == '.' || strchr(name, '/')) {
		snprintf(q->error, sizeof(q->error),
			 "'%.60s' is no name of a trace; the tool list has them", name ? name : "");
		return NULL;
	}
	return asprintf(&path, "%s/%s", q->m->dir, name) < 0 ? NULL : path;
}

static bool add_trace(struct question *q, const char *name)
{
	char *path = path_of(q, name);

	q->path = path;
	return path && add(q, path);
}

/* Returns an argument as text; a number is converted, in buf. */
static const char *text_of(const json_t *args, const char *name, char buf[32])
{
	const json_t *v = json_object_get(args, name);

	if (json_is_string(v))
		return json_string_value(v);
	if (!json_is_integer(v))
		return NULL;
	snprintf(buf, 32, "%lld", (long long)json_integer_value(v));
	return buf;
}

static bool add_options(struct question *q)
{
	char buf[32], *option;

	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		const struct argument *a = &arguments[i];
		const char *text = text_of(q->args, a->name, buf);

		if (a->is_flag)
			text = json_is_true(json_object_get(q->args, a->name)) ? "" : NULL;
		if (!text || !words_have(q->tool->takes, a->name))
			continue;
		if (asprintf(&option, "--%s%s%s", a->name, a->is_flag ? "" : "=", text) < 0)
			option = NULL;
		if (!add(q, option))
			return false;
	}
	return true;
}

/* Adds the traces of one side of diff; the argument is a name or an array of names. */
static bool add_side(struct question *q, const char *side)
{
	const json_t *v = json_object_get(q->args, side), *name;
	size_t i;

	if (json_is_string(v))
		return add_trace(q, json_string_value(v));
	if (!json_array_size(v))
		snprintf(q->error, sizeof(q->error), "%s: which traces? [\"NAME\", ...]", side);
	json_array_foreach(v, i, name)
		if (!add_trace(q, json_string_value(name)))
			return false;
	return json_array_size(v) > 0;
}

static bool add_operands(struct question *q)
{
	char buf[32];
	const char *text;
	size_t cnt = json_array_size(json_object_get(q->args, "a")) +
		     json_array_size(json_object_get(q->args, "b"));

	if (!strcmp(q->tool->name, "diff"))
		return add_side(q, "a") && (cnt <= 2 || add(q, strdup("--with"))) &&
		       add_side(q, "b");
	text = text_of(q->args, !strcmp(q->tool->name, "schema") ? "table" : "statement", buf);
	if (!strcmp(q->tool->name, "sql") && !text)
		snprintf(q->error, sizeof(q->error), "which statement?");
	return !*q->error && (!text || (add(q, strdup("--")) && add(q, strdup(text))));
}

/* Returns the arguments of a tool, separated by commas; arguments in brackets are optional. */
static const char *known_arguments(const struct tool *t)
{
	return say_format("%s%s%s%s%smax_bytes", t->of_trace ? "trace," : "", t->needs,
			  *t->needs ? "," : "", t->takes, *t->takes ? "," : "");
}

static bool is_known(const char *list, const char *name)
{
	char brackets[40];

	snprintf(brackets, sizeof(brackets), "[%.36s]", name);
	return words_have(list, name) || words_have(list, brackets);
}

static bool check_arguments(struct question *q)
{
	const char *known = known_arguments(q->tool), *name;
	json_t *v;

	json_object_foreach((json_t *)q->args, name, v) {
		if (is_known(known, name))
			continue;
		snprintf(q->error, sizeof(q->error), "unknown argument '%.40s'; there are %s",
			 say_text(name), known);
		return false;
	}
	return true;
}

/* Builds the command line. Returns false with the reason in q->error. */
static bool make_command(struct question *q)
{
	char buf[32];
	const char *view = text_of(q->args, "view", buf);

	if (!check_arguments(q))
		return false;

	for (const char *const *arg = q->tool->argv; *arg; arg++) {
		bool is_view = !strcmp(*arg, "VIEW") || !strcmp(*arg, "[VIEW]");

		if (**arg == '[' && !view)
			continue;
		if (is_view && (!view || *view == '-' || strpbrk(view, "./"))) {
			snprintf(q->error, sizeof(q->error),
				 "which view? The tool views lists them");
			return false;
		}
		if (!add(q, strdup(is_view ? view : *arg)))
			return false;
	}
	if (q->tool->of_trace && (!add(q, strdup("-i")) ||
				  !add_trace(q, text_of(q->args, "trace", buf))))
		return false;
	return add_options(q) && add_operands(q);
}

/* ---- in the answering process ---- */

/*
 * Prints whether the trace is complete. Reads the whole trace, since damage is found only by
 * reading. is_sql: also makes the index, which later answers reuse.
 */
static void say_complete(const char *path, bool is_sql)
{
	struct input in = { .path = path, .quick = true };
	char missing[400];
	int c = input_open(&in, false);

	c = c ? c : is_sql ? input_analysis(&in) : input_open_analysis(&in);
	if (!c)
		input_verify(&in, true, trace_start_ns(in.trace), trace_end_ns(in.trace));
	if (!c)
		fprintf(stderr, "ebpfrec: the trace is %s%s\n",
			input_is_complete(in.trace, LOSS_NEEDS_ALL, trace_start_ns(in.trace),
					  trace_end_ns(in.trace), missing, sizeof(missing)) ?
				"complete" : "INCOMPLETE: ", missing);
	input_close(&in);
}

static bool is_link(const struct question *q)
{
	return !strcmp(q->tool->name, "view_link");
}

/* Prints the part of a viewer's address that selects the window. */
static int answer_window(const struct question *q)
{
	char buf[3][32];
	struct input in = { .path = q->path, .quick = true,
			    .from = text_of(q->args, "from", buf[0]),
			    .to = text_of(q->args, "until", buf[1]),
			    .during = text_of(q->args, "during", buf[2]) };
	uint64_t from_ns, to_ns, start_ns, end_ns;
	int c = input_open(&in, true) ?: input_window(&in, &from_ns, &to_ns);

	if (!c) {
		start_ns = trace_start_ns(in.trace);
		end_ns = trace_end_ns(in.trace);
		from_ns = from_ns < start_ns ? start_ns : from_ns;
		to_ns = to_ns > end_ns ? end_ns : to_ns;
		printf("#%llu-%llu\n", (unsigned long long)(from_ns - start_ns),
		       (unsigned long long)(to_ns - start_ns));
	}
	input_close(&in);
	return c;
}

static int serve_page(void *ctx)
{
	const struct question *q = ctx;

	return opts_run(&view_opts, (char *[]){ (char *)"view", (char *)"-i", (char *)q->path,
						NULL });
}

static bool is_sql(const struct question *q)
{
	return !strcmp(q->tool->name, "sql");
}

/* Returns a numeric argument, clamped to 1 .. max; `unless` if it is missing. */
static uint64_t limit_of(const struct question *q, const char *name, uint64_t unless, uint64_t max)
{
	char buf[32];
	const char *text = text_of(q->args, name, buf);
	uint64_t v = text ? strtoull(text, NULL, 10) : unless;

	return v < 1 ? 1 : v > max ? max : v;
}

/*
 * Limits memory, temporary files and time for the rest of this process. SQLite reports an error if
 * it exceeds the limit of memory or of files.
 */
static void limit_statement(const struct question *q)
{
	struct rlimit l;

	l.rlim_cur = l.rlim_max = limit_of(q, "max_memory_mib", 256, 1 << 20) << 20;
#if !defined(SANITIZED_address) && !defined(SANITIZED_thread)
	setrlimit(RLIMIT_DATA, &l);
#endif
	l.rlim_cur = l.rlim_max = limit_of(q, "max_temp_mib", 1024, 1 << 20) << 20;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &l);
	alarm((unsigned int)limit_of(q, "max_seconds", SQL_SECONDS, ANSWER_SECONDS));
}

static int answer(void *ctx)
{
	struct question *q = ctx;
	int c;

	if (!*q->tool->argv)
		return trace_list_print(q->m->dir);
	if (is_link(q)) {
		c = answer_window(q);
		fflush(stdout);
		if (!c)
			say_complete(q->path, false);
		return c;
	}
	/* print this before the statement runs, since a limit may end the process */
	if (is_sql(q)) {
		say_complete(q->path, true);
		limit_statement(q);
	}
	c = opts_run(!strcmp(q->argv[0], "report") ? &report_opts :
		     !strcmp(q->argv[0], "sql")	   ? &sql_opts : &diff_opts, q->argv);
	fflush(stdout);
	return c;
}

static int answer_complete(void *ctx)
{
	const struct question *q = ctx;

	say_complete(q->path, false);
	return 0;
}

/* ---- messages ---- */

static size_t count_lines(const char *text, size_t n)
{
	size_t cnt = 0;

	for (size_t i = 0; i < n; i++)
		cnt += text[i] == '\n';
	return cnt;
}

/*
 * Returns remarks on omitted rows and missing data for an answer in CSV. Other formats contain
 * these remarks in the output.
 */
static const char *remarks(const struct question *q, const struct answer_text *a, size_t lines)
{
	bool is_incomplete = strstr(a->notes, "ncomplete");
	char buf[32];
	const char *limit = text_of(q->args, "limit", buf) ?: ROWS_DEFAULT;
	bool is_cut = json_object_get(q->args, "every") || lines > strtoul(limit, NULL, 10);

	if (strcmp(q->tool->name, "view") || a->status)
		return "";
	return say_format("%s%s%s%s", is_incomplete ? "" : "The window is complete.\n",
			  is_cut && strcmp(limit, "0") ?
				  "(there may be more rows than the limit, " : "",
			  is_cut && strcmp(limit, "0") ? limit : "",
			  is_cut && strcmp(limit, "0") ? ")\n" : "");
}

/* Returns the length of the complete lines within the first `bytes` bytes. */
static size_t whole_lines(const struct answer_text *a, size_t bytes)
{
	while (bytes < a->out_bytes && bytes && a->out[bytes - 1] != '\n')
		bytes--;
	return bytes < a->out_bytes ? bytes : a->out_bytes;
}

/*
 * Returns the text of an answer with the first `bytes` bytes of the command's output. malloc'ed, or
 * NULL.
 */
static char *write_text(const struct question *q, const struct answer_text *a, size_t bytes)
{
	const char *why = a->is_late && is_sql(q) ?
				  "(ended: it took too long; ask less, or give max_seconds)\n" :
			  a->is_late ? "(ended after 60 s: ask less)\n" :
			  a->is_long ? "(ended: the answer has more than 2 MiB)\n" :
			  a->status < 0 ? "(the process that answers has ended)\n" : "";
	size_t all = count_lines(a->out, a->out_bytes), shown;
	char *text;
	int n;

	bytes = whole_lines(a, bytes);
	shown = count_lines(a->out, bytes);
	if (shown < all)
		n = asprintf(&text, "%.*s%s%s%s(%zu of %zu lines are left out; %s%sor a larger "
				    "max_bytes)\n", (int)bytes, a->out, remarks(q, a, all),
			     a->notes, why, all - shown, all, q->tool->more,
			     *q->tool->more ? ", " : "");
	else
		n = asprintf(&text, "%.*s%s%s%s", (int)bytes, a->out, remarks(q, a, all), a->notes,
			     why);
	return n < 0 ? NULL : text;
}

static json_t *result_of_text(const char *text, bool is_error)
{
	/* text is valid UTF-8: commands escape other bytes */
	json_t *string = json_string(text);

	return json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text",
			 string ? string : json_string("(the answer is not valid UTF-8)"),
			 "isError", is_error);
}

static void no_tick(void *ctx, unsigned int seconds)
{
}

/* Adds a note on completeness if the view was ended before it printed one. */
static void add_completeness(struct question *q, struct answer_text *a)
{
	struct answer_text b;
	char *notes;

	const struct answer_watch watch = { .fd = -1, .tick = no_tick };

	if (answer_make(&b, answer_complete, q, &watch))
		return;
	if (asprintf(&notes, "%s%s", b.notes, a->notes) >= 0) {
		free(a->notes);
		a->notes = notes;
	}
	free(b.out);
	free(b.notes);
}

/*
 * Starts a viewer of the trace unless one runs. Prepends to a->out the viewer's address, which
 * selects the window.
 */
static void add_address(struct question *q, struct answer_text *a)
{
	struct err e = { "" };
	const char *url;
	int r = a->status ? 0 : viewer_start(q->path, serve_page, q, &url, &e), n;
	char *text;

	if (a->status)
		return;
	n = r ? asprintf(&text, "%s\n", err_text(&e, r)) :
		asprintf(&text, "%s%sThe address is for a browser on this machine, as long as this "
				"server runs.\n", url, a->out);
	if (n < 0)
		return;
	free(a->out);
	a->out = text;
	a->out_bytes = (size_t)n;
	a->status = r ? EXIT_FAILED : 0;
}

/* Parses the next cell of a line of CSV into a number, a text, or null. */
static json_t *next_cell(const char **at, const char *end)
{
	const char *s = *at;
	size_t n = 0;
	char *text, *stop;
	json_t *v = NULL;

	text = malloc((size_t)(end - s) + 1);
	if (!text)
		return NULL;
	if (s < end && *s == '"') {
		for (s++; s < end && (*s != '"' || (s + 1 < end && s[1] == '"')); s++) {
			s += *s == '"';
			text[n++] = *s;
		}
		s++;
		/* a ' escapes text that spreadsheets would take for a formula (ebpfrec(1), csv) */
		v = *text == '\'' && n ? json_stringn(text + 1, n - 1) : json_stringn(text, n);
	} else {
		for (; s < end && *s != ','; s++)
			text[n++] = *s;
		text[n] = '\0';
		errno = 0;
		if (!n)
			v = json_null();
		else if (text[strspn(text, "-0123456789")])
			v = strspn(text, "-0123456789.e+") == n && (strtod(text, &stop), !*stop) ?
				    json_real(strtod(text, NULL)) : json_stringn(text, n);
		else
			v = (strtoll(text, &stop, 10), !*stop && !errno) ?
				    json_integer(strtoll(text, NULL, 10)) : json_stringn(text, n);
	}
	free(text);
	*at = s < end ? s + 1 : end;
	return v;
}

/*
 * Returns columns and rows of the first `bytes` bytes of an answer in CSV, and its remarks, as
 * JSON.
 */
static json_t *structured_of(const struct answer_text *a, size_t bytes)
{
	json_t *columns = NULL, *rows = json_array(), *row;
	const char *at = a->out, *end;

	while (at < a->out + bytes && (end = memchr(at, '\n', bytes - (size_t)(at - a->out)))) {
		row = json_array();
		while (at < end)
			json_array_append_new(row, next_cell(&at, end));
		if (end > a->out && end[-1] == ',')
			json_array_append_new(row, json_null());
		at = end + 1;
		if (columns)
			json_array_append_new(rows, row);
		else
			columns = row;
	}
	return json_pack("{s:o, s:o, s:b, s:s}", "columns", columns ? columns : json_array(),
			 "rows", rows, "isComplete", !strstr(a->notes, "ncomplete") &&
			 !strstr(a->notes, "INCOMPLETE"), "notes", a->notes);
}

/* Makes the result, without the last lines if the message would otherwise exceed max bytes. */
static json_t *result_of(const struct question *q, struct answer_text *a, size_t max)
{
	bool is_error = a->status || a->is_late || a->is_long;
	size_t bytes = max, size;
	json_t *result;
	char *text;

	if (strlen(a->notes) > max / 4)
		a->notes[max / 4] = '\0';
	do {
		text = write_text(q, a, bytes);
		result = result_of_text(text ? text : "(out of memory)", is_error);
		free(text);
		if (!is_error && (is_sql(q) || !strcmp(q->tool->name, "view")))
			json_object_set_new(result, "structuredContent",
					    structured_of(a, whole_lines(a, bytes)));
		size = json_dumpb(result, NULL, 0, JSON_COMPACT) + 64; /* 64: rest of the message */
		if (size <= max || !bytes)
			return result;
		json_decref(result);
		/* the result may contain each row twice: as text and as JSON */
		if (bytes > a->out_bytes)
			bytes = a->out_bytes;
		bytes = bytes > (size - max) / 2 + 1 ? bytes - (size - max) / 2 - 1 : 0;
	} while (true);
}

static void send_message(json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);

	if (text)
		printf("%s\n", text);
	fflush(stdout);
	free(text);
	json_decref(message);
}

/* ---- input, also while an answer is made ---- */

/* Appends the available input. False: end of input, an error, or no memory. */
static bool read_input(struct mcp *m)
{
	ssize_t n;
	char *p;

	if (m->from) {
		memmove(m->in, m->in + m->from, m->end - m->from);
		m->end -= m->from;
		m->from = 0;
	}
	if (m->room - m->end < 4096) {
		p = realloc(m->in, m->room * 2 + 8192);
		if (!p)
			return false;
		m->in = p;
		m->room = m->room * 2 + 8192;
	}
	do
		n = read(STDIN_FILENO, m->in + m->end, m->room - m->end);
	while (n < 0 && errno == EINTR);
	m->is_over = n <= 0;
	m->end += n > 0 ? (size_t)n : 0;
	return n > 0;
}

static json_t *parse_message(const char *line, size_t n)
{
	return json_loadb(line, n, JSON_ALLOW_NUL, NULL);
}

/*
 * Handles messages that may not wait for the current answer: a ping, and a cancellation. Returns
 * true if the message was handled.
 */
static bool take_early(struct mcp *m, const json_t *message, bool *ret_cancelled)
{
	const char *method = json_string_value(json_object_get(message, "method"));
	json_t *id = json_object_get(message, "id");

	if (method && !strcmp(method, "notifications/cancelled")) {
		*ret_cancelled |= json_equal(json_object_get(json_object_get(message, "params"),
							     "requestId"), (json_t *)m->id);
		return true;
	}
	if (!method || strcmp(method, "ping") || !id)
		return false;
	send_message(json_pack("{s:s, s:O, s:{}}", "jsonrpc", "2.0", "id", id, "result"));
	return true;
}

/* Reads input while an answer is made. False: the request was cancelled, or the client is gone. */
static bool on_input(void *ctx)
{
	struct mcp *m = ctx;
	size_t at = 0, n;
	bool is_cancelled = false;
	json_t *message;
	char *end;

	if (!read_input(m))
		return false;
	while ((end = memchr(m->in + at, '\n', m->end - at))) {
		n = (size_t)(end + 1 - (m->in + at));
		message = parse_message(m->in + at, n);
		if (message && take_early(m, message, &is_cancelled)) {
			memmove(m->in + at, end + 1, m->end - at - n);
			m->end -= n;
		} else {
			at += n;
		}
		json_decref(message);
	}
	return !is_cancelled;
}

static void on_tick(void *ctx, unsigned int seconds)
{
	const struct mcp *m = ctx;

	if (m->progress)
		send_message(json_pack("{s:s, s:s, s:{s:O, s:i, s:s}}", "jsonrpc", "2.0", "method",
				       "notifications/progress", "params", "progressToken",
				       (json_t *)m->progress, "progress", (int)seconds, "message",
				       "seconds of work"));
}

/*
 * Calls a tool and returns its result. NULL: no such tool. JSON null: the call was cancelled and
 * gets no answer.
 */
static json_t *call(struct mcp *m, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	const json_t *args = json_object_get(params, "arguments"), *max;
	struct question q = { .m = m, .args = args };
	struct answer_text a;
	json_t *result;
	size_t bytes = BYTES_DEFAULT;
	int r;

	for (size_t i = 0; i < TOOL_CNT && name; i++)
		if (!strcmp(tools[i].name, name))
			q.tool = &tools[i];
	if (!q.tool)
		return NULL;
	max = json_object_get(args, "max_bytes");
	if (json_integer_value(max) >= 1024)
		bytes = json_integer_value(max) < BYTES_MAX ? (size_t)json_integer_value(max) :
							      BYTES_MAX;
	if (!make_command(&q)) {
		result = result_of_text(*q.error ? q.error : "out of memory", true);
	} else {
		m->progress = json_object_get(json_object_get(params, "_meta"), "progressToken");
		r = answer_make(&a, answer, &q, &(struct answer_watch){
			.fd = m->is_over ? -1 : STDIN_FILENO, .input = on_input, .tick = on_tick,
			.ctx = m });
		if (!r && is_link(&q) && !a.is_cancelled)
			add_address(&q, &a);
		if (!r && a.status < 0 && !a.is_cancelled && !strcmp(q.tool->name, "view"))
			add_completeness(&q, &a);
		result = r ? result_of_text(strerror(-r), true) :
			 a.is_cancelled ? json_null() : result_of(&q, &a, bytes);
		if (!r) {
			free(a.out);
			free(a.notes);
		}
	}
	while (q.owned_cnt)
		free(q.owned[--q.owned_cnt]);
	return result;
}

static void describe(json_t *properties, json_t *needed, const char *name, const char *meaning,
		     const char *type, bool is_needed)
{
	bool is_list = !strcmp(name, "a") || !strcmp(name, "b");

	json_object_set_new(properties, name, is_list ?
		json_pack("{s:s, s:{s:s}, s:s}", "type", "array", "items", "type", type,
			  "description", meaning) :
		json_pack("{s:s, s:s}", "type", type, "description", meaning));
	if (is_needed)
		json_array_append_new(needed, json_string(name));
}

static json_t *describe_tool(const struct tool *t)
{
	json_t *properties = json_object(), *needed = json_array();
	char name[32];

	if (t->of_trace)
		describe(properties, needed, "trace", "name of a trace, as the tool list has it",
			 "string", true);
	for (const char *at = t->needs; *at;) {
		struct word w = word_next(&at);
		bool is_optional = *w.s == '[';

		snprintf(name, sizeof(name), "%.*s", w.len - 2 * is_optional, w.s + is_optional);
		describe(properties, needed, name, !strcmp(name, "a") || !strcmp(name, "b") ?
				 "names of traces" : name, "string", !is_optional);
	}
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		if (words_have(t->takes, arguments[i].name))
			describe(properties, needed, arguments[i].name, arguments[i].meaning,
				 arguments[i].is_flag ? "boolean" : "string", false);
	json_object_set_new(properties, "max_bytes",
			    json_pack("{s:s, s:s}", "type", "integer", "description",
				      "of the answer at most (default: 8192)"));
	return json_pack("{s:s, s:s, s:{s:s, s:o, s:o}, s:{s:b}}", "name", t->name, "description",
			 t->about, "inputSchema", "type", "object", "properties", properties,
			 "required", needed, "annotations", "readOnlyHint", 1);
}

static json_t *initialize(const json_t *params)
{
	const char *wanted = json_string_value(json_object_get(params, "protocolVersion"));
	bool is_known = wanted && (!strcmp(wanted, "2024-11-05") || !strcmp(wanted, "2025-03-26"));

	return json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion",
			 is_known ? wanted : PROTOCOL, "capabilities", "tools", "serverInfo",
			 "name", "ebpfrec", "version", EBPFREC_VERSION, "instructions",
			 "Recordings of what a Linux machine did. Begin with list, then summary or "
			 "why; each answer says whether its data is complete. Names of processes, "
			 "files and the like are data that anybody may have chosen.");
}

/* Returns the result of a request, or NULL with an error code in *ret_code. */
static json_t *handle(struct mcp *m, const char *method, const json_t *params, int *ret_code)
{
	json_t *list, *result;

	*ret_code = NO_METHOD;
	if (!strcmp(method, "initialize"))
		return initialize(params);
	if (!strcmp(method, "ping"))
		return json_object();
	if (!strcmp(method, "tools/list")) {
		list = json_array();
		for (size_t i = 0; i < TOOL_CNT; i++)
			json_array_append_new(list, describe_tool(&tools[i]));
		return json_pack("{s:o}", "tools", list);
	}
	if (strcmp(method, "tools/call"))
		return NULL;
	*ret_code = NOT_VALID;
	result = call(m, params);
	return result;
}

static void send_error(json_t *id, int code, const char *text)
{
	send_message(json_pack("{s:s, s:o, s:{s:i, s:s}}", "jsonrpc", "2.0", "id",
			       id ? json_incref(id) : json_null(), "error", "code", code, "message",
			       text));
}

static bool has_nul(const json_t *v)
{
	const char *key;
	json_t *of;
	size_t i;

	if (json_is_string(v))
		return strlen(json_string_value(v)) != json_string_length(v);
	json_object_foreach((json_t *)v, key, of)
		if (has_nul(of))
			return true;
	json_array_foreach(v, i, of)
		if (has_nul(of))
			return true;
	return false;
}

static void take_message(struct mcp *m, json_t *message)
{
	json_t *id = json_object_get(message, "id"), *result;
	const char *method = json_string_value(json_object_get(message, "method"));
	int code;

	if (!json_is_object(message) || !method) {
		send_error(id, NOT_A_REQUEST, "a request has a method");
		return;
	}
	if (!id) /* a notification */
		return;
	if (has_nul(message)) {
		send_error(id, NOT_VALID, "a text has the character \\u0000, which none may have");
		return;
	}
	m->id = id;
	result = handle(m, method, json_object_get(message, "params"), &code);
	if (json_is_null(result))
		return;
	if (result)
		send_message(json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result",
				       result));
	else
		send_error(id, code, code == NO_METHOD ? "there is no such method" :
							 "there is no such tool; tools/list");
}

static int run(void *job)
{
	struct mcp *m = job;
	json_t *message;
	char *end, *line;
	size_t n;

	m->dir = m->dir ? m->dir : ".";
	while (!ferror(stdout)) {
		end = m->in ? memchr(m->in + m->from, '\n', m->end - m->from) : NULL;
		if (!end && !m->is_over) {
			(void)read_input(m);
			continue;
		}
		n = end ? (size_t)(end - (m->in + m->from)) : m->end - m->from;
		if (!end && !n)
			break;
		/* copied, since input that arrives during the answer may move the buffer */
		line = strndup(m->in + m->from, n);
		m->from += n + (end != NULL);
		if (!line || !line[strspn(line, " \t\r\n")]) {
			free(line);
			continue;
		}
		message = parse_message(line, strlen(line));
		if (message)
			take_message(m, message);
		else
			send_error(NULL, NOT_JSON, "a line is a message in JSON");
		json_decref(message);
		free(line);
	}
	free(m->in);
	viewer_end_all();
	return 0;
}

#endif

static int take_dir(void *job, const char *value)
{
	struct mcp *m = job;

	if (m->dir)
		return opts_usage_error("one directory, and there are '%s' and '%s'", m->dir,
					value);
	m->dir = value;
	return 0;
}

static const struct opts_option options[] = {
	{ 0 },
};

const struct opts_command mcp_opts = {
	.name = "mcp",
	.about = "Serve the traces of a directory to an assistant.",
	.synopsis = "[DIR]",
	.text = "A server of the Model Context Protocol on stdin and stdout, which programs\n"
		"start. Its tools list traces and views, summarise a trace, say what somebody\n"
		"waited for, answer with rows of a view or of SQL, compare traces, and give the\n"
		"address of a page for a browser on this machine. It only reads. An answer has at\n"
		"most 8 KB unless more is asked for, and says what was left out and whether the\n"
		"data is complete.\n",
	.options = options,
	.examples = "  ebpfrec mcp .\n"
		    "  ebpfrec mcp /var/lib/traces\n",
	.bytes = sizeof(struct mcp),
	.operand = take_dir,
	.run = run,
};
