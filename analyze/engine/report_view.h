/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report_view: the views of `report`, as declared in the heads of schema/report_*.sql.
 *
 *     schema/report_VIEW.sql --schema/views.awk--> build/report_views.c --> report, cmd, tests
 *
 * schema/views.awk explains the words of a head. Lists are words separated by commas.
 */
#pragma once

#include "analyze/analyze.h"
#include "analyze/context/loss_index.h"

/* Parts of the derived file that a view reads. */
#define INDEX_SCHED    (1u << EVENT_SWITCH | 1u << EVENT_WAKEUP | 1u << EVENT_IRQ)
#define INDEX_IRQ      (1u << EVENT_IRQ)
#define INDEX_REQUESTS (1u << EVENT_REQUEST)
#define INDEX_LEVELS   (1u << EVENT_RSS | 1u << EVENT_VM)
#define INDEX_OBJECTS                                                                              \
	(1u << EVENT_SLAB_ALLOC | 1u << EVENT_SLAB_FREE | 1u << EVENT_PAGE_ALLOC |                \
	 1u << EVENT_PAGE_FREE | 1u << EVENT_HEAP_ALLOC | 1u << EVENT_HEAP_FREE)
#define INDEX_KINDS    ANALYSIS_KINDS
#define INDEX_STATES   ANALYSIS_STATES
#define INDEX_RATES    ANALYSIS_RATES

enum report_takes {
	REPORT_TAKES_EVERY = 1, REPORT_TAKES_SORT = 2, REPORT_TAKES_HISTOGRAM = 4,
	REPORT_TAKES_LINES = 8, REPORT_TAKES_SPIKES = 16, REPORT_TAKES_STACKS = 32,
	REPORT_TAKES_WHO = 64, REPORT_TAKES_THREADS = 128, REPORT_TAKES_REQUESTS = 256,
	REPORT_TAKES_SLOWEST = 512, REPORT_TAKES_WITHOUT = 1024, REPORT_TAKES_REQUEST = 2048,
};

enum report_rows { REPORT_ROWS_SUMS = 1, REPORT_ROWS_MACHINE = 2, REPORT_ROWS_FEW = 4,
		   REPORT_ROWS_ZEROS = 8 };

/* An alternative SQL text of a view, for certain requests. */
struct report_variant {
	enum { REPORT_WHEN_EVERY = 1, REPORT_WHEN_HISTOGRAM, REPORT_WHEN_STACKS,
	       REPORT_WHEN_REQUESTS, REPORT_WHEN_REQUEST, REPORT_WHEN_SLOWEST,
	       REPORT_WHEN_BY } when;
	unsigned int by; /* 1u << REPORT_BY_x */
	const char *sql; /* name for schema_text() */
	const char *notes; /* NULL: same as the view's */
};

/* Missing texts and lists are NULL. */
struct report_view {
	const char *name;
	const char *group;		/* group in `report --list`; NULL: not listed */
	/* name of the view that shows this view with --show; NULL: none */
	const char *of;
	const char *question;		/* one line, ends with a question mark */
	const char *notes;		/* approximations and their bounds; may be "" */
	const char *below;		/* text below a table, instead of notes */
	const char *without_keys;	/* if a trace lacks all these keys and sources ... */
	const char *without_note;	/* ... this note is shown */
	const char *threads_note;	/* note for a result about selected threads */
	const char *nobody_note;	/* note for a result that is not filtered by task */
	const char *cut_note;		/* note for a trace that was cut from a larger trace */
	struct loss_needs needs;	/* sources that the view needs; includes class task */
	const char *figure;		/* column for charts */
	const char *drops;		/* columns that a narrow terminal omits */
	const char *sql;		/* name for schema_text() */
	/* the first match is used; ends with an entry without sql */
	const struct report_variant *variants;
	unsigned int by_mask;		/* supported keys, 1u << REPORT_BY_x; 0: no --by */
	unsigned int by_default;	/* 1u << REPORT_BY_x */
	unsigned int takes;		/* enum report_takes */
	unsigned int rows;		/* enum report_rows */
	uint32_t index;			/* INDEX_x */
};

/*
 * Listed views are first, in order, each followed by its --show views. Views that are used only by
 * other code are last.
 */
extern const struct report_view report_view_list[];
extern const unsigned int report_view_cnt, report_view_hidden_cnt;

/* Returns the variant for a request; NULL: the view itself. */
const struct report_variant *report_variant_find(const struct report_view *v,
						 const struct report_request *r);
/* Returns the view with this name; NULL: not found. */
const struct report_view *report_view_find(const char *name);
/*
 * Checks keys (1u << REPORT_BY_x). -EINVAL: the view does not support some of the keys, or not
 * their combination.
 */
int report_check_keys(const struct report_view *v, unsigned int by, struct err *e);
