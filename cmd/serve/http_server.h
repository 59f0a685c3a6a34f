/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * http_server: answers GET requests for `ebpfrec metrics --listen` and `ebpfrec view`. It runs in
 * the caller's thread and answers one request at a time; another thread may make an answer later.
 * Connections, memory for headers and the duration of a request are limited.
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
	const char *accept;	/* the Accept header; "": missing */
	void *connection;
};
/* Returns an argument of the URL, decoded; NULL: no such argument. */
const char *http_request_argument(const struct http_request *q, const char *name);
/* Returns the descriptor of the request's connection. */
int http_request_fd(const struct http_request *q);
/*
 * Returns whether the client has closed its side of the connection, as a browser does when it gives
 * up a request. May be called in a signal handler.
 */
bool http_connection_is_gone(int fd);

struct http_answer {
	unsigned int status;	/* initially 200 */
	const char *type;	/* Content-Type; NULL: plain text */
	const char *policy;	/* Content-Security-Policy; NULL: none */
	const char *save_as;	/* file name under which a browser saves the answer; NULL: none */
	char *text;		/* malloc'ed; the server frees it */
	const char *fixed;	/* replaces text: a string that is never freed */
	int fd;			/* replaces text, if is_file; the server closes it */
	bool is_file;
	size_t bytes;		/* length of text, or of the file */
	bool is_deflated;	/* the text is compressed (zlib's format) */
	/*
	 * NULL: the answer is complete. Otherwise, another thread makes the answer while the server
	 * answers other requests. The server calls later() several times per second, and before it
	 * stops, until later() returns true with the answer in *ret. The other thread must end its
	 * work when the connection is gone.
	 */
	bool (*later)(void *work, struct http_answer *ret);
	void *work;
};
typedef void (*http_answer_fn)(void *ctx, const struct http_request *q, struct http_answer *ret);

/*
 * Starts a server. address: "127.0.0.1:19435", "[::1]:19435", or a port alone, on 127.0.0.1; port
 * 0: any free port.
 */
int http_server_start(struct http_server **ret, const char *address, http_answer_fn answer,
		      void *ctx, struct err *e);
void http_server_stop(struct http_server *h);
/* Returns the server's URL: "http://127.0.0.1:19435". */
const char *http_server_url(const struct http_server *h);
/* Waits up to wait_ms for requests, and answers all requests that have arrived. */
void http_server_run(struct http_server *h, int wait_ms);
