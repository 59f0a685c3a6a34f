/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * progress: one line on the terminal that shows how far a task is, until the task ends. Callers
 * without a terminal on stderr show none. All zeros: no line is shown. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct progress {
	size_t cells; /* of the line that is there now */
};

/* Shows this text, which replaces the line that is there. */
void progress_line(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "what: [####................] 12,345 of 67,890 unit". all: 0 if unknown. */
void progress_show(struct progress *p, const char *what, uint64_t done, uint64_t all,
		   const char *unit);
void progress_erase(struct progress *p);
