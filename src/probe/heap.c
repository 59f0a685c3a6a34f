// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * heap: attaches the allocator probes to the C libraries on this system. The probes fire
 * in every process that uses the library; the programs leave at once unless the process
 * is of the workload.
 */
#include "probe/heap.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <glob.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/privilege.h"

/* Which functions a program is for. */
static const struct {
	const char *program;
	const char *functions[10];	/* ends with NULL */
} heap_functions[] = {
	{ "heap_malloc", { "malloc", "valloc", "pvalloc" } },
	{ "heap_calloc", { "calloc" } },
	{ "heap_realloc", { "realloc" } },
	{ "heap_reallocarr", { "reallocarray" } },
	{ "heap_aligned", { "memalign", "aligned_alloc" } },
	{ "heap_posix", { "posix_memalign" } },
	{ "heap_free", { "free" } },
	{ "heap_return",
	  { "malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
	    "posix_memalign", "valloc", "pvalloc" } },
};

unsigned int heap_find_libraries(struct heap_library libs[HEAP_LIBRARIES_MAX])
{
	static const char *const patterns[] = {
		"/lib/*-linux-gnu*/libc.so.6",
		"/lib64/libc.so.6",
		"/usr/lib/libc.so.6",
		"/lib/ld-musl-*.so.1",
	};
	unsigned int cnt = 0, i, k;
	size_t j;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob_t g;

		if (glob(patterns[i], 0, NULL, &g))
			continue;
		for (j = 0; j < g.gl_pathc && cnt < HEAP_LIBRARIES_MAX; j++) {
			/* one file under several names would be probed twice */
			if (!realpath(g.gl_pathv[j], libs[cnt].path))
				continue;
			for (k = 0; k < cnt && strcmp(libs[k].path, libs[cnt].path); k++)
				;
			cnt += k == cnt;
		}
		globfree(&g);
	}
	return cnt;
}

static int attach_one(struct bpf_program *prog, const char *function, bool ret,
		      const struct heap_library *lib, struct bpf_link **link, struct err *e)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = function, .retprobe = ret);

	*link = bpf_program__attach_uprobe_opts(prog, -1, lib->path, 0, &opts);
	if (*link || errno == ENOENT || errno == ESRCH)
		return 0;
	/* since 6.16, and kernels that took that change over */
	if ((errno == EACCES || errno == EPERM) && !privilege_has(CAP_SYS_ADMIN))
		return err_set(e, -EPERM,
			       "alloc.heap: this kernel wants CAP_SYS_ADMIN for uprobes; run with "
			       "sudo, or record "
			       "without it");
	return err_set(e, -errno, "alloc.heap: cannot attach to %s in %s: %s", function, lib->path,
		       strerror(errno));
}

int heap_attach(struct bpf_program *prog, const char *name, const struct heap_library *lib,
		struct bpf_link **links, unsigned int *link_cnt, unsigned int link_max,
		struct err *e)
{
	size_t i, j;

	for (i = 0; i < sizeof(heap_functions) / sizeof(heap_functions[0]); i++) {
		if (strcmp(heap_functions[i].program, name))
			continue;
		for (j = 0; heap_functions[i].functions[j]; j++) {
			struct bpf_link *link = NULL;
			int err;

			if (*link_cnt == link_max)
				return err_set(e, -E2BIG, "too many programs to attach: a bug");
			err = attach_one(prog, heap_functions[i].functions[j],
					 !strcmp(name, "heap_return"), lib, &link, e);
			if (err)
				return err;
			if (link)
				links[(*link_cnt)++] = link;
		}
	}
	return 0;
}
