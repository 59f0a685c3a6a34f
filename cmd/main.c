/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * main: `ebpfrec`, the table of commands. Finds the command, runs it, and then makes sure that what
 * it wrote to stdout has arrived: a report cut short by a full disk must not look like a success.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/privilege.h"
#include "analyze/engine/analysis.h"
#include "format/chunk.h"
#include "format/zpack.h"
#include "cmd/cmd.h"
#include "cmd/input/nearest.h"
#include "cmd/render/say.h"
#include "probe/probe.h"
#include "store/bundle_reader.h"
#include "symbol/elf_symbols.h"

static const struct cmd commands[] = {
	{ &record_opts, cmd_record }, { &report_opts, cmd_report }, { &sql_opts, cmd_sql },
	{ &export_opts, cmd_export }, { &info_opts, cmd_info },	    { &check_opts, cmd_check },
	{ &repair_opts, cmd_repair }, { &redact_opts, cmd_redact },
	{ &snapshot_opts, cmd_snapshot },
	{ &mark_opts, cmd_mark },     { &diff_opts, cmd_diff },	    { &cut_opts, cmd_cut },
	{ &bundle_opts, cmd_bundle },
	{ &doctor_opts, cmd_doctor },
};

#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static const struct opts_option options[] = {
	{ 'V', 'V', "version", NULL, "show the version, and those of the libraries" },
	{ 0 },
};

static const struct opts_command main_opts = {
	.about = "Records every context switch, allocation and block request while a workload "
		 "runs,\n"
		 "and answers questions about any window of it afterwards.",
	.synopsis = "COMMAND [OPTIONS]",
	.options = options,
	.examples = "  ebpfrec record -- make -j2\n"
		    "  ebpfrec report cpu --from 1.5s --to 3s\n"
		    "  ebpfrec export --to csv -o out/\n",
	.operand_ends = true,
};

static void print_commands(FILE *f)
{
	fprintf(f, "\nCommands:\n");
	for (unsigned int i = 0; i < COMMAND_CNT; i++)
		fprintf(f, "  %-10s %s\n", commands[i].opts->name, commands[i].opts->about);
	fprintf(f, "  %-10s %s\n  %-10s %s\n", "help", "Show the help of a command.", "version",
		"Show the version.");
	fprintf(f, "\n'ebpfrec COMMAND --help' and 'man ebpfrec-COMMAND' say more.\n");
}

static int print_help(void)
{
	opts_print_help(&main_opts);
	print_commands(stdout);
	return 0;
}

static int print_version(void)
{
	printf("ebpfrec %s\n"
	       "trace format %d, libbpf %s, libelf 0.%u, zstd %s, SQLite %s, libzip %s\n",
	       EBPFREC_VERSION, CHUNK_VERSION, probe_library_version() + 1, elf_symbols_library(),
	       zpack_library_version(), analysis_library_version(),
	       bundle_library_version() ? bundle_library_version() : "(without)");
	return 0;
}

static const struct cmd *find_command(const char *name)
{
	for (unsigned int i = 0; i < COMMAND_CNT; i++) {
		if (!strcmp(commands[i].opts->name, name))
			return &commands[i];
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[COMMAND_CNT + 2];
	int near;

	for (unsigned int i = 0; i < COMMAND_CNT; i++)
		names[i] = commands[i].opts->name;
	names[COMMAND_CNT] = "help";
	names[COMMAND_CNT + 1] = "version";
	near = nearest_find(name, names, COMMAND_CNT + 2);
	if (near >= 0)
		return opts_usage_error(&main_opts, "unknown command '%s'; did you mean '%s'?",
					name, names[near]);
	return opts_usage_error(&main_opts, "unknown command '%s'", name);
}

static int help(int argc, char **argv)
{
	const struct cmd *c;

	if (argc < 2)
		return print_help();
	c = find_command(argv[1]);
	if (!c)
		return unknown_command(argv[1]);
	opts_print_help(c->opts);
	return 0;
}

/*
 * File capabilities are for recording. What reads a trace, which may come from anybody, does
 * without them. Root keeps what the caller has anyway.
 */
static bool give_up_gained(void)
{
	int err = getauxval(AT_SECURE) ? privilege_drop(0, NULL) : 0;

	if (err)
		say_error("cannot give up capabilities: %s", strerror(-err));
	return !err;
}

static int run(int argc, char **argv)
{
	const struct cmd *c;
	const char *value;
	struct opts o;
	int id;

	opts_init(&o, &main_opts, argc, argv);
	while ((id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		/* opts printed the options; the commands are main's to tell */
		if (id == OPTS_HELP)
			print_commands(stdout);
		return id == OPTS_HELP ? 0 : print_version();
	}
	if (o.next >= argc) {
		fprintf(stderr, "Usage: ebpfrec %s\n", main_opts.synopsis);
		print_commands(stderr);
		return EXIT_USAGE;
	}
	argc -= o.next;
	argv += o.next;
	if (!strcmp(argv[0], "help"))
		return help(argc, argv);
	if (!strcmp(argv[0], "version"))
		return print_version();
	c = find_command(argv[0]);
	if (!c)
		return unknown_command(argv[0]);
	return c->opts == &record_opts || c->opts == &doctor_opts || give_up_gained() ?
		       c->run(argc, argv) : EXIT_FAILED;
}

/* What is still in stdio's buffer goes out now, and may fail now. */
static int close_stdout(int status)
{
	int failed;

	errno = 0;
	failed = ferror(stdout);
	if (fclose(stdout))
		failed = 1;
	if (!failed)
		return status;
	/* A command that failed has printed the reason. */
	if (!status && errno != EPIPE)
		say_error("cannot write to stdout: %s",
			  errno ? strerror(errno) : "an earlier write failed");
	return status ? status : EXIT_FAILED;
}

int main(int argc, char **argv)
{
	int status;

	if (geteuid() != getuid() || getegid() != getgid()) {
		say_error("not to be installed setuid or setgid; give it capabilities: setcap "
			  "cap_bpf,cap_perfmon+ep");
		return EXIT_FAILED;
	}
	status = run(argc, argv);
	return close_stdout(status);
}
