/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * verdict_file: verdicts as continuous integration wants them: JUnit's XML, and annotations of a
 * job of GitHub. Text of a trace can end neither an element nor an annotation. Threads: one.
 */
#pragma once

#include <stdio.h>

#include "cmd/assert/verdict.h"

/* A rule and its result, in words. */
struct verdict_line {
	const char *file; /* of rules */
	const struct rule *rule;
	enum verdict verdict;
	const char *text; /* "12.3 % in a.ebpfrec (comm=server), limit < 10 %" */
	const char *command;
	const struct verdict_result *result;
	const struct finding *findings; /* by trace */
	const char *const *paths;
	unsigned int traces;
};

void verdict_write_junit(FILE *f, const char *file, const struct verdict_line *v, unsigned int cnt);
void verdict_write_github(FILE *f, const struct verdict_line *v, unsigned int cnt);
