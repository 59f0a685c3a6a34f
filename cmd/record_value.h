/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* record_value: values of options of `record` that are not just a number or a text. */
#pragma once

#include "base/err.h"

/*
 * --max-overhead: percent of the machine's CPU time, with or without the sign, to a uint64_t of
 * millionths. 0, or an error with its text; so do the others.
 */
int record_value_overhead(void *budget_ppm, const char *value, struct err *e);
/* --rings: to a struct rings_config. */
int record_value_rings(void *config, const char *value, struct err *e);
/* --note: KEY=VALUE, to a struct lists_strings. */
int record_value_note(void *notes, const char *value, struct err *e);
