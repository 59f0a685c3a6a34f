/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_view: `ebpfrec view` serves the page of `export --to html` without its data. The page
 * requests the data window by window. The main thread makes one answer at a time, and stops making
 * it if the browser closes the connection.
 *
 * The address contains a random token, so only clients that know the address get answers. The
 * program writes nothing but the trace's index.
 */
#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "analyze/engine/report_view.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/diff/diff_groups.h"
#include "cmd/input/input.h"
#include "cmd/input/opts.h"
#include "cmd/render/page.h"
#include "cmd/render/say.h"
#include "cmd/serve/http_server.h"
#include "cmd/view/view_report.h"
#include "trace/trace.h"

/*
 * Page of progress: its charts are SVG without styles, so its policy can forbid the browser to load
 * anything.
 */

#define COLUMNS 240	/* columns of a chart; each shows an equal part of the trace */
#define HEIGHT	24
#define KIND_COLOR "#0072b2"
#define LOSS_COLOR "#be2828"

struct chart {
	const struct trace *t;
	uint64_t cnt;
	double columns[COLUMNS];
};

/* Adds cnt events, spread evenly over [from_ns, to_ns). */
static void add(struct chart *c, uint64_t from_ns, uint64_t to_ns, uint64_t cnt)
{
	double start = (double)trace_start_ns(c->t), wide = (double)trace_end_ns(c->t) - start;
	double from = ((double)from_ns - start) * COLUMNS / wide;
	double to = ((double)to_ns - start) * COLUMNS / wide;

	c->cnt += cnt;
	for (int i = from > 0 ? (int)from : 0; cnt && i < COLUMNS && i < to; i++) {
		double begin = from > i ? from : i, end = to < i + 1 ? to : i + 1;

		c->columns[i] += (double)cnt * (end - begin) / (to - from);
	}
}

static void put(FILE *f, const char *name, const struct chart *c, const char *color)
{
	char text[UNITS_TEXT_MAX];
	double most = 0;

	for (int i = 0; i < COLUMNS; i++)
		most = c->columns[i] > most ? c->columns[i] : most;
	if (!c->cnt)
		return;
	fprintf(f, "<tr><td>%s</td><td align=\"right\">%s</td><td><svg width=\"%d\" height=\"%d\" "
		   "viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\"><path fill=\"%s\" d=\"",
		name, units_format_count(text, sizeof(text), c->cnt), 3 * COLUMNS, HEIGHT, COLUMNS,
		HEIGHT, color);
	for (int i = 0; i < COLUMNS && most > 0; i++)
		if (c->columns[i] > 0)
			fprintf(f, "M%d %dh1v-%.1fh-1z", i, HEIGHT, HEIGHT * c->columns[i] / most);
	fprintf(f, "\"/></svg></td></tr>\n");
}

static void put_trace(FILE *f, const struct trace *t)
{
	static const char *const names[EVENT_KIND_CNT] = {
#define X(number, kind, name, ...) [EVENT_##kind] = name,
		EVENT_KINDS(X)
#undef X
	};
	struct chart lost = { .t = t };
	size_t block_cnt, loss_cnt;
	const struct trace_block *b = trace_blocks(t, &block_cnt);
	const struct trace_loss *l = trace_losses(t, &loss_cnt);

	fprintf(f, "<table>\n");
	for (unsigned int kind = 0; kind < EVENT_KIND_CNT; kind++) {
		struct chart c = { .t = t };

		for (size_t i = 0; i < block_cnt; i++)
			add(&c, b[i].from_ns, b[i].to_ns, b[i].kind_cnt[kind]);
		put(f, names[kind], &c, KIND_COLOR);
	}
	for (size_t i = 0; i < loss_cnt; i++)
		add(&lost, l[i].from_ns, l[i].to_ns,
		    l[i].full_cnt + l[i].other_cnt + l[i].missed_cnt);
	put(f, "lost", &lost, LOSS_COLOR);
	fprintf(f, "</table>\n");
}

/*
 * Writes the page of progress: `done` of `all` events of the traces have been read. 0 or -ENOMEM.
 */
static int view_progress_answer(const struct trace *const *traces, unsigned int cnt, uint64_t done,
				uint64_t all, struct http_answer *ret)
{
	FILE *f = open_memstream(&ret->text, &ret->bytes);
	char text[UNITS_TEXT_MAX];
	uint64_t events = 0;
	size_t block_cnt;

	if (!f)
		return -ENOMEM;
	for (unsigned int i = 0; i < cnt; i++) {
		const struct trace_block *b = trace_blocks(traces[i], &block_cnt);

		for (size_t k = 0; k < block_cnt; k++)
			events += trace_block_events(&b[k], UINT32_MAX);
	}
	fprintf(f, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		   "<meta http-equiv=\"refresh\" content=\"1\"><title>ebpfrec</title></head>\n"
		   "<body><h1>The trace is read for the first time</h1>\n"
		   "<p>%s events, %u %%. The next look begins at once. What is there already: "
		   "events over time, by kind.</p>\n",
		units_format_count(text, sizeof(text), events),
		all ? (unsigned int)(100 * done / all) : 0);
	for (unsigned int i = 0; i < cnt; i++)
		put_trace(f, traces[i]);
	fprintf(f, "</body></html>\n");
	ret->type = "text/html; charset=utf-8";
	ret->policy = "default-src 'none'";
	return fclose(f) ? -ENOMEM : 0;
}

#define TOKEN_BYTES 16
#define TOKEN_CHARS (2 * TOKEN_BYTES)
#define ANSWER_SECONDS 60 /* maximum duration of an answer */
/* if reading the traces takes longer than this, the page of progress is sent */
#define PAGE_WAIT_NS 200000000
#define LOOK_US 50000 /* interval of checking whether the client still waits for the answer */
#define LOOK_NS UNITS_NS_PER_S /* shortest interval between reads of new blocks of a live trace */
#define JSON "application/json; charset=utf-8"

struct view_trace {
	struct input in;
	uint64_t looked_ns;
};

struct view_job {
	struct lists_strings paths;
	struct view_trace *traces;	/* at least one */
	unsigned int trace_cnt;
	struct input *in;		/* the trace of the current request */
	const char *listen, *symbols;
	char token[TOKEN_CHARS + 1];
	struct http_server *http;
	pthread_t reader;	/* thread that makes missing indexes */
	bool is_reading;
	int read_status;	/* exit status of the reader, after its end */
};

/* The answer being made, its connection, and its deadline. */
static struct {
	struct view_job *volatile job;
	int fd;
	uint64_t until_ns;
} running;
static volatile sig_atomic_t interrupted, given_up;

static void give_up(struct view_job *j, bool is_given_up)
{
	for (unsigned int i = 0; i < j->trace_cnt; i++)
		if (j->traces[i].in.analysis)
			analysis_give_up(j->traces[i].in.analysis, is_given_up);
}

static void on_signal(int sig)
{
	interrupted = 1;
	if (running.job)
		give_up(running.job, true);
}

/* Stops the answer if the client is gone or the deadline has passed. */
static void on_alarm(int sig)
{
	int saved = errno;

	if (running.job && (http_connection_is_gone(running.fd) ||
			    clock_mono_ns() > running.until_ns)) {
		given_up = 1;
		give_up(running.job, true);
	}
	errno = saved;
}

static void begin_answer(struct view_job *j, int fd)
{
	const struct itimerval often = { { 0, LOOK_US }, { 0, LOOK_US } };

	running.fd = fd;
	running.until_ns = clock_mono_ns() + ANSWER_SECONDS * UNITS_NS_PER_S;
	given_up = 0;
	give_up(j, false);
	running.job = j;
	setitimer(ITIMER_REAL, &often, NULL);
}

static void end_answer(void)
{
	const struct itimerval never = { 0 };

	setitimer(ITIMER_REAL, &never, NULL);
	running.job = NULL;
}

/* ---- the trace ---- */

/* Reads the blocks recorded since the last answer. 0 or an exit status. */
static int look(struct view_trace *t)
{
	struct input *in = &t->in;
	size_t before, now;
	int c;

	/* without an analysis, the last call failed: try again at once */
	if (in->analysis &&
	    (!trace_is_live(in->trace) || clock_mono_ns() - t->looked_ns < LOOK_NS))
		return 0;
	t->looked_ns = clock_mono_ns();
	trace_blocks(in->trace, &before);
	c = input_refresh(in);
	if (c)
		return c;
	trace_blocks(in->trace, &now);
	if (now == before && in->analysis && trace_is_live(in->trace))
		return 0;
	analysis_close(in->analysis);
	in->analysis = NULL;
	return input_open_analysis(in);
}

/* ---- answers ---- */

static void refuse(struct http_answer *ret, unsigned int status, const char *why)
{
	ret->status = status;
	ret->fixed = why;
}

/* Answers with an error. Prints the reason to the terminal, unless the answer was given up. */
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

/* Converts an argument, in ns from the trace's start, to an instant of the trace's clock. */
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

/* Parses the request's window. False: there is no valid window, and *ret is an error. */
static bool take_window(const struct view_job *j, const struct http_request *q, uint64_t *from_ns,
			uint64_t *to_ns, struct http_answer *ret)
{
	uint64_t start_ns = trace_start_ns(j->in->trace);

	if (take_instant(q, "from", start_ns, from_ns) && take_instant(q, "to", start_ns, to_ns) &&
	    *from_ns < *to_ns)
		return true;
	refuse(ret, 400, "from and to are ns from the trace's start\n");
	return false;
}

/* Answers with the page's data for the window. */
static void answer_window(struct view_job *j, const struct http_request *q,
			  struct http_answer *ret)
{
	enum page_effort effort;
	uint64_t from_ns, to_ns;
	const char *by = http_request_argument(q, "by");
	struct buf data = { 0 };
	struct err e = { "" };
	int c;

	if (!take_window(j, q, &from_ns, &to_ns, ret))
		return;
	input_verify(j->in, true, from_ns, to_ns);
	effort = http_request_argument(q, "stay") ? PAGE_STAY : PAGE_STEP;
	c = analysis_page(j->in->analysis, from_ns, to_ns, effort, by && !strcmp(by, "thread"),
			  NULL, &data, &e);
	if (c) {
		buf_done(&data);
		fail(ret, c, &e, "the window cannot be shown; the terminal says why\n");
		return;
	}
	*ret = (struct http_answer){ .status = 200, .type = JSON, .text = (char *)data.data,
				     .bytes = data.len, .is_deflated = true };
}

/* A function that answers with rows, and its messages for an invalid argument and other errors. */
struct row_source {
	int (*rows)(struct analysis *a, const struct http_request *q, uint64_t from_ns,
		    uint64_t to_ns, struct http_answer *ret, struct err *e);
	const char *wrong, *failed;
};
static const struct row_source report_rows = {
	view_report_rows, "view is why, spikes, profile, stacks or offcpu\n",
	"the report cannot be made; the terminal says why\n",
};
static const struct row_source search_rows = {
	view_report_search, "word is what to search for\n",
	"it cannot be searched; the terminal says why\n",
};

static void answer_rows(struct view_job *j, const struct row_source *of,
			const struct http_request *q, struct http_answer *ret)
{
	uint64_t from_ns, to_ns;
	struct err e = { "" };
	int c;

	if (!take_window(j, q, &from_ns, &to_ns, ret))
		return;
	c = of->rows(j->in->analysis, q, from_ns, to_ns, ret, &e);
	if (c == -EINVAL && !e.text[0])
		refuse(ret, 400, of->wrong);
	else if (c)
		fail(ret, c, &e, of->failed);
}

static void answer_download(struct view_job *j, const struct http_request *q,
			    struct http_answer *ret)
{
	uint64_t from_ns, to_ns, start_ns = trace_start_ns(j->in->trace);
	struct err e = { "" };
	int c;

	if (!take_window(j, q, &from_ns, &to_ns, ret))
		return;
	c = view_download_begin(q, input_path(j->in), j->symbols, from_ns - start_ns,
				to_ns - start_ns, ret);
	if (c == -EINVAL)
		refuse(ret, 400, "as is page, csv, perfetto, cut or bundle\n");
	else if (c == -EBUSY)
		refuse(ret, 503, "other files are being made: try again when one is done\n");
	else if (c)
		fail(ret, c, &e, "the file cannot be made; the terminal says why\n");
}

/* ---- two windows side by side ---- */

static void answer_beside(struct view_job *j, struct http_answer *ret)
{
	FILE *f = open_memstream(&ret->text, &ret->bytes);
	struct err e = { "" };
	int c = f ? page_write_beside(j->paths.v, j->paths.cnt, f) : -ENOMEM;

	if (f && fclose(f) && !c)
		c = -ENOMEM;
	if (c)
		fail(ret, c, &e, "the page cannot be made; the terminal says why\n");
	else
		ret->type = "text/html; charset=utf-8";
}

struct view_diff {
	struct diff_side sides[2];
};

static int write_diff(void *ctx, const struct row_sink *out, struct err *e)
{
	const struct view_diff *d = ctx;
	struct diff_rows rows = { .out = out, .format = RENDER_JSON };
	struct diff_summary summary;
	int c = diff_rows_begin(&rows);

	c = c ?: diff_run(d->sides, 0, false, diff_rows_put, &rows, &summary, e);
	return c ?: out->end(out->ctx);
}

/*
 * Returns the trace of side A or B, and sets its window. The arguments are the trace's number and
 * two instants. NULL: an argument is missing or invalid.
 */
static struct input *take_side(const struct view_job *j, const struct http_request *q, bool is_b,
			       struct diff_side *ret)
{
	const char *number = http_request_argument(q, is_b ? "b" : "a");
	unsigned long n = number ? strtoul(number, NULL, 10) : 0;
	struct input *in;
	uint64_t start_ns;

	if (!n || n > j->trace_cnt)
		return NULL;
	in = &j->traces[n - 1].in;
	start_ns = trace_start_ns(in->trace);
	if (!take_instant(q, is_b ? "from_b" : "from", start_ns, &ret->from_ns) ||
	    !take_instant(q, is_b ? "to_b" : "to", start_ns, &ret->to_ns))
		return NULL;
	if (ret->to_ns > trace_end_ns(in->trace))
		ret->to_ns = trace_end_ns(in->trace);
	ret->a = in->analysis;
	input_verify(in, true, ret->from_ns, ret->to_ns);
	return ret->from_ns < ret->to_ns ? in : NULL;
}

/* Answers with the page of `ebpfrec diff --flame` for two windows. */
static void answer_flame(struct view_job *j, const struct http_request *q, struct http_answer *ret)
{
	const struct diff_flame_options o = { .path = ".html" };
	const char *names[2];
	struct diff_side sides[2];
	struct diff_flame *flame = NULL;
	struct err e = { "" };
	FILE *f;
	int c = diff_flame_new(&flame, &o);

	for (int side = 0; side < 2 && !c; side++) {
		const struct input *in = take_side(j, q, side, &sides[side]);

		names[side] = in ? input_path(in) : "";
		c = in ? diff_flame_add(flame, side, in, &sides[side]) : -EINVAL;
	}
	if (!c) {
		f = open_memstream(&ret->text, &ret->bytes);
		c = f ? diff_flame_page(flame, names, f, &e) : -ENOMEM;
		if (f && fclose(f) && !c)
			c = -ENOMEM;
	}
	diff_flame_free(flame);
	if (c < 0 && c != -EINVAL)
		fail(ret, c, &e, "the page cannot be made; the terminal says why\n");
	else if (c)
		refuse(ret, 404, "no stacks of running code were recorded in these windows\n");
	else
		ret->type = "text/html; charset=utf-8";
}

/* Answers with the text of `ebpfrec diff --format json` for two windows. */
static void answer_diff(struct view_job *j, const struct http_request *q, struct http_answer *ret)
{
	struct view_diff d;
	struct err e = { "" };
	int c;

	if (!take_side(j, q, false, &d.sides[0]) || !take_side(j, q, true, &d.sides[1])) {
		refuse(ret, 400, "a and b are numbers of traces; from, to, from_b and to_b are ns "
				 "from their starts\n");
		return;
	}
	c = view_render_answer(write_diff, &d, ret, &e);
	if (c)
		fail(ret, c, &e, "the windows cannot be compared; the terminal says why\n");
}

/* ---- pages ---- */

/* Answers with the page, which then requests its data. */
static void answer_page(struct view_job *j, struct http_answer *ret)
{
	struct loss_needs needs = report_view_find("page")->needs;
	uint64_t from_ns = trace_start_ns(j->in->trace), to_ns = trace_end_ns(j->in->trace);
	char missing[400];
	const struct page_request r = { j->in->analysis, j->in->trace, input_path(j->in), from_ns,
					to_ns, missing, true };
	FILE *f = open_memstream(&ret->text, &ret->bytes);
	struct err e = { "" };
	int c = f ? 0 : -ENOMEM;

	input_is_complete(j->in->trace, needs, from_ns, to_ns, missing, sizeof(missing));
	if (f)
		c = page_write(&r, f, &e);
	if (f && fclose(f) && !c)
		c = -ENOMEM;
	if (c)
		fail(ret, c, &e, "the page cannot be made; the terminal says why\n");
	else
		ret->type = "text/html; charset=utf-8";
}

/* Compares text with the token in constant time, so that the time does not disclose the token. */
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
		answer_page(j, ret);
	else if (!strcmp(what, "window"))
		answer_window(j, q, ret);
	else if (!strcmp(what, "report"))
		answer_rows(j, &report_rows, q, ret);
	else if (!strcmp(what, "search"))
		answer_rows(j, &search_rows, q, ret);
	else if (!strcmp(what, "download"))
		answer_download(j, q, ret);
	else if (!strcmp(what, "diff"))
		answer_diff(j, q, ret);
	else if (!strcmp(what, "flame"))
		answer_flame(j, q, ret);
	else
		refuse(ret, 404, "there is no such page\n");
}

/*
 * Selects the request's trace: "2/window" selects the second trace. Returns the name after the
 * number; "?": no such trace.
 */
static const char *take_trace(struct view_job *j, const char *what)
{
	unsigned long n = 1;
	char *end = (char *)what;

	if (isdigit((unsigned char)*what))
		n = strtoul(what, &end, 10);
	if (!n || n > j->trace_cnt || (end != what && *end != '/'))
		return "?";
	j->in = &j->traces[n - 1].in;
	return end == what ? what : end + 1;
}

/* ---- the first answers, while another thread makes the index ---- */

static void *read_all(void *job)
{
	struct view_job *j = job;

	for (unsigned int i = 0; i < j->trace_cnt && !j->read_status; i++)
		if (!trace_is_live(j->traces[i].in.trace))
			j->read_status = input_analysis(&j->traces[i].in);
	return NULL;
}

/*
 * Starts the thread that reads the traces. It blocks signals, so that they interrupt the main
 * thread.
 */
static int begin_reading(struct view_job *j)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&j->reader, NULL, read_all, j);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	j->is_reading = !r;
	return input_status(-r, NULL);
}

/* Waits at most wait_ns. False: the traces are still being read. */
static bool is_read(struct view_job *j, uint64_t wait_ns)
{
	struct timespec until = clock_after(CLOCK_REALTIME, wait_ns);

	if (!j->is_reading)
		return true;
	j->is_reading = pthread_timedjoin_np(j->reader, NULL, &until) != 0;
	return !j->is_reading;
}

static void answer_progress(struct view_job *j, struct http_answer *ret)
{
	const struct trace **traces = calloc(j->trace_cnt, sizeof(struct trace *));
	uint64_t done = 0, all = 0;

	for (unsigned int i = 0; i < j->trace_cnt && traces; i++) {
		traces[i] = j->traces[i].in.trace;
		done += j->traces[i].in.indexed_events;
		all += j->traces[i].in.all_events;
	}
	if (!traces || view_progress_answer(traces, j->trace_cnt, done, all, ret))
		fail(ret, -ENOMEM, NULL, "out of memory\n");
	free(traces);
}

/*
 * Returns true when the traces can be queried. Until then, a request for a page is answered with
 * the progress of reading; other requests wait.
 */
static bool wait_for_traces(struct view_job *j, const char *what, struct http_answer *ret)
{
	bool is_page = !*what;

	if (is_read(j, is_page ? PAGE_WAIT_NS : ANSWER_SECONDS * UNITS_NS_PER_S))
		return true;
	if (is_page)
		answer_progress(j, ret);
	else
		refuse(ret, 503, "the trace is still being read\n");
	return false;
}

static void answer(void *ctx, const struct http_request *q, struct http_answer *ret)
{
	struct view_job *j = ctx;
	const char *what;

	if (*q->path != '/' || !is_token(j, q->path + 1) || q->path[1 + TOKEN_CHARS] != '/') {
		refuse(ret, 403, "the address that `ebpfrec view` printed has a token\n");
		return;
	}
	if (http_connection_is_gone(http_request_fd(q))) {
		refuse(ret, 503, "given up\n");
		return;
	}
	what = take_trace(j, q->path + TOKEN_CHARS + 2);
	if (!strcmp(what, "beside")) {
		answer_beside(j, ret);
		return;
	}
	if (!wait_for_traces(j, what, ret))
		return;
	for (unsigned int i = 0; i < j->trace_cnt; i++) {
		if (look(&j->traces[i])) {
			refuse(ret, 500, "the trace cannot be read; the terminal says why\n");
			return;
		}
	}
	begin_answer(j, http_request_fd(q));
	answer_what(j, q, what, ret);
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
	printf("%s/%s/%s\n", http_server_url(j->http), j->token,
	       j->trace_cnt > 1 ? "beside" : "");
	if (fflush(stdout))
		return EXIT_FAILED;
	if (isatty(STDERR_FILENO))
		say_note("open this address in a browser; Ctrl-C ends the viewer");
	while (!interrupted && !(is_read(j, 0) && j->read_status))
		http_server_run(j->http, 500);
	/*
	 * exit even if the reader is writing the index: the index has checksums, and the next
	 * reader completes it
	 */
	if (j->is_reading)
		_exit(0);
	return interrupted ? 0 : j->read_status;
}

static int open_traces(struct view_job *j)
{
	int c = 0;

	if (!j->paths.cnt)
		c = lists_add_string(&j->paths, INPUT_TRACE_DEFAULT, NULL);
	j->traces = calloc(j->paths.cnt + 1, sizeof(*j->traces));
	if (c || !j->traces)
		return say_error("out of memory");
	for (; j->trace_cnt < j->paths.cnt && !c; j->trace_cnt++) {
		struct input *in = &j->traces[j->trace_cnt].in;

		*in = (struct input){ .path = j->paths.v[j->trace_cnt], .quick = true,
				      .symbols = j->symbols };
		c = input_open(in, true);
		/* an invalid --symbols must fail before the address is printed */
		if (!c && (trace_is_live(in->trace) || in->symbols))
			c = input_open_analysis(in);
	}
	return c;
}

static void done(void *job)
{
	struct view_job *j = job;

	for (unsigned int i = 0; i < j->trace_cnt; i++)
		input_close(&j->traces[i].in);
	free(j->traces);
	free(j->paths.v);
}

/*
 * Keeps the freed memory of an answer for the next answer. Returning this memory to the kernel,
 * which clears memory on each allocation, is a tenth of the cost of an answer.
 */
static void keep_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

static int run(void *job)
{
	struct view_job *j = job;
	struct err e = { "" };
	int c;

	if (!page_is_built())
		return say_error("%s", page_lacks);
	keep_memory();
	c = open_traces(j) ?: make_token(j);
	c = c ?: input_status(http_server_start(&j->http, j->listen, answer, j, &e), &e);
	c = c ?: begin_reading(j);
	c = c ?: serve(j);
	http_server_stop(j->http);
	return c;
}

static const struct opts_option options[] = {
	{ 'i', "input", "TRACE",
	  "trace or bundle to read (default: " INPUT_TRACE_DEFAULT "); several times:\n"
	  "any two of them can be seen side by side",
	  OPTS_CALL, offsetof(struct view_job, paths), lists_add_string },
	{ 0, "listen", "ADDR:PORT",
	  "serve at this address (127.0.0.1:0: any free port); a port alone is on\n127.0.0.1",
	  OPTS_TEXT, offsetof(struct view_job, listen),
	  .refuse = "the address must not be empty" },
	INPUT_OPTION_SYMBOLS(struct view_job, symbols),
	{ 0 },
};

const struct opts_command view_opts = {
	.name = "view",
	.about = "View any window of a trace in a browser.",
	.synopsis = "[-i TRACE]... [--listen ADDR:PORT] [--symbols DIR,...]",
	.text = "Prints an address for a browser on this machine, and serves the page of\n"
		"`export --to html` there, whose windows are as exact as those of `report`:\n"
		"each step of a zoom is a question to the trace. The address has a token that\n"
		"only its reader knows. A trace that is being recorded is followed. Two windows,\n"
		"of one trace or of two, can be seen side by side. Ctrl-C ends the viewer.\n",
	.options = options,
	.examples = "  ebpfrec view\n"
		    "  ebpfrec view -i before.ebpfrec -i after.ebpfrec\n"
		    "  ebpfrec view -i build.ebpfrec --listen 8080\n"
		    "  ssh -L 8080:127.0.0.1:8080 server ebpfrec view --listen 8080\n",
	.bytes = sizeof(struct view_job),
	.initial = &(const struct view_job){ .listen = "127.0.0.1:0" },
	.done = done,
	.run = run,
};
