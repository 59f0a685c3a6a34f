/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The only place that asks elfutils for its version. */
#include "symbol/elf_version.h"

#include <elfutils/version.h>

unsigned int elf_version_built(void)
{
	return _ELFUTILS_VERSION;
}
