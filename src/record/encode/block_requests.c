/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_requests: completes a block's requests from other records: owners of written pages, files,
 * and ends that no program recorded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/event.h"
#include "record/encode/block_state.h"
#include "record/encode/block_writer.h"

bool block_slice_lacks(const struct block_slice *s, unsigned int hook, bool whole_class)
{
	for (size_t i = 0; i < s->loss_cnt; i++)
		if (s->losses[i].hook == hook ||
		    (whole_class && s->losses[i].cls == wire_hook_class[hook]))
			return true;
	for (size_t i = 0; i < s->gap_cnt; i++)
		if (!strcmp(s->gaps[i].source, hook_name_find(hook)->source))
			return true;
	return false;
}

/* request_event: fills the columns of an event that request_track reads. */

/* Hooks and actions have the same order. Both are stored in traces, so the order never changes. */
_Static_assert(WIRE_BLOCK_ISSUE - WIRE_BLOCK_INSERT == EVENT_REQUEST_ISSUE - EVENT_REQUEST_INSERT &&
		       WIRE_BLOCK_COMPLETE - WIRE_BLOCK_INSERT ==
			       EVENT_REQUEST_COMPLETE - EVENT_REQUEST_INSERT &&
		       WIRE_BLOCK_MERGE - WIRE_BLOCK_INSERT ==
			       EVENT_REQUEST_MERGE - EVENT_REQUEST_INSERT &&
		       WIRE_BLOCK_DONE - WIRE_BLOCK_INSERT ==
			       EVENT_REQUEST_DONE - EVENT_REQUEST_INSERT &&
		       WIRE_BIO_REMAP - WIRE_BIO_QUEUE ==
			       EVENT_REQUEST_BIO_REMAP - EVENT_REQUEST_BIO_QUEUE,
	       "an action follows from its hook");

void request_event_of(const struct wire_hdr *h, struct event *ret)
{
	const struct wire_request *b = (const void *)h;

	*ret = (struct event){ .ts_ns = h->ts_ns, .kind = EVENT_REQUEST, .flags = h->flags };
	ret->v[EV_REQUEST_ACTION] =
		h->hook >= WIRE_BIO_QUEUE ? h->hook - WIRE_BIO_QUEUE + EVENT_REQUEST_BIO_QUEUE :
					    h->hook - WIRE_BLOCK_INSERT + EVENT_REQUEST_INSERT;
	ret->v[EV_REQUEST_RQ] = b->rq;
	ret->v[EV_REQUEST_DEV] = b->dev;
	ret->v[EV_REQUEST_SECTOR] = b->sector;
	ret->v[EV_REQUEST_BYTES] = b->bytes;
	ret->v[EV_REQUEST_CMD_FLAGS] = b->cmd_flags;
	ret->v[EV_REQUEST_DONE_BYTES] = b->done_bytes;
	ret->v[EV_REQUEST_STATUS] = b->status;
	if (request_has_pages(h) || h->hook == WIRE_BIO_REMAP) {
		const struct wire_request_issue *x = (const void *)h;

		ret->v[EV_REQUEST_PAGES] = x->pages;
		ret->v[EV_REQUEST_INO] = x->ino;
		ret->v[EV_REQUEST_INO_DEV] = x->ino_dev;
	}
}

bool request_is_step(const struct wire_hdr *h)
{
	return (h->hook >= WIRE_BLOCK_INSERT && h->hook <= WIRE_BLOCK_DONE) ||
	       (h->hook >= WIRE_BIO_QUEUE && h->hook <= WIRE_BIO_REMAP);
}

bool request_has_pages(const struct wire_hdr *h)
{
	return h->hook == WIRE_BLOCK_ISSUE || h->hook == WIRE_BIO_QUEUE ||
	       h->hook == WIRE_BIO_BACKMERGE || h->hook == WIRE_BIO_FRONTMERGE;
}

struct writeback request_writeback_of(const struct wire_request_issue *r)
{
	return (struct writeback){ .ts_ns = r->step.hdr.ts_ns, .ino = r->ino,
				   .last_ino = r->last_ino, .ino_dev = r->ino_dev,
				   .cmd_flags = r->step.cmd_flags, .pages = (uint8_t)r->pages };
}

/*
 * writeback_owner: finds the process that dirtied the pages of a request.
 *
 *     dirtying records --[src/model/writeback_owners]--> owner_upid, owner_how of issues
 *
 * If no such process is known and a kernel thread submits the I/O, the owner is the process that
 * waits for the I/O.
 *
 * Pages may be dirtied half a minute before they are written. The recorder therefore finds the
 * owners, so that a reader needs no earlier block. Records of a slice are processed in order of
 * time, over all CPUs.
 */

void writeback_owner_pin(void *process, int by)
{
	((struct task_process *)process)->life.pinned += (uint32_t)by;
}

static int on_dirty(struct block_writer *w, const struct wire_dirty *r)
{
	uint64_t ts_ns = r->hdr.ts_ns;
	struct task_process *p = task_table_process_at(w->task_table, r->pid, ts_ns, NULL);

	return p ? writeback_owners_dirty(&w->owners, ts_ns, r->ino, r->ino_dev, p) : -ENOMEM;
}

static int on_issue(struct block_writer *w, const struct wire_request_issue *r, uint32_t row)
{
	struct kind_rows *k = &w->rows[EVENT_REQUEST];
	const struct writeback issue = request_writeback_of(r);
	struct task_process *owner;
	void *process;
	unsigned int how = writeback_owners_of(&w->owners, &issue, &process);

	if (how != EVENT_OWNER_NONE) {
		owner = process;
	} else {
		if (!r->waiter)
			return 0;
		how = EVENT_OWNER_WAITER;
		owner = task_table_process_at(w->task_table, r->waiter, r->step.hdr.ts_ns, NULL);
		if (!owner)
			return -ENOMEM;
	}
	k->val[EV_REQUEST_OWNER_UPID][row] = owner->upid;
	k->val[EV_REQUEST_OWNER_HOW][row] = how;
	return task_table_use_process(w->task_table, owner);
}

int writeback_owner_resolve(struct block_writer *w, const struct block_slice *s)
{
	/* after a loss, the last process to dirty a page is unknown in the whole slice */
	bool lacks = block_slice_lacks(s, WIRE_DIRTY, false);
	int r = 0;

	if (lacks)
		writeback_owners_clear(&w->owners);
	for (size_t i = 0; r == 0 && i < w->steps.cnt; i++) {
		const struct wire_hdr *h = w->steps.v[i].h;

		if (h->hook == WIRE_DIRTY)
			r = lacks ? 0 : on_dirty(w, (const struct wire_dirty *)h);
		else if (request_has_pages(h))
			r = on_issue(w, (const struct wire_request_issue *)h, w->steps.v[i].row);
	}
	return r;
}

/*
 * request_lost_end: finds ends of block requests that must have happened but were not recorded.
 *
 *     block records, all CPUs, by time
 *         --[is a request's address used again before the request ended?]--> LOSS rows
 *
 * The kernel counts BPF programs that it skips. However, a kernel that hides some tasks (such as a
 * hypervisor's agent) may run no BPF program while such a task is current. If an interrupt then
 * completes requests, this is neither recorded nor counted. Addresses of requests reveal such a
 * loss: I/O that was announced (block_io_start) ends with block_rq_complete and block_io_done
 * before the address is used again. If these events are missing without a declared loss at that
 * time, they are declared as skipped between the start and the next use.
 *
 * The recorder reads the counters of losses about once a second. A suspected loss is therefore
 * declared one slice later, except in the last slice. Kernels before 6.5 do not announce the start,
 * so nothing is found.
 */

/* maximum number of addresses; if it is reached, all are forgotten */
#define ADDRESSES_MAX 65536

void request_lost_end_done(struct request_lost_end *u)
{
	request_track_free(u->track);
	free(u->suspects);
}

static int suspect(struct request_lost_end *u, unsigned int hook, uint64_t from_ns, uint64_t to_ns)
{
	return array_add(&u->suspects, &u->suspect_cap, &u->suspect_cnt, (struct trace_loss){
		.from_ns = from_ns, .to_ns = to_ns, .cpu = 0xffff, .hook = (uint8_t)hook,
		.cls = hook_name_find(hook)->cls, .missed_cnt = 1, .inferred_cnt = 1 });
}

static int on_end(void *ctx, const struct block_request *r)
{
	struct request_lost_end *u = ctx;
	int ret = 0;

	if (r->unseen & REQUEST_UNSEEN_COMPLETE)
		ret = suspect(u, WIRE_BLOCK_COMPLETE, r->start_ns, r->end_ns);
	if (r->unseen & REQUEST_UNSEEN_DONE && ret == 0)
		ret = suspect(u, WIRE_BLOCK_DONE, r->start_ns, r->end_ns);
	return ret;
}

static int forget(struct request_lost_end *u)
{
	request_track_free(u->track);
	u->track = NULL;
	u->suspect_cnt = 0;
	return request_track_new(&u->track, on_end, u);
}

static void declare(struct block_writer *w, size_t cnt)
{
	struct request_lost_end *u = &w->unseen;

	if (!cnt)
		return;
	for (size_t i = 0; i < cnt; i++)
		row_put_loss(&w->small[CHUNK_LOSS], &u->suspects[i]);
	w->stats.unseen_cnt[EVENT_CLASS_BLOCK] += cnt;
	u->suspect_cnt -= cnt;
	memmove(u->suspects, u->suspects + cnt, u->suspect_cnt * sizeof(*u->suspects));
}

int request_lost_end_resolve(struct block_writer *w, const struct block_slice *s)
{
	struct request_lost_end *u = &w->unseen;
	size_t i = 0, old_cnt = u->suspect_cnt;
	struct event ev;
	int r = 0;

	while (i < w->steps.cnt && !request_is_step(w->steps.v[i].h))
		i++;
	/*
	 * Start again if an event that seems to be missing may be among the declared losses or, if
	 * records are late, among those of an earlier slice.
	 */
	if (block_slice_lacks(s, WIRE_BLOCK_DONE, true) ||
	    (i < w->steps.cnt && w->steps.v[i].ts_ns < w->from_ns))
		return forget(u);
	if (!u->track || request_track_addresses(u->track) > ADDRESSES_MAX)
		r = forget(u);
	for (; r == 0 && i < w->steps.cnt; i++) {
		if (!request_is_step(w->steps.v[i].h))
			continue;
		request_event_of(w->steps.v[i].h, &ev);
		r = request_track_event(u->track, &ev);
	}
	if (r == 0)
		declare(w, s->is_last ? u->suspect_cnt : old_cnt);
	return r;
}

/*
 * file_paths: finds the file of each request.
 *
 *     path records --[last path of each inode]--> column path of issue events, names of files
 *
 * Each path has a number, and a changed path gets a new number. Inode numbers are not sufficient,
 * because a new file may soon have the inode number of a removed file. Records of a slice are
 * processed in order of time, over all CPUs. After a loss of path records, each path is unknown
 * until the kernel sends it again.
 */

/*
 * The kernel repeats a path that is in use after at most 41 s (bpf/paths.bpf.h), so paths that are
 * idle for longer can be dropped.
 */
#define PATHS_IDLE_NS 60000000000ull
#define PATH_BYTES 4096

struct file_path {
	struct inode_entry inode;
	uint64_t number;
	/* epochs of the last blocks with its name of type PATH, and of type FILE */
	uint64_t path_epoch, file_epoch;
	char *text;
};

static void release(void *entry)
{
	free(((struct file_path *)entry)->text);
}

void file_paths_init(struct inode_cache *paths)
{
	*paths = (struct inode_cache){ .entry_bytes = sizeof(struct file_path),
				       .idle_ns = PATHS_IDLE_NS, .release = release };
}

/* Joins the names of the record, root first: "/a/b", or ".../a/b" if the path was cut. */
static void join_names(const struct wire_path *r, char *ret, size_t size)
{
	size_t from[sizeof(r->names)], cnt = 0, at, n, len = 0;

	for (at = 0; at < r->len; at += strnlen(r->names + at, r->len - at) + 1)
		from[cnt++] = at;
	if (r->is_cut)
		len = (size_t)snprintf(ret, size, "...");
	while (cnt--) {
		n = strnlen(r->names + from[cnt], r->len - from[cnt]);
		if (len + n + 2 > size)
			break;
		ret[len++] = '/';
		memcpy(ret + len, r->names + from[cnt], n);
		len += n;
	}
	ret[len] = 0;
}

static void put_path(const struct block_writer *w, const struct wire_path *r, char path[PATH_BYTES])
{
	const struct id_names_calls *names = &w->config.names;
	char inside[2 * sizeof(r->names) + 8];
	const struct mounts_file f = { r->ino_dev, r->ino, r->hdr.ts_ns, inside };

	join_names(r, inside, sizeof(inside));
	if (names->path && !r->is_cut)
		names->path(names->ctx, &f, path, PATH_BYTES);
	else
		snprintf(path, PATH_BYTES, "%s", inside);
}

int file_paths_note(struct block_writer *w)
{
	char path[PATH_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->steps.cnt; i++) {
		const struct wire_path *p = (const struct wire_path *)w->steps.v[i].h;
		uint64_t object = WIRE_OBJECT_FILE(p->ino, p->ino_dev, p->generation);

		put_path(w, p, path);
		r = object ? block_set_name(w, TRACE_NAME_WAITED, object, path) : 0;
	}
	return r;
}

static int on_path(struct block_writer *w, const struct wire_path *r)
{
	char path[PATH_BYTES];
	struct file_path *x;
	void *entry;
	char *text;
	int ret;

	put_path(w, r, path);
	ret = inode_cache_get(&w->paths, r->ino, r->ino_dev, r->hdr.ts_ns, &entry);
	x = entry;
	if (ret < 0 || !x || (x->text && !strcmp(x->text, path)))
		return ret;
	text = strdup(path);
	if (!text)
		return -ENOMEM;
	free(x->text);
	x->text = text;
	x->number = ++w->last_path;
	x->inode.used_ns = r->hdr.ts_ns;
	x->path_epoch = x->file_epoch = 0;
	return 0;
}

/* Appends the name unless the block already has it. */
static void put_name(struct block_writer *w, const struct file_path *x, uint64_t *epoch,
		     struct trace_name name)
{
	if (*epoch == w->epoch)
		return;
	*epoch = w->epoch;
	name.name = x->text;
	row_put_name(&w->small[CHUNK_NAMES], &name);
}

static void set_path(struct block_writer *w, const struct wire_request_issue *r, uint32_t row)
{
	struct file_path *x = inode_cache_find(&w->paths, r->ino, r->ino_dev);

	if (!x || !x->text || r->pages == EVENT_PAGES_DISK)
		return;
	x->inode.used_ns = r->step.hdr.ts_ns;
	w->rows[EVENT_REQUEST].val[EV_REQUEST_PATH][row] = x->number;
	put_name(w, x, &x->path_epoch, (struct trace_name){ .type = TRACE_NAME_PATH,
							    .id = x->number,
							    .arg = x->inode.ino });
}

static void name_dirtied(struct block_writer *w, const struct wire_dirty *r)
{
	struct file_path *x = inode_cache_find(&w->paths, r->ino, r->ino_dev);

	if (!x || !x->text)
		return;
	x->inode.used_ns = r->hdr.ts_ns;
	put_name(w, x, &x->file_epoch, (struct trace_name){ .type = TRACE_NAME_FILE,
							    .id = x->inode.ino,
							    .arg = x->inode.dev });
}

int file_paths_resolve(struct block_writer *w, const struct block_slice *s)
{
	int r = 0;

	if (block_slice_lacks(s, WIRE_PATH, false)) {
		inode_cache_clear(&w->paths);
		return 0;
	}
	for (size_t i = 0; r == 0 && i < w->steps.cnt; i++) {
		const struct wire_hdr *h = w->steps.v[i].h;

		if (h->hook == WIRE_PATH)
			r = on_path(w, (const struct wire_path *)h);
		else if (h->hook == WIRE_DIRTY)
			name_dirtied(w, (const struct wire_dirty *)h);
		else if (request_has_pages(h))
			set_path(w, (const struct wire_request_issue *)h, w->steps.v[i].row);
	}
	return r;
}
