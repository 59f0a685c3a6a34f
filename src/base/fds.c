/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fds: by close_range() where the kernel has it (5.9), else one by one. */
#include "base/fds.h"

#include <sys/syscall.h>
#include <unistd.h>

void fds_close_others(int keep)
{
	int fd, max = (int)sysconf(_SC_OPEN_MAX);

#ifdef SYS_close_range
	if ((!keep || !syscall(SYS_close_range, 0, keep - 1, 0)) &&
	    !syscall(SYS_close_range, keep + 1, ~0U, 0))
		return;
#endif
	for (fd = 0; fd < max; fd++) {
		if (fd != keep)
			close(fd);
	}
}
