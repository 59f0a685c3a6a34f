/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * about: the manifest's account of the recording: what was asked for, what runs, on which machine.
 */
#ifndef ABOUT_H
#define ABOUT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct probe;
struct session_options;
struct store_writer;

/* Sets the entries known before the recording begins. command_pid: 0 = none. */
int about_describe(struct store_writer *w, const struct session_options *o, uint32_t sources,
		   const struct probe *probe, pid_t command_pid, struct err *e);

#endif /* ABOUT_H */
