/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cause_facts: types and helpers shared by the rules of causes(): table_causes.c finds causes,
 * cause_facts.c adds facts about all threads together. Private to these two files. Threads: one.
 * Errors: 0 or -errno, with the text in c->e.
 */
#pragma once

#include "analyze/engine/statement.h"
#include "analyze/views/view.h"
#include "base/hash_map.h"
#include "base/units.h"

#define ANSWER_BYTES 240
#define CAUSES_SHOWN 3
/* for more events in the window, brief answers omit the path and the names that ended waits */
#define BRIEF_EVENTS_MAX 10000000
#define DETAIL_EVENTS_MAX 2000000 /* for more events in the window, answers omit savings */
/* slices of the window are kept up to this number; each needs 40 bytes */
#define KEPT_SLICES_MAX 2000000

/* A part of the path: a row of path_sql. Times in ns; texts are in causes.texts. */
struct step {
	const char *comm, *process; /* names of the thread and of its process */
	const char *kind, *what; /* what: object or system call; NULL: none */
	bool is_object;
	/* The thread that this part delayed, and its wait; NULL: none. */
	const char *waiter, *waiter_process, *held_kind, *held_what;
	const char *holder; /* name of the thread that ended that wait */
	uint64_t ns, longest_ns, holder_tid;
};

/* The object and the ender of waits: the rows of causes_ends_sql. */
struct enders {
	const char *object, *call, *ender;
	uint64_t object_ns, ender_ns, all_ns, tid;
	char meanwhile[ANSWER_BYTES];
};

/* A name with an activity or a wait, on the path or summed over all threads of this name. */
struct candidate {
	const char *comm, *process; /* equal if the candidate covers all threads of a process */
	const char *kind, *held_what;
	bool is_path, is_held, is_idle, is_shown;
	uint64_t ns, threads, longest_ns;
	struct enders enders;	/* for a sum over threads: object and ender of the waits */
	bool has_enders;
	const char *cause;	/* the cause to leave out in whatif(); NULL: none */
	uint64_t saves_min_ns, saves_max_ns, of_ns; /* of_ns 0: the saving is unknown */
	uint64_t drift_ns;	/* number of ns by which whatif() widened the interval */
	/* For running on the path: the functions with most samples. */
	struct function {
		const char *name, *cause;
		uint64_t percent;
	} functions[VIEW_FUNCTIONS_MAX];
	unsigned int function_cnt;
};

struct sentence {
	const char *rule, *verdict;
	unsigned int place; /* order among the sentences shown; 0: not shown */
	uint64_t cost_ns;
	char answer[ANSWER_BYTES], command[ANSWER_BYTES];
};

/* A stay on a CPU, with the wait for the CPU before it; wait_ns 0: none, or unknown. */
struct cause_slice {
	int64_t start_ns, end_ns, wait_ns, cpu, utid;
};

struct causes {
	struct analysis *a;
	struct strpool *texts;
	struct err *e;
	int64_t from_ns, to_ns;
	uint64_t span_ns;
	bool of_workload, is_brief, is_small, has_path, is_done, has_samples;
	struct step *steps;
	size_t step_cnt, step_cap;
	struct candidate *candidates;
	size_t candidate_cnt, candidate_cap;
	struct hash_map numbers; /* (comm, kind or held_what) -> index of candidate */
	struct sentence *sentences;
	size_t cnt, cap, given;
	struct cause_slice *slices;	/* all slices of the window, if keeps_slices is set */
	size_t slice_cnt, slice_cap;
	bool has_few_events, keeps_slices, has_slices;
	bool failed;		/* out of memory: the table fails */
	struct sentence none;	/* returned by causes_add() if out of memory */
};

/* Parts of a sentence, such as "cpu", "waited", "for a CPU". */
struct phrase {
	const char *kind, *verb, *what;
};

/* The first row of a query: a text and two or three numbers. */
struct fact {
	const char *text;
	int64_t v[3];
	bool is_found;
};

extern const char causes_quota_sql[], causes_ends_sql[];

/* Runs a query with parameters :from, :to, :kind and :comm; kind or comm NULL: all. */
int causes_query(struct causes *c, const char *sql, const char *kind, const char *comm,
		 int (*row)(struct causes *c, const struct value *v, void *ctx), void *ctx);
int causes_query_with(struct causes *c, const char *sql, const struct statement_param *params,
		      int (*row)(struct causes *c, const struct value *v, void *ctx), void *ctx);
/* Sets the window from the first two arguments of q. */
int causes_window(struct causes *c, struct analysis *a, const struct table_query *q, struct err *e);
int causes_fact_row(struct causes *c, const struct value *v, void *fact);
int causes_enders_row(struct causes *c, const struct value *v, void *enders);

/*
 * Finds the name that used the CPU most during the 20 longest waits for that CPU by threads named
 * comm (NULL: all threads), and its share in percent.
 */
int causes_ran_instead(struct causes *c, const char *comm, struct fact *ret);

static inline const char *duration(char buf[UNITS_TEXT_MAX], uint64_t ns)
{
	return units_format_duration(buf, UNITS_TEXT_MAX, ns);
}

/* Returns a copy of the text that lives as long as c; NULL if v is not a text. */
const char *causes_text(struct causes *c, const struct value *v);
bool causes_is_idle_kind(const char *kind);
const struct phrase *causes_phrase(const char *kind);

/* Adds a sentence, or the verdict of a rule without sentence. Never returns NULL: see `failed`. */
struct sentence *causes_add(struct causes *c, const char *rule, const char *verdict);
/* Appends to a buffer of ANSWER_BYTES. */
void causes_append(char *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Adds sentences about all threads together: the main activity, unless a shown cause covers it, the
 * name that ended most of the waits, and the main wait of idle threads. *place: rank of the last
 * sentence.
 */
int causes_together(struct causes *c, unsigned int *place);
/* Adds the two largest parts of the path, if the report covers only some threads of the machine. */
int causes_path(struct causes *c, unsigned int *place);
