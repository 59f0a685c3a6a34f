/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_metrics: `ebpfrec metrics` counts the events of a trace for Prometheus: once, or repeatedly
 * while the trace is recorded, for an endpoint or a file. New events are counted at each scrape;
 * earlier if there are many, so that no scrape takes long; and at least once per interval, so that
 * a flight recorder removes no uncounted events.
 *
 * When the command follows a recording, it begins at the end of the trace: Prometheus interprets
 * the first values after a restart as an increase, so they must not include events from before the
 * command began. The next recording of the same name is counted from its beginning.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/clock.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/metrics/metrics.h"
#include "cmd/render/say.h"
#include "cmd/serve/http_server.h"

#define INTERVAL_NS (10 * UNITS_NS_PER_S)
#define AGAIN_NS UNITS_NS_PER_S /* interval of checks: a block is written about once a second */
/* if there are this many uncounted events, count them without a scrape; this takes some 10 ms */
#define MANY_EVENTS 200000
#define WAIT_NS 20000000 /* longest wait of a scrape for a count */
#define FORMAT_CNT 2 /* text formats; index 1: OpenMetrics */
#define TEXTFILE "ebpfrec.prom"
#define OPENMETRICS "application/openmetrics-text"

struct metrics_job {
	struct input in;
	const char *listen, *textfile;
	struct metric_options o;
	uint64_t interval_ns;
	bool once;
	/* set while the command runs */
	struct metrics *m;
	/* instant (trace's clock) before which all events have been counted; 0: none counted yet */
	uint64_t counted_ns;
	bool from_start; /* count this trace from its beginning */
	uint64_t peaks_ns; /* start of the current interval of peaks */
	uint64_t asked_ns; /* when the available events were last counted; CLOCK_MONOTONIC */
	uint64_t looked_ns; /* when the uncounted events were last checked; CLOCK_MONOTONIC */
	bool is_gone; /* the open trace was removed while it was recorded */
	bool failed;
	/*
	 * shared by the counting thread and the endpoint's thread, which requests counts and waits
	 * for them
	 */
	struct http_server *http;
	pthread_mutex_t lock;
	pthread_cond_t is_published;
	int asked_fd; /* eventfd that requests a count; -1: no endpoint */
	unsigned int formats; /* bits 1u << format: formats that a client has requested */
	char *text[FORMAT_CNT];
	size_t bytes[FORMAT_CNT];
	uint64_t published; /* number of publications */
	_Atomic bool is_over;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
}

/* ---- counting ---- */

/*
 * Reads the blocks recorded since the last call. After the recorder has ended, opens a new trace of
 * the same name or, if there is none yet, keeps the old trace open.
 */
static void look(struct metrics_job *j)
{
	struct input next = j->in;
	struct err e = { "" };
	int c = -ESTALE; /* not live: look for a new trace */

	if (trace_is_live(j->in.trace) && !j->is_gone)
		c = trace_refresh(j->in.trace, &e);
	if (!c)
		return;
	j->is_gone = j->is_gone || c != -ESTALE;
	next.trace = NULL;
	next.analysis = NULL;
	if (access(input_path(&j->in), F_OK) || input_open(&next, false))
		return;
	if (strcmp(trace_uuid(next.trace), trace_uuid(j->in.trace))) {
		j->counted_ns = 0;
		j->from_start = true;
	}
	input_close(&j->in);
	j->in = next;
	j->is_gone = false;
}

/* Continues the analysis with the current content of the trace, from from_ns on. */
static int follow_from(struct metrics_job *j, uint64_t from_ns)
{
	struct err e = { "" };

	j->in.follow_from_ns = from_ns;
	return j->in.analysis ?
		       input_status(analysis_refresh(j->in.analysis, from_ns, &e), &e) :
		       input_open_analysis(&j->in);
}

static int count_window(struct metrics_job *j, uint64_t start_ns, uint64_t end_ns)
{
	struct err e = { "" };
	uint64_t missing_ns = input_late_ns(&j->in, j->counted_ns);
	int c;

	if (start_ns > j->counted_ns) {
		missing_ns = start_ns - j->counted_ns;
		j->counted_ns = start_ns;
	}
	c = follow_from(j, j->counted_ns);
	if (c)
		return c;
	input_verify(&j->in, true, j->counted_ns, end_ns);
	c = input_status(metrics_count(j->m, j->in.analysis, j->counted_ns, end_ns, &e), &e);
	metrics_put(j->m, "missing_ns", missing_ns);
	input_note_damage(&j->in);
	j->counted_ns = end_ns;
	if (j->once || end_ns - j->peaks_ns >= j->interval_ns) {
		metrics_end_interval(j->m);
		metrics_put(j->m, "peak_interval_ns", end_ns - j->peaks_ns);
		j->peaks_ns = end_ns;
	}
	return c;
}

/* Counts the directories TRACE.snapshot-TIME beside the trace. -errno: unreadable directory. */
static int count_snapshots(const char *path)
{
	size_t len = strlen(path), at;
	char dir[PATH_MAX], name[NAME_MAX + 16];
	const struct dirent *entry;
	int cnt = 0, n;
	DIR *d;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (at = len; at && path[at - 1] != '/'; at--)
		;
	snprintf(dir, sizeof(dir), "%.*s", at ? (int)at : 1, at ? path : ".");
	n = snprintf(name, sizeof(name), "%.*s.snapshot-", (int)(len - at), path + at);
	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	d = opendir(dir);
	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		cnt += !strncmp(entry->d_name, name, (size_t)n);
	closedir(d);
	return cnt;
}

/* Counts the events recorded since the last call. 0 or an exit status. */
static int count(struct metrics_job *j)
{
	uint64_t start_ns = trace_start_ns(j->in.trace), end_ns = input_known_ns(&j->in);
	int c = 0, snapshots = count_snapshots(input_path(&j->in));

	if (!j->counted_ns)
		j->counted_ns = j->peaks_ns = j->from_start ? start_ns : end_ns;
	j->from_start = true;
	if (end_ns > j->counted_ns && !j->is_gone)
		c = count_window(j, start_ns, end_ns);
	metrics_put(j->m, "recording", trace_is_live(j->in.trace) && !j->is_gone);
	if (snapshots >= 0)
		metrics_put(j->m, "snapshots", (uint64_t)snapshots);
	metrics_put(j->m, "build_info", 1);
	return c;
}

/*
 * Prepares counting from the end of the trace. Reads the last blocks, from which it assigns the
 * first labels and learns what threads wait for, so that the first scrape takes no longer than
 * later scrapes.
 */
static int prepare(struct metrics_job *j)
{
	uint64_t end_ns = input_known_ns(&j->in);
	struct err e = { "" };
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(j->in.trace, &cnt);
	int c;

	for (i = cnt; i && b[i - 1].from_ns + INTERVAL_NS > end_ns; i--)
		;
	if (i == cnt || b[i].from_ns >= end_ns)
		return 0;
	c = follow_from(j, b[i].from_ns);
	if (c)
		return c;
	return input_status(metrics_give_labels(j->m, j->in.analysis, b[i].from_ns, end_ns, &e),
			    &e);
}

/* Returns the number of uncounted events. */
static uint64_t uncounted(const struct metrics_job *j)
{
	uint64_t end_ns = input_known_ns(&j->in), events = 0;
	size_t cnt;
	const struct trace_block *b = trace_blocks(j->in.trace, &cnt);

	while (cnt-- && b[cnt].from_ns >= j->counted_ns)
		if (b[cnt].from_ns < end_ns)
			events += trace_block_events(&b[cnt], UINT32_MAX);
	return events;
}

/* Counts new events, unless the last count is less than wait_ns ago. */
static int count_again(struct metrics_job *j, uint64_t wait_ns)
{
	if (clock_mono_ns() - j->asked_ns < wait_ns)
		return 0;
	look(j);
	j->failed = j->failed || count(j);
	/*
	 * set the times after counting: a request that arrived during the count must not start
	 * another count
	 */
	j->asked_ns = j->looked_ns = clock_mono_ns();
	return j->failed ? EXIT_FAILED : 0;
}

/* Counts without a scrape if there are many uncounted events. */
static int count_many(struct metrics_job *j)
{
	if (clock_mono_ns() - j->looked_ns < AGAIN_NS)
		return 0;
	look(j);
	if (uncounted(j) >= MANY_EVENTS)
		j->failed = j->failed || count(j);
	j->looked_ns = clock_mono_ns();
	return j->failed ? EXIT_FAILED : 0;
}

/* ---- output ---- */

static int make_text(const struct metrics *m, bool openmetrics, char **ret, size_t *ret_bytes)
{
	FILE *f = open_memstream(ret, ret_bytes);
	int c = f ? metrics_write(m, f, openmetrics) : -ENOMEM;

	return f && fclose(f) && !c ? -ENOMEM : c;
}

/* Writes the text in each format that a client has requested, and wakes waiting scrapes. */
static int publish(struct metrics_job *j)
{
	char *text[FORMAT_CNT] = { NULL };
	size_t bytes[FORMAT_CNT];
	unsigned int formats, i;
	int c = 0;

	pthread_mutex_lock(&j->lock);
	formats = j->formats;
	pthread_mutex_unlock(&j->lock);
	for (i = 0; i < FORMAT_CNT && !c; i++)
		if (formats & 1u << i)
			c = make_text(j->m, i, &text[i], &bytes[i]);
	pthread_mutex_lock(&j->lock);
	for (i = 0; i < FORMAT_CNT; i++) {
		if (!text[i])
			continue;
		free(j->text[i]);
		j->text[i] = text[i];
		j->bytes[i] = bytes[i];
	}
	j->failed = j->failed || c;
	j->published++;
	pthread_cond_broadcast(&j->is_published);
	pthread_mutex_unlock(&j->lock);
	return input_status(c, NULL);
}

/*
 * Requests a count and returns the text; runs in the endpoint's thread. If counting takes longer
 * than WAIT_NS, returns the previous text, if there is one.
 */
static char *count_now(struct metrics_job *j, bool openmetrics, size_t *ret_bytes)
{
	const struct timespec until = clock_after(CLOCK_MONOTONIC, WAIT_NS);
	uint64_t before;
	char *text = NULL;
	int r = 0;

	pthread_mutex_lock(&j->lock);
	before = j->published;
	j->formats |= 1u << openmetrics;
	(void)eventfd_write(j->asked_fd, 1);
	while (j->published == before && !j->is_over && (!r || !j->text[openmetrics]))
		r = pthread_cond_timedwait(&j->is_published, &j->lock, &until);
	if (!j->failed && j->text[openmetrics])
		text = malloc(j->bytes[openmetrics] + 1);
	if (text) {
		*ret_bytes = j->bytes[openmetrics];
		memcpy(text, j->text[openmetrics], *ret_bytes);
	}
	pthread_mutex_unlock(&j->lock);
	return text;
}

static void answer(void *ctx, const struct http_request *q, struct http_answer *ret)
{
	bool openmetrics = strstr(q->accept, OPENMETRICS);

	if (!strcmp(q->path, "/")) {
		ret->fixed = "ebpfrec: the metrics are at /metrics\n";
	} else if (strcmp(q->path, "/metrics")) {
		ret->status = 404;
		ret->fixed = "the metrics are at /metrics\n";
	} else {
		ret->text = count_now(ctx, openmetrics, &ret->bytes);
		ret->fixed = "the trace cannot be counted\n";
		ret->status = ret->text ? 200 : 500;
		if (ret->text)
			ret->type = openmetrics ? OPENMETRICS "; version=1.0.0; charset=utf-8"
						: "text/plain; version=0.0.4; charset=utf-8";
	}
}

static void *run_endpoint(void *ctx)
{
	struct metrics_job *j = ctx;

	while (!j->is_over)
		http_server_run(j->http, 500);
	return NULL;
}

/* Writes the text file with mode 0644, because node_exporter runs as another user. */
static int fill_textfile(void *ctx, FILE *f, struct err *e)
{
	struct metrics_job *j = ctx;

	int c = metrics_write(j->m, f, false);

	if (c)
		return c;
	return fchmod(fileno(f), 0644) ? -errno : 0;
}

static int write_textfile(struct metrics_job *j)
{
	char path[PATH_MAX];
	struct err e = { "" };

	snprintf(path, sizeof(path), "%s/" TEXTFILE, j->textfile);
	return input_status(atomic_output_file(path, true, fill_textfile, j, &e), &e);
}

static int give(struct metrics_job *j)
{
	if (j->textfile)
		return write_textfile(j);
	return j->once ? input_status(metrics_write(j->m, stdout, true), NULL) : 0;
}

/* Counts on request, until interrupted. */
static int count_on(struct metrics_job *j)
{
	struct pollfd asked = { .fd = j->asked_fd, .events = POLLIN };
	eventfd_t times;
	int c = 0;

	while (!c && !interrupted) {
		bool is_asked = poll(&asked, 1, 500) > 0 && !eventfd_read(j->asked_fd, &times);

		c = is_asked ? count_again(j, AGAIN_NS) : count_many(j);
		if (!c && clock_mono_ns() - j->asked_ns >= j->interval_ns) {
			c = count_again(j, 0) ?: give(j);
		}
		if (is_asked)
			c = publish(j) ? EXIT_FAILED : c;
	}
	return c;
}

/* The endpoint has a thread of its own, so that a scrape never waits for a long count. */
static int serve(struct metrics_job *j)
{
	const struct sigaction stop = { .sa_handler = on_interrupt };
	sigset_t all, before;
	pthread_t thread;
	int c = 0;

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	/* block signals in the endpoint's thread */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (j->http)
		c = pthread_create(&thread, NULL, run_endpoint, j);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (c)
		return input_status(-c, NULL);
	c = count_on(j);
	if (j->http) {
		pthread_mutex_lock(&j->lock);
		j->is_over = true;
		pthread_cond_broadcast(&j->is_published);
		pthread_mutex_unlock(&j->lock);
		pthread_join(thread, NULL);
	}
	return c || j->failed ? EXIT_FAILED : 0;
}

static int check_options(const struct metrics_job *j)
{
	if (!j->listen && !j->textfile && !j->once)
		return opts_usage_error("say where to: --listen ADDR:PORT, --textfile DIR or "
					"--once");
	if (j->listen && (j->textfile || j->once))
		return opts_usage_error("--listen stands alone, without --%s",
					j->once ? "once" : "textfile");
	return 0;
}

static int listen_for(struct metrics_job *j)
{
	pthread_condattr_t attr;
	struct err e = { "" };

	pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&j->is_published, &attr);
	pthread_condattr_destroy(&attr);
	j->asked_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (j->asked_fd < 0)
		return input_status(-errno, &e);
	return input_status(http_server_start(&j->http, j->listen, answer, j, &e), &e);
}

static int run(void *job)
{
	struct metrics_job *j = job;
	struct err e = { "" };
	int c = check_options(j);

	if (c)
		return c;
	c = input_open(&j->in, false);
	if (c)
		return c;
	j->m = metrics_new(j->o.by, (unsigned int)j->o.top);
	if (!j->m || (!j->once && analysis_follow_new(&j->in.follow) < 0))
		return input_status(-ENOMEM, &e);
	j->from_start = j->once;
	if (j->listen)
		c = listen_for(j);
	if (!c && !j->once)
		c = prepare(j);
	c = c ?: count(j);
	j->asked_ns = j->looked_ns = clock_mono_ns();
	c = c ?: give(j);
	if (!c && j->http)
		say_note("listening on %s/metrics", http_server_url(j->http));
	if (!c && !j->once)
		c = serve(j);
	http_server_stop(j->http);
	return c;
}

static void done(void *job)
{
	struct metrics_job *j = job;

	input_close(&j->in);
	for (unsigned int i = 0; i < FORMAT_CNT; i++)
		free(j->text[i]);
	if (j->asked_fd >= 0)
		close(j->asked_fd);
	metrics_free(j->m);
	analysis_follow_free(j->in.follow);
}

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct metrics_job, in),
	{ 0, "listen", "ADDR:PORT", "answer GET /metrics here; a port alone is on 127.0.0.1",
	  OPTS_TEXT, offsetof(struct metrics_job, listen),
	  .refuse = "the address must not be empty" },
	{ 0, "textfile", "DIR", "write DIR/" TEXTFILE " again every interval, for node_exporter",
	  OPTS_TEXT, offsetof(struct metrics_job, textfile),
	  .refuse = "the directory must not be empty" },
	{ 0, "once", NULL, "count once, on stdout or into --textfile, and end", OPTS_FLAG,
	  offsetof(struct metrics_job, once) },
	METRIC_OPTIONS(struct metrics_job, o),
	{ 0, "interval", "DUR",
	  "length of the interval whose peaks are shown (10s), which is also how\n"
	  "often the trace is counted when nobody asks",
	  OPTS_DURATION, offsetof(struct metrics_job, interval_ns), .min = UNITS_NS_PER_S,
	  .refuse = " is too short; at least 1s" },
	{ 0, "list", NULL, "list the metrics", OPTS_CALL, .take = metric_options_list },
	{ 0 },
};

const struct opts_command metrics_opts = {
	.name = "metrics",
	.about = "Export a trace's sums to Prometheus, also during the recording.",
	.synopsis = "[-i TRACE] --listen ADDR:PORT | --textfile DIR | --once",
	.text = "With --listen and --textfile the program follows the recording, and the next\n"
		"one of the same name, until it is interrupted. Counters are sums since the\n"
		"program began; with --once, since the trace began.\n",
	.options = options,
	.examples =
		"  ebpfrec metrics -i flight.ebpfrec --listen 127.0.0.1:19435\n"
		"  ebpfrec metrics -i flight.ebpfrec --textfile /var/lib/prometheus/node-exporter\n"
		"  ebpfrec metrics --once\n",
	.bytes = sizeof(struct metrics_job),
	.initial = &(const struct metrics_job){ .in.quick = true,
						.interval_ns = INTERVAL_NS,
						.asked_fd = -1,
						.o.top = METRICS_TOP },
	.done = done,
	.run = run,
};
