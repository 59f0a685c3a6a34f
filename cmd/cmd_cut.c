/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_cut: `ebpfrec cut -o NEW` makes a new trace from a window, or from some sources, of a trace.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/copy/new_trace.h"
#include "cmd/input/opts.h"
#include "cmd/input/who.h"
#include "cmd/render/say.h"
#include "edit/trace_cut.h"
#include "base/words.h"

/* Selects processes: a process that matches any member of this struct is kept. */
struct who {
	struct lists_ids ids;
	char *pids;	/* ids as text */
	const char *comm, *cgroup;
	bool workload;
};

struct cut {
	struct input in;
	struct trace_cut_request q;
	struct trace_cut_result made;
	struct who who;
	const char *output, *events;
	/* arrays and texts that q refers to */
	uint32_t *upids;
	char *processes;
};

/* Keeps a source, or all sources of a class: removes them from *left_out. -1: unknown name. */
static int keep_source(struct word w, uint32_t *left_out)
{
	bool found = false;

	for (unsigned int i = 0; trace_cut_source(i); i++) {
		const char *name = trace_cut_source(i);

		if (strncmp(name, w.s, w.len) || (name[w.len] && name[w.len] != '.'))
			continue;
		*left_out &= ~(1u << i);
		found = true;
	}
	return found || word_is(w, "task") ? 0 : -1;
}

static int take_sources(void *job, const char *list, struct err *e)
{
	struct cut *c = job;
	uint32_t *left_out = &c->q.left_out;

	c->events = list;
	for (unsigned int i = 0; trace_cut_source(i); i++)
		*left_out |= 1u << i;
	while (*list) {
		struct word w = word_next(&list);

		if (!w.len || keep_source(w, left_out))
			return err_set(e, -EINVAL,
				       "unknown source '%.*s'; `ebpfrec record -e list` shows what "
				       "there is",
				       w.len, w.s);
	}
	return 0;
}

/*
 * Prints a note for each source in the list that was not recorded. EXIT_FAILED if no source
 * was recorded.
 */
static int check_recorded(const struct trace *t, const char *path, const char *list)
{
	char word[32];
	bool any = false;

	while (*list) {
		struct word w = word_next(&list);

		snprintf(word, sizeof(word), "%.*s", w.len, w.s);
		if (trace_was_recorded(t, word))
			any = true;
		else
			say_note("%s: %s was not recorded: nothing of it can be kept", path, word);
	}
	return any ? 0 : EXIT_FAILED;
}

/* ---- processes ---- */

/* Returns whether the pattern matches the path or one of its parents. */
static bool is_in_cgroup(const char *path, const char *pattern)
{
	return !fnmatch(pattern, path, 0) || !fnmatch(pattern, path, FNM_LEADING_DIR);
}

static bool is_wanted(const struct trace *t, const struct who *w, const struct hash_map *had_comm,
		      const struct trace_process *p)
{
	const struct trace_name *cgroup = trace_name_find(t, TRACE_NAME_CGROUP, p->cgroup_id);

	for (unsigned int i = 0; i < w->ids.cnt; i++)
		if (w->ids.v[i] == p->pid)
			return true;
	return (w->workload && p->flags & TRACE_TASK_WORKLOAD) ||
	       (w->comm && (!fnmatch(w->comm, p->comm, 0) || hash_map_get(had_comm, p->upid))) ||
	       (w->cgroup && cgroup && is_in_cgroup(cgroup->name, w->cgroup));
}

static int take_pids(void *who, const char *value, struct err *e)
{
	struct who *w = who;

	return lists_take_words(&w->pids, value, e) ?: lists_take_ids(&w->ids, value, e);
}

static int find_processes(struct cut *c)
{
	const struct who *w = &c->who;
	size_t cnt, i;
	const struct trace_process *p = trace_processes(c->in.trace, &cnt);

	struct hash_map had = { 0 };

	c->q.upids = c->upids = malloc((cnt + 1) * sizeof(*c->upids));
	if (!c->upids || (w->comm && who_had_name(c->in.trace, WHO_PROCESS, w->comm, &had) < 0)) {
		hash_map_done(&had);
		return input_status(-ENOMEM, NULL);
	}
	for (i = 0; i < cnt; i++)
		if (is_wanted(c->in.trace, w, &had, &p[i]))
			c->upids[c->q.upid_cnt++] = p[i].upid;
	hash_map_done(&had);
	if (!c->q.upid_cnt && w->workload)
		return who_none(&c->in, WHO_WORKLOAD, NULL);
	if (!c->q.upid_cnt)
		return w->cgroup && !w->comm ? who_none(&c->in, WHO_CGROUP, w->cgroup) :
					       who_none(&c->in, WHO_PROCESS, w->comm ?: w->pids);
	/* human-readable text for the manifest */
	if (asprintf(&c->processes, "%zu%s%s%s%s%s%s%s", c->q.upid_cnt,
		     w->workload ? ", workload" : "", w->pids ? ", pid " : "",
		     w->pids ? w->pids : "", w->comm ? ", comm " : "", w->comm ? w->comm : "",
		     w->cgroup ? ", cgroup " : "", w->cgroup ? w->cgroup : "") < 0) {
		c->processes = NULL;
		return input_status(-ENOMEM, NULL);
	}
	c->q.processes = c->processes;
	return 0;
}

static int write_cut(void *ctx, const char *path, struct err *e)
{
	struct cut *c = ctx;

	return trace_cut(c->in.trace, &c->q, path, &c->made, e);
}

static void say_result(const struct cut *c)
{
	uint64_t start = trace_start_ns(c->in.trace);

	say_note("%s: %s .. %s s of %s, %s in %s", c->output,
		 say_instant((int64_t)(c->made.from_ns - start)),
		 say_instant((int64_t)(c->made.to_ns - start)), input_path(&c->in),
		 say_bytes_si(c->made.bytes), say_counted(c->made.block_cnt, "block"));
	if (c->made.gaps.cnt)
		say_note("%s: %s in the window, %s in all, where the trace is damaged; reports "
			 "over %s are incomplete and say so",
			 c->output, say_counted(c->made.gaps.cnt, "gap"),
			 say_duration(c->made.gaps.ns), c->made.gaps.cnt == 1 ? "it" : "them");
}

static int run(void *job)
{
	struct cut *c = job;
	int r = input_open(&c->in, true);

	if (!r && c->events)
		r = check_recorded(c->in.trace, input_path(&c->in), c->events);
	if (!r && (c->who.pids || c->who.comm || c->who.cgroup || c->who.workload))
		r = find_processes(c);
	r = r ?: input_window(&c->in, &c->q.from_ns, &c->q.to_ns) ?: input_open_cut(&c->in, &c->q);
	r = r ?: new_trace_make(c->in.trace, c->output, write_cut, c, NULL);
	if (!r)
		say_result(c);
	return r;
}

static void done(void *job)
{
	struct cut *c = job;

	input_close(&c->in);
	free(c->upids);
	free(c->processes);
	free(c->who.ids.v);
	free(c->who.pids);
}

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct cut, in),
	INPUT_OPTIONS_WINDOW(struct cut, in),
	{ 'e', "events", "LIST",
	  "keep these sources or classes only: sched, alloc.page, block (default: all)", OPTS_CALL,
	  .take = take_sources },
	{ 0, "pid", "PID[,PID...]", "keep events of these processes only", OPTS_CALL,
	  offsetof(struct cut, who), take_pids },
	{ 0, "comm", "NAME", "keep those of processes of this name; may be a pattern: 'cc*'",
	  OPTS_TEXT, offsetof(struct cut, who.comm) },
	{ 0, "cgroup", "PATH", "keep those of processes in this cgroup or below; may be a pattern",
	  OPTS_TEXT, offsetof(struct cut, who.cgroup) },
	{ 0, "workload", NULL,
	  "keep those of the recorded command, -p, --cgroup, and descendants", OPTS_FLAG,
	  offsetof(struct cut, who.workload) },
	{ 0, "no-index", NULL,
	  "read all that lies before the window, instead of using or making derived.idx\n"
	  "beside the trace",
	  OPTS_FLAG, offsetof(struct cut, in.no_index) },
	{ 'o', "output", "NEW", "the new trace, which must not exist yet", OPTS_TEXT,
	  offsetof(struct cut, output), .needed = "-o NEW is needed: the trace is not changed" },
	{ 0 },
};

const struct opts_command cut_opts = {
	.name = "cut",
	.about = "Write a window of a trace as a new trace.",
	.synopsis = "[-i TRACE] [--from TIME] [--until TIME] [-e LIST] [--pid PID]\n"
		    "  [--comm NAME] [--cgroup PATH] [--workload] [--no-index] -o NEW",
	.text = "Clocks, names and ids stay; times count from the new trace's start. The new "
		"trace\n"
		"also holds what began before it and still matters (allocations, requests in "
		"flight,\n"
		"waits), so it answers as the old one does; `report spikes`, which looks beyond\n"
		"the window, says where it cannot. With --pid, --comm, --cgroup or --workload,\n"
		"the new trace cannot tell what whole devices did.\n",
	.options = options,
	.examples = "  ebpfrec cut --from 12s --until 14s -o two-seconds.ebpfrec\n"
		    "  ebpfrec cut -e sched,block -o small.ebpfrec\n"
		    "  ebpfrec cut --comm 'cc*' --from 2s --until 3s -o compiler.ebpfrec\n",
	.bytes = sizeof(struct cut),
	.initial = &(const struct cut){ .in.quick = true, .q.reason = "cut" },
	.done = done,
	.operand_hint = "-i names the trace, -o the new one",
	.run = run,
};
