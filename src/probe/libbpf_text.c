/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* libbpf_text: see libbpf_text.h. */
#include "probe/libbpf_text.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static __thread char kept[384];

static int keep(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN && !kept[0])
		vsnprintf(kept, sizeof(kept), fmt, args);
	kept[strcspn(kept, "\n")] = 0;
	return 0;
}

void libbpf_text_keep(void)
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
