/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * kernel: see kernel.h. For every tracepoint X, the kernel's BTF has a typedef btf_trace_X of a
 * pointer to a function, whose first argument is a hidden void pointer. A tp_btf program reads the
 * other arguments as ctx[0], ctx[1], ...
 */
#include "probe/kernel.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/hash_map.h"

/*
 * core_types: first marks the named structures that the programs use; then marks the contents of
 * marked types, until no unmarked contents remain. Copies the marked types in order of their ids.
 */

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
	/* If the CRCs of two names are equal, a type that is not needed is copied, too. */
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

struct kernel_info {
	struct btf *btf;
	struct hash_map ids;	/* ids of types by kind and name (CRC) */
};

static uint64_t name_key(uint32_t kind, const char *name)
{
	return (uint64_t)kind << 32 | crc32c(0, name, strlen(name));
}

/*
 * Returns whether this file may look up the type. Most types have no name, or are local to a kernel
 * function.
 */
static bool is_looked_up(const struct btf_type *t, const char *name)
{
	if (btf_is_func(t))
		return !strncmp(name, "bpf_", 4);
	if (btf_is_typedef(t))
		return !strncmp(name, "btf_trace_", 10);
	return *name && (btf_is_struct(t) || btf_is_enum(t) || btf_is_datasec(t));
}

/*
 * Indexes the ids of all types that may be looked up. libbpf would search all types for each
 * lookup, which takes half a millisecond.
 */
static int index_names(struct kernel_info *k)
{
	uint32_t id, cnt = btf__type_cnt(k->btf);

	/* backwards: if several types have the same name, the first one counts */
	for (id = cnt - 1; id > 0; id--) {
		const struct btf_type *t = btf__type_by_id(k->btf, id);
		const char *name = btf__name_by_offset(k->btf, t->name_off);

		if (name && is_looked_up(t, name) &&
		    hash_map_put(&k->ids, name_key(btf_kind(t), name), (void *)(uintptr_t)id))
			return -ENOMEM;
	}
	return 0;
}

/* Returns the id of a type; 0: not found. The type satisfies is_looked_up(). */
static uint32_t find_type(const struct kernel_info *k, uint32_t kind, const char *name)
{
	uint32_t id = (uint32_t)(uintptr_t)hash_map_get(&k->ids, name_key(kind, name));
	const struct btf_type *t = btf__type_by_id(k->btf, id);

	if (id && !strcmp(btf__name_by_offset(k->btf, t->name_off), name))
		return id;
	return 0;
}

/* libbpf also returns ENOENT for an ELF file without a .BTF section. */
static int btf_file_error(const char *btf_file, int err, struct err *e)
{
	const char *why = "not a file of BTF (bpftool btf dump file FILE would read it)";

	if (access(btf_file, F_OK))
		why = "no such file";
	else if (err == -EACCES)
		why = "not permitted to read it";
	return err_set(e, err, "--btf %s: %s", btf_file, why);
}

/*
 * Opens the kernel's own BTF: maps it, which works since 6.16 (a539e2a6d51d); otherwise lets libbpf
 * read it, 4 KiB at a time. NULL: sets errno.
 */
static struct btf *open_kernel_btf(void)
{
	int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *data = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	struct btf *btf = NULL;

	if (fd >= 0)
		close(fd);
	if (data == MAP_FAILED)
		return btf__parse(KERNEL_BTF, NULL);
	btf = btf__new(data, size);
	munmap(data, size);
	return btf;
}

int kernel_info_open(struct kernel_info **ret, const char *btf_file, struct err *e)
{
	struct kernel_info *k = calloc(1, sizeof(*k));
	int err;

	if (!k)
		return err_set(e, -ENOMEM, "out of memory");
	k->btf = btf_file ? btf__parse(btf_file, NULL) : open_kernel_btf();
	if (!k->btf) {
		err = -errno;
		free(k);
		if (btf_file)
			return btf_file_error(btf_file, err, e);
		return err_set(e, err == -EACCES ? err : -ENOENT,
			       "cannot read this kernel's BTF, " KERNEL_BTF
			       " (%s): boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as Debian "
			       "and Ubuntu kernels since 5.10 are, or, if it is merely not "
			       "visible, as in a container without /sys, give a copy with --btf "
			       "FILE",
			       strerror(-err));
	}
	err = index_names(k);
	if (err) {
		kernel_info_close(k);
		return err_set(e, err, "out of memory");
	}
	*ret = k;
	return 0;
}

void kernel_info_close(struct kernel_info *k)
{
	if (!k)
		return;
	hash_map_done(&k->ids);
	btf__free(k->btf);
	free(k);
}

const struct btf *kernel_btf(const struct kernel_info *k)
{
	return k->btf;
}

uint32_t kernel_tracepoint_id(const struct kernel_info *k, const char *name)
{
	char type_name[128];

	snprintf(type_name, sizeof(type_name), "btf_trace_%s", name);
	return find_type(k, BTF_KIND_TYPEDEF, type_name);
}

static const struct btf_type *tracepoint_proto(const struct kernel_info *k, const char *name)
{
	uint32_t id = kernel_tracepoint_id(k, name);
	const struct btf_type *t;

	if (!id)
		return NULL;
	t = btf__type_by_id(k->btf, id);
	t = btf__type_by_id(k->btf, t->type);
	if (!t || !btf_is_ptr(t))
		return NULL;
	t = btf__type_by_id(k->btf, t->type);
	return t && btf_is_func_proto(t) ? t : NULL;
}

bool kernel_has_tracepoint(const struct kernel_info *k, const char *name)
{
	return tracepoint_proto(k, name) != NULL;
}

int kernel_tracepoint_args(const struct kernel_info *k, const char *name)
{
	const struct btf_type *t = tracepoint_proto(k, name);

	return t ? btf_vlen(t) - 1 : -1;
}

/* Returns a type after removing typedefs and qualifiers; NULL: none. */
static const struct btf_type *bare_type(const struct kernel_info *k, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(k->btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(k->btf, t->type);
	return t;
}

const char *kernel_arg_points_to(const struct kernel_info *k, const char *name, int i)
{
	const struct btf_type *t = tracepoint_proto(k, name);

	if (!t || i < 0 || i + 1 >= btf_vlen(t))
		return NULL;
	t = bare_type(k, btf_params(t)[i + 1].type);
	if (!t || !btf_is_ptr(t))
		return NULL;
	t = bare_type(k, t->type);
	return t && btf_is_struct(t) ? btf__name_by_offset(k->btf, t->name_off) : "";
}

bool kernel_arg_is(const struct kernel_info *k, const char *tracepoint, int i, const char *type)
{
	const char *name = kernel_arg_points_to(k, tracepoint, i);

	return name && !strcmp(name, type);
}

bool kernel_has_helper(const struct kernel_info *k, const char *name)
{
	uint32_t id = find_type(k, BTF_KIND_ENUM, "bpf_func_id");
	const struct btf_type *t = btf__type_by_id(k->btf, id);

	if (!id)
		return false;
	for (int i = 0; i < btf_vlen(t); i++) {
		if (!strcmp(btf__name_by_offset(k->btf, btf_enum(t)[i].name_off), name))
			return true;
	}
	return false;
}

bool kernel_has_field(const struct kernel_info *k, const char *type, const char *field)
{
	uint32_t id = kernel_struct_id(k, type);
	const struct btf_type *t = btf__type_by_id(k->btf, id);

	for (int i = 0; id && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(k->btf, btf_members(t)[i].name_off), field))
			return true;
	return false;
}

bool kernel_is_preempt_rt(void)
{
	struct utsname u;

	return !uname(&u) && strstr(u.version, "PREEMPT_RT");
}

/*
 * struct bpf_map_memory was removed together with the limit of maps' memory: 80ee81e0403c (5.11).
 */
bool kernel_locks_map_memory(const struct kernel_info *k)
{
	return kernel_struct_id(k, "bpf_map_memory") != 0;
}

uint32_t kernel_function_id(const struct kernel_info *k, const char *name)
{
	return find_type(k, BTF_KIND_FUNC, name);
}

uint32_t kernel_struct_id(const struct kernel_info *k, const char *name)
{
	return find_type(k, BTF_KIND_STRUCT, name);
}

/*
 * Finds the address of a data symbol. Kernels without CONFIG_KALLSYMS_ALL do not list data symbols.
 * Addresses of per-CPU variables may start at 0.
 */
static bool find_data_symbol(const char *wanted, uint64_t *ret_addr)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[256], type;
	unsigned long long addr;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (!strstr(line, wanted) || sscanf(line, "%llx %c %255s", &addr, &type, name) != 3)
			continue;
		found = !strcmp(name, wanted) && !strchr("tTwW", type);
		*ret_addr = addr;
	}
	if (f)
		fclose(f);
	return found;
}

/* Finds a per-CPU offset if the kernel's BTF has no variables (5.10). */
static uint64_t percpu_at_by_symbol(const char *variable)
{
	uint64_t start, addr;

	if (!find_data_symbol("__per_cpu_start", &start) || !find_data_symbol(variable, &addr) ||
	    addr < start)
		return 0;
	return addr - start;
}

uint64_t kernel_percpu_at(const struct kernel_info *k, const char *variable)
{
	uint32_t sec = find_type(k, BTF_KIND_DATASEC, ".data..percpu");
	const struct btf_var_secinfo *vars;
	const struct btf_type *t;

	if (!sec)
		return percpu_at_by_symbol(variable);
	t = btf__type_by_id(k->btf, sec);
	vars = btf_var_secinfos(t);
	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_type *var = btf__type_by_id(k->btf, vars[i].type);

		if (!strcmp(btf__name_by_offset(k->btf, var->name_off), variable))
			return vars[i].offset;
	}
	return 0;
}

/* ---- the array of struct page ---- */

/*
 * Page frame n has its struct page at base + n * size. Touching a page yields a frame number, and
 * an allocation that the program sees yields a struct page; which of these belong together is
 * unknown, because page tables are allocated in between. But only the true base explains most of
 * the pairs.
 */
#define TOUCHED 16
#define STRUCT_PAGE_BYTES 64	/* in every 64-bit kernel without debugging options */
#define BASE_ALIGN (1ULL << 21)	/* the array is mapped with huge pages */

/* Returns the number of pairs (struct page, frame) that match a base. */
static unsigned int score(const volatile struct wire_calib *calib, const uint64_t *pfns,
			  uint64_t base)
{
	unsigned int hits = 0, i, j;

	for (i = 0; i < calib->cnt; i++) {
		for (j = 0; j < TOUCHED; j++)
			hits += calib->page[i] == base + pfns[j] * STRUCT_PAGE_BYTES;
	}
	return hits;
}

static int solve(const volatile struct wire_calib *calib, const uint64_t *pfns,
		 unsigned long long *ret_base)
{
	for (unsigned int i = 0; i < calib->cnt; i++) {
		for (unsigned int j = 0; j < TOUCHED; j++) {
			uint64_t base = calib->page[i] - pfns[j] * STRUCT_PAGE_BYTES;

			if (base % BASE_ALIGN || score(calib, pfns, base) < TOUCHED / 2)
				continue;
			*ret_base = base;
			return 0;
		}
	}
	return -ENODATA;
}

int kernel_find_pages(volatile struct wire_calib *calib, unsigned long long *ret_base)
{
	long page = sysconf(_SC_PAGESIZE);
	uint64_t pfns[TOUCHED], entry;
	int err = 0, fd;
	char *area;

	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	area = mmap(NULL, TOUCHED * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (area == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	madvise(area, TOUCHED * page, MADV_NOHUGEPAGE);
	for (unsigned int i = 0; i < TOUCHED; i++)
		area[i * page] = 1;
	for (unsigned int i = 0; i < TOUCHED && !err; i++) {
		if (pread(fd, &entry, sizeof(entry),
			  (uintptr_t)(area + i * page) / page * sizeof(entry)) != sizeof(entry))
			err = -EIO;
		pfns[i] = entry & ((1ULL << 55) - 1);
		if (!err && !pfns[i])
			err = -EPERM;
	}
	munmap(area, TOUCHED * page);
	close(fd);
	return err ? err : solve(calib, pfns, ret_base);
}
