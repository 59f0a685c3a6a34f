/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_view: `ebpfrec view` serves the page of `export --to html` without its data, which the page
 * asks for, window by window. Each answer is made when it is asked for, in this thread; what a
 * browser does not wait for any more is given up.
 *
 * Only who has the address may ask: it has a random token. The program reads the trace, and writes
 * nothing but the trace's index.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include "analyze/engine/report_view.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/page.h"
#include "cmd/render/say.h"
#include "cmd/serve/http_server.h"
#include "cmd/view/view_download.h"
#include "cmd/view/view_report.h"

#define TOKEN_BYTES 16
#define TOKEN_CHARS (2 * TOKEN_BYTES)
#define ANSWER_SECONDS 60 /* an answer takes no longer */
#define LOOK_US 50000 /* while one is made: is it still wanted? */
#define LOOK_NS UNITS_NS_PER_S /* how often a live trace is looked at, at most */
#define JSON "application/json; charset=utf-8"

struct view_job {
	struct input in;
	const char *listen;
	char token[TOKEN_CHARS + 1];
	struct http_server *http;
	uint64_t looked_ns;
};

/* What is being answered, to whom, and until when. */
static struct {
	struct analysis *volatile analysis;
	int fd;
	uint64_t until_ns;
} running;
static volatile sig_atomic_t interrupted, given_up;

static void on_signal(int sig)
{
	interrupted = 1;
	if (running.analysis)
		analysis_give_up(running.analysis, true);
}

/* Nobody waits for the answer any more, or it takes too long. */
static void on_alarm(int sig)
{
	int saved = errno;

	if (running.analysis && (http_connection_is_gone(running.fd) ||
				 clock_mono_ns() > running.until_ns)) {
		given_up = 1;
		analysis_give_up(running.analysis, true);
	}
	errno = saved;
}

static void begin_answer(struct analysis *a, int fd)
{
	const struct itimerval often = { { 0, LOOK_US }, { 0, LOOK_US } };

	running.fd = fd;
	running.until_ns = clock_mono_ns() + ANSWER_SECONDS * UNITS_NS_PER_S;
	given_up = 0;
	analysis_give_up(a, false);
	running.analysis = a;
	setitimer(ITIMER_REAL, &often, NULL);
}

static void end_answer(void)
{
	const struct itimerval never = { 0 };

	setitimer(ITIMER_REAL, &never, NULL);
	running.analysis = NULL;
}

/* ---- the trace ---- */

/* Takes in what was recorded since the last answer. 0 or an exit status. */
static int look(struct view_job *j)
{
	size_t before, now;
	int c;

	/* without an analysis the last look has failed */
	if (j->in.analysis &&
	    (!trace_is_live(j->in.trace) || clock_mono_ns() - j->looked_ns < LOOK_NS))
		return 0;
	j->looked_ns = clock_mono_ns();
	trace_blocks(j->in.trace, &before);
	c = input_refresh(&j->in);
	if (c)
		return c;
	trace_blocks(j->in.trace, &now);
	if (now == before && j->in.analysis && trace_is_live(j->in.trace))
		return 0;
	analysis_close(j->in.analysis);
	j->in.analysis = NULL;
	return input_open_analysis(&j->in);
}

/* ---- answers ---- */

static void refuse(struct http_answer *ret, unsigned int status, const char *why)
{
	ret->status = status;
	ret->fixed = why;
}

/* The terminal says why, unless the answer was given up. */
static void fail(struct http_answer *ret, int code, const struct err *e, const char *what)
{
	bool is_given_up = interrupted || given_up;

	if (!is_given_up)
		say_note("%s", err_text(e, code));
	free(ret->text);
	ret->text = NULL;
	if (is_given_up)
		refuse(ret, 503, "given up: nobody waits for it, or it takes more than a minute\n");
	else
		refuse(ret, 500, what);
}

/* An argument in ns from the trace's start, as an instant of its clock. */
static bool take_instant(const struct http_request *q, const char *name, uint64_t start_ns,
			 uint64_t *ret)
{
	const char *text = http_request_argument(q, name);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno || *end || *ret > INT64_MAX - start_ns)
		return false;
	*ret += start_ns;
	return true;
}

/* False: the request names no window, and the answer says so. */
static bool take_window(const struct view_job *j, const struct http_request *q, uint64_t *from_ns,
			uint64_t *to_ns, struct http_answer *ret)
{
	uint64_t start_ns = trace_start_ns(j->in.trace);

	if (take_instant(q, "from", start_ns, from_ns) && take_instant(q, "to", start_ns, to_ns) &&
	    *from_ns < *to_ns)
		return true;
	refuse(ret, 400, "from and to are ns from the trace's start\n");
	return false;
}

/* The data of a page about the window. */
static void answer_window(struct view_job *j, const struct http_request *q,
			  struct http_answer *ret)
{
	enum page_effort effort;
	uint64_t from_ns, to_ns;
	struct buf data = { 0 };
	struct err e = { "" };
	int c;

	if (!take_window(j, q, &from_ns, &to_ns, ret))
		return;
	input_verify(&j->in, true, from_ns, to_ns);
	effort = http_request_argument(q, "stay") ? PAGE_STAY : PAGE_STEP;
	c = analysis_page(j->in.analysis, from_ns, to_ns, effort, NULL, &data, &e);
	if (c) {
		buf_done(&data);
		fail(ret, c, &e, "the window cannot be shown; the terminal says why\n");
		return;
	}
	*ret = (struct http_answer){ .status = 200, .type = JSON, .text = (char *)data.data,
				     .bytes = data.len, .is_deflated = true };
}

static void answer_report(struct view_job *j, const struct http_request *q,
			  struct http_answer *ret)
{
	uint64_t from_ns, to_ns;
	struct err e = { "" };
	int c;

	if (!take_window(j, q, &from_ns, &to_ns, ret))
		return;
	c = view_report_rows(j->in.analysis, q, from_ns, to_ns, ret, &e);
	if (c == -EINVAL && !e.text[0])
		refuse(ret, 400, "view is why, spikes, profile, stacks or offcpu\n");
	else if (c)
		fail(ret, c, &e, "the report cannot be made; the terminal says why\n");
}

static void answer_search(struct view_job *j, const struct http_request *q,
			  struct http_answer *ret)
{
	uint64_t from_ns, to_ns;
	struct err e = { "" };
	int c;

	if (!take_window(j, q, &from_ns, &to_ns, ret))
		return;
	c = view_report_search(j->in.analysis, q, from_ns, to_ns, ret, &e);
	if (c == -EINVAL && !e.text[0])
		refuse(ret, 400, "word is what to search for\n");
	else if (c)
		fail(ret, c, &e, "it cannot be searched; the terminal says why\n");
}

static void answer_download(struct view_job *j, const struct http_request *q,
			    struct http_answer *ret)
{
	uint64_t from_ns, to_ns, start_ns = trace_start_ns(j->in.trace);
	struct err e = { "" };
	int c;

	if (!take_window(j, q, &from_ns, &to_ns, ret))
		return;
	/* it has a time of its own, and looks itself whether it is wanted */
	end_answer();
	c = view_download_make(q, input_path(&j->in), from_ns - start_ns, to_ns - start_ns, ret,
			       &e);
	if (c == -EINVAL && !e.text[0])
		refuse(ret, 400, "as is csv, perfetto, cut or bundle\n");
	else if (c == -ECANCELED)
		refuse(ret, 503, "given up\n");
	else if (c)
		fail(ret, c, &e, "the file cannot be made; the terminal says why\n");
}

/* A page about a window: to be saved, with its data; or the one that asks for its windows. */
static void write_page(struct view_job *j, uint64_t from_ns, uint64_t to_ns, bool is_served,
		       struct http_answer *ret)
{
	struct loss_needs needs = report_view_find("page")->needs;
	char missing[400];
	const struct page_request r = { j->in.analysis, j->in.trace, input_path(&j->in), from_ns,
					to_ns, missing, is_served };
	FILE *f = open_memstream(&ret->text, &ret->bytes);
	struct err e = { "" };
	int c = f ? 0 : -ENOMEM;

	input_is_complete(j->in.trace, needs, from_ns, to_ns, missing, sizeof(missing));
	if (f)
		c = page_write(&r, f, &e);
	if (f && fclose(f) && !c)
		c = -ENOMEM;
	if (c) {
		fail(ret, c, &e, "the page cannot be made; the terminal says why\n");
		return;
	}
	ret->type = "text/html; charset=utf-8";
	ret->save_as = is_served ? NULL : "window.html";
}

static void answer_saved_page(struct view_job *j, const struct http_request *q,
			      struct http_answer *ret)
{
	uint64_t from_ns, to_ns;

	if (take_window(j, q, &from_ns, &to_ns, ret)) {
		input_verify(&j->in, true, from_ns, to_ns);
		write_page(j, from_ns, to_ns, false, ret);
	}
}

/* Compares all of it, however early it differs. */
static bool is_token(const struct view_job *j, const char *text)
{
	unsigned char differs = 0;

	if (strnlen(text, TOKEN_CHARS) < TOKEN_CHARS)
		return false;
	for (unsigned int i = 0; i < TOKEN_CHARS; i++)
		differs |= (unsigned char)(text[i] ^ j->token[i]);
	return !differs;
}

static void answer_what(struct view_job *j, const struct http_request *q, const char *what,
			struct http_answer *ret)
{
	if (!strcmp(what, ""))
		write_page(j, trace_start_ns(j->in.trace), trace_end_ns(j->in.trace), true, ret);
	else if (!strcmp(what, "window"))
		answer_window(j, q, ret);
	else if (!strcmp(what, "page"))
		answer_saved_page(j, q, ret);
	else if (!strcmp(what, "report"))
		answer_report(j, q, ret);
	else if (!strcmp(what, "search"))
		answer_search(j, q, ret);
	else if (!strcmp(what, "download"))
		answer_download(j, q, ret);
	else
		refuse(ret, 404, "there is no such page\n");
}

static void answer(void *ctx, const struct http_request *q, struct http_answer *ret)
{
	struct view_job *j = ctx;

	if (*q->path != '/' || !is_token(j, q->path + 1) || q->path[1 + TOKEN_CHARS] != '/') {
		refuse(ret, 403, "the address that `ebpfrec view` printed has a token\n");
		return;
	}
	if (http_connection_is_gone(http_request_fd(q))) {
		refuse(ret, 503, "given up\n");
		return;
	}
	if (look(j)) {
		refuse(ret, 500, "the trace cannot be read; the terminal says why\n");
		return;
	}
	begin_answer(j->in.analysis, http_request_fd(q));
	answer_what(j, q, q->path + TOKEN_CHARS + 2, ret);
	end_answer();
}

/* ---- the command ---- */

static int make_token(struct view_job *j)
{
	uint8_t bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return input_status(-errno, NULL);
	for (unsigned int i = 0; i < TOKEN_BYTES; i++)
		snprintf(j->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int serve(struct view_job *j)
{
	const struct sigaction stop = { .sa_handler = on_signal };
	const struct sigaction alarm = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGALRM, &alarm, NULL);
	printf("%s/%s/\n", http_server_url(j->http), j->token);
	if (fflush(stdout))
		return EXIT_FAILED;
	if (isatty(STDERR_FILENO))
		say_note("open this address in a browser; Ctrl-C ends the viewer");
	while (!interrupted)
		http_server_run(j->http, 500);
	return 0;
}

static int run(void *job)
{
	struct view_job *j = job;
	struct err e = { "" };
	int c;

	if (!page_is_built())
		return say_error("%s", page_lacks);
	c = input_open(&j->in, true);
	if (!c)
		c = trace_is_live(j->in.trace) ? input_open_analysis(&j->in) :
						 input_analysis(&j->in);
	c = c ?: make_token(j);
	c = c ?: input_status(http_server_start(&j->http, j->listen, answer, j, &e), &e);
	c = c ?: serve(j);
	http_server_stop(j->http);
	return c;
}

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct view_job, in),
	{ 0, "listen", "ADDR:PORT",
	  "serve at this address (127.0.0.1:0: any free port); a port alone is on\n127.0.0.1",
	  OPTS_TEXT, offsetof(struct view_job, listen),
	  .refuse = "the address must not be empty" },
	{ 0 },
};

const struct opts_command view_opts = {
	.name = "view",
	.about = "Look at a trace in a browser, at any window of it.",
	.synopsis = "[-i TRACE] [--listen ADDR:PORT]",
	.text = "Prints an address for a browser on this machine, and serves the page of\n"
		"`export --to html` there, whose windows are as exact as those of `report`:\n"
		"each step of a zoom is a question to the trace. The address has a token that\n"
		"only its reader knows. A trace that is being recorded is followed. Ctrl-C ends\n"
		"the viewer.\n",
	.options = options,
	.examples = "  ebpfrec view\n"
		    "  ebpfrec view -i build.ebpfrec --listen 8080\n"
		    "  ssh -L 8080:127.0.0.1:8080 server ebpfrec view --listen 8080\n",
	.bytes = sizeof(struct view_job),
	.initial = &(const struct view_job){ .in.quick = true, .listen = "127.0.0.1:0" },
	.done = input_close,
	.run = run,
};
