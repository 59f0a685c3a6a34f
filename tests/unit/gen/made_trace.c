/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Traces that several tests analyse. */
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/unit_test.h"

void made_begin(struct made_trace *m, const struct gen_config *config)
{
	memset(m, 0, sizeof(*m));
	gen_temp_dir(m->dir);
	snprintf(m->path, sizeof(m->path), "%s/trace", m->dir);
	m->g = gen_open(m->path, config);
}

void made_read(struct made_trace *m, uint64_t to_ns)
{
	struct err e = { "" };

	if (to_ns)
		gen_slice(m->g, to_ns);
	gen_finish(m->g);
	m->g = NULL;
	if (trace_open(&m->t, m->path, &e) < 0)
		fail_msg("%s", e.text);
}

void made_finish(struct made_trace *m, uint64_t to_ns)
{
	struct err e = { "" };

	made_read(m, to_ns);
	if (analysis_open(&m->a, m->t, &e) < 0)
		fail_msg("%s", e.text);
}

void made_open(struct made_trace *m)
{
	made_finish(m, 0);
}

void made_close(struct made_trace *m)
{
	if (!m->dir[0])
		return;
	if (m->g)
		gen_abort(m->g);
	analysis_close(m->a);
	trace_close(m->t);
	gen_remove_dir(m->dir);
	memset(m, 0, sizeof(*m));
}

struct report_request made_request(const struct made_trace *m, const char *view)
{
	return (struct report_request){ .view = view, .from_ns = trace_start_ns(m->t),
					.to_ns = trace_end_ns(m->t) };
}

void made_hostile(struct made_trace *m)
{
	struct gen_mix mix = { .seed = 5, .now_ns = MADE_HOSTILE_FROM_NS };

	made_begin(m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = mix.now_ns });
	gen_mix_start(m->g, &mix);
	gen_snap(m->g, mix.now_ns, 0, 9001, 9001, 1, MADE_HOSTILE);
	for (int i = 0; i < 4; i++) {
		struct trace_cost c = {
			.from_ns = mix.now_ns, .user_ns = 100, .sys_ns = 50, .bytes_written = 1000
		};
		struct trace_hook_stat h = { .from_ns = mix.now_ns, .hook = WIRE_SWITCH,
					     .attempted_cnt = 10, .read_cnt = 7 };
		struct trace_loss l = { .from_ns = mix.now_ns, .hook = WIRE_SWITCH,
					.cls = EVENT_CLASS_SCHED, .full_cnt = 3 };

		gen_mix_run(m->g, &mix, 10000);
		c.to_ns = h.to_ns = l.to_ns = mix.now_ns;
		gen_cost(m->g, &c);
		gen_hook_stat(m->g, &h);
		if (i == 1)
			gen_loss(m->g, &l);
		gen_slice(m->g, mix.now_ns + 1);
	}
	gen_mix_done(&mix);
	made_open(m);
}
