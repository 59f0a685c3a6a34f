/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * preload: finds and prepares the library, which is in the program's directory or in
 * ../lib/ebpfrec/ relative to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/privilege.h"
#include "base/atomic_output.h"
#include "preload/heap_share.h"
#include "probe/probe.h"
#include "record/launch.h"
#include "record/preload.h"
#include "record/session.h"
#include "ring/heap_ring.h"
#include "symbol/elf_symbols.h"

/*
 * Size of the library's memory as a multiple of the ring size, if a ring size was set. The memory
 * must buffer bursts of events of all CPUs.
 */
#define RINGS_WORTH 4
/* Default size, small because touched pages count as resident memory of the workload. */
#define DEFAULT_BYTES (8u << 20)
/* Upper bound of the total size of the library's own mappings. */
#define LIBRARY_BYTES (1u << 20)

/* Finds the library. False: it is not installed. */
static bool find_library(char path[PATH_MAX])
{
	static const char *const places[] = { "", "../lib/ebpfrec/" };
	char program[PATH_MAX], name[PATH_MAX + 64];

	if (!path_of_program(program))
		return false;
	for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(name, sizeof(name), "%s/%sebpfrec_heap.so", program, places[i]);
		if (realpath(name, path) && !access(path, R_OK))
			return true;
	}
	return false;
}

bool preload_has_library(void)
{
	char path[PATH_MAX];

	return find_library(path);
}

/*
 * Returns the path of the command's file if it defines malloc, as in static programs; else NULL.
 * malloc'ed.
 */
static char *find_own_malloc(const char *command)
{
	struct elf_symbols *s = NULL;
	char path[PATH_MAX], *ret = NULL;
	int fd = launch_find(command, path) ? -1 : open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && !elf_symbols_read(&s, fd) && elf_symbols_defines(s, "malloc"))
		ret = strdup(path);
	elf_symbols_free(s);
	if (fd >= 0)
		close(fd);
	return ret;
}

/*
 * Returns the reason why the library cannot record this workload. NULL: it can, and path is the
 * library's path. program: COMMAND's file if it has its own malloc.
 */
static const char *refusal(const struct session_options *o, const char *program,
			   char path[PATH_MAX])
{
	if (!o->command)
		return "of processes that run already";
	if (o->pid_cnt || o->cgroup)
		return "with -p or --cgroup";
	if (program)
		return "of a program with a malloc built in";
	if (own_pids_are_other())
		return "in a pid namespace of its own";
	if (!find_library(path))
		return "without ebpfrec_heap.so, which was not found beside the program";
	if (strpbrk(path, " :$"))
		return "by a library whose path has a blank, ':' or '$'";
	return NULL;
}

static int make_env(struct preload *p, const char *library)
{
	const char *others = getenv("LD_PRELOAD");

	if (asprintf(&p->env[0], "LD_PRELOAD=%s%s%s", library, others && *others ? ":" : "",
		     others ? others : "") < 0)
		p->env[0] = NULL;
	if (asprintf(&p->env[1], HEAP_SHARE_ENV "=%s", heap_ring_path(p->ring)) < 0)
		p->env[1] = NULL;
	return p->env[0] && p->env[1] ? 0 : -ENOMEM;
}

int preload_open(struct preload *p, const struct session_options *o, uid_t owner, gid_t group,
		 struct err *e)
{
	struct heap_ring_config config = {
		.bytes = o->rings.bytes ? RINGS_WORTH * o->rings.bytes : DEFAULT_BYTES,
		.counts_cycles = heap_clock_is_there(), .waits = o->heap_wait,
		/* samples are rare: record a stack for each */
		.stacks_every = o->stacks_every && o->heap_sample_bytes ? 1 : o->stacks_every,
		.stacks_min_bytes = o->stacks_min_bytes, .sample_bytes = o->heap_sample_bytes,
		.uid = geteuid(), .gid = getegid(), .owner = owner, .group = group,
	};
	char library[PATH_MAX];
	struct account account;
	const char *why;
	int err;

	p->program = o->command ? find_own_malloc(o->command[0]) : NULL;
	why = refusal(o, p->program, library);

	if (why && o->heap_sample_bytes)
		return err_set(e, -ENOTSUP,
			       "--heap=SIZE needs the library, which cannot record the heap %s: "
			       "--heap records each malloc with uprobes", why);
	if (why) {
		notices_warn(&o->notices,
			     "alloc.heap: uprobes record the heap %s; each malloc and free takes "
			     "about 6 us more",
			     why);
		return 0;
	}
	if (o->user) {
		if (account_find(&account, o->user))
			return 0;	/* launch_new() reports this error */
		config.uid = account.uid;
		config.gid = account.gid;
	}
	err = heap_ring_new(&p->ring, &config, e);
	if (err)
		return err;
	err = make_env(p, library);
	if (!err)
		return 0;
	preload_close(p);
	return err_set(e, err, "out of memory");
}

void preload_raise_limit(const struct preload *p, pid_t pid)
{
	struct rlimit limit;
	struct stat st;
	rlim_t add;

	if (!p->ring || stat(heap_ring_path(p->ring), &st) ||
	    prlimit(pid, RLIMIT_MEMLOCK, NULL, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return;
	/* chunks are aligned to their size, and the library has mappings of its own */
	add = (rlim_t)st.st_size + HEAP_CHUNK_BYTES + sizeof(struct heap_samples) + LIBRARY_BYTES;
	limit.rlim_cur += add;
	if (limit.rlim_max != RLIM_INFINITY)
		limit.rlim_max += add;
	prlimit(pid, RLIMIT_MEMLOCK, &limit, NULL);
}

int preload_open_spans(struct heap_ring **ret, char **ret_env, const struct session_options *o,
		       uid_t owner, gid_t group, struct err *e)
{
	struct heap_ring_config config = {
		.bytes = o->rings.bytes ? RINGS_WORTH * o->rings.bytes : DEFAULT_BYTES,
		.counts_cycles = heap_clock_is_there(), .has_spans = true,
		.uid = geteuid(), .gid = getegid(), .owner = owner, .group = group,
	};
	struct account account;
	int err;

	if (o->user && !account_find(&account, o->user)) {
		config.uid = account.uid;
		config.gid = account.gid;
	}
	err = heap_ring_new(ret, &config, e);
	if (!err && asprintf(ret_env, SPAN_SHARE_ENV "=%s", heap_ring_path(*ret)) < 0) {
		*ret_env = NULL;
		err = err_set(e, -ENOMEM, "out of memory");
	}
	return err;
}

void preload_say(const struct preload *p, const struct session_options *o)
{
	uint32_t pid, cnt = p->ring ? heap_ring_own_malloc(p->ring, &pid) : 0;
	struct heap_ring_unseen unseen = { 0 };
	char more[32] = "";

	if (p->ring)
		heap_ring_unseen(p->ring, &unseen);
	if (unseen.limited_cnt)
		notices_warn(&o->notices,
			     "the heap of %u process%s is not recorded: the address space is "
			     "limited (ulimit -v)", unseen.limited_cnt,
			     unseen.limited_cnt == 1 ? "" : "es");
	if (unseen.namespace_cnt)
		notices_warn(&o->notices,
			     "the heap of %u process%s in a pid namespace of its own is not "
			     "recorded: its allocations count as lost", unseen.namespace_cnt,
			     unseen.namespace_cnt == 1 ? "" : "es");
	if (unseen.apart_cnt)
		notices_warn(&o->notices,
			     "%u librar%s opened with RTLD_DEEPBIND or by dlmopen: what they "
			     "allocate and free is not recorded", unseen.apart_cnt,
			     unseen.apart_cnt == 1 ? "y was" : "ies were");
	if (cnt > 1)
		snprintf(more, sizeof(more), " and %u more", cnt - 1);
	if (cnt)
		notices_warn(&o->notices,
			     "the heap of process %u%s is not recorded: a malloc is built in", pid,
			     more);
	if (p->without_cnt)
		notices_warn(&o->notices,
			     "the heap of %llu program%s is not recorded: static, with more rights "
			     "than its caller, or started without LD_PRELOAD",
			     (unsigned long long)p->without_cnt, p->without_cnt == 1 ? "" : "s");
}

void preload_close(struct preload *p)
{
	heap_ring_free(p->ring);
	free(p->env[0]);
	free(p->env[1]);
	free(p->program);
	*p = (struct preload){ 0 };
}
