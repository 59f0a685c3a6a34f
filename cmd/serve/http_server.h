/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * http_server: answers GET requests of `ebpfrec metrics --listen` and of `ebpfrec view`, one after
 * the other, in the caller's thread, except for those that another thread answers later.
 * Connections, memory for headers and the time of a request are bounded, for each client and in
 * total.
 *
 * Threads: one. Errors: -errno with text; -ENOSYS: the program was built without libmicrohttpd.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct http_server;

struct http_request {
	const char *path;	/* "/metrics" */
	const char *accept;	/* the client's Accept header; "": missing */
	void *connection;
};
/* An argument of the address, decoded; NULL: it has none of this name. */
const char *http_request_argument(const struct http_request *q, const char *name);
/* The descriptor of the request's connection. */
int http_request_fd(const struct http_request *q);
/*
 * The client sends nothing more: a browser has given up the request, and may have asked again. A
 * signal handler may call it.
 */
bool http_connection_is_gone(int fd);

struct http_answer {
	unsigned int status;	/* 200, unless it is set */
	const char *type;	/* of the text; NULL: plain text */
	const char *policy;	/* Content-Security-Policy; NULL: none */
	const char *save_as;	/* the name of a file that a browser is to save; NULL: none */
	char *text;		/* malloc'ed; the server frees it */
	const char *fixed;	/* in place of text: a string that stays */
	int fd;			/* in place of text, if is_file; the server closes it */
	bool is_file;
	size_t bytes;		/* of text, or of the file */
	bool is_deflated;	/* the text is compressed (zlib's format) */
	/*
	 * NULL: the answer is complete. Otherwise another thread makes it while the server answers
	 * other requests. The server calls this several times per second, until it returns true
	 * with the answer in *ret. The work gives up when the connection is gone. The server waits
	 * for it before it stops.
	 */
	bool (*later)(void *work, struct http_answer *ret);
	void *work;
};
typedef void (*http_answer_fn)(void *ctx, const struct http_request *q, struct http_answer *ret);

/* address: "127.0.0.1:19435", "[::1]:19435", or a port alone, on 127.0.0.1; port 0: any. */
int http_server_start(struct http_server **ret, const char *address, http_answer_fn answer,
		      void *ctx, struct err *e);
void http_server_stop(struct http_server *h);
/* "http://127.0.0.1:19435" */
const char *http_server_url(const struct http_server *h);
/* Answers all pending requests, and waits for more until then. */
void http_server_run(struct http_server *h, int wait_ms);
