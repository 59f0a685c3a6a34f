/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* keys: names of the keys, and functions that make each process's text for a key. */
#include "analyze/context/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup_path.h"
#include "base/words.h"

#define INIT_PID 1
#define INIT_NAME "systemd"	/* also the name of a user's service manager */

static const char none[] = "[none]", unknown[] = KEYS_UNKNOWN;

/* ---- texts ---- */

static const char *cgroup_path(const struct task_keys *k, const struct trace_process *p)
{
	const struct trace_name *n =
		trace_name_find(k->ids->trace, TRACE_NAME_CGROUP, p->cgroup_id);

	return n ? n->name : NULL;
}

/*
 * Appends " (process)" to a name that is also the name of a pseudo process. The result is longer
 * than any comm, and so is not the name of another process.
 */
static const char *own_name(const char *name, char *buf)
{
	for (uint32_t i = 0; *name == '[' && i < EVENT_ID_FIRST; i++)
		if (dense_pseudo_name(i) && !strcmp(name, dense_pseudo_name(i))) {
			snprintf(buf, CGROUP_NAME_MAX, "%s (process)", name);
			return buf;
		}
	return name;
}

static const char *comm_text(struct task_keys *k, uint32_t process, char *buf)
{
	return own_name(dense_process_comm(k->ids, process), buf);
}

static const char *cgroup_text(struct task_keys *k, uint32_t process, char *buf)
{
	const struct trace_process *p = dense_process_row(k->ids, process);
	const char *path = cgroup_path(k, p);

	if (!path)
		snprintf(buf, CGROUP_NAME_MAX, "cgroup:%" PRIu64, p->cgroup_id);
	return path ? path : buf;
}

static const char *container_text(struct task_keys *k, uint32_t process, char *buf)
{
	const char *path = cgroup_path(k, dense_process_row(k->ids, process));

	return !path ? unknown : cgroup_path_container(path, buf) ? buf : none;
}

static const char *unit_text(struct task_keys *k, uint32_t process, char *buf)
{
	const char *path = cgroup_path(k, dense_process_row(k->ids, process));

	return !path ? unknown : cgroup_path_unit(path, buf) ? buf : none;
}

/* A user without a name is shown as the number, as in `ps`. */
static const char *user_text(struct task_keys *k, uint32_t process, char *buf)
{
	const struct trace_process *p = dense_process_row(k->ids, process);
	const struct trace_name *n;

	/* no fork, exec or snapshot of the process was recorded */
	if (!p->start_ns && !p->cgroup_id && !*p->exe)
		return unknown;
	n = trace_name_find(k->ids->trace, TRACE_NAME_USER, p->uid + 1ull);
	snprintf(buf, CGROUP_NAME_MAX, "%" PRIu32, p->uid);
	return n ? n->name : buf;
}

/* Returns the parent of a process in its tree; EVENT_ID_UNKNOWN: the process is the root. */
static uint32_t tree_parent(const struct task_keys *k, uint32_t process)
{
	const struct trace_process *p = dense_process_row(k->ids, process), *parent;
	uint32_t up = p ? dense_process(k->ids, p->parent_upid) : EVENT_ID_UNKNOWN;

	parent = dense_process_row(k->ids, up);
	if (!p || !parent || parent->flags & TRACE_TASK_RECORDER || parent->pid == INIT_PID ||
	    !strcmp(parent->comm, INIT_NAME) ||
	    (p->flags & TRACE_TASK_WORKLOAD && !(parent->flags & TRACE_TASK_WORKLOAD)))
		return EVENT_ID_UNKNOWN;
	return up;
}

/*
 * Returns the root of a process's tree, and stores it for every process on the path to the root. A
 * cycle of parents is cut.
 */
static uint32_t root_of(struct task_keys *k, uint32_t process)
{
	uint32_t at = process, root, up, left = k->ids->process_cnt;

	while (!k->roots[at] && (up = tree_parent(k, at)) != EVENT_ID_UNKNOWN && left--)
		at = up;
	if (!k->roots[at])
		k->roots[at] = at + 1;
	root = k->roots[at];
	for (; !k->roots[process]; process = tree_parent(k, process))
		k->roots[process] = root;
	return root - 1;
}

static const char *tree_text(struct task_keys *k, uint32_t process, char *buf)
{
	const struct trace_process *p;

	if (!k->roots)
		k->roots = calloc(k->ids->process_cnt, sizeof(*k->roots));
	if (!k->roots)
		return NULL;
	p = dense_process_row(k->ids, root_of(k, process));
	snprintf(buf, CGROUP_NAME_MAX, "%" PRIu32 " %s", p->pid, p->comm);
	return buf;
}

/* ---- the table ---- */

/* text() returns the text of a process that is not a pseudo process; the text may be in buf. */
static const struct {
	const char *name;
	const char *(*text)(struct task_keys *k, uint32_t process, char buf[CGROUP_NAME_MAX]);
} keys[REPORT_BY_CNT] = {
	[REPORT_BY_PROCESS] = { "process", NULL },
	[REPORT_BY_THREAD] = { "thread", NULL },
	[REPORT_BY_THREAD_NAME] = { "thread_name", NULL },
	[REPORT_BY_COMM] = { "comm", comm_text },
	[REPORT_BY_CGROUP] = { "cgroup", cgroup_text },
	[REPORT_BY_CONTAINER] = { "container", container_text },
	[REPORT_BY_UNIT] = { "unit", unit_text },
	[REPORT_BY_USER] = { "user", user_text },
	[REPORT_BY_TREE] = { "tree", tree_text },
	[REPORT_BY_CPU] = { "cpu", NULL },
	[REPORT_BY_DEVICE] = { "device", NULL },
	[REPORT_BY_PARTITION] = { "partition", NULL },
	[REPORT_BY_OP] = { "op", NULL },
	[REPORT_BY_SIZE] = { "size", NULL },
	[REPORT_BY_FILE] = { "file", NULL },
	[REPORT_BY_VECTOR] = { "vector", NULL },
	[REPORT_BY_SITE] = { "site", NULL },
	[REPORT_BY_WAKER] = { "waker", NULL },
	[REPORT_BY_FUNCTION] = { "function", NULL },
	[REPORT_BY_MODULE] = { "module", NULL },
	[REPORT_BY_NAME] = { "name", NULL },
	[REPORT_BY_STEP] = { "step", NULL },
};

const char *report_key_name(enum report_by key)
{
	return keys[key].name;
}

bool keys_parse(const char *list, unsigned int *ret)
{
	unsigned int mask = 0, i;

	if (!strcmp(list, "none"))
		list = "";
	while (*list) {
		struct word w = word_next(&list);

		for (i = 0; i < REPORT_BY_CNT && !word_is(w, keys[i].name); i++)
			;
		if (i == REPORT_BY_CNT)
			return false;
		mask |= 1u << i;
	}
	*ret = mask;
	return true;
}

void keys_format(unsigned int mask, char *buf, size_t size)
{
	size_t n = 0;

	snprintf(buf, size, "%s", mask ? "" : "none");
	for (unsigned int i = 0; i < REPORT_BY_CNT && n < size; i++)
		if (mask & 1u << i)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? "," : "",
					      keys[i].name);
}

unsigned int keys_of_requests(unsigned int mask)
{
	if (!(mask & KEYS_REQUEST))
		return mask | KEY(DEVICE) | KEY(OP);
	return mask == KEY(DEVICE) || mask == KEY(PARTITION) ? mask | KEY(OP) : mask;
}

void task_keys_init(struct task_keys *k, const struct dense_ids *d)
{
	*k = (struct task_keys){ .ids = d };
}

void task_keys_done(struct task_keys *k)
{
	for (unsigned int i = 0; i < REPORT_BY_CNT; i++)
		free(k->texts[i]);
	free(k->roots);
	strpool_free(k->pool);
	*k = (struct task_keys){ 0 };
}

const char *task_keys_put(struct task_keys *k, const char *text)
{
	return k->pool || !strpool_new(&k->pool) ? strpool_put(k->pool, text) : NULL;
}

const char *task_keys_name(struct task_keys *k, const char *name)
{
	char buf[CGROUP_NAME_MAX];

	return task_keys_put(k, own_name(name, buf));
}

const char *task_keys_thread_name(struct task_keys *k, uint32_t thread)
{
	const struct trace_thread *row = dense_thread_row(k->ids, thread);

	if (row)
		return task_keys_name(k, row->comm);
	return task_keys_put(k, thread >= k->ids->thread_cnt ?
					"" :
					dense_thread_comm(k->ids, thread));
}

const char *task_keys_text(struct task_keys *k, enum report_by key, uint32_t process)
{
	const char *text = dense_process_comm(k->ids, process);
	char buf[CGROUP_NAME_MAX];

	if (!k->texts[key])
		k->texts[key] = calloc(k->ids->process_cnt, sizeof(*k->texts[key]));
	if (!k->texts[key])
		return NULL;
	if (k->texts[key][process])
		return k->texts[key][process];
	if (dense_process_row(k->ids, process))
		text = keys[key].text(k, process, buf);
	text = text ? task_keys_put(k, text) : NULL;
	k->texts[key][process] = text;
	return text;
}
