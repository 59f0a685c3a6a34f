/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * adapt: see adapt.h. Programs call kernel functions by BTF id. libbpf could insert the id from a
 * declaration, but libbpf 1.1 fails to link objects that share such a declaration, and kernels 5.13
 * to 5.16 refuse an unresolved call even if it is unreachable.
 */
#include "probe/adapt.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/wire.h"
#include "probe/kernel.h"

static const struct kernel_info *target_kernel;

/*
 * Sets the BTF id of a program's target, and its type: tracing. The type is set right before
 * loading, because libbpf reads the kernel's BTF itself if an object has a program of this type.
 */
static int set_target(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long is_iterator)
{
	const char *target = strchr(bpf_program__section_name(prog), '/');
	char function[64];

	if (!target)
		return -EINVAL;
	target++;
	if (is_iterator) {
		snprintf(function, sizeof(function), "bpf_iter_%s", target);
		opts->attach_btf_id = kernel_function_id(target_kernel, function);
	} else {
		opts->attach_btf_id = kernel_tracepoint_id(target_kernel, target);
	}
	if (!opts->attach_btf_id)
		return -ESRCH;
	return bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING);
}

int adapt_register_targets(const struct kernel_info *k)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, tracepoint, .prog_prepare_load_fn = set_target);
	LIBBPF_OPTS(libbpf_prog_handler_opts, iterator, .prog_prepare_load_fn = set_target,
		    .cookie = true);
	static bool registered;
	int r = 0;

	target_kernel = k;
	if (registered)
		return 0;
	r = libbpf_register_prog_handler("tp_btf/", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP,
					 &tracepoint);
	if (r >= 0)
		r = libbpf_register_prog_handler("iter/", BPF_PROG_TYPE_RAW_TRACEPOINT,
						 BPF_TRACE_ITER, &iterator);
	registered = r >= 0;
	return r < 0 ? r : 0;
}

bool adapt_can_fetch(void)
{
	/* *(u64 *)(r10 - 8) = 0; r0 = 0; r0 = atomic_fetch_add((u64 *)(r10 - 8), r0); exit */
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_0, .off = -8, .imm = BPF_ADD | BPF_FETCH },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "can_fetch", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Replaces the number of an enum wire_cast_type in an instruction by the type's BTF id. */
static void set_cast_type(struct bpf_insn *in, const struct kernel_info *k)
{
	static const char *const names[] = {
#define X(name) #name,
		WIRE_CAST_TYPES(X)
#undef X
	};

	if (in->code != (BPF_ALU | BPF_MOV | BPF_K) && in->code != (BPF_ALU64 | BPF_MOV | BPF_K))
		return;
	if (in->imm > WIRE_CAST_FIRST && in->imm < WIRE_CAST_END)
		in->imm = (__s32)kernel_struct_id(k, names[in->imm - WIRE_CAST_FIRST - 1]);
}

int adapt_program(struct bpf_program *prog, const struct kernel_info *k, uint32_t cast_id,
		  bool fetching)
{
	size_t cnt = bpf_program__insn_cnt(prog), i;
	struct bpf_insn *insns = malloc(cnt * sizeof(*insns));
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), cnt * sizeof(*insns));
	for (i = 0; i < cnt; i++) {
		struct bpf_insn *in = &insns[i];

		if (in->code == (BPF_JMP | BPF_CALL) && !in->src_reg &&
		    in->imm == WIRE_CALL_RDONLY_CAST && cast_id) {
			in->src_reg = BPF_PSEUDO_KFUNC_CALL;
			in->imm = cast_id;
		}
		set_cast_type(in, k);
		if (BPF_CLASS(in->code) == BPF_STX && BPF_MODE(in->code) == BPF_ATOMIC &&
		    !fetching)
			in->imm = BPF_ADD;
		if (in->code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;	/* skip its second half */
	}
	err = bpf_program__set_insns(prog, insns, cnt);
	free(insns);
	return err;
}

/* ---- libbpf's messages ---- */

static __thread char kept[384];

static int keep(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN && !kept[0])
		vsnprintf(kept, sizeof(kept), fmt, args);
	kept[strcspn(kept, "\n")] = 0;
	return 0;
}

void adapt_keep_text(void)
{
	libbpf_set_print(keep);
}

void libbpf_text_clear(void)
{
	kept[0] = 0;
}

const char *libbpf_text(void)
{
	return kept;
}
