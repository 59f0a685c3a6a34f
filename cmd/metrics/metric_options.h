/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* metric_options: the common options of `metrics` and `export --to openmetrics`. Threads: one. */
#pragma once

#include <stdint.h>

#include "cmd/input/opts.h"

#define METRICS_TOP 20

struct metric_options {
	unsigned int by; /* 1u << REPORT_BY_x; 0: the default */
	uint64_t top;
};

#define METRIC_OPTIONS(command, o)                                                                 \
	{ 0,                                                                                       \
	  "by",                                                                                    \
	  "KEY",                                                                                   \
	  "label processes by comm (default), unit, container or user",                            \
	  OPTS_CALL,                                                                               \
	  offsetof(command, o.by),                                                                 \
	  metric_options_by },                                                                     \
	{                                                                                          \
		0, "top", "N",                                                                     \
			"the N largest get a label of their own, the rest is [other] (20)",        \
			OPTS_COUNT, offsetof(command, o.top),                                      \
			.min = 1, .max = 1000, .refuse = " is not between 1 and 1000"              \
	}

/* The functions below parse their values; see opts_take_fn. */
int metric_options_by(void *by, const char *value, struct err *e);
/* Lists the metrics on stdout, for --list. */
int metric_options_list(void *field, const char *value, struct err *e);
