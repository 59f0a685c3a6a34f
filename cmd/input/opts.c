/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * opts: argv and a table of options come in, one option at a time goes out. getopt_long() is not
 * used: it prints its own messages, knows no suggestions, and keeps its state in globals.
 */
#include "cmd/input/opts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/input/nearest.h"
#include "cmd/render/say.h"

#define HELP_COLUMN 26
#define NAMES_MAX   64

static const struct opts_option help_option = {
	.id = OPTS_HELP, .short_name = 'h', .name = "help", .help = "show this help"
};

void opts_init(struct opts *o, const struct opts_command *command, int argc, char **argv)
{
	*o = (struct opts){ .command = command, .argc = argc, .argv = argv, .next = 1 };
}

static void print_program(FILE *f, const struct opts_command *c)
{
	fprintf(f, "ebpfrec%s%s", c->name ? " " : "", c->name ? c->name : "");
}

int opts_usage_error(const struct opts_command *c, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	print_program(stderr, c);
	fprintf(stderr, ": %s\nTry '", say_text(text));
	print_program(stderr, c);
	fprintf(stderr, " --help'.\n");
	return EXIT_USAGE;
}

static const struct opts_option *find_short(const struct opts_command *c, char name)
{
	for (const struct opts_option *p = c->options; p->id; p++) {
		if (p->short_name && p->short_name == name)
			return p;
	}
	return name == 'h' ? &help_option : NULL;
}

static const struct opts_option *find_long(const struct opts_command *c, const char *name,
					   size_t len)
{
	for (const struct opts_option *p = c->options; p->id; p++) {
		if (p->name && strlen(p->name) == len && !memcmp(p->name, name, len))
			return p;
	}
	return len == 4 && !memcmp(name, "help", 4) ? &help_option : NULL;
}

static int unknown_long(const struct opts_command *c, const char *name, size_t len)
{
	const char *names[NAMES_MAX] = { "help" };
	unsigned int cnt = 1;
	char word[64];
	int near;

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	for (const struct opts_option *p = c->options; p->id && cnt < NAMES_MAX; p++)
		names[cnt++] = p->name;
	near = nearest_find(word, names, cnt);
	if (near >= 0)
		opts_usage_error(c, "unknown option '--%s'; did you mean '--%s'?", word,
				 names[near]);
	else
		opts_usage_error(c, "unknown option '--%s'", word);
	return OPTS_BAD;
}

static int found(const struct opts *o, const struct opts_option *p)
{
	if (p == &help_option)
		opts_print_help(o->command);
	return p->id;
}

static int missing_value(const struct opts_command *c, const struct opts_option *p, bool is_short)
{
	if (is_short)
		opts_usage_error(c, "option '-%c' needs a value: -%c %s", p->short_name,
				 p->short_name, p->arg);
	else
		opts_usage_error(c, "option '--%s' needs a value: --%s %s", p->name, p->name,
				 p->arg);
	return OPTS_BAD;
}

static int next_long(struct opts *o, const char *name, const char **ret_value)
{
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct opts_option *p = find_long(o->command, name, len);

	if (!p)
		return unknown_long(o->command, name, len);
	if (!p->arg) {
		if (equals) {
			opts_usage_error(o->command, "option '--%s' takes no value", p->name);
			return OPTS_BAD;
		}
		return found(o, p);
	}
	if (equals)
		*ret_value = equals + 1;
	else if (p->arg[0] == '[')
		*ret_value = NULL;
	else if (o->next < o->argc)
		*ret_value = o->argv[o->next++];
	else
		return missing_value(o->command, p, false);
	return p->id;
}

static int next_short(struct opts *o, const char **ret_value)
{
	const char *at = o->bundle;
	const struct opts_option *p = find_short(o->command, *at);

	o->bundle = NULL;
	if (!p) {
		opts_usage_error(o->command, "unknown option '-%c'", *at);
		return OPTS_BAD;
	}
	if (!p->arg) {
		if (at[1])
			o->bundle = at + 1;
		return found(o, p);
	}
	if (at[1])
		*ret_value = at + 1;
	else if (o->next < o->argc)
		*ret_value = o->argv[o->next++];
	else
		return missing_value(o->command, p, true);
	return p->id;
}

int opts_next(struct opts *o, const char **ret_value)
{
	const char *arg;

	*ret_value = NULL;
	if (o->bundle)
		return next_short(o, ret_value);
	if (o->next >= o->argc)
		return OPTS_END;
	arg = o->argv[o->next];
	if (!o->only_operands) {
		if (!strcmp(arg, "--")) {
			o->next++;
			o->only_operands = true;
			return o->command->operand_ends ? OPTS_END : opts_next(o, ret_value);
		}
		if (arg[0] == '-' && arg[1] == '-') {
			o->next++;
			return next_long(o, arg + 2, ret_value);
		}
		if (arg[0] == '-' && arg[1]) {
			o->next++;
			o->bundle = arg + 1;
			return next_short(o, ret_value);
		}
	}
	if (o->command->operand_ends)
		return OPTS_END;
	o->next++;
	*ret_value = arg;
	return OPTS_OPERAND;
}

/* ---- help ---- */

static void print_option(const struct opts_option *p)
{
	char left[80];
	const char *line = p->help;
	int n;

	n = snprintf(left, sizeof(left), "  %c%c%s--%s%s%s", p->short_name ? '-' : ' ',
		     p->short_name ? p->short_name : ' ', p->short_name ? ", " : "  ", p->name,
		     p->arg && p->arg[0] != '[' ? " " : "", p->arg ? p->arg : "");
	printf("%s", left);
	if (n + 2 > HELP_COLUMN) {
		printf("\n");
		n = 0;
	}
	for (;;) {
		const char *end = strchrnul(line, '\n');

		printf("%*s%.*s\n", HELP_COLUMN - n, "", (int)(end - line), line);
		if (!*end)
			break;
		line = end + 1;
		n = 0;
	}
}

void opts_print_help(const struct opts_command *c)
{
	printf("Usage: ");
	print_program(stdout, c);
	printf(" %s\n\n%s\n", c->synopsis, c->about);
	if (c->text)
		printf("\n%s", c->text);
	printf("\nOptions:\n");
	for (const struct opts_option *p = c->options; p->id; p++)
		print_option(p);
	print_option(&help_option);
	if (c->examples)
		printf("\nExamples:\n%s", c->examples);
}
