/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* verdict_note: writes a new manifest that belongs to the old one's owner, and replaces the old. */
#include "cmd/assert/verdict_note.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"
#include "store/manifest.h"

#define NOTE "note.assert"

/* "2026-03-01T12:00:00Z, rules.txt: 8 pass, 1 fail, 0 indeterminate; FAIL: cpu util_pct < 60" */
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

/* Names the traces of a figure, if there are several; valid until say_format() is called. */
static const char *name_traces(const struct verdict_line *v)
{
	const char *traces = say_counted(v->traces, "trace");

	return v->traces == 1	     ? NULL :
	       v->result->of_median ? say_format("median of %s", traces) :
	       say_format("%s, of %s", v->paths[v->result->trace], traces);
}

/* The object of a rule. The window is that of the figure. malloc'ed, or NULL. */
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

/* Copies the keys other than verdicts, and adds the new verdicts. */
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
	/* without fractions of a second */
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
