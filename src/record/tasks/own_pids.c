/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * own_pids: finds this program in the kernel's list of tasks. For each process, the list has its id
 * and its parent's id in the initial namespace, and its id in its own namespace. A process is
 * assumed to be this program if its own id and its children's ids match. Other namespaces may
 * contain the same ids: if two processes match, the result is unknown.
 */
#include "record/tasks/own_pids.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "probe/probe.h"

#define PID_NS_INITIAL 0xEFFFFFFCu /* inode of /proc/self/ns/pid: PROC_PID_INIT_INO */

bool own_pids_are_other(void)
{
	struct stat ns;

	return !stat("/proc/self/ns/pid", &ns) && ns.st_ino != PID_NS_INITIAL;
}

static int keep_process(void *ctx, const struct wire_snap *snap)
{
	struct buf *rows = ctx;

	if (snap->task.tid == snap->task.pid)
		buf_add(rows, &snap->task, sizeof(snap->task));
	return rows->failed ? -ENOMEM : 0;
}

/* Finds the child of parent whose id in its own namespace is ns_pid. Returns 0 if there is none. */
static uint32_t child_of(const struct buf *rows, uint32_t parent, uint32_t ns_pid)
{
	const struct wire_task *t = (const void *)rows->data;

	for (size_t i = 0; i < rows->len / sizeof(*t); i++) {
		if (t[i].ppid == parent && t[i].ns_pid == ns_pid)
			return t[i].pid;
	}
	return 0;
}

/*
 * Returns true if `process` and its children have the ids `pids` in their own namespace, and then
 * sets ret to their ids in the initial namespace.
 */
static bool is_us(const struct buf *rows, const struct wire_task *process, const uint32_t *pids,
		  size_t cnt, uint32_t *ret)
{
	if (process->ns_pid != pids[0])
		return false;
	ret[0] = process->pid;
	for (size_t i = 1; i < cnt; i++) {
		ret[i] = pids[i] ? child_of(rows, process->pid, pids[i]) : 0;
		if (pids[i] && !ret[i])
			return false;
	}
	return true;
}

int own_pids_translate(struct probe *probe, uint32_t *pids, size_t cnt, struct err *e)
{
	uint32_t found[OWN_PIDS_MAX] = { 0 }, these[OWN_PIDS_MAX];
	const struct wire_task *t;
	struct buf rows = {};
	unsigned int times = 0;
	int err = probe_snapshot(probe, keep_process, &rows, e);

	t = (const void *)rows.data;
	for (size_t i = 0; !err && i < rows.len / sizeof(*t); i++) {
		if (is_us(&rows, &t[i], pids, cnt, these) && !times++)
			memcpy(found, these, cnt * sizeof(*found));
	}
	buf_done(&rows);
	if (err)
		return err;
	if (times != 1)
		memset(found, 0, sizeof(found));
	memcpy(pids, found, cnt * sizeof(*pids));
	return 0;
}
