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

/*
 * Sets the entries known before the recording begins. recorder_pid, command_pid: in the initial pid namespace; 0 = none,
 * or not known.
 */
int about_describe(struct store_writer *w, const struct session_options *o, uint32_t sources,
		   const struct probe *probe, uint32_t recorder_pid, uint32_t command_pid,
		   struct err *e);

#endif /* ABOUT_H */
