/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report_answer: one answer of `ebpfrec report` about one trace: heading, rows, picture, database.
 *
 * Threads: one. Prints what goes wrong.
 */
#ifndef REPORT_ANSWER_H
#define REPORT_ANSWER_H

#include "cmd/input/report_options.h"

/* What a view is made of: it is complete when nothing of that was lost. */
struct input_needs report_needs(const char *view);

/* Answers o about the trace open in it, to stdout. 0 or an exit status. */
int report_answer(struct report_options *o);

#endif /* REPORT_ANSWER_H */
