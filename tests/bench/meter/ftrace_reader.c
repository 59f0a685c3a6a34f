/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ftrace_reader PIPE_RAW OUT: moves one CPU's trace pages to a file until SIGTERM, and then what
 * is left in the buffer.
 *
 * splice() takes whole pages without copying and sleeps until the buffer is half full, as the
 * tracer's own front end does. read(), and so cat, is woken by every single event: recording
 * context switches that way records mostly the reader.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 256 * 1024 };

static volatile sig_atomic_t ended;

/* Again each second: a signal between the look at ended and the wait must not be the last one. */
static void on_end(int sig)
{
	ended = sig;
	alarm(1);
}

static void die(const char *what)
{
	fprintf(stderr, "ftrace_reader: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Bytes moved; 0: nothing there (or the end was asked for while waiting). */
static ssize_t move(int in, int through[2], int out, unsigned int flags)
{
	ssize_t got = splice(in, NULL, through[1], NULL, CHUNK, SPLICE_F_MOVE | flags), left, n;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < 0)
		die("splice from the trace");
	for (left = got; left > 0; left -= n) {
		n = splice(through[0], NULL, out, NULL, (size_t)left, SPLICE_F_MOVE);
		if (n < 0 && errno == EINTR) {
			n = 0;
			continue;
		}
		if (n <= 0)
			die("splice to the file");
	}
	return got;
}

int main(int argc, char **argv)
{
	struct sigaction end = { .sa_handler = on_end }; /* no SA_RESTART: it ends the wait */
	int in, out, through[2];
	char page[65536];
	ssize_t n;

	if (argc != 3) {
		fprintf(stderr, "usage: ftrace_reader PIPE_RAW OUT\n");
		return 2;
	}
	in = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (in < 0)
		die(argv[1]);
	out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0 || pipe2(through, O_CLOEXEC) != 0)
		die(argv[2]);
	fcntl(through[1], F_SETPIPE_SZ, CHUNK);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGALRM, &end, NULL);
	while (!ended)
		move(in, through, out, 0);
	while (move(in, through, out, SPLICE_F_NONBLOCK) > 0)
		;
	/* The last page is not full: only read() returns it. */
	fcntl(in, F_SETFL, O_RDONLY | O_NONBLOCK);
	while ((n = read(in, page, sizeof(page))) > 0) {
		if (write(out, page, (size_t)n) != n)
			die(argv[2]);
	}
	if (n < 0 && errno != EAGAIN)
		die(argv[1]);
	return 0;
}
