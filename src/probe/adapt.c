// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * adapt: see adapt.h. Kernel functions are called by BTF id, which libbpf would fill in from a
 * declaration; but linking objects that share such a declaration fails in libbpf 1.1, and a
 * kernel from 5.13 to 5.16 refuses an unresolved call even where it cannot be reached.
 */
#include "probe/adapt.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/wire.h"

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

int adapt_program(struct bpf_program *prog, uint32_t cast_id, bool fetching)
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
		if (BPF_CLASS(in->code) == BPF_STX && BPF_MODE(in->code) == BPF_ATOMIC &&
		    !fetching)
			in->imm = BPF_ADD;
		if (in->code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;	/* its second half is no instruction */
	}
	err = bpf_program__set_insns(prog, insns, cnt);
	free(insns);
	return err;
}
