/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_doctor: `ebpfrec doctor`: what this kernel offers, hook by hook, and whether this user may
 * record at all. Reads only.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "record/session.h"

static const struct opts_option options[] = {
	INPUT_OPTION_FORMAT,
	{ 0 },
};

const struct opts_command doctor_opts = {
	.name = "doctor",
	.about = "Show what this kernel can record.",
	.synopsis = "[--format FORMAT]",
	.text = "One row per kernel hook. 'there' is no where this kernel lacks the hook, and "
		"unused\n"
		"where a better hook takes its place. Then come the capabilities this user lacks, "
		"and\n"
		"what for. The exit status is 1 when a default source has no hook or this user "
		"may\n"
		"not record.\n",
	.options = options,
	.examples = "  ebpfrec doctor\n",
};

static int print_hooks(struct render *r, const struct session_hook *hooks, unsigned int cnt)
{
	static const char *const names[] = { "source",	"program", "hook",
					     "default", "there",   "used_for" };
	const struct row_sink *sink = render_sink(r);
	int c = sink->begin(sink->ctx, 6, names);

	for (unsigned int i = 0; !c && i < cnt; i++) {
		const struct session_hook *h = &hooks[i];
		const char *text[] = { h->source,
				       h->name,
				       h->hook,
				       h->is_default ? "yes" : "no",
				       h->is_there ? "yes" : h->is_spare ? "unused" : "no",
				       h->used_for };
		struct value v[6];

		for (unsigned int j = 0; j < 6; j++)
			v[j] = (struct value){ .type = VALUE_TEXT,
					       .text = text[j],
					       .text_bytes = strlen(text[j]) };
		c = sink->row(sink->ctx, v);
	}
	return c ? c : sink->end(sink->ctx);
}

/* A default source none of whose hooks is there; NULL when all have one. */
static const char *missing_source(const struct session_hook *hooks, unsigned int cnt)
{
	for (unsigned int i = 0; i < cnt; i++) {
		bool is_there = !hooks[i].is_default;

		for (unsigned int j = 0; j < cnt && !is_there; j++)
			is_there = hooks[j].is_there && !strcmp(hooks[i].source, hooks[j].source);
		if (!is_there)
			return hooks[i].source;
	}
	return NULL;
}

static int print_verdict(const struct session_hook *hooks, unsigned int cnt, bool may_record)
{
	bool has_btf = !access("/sys/kernel/btf/vmlinux", R_OK);
	const char *missing = missing_source(hooks, cnt);
	struct utsname u;

	if (uname(&u))
		memset(&u, 0, sizeof(u));
	if (!has_btf) {
		say_error(
			"kernel %s: cannot read /sys/kernel/btf/vmlinux, so no hook could be "
			"looked for; recording needs a kernel built with CONFIG_DEBUG_INFO_BTF, "
			"or a file with its BTF (record --btf FILE)",
			u.release);
		return EXIT_FAILED;
	}
	if (missing) {
		say_error("kernel %s: nothing to record %s with; the other sources work", u.release,
			  missing);
		return EXIT_FAILED;
	}
	say_note("kernel %s: every default source can be recorded%s", u.release,
		 may_record ? "" : ", but not by this user");
	return may_record ? 0 : EXIT_FAILED;
}

/* The capabilities the caller lacks, and what for. Returns whether the caller may record. */
static bool print_privileges(void)
{
	const struct session_privilege *rows;
	unsigned int cnt = session_privileges(&rows);
	bool may_record = true;

	for (unsigned int i = 0; i < cnt; i++) {
		if (rows[i].is_there)
			continue;
		say_note("lacking %s: %s", rows[i].name, rows[i].used_for);
		may_record &= !rows[i].is_needed;
	}
	if (!may_record)
		say_note("run with sudo, or have root give the program what it needs: "
			 "setcap cap_bpf,cap_perfmon+ep FILE");
	return may_record;
}

int cmd_doctor(int argc, char **argv)
{
	struct input in = { .format = RENDER_TABLE };
	const struct session_hook *hooks;
	unsigned int cnt;
	const char *value;
	struct render *r;
	struct opts o;
	int id, c;

	opts_init(&o, &doctor_opts, argc, argv);
	while ((id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		if (id == OPTS_OPERAND)
			return opts_usage_error(&doctor_opts, "unexpected argument '%s'", value);
		c = input_take(&in, &doctor_opts, id, value);
		if (c)
			return c;
	}
	cnt = session_hooks(&hooks);
	r = input_render(&in, 0, true);
	if (!r)
		return EXIT_FAILED;
	c = print_hooks(r, hooks, cnt);
	render_free(r);
	return c ? input_failed(c, NULL) : print_verdict(hooks, cnt, print_privileges());
}
