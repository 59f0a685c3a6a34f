/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * answer: reads stdout and stderr of the process through two pipes, until both end, or until a
 * limit of time or size is reached.
 */
#include "cmd/mcp/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"

struct stream {
	int fd;
	char *text;
	size_t n, cap;
};

/* Runs in the answering process. */
static void run(int out_fd, int notes_fd, int (*one)(void *ctx), void *ctx)
{
	int nothing = open("/dev/null", O_RDONLY), status;

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(notes_fd, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);
	status = one(ctx);
	fflush(stdout);
	_exit(status);
}

/* Reads from a pipe. 1: there may be more data; 0: the pipe has ended; -ENOMEM; -EFBIG. */
static int take(struct stream *s)
{
	ssize_t n;
	char *p;

	if (s->n + 4096 > s->cap) {
		p = realloc(s->text, s->cap * 2 + 8192);
		if (!p)
			return -ENOMEM;
		s->text = p;
		s->cap = s->cap * 2 + 8192;
	}
	n = read(s->fd, s->text + s->n, s->cap - s->n - 1);
	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	s->n += (size_t)n;
	s->text[s->n] = '\0';
	return s->n > ANSWER_BYTES_MAX ? -EFBIG : n > 0;
}

static int read_all(struct stream s[2], const struct answer_watch *watch)
{
	uint64_t start_ns = clock_mono_ns(), end_ns = start_ns + ANSWER_SECONDS * UNITS_NS_PER_S;
	unsigned int ticks = 0, seconds;
	int r = 1;

	while (s[0].fd >= 0 || s[1].fd >= 0) {
		struct pollfd p[3] = { { s[0].fd, POLLIN, 0 }, { s[1].fd, POLLIN, 0 },
				       { watch->fd, POLLIN, 0 } };
		uint64_t now_ns = clock_mono_ns();

		if (now_ns >= end_ns)
			return -ETIME;
		seconds = (unsigned int)((now_ns - start_ns) / UNITS_NS_PER_S);
		if (seconds > ticks)
			watch->tick(watch->ctx, ticks = seconds);
		if (poll(p, 3, clock_poll_ms(now_ns, start_ns + (ticks + 1) * UNITS_NS_PER_S,
					     1000)) < 0 && errno != EINTR)
			return -errno;
		if (p[2].revents && !watch->input(watch->ctx))
			return -ECANCELED;
		for (int i = 0; i < 2; i++) {
			r = p[i].revents ? take(&s[i]) : 1;
			if (r < 0)
				return r;
			if (!r) {
				close(s[i].fd);
				s[i].fd = -1;
			}
		}
	}
	return 0;
}

int answer_make(struct answer_text *ret, int (*one)(void *ctx), void *ctx,
		const struct answer_watch *watch)
{
	struct stream s[2] = { { .fd = -1 }, { .fd = -1 } };
	int out[2], notes[2], r, status = 0;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	if (pipe2(notes, O_CLOEXEC)) {
		r = -errno;
		close(out[0]);
		close(out[1]);
		return r;
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		run(out[1], notes[1], one, ctx);
	r = pid < 0 ? -errno : 0;
	close(out[1]);
	close(notes[1]);
	s[0].fd = out[0];
	s[1].fd = notes[0];
	s[0].text = calloc(1, 1);
	s[1].text = calloc(1, 1);
	if (!r)
		r = s[0].text && s[1].text ? read_all(s, watch) : -ENOMEM;
	if (pid > 0 && r)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	for (int i = 0; i < 2; i++)
		if (s[i].fd >= 0)
			close(s[i].fd);
	if (r && r != -ETIME && r != -EFBIG && r != -ECANCELED) {
		free(s[0].text);
		free(s[1].text);
		return r;
	}
	*ret = (struct answer_text){ .out = s[0].text, .notes = s[1].text, .out_bytes = s[0].n,
				     .status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
				     .is_late = r == -ETIME || (WIFSIGNALED(status) &&
								WTERMSIG(status) == SIGALRM),
				     .is_long = r == -EFBIG, .is_cancelled = r == -ECANCELED };
	return 0;
}

/* viewer: prints its address to a pipe; its stderr is a file in memory. */

#define URL_BYTES 256

static struct viewer {
	pid_t pid;
	char *path;
	char url[URL_BYTES];
} viewers[VIEWERS_MAX]; /* in order of start */
static unsigned int viewer_cnt;

static void end_one(unsigned int i)
{
	kill(viewers[i].pid, SIGTERM);
	while (waitpid(viewers[i].pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(viewers[i].path);
	viewer_cnt--;
	memmove(&viewers[i], &viewers[i + 1], (viewer_cnt - i) * sizeof(*viewers));
}

void viewer_end_all(void)
{
	while (viewer_cnt)
		end_one(viewer_cnt - 1);
}

/* Runs in the viewer's process. */
static void run_viewer(pid_t server, int out_fd, int notes_fd, int (*serve)(void *ctx), void *ctx)
{
	int nothing = open("/dev/null", O_RDONLY);

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != server || nothing < 0 ||
	    dup2(nothing, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(notes_fd, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);
	_exit(serve(ctx));
}

/* Reads a line of less than URL_BYTES bytes. Returns its length; 0: no line. */
static size_t read_line(int fd, char url[URL_BYTES])
{
	struct pollfd p = { fd, POLLIN, 0 };
	size_t n = 0;
	ssize_t got;

	while (n + 1 < URL_BYTES && poll(&p, 1, VIEWER_SECONDS * 1000) > 0) {
		got = read(fd, url + n, 1);
		if (got <= 0)
			break;
		if (url[n] == '\n') {
			url[n] = '\0';
			return n;
		}
		n++;
	}
	return 0;
}

/* Sets the error to the first line of the failed viewer's stderr. */
static int say_why(int notes_fd, struct err *e)
{
	char text[400];
	ssize_t n = pread(notes_fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return err_set(e, -EIO, "%s", *text ? text : "the viewer did not start");
}

static int start(struct viewer *v, int (*serve)(void *ctx), void *ctx, struct err *e)
{
	int notes_fd = memfd_create("viewer", MFD_CLOEXEC), out[2], r = 0;
	pid_t server = getpid();

	if (notes_fd < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC)) {
		r = -errno;
		close(notes_fd);
		return r;
	}
	fflush(NULL);
	v->pid = fork();
	if (!v->pid)
		run_viewer(server, out[1], notes_fd, serve, ctx);
	r = v->pid < 0 ? -errno : 0;
	close(out[1]);
	if (!r && !read_line(out[0], v->url)) {
		kill(v->pid, SIGKILL);
		while (waitpid(v->pid, NULL, 0) < 0 && errno == EINTR)
			;
		r = say_why(notes_fd, e);
	}
	close(out[0]);
	close(notes_fd);
	return r;
}

int viewer_start(const char *path, int (*serve)(void *ctx), void *ctx, const char **ret_url,
		 struct err *e)
{
	struct viewer v = { .path = NULL };
	int r;

	for (unsigned int i = 0; i < viewer_cnt; i++) {
		if (strcmp(viewers[i].path, path))
			continue;
		if (!waitpid(viewers[i].pid, NULL, WNOHANG)) {
			*ret_url = viewers[i].url;
			return 0;
		}
		end_one(i);
		break;
	}
	r = start(&v, serve, ctx, e);
	v.path = r ? NULL : strdup(path);
	if (r)
		return r;
	if (viewer_cnt == VIEWERS_MAX)
		end_one(0);
	viewers[viewer_cnt++] = v;
	if (v.path) {
		*ret_url = viewers[viewer_cnt - 1].url;
		return 0;
	}
	end_one(viewer_cnt - 1);
	return -ENOMEM;
}
