/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * http_server: runs a daemon of libmicrohttpd in the caller's thread, and makes each answer when it
 * is requested.
 *
 * libmicrohttpd limits the connections per client and in total, and closes idle connections.
 */
#include "cmd/serve/http_server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef EBPFREC_HTTP
#include <microhttpd.h>
#include <zlib.h>

#define CONNECTIONS_MAX 256
#define CLIENT_MAX 128 /* connections per client address */
#define CONNECTION_BYTES 16384 /* memory for the headers of a request */
#define IDLE_S 40
#define LATER_MS 20 /* interval of checking answers that another thread makes */

/*
 * A request whose answer another thread makes. Its connection is suspended until the answer is
 * ready.
 */
struct late {
	struct late *next;
	struct MHD_Connection *conn;
	bool is_ready;
	struct http_answer answer;
};

struct http_server {
	struct MHD_Daemon *daemon;
	http_answer_fn answer;
	void *ctx;
	bool is_loopback;
	char url[128];
	struct late *late;
};

static int fd_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void drop_answer(struct http_answer *a)
{
	free(a->text);
	if (a->is_file)
		close(a->fd);
}

/* Frees a request's struct late. *state: the server, or the struct late (set by on_request). */
static void on_completed(void *ctx, struct MHD_Connection *conn, void **state,
			 enum MHD_RequestTerminationCode why)
{
	struct http_server *h = ctx;
	struct late **at = &h->late, *late = *state;

	if (!late || *state == h)
		return;
	while (*at != late)
		at = &(*at)->next;
	*at = late->next;
	drop_answer(&late->answer);
	free(late);
}

/* ---- answers ---- */

/*
 * Returns whether the Host header is allowed. A web page could make its own host name resolve to
 * 127.0.0.1, and so read data that is only for this machine. Therefore, a server on loopback
 * accepts only loopback names. A client that sends no host is not a browser.
 */
static bool is_host_good(const struct http_server *h, const char *host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
	const char *own = h->url + strlen("http://");
	size_t own_len = strcspn(own, "]:/"), len;

	if (!h->is_loopback || !host)
		return true;
	len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (len == strlen(names[i]) && !strncasecmp(host, names[i], len))
			return true;
	return len == own_len && !strncmp(host, own, len);
}

/* Returns whether the client accepts gzip: "gzip", but not "gzip;q=0". */
static bool takes_gzip(const char *encodings)
{
	const char *at = encodings ? strstr(encodings, "gzip") : NULL;

	if (!at)
		return false;
	at += strlen("gzip");
	at += strspn(at, " ");
	if (*at != ';')
		return true;
	at += strcspn(at, "=,");
	return *at != '=' || strtod(at + 1, NULL) > 0;
}

/* Replaces *text by its gzip format. False: out of memory, and *text is unchanged. */
static bool pack(char **text, size_t *bytes)
{
	z_stream z = { 0 };
	size_t room;
	char *packed;
	int r;

	/* window bits + 16: zlib writes the gzip format */
	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	room = deflateBound(&z, *bytes);
	packed = malloc(room);
	z.next_in = (Bytef *)*text;
	z.avail_in = (uInt)*bytes;
	z.next_out = (Bytef *)packed;
	z.avail_out = (uInt)room;
	r = packed ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	room = z.total_out;
	deflateEnd(&z);
	if (r != Z_STREAM_END) {
		free(packed);
		return false;
	}
	free(*text);
	*text = packed;
	*bytes = room;
	return true;
}

static void add_headers(struct MHD_Response *r, const struct http_answer *a, const char *encoding)
{
	char save_as[160];

	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
				a->type ?: "text/plain; charset=utf-8");
	/* answers change, and caches must not store names from a trace */
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	if (encoding)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, encoding);
	if (a->policy)
		MHD_add_response_header(r, "Content-Security-Policy", a->policy);
	if (a->save_as) {
		snprintf(save_as, sizeof(save_as), "attachment; filename=\"%s\"", a->save_as);
		MHD_add_response_header(r, "Content-Disposition", save_as);
	}
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
}

static struct MHD_Response *response_of(const struct http_answer *a)
{
	if (a->is_file)
		return MHD_create_response_from_fd64(a->bytes, a->fd);
	if (a->text)
		return MHD_create_response_from_buffer(a->bytes, a->text, MHD_RESPMEM_MUST_FREE);
	return MHD_create_response_from_buffer(strlen(a->fixed), (void *)a->fixed,
					       MHD_RESPMEM_PERSISTENT);
}

/* Sends the answer, and frees its text or closes its file. */
static enum MHD_Result give(struct MHD_Connection *c, struct http_answer *a)
{
	const char *encodings =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);
	bool is_packed = a->text && !a->is_deflated && takes_gzip(encodings) &&
			 pack(&a->text, &a->bytes);
	struct MHD_Response *r = response_of(a);
	enum MHD_Result ret;

	if (!r) {
		drop_answer(a);
		return MHD_NO;
	}
	add_headers(r, a, a->is_deflated ? "deflate" : is_packed ? "gzip" : NULL);
	ret = MHD_queue_response(c, a->status, r);
	MHD_destroy_response(r);
	return ret;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned int status, const char *text)
{
	return give(c, &(struct http_answer){ .status = status, .fixed = text });
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **state)
{
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	const struct http_request q = {
		.path = url, .connection = c,
		.accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND,
						      MHD_HTTP_HEADER_ACCEPT) ?: "",
	};
	struct http_answer a = { .status = MHD_HTTP_OK };
	struct http_server *h = ctx;
	struct late *late = *state;

	/*
	 * libmicrohttpd calls this function after the headers, for each part of a body, and finally
	 * for the answer
	 */
	if (!*state || *upload_bytes) {
		*state = h;
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (*state != h) {
		a = late->answer;
		late->answer = (struct http_answer){ 0 };
		return give(c, &a);
	}
	if (!is_host_good(h, host))
		return say(c, MHD_HTTP_FORBIDDEN, "only localhost is served here\n");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	late = malloc(sizeof(*late));
	if (!late)
		return MHD_NO;
	h->answer(h->ctx, &q, &a);
	if (!a.later) {
		free(late);
		return give(c, &a);
	}
	*late = (struct late){ .next = h->late, .conn = c, .answer = a };
	h->late = *state = late;
	MHD_suspend_connection(c);
	return MHD_YES;
}

/* Resumes connections whose answer is ready. Returns whether other connections still wait. */
static bool resume_answered(struct http_server *h)
{
	bool are_waiting = false;

	for (struct late *late = h->late; late; late = late->next) {
		struct http_answer a = { .status = MHD_HTTP_OK };

		if (late->is_ready)
			continue;
		if (!late->answer.later(late->answer.work, &a)) {
			are_waiting = true;
			continue;
		}
		late->answer = a;
		late->is_ready = true;
		MHD_resume_connection(late->conn);
	}
	return are_waiting;
}

const char *http_request_argument(const struct http_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);
}

int http_request_fd(const struct http_request *q)
{
	return fd_of(q->connection);
}

/* ---- listening ---- */

/* Resolves "host:port", or a port alone. */
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
		return err_set(e, -EINVAL, "'%s' is no address and port such as 127.0.0.1:19435",
			       address);
	return 0;
}

static bool is_loopback(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(
			&((const struct sockaddr_in6 *)(const void *)at)->sin6_addr);
	return ntohl(((const struct sockaddr_in *)(const void *)at)->sin_addr.s_addr) >> 24 == 127;
}

int http_server_start(struct http_server **ret, const char *address, http_answer_fn answer,
		      void *ctx, struct err *e)
{
	struct http_server *h = calloc(1, sizeof(*h));
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
	h->answer = answer;
	h->ctx = ctx;
	h->is_loopback = is_loopback(at->ai_addr);
	errno = 0;
	h->daemon = MHD_start_daemon(
		MHD_USE_AUTO | MHD_ALLOW_SUSPEND_RESUME |
			(at->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0), 0, NULL, NULL,
		on_request, h, MHD_OPTION_SOCK_ADDR, at->ai_addr, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned int)CLIENT_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_S,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
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
		 r == AF_INET6 ? "http://[%s]:%u" : "http://%s:%u", host,
		 info ? info->port : 0);
	*ret = h;
	return 0;
}

void http_server_run(struct http_server *h, int wait_ms)
{
	if (resume_answered(h) && wait_ms > LATER_MS)
		wait_ms = LATER_MS;
	MHD_run_wait(h->daemon, wait_ms);
}

void http_server_stop(struct http_server *h)
{
	if (!h)
		return;
	for (struct late *late = h->late; late; late = late->next)
		shutdown(fd_of(late->conn), SHUT_RDWR);
	while (resume_answered(h))
		usleep(1000 * LATER_MS);
	MHD_run_wait(h->daemon, 0);
	MHD_stop_daemon(h->daemon);
	free(h);
}

const char *http_server_url(const struct http_server *h)
{
	return h->url;
}

#else

int http_server_start(struct http_server **ret, const char *address, http_answer_fn answer,
		      void *ctx, struct err *e)
{
	return err_set(e, -ENOSYS,
		       "this program was built without libmicrohttpd (Debian: libmicrohttpd-dev)");
}

void http_server_run(struct http_server *h, int wait_ms)
{
}

void http_server_stop(struct http_server *h)
{
}

const char *http_server_url(const struct http_server *h)
{
	return "";
}

const char *http_request_argument(const struct http_request *q, const char *name)
{
	return NULL;
}

int http_request_fd(const struct http_request *q)
{
	return -1;
}

#endif

bool http_connection_is_gone(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}
