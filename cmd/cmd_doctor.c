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
#include "cmd/sources.h"
#include "record/session.h"

struct doctor {
	struct input in;
};

static int print_hooks(struct render *r)
{
	static const char *const names[] = { "source",	"program", "hook",
					     "default", "there",   "used_for" };

	const struct session_hook *hooks;
	unsigned int cnt = session_hooks(&hooks);

	render_begin(r, 6, names);
	for (unsigned int i = 0; i < cnt; i++) {
		const struct session_hook *h = &hooks[i];

		render_put(r, (struct value[]){
			value_text(h->source), value_text(h->name), value_text(h->hook),
			value_text(h->is_default ? "yes" : "no"),
			value_text(h->is_there ? "yes" : h->is_spare ? "unused" : "no"),
			value_text(h->used_for) });
	}
	return input_render_end(r, 0, NULL);
}

/* A default source none of whose hooks is there; NULL when all have one. */
static const char *missing_source(void)
{
	const struct source *sources;
	unsigned int cnt = sources_list(&sources);

	for (unsigned int i = 0; i < cnt; i++)
		if (sources[i].is_default && !sources[i].there_cnt)
			return sources[i].name;
	return NULL;
}

static int print_verdict(bool may_record)
{
	bool has_btf = !access("/sys/kernel/btf/vmlinux", R_OK);
	const char *missing = missing_source();
	struct utsname u;

	if (uname(&u))
		memset(&u, 0, sizeof(u));
	if (!has_btf)
		return say_error(
			"kernel %s: cannot read /sys/kernel/btf/vmlinux, so no hook could be "
			"looked for; recording needs a kernel built with CONFIG_DEBUG_INFO_BTF, "
			"or a file with its BTF (record --btf FILE)",
			u.release);
	if (missing)
		return say_error("kernel %s: nothing to record %s with; the other sources work",
				 u.release, missing);
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

static int run(void *job)
{
	const struct doctor *d = job;
	struct render *r = input_render(&d->in, 0, true, NULL);
	int c = r ? print_hooks(r) : EXIT_FAILED;

	return c ? c : print_verdict(print_privileges());
}

static const struct opts_option options[] = {
	INPUT_OPTION_FORMAT(struct doctor, in),
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
	.bytes = sizeof(struct doctor),
	.run = run,
};
