/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * socket_names: the name of a socket that a thread sleeps on: its protocol and its ends.
 *
 *     socket records --[a name by inode number]--> names of what switches refer to
 *
 *     tcp 127.0.0.1:5432 > 127.0.0.1:40112    its own end, and the other
 *     tcp [::1]:80                            not connected: it listens
 *     unix /run/x.sock                        its path, or its peer's; abstract ones begin with @
 *
 * A unix socket has no name if neither end has a path, or if its record was lost.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "model/call.h"
#include "record/encode/block_state.h"

#define END_BYTES (INET6_ADDRSTRLEN + 10)
#define SOCKET_NAME_BYTES 256

static void put_end(char ret[END_BYTES], int family, const wire_u8 addr[16], unsigned int port)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(family, addr, text, sizeof(text));
	snprintf(ret, END_BYTES, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

static void put_inet(char *ret, size_t size, const struct wire_socket *r)
{
	const char *protocol = r->type == SOCK_STREAM ? "tcp" :
			       r->type == SOCK_DGRAM  ? "udp" :
							"ip";
	char local[END_BYTES], remote[END_BYTES];

	put_end(local, r->family, r->local, r->local_port);
	put_end(remote, r->family, r->remote, r->remote_port);
	if (r->remote_port)
		snprintf(ret, size, "%s %s > %s", protocol, local, remote);
	else
		snprintf(ret, size, "%s %s", protocol, local);
}

static void put_unix(char *ret, size_t size, const struct wire_socket *r)
{
	int len = r->path_len <= sizeof(r->path) ? (int)r->path_len : 0;
	bool is_abstract = len && !r->path[0];

	if (len)
		snprintf(ret, size, "unix %s%.*s", is_abstract ? "@" : "", len - is_abstract,
			 r->path + is_abstract);
	else
		*ret = 0;
}

static void put_name(char *ret, size_t size, const struct wire_socket *r)
{
	if (r->family == AF_INET || r->family == AF_INET6)
		put_inet(ret, size, r);
	else if (r->family == AF_UNIX)
		put_unix(ret, size, r);
	else if (r->family == AF_NETLINK)
		snprintf(ret, size, "netlink");
	else
		snprintf(ret, size, "family %u", r->family);
}

int socket_names_note(struct block_writer *w, const struct wire_socket *r)
{
	char name[SOCKET_NAME_BYTES];

	put_name(name, sizeof(name), r);
	return *name ? block_set_name(w, TRACE_NAME_SOCKET, r->ino, name) : 0;
}

int socket_names_use(struct block_writer *w, uint32_t call, uint64_t object)
{
	uint64_t *last = &w->last_sockets[object % BLOCK_LAST_SOCKETS];
	enum call_object what = call_object_of(call);
	bool is_file = what == CALL_OBJECT_FILE || what == CALL_OBJECT_INODE_LOCK;

	if ((what != CALL_OBJECT_SOCKET && !is_file) || *last == object)
		return 0;
	*last = object;
	return block_use_name(w, is_file ? TRACE_NAME_WAITED : TRACE_NAME_SOCKET, object);
}
