/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * verdict_note: keeps verdicts as a note of the trace, which `info` shows and a bundle has.
 * Threads: one. Errors: -errno with text; the trace is as it was then.
 */
#pragma once

#include "base/err.h"

/* path: of a trace's directory whose recording is over. An earlier note of verdicts is replaced. */
int verdict_keep(const char *path, const char *text, struct err *e);
