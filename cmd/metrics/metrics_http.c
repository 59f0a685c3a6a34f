/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * metrics_http: a daemon of libmicrohttpd that runs in the caller's thread. It makes an answer when
 * one is asked for.
 */
#include "cmd/metrics/metrics_http.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifdef EBPFREC_HTTP
#include <microhttpd.h>

#define CONNECTIONS_MAX 256
#define CONNECTION_BYTES 16384 /* for the headers of a request */
#define IDLE_S 30
#define OPENMETRICS "application/openmetrics-text"

struct metrics_http {
	struct MHD_Daemon *daemon;
	metrics_http_text text;
	void *ctx;
	char url[128];
};

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, const char *type,
			      char *text, size_t bytes, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(bytes, text, mode);
	enum MHD_Result ret = MHD_NO;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	ret = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ret;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned int status, const char *text)
{
	return answer(c, status, "text/plain; charset=utf-8", (char *)text, strlen(text),
		      MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **state)
{
	const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
	bool openmetrics = accept && strstr(accept, OPENMETRICS);
	struct metrics_http *h = ctx;
	size_t bytes;
	char *text;

	/* the first call is for the headers, others for a body, and the last for the answer */
	if (!*state || *upload_bytes) {
		*state = h;
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (!strcmp(url, "/"))
		return say(c, MHD_HTTP_OK, "ebpfrec: the metrics are at /metrics\n");
	if (strcmp(url, "/metrics"))
		return say(c, MHD_HTTP_NOT_FOUND, "the metrics are at /metrics\n");
	text = h->text(h->ctx, openmetrics, &bytes);
	if (!text)
		return say(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "the trace cannot be counted\n");
	return answer(c, MHD_HTTP_OK,
		      openmetrics ? OPENMETRICS "; version=1.0.0; charset=utf-8"
				  : "text/plain; version=0.0.4; charset=utf-8",
		      text, bytes, MHD_RESPMEM_MUST_FREE);
}

/* Splits "host:port"; a port alone has no host. */
static int resolve(const char *address, struct addrinfo **ret, struct err *e)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				  .ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(address, ':'), *port = colon ? colon + 1 : address;
	char host[64] = "127.0.0.1";
	size_t n = colon ? (size_t)(colon - address) : 0;

	if (n >= sizeof(host))
		n = sizeof(host) - 1;
	if (n)
		snprintf(host, sizeof(host), "%.*s", (int)n, address);
	if (host[0] == '[' && host[n - 1] == ']') {
		memmove(host, host + 1, n);
		host[n - 2] = '\0';
	}
	if (!*port || getaddrinfo(host, port, &hints, ret))
		return err_set(e, -EINVAL, "'%s' is no address and port such as 127.0.0.1:9435",
			       address);
	return 0;
}

int metrics_http_start(struct metrics_http **ret, const char *address, metrics_http_text text,
		       void *ctx, struct err *e)
{
	struct metrics_http *h = calloc(1, sizeof(*h));
	const union MHD_DaemonInfo *info;
	struct addrinfo *at = NULL;
	char host[64] = "";
	int r;

	if (!h)
		return -ENOMEM;
	r = resolve(address, &at, e);
	if (r < 0 || !at) {
		free(h);
		return r;
	}
	h->text = text;
	h->ctx = ctx;
	errno = 0;
	h->daemon = MHD_start_daemon(
		MHD_USE_AUTO | (at->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0), 0, NULL, NULL,
		on_request, h, MHD_OPTION_SOCK_ADDR, at->ai_addr, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
	getnameinfo(at->ai_addr, at->ai_addrlen, host, sizeof(host), NULL, 0, NI_NUMERICHOST);
	r = at->ai_family;
	freeaddrinfo(at);
	if (!h->daemon) {
		free(h);
		return err_set(e, errno ? -errno : -EIO, "cannot listen on %s: %s", address,
			       errno ? strerror(errno) : "libmicrohttpd refuses");
	}
	info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);
	snprintf(h->url, sizeof(h->url),
		 r == AF_INET6 ? "http://[%s]:%u/metrics" : "http://%s:%u/metrics", host,
		 info ? info->port : 0);
	*ret = h;
	return 0;
}

void metrics_http_run(struct metrics_http *h, int wait_ms)
{
	MHD_run_wait(h->daemon, wait_ms);
}

void metrics_http_stop(struct metrics_http *h)
{
	if (h)
		MHD_stop_daemon(h->daemon);
	free(h);
}

const char *metrics_http_url(const struct metrics_http *h)
{
	return h->url;
}

#else

int metrics_http_start(struct metrics_http **ret, const char *address, metrics_http_text text,
		       void *ctx, struct err *e)
{
	return err_set(e, -ENOSYS,
		       "this program was built without libmicrohttpd (Debian: libmicrohttpd-dev); "
		       "--textfile and --once work");
}

void metrics_http_run(struct metrics_http *h, int wait_ms)
{
}

void metrics_http_stop(struct metrics_http *h)
{
}

const char *metrics_http_url(const struct metrics_http *h)
{
	return "";
}

#endif
