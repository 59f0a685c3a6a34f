/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_redact: redacts block by block. Every small section is decoded, and its known fields are
 * written again; event columns contain only numbers and are copied as stored. The copy has a single
 * chunk file, so that the first block of each file still lists all tasks, as in the old trace.
 */
#include "edit/trace_redact.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/block.h"
#include "edit/trace_copy.h"
#include "trace/trace_read.h"
#include "store/store_writer.h"
#include "symbol/elf_symbols.h"

struct redact {
	struct trace *t;
	const struct redact_options *o;
	struct redact_words *words;
	struct store_writer *store;
	struct block_out out;
	struct row_writer rows;
	struct redact_result res;
};

/* ---- rows ---- */

#define AS_IS REDACT_KIND_CNT

/* Kinds of a row's strings, in the order of its fields. */
static const uint8_t row_strings[CHUNK_SMALL_END][3] = {
	[CHUNK_PROCESSES] = { REDACT_COMM, REDACT_PATH, REDACT_CMDLINE },
	[CHUNK_THREADS] = { REDACT_COMM },
	[CHUNK_TASK_EVENTS] = { REDACT_COMM, REDACT_PATH, REDACT_CMDLINE },
	[CHUNK_MARKS] = { REDACT_MARK },
	[CHUNK_GAPS] = { REDACT_NOTE, REDACT_NOTE },
	[CHUNK_SITES] = { REDACT_FUNCTION, REDACT_PATH, REDACT_BUILD_ID },
};

static enum redact_kind string_kind(unsigned int section, const union any_row *row, unsigned int nth,
				    const char *s)
{
	static const enum redact_kind names[TRACE_NAME_TYPE_CNT] = {
#define X(id, name, text, redact) [TRACE_NAME_##name] = REDACT_##redact,
		EVENT_NAMES(X)
#undef X
	};
	static const char own[] = "abcdefghijklmnopqrstuvwxyz .-_";

	if (section == CHUNK_NAMES)
		return names[row->name.type];
	/* keep words of the recorder: "alloc.slab", "max-overhead" */
	if (section == CHUNK_GAPS && !s[strspn(s, own)])
		return AS_IS;
	/* keep the kernel's "[vdso]" */
	if (section == CHUNK_SITES && nth == 1 && s[0] == '[')
		return AS_IS;
	return row_strings[section][nth];
}

/*
 * Returns the text whose pseudonym replaces a string. Functions that reports show by one name, such
 * as overloaded C++ functions, have one pseudonym.
 */
static const char *text_of(unsigned int section, unsigned int nth, const char *s,
			   char shown[FUNCTION_SHOWN + 1])
{
	return section == CHUNK_SITES && !nth ? function_shown(shown, s) : s;
}

/* Replaces the number and name of a user, except a system user. */
static int edit_user(struct redact *x, struct trace_name *n)
{
	uint32_t uid = (uint32_t)(n->id - 1);
	int r = redact_uid(x->words, &uid);

	if (uid != n->id - 1)
		n->name = redact_word(x->words, REDACT_USER, n->name);
	n->id = uid + 1ull;
	return n->name ? r : -ENOMEM;
}

static int edit_row(struct redact *x, unsigned int section, const struct row_type *of,
		    union any_row *row)
{
	const char **s, *text, *word;
	char shown[FUNCTION_SHOWN + 1];
	enum redact_kind kind;

	/* the type was added by a later recorder */
	if (section == CHUNK_NAMES && (!row->name.type || row->name.type >= TRACE_NAME_TYPE_CNT)) {
		row->name.name = "";
		return 0;
	}
	if (section == CHUNK_NAMES && row->name.type == TRACE_NAME_USER)
		return edit_user(x, &row->name);
	for (unsigned int i = 0; (s = row_string(of, row, i)); i++) {
		kind = string_kind(section, row, i, *s);
		if (kind == AS_IS)
			continue;
		text = text_of(section, i, *s, shown);
		word = redact_word(x->words, kind, text);
		if (!word)
			return -ENOMEM;
		/* a function that is kept keeps its linker name */
		if (strcmp(word, text))
			*s = word;
	}
	return section == CHUNK_PROCESSES ? redact_uid(x->words, &row->process.uid) : 0;
}

static int copy_section(struct redact *x, struct block_meta *f, unsigned int type)
{
	const struct row_type *of = row_type_of(type);
	struct row_reader in;
	union any_row row;
	int r;

	if (type == CHUNK_UTIDS)
		block_copy_small(&x->out, f, type);
	if (!of)
		return 0;
	r = block_meta_rows(f, trace_own_reader(x->t)->zunpack, type, &in);
	buf_reset(&x->rows.out);
	x->rows.base_ns = f->head.from_ns;
	x->rows.cnt = 0;
	while (r == 0 && (r = row_get(&in, of, &row)) > 0) {
		r = edit_row(x, type, of, &row);
		row_put(&x->rows, of, &row);
	}
	if (r == 0)
		block_out_add_rows(&x->out, type, &x->rows);
	return r;
}

static int copy_block(struct redact *x, size_t i, struct redact_result *ret, struct err *e)
{
	const struct trace_block *b = trace_block_at(x->t, i);
	struct trace_block_open o = { 0 };
	struct disk_block head;
	struct block_io io;
	const void *bytes;
	size_t cnt = 0;
	int r;

	r = trace_block_open(x->t, trace_own_reader(x->t), i, &o, e);
	if (r < 0)
		return r;
	io = (struct block_io){ chunk_io_read, &o.io };
	head = o.meta->head;
	block_out_begin(&x->out);
	for (uint32_t s = 0; r == 0 && s < head.section_cnt; s++) {
		if (o.meta->sections[s].type < CHUNK_SMALL_END)
			r = copy_section(x, o.meta, o.meta->sections[s].type);
	}
	r = r ?: block_copy_events(&x->out, o.meta, &io, &head);
	r = r ?: block_out_seal(&x->out, &head, &bytes, &cnt);
	block_meta_free(o.meta);
	if (r < 0)
		return err_set(e, r, "'%s/%s', block at %" PRIu64 ": %s", trace_path(x->t), b->file,
			       b->offset,
			       r == -ENOMEM ? "out of memory" :
					      "is damaged; `ebpfrec repair` makes a trace of "
					      "what is valid, which can be redacted");
	ret->block_cnt++;
	ret->bytes += cnt;
	return store_writer_append(x->store, bytes, cnt, 0, e);
}

/* ---- strings that stay ---- */

/* Keeps names of the kernel and the recorder and, if requested, of the workload. */
static int keep_row(struct redact *x, unsigned int section, const union any_row *row, uint32_t flags)
{
	char shown[FUNCTION_SHOWN + 1];
	union any_row copy = { 0 };
	bool keep;
	const char **s;

	memcpy(&copy, row, row_type_of(section)->bytes);
	for (unsigned int i = 0; (s = row_string(row_type_of(section), &copy, i)); i++) {
		keep = flags & TRACE_TASK_WORKLOAD && x->o->keep_workload;
		if (row_strings[section][i] == REDACT_COMM)
			keep |= (flags & TRACE_TASK_KTHREAD &&
				 redact_words_is_kernels(x->words, *s)) ||
				(flags & TRACE_TASK_RECORDER && !strncmp(*s, "ebpfrec", 7));
		if (keep && redact_words_keep(x->words, row_strings[section][i],
					      text_of(section, i, *s, shown)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int keep_cgroup(struct redact *x, uint64_t cgroup_id, uint32_t flags)
{
	const struct trace_name *n = trace_name_find(x->t, TRACE_NAME_CGROUP, cgroup_id);

	if (!n || !(flags & TRACE_TASK_WORKLOAD) || !x->o->keep_workload)
		return 0;
	return redact_words_keep(x->words, REDACT_CGROUP, n->name);
}

static int keep_list(struct redact *x, unsigned int list)
{
	const struct trace_process *p;
	const union any_row *row;
	int r = 0;

	for (size_t i = 0; r == 0 && (row = trace_row_at(x->t, list, i)); i++) {
		if (list == CHUNK_THREADS) {
			r = keep_row(x, list, row, row->thread.flags);
			continue;
		}
		p = trace_process_find(x->t, list == CHUNK_PROCESSES ? row->process.upid :
					     list == CHUNK_SITES     ? row->site.upid :
								       row->task_event.upid);
		if (!p)
			continue;
		r = keep_row(x, list, row, p->flags);
		if (r == 0 && list == CHUNK_PROCESSES)
			r = keep_cgroup(x, p->cgroup_id, p->flags);
		if (r == 0 && list == CHUNK_TASK_EVENTS)
			r = keep_cgroup(x, row->task_event.cgroup_id, p->flags);
	}
	return r;
}

/* Selects the names to keep. A name that several processes share is kept in all of them. */
static int keep_names(struct redact *x)
{
	int r = keep_list(x, CHUNK_PROCESSES);

	r = r ?: keep_list(x, CHUNK_THREADS) ?: keep_list(x, CHUNK_TASK_EVENTS);
	return r == 0 ? keep_list(x, CHUNK_SITES) : r;
}

/* ---- the manifest ---- */

/* A kind of manifest entry, besides AS_IS and the kinds of redact_words.h. */
#define ENTRY_NUMBERS (REDACT_KIND_CNT + 1)

static const struct {
	const char *key;	/* glob pattern */
	unsigned int kind;
} entries[] = {
	{ "attempted", ENTRY_NUMBERS }, { "read", ENTRY_NUMBERS }, { "lost", ENTRY_NUMBERS },
	{ "command.exit", ENTRY_NUMBERS }, { "command.pid", ENTRY_NUMBERS },
	{ "recorder.pid", ENTRY_NUMBERS }, { "cpu.online", ENTRY_NUMBERS },
	{ "cpu.possible", ENTRY_NUMBERS }, { "mem.bytes", ENTRY_NUMBERS },
	{ "page_bytes", ENTRY_NUMBERS }, { "only", ENTRY_NUMBERS }, { "stacks.*", ENTRY_NUMBERS },
	{ "steal", ENTRY_NUMBERS }, { "heap", AS_IS },
	{ "heap.*", ENTRY_NUMBERS },
	{ "offcpu.*", ENTRY_NUMBERS }, { "profile.*", ENTRY_NUMBERS },
	{ "max_overhead_ppm", ENTRY_NUMBERS }, { "ring.*", ENTRY_NUMBERS },
	{ "disk.*", ENTRY_NUMBERS }, { "keep.*", ENTRY_NUMBERS }, { "kept.*", ENTRY_NUMBERS },
	{ "dropped.*", ENTRY_NUMBERS }, { "snapshot.*", ENTRY_NUMBERS },
	{ "repaired", ENTRY_NUMBERS }, { "repaired.gap*", ENTRY_NUMBERS }, { "cut", ENTRY_NUMBERS },
	{ "cut.*_ns", ENTRY_NUMBERS }, { "cut.left_out", AS_IS },
	{ "cut.unowned_*", ENTRY_NUMBERS }, { "cut.lost_before.*", ENTRY_NUMBERS },
	{ "cut.processes", REDACT_CMDLINE }, { "redacted", ENTRY_NUMBERS },
	{ "span.*", ENTRY_NUMBERS },
	{ "repaired.state", AS_IS }, { "manifest.lost", AS_IS },
	{ "redacted.state", AS_IS }, { "recorder.version", AS_IS },
	{ "kernel.release", AS_IS }, { "kernel.version", AS_IS },
	{ "machine", AS_IS }, { "cpu.model", AS_IS }, { "programs", AS_IS },
	{ "sources", AS_IS }, { "lacks", AS_IS }, { "host", REDACT_HOST },
	{ "cgroup", REDACT_CGROUP }, { "command", REDACT_CMDLINE },
	{ "recorder.command_line", REDACT_CMDLINE },
};

/* Returns the kind of an entry; -1: unknown. */
static int entry_kind(const struct manifest_entry *m)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (fnmatch(entries[i].key, m->key, 0))
			continue;
		/* the value is not a number; a later line may match the key */
		if (entries[i].kind == ENTRY_NUMBERS && m->value[strspn(m->value, "0123456789 .-")])
			continue;
		return (int)entries[i].kind;
	}
	return -1;
}

/* Returns the value to write for an entry; NULL: skip the entry, or an error in *ret_err. */
static const char *entry_value(struct redact *x, const struct manifest_entry *m, int *ret_err)
{
	int kind = entry_kind(m);
	const char *v;

	if (kind < 0)
		return NULL;
	if (kind >= REDACT_KIND_CNT || (x->o->keep_workload && !strcmp(m->key, "command")))
		return m->value;
	v = redact_word(x->words, (enum redact_kind)kind, m->value);
	*ret_err = v ? 0 : -ENOMEM;
	return v;
}

/* Copies note.KEY=VALUE. Users choose both, except the recorder's own key note.trigger. */
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
	const struct manifest *all = trace_stored_manifest(x->t);
	const char *state = trace_get(x->t, "state"), *value;
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->cnt; i++) {
		const struct manifest_entry *m = &all->entries[i];

		if (!strncmp(m->key, "note.", 5)) {
			r = copy_note(x, m);
			continue;
		}
		value = entry_value(x, m, &r);
		if (r == 0 && value)
			r = store_writer_set(x->store, m->key, value);
		else if (r == 0 && strcmp(m->key, "state") && strcmp(m->key, "mounts") &&
			 strncmp(m->key, "trace.", 6))
			ret->entries_left_out++;
	}
	r = r ?: store_writer_set(x->store, "redacted", "1");
	if (r == 0 && !trace_get(x->t, "redacted.state"))
		r = store_writer_set(x->store, "redacted.state",
				     state && !strcmp(state, "finished") ? state : "recording");
	return r;
}

/* ---- strings to redact ---- */

static void each_of_list(const struct trace *t, unsigned int list, trace_string_fn fn, void *ctx)
{
	unsigned int section = list < CHUNK_SMALL_END ? list : CHUNK_NAMES, kind, nth;
	const struct row_type *of = trace_list_type(list);
	const void *at;
	union any_row row = { 0 };
	const char **s;

	for (size_t i = 0; (at = trace_row_at(t, list, i)); i++) {
		memcpy(&row, at, of->bytes);
		for (nth = 0; (s = row_string(of, &row, nth)); nth++) {
			kind = string_kind(section, &row, nth, *s);
			if (kind < REDACT_KIND_CNT && **s)
				fn(ctx, (enum redact_kind)kind, *s);
		}
	}
}

void trace_strings_each(const struct trace *t, trace_string_fn fn, void *ctx)
{
	const struct manifest *stored = trace_stored_manifest(t);
	const struct manifest_entry *m = stored->entries;
	int kind;

	for (unsigned int list = 0; list < TRACE_LIST_CNT; list++)
		each_of_list(t, list, fn, ctx);
	for (size_t i = 0; i < stored->cnt; i++, m++) {
		kind = !strncmp(m->key, "note.", 5) ? REDACT_NOTE :
		       !strcmp(m->key, "mounts")    ? REDACT_PATH : entry_kind(m);
		if (kind >= 0 && kind < REDACT_KIND_CNT && *m->value)
			fn(ctx, (enum redact_kind)kind, m->value);
	}
}

/* ---- the trace ---- */

static int write_redacted(void *ctx, struct store_writer *w, struct err *e)
{
	struct redact *x = ctx;
	struct redact_result *res = &x->res;
	int r = keep_names(x);

	x->store = w;
	r = r ?: block_out_init(&x->out, 0) ?: copy_manifest(x, res);
	if (r < 0)
		return err_set(e, r, "out of memory");
	for (size_t i = 0; r == 0 && i < trace_block_cnt(x->t); i++)
		r = copy_block(x, i, res, e);
	if (r == 0 && !res->block_cnt)
		r = err_set(e, -ENODATA, "'%s' has no valid block", trace_path(x->t));
	res->words = *redact_words_counts(x->words);
	return r;
}

/*
 * Creates the key, and derives the copy's id from key and trace id: equal salts make equal copies.
 */
static int make_words(struct redact *x, uint64_t *ret_id, struct err *e)
{
	uint64_t id = trace_id(x->t);
	uint8_t key[PSEUDONYM_KEY_BYTES], mixed[PSEUDONYM_KEY_BYTES + sizeof(id)];
	int r = 0;

	if (x->o->salt)
		pseudonym_key_from(key, x->o->salt, x->o->salt_bytes);
	else
		r = pseudonym_key_random(key);
	if (r < 0)
		return err_set(e, r, "cannot make a random salt: %s; give one with --salt",
			       err_text(NULL, r));
	r = redact_words_new(&x->words, key, x->o->keep, x->o->keep_cnt);
	memcpy(mixed, key, sizeof(key));
	memcpy(mixed + sizeof(key), &id, sizeof(id));
	pseudonym_key_from(key, mixed, sizeof(mixed));
	memcpy(ret_id, key, sizeof(*ret_id));
	explicit_bzero(key, sizeof(key));
	explicit_bzero(mixed, sizeof(mixed));
	return r ? err_set(e, r, "out of memory") : 0;
}

int trace_redact(struct trace *t, const char *path, const struct redact_options *o,
		 struct redact_result *ret, struct err *e)
{
	struct store_config config = {
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.file_bytes = UINT64_MAX / 2,
		.file_age_ns = UINT64_MAX / 2,
	};
	struct redact x = { .t = t, .o = o };
	int r = make_words(&x, &config.trace_id, e);

	r = r ?: trace_copy_make(t, path, &config, write_redacted, &x, e);
	block_out_done(&x.out);
	buf_done(&x.rows.out);
	redact_words_free(x.words);
	if (r == 0)
		*ret = x.res;
	return r;
}
