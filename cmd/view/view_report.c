/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* view_report: runs views of `report`, searches, and commands that make files, for a browser. */
#include "cmd/view/view_report.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/clock.h"
#include "base/units.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"
#include "store/bundle.h"

/* ---- view download ---- */

#define FILES_MAX  256	/* limit of files in a directory */
#define LOOK_NS	   20000000 /* interval of checking the command and its client */

struct download_kind {
	const char *name, *save_as;
	const char *command[6];
	bool is_directory;
};
static const struct download_kind kinds[] = {
	{ "page", "window.html", { "export", "--to", "html", "-q" }, false },
	{ "csv", "window-csv.zip", { "export", "--to", "csv", "-q" }, true },
	{ "perfetto", "window.pftrace", { "export", "--to", "perfetto", "-q" }, false },
	{ "cut", "window.zip", { "bundle", "--max-size", "1GB" }, false },
	{ "bundle", "bug.zip", { "bundle" }, false },
};

struct download {
	const struct download_kind *kind;
	const char *trace, *symbols;
	uint64_t from_ns, to_ns;
	int client_fd;		/* connection of the waiting client */
	pthread_t thread;
	atomic_bool is_done;
	int ret;		/* result; valid, like answer and e, when is_done is set */
	struct http_answer answer;
	struct err e;
};
static unsigned int download_cnt;	/* number of downloads being made */

static const struct download_kind *find_kind(const char *name)
{
	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

/* ---- the command ---- */

/* Runs in the child: writes stderr to the file `says`, and executes the command. */
static void run_command(char *const *argv, const char *says)
{
	const struct rlimit most = { VIEW_DOWNLOAD_BYTES, VIEW_DOWNLOAD_BYTES };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int out = open(says, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (null >= 0 && out >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 &&
	    dup2(out, 2) == 2 && !setrlimit(RLIMIT_FSIZE, &most)) {
		/* the command must not inherit the viewer's connections */
		if (!syscall(SYS_close_range, 3, ~0U, 0))
			execv("/proc/self/exe", argv);
	}
	_exit(127);
}

/*
 * Waits for the child, and kills it on a timeout or if the client disconnects. Returns the child's
 * exit status, or -errno if it was killed.
 */
static int wait_for(pid_t pid, int client_fd)
{
	uint64_t begin_ns = clock_mono_ns();
	int status, why = 0;

	for (;;) {
		pid_t ended = waitpid(pid, &status, why ? 0 : WNOHANG);

		if (ended == pid)
			return why ?: WIFEXITED(status) ? WEXITSTATUS(status) : 128;
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (clock_mono_ns() - begin_ns > VIEW_DOWNLOAD_SECONDS * UNITS_NS_PER_S)
			why = -ETIMEDOUT;
		else if (http_connection_is_gone(client_fd))
			why = -ECANCELED;
		if (why)
			kill(pid, SIGKILL);
		else
			nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
}

/* Sets the error to the last line of the command's stderr, without "ebpfrec: ". */
static int say_why(const char *says, struct err *e)
{
	char line[300] = "", last[300] = "it said nothing";
	FILE *f = fopen(says, "re");
	const char *text;

	while (f && fgets(line, sizeof(line), f))
		memcpy(last, line, sizeof(last));
	if (f)
		fclose(f);
	last[strcspn(last, "\n")] = '\0';
	text = strncmp(last, "ebpfrec: ", 9) ? last : last + 9;
	return err_set(e, -EIO, "%s", text);
}

/* Runs the command, which writes the window to output. says: file for its stderr. */
static int make(struct download *d, const char *output, const char *says)
{
	char from[40], until[40];
	char *argv[20] = { "ebpfrec" };
	unsigned int n = 1;
	pid_t pid;
	int c;

	snprintf(from, sizeof(from), "%lluns", (unsigned long long)d->from_ns);
	snprintf(until, sizeof(until), "%lluns", (unsigned long long)d->to_ns);
	for (unsigned int i = 0; d->kind->command[i]; i++)
		argv[n++] = (char *)d->kind->command[i];
	argv[n++] = "-i";
	argv[n++] = (char *)d->trace;
	argv[n++] = "--from";
	argv[n++] = from;
	argv[n++] = "--until";
	argv[n++] = until;
	if (d->symbols && !strcmp(argv[1], "export")) {
		argv[n++] = "--symbols";
		argv[n++] = (char *)d->symbols;
	}
	argv[n++] = "-o";
	argv[n++] = (char *)output;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		run_command(argv, says);
	c = wait_for(pid, d->client_fd);
	if (c == -ETIMEDOUT)
		return err_set(&d->e, c, "it takes more than %d s: the command beside the link "
				     "has the time", VIEW_DOWNLOAD_SECONDS);
	return c > 0 ? say_why(says, &d->e) : c;
}

/* ---- the command's output ---- */

static void drop_members(struct bundle_member *m, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		free((char *)m[i].name);
		free((char *)m[i].path);
	}
	free(m);
}

/* Lists the files of a directory. */
static int list_files(const char *dir, struct bundle_member *m, size_t *cnt)
{
	DIR *d = opendir(dir);
	struct dirent *file;
	char *path;

	if (!d)
		return -errno;
	while (*cnt < FILES_MAX && (file = readdir(d))) {
		if (file->d_name[0] == '.')
			continue;
		path = NULL;
		m[*cnt].name = strdup(file->d_name);
		m[*cnt].path = asprintf(&path, "%s/%s", dir, file->d_name) < 0 ? NULL : path;
		if (!m[*cnt].name || !m[(*cnt)++].path)
			break;
	}
	closedir(d);
	return *cnt && m[*cnt - 1].path ? 0 : -ENOMEM;
}

/* Writes a zip file that contains the files of a directory, inside a folder. */
static int pack(const char *dir, const char *zip, const char *folder, struct err *e)
{
	struct bundle_member *m = calloc(FILES_MAX + 1, sizeof(*m));
	uint64_t bytes;
	size_t cnt = 0;
	int c = m ? list_files(dir, m, &cnt) : -ENOMEM;

	c = c ?: bundle_write(zip, folder, m, cnt, (int64_t)time(NULL), &bytes, e);
	if (m)
		drop_members(m, cnt);
	return c;
}

/* Opens the file for the answer; an open file stays readable after it is removed. */
static int give(const char *path, const struct download_kind *k, struct http_answer *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int c = -errno;

		if (fd >= 0)
			close(fd);
		return c;
	}
	ret->is_file = true;
	ret->fd = fd;
	ret->bytes = (size_t)st.st_size;
	ret->type = "application/octet-stream";
	ret->save_as = k->save_as;
	return 0;
}

static int make_file(struct download *d)
{
	const struct download_kind *k = d->kind;
	const char *place = getenv("TMPDIR");
	struct atomic_output o;
	char near[PATH_MAX], *says = NULL, *output = NULL;
	int c;

	snprintf(near, sizeof(near), "%s/%s", place && *place ? place : "/var/tmp", k->save_as);
	c = atomic_output_begin(&o, near, false, &d->e);
	if (c < 0)
		return c;
	says = atomic_output_item(&o, "says");
	output = k->is_directory ? atomic_output_item(&o, k->name) : strdup(o.path);
	if (!says || !output)
		c = -ENOMEM;
	c = c ?: make(d, output, says);
	if (!c && k->is_directory)
		c = pack(output, o.path, "window", &d->e);
	c = c ?: give(o.path, k, &d->answer);
	atomic_output_drop(&o);
	free(says);
	free(output);
	return c;
}

/* ---- in a thread per download ---- */

static void *run_download(void *arg)
{
	struct download *d = arg;

	d->ret = make_file(d);
	d->is_done = true;
	return NULL;
}

/* Implements http_answer.later(). */
static bool take_file(void *work, struct http_answer *ret)
{
	struct download *d = work;

	if (!d->is_done)
		return false;
	pthread_join(d->thread, NULL);
	if (!d->ret)
		*ret = d->answer;
	ret->status = !d->ret ? 200 : d->ret == -ECANCELED ? 503 : 500;
	if (d->ret)
		ret->fixed = "the file cannot be made; the terminal says why\n";
	if (d->ret && d->ret != -ECANCELED)
		say_note("%s", err_text(&d->e, d->ret));
	free(d);
	download_cnt--;
	return true;
}

int view_download_begin(const struct http_request *q, const char *trace, const char *symbols,
			uint64_t from_ns, uint64_t to_ns, struct http_answer *ret)
{
	const struct download_kind *k = find_kind(http_request_argument(q, "as"));
	struct download *d;
	sigset_t all, before;
	int c;

	if (!k)
		return -EINVAL;
	if (download_cnt == VIEW_DOWNLOADS_MAX)
		return -EBUSY;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	*d = (struct download){ .kind = k, .trace = trace, .symbols = symbols,
				.from_ns = from_ns, .to_ns = to_ns,
				.client_fd = http_request_fd(q) };
	/* block signals in the new thread: they must interrupt the answering thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	c = -pthread_create(&d->thread, NULL, run_download, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (c) {
		free(d);
		return c;
	}
	download_cnt++;
	ret->later = take_file;
	ret->work = d;
	return 0;
}

#define STACKS_SHOWN 3000	/* maximum number of stacks in a flame graph: the largest */
#define SECTION_ROWS 100 /* rows per section of `why`; the page first shows only some of them */
#define WAITERS_SHOWN 50
#define FOUND_MAX    15		/* search results of each kind */
#define COLUMNS_MAX  32

static const char json[] = "application/json; charset=utf-8";

struct view_served {
	const char *name;
	uint64_t limit;
	unsigned int by;
	bool stacks_apart;
};
#define BY_PROCESS (1u << REPORT_BY_PROCESS)
static const struct view_served served[] = {
	{ "why" }, { "spikes" },
	{ "profile", STACKS_SHOWN, BY_PROCESS, true }, { "stacks", STACKS_SHOWN, BY_PROCESS },
	{ "offcpu", STACKS_SHOWN, BY_PROCESS },
};

static const struct view_served *find_served(const char *name)
{
	for (size_t i = 0; name && i < sizeof(served) / sizeof(served[0]); i++)
		if (!strcmp(served[i].name, name))
			return &served[i];
	return NULL;
}

/* Returns an argument that is a process or thread id. 0: missing or not a number. */
static uint32_t take_id(const struct http_request *q, const char *name)
{
	const char *text = http_request_argument(q, name);

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

int view_render_answer(int (*write)(void *ctx, const struct row_sink *out, struct err *e),
		       void *ctx, struct http_answer *ret, struct err *e)
{
	FILE *f = open_memstream(&ret->text, &ret->bytes);
	const struct render_options o = { .format = RENDER_JSON, .out = f };
	struct render *out = NULL;
	int c = f ? render_new(&out, &o) : -ENOMEM;

	c = c ?: write(ctx, render_sink(out), e);
	render_free(out);
	if (f && fclose(f) && !c)
		c = -ENOMEM;
	ret->type = json;
	return c;
}

/* ---- a view ---- */

struct question {
	struct analysis *a;
	struct report_request r;
	uint64_t from_ns, to_ns;	/* the request's window, from the trace's start */
};

static int write_view(void *ctx, const struct row_sink *out, struct err *e)
{
	struct question *question = ctx;

	return analysis_report(question->a, &question->r, out, e);
}

/* ---- the waiters of a thread ---- */

/*
 * Writes rows for the threads whose waits were ended by the requested thread, or by any thread of
 * the requested process.
 */
static int write_waiters(void *ctx, const struct row_sink *out, struct err *e)
{
	const struct question *question = ctx;
	const struct report_request *r = &question->r;
	char sql[1400];

	snprintf(sql, sizeof(sql),
		 "SELECT w.comm AS waiter, w.tid AS tid, e.kind AS kind, "
		 "coalesce(e.object, e.call) AS object, sum(e.waits) AS waits, "
		 "sum(e.wait_ns) AS wait_ns, max(e.wait_max_ns) AS wait_max_ns "
		 "FROM wait_ends(%" PRIu64 ", %" PRIu64 ") AS e "
		 "JOIN threads AS x ON x.utid = e.ender_utid "
		 "JOIN processes AS p ON p.upid = x.upid JOIN threads AS w ON w.utid = e.utid "
		 "WHERE %s = %u AND w.utid <> x.utid AND e.kind <> 'kernel' "
		 "GROUP BY w.utid, e.kind, coalesce(e.object, e.call) HAVING sum(e.waits) > 0 "
		 "ORDER BY sum(e.wait_ns) DESC LIMIT %d",
		 question->from_ns, question->to_ns, r->tid_cnt ? "x.tid" : "p.pid",
		 r->tid_cnt ? r->tids[0] : r->pids[0], WAITERS_SHOWN);
	return analysis_sql(question->a, sql, out, e);
}

int view_report_rows(struct analysis *a, const struct http_request *q, uint64_t from_ns,
		     uint64_t to_ns, struct http_answer *ret, struct err *e)
{
	uint32_t pid = take_id(q, "pid"), tid = take_id(q, "tid");
	const char *view = http_request_argument(q, "view");
	const struct view_served *v = find_served(view);
	const char *request = http_request_argument(q, "request");
	struct question question = { a, {
		.from_ns = from_ns, .to_ns = to_ns, .summary_rows = SECTION_ROWS,
		.comm = http_request_argument(q, "comm"),
		.pids = pid ? &pid : NULL, .pid_cnt = pid > 0,
		.tids = tid ? &tid : NULL, .tid_cnt = tid > 0,
		.request = request ? strtoull(request, NULL, 10) : 0,
		.workload = http_request_argument(q, "workload") } };

	if (view && !strcmp(view, "waiters") && (pid || tid)) {
		/* cmd_view has checked these arguments */
		question.from_ns = strtoull(http_request_argument(q, "from"), NULL, 10);
		question.to_ns = strtoull(http_request_argument(q, "to"), NULL, 10);
		return view_render_answer(write_waiters, &question, ret, e);
	}
	if (!v || (request && strcmp(view, "why")))
		return -EINVAL;
	question.r.view = v->name;
	question.r.limit = v->limit;
	question.r.by = v->by;
	question.r.stacks_apart = v->stacks_apart;
	return view_render_answer(write_view, &question, ret, e);
}

/* ---- a search ---- */

/* Columns that are searched for a word. */
static const char *const names[] = { "pid", "tid", "comm", "file", "object", "holder",
				     "cmdline", NULL };

/* A sink that passes to next the rows that contain the word, at most FOUND_MAX. */
struct finder {
	struct analysis *a;
	uint64_t from_ns, to_ns, start_ns;	/* start_ns: start of the trace */
	const char *word;
	const struct row_sink *next;
	unsigned int col_cnt, found;
	bool is_name[COLUMNS_MAX];
};

static int finder_begin(void *ctx, unsigned int col_cnt, const char *const *col_names)
{
	struct finder *f = ctx;

	f->col_cnt = col_cnt < COLUMNS_MAX ? col_cnt : COLUMNS_MAX;
	f->found = 0;
	for (unsigned int i = 0; i < f->col_cnt; i++)
		f->is_name[i] = render_is_one_of(col_names[i], names);
	return f->next->begin(f->next->ctx, col_cnt, col_names);
}

static bool has_word(const struct value *v, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; v->type == VALUE_TEXT && i + n <= v->text_bytes; i++)
		if (!strncasecmp(v->text + i, word, n))
			return true;
	return v->type == VALUE_INT && isdigit((unsigned char)*word) &&
	       strtoll(word, NULL, 10) == v->i;
}

static int finder_row(void *ctx, const struct value *values)
{
	struct finder *f = ctx;
	bool is_found = false;

	for (unsigned int i = 0; i < f->col_cnt && !is_found; i++)
		is_found = f->is_name[i] && has_word(&values[i], f->word);
	if (!is_found || f->found++ >= FOUND_MAX)
		return 0;
	return f->next->row(f->next->ctx, values);
}

static int finder_end(void *ctx)
{
	struct finder *f = ctx;

	return f->next->end(f->next->ctx);
}

static int write_found(void *ctx, const struct row_sink *out, struct err *e)
{
	static const struct {
		const char *title, *view;
		unsigned int by;
	} parts[] = {
		{ "Threads", "states", 1u << REPORT_BY_THREAD },
		{ "Files", "io", 1u << REPORT_BY_FILE | 1u << REPORT_BY_PROCESS },
		{ "Locks", "locks", 0 },
	};
	struct finder *f = ctx;
	const struct row_sink sink = { f, finder_begin, finder_row, finder_end };
	char commands[200];
	int c;

	f->next = out;
	snprintf(commands, sizeof(commands),
		 "SELECT cmdline, comm, pid FROM processes WHERE cmdline <> '' "
		 "AND start_ns < %" PRIu64 " AND (end_ns IS NULL OR end_ns > %" PRIu64 ") "
		 "ORDER BY upid",
		 f->to_ns - f->start_ns, f->from_ns - f->start_ns);
	c = out->section(out->ctx, "Commands");
	c = c ?: analysis_sql(f->a, commands, &sink, e);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !c; i++) {
		const struct report_request r = { .view = parts[i].view, .by = parts[i].by,
						  .from_ns = f->from_ns, .to_ns = f->to_ns };

		c = out->section(out->ctx, parts[i].title);
		c = c ?: analysis_report(f->a, &r, &sink, e);
	}
	return c;
}

int view_report_search(struct analysis *a, const struct http_request *q, uint64_t from_ns,
		       uint64_t to_ns, struct http_answer *ret, struct err *e)
{
	struct finder f = { .a = a, .from_ns = from_ns, .to_ns = to_ns,
			    .word = http_request_argument(q, "word") };

	if (!f.word || !*f.word)
		return -EINVAL;
	/* "from" is relative to the trace's start; cmd_view has checked it */
	f.start_ns = from_ns - strtoull(http_request_argument(q, "from"), NULL, 10);
	return view_render_answer(write_found, &f, ret, e);
}
