/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * who: looks up the processes and threads that options of report and cut select. The error for a
 * word that matches no process suggests a thread of that name, or a similar name.
 */
#include "cmd/input/who.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/input/opts.h"
#include "cmd/render/say.h"

#define DURING_SHOWN 5
#define NAMES_SHOWN 8

/* A process or a thread. */
struct task {
	uint32_t id;		/* PID or TID */
	uint32_t upid, utid;	/* utid 0: a process */
	const char *comm;
	uint64_t start_ns, end_ns;
	uint16_t flags;
};

/*
 * An option's selection: tasks with one of these ids, with this name or pattern, or of the
 * workload.
 */
struct wanted {
	const uint32_t *ids;
	const char *name;
	unsigned int id_cnt;
	bool is_exact;
	bool of_workload;
	const struct hash_map *had;	/* tasks that had the name earlier (who_had_name()) */
};

static size_t task_cnt(const struct trace *t, enum who_kind kind)
{
	return kind == WHO_THREAD ? trace_thread_cnt(t) : trace_process_cnt(t);
}

static struct task task_at(const struct trace *t, enum who_kind kind, size_t i)
{
	const struct trace_thread *thread;
	const struct trace_process *p;

	if (kind == WHO_THREAD) {
		thread = trace_thread_at(t, i);
		return (struct task){ thread->tid, thread->upid, thread->utid, thread->comm,
				      thread->start_ns, thread->end_ns, thread->flags };
	}
	p = trace_process_at(t, i);
	return (struct task){ p->pid, p->upid, 0, p->comm, p->start_ns, p->end_ns,
			      p->flags };
}

static bool is_wanted(const struct wanted *w, const struct task *task)
{
	for (unsigned int i = 0; i < w->id_cnt; i++)
		if (w->ids[i] == task->id)
			return true;
	if (w->of_workload)
		return task->flags & TRACE_TASK_WORKLOAD;
	return w->name && (!strcmp(w->name, task->comm) ||
			   (!w->is_exact && !fnmatch(w->name, task->comm, 0)) ||
			   (w->had && hash_map_get(w->had, task->utid ?: task->upid)));
}

int who_had_name(const struct trace *t, enum who_kind kind, const char *pattern,
		 struct hash_map *ret)
{
	size_t cnt, i;
	const struct trace_task_event *ev = trace_task_events(t, &cnt);
	const struct trace_thread *thread;
	const struct trace_process *p;
	int r = 0;

	for (i = 0; i < cnt && !r; i++) {
		if (!*ev[i].comm ||
		    (strcmp(pattern, ev[i].comm) && fnmatch(pattern, ev[i].comm, 0)))
			continue;
		thread = trace_thread_find(t, ev[i].utid);
		p = trace_process_find(t, ev[i].upid);
		if (kind == WHO_THREAD)
			r = hash_map_put(ret, ev[i].utid, (void *)1);
		/* a process has the name of its main thread */
		else if (thread && p && thread->tid == p->pid)
			r = hash_map_put(ret, ev[i].upid, (void *)1);
	}
	return r < 0 ? r : 0;
}

/*
 * Finds the first matching task at or after index *at, and sets *at to the start of the next
 * search.
 */
static bool find_next(const struct trace *t, enum who_kind kind, const struct wanted *w, size_t *at,
		      struct task *ret)
{
	for (size_t cnt = task_cnt(t, kind); *at < cnt;) {
		*ret = task_at(t, kind, (*at)++);
		if (is_wanted(w, ret))
			return true;
	}
	return false;
}

/* Returns the selection of a word: an id if the word is a number, else a name. */
static struct wanted wanted_of(const char *word, uint32_t *id, bool is_exact)
{
	uint64_t number;

	if (units_parse_count(word, &number, NULL) || number > UINT32_MAX)
		return (struct wanted){ .name = word, .is_exact = is_exact };
	*id = (uint32_t)number;
	return (struct wanted){ .ids = id, .id_cnt = 1 };
}

/* ---- no match ---- */

/* Suggests a thread with this name, since no process has it. False: no such thread. */
static bool say_thread(const struct input *in, const char *word)
{
	struct task thread;
	uint32_t id;
	const struct wanted w = wanted_of(word, &id, false);
	char *const option[] = { w.name ? "--thread" : "--tid", (char *)word, NULL };
	const struct trace_process *p;
	char *pasted;
	size_t at = 0;

	if (!find_next(in->trace, WHO_THREAD, &w, &at, &thread))
		return false;
	p = trace_process_find(in->trace, thread.upid);
	pasted = lists_join_argv(option);
	if (in->of_threads)
		say_error("%s: no process %s %s; a thread %s: %s", input_path(in),
			  w.name ? "is named" : "has the PID", word, w.name ? "is" : "has that TID",
			  pasted ?: "");
	else
		say_error("%s: no process %s %s; a thread of process %u, %s, %s: --pid %u",
			  input_path(in), w.name ? "is named" : "has the PID", word,
			  p ? p->pid : 0, p ? p->comm : "[unknown]",
			  w.name ? "is" : "has that TID", p ? p->pid : 0);
	free(pasted);
	return true;
}

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* Returns the name of a task, or the path of its process's cgroup, for messages; NULL: none. */
static const char *shown_name(const struct trace *t, enum who_kind kind, size_t i)
{
	const struct trace_name *n;

	if (kind != WHO_CGROUP)
		return task_at(t, kind, i).comm;
	n = trace_name_find(t, TRACE_NAME_CGROUP, trace_process_at(t, i)->cgroup_id);
	return n ? n->name : NULL;
}

int who_none(const struct input *in, enum who_kind kind, const char *word)
{
	static const char *const kinds[] = { "process", "thread", "cgroup" };
	static const char process_list[] = "`ebpfrec sql -i %s 'SELECT pid, comm, cgroup FROM "
					   "processes'`";
	static const char thread_list[] = "`ebpfrec sql -i %s 'SELECT tid, comm FROM threads'`";
	size_t cnt = task_cnt(in->trace, kind), i;
	const char **names;
	int near;

	if (kind == WHO_WORKLOAD)
		return say_error("%s: the trace has no workload: it was recorded without a "
				 "command, -p or --cgroup",
				 input_path(in));
	if (kind == WHO_PROCESS && say_thread(in, word))
		return EXIT_FAILED;
	names = calloc(cnt + 1, sizeof(*names));
	if (!names)
		return say_error("out of memory");
	for (i = 0; i < cnt; i++) {
		names[i] = shown_name(in->trace, kind, i);
		if (kind == WHO_CGROUP)
			names[i] = last_part(names[i]);
	}
	near = nearest_find(kind == WHO_CGROUP ? last_part(word) : word, names, (unsigned int)cnt);
	free(names);
	if (near >= 0)
		return say_error("%s: there is no %s '%s' in the trace; did you mean '%s'?",
				 input_path(in), kinds[kind], word,
				 shown_name(in->trace, kind, (size_t)near));
	return say_error("%s: there is no %s '%s' in the trace; %s lists them", input_path(in),
			 kinds[kind], word,
			 kind == WHO_THREAD ? say_format(thread_list, input_path(in)) :
					      say_format(process_list, input_path(in)));
}

/* ---- options ---- */

/* Number of options that select tasks: --pid, --comm, --workload, --tid and --thread. */
#define OPTION_CNT 5
#define OF_PROCESSES 3	/* the first three options select processes */
#define TOGETHER (1u << OPTION_CNT)	/* bit: a task matches all options */
#define REQUESTS (2u << OPTION_CNT)

_Static_assert(WHO_ALL == 2 * REQUESTS - 1, "bits of who_find()");

static enum who_kind kind_of(unsigned int option)
{
	return option < OF_PROCESSES ? WHO_PROCESS : WHO_THREAD;
}

static void wanted_of_options(struct wanted w[static OPTION_CNT], const struct report_request *q)
{
	w[0] = (struct wanted){ .ids = q->pids, .id_cnt = q->pid_cnt };
	w[1] = (struct wanted){ .name = q->comm };
	w[2] = (struct wanted){ .of_workload = q->workload };
	w[3] = (struct wanted){ .ids = q->tids, .id_cnt = q->tid_cnt };
	w[4] = (struct wanted){ .name = q->thread };
}

/*
 * Returns whether the option is set and selects tasks of the trace's lists, which do not contain
 * groups such as [unknown].
 */
static bool is_listed(const struct wanted *w)
{
	return w->id_cnt || w->of_workload || (w->name && *w->name != '[');
}

static bool is_named_by_all(const struct trace *t, const struct wanted w[static OPTION_CNT],
			    size_t thread)
{
	const struct task task = task_at(t, WHO_THREAD, thread);
	const struct trace_process *p = trace_process_find(t, task.upid);
	const struct task process = { p ? p->pid : 0, task.upid, 0, p ? p->comm : "", 0, 0,
				      p ? p->flags : 0 };

	for (unsigned int i = 0; i < OPTION_CNT; i++)
		if (is_listed(&w[i]) &&
		    !is_wanted(&w[i], kind_of(i) == WHO_THREAD ? &task : &process))
			return false;
	return true;
}

/* Names of the requests of programs in a trace, the most frequent first. */
struct request_names {
	char list[300];
	unsigned int cnt;
	int status;		/* 0 or -errno */
};

static int add_name(void *ctx, const struct value *v)
{
	struct request_names *x = ctx;
	size_t n = strlen(x->list);

	if (x->cnt++ < NAMES_SHOWN)
		snprintf(x->list + n, sizeof(x->list) - n, "%s%s", n ? ", " : "",
			 say_text(v[0].text));
	return 0;
}

static struct request_names request_names(struct trace *t, const char *pattern)
{
	const struct report_request q = { .view = "requests", .requests = pattern,
					  .to_ns = UINT64_MAX, .with_recorder = true };
	struct request_names ret = { "" };
	const struct row_sink sink = { .ctx = &ret, .row = add_name };
	struct analysis *a = NULL;

	ret.status = analysis_open(&a, t, NULL);
	ret.status = ret.status ?: analysis_report(a, &q, &sink, NULL);
	analysis_close(a);
	return ret;
}

/* Prints that no request of the trace has this name, and the names of its requests. */
static int requests_none(const struct input *in, const char *pattern)
{
	const struct request_names all = request_names(in->trace, NULL);

	if (all.cnt)
		return say_error("%s: no request is named %s; there %s: %s%s", input_path(in),
				 say_text(pattern), all.cnt > 1 ? "are" : "is", all.list,
				 all.cnt > NAMES_SHOWN ? ", ..." : "");
	return say_error("%s: no request is named %s: the trace has no requests; record them with "
			 "--spans, --span-fd or --request", input_path(in), say_text(pattern));
}

unsigned int who_find(struct trace *t, const struct report_request *q)
{
	struct hash_map processes = { 0 }, threads = { 0 };
	struct wanted w[OPTION_CNT];
	struct request_names named;
	unsigned int found = 0;
	bool is_asked = false;
	size_t block_cnt, at;
	struct task task;

	wanted_of_options(w, q);
	/* if memory is short, only the last names of tasks are searched */
	if (q->comm && !who_had_name(t, WHO_PROCESS, q->comm, &processes))
		w[1].had = &processes;
	if (q->thread && !who_had_name(t, WHO_THREAD, q->thread, &threads))
		w[4].had = &threads;
	for (unsigned int i = 0; i < OPTION_CNT; i++) {
		at = 0;
		if (!is_listed(&w[i]) || find_next(t, kind_of(i), &w[i], &at, &task))
			found |= 1u << i;
		is_asked |= is_listed(&w[i]);
	}
	/* without events or without these options, all of them count as matched */
	trace_blocks(t, &block_cnt);
	if (!block_cnt || !is_asked)
		found = WHO_ALL & ~REQUESTS;
	for (at = 0; at < trace_thread_cnt(t) && !(found & TOGETHER); at++)
		if (is_named_by_all(t, w, at))
			found |= TOGETHER;
	hash_map_done(&processes);
	hash_map_done(&threads);
	if (!block_cnt || !q->requests)
		return found | REQUESTS;
	/* ignore errors here: the report will fail with the same error */
	named = request_names(t, q->requests);
	return found | (named.cnt || named.status ? REQUESTS : 0);
}

int who_check(const struct input *in, const struct report_request *q, unsigned int found)
{
	static const char *const options[] = { "--pid", "--comm", "--workload", "--tid",
					       "--thread" };
	struct wanted w[OPTION_CNT];
	const char *given = "";
	char id[16];

	if (found == WHO_ALL)
		return 0;
	wanted_of_options(w, q);
	for (unsigned int i = 0; i < OPTION_CNT; i++) {
		if (found & 1u << i) {
			if (is_listed(&w[i]))
				given = say_format("%s%s%s", given, *given ? ", " : "", options[i]);
			continue;
		}
		if (w[i].of_workload)
			return who_none(in, WHO_WORKLOAD, NULL);
		if (!w[i].id_cnt)
			return who_none(in, kind_of(i), w[i].name);
		snprintf(id, sizeof(id), "%u", w[i].ids[0]);
		return who_none(in, kind_of(i), id);
	}
	if (!(found & REQUESTS))
		return requests_none(in, q->requests);
	return say_error("%s: no process or thread matches all of these: %s",
			 input_path(in), given);
}

struct request_hit {
	uint64_t from_ns, to_ns;
	unsigned int cnt;
};

static int add_request(void *ctx, const struct value *v)
{
	struct request_hit *hit = ctx;

	hit->from_ns = (uint64_t)v[0].i;
	hit->to_ns = (uint64_t)v[1].i;
	hit->cnt++;
	return 0;
}

int who_request(const struct input *in, const char *option, const char *text, uint64_t *from_ns,
		uint64_t *to_ns, uint64_t *ret_id)
{
	uint64_t start_ns = trace_start_ns(in->trace);
	const char *given = text;
	struct request_hit hit = { 0 };
	const struct row_sink sink = { .ctx = &hit, .row = add_request };
	struct analysis *a = NULL;
	struct err e = { "" };
	uint64_t id = 0;
	char sql[200];
	int r;

	for (; *text && (*text == ',' || (*text >= '0' && *text <= '9')); text++)
		id = *text == ',' ? id : id * 10 + (uint64_t)(*text - '0');
	if (*text || !id)
		return opts_usage_error("%s: '%s' is not the id of a request, a number as `ebpfrec "
					"report requests --slowest 5` shows it", option, given);
	snprintf(sql, sizeof(sql), "SELECT start_ns, start_ns + dur_ns FROM requests(%lld, %lld) "
		 "WHERE id = %lld", (long long)(*from_ns - start_ns),
		 (long long)(*to_ns - start_ns), (long long)id);
	r = analysis_open(&a, in->trace, &e);
	r = r ?: analysis_sql(a, sql, &sink, &e);
	analysis_close(a);
	if (r)
		return say_error("%s", err_text(&e, r));
	if (!hit.cnt)
		return opts_usage_error("%s: no request has the id %llu; `ebpfrec report "
					"requests --slowest 5` shows ids", option,
					(unsigned long long)id);
	if (hit.cnt > 1)
		return opts_usage_error("%s: %u requests have the id %llu; give --from and "
					"--until", option, hit.cnt, (unsigned long long)id);
	*to_ns = start_ns + hit.to_ns;
	*from_ns = start_ns + hit.from_ns;
	*ret_id = id;
	return 0;
}

int who_during(const struct input *in, uint64_t *from_ns, uint64_t *to_ns)
{
	enum who_kind kind = WHO_PROCESS;
	char list[400] = "";
	uint32_t id;
	const struct wanted w = wanted_of(in->during, &id, true);
	struct task task, found = { 0 };
	size_t at = 0, hits = 0;
	uint64_t request;

	if (!strncmp(in->during, "request:", 8))
		return who_request(in, "--during", in->during + 8, from_ns, to_ns, &request);
	if (in->from || in->to)
		return opts_usage_error("--during is a window of its own: leave out --from and "
					"--until");
	if (!find_next(in->trace, kind, &w, &at, &task))
		kind = WHO_THREAD;
	for (at = 0; find_next(in->trace, kind, &w, &at, &task);) {
		found = task;
		if (hits++ < DURING_SHOWN)
			snprintf(list + strlen(list), sizeof(list) - strlen(list),
				 "%s%u (from %s s)", hits > 1 ? ", " : "", task.id,
				 say_instant(task.start_ns > *from_ns ?
						     (int64_t)(task.start_ns - *from_ns) : 0));
	}
	if (!hits)
		return who_none(in, WHO_PROCESS, in->during);
	if (hits > 1)
		return opts_usage_error("--during: %zu %s are '%s': %s%s; give a %s, or "
					"--from and --until",
					hits, kind == WHO_THREAD ? "threads" : "processes",
					in->during, list, hits > DURING_SHOWN ? ", ..." : "",
					kind == WHO_THREAD ? "TID" : "pid");
	if (found.start_ns > *from_ns)
		*from_ns = found.start_ns;
	if (found.end_ns && found.end_ns < *to_ns)
		*to_ns = found.end_ns;
	return 0;
}
