/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* viewer: its address is read from a pipe; its stderr goes to a file in memory. */
#include "cmd/mcp/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define URL_BYTES 256

static struct viewer {
	pid_t pid;
	char *path;
	char url[URL_BYTES];
} viewers[VIEWERS_MAX]; /* the oldest first */
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

/* In the viewer's process. */
static void run(pid_t server, int out_fd, int notes_fd, int (*serve)(void *ctx), void *ctx)
{
	int nothing = open("/dev/null", O_RDONLY);

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != server || nothing < 0 ||
	    dup2(nothing, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(notes_fd, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);
	_exit(serve(ctx));
}

/* Reads a line of at most URL_BYTES. 0: there is none. */
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

/* Sets the error to the words of the viewer before it failed. */
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
		run(server, out[1], notes_fd, serve, ctx);
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
