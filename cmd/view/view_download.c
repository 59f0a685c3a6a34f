/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "cmd/view/view_download.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "cmd/render/say.h"
#include "store/bundle.h"

#define FILES_MAX  256	/* of a directory */
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
	int client_fd;		/* of the waiting client */
	pthread_t thread;
	atomic_bool is_done;
	int ret;		/* when it is done, as the two below */
	struct http_answer answer;
	struct err e;
};
static unsigned int download_cnt;	/* that are being made */

static const struct download_kind *find_kind(const char *name)
{
	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

/* ---- the command ---- */

/* In the child: its stderr goes into a file. The child is killed if its client disconnects. */
static void run_command(char *const *argv, const char *says)
{
	const struct rlimit most = { VIEW_DOWNLOAD_BYTES, VIEW_DOWNLOAD_BYTES };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int out = open(says, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (null >= 0 && out >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 &&
	    dup2(out, 2) == 2 && !setrlimit(RLIMIT_FSIZE, &most)) {
		/* the viewer's connections are not the command's */
		if (!syscall(SYS_close_range, 3, ~0U, 0))
			execv("/proc/self/exe", argv);
	}
	_exit(127);
}

/* Waits for the child. Returns its status, or -errno after its end, if that had to be made. */
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

/* The last line of the command's stderr, without "ebpfrec: ". */
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

/* Makes output of the window. */
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

/* ---- its output ---- */

static void drop_members(struct bundle_member *m, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		free((char *)m[i].name);
		free((char *)m[i].path);
	}
	free(m);
}

/* The files of a directory. */
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

/* Makes a zip file of a directory, with its files in a folder. */
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

/* The file stays as long as the answer does. */
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

/* ---- beside the thread that answers ---- */

static void *run_download(void *arg)
{
	struct download *d = arg;

	d->ret = make_file(d);
	d->is_done = true;
	return NULL;
}

/* The answer's later(). */
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
	/* signals are for the thread that answers */
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
