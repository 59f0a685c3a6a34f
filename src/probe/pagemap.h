/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pagemap: where the kernel's array of struct page begins, found by comparing the pages
 * the kernel gives this process with the frame numbers it shows in /proc/self/pagemap.
 * No kernel symbol is needed, and it holds for every architecture.
 */
#ifndef PAGEMAP_H
#define PAGEMAP_H

#include <stdint.h>

#include "bpf/wire.h"

/*
 * Touches new pages while a program fills calib (for this thread), and solves for the base.
 * -EPERM: frame numbers are hidden (CAP_SYS_ADMIN); -ENODATA: no agreement.
 */
int pagemap_find_base(volatile struct wire_calib *calib, unsigned long long *ret_base);

#endif /* PAGEMAP_H */
