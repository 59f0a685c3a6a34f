/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * opts: parses options without getopt_long(), which prints its own messages, makes no suggestions,
 * and keeps its state in globals.
 */
#include "cmd/input/opts.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"

/* lists: values of options such as -p, -e, --pid and --tid, and command lines. */

int lists_add_string(void *strings, const char *s, struct err *e)
{
	struct lists_strings *list = strings;
	const char **p = realloc(list->v, (list->cnt + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	list->v = p;
	p[list->cnt++] = s;
	return 0;
}

int lists_take_ids(void *ids, const char *s, struct err *e)
{
	struct lists_ids *list = ids;
	const char *p = s;

	for (;;) {
		uint64_t v = 0;
		uint32_t *grown;
		size_t n = strspn(p, "0123456789");

		for (size_t i = 0; i < n && v <= INT32_MAX; i++)
			v = v * 10 + (uint64_t)(p[i] - '0');
		if (!n || !v || v > INT32_MAX || (p[n] && p[n] != ','))
			return err_set(e, -EINVAL,
				       "'%s' is not a list of ids such as 123,456", s);
		grown = realloc(list->v, (list->cnt + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->v = grown;
		grown[list->cnt++] = (uint32_t)v;
		if (!p[n])
			return 0;
		p += n + 1;
	}
}

int lists_take_words(void *list_ptr, const char *s, struct err *e)
{
	char **list = list_ptr;
	size_t have = *list ? strlen(*list) : 0;
	char *p = realloc(*list, have + strlen(s) + 2);

	if (!p)
		return -ENOMEM;
	*list = p;
	if (have)
		p[have++] = ',';
	strcpy(p + have, s);
	return 0;
}

static bool is_plain(const char *s)
{
	return *s &&
	       !s[strspn(
		       s,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_")];
}

char *lists_join_argv(char *const *argv)
{
	size_t size = 1;
	char *line, *o;

	for (char *const *a = argv; *a; a++)
		size += strlen(*a) * 4 + 3; /* a ' is written as '\'' */
	line = malloc(size);
	if (!line)
		return NULL;
	o = line;
	for (char *const *a = argv; *a; a++) {
		if (a != argv)
			*o++ = ' ';
		if (is_plain(*a)) {
			o = stpcpy(o, *a);
			continue;
		}
		*o++ = '\'';
		for (const char *p = *a; *p; p++) {
			if (*p == '\'')
				o = stpcpy(o, "'\\''");
			else
				*o++ = *p;
		}
		*o++ = '\'';
	}
	*o = '\0';
	return line;
}

/*
 * nearest: suggestions for mistyped commands, options and names. The distance is Damerau's, with
 * swaps of neighbours only (optimal string alignment), for words of up to 31 bytes.
 */

#define WORD_MAX 31

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	a = a < b ? a : b;
	return a < c ? a : c;
}

static unsigned int distance(const char *a, size_t an, const char *b, size_t bn)
{
	unsigned int d[WORD_MAX + 1][WORD_MAX + 1];

	for (unsigned int i = 0; i <= an; i++)
		d[i][0] = i;
	for (unsigned int j = 0; j <= bn; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= an; i++) {
		for (size_t j = 1; j <= bn; j++) {
			unsigned int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[an][bn];
}

int nearest_find(const char *word, const char *const *names, unsigned int cnt)
{
	size_t len = strlen(word);
	unsigned int best = len / 3 + 1; /* smallest distance that is no longer near */
	int found = -1;

	if (!len || len > WORD_MAX)
		return -1;
	for (unsigned int i = 0; i < cnt; i++) {
		size_t n = names[i] ? strlen(names[i]) : 0;
		const char *dot = names[i] ? strchr(names[i], '.') : NULL;
		unsigned int d;

		if (!n || n > WORD_MAX)
			continue;
		/* distance 0: word is the beginning of the name, or its part after the dot */
		d = len >= 2 && (!strncmp(word, names[i], len) || (dot && !strcmp(word, dot + 1))) ?
			    0 :
			    distance(word, len, names[i], n);
		if (d < best) {
			best = d;
			found = (int)i;
		}
	}
	return found;
}

#define HELP_COLUMN 26
#define NAMES_MAX 64

/* The command that is being parsed or run. */
static const struct opts_command *current;

static int take_help(void *field, const char *value, struct err *e)
{
	opts_print_help(current);
	return OPTS_LEAVE;
}

static const struct opts_option help_option = { 'h',	   "help",	     NULL, "show this help",
						OPTS_CALL, .take = take_help };

static const char *program_text(void)
{
	return current->name ? say_format("ebpfrec %s", current->name) : "ebpfrec";
}

int opts_usage_error(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say_after(say_format("%s: ", program_text()), text);
	fprintf(stderr, "Try '%s --help'.\n", program_text());
	return EXIT_USAGE;
}

int opts_unknown(const char *what, const char *before, const char *word, const char *const *names,
		 unsigned int cnt, const char *if_near, const char *if_not)
{
	int near = nearest_find(word, names, cnt);

	if (near < 0)
		return opts_usage_error("%sunknown %s '%s'%s", before, what, word, if_not);
	return opts_usage_error("%sunknown %s '%s'; did you mean '%s'?%s", before, what, word,
				names[near], if_near);
}

int opts_pick(unsigned int *ret, const char *what, const char *before, const char *word,
	      const char *const *names, unsigned int cnt, const char *if_near, const char *if_not)
{
	for (*ret = 0; *ret < cnt; (*ret)++)
		if (!strcmp(word, names[*ret]))
			return 0;
	return opts_unknown(what, before, word, names, cnt, if_near, if_not);
}

/* ---- values ---- */

static int refuse(const struct opts_option *p, const char *value, struct err *e)
{
	const char *why = p->refuse ?: " is out of range";

	return err_set(e, -ERANGE, "%s%s", *why == ' ' ? value : "", why);
}

static int take_number(const struct opts_option *p, uint64_t *field, const char *value,
		       struct err *e)
{
	uint64_t v = 0;
	int r = p->kind == OPTS_COUNT && p->refuse && *value == '-' ? refuse(p, value, e)
		: p->kind == OPTS_COUNT ? units_parse_count(value, &v, e)
		: p->kind == OPTS_SIZE ? units_parse_size(value, &v, e)
				       : units_parse_duration(value, &v, e);

	if (p->kind == OPTS_STEP && v && !value[strspn(value, "0123456789.")])
		return err_set(e, -EINVAL, "'%s' has no unit; write %sms or %ss", value, value,
			       value);
	if (!r && (v < p->min || (p->max && v > p->max)))
		r = refuse(p, value, e);
	if (!r)
		*field = v;
	return r;
}

static int take_value(const struct opts_option *p, void *job, const char *value)
{
	void *field = (char *)job + p->field;
	struct err e = { "" };
	int r = 0;

	switch (p->kind) {
	case OPTS_FLAG:
		*(bool *)field = true;
		break;
	case OPTS_TEXT:
		*(const char **)field = value;
		if (p->refuse && value && !*value)
			r = refuse(p, value, &e);
		break;
	case OPTS_CALL:
		r = p->take(field, value, &e);
		break;
	default:
		if (value)
			r = take_number(p, field, value, &e);
		else
			*(uint64_t *)field = p->otherwise;
		break;
	}
	if (r >= 0 || r == OPTS_LEAVE)
		return r;
	return p->short_name ? opts_usage_error("-%c: %s", p->short_name, err_text(&e, r))
			     : opts_usage_error("--%s: %s", p->name, err_text(&e, r));
}

/* ---- the command line ---- */

static int unknown_long(const struct opts_command *c, const char *name, size_t len)
{
	const char *names[NAMES_MAX] = { "help" };
	unsigned int cnt = 1;
	char word[64];
	int near;

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	for (const struct opts_option *p = c->options; p->name && cnt < NAMES_MAX; p++)
		names[cnt++] = p->name;
	near = nearest_find(word, names, cnt);
	return near < 0 ? opts_usage_error("unknown option '--%s'", word)
			: opts_usage_error("unknown option '--%s'; did you mean '--%s'?", word,
					   names[near]);
}

/* Finds an option by its long name, or by its letter if name is NULL. */
static const struct opts_option *find(const struct opts_command *c, const char *name, size_t len,
				      char letter)
{
	const struct opts_option *p = c->options;

	for (;; p++) {
		if (!p->name)
			p = &help_option;
		if (name ? strlen(p->name) == len && !memcmp(p->name, name, len)
			 : p->short_name == letter)
			return p;
		if (p == &help_option)
			return NULL;
	}
}

/* Parses the value of an option: the rest of the option's own argument, or the next argument. */
static int take_with_value(const struct opts_option *p, void *job, const char *dashed,
			   const char *value, char ***at)
{
	/* an argument that begins with a digit is the optional value of the option before */
	if (!value && p->arg[0] == '[' && p->arg[1] != '=' && **at && isdigit((*at)[0][0]))
		value = *(*at)++;
	if (!value && p->arg[0] != '[') {
		if (!**at)
			return opts_usage_error("option '%s' needs a value: %s %s", dashed, dashed,
						p->arg);
		value = *(*at)++;
	}
	return take_value(p, job, value);
}

static int take_long(const struct opts_command *c, void *job, const char *name, char ***at)
{
	size_t len = strcspn(name, "=");
	const struct opts_option *p = find(c, name, len, 0);
	char dashed[64];

	if (!p)
		return unknown_long(c, name, len);
	snprintf(dashed, sizeof(dashed), "--%s", p->name);
	if (p->arg)
		return take_with_value(p, job, dashed, name[len] ? name + len + 1 : NULL, at);
	return name[len] ? opts_usage_error("option '%s' takes no value", dashed)
			 : take_value(p, job, NULL);
}

/* Parses the letters of a short option: "abc" of "-abc". */
static int take_short(const struct opts_command *c, void *job, const char *letters, char ***at)
{
	int r = 0;

	for (; !r && *letters; letters++) {
		const char dashed[] = { '-', *letters, '\0' };
		const struct opts_option *p = find(c, NULL, 0, *letters);

		if (!p)
			return opts_usage_error("unknown option '%s'", dashed);
		if (p->arg)
			return take_with_value(p, job, dashed, letters[1] ? letters + 1 : NULL, at);
		r = take_value(p, job, NULL);
	}
	return r;
}

static int take_operand(const struct opts_command *c, void *job, const char *value)
{
	const char **field = (const char **)((char *)job + c->operand_field);

	if (c->operand)
		return c->operand(job, value);
	if (c->operand_field && !*field) {
		*field = value;
		return 0;
	}
	return opts_usage_error("unexpected argument '%s'%s%s", value, c->operand_hint ? "; " : "",
				c->operand_hint ? c->operand_hint : "");
}

static int check_needed(const struct opts_command *c, const void *job)
{
	for (const struct opts_option *p = c->options; p->name; p++) {
		const char *text = p->needed ? *(char *const *)((const char *)job + p->field) : "x";

		if (!text || !*text)
			return opts_usage_error("%s", p->needed);
	}
	return 0;
}

int opts_parse(const struct opts_command *c, void *job, char **argv)
{
	char **at = argv + 1;
	bool options = true;
	int r = 0;

	current = c;
	while (!r && *at && (options || !c->rest)) {
		const char *arg = *at;

		if (options && !strcmp(arg, "--")) {
			options = false;
			at++;
		} else if (options && arg[0] == '-' && arg[1]) {
			at++;
			r = arg[1] == '-' ? take_long(c, job, arg + 2, &at)
					  : take_short(c, job, arg + 1, &at);
		} else if (c->rest) {
			break;
		} else {
			at++;
			r = take_operand(c, job, arg);
		}
	}
	if (!r && c->rest)
		r = c->rest(job, argv, at);
	return r ? r : check_needed(c, job);
}

int opts_run(const struct opts_command *c, char **argv)
{
	void *job = calloc(1, c->bytes);
	int r;

	if (!job)
		return say_error("out of memory");
	if (c->initial)
		memcpy(job, c->initial, c->bytes);
	r = opts_parse(c, job, argv) ?: c->run(job);
	if (c->done)
		c->done(job);
	free(job);
	return r == OPTS_LEAVE ? 0 : r;
}

/* ---- help ---- */

/*
 * Prints the help of an option. On a terminal (width > 0), wraps lines to its width; else keeps the
 * lines of the declaration.
 */
static void print_option(const struct opts_option *p, unsigned int width)
{
	char left[80];
	const char *line = p->help;
	int n;

	n = snprintf(left, sizeof(left), "  %c%c%s--%s%s%s", p->short_name ? '-' : ' ',
		     p->short_name ? p->short_name : ' ', p->short_name ? ", " : "  ", p->name,
		     p->arg && strncmp(p->arg, "[=", 2) ? " " : "", p->arg ? p->arg : "");
	printf("%s", left);
	if (n + 2 > HELP_COLUMN) {
		printf("\n");
		n = 0;
	}
	if (width) {
		printf("%*s", HELP_COLUMN - n, "");
		render_wrap_beside(stdout, line, width, HELP_COLUMN);
		return;
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

/* Prints paragraphs with their lines joined and wrapped; keeps indented lines. */
static void print_text(const char *text, unsigned int width)
{
	const char *end;
	char part[2048];
	size_t n = 0;

	if (!width) {
		fputs(text, stdout);
		return;
	}
	for (; *text; text = end + (*end == '\n')) {
		end = strchrnul(text, '\n');
		if (*text != ' ' && end > text && n + (size_t)(end - text) + 1 < sizeof(part)) {
			n += (size_t)snprintf(part + n, sizeof(part) - n, "%.*s ",
					      (int)(end - text), text);
			continue;
		}
		part[n] = '\0';
		if (n)
			render_wrap(stdout, part, width);
		n = 0;
		printf("%.*s\n", (int)(end - text), text);
	}
	part[n] = '\0';
	if (n)
		render_wrap(stdout, part, width);
}

void opts_print_help(const struct opts_command *c)
{
	unsigned int width = input_terminal_width();

	printf("Usage: ebpfrec%s%s", c->name ? " " : "", c->name ? c->name : "");
	printf(" %s\n\n", c->synopsis);
	print_text(c->about, width);
	if (!width)
		printf("\n");
	if (c->text) {
		printf("\n");
		print_text(c->text, width);
	}
	printf("\nOptions:\n");
	for (const struct opts_option *p = c->options; p->name; p++)
		print_option(p, width);
	print_option(&help_option, width);
	if (c->examples)
		printf("\nExamples:\n%s", c->examples);
	if (c->more_help)
		c->more_help();
}

/*
 * timeexpr: converts a word of --from or --until to a monotonic instant of the trace. The first
 * characters determine the form; each form has one parser below.
 */

#define S_NS UNITS_NS_PER_S

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int bad_time(struct err *e, const char *s)
{
	return err_set(e, -EINVAL,
		       "'%s' is not a time; write an offset (1.5s, 1500ms), -2s from the end, "
		       "2026-03-01T12:00:00.5Z, T12:00:03 or @SECONDS",
		       s);
}

/* ---- wall clock ---- */

struct civil {
	struct tm tm; /* date and time to the minute */
	uint64_t second_ns; /* seconds within the minute, ns; less than 61 s */
	bool has_zone;
	int zone_minutes; /* offset from UTC; positive: east */
};

/* Parses exactly n digits. */
static bool take_digits(const char **p, unsigned int n, int *ret)
{
	int v = 0;

	for (; n; n--, (*p)++) {
		if (!is_digit(**p))
			return false;
		v = v * 10 + (**p - '0');
	}
	*ret = v;
	return true;
}

static bool take_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

static bool take_date(const char **p, struct civil *c)
{
	struct tm day;

	if (!take_digits(p, 4, &c->tm.tm_year) || !take_char(p, '-') ||
	    !take_digits(p, 2, &c->tm.tm_mon) || !take_char(p, '-') ||
	    !take_digits(p, 2, &c->tm.tm_mday) || c->tm.tm_year < 1970)
		return false;
	c->tm.tm_year -= 1900;
	c->tm.tm_mon--;
	/* timegm() converts an invalid day to a valid one, so a change means an invalid day */
	day = c->tm;
	timegm(&day);
	return day.tm_mon == c->tm.tm_mon && day.tm_mday == c->tm.tm_mday;
}

/* Parses HH:MM[:SS[.frac]][Z|+HH:MM|-HH:MM], up to the end of the string. */
static bool take_time(const char *p, struct civil *c)
{
	int n, sign, zh, zm;

	if (!take_digits(&p, 2, &c->tm.tm_hour) || !take_char(&p, ':') ||
	    !take_digits(&p, 2, &c->tm.tm_min))
		return false;
	c->second_ns = 0;
	if (*p == ':') {
		p++;
		if (!is_digit(p[0]) || !is_digit(p[1]) || is_digit(p[2]))
			return false;
		n = units_scan_seconds(p, &c->second_ns);
		if (n <= 0)
			return false;
		p += n;
	}
	/* Second 60 is a leap second; POSIX time counts it as the first of the next minute. */
	if (c->tm.tm_hour > 23 || c->tm.tm_min > 59 || c->second_ns >= 61 * S_NS)
		return false;
	c->has_zone = *p != '\0';
	c->zone_minutes = 0;
	if (*p == '+' || *p == '-') {
		sign = *p++ == '-' ? -1 : 1;
		if (!take_digits(&p, 2, &zh) || !take_char(&p, ':') || !take_digits(&p, 2, &zm) ||
		    zh > 23 || zm > 59)
			return false;
		c->zone_minutes = sign * (zh * 60 + zm);
	} else if (*p == 'Z' || *p == 'z') {
		p++;
	}
	return *p == '\0';
}

static int civil_to_real(const struct civil *c, uint64_t *ret_real_ns, const char *s, struct err *e)
{
	struct tm tm = c->tm;
	int64_t sec;

	tm.tm_isdst = -1;
	sec = c->has_zone ? timegm(&tm) - c->zone_minutes * 60 : mktime(&tm);
	if (sec < 0 || (uint64_t)sec > UINT64_MAX / S_NS - 61)
		return err_set(e, -ERANGE, "'%s' is outside of what the clock can hold", s);
	*ret_real_ns = (uint64_t)sec * S_NS + c->second_ns;
	return 0;
}

static uint64_t axis_from_real(const struct timeexpr_base *b, uint64_t real_ns)
{
	return b->mono_from_real ? b->mono_from_real(b->ctx, real_ns) : real_ns;
}

static int resolve_date(const char *s, const struct timeexpr_base *b, uint64_t *ret, struct err *e)
{
	struct civil c = { .has_zone = false };
	const char *p = s;
	uint64_t real_ns = 0;
	int r;

	if (!take_date(&p, &c) || !(*p == 'T' || *p == 't' || *p == ' ') || !take_time(p + 1, &c))
		return bad_time(e, s);
	r = civil_to_real(&c, &real_ns, s, e);
	if (r)
		return r;
	*ret = axis_from_real(b, real_ns);
	return 0;
}

static int resolve_time_of_day(const char *s, const struct timeexpr_base *b, uint64_t *ret,
			       struct err *e)
{
	time_t start = (time_t)(b->start_real_ns / S_NS);
	struct civil c = { .has_zone = false };
	uint64_t real_ns = 0, mono_ns;
	struct tm tm;
	int r;

	if (!take_time(s + 1, &c))
		return bad_time(e, s);
	start += c.zone_minutes * 60;
	if (c.has_zone ? !gmtime_r(&start, &tm) : !localtime_r(&start, &tm))
		return bad_time(e, s);
	c.tm.tm_year = tm.tm_year;
	c.tm.tm_mon = tm.tm_mon;
	c.tm.tm_mday = tm.tm_mday;
	r = civil_to_real(&c, &real_ns, s, e);
	if (r)
		return r;
	mono_ns = axis_from_real(b, real_ns);
	if (mono_ns < b->start_ns) {
		uint64_t next = axis_from_real(b, real_ns + 86400 * S_NS);

		if (next <= b->end_ns)
			mono_ns = next;
	}
	*ret = mono_ns;
	return 0;
}

static int resolve_epoch(const char *s, const struct timeexpr_base *b, uint64_t *ret, struct err *e)
{
	uint64_t real_ns = 0;
	int n = units_scan_seconds(s + 1, &real_ns);

	if (n == -ERANGE)
		return err_set(e, -ERANGE, "'%s' is outside of what the clock can hold", s);
	if (n == -EINVAL)
		return err_set(e, -EINVAL, "'%s' is finer than a nanosecond", s);
	if (n <= 0 || s[1 + n])
		return err_set(
			e, -EINVAL,
			"'%s' is not a time: after '@' come the seconds since 1970-01-01 UTC, "
			"such as @1772366400.5",
			s);
	*ret = axis_from_real(b, real_ns);
	return 0;
}

/* ---- offsets and the choice among all forms ---- */

/* Returns whether s looks like a time of day without T: "10:30". */
static bool looks_like_clock(const char *s)
{
	struct civil c;

	return take_time(s, &c);
}

static int resolve_offset(const char *s, const struct timeexpr_base *b, uint64_t *ret,
			  struct err *e)
{
	const char *digits = *s == '-' || *s == '+' ? s + 1 : s;
	struct err why = { "" };
	uint64_t dur;
	int r = units_parse_duration(digits, &dur, &why);

	if (r && looks_like_clock(s))
		return err_set(e, -EINVAL, "'%s' is not an offset; a time of day is written T%s", s,
			       s);
	if (r) {
		bad_time(e, s);
		return r;
	}
	if (*s == '-')
		*ret = dur < b->end_ns ? b->end_ns - dur : 0;
	else if (b->start_ns > UINT64_MAX - dur)
		return err_set(e, -ERANGE, "'%s' is outside of what the clock can hold", s);
	else
		*ret = b->start_ns + dur;
	return 0;
}

/* Finds the mark NAME or NAME#N; a mark whose name itself ends with #N has priority. */
static int resolve_mark(const char *s, const struct timeexpr_base *b, uint64_t *ret, struct err *e)
{
	const char *name = strncmp(s, "mark:", 5) ? s : s + 5, *hash = strrchr(name, '#');
	char bare[512];
	uint64_t nr;

	if (b->mark && !b->mark(b->ctx, name, 1, ret))
		return 0;
	if (b->mark && hash && hash > name && !units_parse_count(hash + 1, &nr, NULL)) {
		snprintf(bare, sizeof(bare), "%.*s", (int)(hash - name), name);
		if (!b->mark(b->ctx, bare, nr, ret))
			return 0;
	}
	if (name != s)
		return err_set(e, -ENOENT,
			       "there is no mark '%s' in the trace; `ebpfrec info` lists its marks",
			       name);
	return err_set(e, -ENOENT,
		       "there is no mark '%s' in the trace; write an offset (1.5s, 1500ms), -2s "
		       "from the end, 2026-03-01T12:00:00.5Z, T12:00:03 or @SECONDS",
		       s);
}

bool timeexpr_is_time(const char *s)
{
	return (*s && strchr("0123456789.-+@", *s)) || !strncmp(s, "mark:", 5) ||
	       ((*s == 'T' || *s == 't') && is_digit(s[1]));
}

int timeexpr_resolve(const char *s, const struct timeexpr_base *b, uint64_t *ret, struct err *e)
{
	size_t digits = strspn(s, "0123456789");

	if (!strncmp(s, "mark:", 5))
		return resolve_mark(s, b, ret, e);
	if (*s == '@')
		return resolve_epoch(s, b, ret, e);
	if ((*s == 'T' || *s == 't') && is_digit(s[1]))
		return resolve_time_of_day(s, b, ret, e);
	if (digits == 4 && s[4] == '-')
		return resolve_date(s, b, ret, e);
	if (digits || *s == '.' || *s == '-' || *s == '+')
		return resolve_offset(s, b, ret, e);
	if (!*s)
		return err_set(e, -EINVAL,
			       "a time must not be empty; write an offset such as 1.5s");
	return resolve_mark(s, b, ret, e);
}

int timeexpr_resolve_future(const char *s, uint64_t now_real_ns, uint64_t *ret_real_ns,
			    struct err *e)
{
	/* a time of day may be tomorrow's if that is nearer than today's */
	const struct timeexpr_base base = { .start_ns = now_real_ns, .start_real_ns = now_real_ns,
					    .end_ns = now_real_ns + 43200ull * S_NS };
	uint64_t real_ns = 0;

	if (*s == '-' || !strncmp(s, "mark:", 5) || !timeexpr_is_time(s) ||
	    timeexpr_resolve(s, &base, &real_ns, NULL))
		return err_set(e, -EINVAL,
			       "'%s' is not a time to come; write T12:00:03, "
			       "2026-03-01T12:00:00.5Z, @SECONDS, or 5s from now",
			       s);
	if (real_ns < now_real_ns)
		return err_set(e, -ERANGE, "%s has passed", s);
	*ret_real_ns = real_ns;
	return 0;
}
