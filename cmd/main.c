/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * main: looks up and runs a command of `ebpfrec`, and checks that its output to stdout was written:
 * a report that a full disk cuts short must not look like a success.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/privilege.h"
#include "analyze/analyze.h"
#include "analyze/engine/report_view.h"
#include "format/chunk.h"
#include "format/zpack.h"
#include "cmd/cmd.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"
#include "probe/probe.h"
#include "store/bundle.h"
#include "symbol/elf_symbols.h"
#include "symbol/source_lines.h"

#ifdef EBPFREC_STATIC
/*
 * Replaces dlopen() in a static program (ld --wrap=dlopen), which cannot load libraries. SQLite
 * refers to dlopen() for loading extensions, which is disabled.
 */
void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode)
{
	return NULL;
}
#endif

static const struct opts_command *const commands[] = {
	&record_opts, &report_opts, &view_opts,	  &sql_opts,	  &export_opts,
	&info_opts,   &check_opts,  &repair_opts, &redact_opts,	  &snapshot_opts,
	&mark_opts,   &diff_opts,   &assert_opts, &cut_opts,	  &bundle_opts,
	&metrics_opts, &mcp_opts,    &doctor_opts, &demo_opts,
};

#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static void print_commands(FILE *f)
{
	fprintf(f, "\nCommands:\n");
	for (unsigned int i = 0; i < COMMAND_CNT; i++)
		fprintf(f, "  %-10s %s\n", commands[i]->name, commands[i]->about);
	fprintf(f, "  %-10s %s\n  %-10s %s\n", "help", "Show the help of a command.", "version",
		"Show the version.");
	fprintf(f, "\n'ebpfrec COMMAND --help' and 'man ebpfrec-COMMAND' say more.\n");
}

static void print_more_help(void)
{
	print_commands(stdout);
}

static int take_version(void *field, const char *value, struct err *e)
{
	printf("ebpfrec %s\n", EBPFREC_VERSION);
	render_wrap(stdout,
		    say_format("trace format %d, libbpf %s, libelf 0.%u, zstd %s, SQLite %s, "
			       "libzip %s, libdw %s, libiberty %s",
			       CHUNK_VERSION, probe_library_version() + 1, elf_symbols_library(),
			       zpack_library_version(), analysis_library_version(),
			       bundle_library_version() ? bundle_library_version() : "(without)",
			       source_lines_is_offered() ? "(with)" : "(without)",
			       demangle_is_offered() ? "(with)" : "(without)"),
		    input_terminal_width());
	return OPTS_LEAVE;
}

/*
 * Drops the privileges that file capabilities of this program grant, which only recording needs.
 * Commands that read a trace, which may come from an untrusted source, run without them. A caller
 * that is root keeps its privileges.
 */
static bool give_up_gained(void)
{
	int err = getauxval(AT_SECURE) ? privilege_drop(0, NULL) : 0;

	if (err)
		say_error("cannot give up capabilities: %s", strerror(-err));
	return !err;
}

static const struct opts_option options[] = {
	{ 'V', "version", NULL, "show the version, and those of the libraries", OPTS_CALL,
	  .take = take_version },
	{ 0 },
};

static int run(void *job, char **argv, char **words);

static const struct opts_command main_opts = {
	.about = "Records every context switch, allocation and block request while a workload "
		 "runs,\n"
		 "and answers questions about any window of it afterwards.",
	.synopsis = "COMMAND [OPTIONS]",
	.options = options,
	.examples = "  ebpfrec record -- make -j2\n"
		    "  ebpfrec report cpu --from 1.5s --until 3s\n"
		    "  ebpfrec export --to csv -o out/\n",
	.more_help = print_more_help,
	.rest = run,
};

/* Returns a command by name; the program itself for "help" and "version"; NULL: no such command. */
static const struct opts_command *find_command(const char *name)
{
	const char *names[COMMAND_CNT + 2] = { [COMMAND_CNT] = "help", "version" }, *view = NULL;
	unsigned int i;

	for (i = 0; i < report_view_cnt; i++)
		if (!strcmp(name, report_view_list[i].name))
			view = name;
	for (i = 0; i < COMMAND_CNT; i++) {
		names[i] = commands[i]->name;
		if (!strcmp(name, names[i]))
			view = NULL;
	}
	if (view) {
		opts_usage_error("'%s' is a view: ebpfrec report %s", view, view);
		return NULL;
	}
	if (opts_pick(&i, "command", "", name, names, COMMAND_CNT + 2, "", ""))
		return NULL;
	return i < COMMAND_CNT ? commands[i] : &main_opts;
}

/* words: the command's name and its arguments. */
static int run(void *job, char **argv, char **words)
{
	bool help = *words && !strcmp(words[0], "help");
	const struct opts_command *c;

	if (!*words) {
		fprintf(stderr, "Usage: ebpfrec %s\n", main_opts.synopsis);
		print_commands(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(words[0], "version"))
		return take_version(NULL, NULL, NULL);
	c = help && !words[1] ? &main_opts : find_command(words[help]);
	if (!c)
		return EXIT_USAGE;
	if (help) {
		opts_print_help(c);
		return 0;
	}
	return c == &record_opts || c == &doctor_opts || give_up_gained() ? opts_run(c, words)
									  : EXIT_FAILED;
}

/* Flushes stdout. Returns status, or a failure if data could not be written. */
static int close_stdout(int status)
{
	int failed;

	errno = 0;
	failed = ferror(stdout);
	if (fclose(stdout))
		failed = 1;
	if (!failed)
		return status;
	/* a failed command has printed its own error */
	if (!status && errno != EPIPE)
		say_error("cannot write to stdout: %s",
			  errno ? strerror(errno) : "an earlier write failed");
	return status ? status : EXIT_FAILED;
}

int main(int argc, char **argv)
{
	char nothing;
	int status;

	if (geteuid() != getuid() || getegid() != getgid())
		return say_error("ebpfrec must not be installed setuid or setgid; give it "
				 "capabilities: setcap cap_bpf,cap_perfmon+ep");
	status = argc ? opts_parse(&main_opts, &nothing, argv) : run(NULL, argv, argv);
	return close_stdout(status == OPTS_LEAVE ? 0 : status);
}
