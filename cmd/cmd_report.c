/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_report: `ebpfrec report` shows one canned view of one window: once, or again and again while
 * the trace is recorded, or for several hosts on one axis of time.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/hosts.h"
#include "cmd/input/report_options.h"
#include "cmd/render/say.h"
#include "cmd/report_answer.h"

struct report_run {
	struct report_options o;
	struct trace *trace;
};

/* ---- following ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
}

/* Reads what was recorded meanwhile. 0 or an exit status. */
static int refresh(struct report_run *r)
{
	struct err e = { "" };
	int c = trace_refresh(r->trace, &e);

	if (c == -ESTALE) { /* --keep removed its beginning */
		trace_close(r->trace);
		r->trace = NULL;
		c = input_open(&r->o.in, false, &r->trace);
	} else if (c) {
		say_error("%s", err_text(&e, c));
		c = EXIT_FAILED;
	}
	if (!c && !trace_is_live(r->trace) && !trace_is_finished(r->trace))
		say_note("%s: its recorder is gone", input_path(&r->o.in));
	return c;
}

static int follow(struct report_run *r)
{
	const struct timespec wait = { .tv_sec = (time_t)(r->o.follow_ns / UNITS_NS_PER_S),
				       .tv_nsec = (long)(r->o.follow_ns % UNITS_NS_PER_S) };
	struct sigaction stop = { .sa_handler = on_interrupt };
	const char *begin = isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "";
	int c;

	sigaction(SIGINT, &stop, NULL);
	for (;;) {
		/* The first block comes after a second; until then there is nothing to show. */
		if (trace_end_ns(r->trace) || !trace_is_live(r->trace)) {
			/* A terminal is cleared; a file gets an empty line between answers. */
			fputs(begin, stdout);
			begin = *begin == '\033' ? begin : "\n";
			c = report_answer(&r->o, r->trace);
			fflush(stdout);
			if (c || ferror(stdout))
				return c;
		}
		if (!trace_is_live(r->trace) || interrupted)
			return 0;
		nanosleep(&wait, NULL);
		if (interrupted)
			return 0;
		c = refresh(r);
		if (c)
			return c;
	}
}

static int report_hosts(struct report_run *r)
{
	uint64_t limit =
		r->o.has_limit || r->o.in.format != RENDER_TABLE ? r->o.q.limit : REPORT_TABLE_ROWS;
	struct hosts h;
	int c = hosts_open(&h, &r->o.in, r->o.paths, r->o.path_cnt);

	if (c)
		return c;
	c = hosts_window(&h, &r->o.in, &report_opts, r->o.q.every_ns, report_needs(r->o.q.view));
	if (!c)
		c = hosts_report(&h, &r->o.in, &report_opts, r->o.view, &r->o.q, limit);
	hosts_close(&h);
	return c;
}

static int report(struct report_run *r)
{
	int c = input_open(&r->o.in, !r->o.follow_ns, &r->trace);

	if (!c)
		c = r->o.follow_ns ? follow(r) : report_answer(&r->o, r->trace);
	trace_close(r->trace);
	return c;
}

int cmd_report(int argc, char **argv)
{
	struct report_run r = { 0 };
	bool is_done;
	int status = report_options_take(&r.o, argc, argv, &is_done);

	if (!is_done)
		status = r.o.path_cnt > 1 ? report_hosts(&r) : report(&r);
	report_options_done(&r.o);
	return status;
}
