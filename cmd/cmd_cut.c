/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_cut: `ebpfrec cut -o NEW` makes a new trace of a window of a trace, or of some sources.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "edit/trace_copy.h"
#include "edit/trace_cut.h"

enum { OPT_PID = 256, OPT_COMM, OPT_CGROUP };

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	INPUT_OPTIONS_WINDOW,
	{ 'e', 'e', "events", "LIST",
	  "keep these sources or classes only: sched, alloc.page, block (default: all)" },
	{ OPT_PID, 0, "pid", "PID[,PID...]", "keep events of these processes only" },
	{ OPT_COMM, 0, "comm", "NAME",
	  "keep those of processes of this name; may be a pattern: 'cc*'" },
	{ OPT_CGROUP, 0, "cgroup", "PATH",
	  "keep those of processes in this cgroup or below; may be a pattern" },
	{ INPUT_OPT_NO_INDEX, 0, "no-index", NULL,
	  "read all that lies before the window, instead of using or making derived.idx\n"
	  "beside the trace" },
	{ 'o', 'o', "output", "NEW", "the new trace, which must not exist yet" },
	{ 0 },
};

const struct opts_command cut_opts = {
	.name = "cut",
	.about = "Write a window of a trace as a trace of its own.",
	.synopsis = "[-i TRACE] [--from TIME] [--to TIME] [-e LIST] [--pid PID] [--comm NAME]\n"
		    "  [--cgroup PATH] [--no-index] -o NEW",
	.text = "Clocks, names and ids stay; times count from the new trace's start. The new "
		"trace\n"
		"also holds what began before it and still matters (allocations, requests in "
		"flight,\n"
		"waits), so it answers as the old one does. Views that look beyond the window\n"
		"(spikes, lifetimes) say so. With --pid, --comm or --cgroup, the new trace cannot\n"
		"tell what whole devices did.\n",
	.options = options,
	.examples = "  ebpfrec cut --from 12s --to 14s -o two-seconds.ebpfrec\n"
		    "  ebpfrec cut -e sched,block -o small.ebpfrec\n"
		    "  ebpfrec cut --comm 'cc*' --from 2s --to 3s -o compiler.ebpfrec\n",
};

/* A source by its name, or all of a class by theirs. */
static int keep_source(const char *word, size_t n, uint32_t *left_out)
{
	bool found = false;
	unsigned int i;

	for (i = 0; trace_cut_source(i); i++) {
		const char *name = trace_cut_source(i);

		if (strncmp(name, word, n) || (name[n] && name[n] != '.'))
			continue;
		*left_out &= ~(1u << i);
		found = true;
	}
	return found || (n == 4 && !strncmp(word, "task", 4)) ? 0 : -1;
}

static int take_sources(const char *list, uint32_t *left_out)
{
	unsigned int i;
	size_t n;

	for (i = 0; trace_cut_source(i); i++)
		*left_out |= 1u << i;
	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (!n || keep_source(list, n, left_out))
			return opts_usage_error(
				&cut_opts,
				"-e: unknown source '%.*s'; `ebpfrec record -e list` "
				"shows what there is",
				(int)n, list);
	}
	return 0;
}

/* What was asked for and is not there is named; EXIT_FAILED: that is all of it. */
static int check_recorded(const struct trace *t, const char *path, const char *list)
{
	char word[32];
	bool any = false;
	size_t n;

	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		snprintf(word, sizeof(word), "%.*s", (int)n, list);
		if (trace_was_recorded(t, word))
			any = true;
		else
			say_note("%s: %s was not recorded: nothing of it can be kept", path, word);
	}
	return any ? 0 : EXIT_FAILED;
}

/* ---- processes ---- */

/* What was asked for; any of them is enough. */
struct who {
	const char *pids, *comm, *cgroup;
};

static bool is_listed(const char *pids, uint32_t pid)
{
	char *end;

	for (; *pids; pids = end + (*end == ','))
		if (strtoul(pids, &end, 10) == pid)
			return true;
	return false;
}

/* At the path, or below it. */
static bool is_in_cgroup(const char *path, const char *pattern)
{
	return !fnmatch(pattern, path, 0) || !fnmatch(pattern, path, FNM_LEADING_DIR);
}

static bool is_wanted(const struct trace *t, const struct who *w, const struct trace_process *p)
{
	const struct trace_name *cgroup = trace_name_find(t, TRACE_NAME_CGROUP, p->cgroup_id);

	return (w->pids && is_listed(w->pids, p->pid)) ||
	       (w->comm && !fnmatch(w->comm, p->comm, 0)) ||
	       (w->cgroup && cgroup && is_in_cgroup(cgroup->name, w->cgroup));
}

static int check_pids(const char *pids)
{
	char *end;

	do {
		if (*pids < '1' || *pids > '9' || strtoul(pids, &end, 10) > UINT32_MAX ||
		    (*end && *end != ','))
			return opts_usage_error(&cut_opts, "--pid: '%s' is no list of process ids",
						pids);
		pids = end + 1;
	} while (*end);
	return 0;
}

/* *ret_upids malloc'ed. EXIT_FAILED: there is none. */
static int find_processes(const struct trace *t, const struct who *w, uint32_t **ret_upids,
			  size_t *ret_cnt)
{
	size_t cnt, i, n = 0;
	const struct trace_process *p = trace_processes(t, &cnt);
	uint32_t *upids = malloc((cnt + 1) * sizeof(*upids));

	if (!upids)
		return input_failed(-ENOMEM, NULL);
	for (i = 0; i < cnt; i++)
		if (is_wanted(t, w, &p[i]))
			upids[n++] = p[i].upid;
	*ret_upids = upids;
	*ret_cnt = n;
	if (n)
		return 0;
	say_error("no process of the trace is one of those; `ebpfrec sql 'SELECT pid, comm, "
		  "cgroup FROM processes'` lists what there is");
	return EXIT_FAILED;
}

/* As the manifest tells people. NULL: out of memory. */
static char *say_who(const struct who *w, size_t cnt)
{
	char *text;
	int n = asprintf(&text, "%zu%s%s%s%s%s%s", cnt, w->pids ? ", pid " : "",
			 w->pids ? w->pids : "", w->comm ? ", comm " : "", w->comm ? w->comm : "",
			 w->cgroup ? ", cgroup " : "", w->cgroup ? w->cgroup : "");

	return n < 0 ? NULL : text;
}

static int make(struct trace *t, const struct trace_cut_request *q, const char *path,
		struct trace_cut_result *ret)
{
	struct atomic_output out = { 0 };
	struct err e = { "" };
	int r = trace_copy_refuse(t, path, &e);

	atomic_output_catch_signals();
	if (!r)
		r = atomic_output_begin(&out, path, true, &e);
	if (!r)
		r = trace_cut(t, q, out.path, ret, &e);
	if (!r)
		r = atomic_output_commit(&out, path, false, &e);
	atomic_output_drop(&out);
	return r < 0 ? input_failed(r, &e) : 0;
}

static int cut(const struct input *in, struct trace *t, struct trace_cut_request *q,
	       const char *path)
{
	char n[UNITS_TEXT_MAX], bytes[UNITS_TEXT_MAX], from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX];
	struct trace_cut_result r = { 0 };
	uint64_t start = trace_start_ns(t);
	int c = input_window(in, &cut_opts, t, &q->from_ns, &q->to_ns);

	q->no_points = in->no_index;
	if (!c)
		c = make(t, q, path, &r);
	if (c)
		return c;
	say_note("%s: %s .. %s s of %s, %s in %s block%s", path,
		 units_format_instant(from, sizeof(from), (int64_t)(r.from_ns - start)),
		 units_format_instant(to, sizeof(to), (int64_t)(r.to_ns - start)), input_path(in),
		 units_format_bytes_si(bytes, sizeof(bytes), r.bytes),
		 units_format_count(n, sizeof(n), r.block_cnt), r.block_cnt == 1 ? "" : "s");
	return 0;
}

int cmd_cut(int argc, char **argv)
{
	struct trace_cut_request q = { .reason = "cut" };
	struct who who = { NULL };
	uint32_t *upids = NULL;
	char *processes = NULL;
	const char *value, *output = NULL, *events = NULL;
	struct input in = { 0 };
	struct trace *t = NULL;
	struct opts o;
	int id, c;

	opts_init(&o, &cut_opts, argc, argv);
	while ((id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		if (id == OPTS_OPERAND)
			return opts_usage_error(&cut_opts,
						"unexpected argument '%s'; -i names the trace, -o "
						"the new one",
						value);
		c = 0;
		if (id == 'o')
			output = value;
		else if (id == 'e')
			c = take_sources(events = value, &q.left_out);
		else if (id == OPT_PID)
			c = check_pids(who.pids = value);
		else if (id == OPT_COMM)
			who.comm = value;
		else if (id == OPT_CGROUP)
			who.cgroup = value;
		else
			c = input_take(&in, &cut_opts, id, value);
		if (c)
			return c;
	}
	if (!output || !*output)
		return opts_usage_error(&cut_opts, "-o NEW is needed: the trace is not changed");
	c = input_open(&in, true, &t);
	if (c)
		return c;
	if (events)
		c = check_recorded(t, input_path(&in), events);
	if (!c && (who.pids || who.comm || who.cgroup)) {
		c = find_processes(t, &who, &upids, &q.upid_cnt);
		processes = c ? NULL : say_who(&who, q.upid_cnt);
		if (!c && !processes)
			c = input_failed(-ENOMEM, NULL);
		q.upids = upids;
		q.processes = processes;
	}
	if (!c)
		c = cut(&in, t, &q, output);
	free(upids);
	free(processes);
	trace_close(t);
	return c;
}
