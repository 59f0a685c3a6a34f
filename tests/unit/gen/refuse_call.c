/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "tests/unit/gen/refuse_call.h"

#include <endian.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

/* Arguments are 64 bits; a filter reads 32, here the lower ones. */
#define LOW_WORD (__BYTE_ORDER == __LITTLE_ENDIAN ? 0 : 4)

bool refuse_call(int nr, int arg, uint32_t value, int error)
{
	uint32_t at =
		offsetof(struct seccomp_data, args) + 8 * (arg < 0 ? 0u : (uint32_t)arg) + LOW_WORD;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, arg < 0 ? 0 : 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}
