/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* verdict: finds a rule's figure among the rows of a report, and judges it. */
#include "cmd/assert/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/textsafe.h"
#include "base/units.h"
#include "cmd/input/opts.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"
#include "store/manifest.h"

#define UNKNOWN "[unknown]" /* key of rows without a known owner */

/* ---- rows ---- */

static int find_column(const struct finding *f, const char *name)
{
	for (unsigned int i = 0; i < f->col_cnt; i++)
		if (!strcmp(f->names[i], name))
			return (int)i;
	return -1;
}

static int no_column(struct finding *f, const char *name)
{
	int near = nearest_find(name, (const char *const *)f->names, f->col_cnt);
	size_t n = (size_t)snprintf(f->error, sizeof(f->error), "the view '%s' has no column '%s'",
				    f->rule->argv[1], name);

	if (near >= 0)
		snprintf(f->error + n, sizeof(f->error) - n, "; did you mean '%s'?",
			 f->names[near]);
	else
		snprintf(f->error + n, sizeof(f->error) - n,
			 "; `ebpfrec report %s --format csv` begins with their names",
			 f->rule->argv[1]);
	return -EPIPE;
}

static int begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct finding *f = ctx;
	const struct rule *r = f->rule;

	if (r->sql || f->col_cnt)
		return 0;
	for (; f->col_cnt < col_cnt && f->col_cnt < FINDING_COLUMNS_MAX; f->col_cnt++) {
		f->names[f->col_cnt] = strdup(names[f->col_cnt]);
		if (!f->names[f->col_cnt])
			return -ENOMEM;
	}
	f->complete = find_column(f, "complete");
	f->unowned = find_column(f, "unowned_ios");
	for (unsigned int i = 0; i < r->filter_cnt; i++) {
		f->filters[i] = find_column(f, r->filters[i].column);
		if (f->filters[i] < 0)
			return no_column(f, r->filters[i].column);
	}
	f->scale = 1;
	f->col = find_column(f, r->column);
	f->of_rows = f->col < 0 && !strcmp(r->column, "rows");
	if (f->col < 0 && *r->base) {
		f->col = find_column(f, r->base);
		f->scale = r->scale;
	}
	if (f->col < 0 && !f->of_rows)
		return no_column(f, r->column);
	f->is_floor &= !f->of_rows && column_find(names[f->col])->is_floor;
	return 0;
}

static void value_to_text(char *buf, size_t size, const struct value *v)
{
	if (v->type == VALUE_TEXT)
		snprintf(buf, size, "%.*s", (int)v->text_bytes, v->text);
	else if (v->type == VALUE_INT)
		snprintf(buf, size, "%lld", (long long)v->i);
	else if (v->type == VALUE_REAL)
		snprintf(buf, size, "%.15g", v->r);
	else
		*buf = 0;
}

static bool is_matched(const struct finding *f, const struct value *v)
{
	char text[512];

	for (unsigned int i = 0; i < f->rule->filter_cnt; i++) {
		const char *pattern = f->rule->filters[i].pattern;

		value_to_text(text, sizeof(text), &v[f->filters[i]]);
		if (strcmp(pattern, text) && fnmatch(pattern, text, 0))
			return false;
	}
	return true;
}

/* Writes the keys of a row. Returns false if the row has no known owner. */
static bool name_row(const struct finding *f, const struct value *v, char *buf, size_t size)
{
	bool is_known = true;
	char text[64];
	size_t n = 0;

	*buf = '\0';
	for (unsigned int i = 0; i < f->col_cnt && (int)i != f->col; i++) {
		if (!column_find(f->names[i])->is_key)
			continue;
		value_to_text(text, sizeof(text), &v[i]);
		is_known &= strcmp(text, UNKNOWN) != 0;
		if (*text && n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s=%s", n ? " " : "",
					      f->names[i], text);
	}
	return is_known;
}

static int end(void *ctx)
{
	return 0;
}

static int row(void *ctx, const struct value *v)
{
	struct finding *f = ctx;
	const struct value *figure;
	char which[sizeof(f->which)];
	double x;

	if (f->rule->sql || f->of_rows) {
		f->rows += f->rule->sql || is_matched(f, v);
		return 0;
	}
	if (!is_matched(f, v))
		return 0;
	f->rows++;
	figure = &v[f->col];
	if (figure->type == VALUE_TEXT) {
		snprintf(f->error, sizeof(f->error), "%s is a text: write %s=VALUE rows > 0",
			 f->names[f->col], f->names[f->col]);
		return -EPIPE;
	}
	f->is_floor &= name_row(f, v, which, sizeof(which));
	if (f->complete >= 0 && !v[f->complete].i)
		f->is_complete = false;
	if (f->unowned >= 0 && v[f->unowned].i)
		f->is_complete = false;	/* events without a known owner may belong to this row */
	/*
	 * figures of single events, such as a longest one, are NULL without events: any limit is
	 * met
	 */
	if (figure->type == VALUE_NULL && column_find(f->names[f->col])->is_single)
		return 0;
	if (figure->type == VALUE_NULL) {
		f->is_complete = false;
		snprintf(f->why, sizeof(f->why), "%s was not measured", f->names[f->col]);
		return 0;
	}
	x = (figure->type == VALUE_INT ? (double)figure->i : figure->r) / f->scale;
	if (f->rule->is_sum) {
		f->figure += x;
	} else if (!f->has || rule_is_worse(f->rule, x, f->figure)) {
		f->figure = x;
		snprintf(f->which, sizeof(f->which), "%s", which);
	}
	f->has = true;
	return 0;
}

void finding_init(struct finding *f, const struct rule *rule)
{
	*f = (struct finding){ .rule = rule, .is_complete = true, .is_floor = true, .col = -1,
			       .complete = -1, .unowned = -1 };
}

struct row_sink finding_sink(struct finding *f)
{
	return (struct row_sink){ .ctx = f, .begin = begin, .row = row, .end = end };
}

void finding_end(struct finding *f, const char *missing)
{
	/* if every row states its completeness, that of the window does not matter */
	bool is_told = f->complete >= 0 && f->rows && !f->of_rows && !f->rule->is_sum;

	if (f->of_rows || f->rule->sql) {
		f->figure = (double)f->rows;
		f->has = true;
		f->is_floor = false;
	}
	if (*missing && !is_told)
		f->is_complete = false;
	if (!f->is_complete && !*f->why)
		snprintf(f->why, sizeof(f->why), "%s",
			 *missing ? missing : "the row says that it is not complete");
	while (f->col_cnt)
		free(f->names[--f->col_cnt]);
}

/* ---- the verdict ---- */

static enum verdict judge(const struct finding *f)
{
	const struct rule *r = f->rule;
	bool is_upper = r->op == RULE_LESS || r->op == RULE_AT_MOST || r->op == RULE_EQUAL;

	if (!f->has)
		return f->is_complete && r->if_any ? VERDICT_PASS : VERDICT_INDETERMINATE;
	if (f->is_complete)
		return rule_holds(r, f->figure) ? VERDICT_PASS : VERDICT_FAIL;
	return f->is_floor && is_upper && f->figure > r->limit && !rule_holds(r, f->figure) ?
		       VERDICT_FAIL : VERDICT_INDETERMINATE;
}

static double median_of(double *v, unsigned int cnt)
{
	qsort(v, cnt, sizeof(*v), compare_double);
	return cnt % 2 ? v[cnt / 2] : (v[cnt / 2 - 1] + v[cnt / 2]) / 2;
}

static const char *reason_of(const struct finding *f)
{
	return *f->why	 ? f->why :
	       f->has || f->rule->if_any ? "" :
	       f->rows	 ? "no row has a value" : "no row matches";
}

static struct verdict_result result_of(const struct finding *f, unsigned int trace)
{
	return (struct verdict_result){ .verdict = judge(f), .has = f->has, .figure = f->figure,
					.trace = trace, .why = reason_of(f), .which = f->which };
}

static struct verdict_result verdict_of_each(const struct finding *f, unsigned int cnt)
{
	struct verdict_result worst = result_of(&f[0], 0), one;

	for (unsigned int i = 1; i < cnt; i++) {
		one = result_of(&f[i], i);
		if (one.verdict > worst.verdict ||
		    (one.verdict == worst.verdict && one.has &&
		     (!worst.has || rule_is_worse(f->rule, one.figure, worst.figure))))
			worst = one;
	}
	return worst;
}

/*
 * Missing events may move the median in either direction. The rule fails only if the median of the
 * known figures, with the lowest possible values for unknown ones, already breaks the limit.
 */
static struct verdict_result verdict_of_median(const struct finding *f, unsigned int cnt,
					       double *room)
{
	struct finding median = { .rule = f->rule, .is_complete = true, .is_floor = true };
	unsigned int n = 0, lacking = cnt;

	for (unsigned int i = 0; i < cnt; i++) {
		bool is_known = f[i].has && (f[i].is_complete || f[i].is_floor);

		if (!f[i].has && f[i].is_complete && f->rule->if_any)
			continue;
		if ((!f[i].has || !f[i].is_complete) && lacking == cnt)
			lacking = i;
		room[n++] = is_known ? f[i].figure : -INFINITY;
	}
	median.is_complete = lacking == cnt;
	median.figure = n ? median_of(room, n) : 0;
	median.has = n && isfinite(median.figure);
	if (lacking < cnt)
		snprintf(median.why, sizeof(median.why), "%s", reason_of(&f[lacking]));
	return (struct verdict_result){ .verdict = judge(&median), .has = median.has,
					.figure = median.figure, .of_median = true,
					.trace = lacking < cnt ? lacking : 0,
					.why = lacking < cnt ? reason_of(&f[lacking]) : "",
					.which = "" };
}

struct verdict_result verdict_of(const struct finding *f, unsigned int cnt, double *room)
{
	return cnt == 1 || f->rule->of_every ? verdict_of_each(f, cnt) :
					       verdict_of_median(f, cnt, room);
}

/* ---- texts ---- */

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = { "PASS", "INDETERMINATE", "FAIL" };

	return names[v];
}

void verdict_format(char *buf, size_t size, const struct rule *r, double v)
{
	char text[UNITS_TEXT_MAX];
	uint64_t n = (uint64_t)llround(fmin(fabs(v), 9e18));
	const char *sign = v < 0 ? "-" : "";

	if (r->kind == COLUMN_DURATION || r->kind == COLUMN_INSTANT)
		snprintf(buf, size, "%s%s", sign, units_format_duration(text, sizeof(text), n));
	else if (r->kind == COLUMN_BYTES || r->kind == COLUMN_BYTE_RATE)
		snprintf(buf, size, "%s%s%s", sign, units_format_bytes(text, sizeof(text), n),
			 r->kind == COLUMN_BYTE_RATE ? "/s" : "");
	else if (r->kind == COLUMN_PERCENT || r->kind == COLUMN_SHARE)
		snprintf(buf, size, "%.1f %%", v);
	else if (v == round(v) && fabs(v) < 9e18)
		snprintf(buf, size, "%s%s", sign, units_format_count(text, sizeof(text), n));
	else
		snprintf(buf, size, "%.3f", v);
}

const char *verdict_limit(const struct rule *r)
{
	static char limit[48];
	char text[40];

	verdict_format(text, sizeof(text), r, r->limit);
	snprintf(limit, sizeof(limit), "%s %s", rule_op_text(r->op), text);
	return limit;
}

/* verdict_file: text is first made printable (\xNN), then escaped for the format. */

static void put_case(FILE *f, const struct verdict_line *v)
{
	const char *element = v->verdict == VERDICT_FAIL ? "failure" : "error";

	fprintf(f, "<testcase classname=\"ebpfrec assert\" line=\"%u\" name=\"", v->rule->line);
	render_html_text(f, v->rule->text);
	fprintf(f, "\" time=\"%.3f\"", (double)v->rule->took_ns / 1e9);
	if (v->verdict == VERDICT_PASS) {
		fprintf(f, "/>\n");
		return;
	}
	fprintf(f, ">\n<%s type=\"%s\" message=\"", element, verdict_name(v->verdict));
	render_html_text(f, v->text);
	fprintf(f, "\">");
	render_html_text(f, v->command);
	fprintf(f, "</%s>\n</testcase>\n", element);
}

void verdict_write_junit(FILE *f, const char *file, const struct verdict_line *v, unsigned int cnt)
{
	unsigned int fails = 0, errors = 0;
	uint64_t took_ns = 0;

	for (unsigned int i = 0; i < cnt; i++) {
		fails += v[i].verdict == VERDICT_FAIL;
		errors += v[i].verdict == VERDICT_INDETERMINATE;
		took_ns += v[i].rule->took_ns;
	}
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"");
	render_html_text(f, file);
	fprintf(f, "\" tests=\"%u\" failures=\"%u\" errors=\"%u\" time=\"%.3f\">\n", cnt, fails,
		errors, (double)took_ns / 1e9);
	for (unsigned int i = 0; i < cnt; i++)
		put_case(f, &v[i]);
	fprintf(f, "</testsuite>\n</testsuites>\n");
}

/* Writes text for the runner of GitHub: escapes "%", and in a property also ":" and ",". */
static void put_github(FILE *f, const char *text, bool is_property)
{
	size_t n = strlen(text), size = n * TEXTSAFE_GROWTH + 1;
	char *safe = malloc(size);

	if (!safe)
		return;
	textsafe_escape(safe, size, text, n, NULL);
	for (const char *c = safe; *c; c++)
		if (*c == '%' || (is_property && (*c == ':' || *c == ',')))
			fprintf(f, "%%%02X", (unsigned int)*c);
		else
			fputc(*c, f);
	free(safe);
}

void verdict_write_github(FILE *f, const struct verdict_line *v, unsigned int cnt)
{
	for (; cnt--; v++) {
		if (v->verdict == VERDICT_PASS)
			continue;
		fprintf(f, "::%s file=", v->verdict == VERDICT_FAIL ? "error" : "warning");
		put_github(f, v->file, true);
		fprintf(f, ",line=%u,title=", v->rule->line);
		put_github(f, verdict_name(v->verdict), true);
		put_github(f, ": ", true);
		put_github(f, v->rule->text, true);
		fprintf(f, "::");
		put_github(f, v->text, false);
		put_github(f, "; ", false);
		put_github(f, v->command, false);
		fputc('\n', f);
	}
}

/*
 * verdict_note: writes a new manifest with the owner of the old one, and renames it over the old
 * one.
 */

#define NOTE "note.assert"

/*
 * Sets the note assert: "2026-03-01T12:00:00Z, rules.txt: 8 pass, 1 fail, 0 indeterminate; FAIL:
 * cpu util_pct < 60".
 */
static int set_note(struct manifest *m, const char *judged, const struct verdict_line *v,
		    unsigned int cnt)
{
	unsigned int cnts[3] = { 0 };
	char text[2048];
	size_t n;

	for (unsigned int i = 0; i < cnt; i++)
		cnts[v[i].verdict]++;
	n = (size_t)snprintf(text, sizeof(text), "%s, %s: %u pass, %u fail, %u indeterminate",
			     judged, v->file, cnts[VERDICT_PASS], cnts[VERDICT_FAIL],
			     cnts[VERDICT_INDETERMINATE]);
	for (unsigned int i = 0; i < cnt && n < sizeof(text); i++)
		if (v[i].verdict != VERDICT_PASS)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "; %s: %s",
					      verdict_name(v[i].verdict), v[i].rule->text);
	return manifest_set(m, NOTE, text);
}

/*
 * Returns text on the traces of a figure, valid as long as that of say_format(); NULL: one trace.
 */
static const char *name_traces(const struct verdict_line *v)
{
	const char *traces = say_counted(v->traces, "trace");

	return v->traces == 1	     ? NULL :
	       v->result->of_median ? say_format("median of %s", traces) :
	       say_format("%s, of %s", v->paths[v->result->trace], traces);
}

/*
 * Returns the JSON object of a rule; the window is that of the figure's trace. malloc'ed; NULL: out
 * of memory.
 */
static char *write_rule(unsigned int trace, const char *judged, const struct verdict_line *v)
{
	static const char *const names[] = { "verdict", "rule", "figure", "limit", "window",
					     "started", "judged", "traces", "why" };
	const struct verdict_result *res = v->result;
	const struct finding *found = &v->findings[res->of_median ? trace : res->trace];
	char *text = NULL, figure[40] = "";
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	const struct render_options o = { .format = RENDER_JSONL, .out = f };
	struct render *out = NULL;
	int r = f ? render_new(&out, &o) : -ENOMEM;

	if (res->has)
		verdict_format(figure, sizeof(figure), v->rule, res->figure);
	if (!r) {
		render_begin(out, sizeof(names) / sizeof(names[0]), names);
		r = render_put(out, (struct value[]){
			value_text(verdict_name(v->verdict)), value_text(v->rule->text),
			value_text(*figure ? figure : "-"), value_text(verdict_limit(v->rule)),
			value_text(found->window), value_text(found->started),
			value_text(judged), value_text(name_traces(v)),
			value_text(*res->why ? res->why : NULL) }) ?: render_end(out);
	}
	render_free(out);
	if (f && fclose(f))
		r = -ENOMEM;
	if (!r)
		text[strcspn(text, "\n")] = '\0';
	else
		free(text);
	return r ? NULL : text;
}

/* Copies all keys but those of earlier verdicts, and adds the new verdicts. */
static int set_all(struct manifest *m, const struct manifest *old, unsigned int trace,
		   const struct verdict_line *v, unsigned int cnt)
{
	size_t len = strlen(NOTE);
	char key[32], judged[32], *text;
	int r = 0;

	for (size_t i = 0; i < old->cnt && !r; i++) {
		const struct manifest_entry *o = &old->entries[i];

		if (strncmp(o->key, NOTE, len) || (o->key[len] && o->key[len] != '.'))
			r = manifest_set(m, o->key, o->value);
	}
	/* without the fraction of the second */
	snprintf(judged, sizeof(judged), "%.19sZ", say_wall(clock_real_ns(), false));
	r = r ?: set_note(m, judged, v, cnt);
	for (unsigned int i = 0; i < cnt && i < VERDICT_NOTES_MAX && !r; i++) {
		snprintf(key, sizeof(key), NOTE ".%02u", i + 1);
		text = write_rule(trace, judged, &v[i]);
		r = text ? manifest_set(m, key, text) : -ENOMEM;
		free(text);
	}
	return r;
}

static int keep(int dir_fd, unsigned int trace, const struct verdict_line *v, unsigned int cnt,
		struct err *e)
{
	struct manifest_place place = { .files = &files_kernel, .dir_fd = dir_fd };
	struct manifest old = { 0 }, m = { 0 };
	const char *state;
	struct stat st;
	size_t bytes;
	char *all;
	int r = manifest_read(&old, dir_fd, e);

	if (r)
		return r;
	state = manifest_get(&old, "state");
	if (manifest_get(&old, MANIFEST_LOST))
		r = err_set(e, -EINVAL, "its manifest is damaged");
	else if (!state || strcmp(state, "finished"))
		r = err_set(e, -EBUSY, "its recording has not ended");
	else if (fstatat(dir_fd, MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW))
		r = -errno;
	if (!r) {
		place.uid = st.st_uid == geteuid() ? (uid_t)-1 : st.st_uid;
		place.gid = st.st_uid == geteuid() ? (gid_t)-1 : st.st_gid;
		r = set_all(&m, &old, trace, v, cnt);
	}
	if (!r)
		r = manifest_format(&m, &all, &bytes);
	if (!r) {
		r = manifest_replace(&place, all, bytes);
		free(all);
	}
	manifest_done(&m);
	manifest_done(&old);
	return r;
}

int verdict_keep(unsigned int trace, const struct verdict_line *v, unsigned int cnt, struct err *e)
{
	int dir_fd = open(v->paths[trace], O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (dir_fd < 0)
		return errno == ENOTDIR ? err_set(e, -ENOTDIR, "a bundle cannot be changed") :
					  -errno;
	r = keep(dir_fd, trace, v, cnt, e);
	close(dir_fd);
	return r;
}
