/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pagemap: finds where the kernel's array of struct page begins. It compares the struct pages that
 * the kernel allocates for this process with the frame numbers in /proc/self/pagemap. This needs no
 * kernel symbol and works on every architecture.
 */
#ifndef PAGEMAP_H
#define PAGEMAP_H

#include <stdint.h>

#include "bpf/wire.h"

/*
 * Touches new pages while a program fills calib for this thread, and solves for the base. -EPERM:
 * frame numbers are hidden without CAP_SYS_ADMIN. -ENODATA: no base explains the pages.
 */
int pagemap_find_base(volatile struct wire_calib *calib, unsigned long long *ret_base);

#endif /* PAGEMAP_H */
