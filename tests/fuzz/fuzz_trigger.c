/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_trigger: conditions of `record --trigger`. data[0] & 1: there is a command; the other
 * bits are recorded sources. Every refusal has a reason. An accepted condition has values within
 * their bounds, and works.
 */
#include "fuzz.h"
#include "record/flight/trigger.h"

static int on_fired(void *ctx, const struct trigger *t, uint64_t ts_ns, const char *why)
{
	/* the reason begins with the condition */
	FUZZ_CHECK(!strncmp(why, t->text, strlen(t->text) < 40 ? strlen(t->text) : 40));
	++*(unsigned int *)ctx;
	return 0;
}

static void use(const struct trigger *t)
{
	unsigned int cnt = 0;
	const struct trigger_sink sink = { .ctx = &cnt, .fired = on_fired };
	const struct trace_loss loss = { .full_cnt = 5 };
	const struct block_slice slice = { .to_ns = 1000, .losses = &loss, .loss_cnt = 1 };
	struct trigger_set *s;
	bool fires = t->op == TRIGGER_NOT  ? t->value != 3
		     : t->op == TRIGGER_IS ? t->value == 3
					   : t->value < 3;

	FUZZ_CHECK(trigger_set_new(&s, t, 1, &sink) == 0);
	FUZZ_CHECK(trigger_set_feed(s, NULL, 0, &(struct buf){ 0 }, &slice) == 0);
	FUZZ_CHECK(cnt == (t->kind == TRIGGER_LOSS && t->value < 5));
	cnt = 0;
	FUZZ_CHECK(trigger_set_exit(s, 2000, 3) == 0);
	FUZZ_CHECK(cnt == (t->kind == TRIGGER_EXIT && fires));
	trigger_set_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint32_t sources = bytes && data[0] < 128 ? data[0] : ~0u;
	struct trigger t = { 0 };
	struct err e = { "" };
	char *s;

	if (!bytes)
		return 0;
	s = strndup((const char *)data + 1, bytes - 1);
	FUZZ_CHECK(s);
	if (trigger_parse(s, sources, data[0] & 1, &t, &e) < 0) {
		FUZZ_CHECK(e.text[0]);
	} else {
		FUZZ_CHECK(t.kind != TRIGGER_EXIT || (data[0] & 1 && t.value < 256));
		FUZZ_CHECK(t.kind == TRIGGER_EXIT || t.op == TRIGGER_ABOVE);
		FUZZ_CHECK((t.kind == TRIGGER_SPIKE) == (t.window_ns != 0));
		FUZZ_CHECK(!strcmp(t.text, s));
		use(&t);
	}
	free(s);
	return 0;
}
