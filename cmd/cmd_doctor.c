/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_doctor: `ebpfrec doctor` lists the hooks of this kernel, and reports whether this user may
 * record. It changes nothing. `record -e list` prints the same list of sources.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/privilege.h"
#include "base/words.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "event_lists.h"
#include "probe/source.h"
#include "record/session.h"
#include "symbol/source_lines.h"

/*
 * sources: groups the flat list of kernel hooks by source, for people. The names come from
 * session_hooks(), so that a new source needs no change here.
 */

#define NAME_CELLS 13
#define WORDS_MAX 64

/* A source of events, and the number of its hooks that this kernel has. */
struct source_row {
	const char *name;
	bool is_default;
	unsigned int there_cnt;
	char used_for[256];
};

/* Appends a use to s->used_for ("a; b"), unless the text is already there. */
static void add_use(struct source_row *s, const char *use)
{
	size_t n = strlen(s->used_for);

	if (use && *use && strncmp(use, "the same", 8) && !strstr(s->used_for, use) &&
	    n + strlen(use) + 3 < sizeof(s->used_for))
		snprintf(s->used_for + n, sizeof(s->used_for) - n, "%s%s", n ? "; " : "", use);
}

/*
 * Sets *ret to the sources in the order of session_hooks(); the array is static. Returns its
 * length.
 */
static unsigned int sources_list(const struct source_row **ret)
{
	static struct source_row sources[WORDS_MAX];
	const struct session_hook *hooks;
	unsigned int hook_cnt = session_hooks(&hooks), cnt = 0;

	memset(sources, 0, sizeof(sources));
	for (unsigned int i = 0; i < hook_cnt; i++) {
		struct source_row *s = sources;
		uint32_t mask;

		/* the hook belongs to an option other than -e */
		if (source_parse(hooks[i].source, &mask, NULL))
			continue;
		while (s < sources + cnt && strcmp(s->name, hooks[i].source))
			s++;
		if (s == sources + WORDS_MAX)
			continue;
		cnt += s == sources + cnt;
		s->name = hooks[i].source;
		s->is_default |= hooks[i].is_default;
		s->there_cnt += hooks[i].is_there;
		add_use(s, hooks[i].used_for);
	}
	*ret = sources;
	return cnt;
}

int sources_check(const char *list)
{
	char choices[] = EVENT_CHOICES, word[64];
	const char *names[WORDS_MAX];
	unsigned int cnt = 0, i;

	for (char *s = strtok(choices, ", "); s && cnt < WORDS_MAX; s = strtok(NULL, ", "))
		if (strcmp(s, "or"))
			names[cnt++] = s;
	do {
		struct word w;

		list += *list == '+' || *list == '-';
		w = word_next(&list);
		snprintf(word, sizeof(word), "%.*s", w.len, w.s);
		if (opts_pick(&i, "event", "-e: ", word, names, cnt,
			      " '-e list' shows what there is", "; '-e list' shows what there is"))
			return EXIT_USAGE;
	} while (*list);
	return 0;
}

int sources_print(void)
{
	const struct source_row *sources;
	unsigned int cnt = sources_list(&sources), width = input_terminal_width();

	printf("%-*s  DEFAULT  THIS KERNEL  FOR\n", NAME_CELLS, "SOURCE");
	for (unsigned int i = 0; i < cnt; i++) {
		const struct source_row *s = &sources[i];

		printf("%-*s  %-7s  %-11s  ", NAME_CELLS, s->name, s->is_default ? "yes" : "no",
		       s->there_cnt ? "yes" : "NO");
		render_wrap_beside(stdout, s->used_for, width, NAME_CELLS + 24);
	}
	printf("\n");
	render_wrap(stdout, "A class stands for its default sources: sched, alloc, block. "
		    "light is sched, block and alloc.rss. all is everything. deep, for one "
		    "program, is the default with --profile --offcpu 1ms --unwind dwarf. "
		    "+NAME adds to the default, -NAME takes away from it: "
		    "-e +sched.irq,-alloc.slab. The source task is always recorded.", width);
	return 0;
}

/* ---- doctor ---- */

struct doctor {
	struct input in;
	bool all;
};

#define TRACEPOINT "tracepoint " /* prefix of most hooks */

static int print_hooks(struct render *r, bool brief)
{
	static const char *const names[] = { "source",	"program", "hook",
					     "default", "there",   "used_for" };

	const struct session_hook *hooks;
	unsigned int cnt = session_hooks(&hooks);

	render_begin(r, 6, names);
	for (unsigned int i = 0; i < cnt; i++) {
		const struct session_hook *h = &hooks[i];
		bool cut = brief && !strncmp(h->hook, TRACEPOINT, strlen(TRACEPOINT));

		render_put(r,
			   (struct value[]){ value_text(h->source), value_text(h->name),
					     value_text(h->hook + (cut ? strlen(TRACEPOINT) : 0)),
					     value_text(h->is_default ? "yes" : "no"),
					     value_text(h->is_there   ? "yes"
							: h->is_spare ? "unused"
								      : "no"),
					     value_text(h->used_for) });
	}
	return input_render_end(r, 0, NULL);
}

/* Prints a message to stdout, or to stderr if stdout is reserved for rows (csv, json). */
static void __attribute__((format(printf, 2, 3))) say(const struct doctor *d, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	render_wrap(d->in.format == RENDER_TABLE ? stdout : stderr, text, input_terminal_width());
}

/* Prints the sources for which this kernel has no hook. */
static void say_missing_sources(const struct doctor *d)
{
	const struct source_row *sources;
	unsigned int cnt = sources_list(&sources);

	for (unsigned int i = 0; i < cnt; i++)
		if (!sources[i].there_cnt)
			say(d, "Missing: %s%s. This kernel has no hook for it; the others work.",
			    sources[i].name,
			    sources[i].is_default ? "" : " (not recorded by default)");
}

static const char *own_path(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);

	if (n <= 0)
		return "FILE";
	buf[n] = '\0';
	return buf;
}

/* Prints the capabilities that the caller lacks, with their use. */
static void say_missing_privileges(const struct doctor *d, bool may_record)
{
	const struct session_privilege *rows;
	unsigned int cnt = session_privileges(&rows);
	char path[256];

	for (unsigned int i = 0; i < cnt; i++)
		if (!rows[i].is_there)
			say(d, "Missing: %s, for %s.", rows[i].name, rows[i].used_for);
	if (!may_record)
		say(d,
		    "To record, run with sudo, or let root give the program what it needs: "
		    "`setcap cap_bpf,cap_perfmon+ep %s`.",
		    own_path(path, sizeof(path)));
}

/* Prints the data that will be missing even if this user may record every source. */
static void say_lacks(const struct doctor *d)
{
	const struct session_lack *rows;
	unsigned int cnt = session_lacks(&rows);

	for (unsigned int i = 0; i < cnt; i++)
		say(d, "Missing: %s. %s.", rows[i].what, rows[i].why);
	if (!source_lines_is_offered())
		say(d, "Missing: libdw, for record --unwind dwarf and report --lines. This program "
		       "was built without it.");
}

static bool may_record(void)
{
	const struct session_privilege *rows;
	unsigned int cnt = session_privileges(&rows);
	bool may = true;

	for (unsigned int i = 0; i < cnt; i++)
		may &= rows[i].is_there || !rows[i].is_needed;
	return may;
}

static bool has_default_sources(void)
{
	const struct source_row *sources;
	unsigned int cnt = sources_list(&sources);
	bool all = true;

	for (unsigned int i = 0; i < cnt; i++)
		all &= sources[i].there_cnt || !sources[i].is_default;
	return all;
}

static int print_verdict(const struct doctor *d)
{
	bool has_btf = !access("/sys/kernel/btf/vmlinux", R_OK), may = may_record();
	bool locked_down = privilege_is_locked_down();
	bool all = has_btf && has_default_sources() && !locked_down;
	struct utsname u;

	if (uname(&u))
		memset(&u, 0, sizeof(u));
	say(d, "%s: kernel %s %s%s.", all && may ? "Ready" : "Not ready", u.release,
	    !has_btf ? "does not show its types (BTF), so no hook could be looked for"
	    : all    ? "can record every default source"
		     : "cannot record every default source",
	    may ? "" : ", but this user may not record");
	if (has_btf)
		say_missing_sources(d);
	else
		say(d, "Missing: /sys/kernel/btf/vmlinux. Use a kernel built with "
		       "CONFIG_DEBUG_INFO_BTF, or give a file with its BTF: "
		       "`ebpfrec record --btf FILE -- COMMAND`.");
	if (locked_down)
		say(d, "Missing: permission to read kernel memory: " PRIVILEGE_LOCKED_DOWN ".");
	say_missing_privileges(d, may);
	say_lacks(d);
	return all && may ? 0 : EXIT_FAILED;
}

static int run(void *job)
{
	const struct doctor *d = job;
	int verdict = print_verdict(d), c = 0;
	struct render *r;

	if (d->in.format == RENDER_TABLE && !d->all) {
		say(d, "`ebpfrec doctor --all` lists every hook.");
		return verdict;
	}
	if (d->in.format == RENDER_TABLE)
		printf("\n");
	r = input_render(&d->in, 0, true, NULL);
	c = r ? print_hooks(r, d->in.format == RENDER_TABLE) : EXIT_FAILED;
	return c ? c : verdict;
}

static const struct opts_option options[] = {
	{ 0, "all", NULL, "also list every kernel hook", OPTS_FLAG, offsetof(struct doctor, all) },
	INPUT_OPTION_FORMAT(struct doctor, in),
	{ 0 },
};

const struct opts_command doctor_opts = {
	.name = "doctor",
	.about = "Show what this kernel can record.",
	.synopsis = "[--all] [--format FORMAT]",
	.text = "First comes whether this user can record every default source on this kernel, "
		"then\nwhat recordings and reports will lack, why, and what to do. --all, csv and "
		"json\nhave a row per kernel hook. THERE says no if this kernel lacks the hook, "
		"and unused\nif a better hook takes its place. The exit status is 1 when a default "
		"source has no\nhook or this user may not record.\n",
	.options = options,
	.examples = "  ebpfrec doctor\n"
		    "  ebpfrec doctor --all\n",
	.bytes = sizeof(struct doctor),
	.run = run,
};
