/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* terminal: from the environment and the kernel. */
#include "cmd/input/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"

static unsigned int find_terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w;
	uint64_t v;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (columns && !units_parse_count(columns, &v, NULL) && v && v < 10000)
		return (unsigned int)v;
	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : 80;
}

unsigned int input_terminal_width(void)
{
	/* kept, because stdout becomes a pipe to the pager; a terminal is asked each time */
	static unsigned int width;
	unsigned int now = find_terminal_width();

	if (now)
		width = now;
	return width;
}

unsigned int input_terminal_height(void)
{
	struct winsize w;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) ? w.ws_row : 0;
}

/* By the environment, as the C library would choose: the program itself runs in the C locale. */
bool input_speaks_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *v;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		v = getenv(names[i]);
		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}
