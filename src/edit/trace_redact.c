/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_redact: block by block. Every small section is decoded and written again from its known
 * fields; event columns, which are numbers, are copied as they are stored. Everything goes into
 * one chunk file, so that the first block of a file still lists every task, as it did in the old
 * trace.
 */
#include "edit/trace_redact.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/block_copy.h"
#include "edit/trace_copy.h"
#include "trace/trace_state.h"
#include "store/store_writer.h"

struct redact {
	struct trace *t;
	const struct redact_options *o;
	struct redact_words *words;
	struct store_writer *store;
	struct block_out out;
	struct row_writer rows;
	struct redact_result res;
};

static int replace(struct redact *x, enum redact_kind kind, const char **s)
{
	*s = redact_word(x->words, kind, *s);
	return *s ? 0 : -ENOMEM;
}

/* ---- rows ---- */

static int edit_process(struct redact *x, struct trace_process *p)
{
	int r = replace(x, REDACT_COMM, &p->comm);

	if (r == 0)
		r = replace(x, REDACT_PATH, &p->exe);
	if (r == 0)
		r = replace(x, REDACT_CMDLINE, &p->cmdline);
	return r ? r : redact_uid(x->words, &p->uid);
}

static int edit_task_event(struct redact *x, struct trace_task_event *ev)
{
	int r = replace(x, REDACT_COMM, &ev->comm);

	if (r == 0)
		r = replace(x, REDACT_PATH, &ev->exe);
	return r ? r : replace(x, REDACT_CMDLINE, &ev->cmdline);
}

static int edit_name(struct redact *x, struct row_name *n)
{
	static const enum redact_kind kinds[TRACE_NAME_TYPE_CNT] = {
#define X(id, name, text, redact) [TRACE_NAME_##name] = REDACT_##redact,
		EVENT_NAMES(X)
#undef X
	};

	if (n->type && n->type < TRACE_NAME_TYPE_CNT)
		return replace(x, kinds[n->type], &n->name);
	n->name = "";	/* a later recorder made it */
	return 0;
}

/* The recorder's own words stay: "alloc.slab", "max-overhead". */
static int edit_gap(struct redact *x, struct trace_gap *g)
{
	static const char own[] = "abcdefghijklmnopqrstuvwxyz .-_";

	if (g->source[strspn(g->source, own)] && replace(x, REDACT_NOTE, &g->source))
		return -ENOMEM;
	return g->reason[strspn(g->reason, own)] ? replace(x, REDACT_NOTE, &g->reason) : 0;
}

/* "[vdso]" stays: it is the kernel's. */
static int edit_site(struct redact *x, struct trace_site *s)
{
	int r = replace(x, REDACT_FUNCTION, &s->symbol);

	if (r == 0 && s->module[0] != '[')
		r = replace(x, REDACT_PATH, &s->module);
	return r ? r : replace(x, REDACT_BUILD_ID, &s->build_id);
}

#define COPY_ROWS(name, type, edit)                                               \
	static int copy_##name(struct redact *x, struct row_reader *in)           \
	{                                                                         \
		struct type row;                                                  \
		int r;                                                            \
                                                                                  \
		while ((r = row_get_##name(in, &row)) > 0) {                      \
			r = (edit);                                               \
			if (r < 0)                                                \
				return r;                                         \
			row_put_##name(&x->rows, &row);                           \
		}                                                                 \
		return r;                                                         \
	}

COPY_ROWS(process, trace_process, edit_process(x, &row))
COPY_ROWS(thread, trace_thread, replace(x, REDACT_COMM, &row.comm))
COPY_ROWS(task_event, trace_task_event, edit_task_event(x, &row))
COPY_ROWS(cpu_state, row_cpu_state, 0)
COPY_ROWS(rss, trace_rss, 0)
COPY_ROWS(loss, trace_loss, 0)
COPY_ROWS(cost, trace_cost, 0)
COPY_ROWS(hook_stat, trace_hook_stat, 0)
COPY_ROWS(clock, trace_clock, 0)
COPY_ROWS(name, row_name, edit_name(x, &row))
COPY_ROWS(gap, trace_gap, edit_gap(x, &row))
COPY_ROWS(site, trace_site, edit_site(x, &row))
COPY_ROWS(frame, trace_frame, 0)
COPY_ROWS(mark, trace_mark, replace(x, REDACT_MARK, &row.text))

static int (*const copy_rows[CHUNK_SMALL_END])(struct redact *x, struct row_reader *in) = {
	[CHUNK_PROCESSES] = copy_process, [CHUNK_THREADS] = copy_thread,
	[CHUNK_TASK_EVENTS] = copy_task_event, [CHUNK_CPU_STATE] = copy_cpu_state,
	[CHUNK_RSS_STATE] = copy_rss, [CHUNK_RSS_SNAPS] = copy_rss,
	[CHUNK_LOSS] = copy_loss, [CHUNK_COST] = copy_cost, [CHUNK_HOOK_STATS] = copy_hook_stat,
	[CHUNK_CLOCKS] = copy_clock, [CHUNK_NAMES] = copy_name, [CHUNK_GAPS] = copy_gap,
	[CHUNK_MARKS] = copy_mark, [CHUNK_SITES] = copy_site, [CHUNK_CPU_END] = copy_cpu_state,
	[CHUNK_FRAMES] = copy_frame,
};

static int copy_section(struct redact *x, struct block_meta *f, unsigned int type)
{
	struct row_reader in;
	int r;

	if (type == CHUNK_UTIDS) {
		block_copy_small(&x->out, f, type);
		return 0;
	}
	if (!copy_rows[type])
		return 0;
	r = block_meta_rows(f, x->t->reader.zunpack, type, &in);
	if (r < 0)
		return r;
	buf_reset(&x->rows.out);
	x->rows.base_ns = f->head.from_ns;
	x->rows.cnt = 0;
	r = copy_rows[type](x, &in);
	if (r == 0)
		block_out_add_rows(&x->out, type, &x->rows);
	return r;
}

static int copy_block(struct redact *x, size_t i, struct redact_result *ret, struct err *e)
{
	const struct trace_block *b = (const struct trace_block *)x->t->blocks.v + i;
	struct trace_block_open o = { 0 };
	struct disk_block head;
	struct block_io io;
	const void *bytes;
	size_t cnt = 0;
	int r;

	r = trace_block_open(x->t, &x->t->reader, i, &o, e);
	if (r < 0)
		return r;
	io = (struct block_io){ chunk_io_read, &o.io };
	head = o.front->head;
	block_out_begin(&x->out);
	for (uint32_t s = 0; r == 0 && s < head.section_cnt; s++) {
		if (o.front->sections[s].type < CHUNK_SMALL_END)
			r = copy_section(x, o.front, o.front->sections[s].type);
	}
	if (r == 0)
		r = block_copy_events(&x->out, o.front, &io, &head);
	if (r == 0)
		r = block_out_seal(&x->out, &head, &bytes, &cnt);
	block_meta_free(o.front);
	if (r < 0)
		return err_set(e, r, "'%s/%s', block at %" PRIu64 ": %s", x->t->path, b->file,
			       b->offset,
			       r == -ENOMEM ? "out of memory" :
					      "is damaged; `ebpfrec repair` makes a trace of "
					      "what is valid, which can be redacted");
	ret->block_cnt++;
	ret->bytes += cnt;
	return store_writer_append(x->store, bytes, cnt, 0, e);
}

/* ---- what stays ---- */

/* Names that are the kernel's or the recorder's own, and the workload's when that was asked for. */
static int keep_comm(struct redact *x, uint32_t flags, const char *comm)
{
	bool keep = (flags & TRACE_TASK_WORKLOAD && x->o->keep_workload) ||
		    (flags & TRACE_TASK_KTHREAD && redact_words_is_kernels(x->words, comm)) ||
		    (flags & TRACE_TASK_RECORDER && !strncmp(comm, "ebpfrec", 7));

	return keep ? redact_words_keep(x->words, REDACT_COMM, comm) : 0;
}

static int keep_program(struct redact *x, uint32_t flags, const char *exe, const char *cmdline,
			uint64_t cgroup_id)
{
	const struct trace_name *n;
	int r;

	if (!(flags & TRACE_TASK_WORKLOAD) || !x->o->keep_workload)
		return 0;
	r = redact_words_keep(x->words, REDACT_PATH, exe);
	if (r == 0)
		r = redact_words_keep(x->words, REDACT_CMDLINE, cmdline);
	n = trace_name_find(x->t, TRACE_NAME_CGROUP, cgroup_id);
	return r == 0 && n ? redact_words_keep(x->words, REDACT_CGROUP, n->name) : r;
}

/* By string, not by process: a name that two processes share is either replaced or not. */
static int keep_names(struct redact *x)
{
	const struct trace_task_event *ev;
	const struct trace_process *p;
	const struct trace_thread *th;
	const struct trace_site *site;
	size_t cnt, i;
	int r = 0;

	p = trace_processes(x->t, &cnt);
	for (i = 0; r == 0 && i < cnt; i++) {
		r = keep_comm(x, p[i].flags, p[i].comm);
		if (r == 0)
			r = keep_program(x, p[i].flags, p[i].exe, p[i].cmdline, p[i].cgroup_id);
	}
	site = trace_sites(x->t, &cnt);
	for (i = 0; r == 0 && x->o->keep_workload && i < cnt; i++) {
		p = trace_process_find(x->t, site[i].upid);
		if (!p || !(p->flags & TRACE_TASK_WORKLOAD))
			continue;
		r = redact_words_keep(x->words, REDACT_FUNCTION, site[i].symbol);
		if (r == 0)
			r = redact_words_keep(x->words, REDACT_PATH, site[i].module);
		if (r == 0)
			r = redact_words_keep(x->words, REDACT_BUILD_ID, site[i].build_id);
	}
	th = trace_threads(x->t, &cnt);
	for (i = 0; r == 0 && i < cnt; i++)
		r = keep_comm(x, th[i].flags, th[i].comm);
	ev = trace_task_events(x->t, &cnt);
	for (i = 0; r == 0 && i < cnt; i++) {
		p = trace_process_find(x->t, ev[i].upid);
		if (!p)
			continue;
		r = keep_comm(x, p->flags, ev[i].comm);
		if (r == 0)
			r = keep_program(x, p->flags, ev[i].exe, ev[i].cmdline, ev[i].cgroup_id);
	}
	return r;
}

/* ---- the manifest ---- */

enum entry_kind { ENTRY_NUMBERS, ENTRY_AS_IS, ENTRY_HOST, ENTRY_CMDLINE, ENTRY_PATH };

static const struct {
	const char *key;	/* glob */
	enum entry_kind kind;
} entries[] = {
	{ "attempted", ENTRY_NUMBERS }, { "read", ENTRY_NUMBERS }, { "lost", ENTRY_NUMBERS },
	{ "command.exit", ENTRY_NUMBERS }, { "command.pid", ENTRY_NUMBERS },
	{ "recorder.pid", ENTRY_NUMBERS }, { "cpu.online", ENTRY_NUMBERS },
	{ "cpu.possible", ENTRY_NUMBERS }, { "mem.bytes", ENTRY_NUMBERS },
	{ "page_bytes", ENTRY_NUMBERS }, { "only", ENTRY_NUMBERS }, { "stacks.*", ENTRY_NUMBERS },
	{ "max_overhead_ppm", ENTRY_NUMBERS }, { "ring.*", ENTRY_NUMBERS },
	{ "disk.*", ENTRY_NUMBERS }, { "keep.*", ENTRY_NUMBERS }, { "kept.*", ENTRY_NUMBERS },
	{ "dropped.*", ENTRY_NUMBERS }, { "snapshot.*", ENTRY_NUMBERS },
	{ "repaired", ENTRY_NUMBERS }, { "repaired.gap*", ENTRY_NUMBERS }, { "cut", ENTRY_NUMBERS },
	{ "cut.*_ns", ENTRY_NUMBERS }, { "cut.left_out", ENTRY_AS_IS },
	{ "cut.processes", ENTRY_CMDLINE }, { "redacted", ENTRY_NUMBERS },
	{ "span.*", ENTRY_NUMBERS },
	{ "repaired.state", ENTRY_AS_IS },
	{ "redacted.state", ENTRY_AS_IS }, { "recorder.version", ENTRY_AS_IS },
	{ "kernel.release", ENTRY_AS_IS }, { "kernel.version", ENTRY_AS_IS },
	{ "machine", ENTRY_AS_IS }, { "cpu.model", ENTRY_AS_IS }, { "programs", ENTRY_AS_IS },
	{ "sources", ENTRY_AS_IS }, { "lacks", ENTRY_AS_IS }, { "host", ENTRY_HOST },
	{ "cgroup", ENTRY_PATH }, { "command", ENTRY_CMDLINE },
	{ "recorder.command_line", ENTRY_CMDLINE },
};

/* What to write for an entry; NULL: nothing. */
static const char *entry_value(struct redact *x, const struct manifest_entry *m, int *ret_err)
{
	const char *v = m->value;
	size_t i;

	for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (fnmatch(entries[i].key, m->key, 0))
			continue;
		if (entries[i].kind == ENTRY_AS_IS)
			return v;
		if (entries[i].kind == ENTRY_HOST)
			v = redact_word(x->words, REDACT_HOST, v);
		else if (entries[i].kind == ENTRY_PATH)
			v = redact_word(x->words, REDACT_CGROUP, v);
		else if (entries[i].kind == ENTRY_CMDLINE &&
			 !(x->o->keep_workload && !strcmp(m->key, "command")))
			v = redact_word(x->words, REDACT_CMDLINE, v);
		else if (entries[i].kind == ENTRY_NUMBERS && v[strspn(v, "0123456789 .-")])
			continue;	/* no number; a later line may know the word */
		*ret_err = v ? 0 : -ENOMEM;
		return v;
	}
	return NULL;
}

/* note.KEY=VALUE: people chose both. The key note.trigger is the recorder's. */
static int copy_note(struct redact *x, const struct manifest_entry *m)
{
	const char *key = m->key + strlen("note.");
	const char *value = redact_word(x->words, REDACT_NOTE, m->value);
	char buf[256];

	if (strcmp(key, "trigger"))
		key = redact_word(x->words, REDACT_NOTE, key);
	if (!key || !value)
		return -ENOMEM;
	snprintf(buf, sizeof(buf), "note.%s", key);
	return store_writer_set(x->store, buf, value);
}

static int copy_manifest(struct redact *x, struct redact_result *ret)
{
	const char *state = trace_get(x->t, "state"), *value;
	int r = 0;

	for (size_t i = 0; r == 0 && i < x->t->manifest.cnt; i++) {
		const struct manifest_entry *m = &x->t->manifest.entries[i];

		if (!strncmp(m->key, "note.", 5)) {
			r = copy_note(x, m);
			continue;
		}
		value = entry_value(x, m, &r);
		if (r == 0 && value)
			r = store_writer_set(x->store, m->key, value);
		else if (r == 0 && strcmp(m->key, "state") && strcmp(m->key, "mounts") &&
			 strcmp(m->key, "trace.id"))
			ret->entries_left_out++;
	}
	if (r == 0)
		r = store_writer_set(x->store, "redacted", "1");
	if (r == 0 && !trace_get(x->t, "redacted.state"))
		r = store_writer_set(x->store, "redacted.state",
				     state && !strcmp(state, "finished") ? state : "recording");
	return r;
}

/* ---- the trace ---- */

static int write_redacted(void *ctx, struct store_writer *w, struct err *e)
{
	struct redact *x = ctx;
	struct redact_result *res = &x->res;
	int r = keep_names(x);

	x->store = w;
	if (r == 0)
		r = block_out_init(&x->out, 0);
	if (r == 0)
		r = copy_manifest(x, res);
	if (r < 0)
		return err_set(e, r, "out of memory");
	for (size_t i = 0; r == 0 && i < x->t->blocks.cnt; i++)
		r = copy_block(x, i, res, e);
	if (r == 0 && !res->block_cnt)
		r = err_set(e, -ENODATA, "'%s' has no valid block", x->t->path);
	for (int k = 0; k < REDACT_KIND_CNT; k++) {
		res->replaced[k] = redact_words_replaced(x->words, k);
		res->kept[k] = redact_words_kept(x->words, k);
	}
	return r;
}

static int make_words(struct redact *x, struct err *e)
{
	uint8_t key[PSEUDONYM_KEY_BYTES];
	int r = 0;

	if (x->o->salt)
		pseudonym_key_from(key, x->o->salt, x->o->salt_bytes);
	else
		r = pseudonym_key_random(key);
	if (r < 0)
		return err_set(e, r, "no random salt to be had: %s; give one with --salt",
			       err_text(NULL, r));
	r = redact_words_new(&x->words, key, x->o->keep, x->o->keep_cnt);
	explicit_bzero(key, sizeof(key));
	return r ? err_set(e, r, "out of memory") : 0;
}

int trace_redact(struct trace *t, const char *path, const struct redact_options *o,
		 struct redact_result *ret, struct err *e)
{
	const struct store_config config = {
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.file_bytes = UINT64_MAX / 2,
		.file_age_ns = UINT64_MAX / 2,
	};
	struct redact x = { .t = t, .o = o };
	int r = make_words(&x, e);

	if (r == 0)
		r = trace_copy_make(t, path, &config, write_redacted, &x, e);
	block_out_done(&x.out);
	buf_done(&x.rows.out);
	redact_words_free(x.words);
	if (r == 0)
		*ret = x.res;
	return r;
}
