/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * made_trace: a trace made with gen_trace in a directory of its own, and opened for analysis. What
 * fails here fails the test.
 *
 *     made_begin(&m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = 1000 });
 *     gen_switch(m.g, 2000, 0, 100, 0, 0);  gen_slice(m.g, 1000000);
 *     made_open(&m);  rows_one(m.a, "SELECT count(*) FROM switches");  made_close(&m);
 */
#pragma once

#include "analyze/analyze.h"
#include "tests/unit/gen/gen_trace.h"
#include "trace/trace.h"

struct made_trace {
	char dir[64], path[80];
	struct gen *g;		/* NULL once the trace is finished */
	struct trace *t;
	struct analysis *a;
};

void made_begin(struct made_trace *m, const struct gen_config *config);
/* Ends the last slice at to_ns, unless that is 0; finishes and opens the trace. No analysis. */
void made_read(struct made_trace *m, uint64_t to_ns);
/* Finishes the trace and opens it. */
void made_open(struct made_trace *m);
/* The same after a last slice that ends at to_ns. */
void made_finish(struct made_trace *m, uint64_t to_ns);
/* Closes the trace and removes its directory; does nothing without made_begin() before. */
void made_close(struct made_trace *m);

/* A request for a view of the whole trace. */
struct report_request made_request(const struct made_trace *m, const char *view);

/*
 * A random machine in four blocks, with costs, counters and a loss of class sched in the second.
 * Its process 9001 has a colour, a line of its own, half a character, and a quote in its name.
 */
#define MADE_HOSTILE "\033[31mr\na\xc3'\"x"
#define MADE_HOSTILE_SAFE "\\x1b[31mr\\x0aa\\xc3'\"x"
#define MADE_HOSTILE_FROM_NS 5000000000ull
void made_hostile(struct made_trace *m);
