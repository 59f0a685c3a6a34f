/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * open_helper: opens files of other processes for a recorder that has given up its privileges:
 * /proc/PID/maps and the files behind executable mappings (/proc/PID/map_files). The helper is a
 * process that has only CAP_SYS_PTRACE and CAP_CHECKPOINT_RESTORE, opens for reading and passes
 * descriptors; the recorder reads from them. Without those capabilities the recorder opens what it
 * may by itself.
 */
#ifndef OPEN_HELPER_H
#define OPEN_HELPER_H

#include <stdint.h>

#include "base/helper.h"

/*
 * Call while privileged, and while there is one thread. 0 or -errno. Without the right to start a
 * helper that opens more than the caller may, *ret is none.
 */
int open_helper_start(struct helper *ret);

/*
 * Opens the regular file that pid has mapped at exactly [start, end), or with 0, 0 /proc/PID/maps.
 * A descriptor, or -errno.
 */
int open_helper_open(const struct helper *h, uint32_t pid, uint64_t start, uint64_t end);

#endif /* OPEN_HELPER_H */
