/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd: the commands of ebpfrec, one function each, and what they share with main.c.
 *
 * A command gets argv with its own name first and returns the exit status of the program. It
 * prints data to stdout and everything meant for a person to stderr; main.c checks at the end
 * that stdout took it all.
 */
#ifndef CMD_H
#define CMD_H

#include "cmd/input/opts.h"

/* Exit statuses. record has its own (see session_run()): the command's, 125, 126, 127. */
enum {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_RECORD = 125,
};

struct cmd {
	const struct opts_command *opts;
	int (*run)(int argc, char **argv);
};

#define CMD_DECLARE(name)                          \
	extern const struct opts_command name##_opts; \
	int cmd_##name(int argc, char **argv)

CMD_DECLARE(record);
CMD_DECLARE(report);
CMD_DECLARE(sql);
CMD_DECLARE(export);
CMD_DECLARE(info);
CMD_DECLARE(check);
CMD_DECLARE(repair);
CMD_DECLARE(snapshot);
CMD_DECLARE(mark);
CMD_DECLARE(doctor);
CMD_DECLARE(diff);
CMD_DECLARE(bundle);
CMD_DECLARE(redact);
CMD_DECLARE(cut);

#undef CMD_DECLARE

#endif /* CMD_H */
