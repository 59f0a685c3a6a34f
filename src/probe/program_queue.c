/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * program_queue: see program_queue.h. libbpf calls set_target() for each program right before
 * loading it, when the program's instructions refer to this kernel's fields and to the maps.
 */
#include "probe/program_queue.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/workers.h"
#include "probe/kernel.h"

#define PROGRAMS_MAX 256

/* Kinds of sections. The kind is the cookie of the section's handler. */
enum { TYPED_TRACEPOINT, ITERATOR, RAW_TRACEPOINT };

struct waiting {
	struct bpf_program *prog;	/* its descriptor is the stub's */
	enum bpf_prog_type type;
	struct bpf_insn *insns;
	size_t insn_cnt;
	struct bpf_prog_load_opts opts;	/* its arrays are owned by the object */
};

static struct {
	const struct kernel_info *kernel;
	struct waiting programs[PROGRAMS_MAX];
	unsigned int cnt;
} queue;

/* r0 = 0; exit */
static struct bpf_insn stub[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static void clear(void)
{
	while (queue.cnt)
		free(queue.programs[--queue.cnt].insns);
}

/* Moves a program to the queue, and makes libbpf load a stub instead. */
static int add(struct bpf_program *prog, struct bpf_prog_load_opts *opts,
	       enum bpf_prog_type type, uint32_t btf_id)
{
	size_t cnt = bpf_program__insn_cnt(prog);
	struct waiting *w = &queue.programs[queue.cnt];

	if (queue.cnt == PROGRAMS_MAX)
		return -E2BIG;
	w->insns = malloc(cnt * sizeof(*w->insns));
	if (!w->insns)
		return -ENOMEM;
	memcpy(w->insns, bpf_program__insns(prog), cnt * sizeof(*w->insns));
	w->insn_cnt = cnt;
	w->prog = prog;
	w->type = type;
	/* not copied as a whole: libbpf's struct may be longer or shorter than this file's */
	w->opts = (struct bpf_prog_load_opts){
		.sz = sizeof(w->opts),
		.expected_attach_type = opts->expected_attach_type,
		.prog_btf_fd = opts->prog_btf_fd,
		.prog_flags = opts->prog_flags,
		.attach_btf_id = btf_id,
		.func_info_cnt = opts->func_info_cnt,
		.func_info_rec_size = opts->func_info_rec_size,
		.func_info = opts->func_info,
		.line_info_cnt = opts->line_info_cnt,
		.line_info_rec_size = opts->line_info_rec_size,
		.line_info = opts->line_info,
	};
	queue.cnt++;
	opts->expected_attach_type = 0;
	opts->func_info_cnt = 0;
	opts->line_info_cnt = 0;
	return bpf_program__set_insns(prog, stub, sizeof(stub) / sizeof(stub[0]));
}

static int set_target(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long kind)
{
	const char *target = strchr(bpf_program__section_name(prog), '/');
	char function[64];
	uint32_t id;

	if (!target)
		return -EINVAL;
	target++;
	if (kind == RAW_TRACEPOINT)
		return add(prog, opts, BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
	if (kind == ITERATOR) {
		snprintf(function, sizeof(function), "bpf_iter_%s", target);
		id = kernel_function_id(queue.kernel, function);
	} else {
		id = kernel_tracepoint_id(queue.kernel, target);
	}
	return id ? add(prog, opts, BPF_PROG_TYPE_TRACING, id) : -ESRCH;
}

int program_queue_register(const struct kernel_info *k)
{
	static const struct {
		const char *section;
		enum bpf_attach_type attach_type;
	} kinds[] = {
		[TYPED_TRACEPOINT] = { "tp_btf/", BPF_TRACE_RAW_TP },
		[ITERATOR] = { "iter/", BPF_TRACE_ITER },
		[RAW_TRACEPOINT] = { "raw_tp/", 0 },
	};
	static bool registered;
	int r = 0;

	clear();
	queue.kernel = k;
	if (registered)
		return 0;
	/*
	 * Registers the type of the stub, which is not BPF_PROG_TYPE_TRACING: libbpf would read the
	 * kernel's BTF itself if the object had a tracing program.
	 */
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && r >= 0; i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = set_target,
			    .cookie = (long)i);

		r = libbpf_register_prog_handler(kinds[i].section, BPF_PROG_TYPE_RAW_TRACEPOINT,
						 kinds[i].attach_type, &opts);
	}
	registered = r >= 0;
	return r < 0 ? r : 0;
}

/* Loads a program. Its descriptor replaces the stub's. */
static int load_one(void *ctx, unsigned int i, struct err *e)
{
	struct waiting *w = &queue.programs[i];
	int fd = bpf_prog_load(w->type, bpf_program__name(w->prog), "Dual BSD/GPL", w->insns,
			       w->insn_cnt, &w->opts);
	int err = 0;

	(void)ctx;
	if (fd < 0 || dup3(fd, bpf_program__fd(w->prog), O_CLOEXEC) < 0)
		err = err_set(e, -errno, "program %s", bpf_program__name(w->prog));
	if (fd >= 0)
		close(fd);
	return err;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	return (x->insn_cnt < y->insn_cnt) - (x->insn_cnt > y->insn_cnt);
}

int program_queue_load(struct err *e)
{
	struct workers workers = { .cnt = queue.cnt, .thread_max = WORKERS_MAX, .run = load_one };
	int err;

	qsort(queue.programs, queue.cnt, sizeof(queue.programs[0]), compare_sizes);
	err = workers_run(&workers, e);
	clear();
	return err;
}
