/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* elf_version: which libelf this was built with (it does not tell at run time). Threads: any. */
#ifndef ELF_VERSION_H
#define ELF_VERSION_H

unsigned int elf_version_built(void);	/* 188 for 0.188 */

#endif /* ELF_VERSION_H */
