/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Three descriptions per process, from the most to the least specific. Level by level the processes
 * without a role are sorted by description; those whose description occurs in both traces get one.
 */
#include "analyze/diff/role.h"
#include "base/array.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 160
#define HEX_WORD_MIN 8		/* a word of so many hexadecimal digits is a hash or an address */
enum { LEVEL_OPERAND, LEVEL_PARENT, LEVEL_PROGRAM, LEVEL_CNT };

struct entry {
	struct role_process *p;
	int side;
	char program[NAME_MAX_BYTES / 2], operand[NAME_MAX_BYTES / 2], parent[NAME_MAX_BYTES / 2];
	char plain[NAME_MAX_BYTES / 2];	/* program with its digits */
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

	/* a plain word may be made of these letters, too */
	return n >= HEX_WORD_MIN && !isalnum((unsigned char)s[n]) && strcspn(s, "0123456789") < n
		       ? n
		       : 0;
}

/* Appends s to buf; numbers as '#' unless plain. */
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

static void describe_program(const struct role_process *p, char *buf, size_t size, bool plain)
{
	const char *base = base_of(p->exe);

	buf[0] = '\0';
	if (p->is_kthread || !*base) {
		add_shape(buf, size, p->comm, SIZE_MAX, plain);
		return;
	}
	add_shape(buf, size, base, SIZE_MAX, plain);
	/* a name is cut at 15 bytes; one that is not the file's was given on purpose */
	if (strncmp(base, p->comm, 15) && strlen(buf) + 4 < size) {
		strcat(buf, "[");
		add_shape(buf, size - 1, p->comm, SIZE_MAX, plain);
		strcat(buf, "]");
	}
}

static void describe_operand(const struct role_process *p, char *buf, size_t size)
{
	const char *s = p->cmdline, *word;

	buf[0] = '\0';
	s += strcspn(s, " ");
	for (s += strspn(s, " "); *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " "), i;

		if (*s != '-') {
			/* of a quoted script the first word tells enough */
			s += strspn(s, "'\"");
			len = strcspn(s, " '\"\n;");
			for (word = s, i = 0; i + 1 < len; i++)
				if (s[i] == '/')
					word = s + i + 1;
			add_shape(buf, size < 41 ? size : 41, word, (size_t)(s + len - word),
				  false);
			return;
		}
		s += len;
	}
}

const struct role_process *role_process_find(const struct role_process *p, size_t cnt, int64_t upid)
{
	size_t i = lower_bound(p, cnt, upid, (uint64_t)upid);

	return i < cnt && p[i].upid == upid ? &p[i] : NULL;
}

static int by_operand(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = strcmp(x->program, y->program);

	if (!r)
		r = strcmp(x->parent, y->parent);
	return r ? r : strcmp(x->operand, y->operand);
}

static void mark_many_operands(struct assignment *as)
{
	size_t i, end, different;

	qsort(as->entries, as->cnt, sizeof(*as->entries), by_operand);
	for (i = 0; i < as->cnt; i = end) {
		for (different = 1, end = i + 1; end < as->cnt; end++) {
			if (strcmp(as->entries[end].program, as->entries[i].program) ||
			    strcmp(as->entries[end].parent, as->entries[i].parent))
				break;
			different +=
				strcmp(as->entries[end].operand, as->entries[end - 1].operand) != 0;
		}
		for (size_t k = i; k < end; k++)
			as->entries[k].many_operands = different > ROLE_OPERAND_MAX;
	}
}

static char *key_of(const struct entry *e, int level)
{
	char *key = NULL;
	int n;

	if (level == LEVEL_OPERAND)
		n = asprintf(&key, "%s\n%s\n%s", e->program, e->parent, e->operand);
	else
		n = asprintf(&key, "%s\n%s", e->program, level == LEVEL_PARENT ? e->parent : "");
	return n < 0 ? NULL : key;
}

static int by_key(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

/* alike: its program has the same digits in all processes of the role */
static int add_role(struct assignment *as, const struct entry *e, int level, bool alike,
		    uint32_t *ret)
{
	bool operand = level == LEVEL_OPERAND && *e->operand;
	struct role *r;

	if (array_reserve(&as->roles, &as->role_cap, as->role_cnt + 1) < 0)
		return -ENOMEM;
	r = &as->roles[as->role_cnt];
	r->parent = strdup(level == LEVEL_PROGRAM ? "" : e->parent);
	r->name = NULL;
	if (!r->parent || asprintf(&r->name, operand ? "%s %s" : "%s",
				   alike ? e->plain : e->program, e->operand) < 0) {
		free(r->parent);
		return -ENOMEM;
	}
	*ret = (uint32_t)as->role_cnt++;
	return 0;
}

/* Gives a role to each group of one description; to those of one trace only when lonely is set. */
static int assign_level(struct assignment *as, struct entry **open, size_t cnt, int level,
			bool lonely)
{
	size_t i, k, end;
	uint32_t role;
	int r = 0;

	qsort(open, cnt, sizeof(*open), by_key);
	for (i = 0; i < cnt && !r; i = end) {
		bool seen[2] = { false, false }, alike = true;

		for (end = i; end < cnt && !strcmp(open[end]->key, open[i]->key); end++) {
			seen[open[end]->side] = true;
			alike = alike && !strcmp(open[end]->plain, open[i]->plain);
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

int role_assign(struct role_process *p[2], const size_t cnt[2], struct role **ret, size_t *ret_cnt)
{
	struct assignment as = { .cnt = cnt[0] + cnt[1] };
	const struct role_process *parent;
	size_t i, k = 0;
	int side, level, r = 0;

	as.entries = calloc(as.cnt + 1, sizeof(*as.entries));
	if (!as.entries)
		return -ENOMEM;
	for (side = 0; side < 2; side++) {
		for (i = 0; i < cnt[side]; i++) {
			struct entry *e = &as.entries[k++];

			e->p = &p[side][i];
			e->p->role = ROLE_NONE;
			e->side = side;
			describe_program(e->p, e->program, sizeof(e->program), false);
			describe_program(e->p, e->plain, sizeof(e->plain), true);
			describe_operand(e->p, e->operand, sizeof(e->operand));
			parent = role_process_find(p[side], cnt[side],
						   e->p->parent_upid);
			if (parent && parent != e->p)
				describe_program(parent, e->parent, sizeof(e->parent), false);
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
