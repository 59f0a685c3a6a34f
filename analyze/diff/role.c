/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * role: each process has three descriptions, from the most to the least specific. For each level,
 * the processes without a role are sorted by description; a description that occurs in both traces
 * becomes a role.
 */
#include "analyze/diff/role.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NAME_MAX_BYTES 160
/* a word with at least this many hexadecimal digits is a hash or an address */
#define HEX_WORD_MIN 8
enum { LEVEL_OPERAND, LEVEL_PARENT, LEVEL_PROGRAM, LEVEL_CNT };

/* shape is compared; plain is shown if it is equal for all processes of a role. */
struct words {
	char shape[NAME_MAX_BYTES / 2], plain[NAME_MAX_BYTES / 2];
};

enum { PROGRAM, PARENT, OPERAND, WORDS_CNT };

struct entry {
	struct role_process *p;
	int side;
	struct words words[WORDS_CNT];
	bool many_operands;
	char *key;
};

struct assignment {
	struct entry *entries;
	size_t cnt;
	struct role *roles;
	size_t role_cnt, role_cap;
};

static size_t hex_run(const char *s)
{
	size_t n = strspn(s, "0123456789abcdefABCDEF");

	/* require a decimal digit, because a word may consist of the letters a to f */
	return n >= HEX_WORD_MIN && !isalnum((unsigned char)s[n]) && strcspn(s, "0123456789") < n
		       ? n
		       : 0;
}

/* Appends s to buf. Unless plain, numbers become '#'. */
static void add_shape(char *buf, size_t size, const char *s, size_t len, bool plain)
{
	size_t at = strlen(buf), i = 0, n;

	while (i < len && s[i] && at + 1 < size) {
		n = i == 0 || !isalnum((unsigned char)s[i - 1]) ? hex_run(s + i) : 0;
		if (!n)
			n = strspn(s + i, "0123456789");
		n = plain ? 0 : n;
		buf[at++] = n ? '#' : s[i];
		i += n ? n : 1;
	}
	buf[at] = '\0';
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void add_program(const struct role_process *p, char *buf, size_t size, bool plain)
{
	const char *base = base_of(p->exe);

	buf[0] = '\0';
	if (p->is_kthread || !*base) {
		add_shape(buf, size, p->comm, SIZE_MAX, plain);
		return;
	}
	add_shape(buf, size, base, SIZE_MAX, plain);
	/* comm is cut at 15 bytes; if it differs from the file name, it was set on purpose */
	if (strncmp(base, p->comm, 15) && strlen(buf) + 4 < size) {
		strcat(buf, "[");
		add_shape(buf, size - 1, p->comm, SIZE_MAX, plain);
		strcat(buf, "]");
	}
}

static void describe_program(const struct role_process *p, struct words *ret)
{
	add_program(p, ret->shape, sizeof(ret->shape), false);
	add_program(p, ret->plain, sizeof(ret->plain), true);
}

#define OPERAND_BYTES 41

static void describe_operand(const struct role_process *p, struct words *ret)
{
	const char *s = p->cmdline, *word;
	bool is_output = false; /* the word is the value of -o, the least descriptive argument */

	s += strcspn(s, " ");
	for (s += strspn(s, " "); *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " "), i;

		if (*s != '-' && !is_output) {
			/* the first word of a quoted script suffices */
			s += strspn(s, "'\"");
			len = strcspn(s, " '\"\n;");
			for (word = s, i = 0; i + 1 < len; i++)
				if (s[i] == '/')
					word = s + i + 1;
			len = (size_t)(s + len - word);
			add_shape(ret->shape, OPERAND_BYTES, word, len, false);
			add_shape(ret->plain, OPERAND_BYTES, word, len, true);
			return;
		}
		is_output = len == 2 && !memcmp(s, "-o", 2);
		s += len;
	}
}

/* ---- processes ---- */

const char role_process_sql[] =
	"SELECT upid, parent_upid, is_kthread, comm, exe, cmdline FROM processes"
	" WHERE pid IS NOT NULL AND NOT is_recorder AND coalesce(start_ns, 0) < :to"
	" AND coalesce(end_ns, :to) > :from"
	" AND (is_workload OR NOT :only_workload) ORDER BY upid";

static char *text_of(const struct value *v)
{
	return v->type == VALUE_TEXT ? strndup(v->text, v->text_bytes) : strdup("");
}

int role_process_add(struct role_processes *side, const struct value *row, uint32_t first_upid)
{
	struct role_process *p;

	if (array_reserve(&side->v, &side->cap, side->cnt + 1) < 0)
		return -ENOMEM;
	p = &side->v[side->cnt++];
	*p = (struct role_process){ .upid = (uint32_t)row[0].i + first_upid,
				    .parent_upid = (uint32_t)row[1].i + first_upid,
				    .is_kthread = row[2].i != 0,
				    .comm = text_of(&row[3]),
				    .exe = text_of(&row[4]),
				    .cmdline = text_of(&row[5]) };
	return p->comm && p->exe && p->cmdline ? 0 : -ENOMEM;
}

void role_processes_done(struct role_processes *side)
{
	for (size_t i = 0; i < side->cnt; i++) {
		free(side->v[i].comm);
		free(side->v[i].exe);
		free(side->v[i].cmdline);
	}
	free(side->v);
}

const struct role_process *role_process_find(const struct role_processes *side, int64_t upid)
{
	size_t i = lower_bound(side->v, side->cnt, upid, (uint64_t)upid);

	return i < side->cnt && side->v[i].upid == upid ? &side->v[i] : NULL;
}

/* ---- roles ---- */

static int by_operand(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = 0;

	for (unsigned int i = 0; i < WORDS_CNT && !r; i++)
		r = strcmp(x->words[i].shape, y->words[i].shape);
	return r;
}

static bool is_same(const struct entry *a, const struct entry *b, unsigned int word)
{
	return !strcmp(a->words[word].shape, b->words[word].shape);
}

static void mark_many_operands(struct assignment *as)
{
	size_t i, end, different;

	qsort(as->entries, as->cnt, sizeof(*as->entries), by_operand);
	for (i = 0; i < as->cnt; i = end) {
		for (different = 1, end = i + 1; end < as->cnt; end++) {
			if (!is_same(&as->entries[end], &as->entries[i], PROGRAM) ||
			    !is_same(&as->entries[end], &as->entries[i], PARENT))
				break;
			different += !is_same(&as->entries[end], &as->entries[end - 1], OPERAND);
		}
		for (size_t k = i; k < end; k++)
			as->entries[k].many_operands = different > ROLE_OPERAND_MAX;
	}
}

static char *key_of(const struct entry *e, int level)
{
	const struct words *w = e->words;
	char *key = NULL;

	if (asprintf(&key, "%s\n%s\n%s", w[PROGRAM].shape,
		     level == LEVEL_PROGRAM ? "" : w[PARENT].shape,
		     level == LEVEL_OPERAND ? w[OPERAND].shape : "") < 0)
		return NULL;
	return key;
}

static int by_key(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

/*
 * Adds a role. alike: bit per word that is equal, including digits, in all processes of the role.
 */
static int add_role(struct assignment *as, const struct entry *e, int level, unsigned int alike,
		    uint32_t *ret)
{
	const char *word[WORDS_CNT];
	struct role *r;

	if (array_reserve(&as->roles, &as->role_cap, as->role_cnt + 1) < 0)
		return -ENOMEM;
	for (unsigned int i = 0; i < WORDS_CNT; i++)
		word[i] = alike & 1u << i ? e->words[i].plain : e->words[i].shape;
	if (level != LEVEL_OPERAND)
		word[OPERAND] = "";
	r = &as->roles[as->role_cnt];
	r->parent = strdup(level == LEVEL_PROGRAM ? "" : word[PARENT]);
	r->name = NULL;
	if (!r->parent || asprintf(&r->name, "%s%s%s", word[PROGRAM], *word[OPERAND] ? " " : "",
				   word[OPERAND]) < 0) {
		free(r->parent);
		return -ENOMEM;
	}
	*ret = (uint32_t)as->role_cnt++;
	return 0;
}

/*
 * Assigns a role to each group of processes with the same description. Groups that occur in only
 * one trace are skipped unless lonely is set.
 */
static int assign_level(struct assignment *as, struct entry **open, size_t cnt, int level,
			bool lonely)
{
	size_t i, k, end;
	uint32_t role;
	int r = 0;

	qsort(open, cnt, sizeof(*open), by_key);
	for (i = 0; i < cnt && !r; i = end) {
		bool seen[2] = { false, false };
		unsigned int alike = (1u << WORDS_CNT) - 1;

		for (end = i; end < cnt && !strcmp(open[end]->key, open[i]->key); end++) {
			seen[open[end]->side] = true;
			for (k = 0; k < WORDS_CNT; k++)
				if (strcmp(open[end]->words[k].plain, open[i]->words[k].plain))
					alike &= ~(1u << k);
		}
		if (!lonely && !(seen[0] && seen[1]))
			continue;
		r = add_role(as, open[i], level, alike, &role);
		for (k = i; k < end && !r; k++)
			open[k]->p->role = role;
	}
	return r;
}

static int assign(struct assignment *as, int level, bool lonely)
{
	struct entry **open = malloc((as->cnt + 1) * sizeof(*open));
	size_t i, cnt = 0;
	int r = open ? 0 : -ENOMEM;

	for (i = 0; i < as->cnt && !r; i++) {
		struct entry *e = &as->entries[i];

		if (e->p->role != ROLE_NONE || (level == LEVEL_OPERAND && e->many_operands))
			continue;
		e->key = key_of(e, level);
		if (e->key)
			open[cnt++] = e;
		else
			r = -ENOMEM;
	}
	if (!r)
		r = assign_level(as, open, cnt, level, lonely);
	for (i = 0; i < cnt; i++) {
		free(open[i]->key);
		open[i]->key = NULL;
	}
	free(open);
	return r;
}

int role_assign(const struct role_processes *const sides[2], struct role **ret, size_t *ret_cnt)
{
	struct assignment as = { .cnt = sides[0]->cnt + sides[1]->cnt };
	const struct role_process *parent;
	size_t i, k = 0;
	int side, level, r = 0;

	as.entries = calloc(as.cnt + 1, sizeof(*as.entries));
	if (!as.entries)
		return -ENOMEM;
	for (side = 0; side < 2; side++) {
		for (i = 0; i < sides[side]->cnt; i++) {
			struct entry *e = &as.entries[k++];

			e->p = &sides[side]->v[i];
			e->p->role = ROLE_NONE;
			e->side = side;
			describe_program(e->p, &e->words[PROGRAM]);
			describe_operand(e->p, &e->words[OPERAND]);
			parent = role_process_find(sides[side], e->p->parent_upid);
			if (parent && parent != e->p)
				describe_program(parent, &e->words[PARENT]);
		}
	}
	mark_many_operands(&as);
	for (level = 0; level < LEVEL_CNT && !r; level++)
		r = assign(&as, level, false);
	if (!r)
		r = assign(&as, LEVEL_PARENT, true);
	free(as.entries);
	if (r) {
		role_free(as.roles, as.role_cnt);
		return r;
	}
	*ret = as.roles;
	*ret_cnt = as.role_cnt;
	return 0;
}

void role_free(struct role *roles, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt; i++) {
		free(roles[i].name);
		free(roles[i].parent);
	}
	free(roles);
}
