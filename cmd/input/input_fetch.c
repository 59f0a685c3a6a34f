/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * input_fetch: --fetch runs debuginfod-find for the build ids of `report symbols`, and adds the
 * directories of the files that it found to those of --symbols. Build ids come from the trace: only
 * hexadecimal digits become arguments, and no shell sees them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/input/input.h"
#include "cmd/input/lists.h"
#include "cmd/render/say.h"
#include "symbol/source_lines.h"

#define FILES_MAX 256

struct fetch {
	char ids[FILES_MAX][130];
	unsigned int cnt;
	int column;
};

static int begin_rows(void *ctx, unsigned int cnt, const char *const *names)
{
	struct fetch *f = ctx;

	for (unsigned int i = 0; i < cnt; i++)
		if (!strcmp(names[i], "build_id"))
			f->column = (int)i;
	return 0;
}

static int take_row(void *ctx, const struct value *values)
{
	struct fetch *f = ctx;
	const struct value *v = &values[f->column];

	if (v->type != VALUE_TEXT || !v->text_bytes || v->text_bytes >= sizeof(f->ids[0]) ||
	    v->text[strspn(v->text, "0123456789abcdef")])
		return 0;
	for (unsigned int i = 0; i < f->cnt; i++)
		if (!strcmp(f->ids[i], v->text))
			return 0;
	if (f->cnt < FILES_MAX)
		snprintf(f->ids[f->cnt++], sizeof(f->ids[0]), "%s", v->text);
	return 0;
}

/* Runs debuginfod-find, which prints the path of a file. Returns 0, -ENOENT, or -errno. */
static int find(const char *what, const char *id, char path[PATH_MAX])
{
	const char *const argv[] = { "debuginfod-find", what, id, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], status, r;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = -posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while (!r && (got = read(ends[0], path + n, PATH_MAX - 1 - n)) > 0)
		n += (size_t)got;
	close(ends[0]);
	if (r)
		return r == -ENOENT ? -ENOPKG : r;
	path[n] = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (waitpid(pid, &status, 0) != pid)
		return -ENOENT;
	/* an emulated fork reports a missing program like a shell */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return -ENOPKG;
	if (status || !strchr(path, '/'))
		return -ENOENT;
	return 0;
}

/* Adds the directory of a file to a list. */
static void add_dir(struct buf *dirs, const char *path)
{
	if (dirs->len)
		buf_add(dirs, ",", 1);
	buf_add(dirs, path, (size_t)(strrchr(path, '/') - path));
}

int input_fetch(struct input *in, uint64_t from_ns, uint64_t to_ns)
{
	const struct report_request q = { .view = "symbols", .from_ns = from_ns, .to_ns = to_ns };
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct fetch *f = calloc(1, sizeof(*f));
	const struct row_sink rows = { .ctx = f, .begin = begin_rows, .row = take_row };
	struct buf dirs = { 0 };
	struct err e = { "" };
	char path[PATH_MAX];
	unsigned int found = 0;
	int r;

	if (!urls || !*urls) {
		free(f);
		return say_error("--fetch: DEBUGINFOD_URLS names no server");
	}
	r = f ? analysis_report(in->analysis, &q, &rows, &e) : -ENOMEM;
	if (in->symbols)
		buf_add(&dirs, in->symbols, strlen(in->symbols));
	for (unsigned int i = 0; !r && i < f->cnt; i++) {
		r = find("debuginfo", f->ids[i], path);
		if (r == -ENOENT)
			r = find("executable", f->ids[i], path);
		if (!r && !strchr(path, ',')) {
			add_dir(&dirs, path);
			found++;
		}
		r = r == -ENOENT ? 0 : r;
	}
	buf_add(&dirs, "", 1);
	if (!r && !dirs.failed && f->cnt)
		say_note("--fetch: debuginfod-find found %u of %s", found,
			 say_counted(f->cnt, "file"));
	free(f);
	if (r == -ENOPKG)
		r = err_set(&e, r, "--fetch: debuginfod-find is not installed");
	if (r || dirs.failed || !found) {
		buf_done(&dirs);
		return input_status(r ?: dirs.failed ? -ENOMEM : 0, &e);
	}
	free(in->fetched);
	in->symbols = in->fetched = (char *)dirs.data;
	symbol_dirs_free(in->symbol_dirs);
	in->symbol_dirs = NULL;
	return input_use_symbols(in);
}
