/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * rule: parses one line of a rule file.
 *
 *     [every:] [if-any:] VIEW [OPTIONS of report] [mark:NAME] [COLUMN=VALUE...] COLUMN OP LIMIT
 *     [every:] sql: SELECT ...
 *
 *     cpu --by comm comm=server util_pct < 60
 *
 * Blanks separate words, unless they are in quotes. An operator needs no blanks around it. VALUE
 * may be a pattern. COLUMN may be "rows" (the number of rows), "sum:COLUMN", or a column in another
 * unit: wait_ms if the view has wait_ns, rss_mib if it has rss_bytes. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/engine/column.h"
#include "base/err.h"

#define RULE_WORDS_MAX 48
#define RULE_FILTERS_MAX 8

enum rule_op { RULE_LESS, RULE_AT_MOST, RULE_MORE, RULE_AT_LEAST, RULE_EQUAL, RULE_DIFFERENT };

struct rule {
	const char *text; /* the rule as written, without blanks at its ends */
	unsigned int line;
	bool of_every, if_any;
	const char *sql; /* the statement of a sql: rule; NULL: a rule on a view */
	char *words; /* memory of all words */
	/* arguments of report: "report", the view, its options, NULL */
	char *argv[RULE_WORDS_MAX + 3];
	struct rule_filter {
		const char *column, *pattern;
	} filters[RULE_FILTERS_MAX];
	unsigned int filter_cnt;
	const char *column;
	bool is_sum;
	enum rule_op op;
	const char *limit_text;
	double limit;
	enum column_kind kind; /* kind of the figure and the limit */
	/* the view's column, and the number of its units per unit of the rule */
	char base[64];
	double scale;
	uint64_t took_ns; /* time of evaluating all traces; set by the caller */
};

/* Parses a rule; text must outlive it. -EINVAL with the reason; -ENOMEM. */
int rule_parse(struct rule *ret, const char *text, unsigned int line, struct err *e);
void rule_free(struct rule *r);

const char *rule_op_text(enum rule_op op); /* the operator as text: "<" */
bool rule_holds(const struct rule *r, double figure);
/* Returns whether figure a breaks the rule more than b. */
bool rule_is_worse(const struct rule *r, double a, double b);
