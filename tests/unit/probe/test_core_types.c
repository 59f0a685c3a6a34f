/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The part of a kernel's types that the programs are fitted to has all that they can ask for. */
#include <bpf/btf.h>
#include <sys/mman.h>

#include "probe/kernel.h"
#include "tests/unit/unit_test.h"

/* Fillers push the ids apart, as in a kernel. */
static void add_fillers(struct btf *btf, int cnt)
{
	char name[32];

	while (cnt--) {
		snprintf(name, sizeof(name), "filler_%d", cnt);
		assert_true(btf__add_struct(btf, name, 8) > 0);
	}
}

/*
 * struct task { int pid; const struct inner in; struct other *p; u32_t list[3]; }, where inner has
 * an int at offset 4, and struct other, which only a pointer leads to.
 */
static struct btf *make_kernel(void)
{
	struct btf *btf = btf__new_empty();
	int u32, other, ptr, inner, inner_const, type_def, array;

	add_fillers(btf, 100);
	u32 = btf__add_int(btf, "unsigned int", 4, 0);
	other = btf__add_struct(btf, "other", 16);
	ptr = btf__add_ptr(btf, other);
	inner = btf__add_struct(btf, "inner", 8);
	assert_int_equal(btf__add_field(btf, "at_4", u32, 32, 0), 0);
	/* a constant follows its type here; in a kernel it may also precede it */
	inner_const = btf__add_const(btf, inner);
	type_def = btf__add_typedef(btf, "u32_t", u32);
	array = btf__add_array(btf, u32, type_def, 3);
	add_fillers(btf, 100);
	assert_true(btf__add_struct(btf, "task", 40) > 0);
	assert_int_equal(btf__add_field(btf, "pid", u32, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "in", inner_const, 32, 0), 0);
	assert_int_equal(btf__add_field(btf, "p", ptr, 128, 0), 0);
	assert_int_equal(btf__add_field(btf, "list", array, 192, 0), 0);
	assert_true(btf__add_enum(btf, "flags", 4) > 0);
	assert_int_equal(btf__add_enum_value(btf, "FLAG_SEVEN", 7), 0);
	return btf;
}

static struct btf *subset_of(const struct btf *kernel, const struct btf *programs)
{
	int fd = memfd_create("types", MFD_CLOEXEC);
	char path[64];
	struct btf *btf;

	assert_true(fd >= 0);
	assert_int_equal(core_types_write(kernel, programs, fd), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	btf = btf__parse(path, NULL);
	assert_non_null(btf);
	close(fd);
	return btf;
}

UNIT_TEST(test_core_types_has_what_programs_read_and_what_that_contains)
{
	struct btf *kernel = make_kernel(), *programs = btf__new_empty(), *btf;
	const struct btf_type *task, *inner, *t;
	int id;

	/* a variant of a declaration, as programs have them for kernels that differ */
	assert_true(btf__add_struct(programs, "task___old", 4) > 0);
	assert_true(btf__add_enum(programs, "flags", 4) > 0);
	btf = subset_of(kernel, programs);

	id = btf__find_by_name_kind(btf, "task", BTF_KIND_STRUCT);
	assert_true(id > 0);
	task = btf__type_by_id(btf, (uint32_t)id);
	assert_int_equal(task->size, 40);
	assert_int_equal(btf_vlen(task), 4);
	assert_string_equal(btf__name_by_offset(btf, btf_members(task)[1].name_off), "in");
	assert_int_equal(btf_member_bit_offset(task, 1), 32);
	t = btf__type_by_id(btf, btf_members(task)[1].type);
	assert_true(btf_is_const(t));
	inner = btf__type_by_id(btf, t->type);
	assert_string_equal(btf__name_by_offset(btf, inner->name_off), "inner");
	assert_int_equal(btf_member_bit_offset(inner, 0), 32);
	t = btf__type_by_id(btf, btf_members(task)[2].type);
	assert_true(btf_is_ptr(t));
	assert_int_equal(t->type, 0);
	t = btf__type_by_id(btf, btf_members(task)[3].type);
	assert_true(btf_is_array(t));
	assert_int_equal(btf_array(t)->nelems, 3);
	assert_true(btf_is_typedef(btf__type_by_id(btf, btf_array(t)->type)));
	assert_int_equal(btf__resolve_size(btf, btf_members(task)[3].type), 12);
	id = btf__find_by_name_kind(btf, "flags", BTF_KIND_ENUM);
	assert_true(id > 0);
	assert_int_equal(btf_enum(btf__type_by_id(btf, (uint32_t)id))[0].val, 7);
	btf__free(btf);
	btf__free(programs);
	btf__free(kernel);
}

UNIT_TEST(test_core_types_leaves_out_the_rest)
{
	struct btf *kernel = make_kernel(), *programs = btf__new_empty(), *btf;

	assert_true(btf__add_struct(programs, "task", 4) > 0);
	btf = subset_of(kernel, programs);
	assert_true(btf__find_by_name_kind(btf, "other", BTF_KIND_STRUCT) < 0);
	assert_true(btf__find_by_name_kind(btf, "flags", BTF_KIND_ENUM) < 0);
	assert_true(btf__type_cnt(btf) < 12);
	btf__free(btf);
	btf__free(programs);
	btf__free(kernel);
}

UNIT_TESTS
