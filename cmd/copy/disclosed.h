/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * disclosed: the strings of a trace that disclose something about people and machines, by class,
 * each once. Threads: one.
 */
#pragma once

#include <stdbool.h>

#include "trace/trace.h"

/*
 * Notes how many there are of each class; show: prints them to stdout. real: only the strings count
 * that this trace has, too, which t was made of; so pseudonyms do not. May be NULL. 0 or -ENOMEM.
 */
int disclosed_say(const struct trace *t, const struct trace *real, bool show);
