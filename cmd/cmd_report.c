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

/* ---- following ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
}

/* Reads what was recorded meanwhile. 0 or an exit status. */
static int refresh(struct input *in)
{
	struct err e = { "" };
	int c = trace_refresh(in->trace, &e);

	if (c == -ESTALE) { /* --keep removed its beginning */
		input_close(in);
		c = input_open(in, false);
	} else if (c) {
		c = say_error("%s", err_text(&e, c));
	}
	if (!c && !trace_is_live(in->trace) && !trace_is_finished(in->trace))
		say_note("%s: its recorder is gone", input_path(in));
	return c;
}

static int follow(struct report_options *o)
{
	const struct timespec wait = { .tv_sec = (time_t)(o->follow_ns / UNITS_NS_PER_S),
				       .tv_nsec = (long)(o->follow_ns % UNITS_NS_PER_S) };
	struct sigaction stop = { .sa_handler = on_interrupt };
	const char *begin = isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "";
	int c;

	sigaction(SIGINT, &stop, NULL);
	for (;;) {
		/* The first block comes after a second; until then there is nothing to show. */
		if (trace_end_ns(o->in.trace) || !trace_is_live(o->in.trace)) {
			/* A terminal is cleared; a file gets an empty line between answers. */
			fputs(begin, stdout);
			begin = *begin == '\033' ? begin : "\n";
			c = report_answer(o);
			fflush(stdout);
			if (c || ferror(stdout))
				return c;
		}
		if (!trace_is_live(o->in.trace) || interrupted)
			return 0;
		nanosleep(&wait, NULL);
		if (interrupted)
			return 0;
		c = refresh(&o->in);
		if (c)
			return c;
	}
}

static int report_hosts(struct report_options *o)
{
	uint64_t limit = o->has_limit || o->in.format != RENDER_TABLE ? o->q.limit :
									REPORT_TABLE_ROWS;
	struct hosts h;
	int c = hosts_open(&h, &o->in, o->paths.v, o->paths.cnt);

	if (c)
		return c;
	c = hosts_window(&h, &o->in, o->q.every_ns, report_needs(o->q.view));
	if (!c)
		c = hosts_report(&h, &o->in, o->view, &o->q, limit);
	hosts_close(&h);
	return c;
}

static int run(void *job)
{
	struct report_options *o = job;
	int c = report_options_check(o);

	if (!c && o->paths.cnt > 1)
		return report_hosts(o);
	if (!c)
		c = input_open(&o->in, !o->follow_ns);
	if (c)
		return c;
	return o->follow_ns ? follow(o) : report_answer(o);
}

const struct opts_command report_opts = {
	.name = "report",
	.about = "Answer a question about a window of a trace.",
	.synopsis = "[-i TRACE] [VIEW] [OPTIONS]",
	.text = "'ebpfrec report --list' shows the values of VIEW; the default is summary.\n"
		"Tables are for reading. csv and json hold all rows as raw numbers, with the unit "
		"in\n"
		"the column's name. folded, for the views stacks and leaks, is for flame graph "
		"tools.\n"
		"Several traces (-i again, or names after the options) share one axis of "
		"wall-clock\n"
		"time; rows then begin with the host.\n",
	.options = report_options,
	.examples = "  ebpfrec report\n"
		    "  ebpfrec report cpu --from 1.5s --to 3s\n"
		    "  ebpfrec report cpu --every 100ms --format csv > cpu.csv\n"
		    "  ebpfrec report alloc --by process --from 2s --to 2.1s\n"
		    "  ebpfrec report io --every 1s --by device --format csv\n"
		    "  ebpfrec report cpu --from -10s --follow\n"
		    "  ebpfrec report --phases --during make\n"
		    "  ebpfrec report cpu --every 1s --format csv -i *.ebpfrec\n",
	.bytes = sizeof(struct report_options),
	.initial = &(const struct report_options){ .in.quick = true },
	.done = report_options_done,
	.operand = report_options_operand,
	.run = run,
};
