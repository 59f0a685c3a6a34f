/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * progress: one line on the terminal that says how far something is, for as long as it takes.
 * Whoever has no terminal on stderr shows none. All zeros: nothing is shown. Threads: one.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct progress {
	size_t cells; /* of the line that is there now */
};

/* "what: [####................] 12,345 of 67,890 unit". all: 0 when it is not known. */
void progress_show(struct progress *p, const char *what, uint64_t done, uint64_t all,
		   const char *unit);
void progress_erase(struct progress *p);

#endif /* PROGRESS_H */
