/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fds: of a process that was just forked and goes on alone. Threads: one. */
#ifndef FDS_H
#define FDS_H

/* Closes every descriptor but keep. */
void fds_close_others(int keep);

#endif /* FDS_H */
