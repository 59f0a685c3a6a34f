/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * core_types: see core_types.h. First marks the named structures that the programs use; then marks
 * the contents of marked types, until there are no more. Copies the marked types in order of their
 * ids.
 */
#include "probe/core_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/hash_map.h"

struct subset {
	const struct btf *kernel;
	uint32_t *ids;	/* by id in the kernel's BTF: 1 if marked; later its id in the copy */
	struct buf pending; /* ids of marked types whose contents are not marked yet: uint32_t */
};

static bool can_be_read(const struct btf_type *t)
{
	return t->name_off && (btf_is_composite(t) || btf_is_any_enum(t));
}

static void mark(struct subset *s, uint32_t id)
{
	if (!id || s->ids[id])
		return;
	s->ids[id] = 1;
	buf_add(&s->pending, &id, sizeof(id));
}

static int mark_named(struct subset *s, const struct btf *programs)
{
	struct hash_map names = {};
	const struct btf_type *t;
	const char *name, *variant;
	uint32_t id, n;
	size_t len;
	int err = 0;

	for (id = 1; err >= 0 && id < btf__type_cnt(programs); id++) {
		t = btf__type_by_id(programs, id);
		if (!can_be_read(t))
			continue;
		name = btf__name_by_offset(programs, t->name_off);
		/* The part after three underscores only distinguishes variants of a structure. */
		variant = strstr(name, "___");
		len = variant ? (size_t)(variant - name) : strlen(name);
		err = hash_map_intern(&names, crc32c(0, name, len), len, &n);
	}
	/* If two names have the same key, a type is copied in vain. */
	for (id = 1; err >= 0 && id < btf__type_cnt(s->kernel); id++) {
		t = btf__type_by_id(s->kernel, id);
		if (!can_be_read(t))
			continue;
		name = btf__name_by_offset(s->kernel, t->name_off);
		len = strlen(name);
		if (hash_map_find(&names, crc32c(0, name, len), len, &n))
			mark(s, id);
	}
	hash_map_done(&names);
	return err < 0 ? err : 0;
}

/* Calls visit with the id of each type that t contains; excludes targets of pointers. */
static void visit_contents(struct subset *s, struct btf_type *t,
			   void (*visit)(struct subset *s, uint32_t *id))
{
	if (btf_is_mod(t) || btf_is_typedef(t))
		visit(s, &t->type);
	if (btf_is_array(t)) {
		visit(s, &btf_array(t)->type);
		visit(s, &btf_array(t)->index_type);
	}
	for (unsigned int i = 0; btf_is_composite(t) && i < btf_vlen(t); i++)
		visit(s, &btf_members(t)[i].type);
}

static void mark_id(struct subset *s, uint32_t *id)
{
	mark(s, *id);
}

static void renumber_id(struct subset *s, uint32_t *id)
{
	*id = s->ids[*id];
}

static int copy_marked(struct subset *s, struct btf *to)
{
	uint32_t id, cnt = 0;

	for (id = 1; id < btf__type_cnt(s->kernel); id++) {
		if (s->ids[id])
			s->ids[id] = ++cnt;
	}
	for (id = 1; id < btf__type_cnt(s->kernel); id++) {
		struct btf_type *t;
		int new_id;

		if (!s->ids[id])
			continue;
		new_id = btf__add_type(to, s->kernel, btf__type_by_id(s->kernel, id));
		if (new_id < 0)
			return new_id;
		t = (struct btf_type *)btf__type_by_id(to, (uint32_t)new_id);
		visit_contents(s, t, renumber_id);
		if (btf_is_ptr(t))
			t->type = 0;
	}
	return 0;
}

static int write_all(const struct btf *btf, int fd)
{
	uint32_t bytes;
	const char *data = btf__raw_data(btf, &bytes);

	if (!data)
		return -ENOMEM;
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		bytes -= (uint32_t)n;
	}
	return 0;
}

int core_types_write(const struct btf *kernel, const struct btf *programs, int fd)
{
	struct subset s = { .kernel = kernel };
	struct btf *to = btf__new_empty();
	int err = -ENOMEM;

	s.ids = calloc(btf__type_cnt(kernel), sizeof(*s.ids));
	if (!s.ids || !to)
		goto out;
	err = mark_named(&s, programs);
	while (!err && s.pending.len) {
		uint32_t id;

		s.pending.len -= sizeof(id);
		memcpy(&id, s.pending.data + s.pending.len, sizeof(id));
		visit_contents(&s, (struct btf_type *)btf__type_by_id(kernel, id), mark_id);
		if (s.pending.failed)
			err = -ENOMEM;
	}
	err = err ?: copy_marked(&s, to) ?: write_all(to, fd);
out:
	btf__free(to);
	buf_done(&s.pending);
	free(s.ids);
	return err;
}
