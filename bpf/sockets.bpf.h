/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sockets.bpf.h: sends the two addresses of a socket when a thread first sleeps on it.
 *
 * One lookup in a small table shows whether they were sent before. The table's word depends on the
 * inode and the time: a socket that gets another peer is sent again after a while.
 */
#pragma once

#include "emit.bpf.h"
#include <bpf/bpf_core_read.h>

#define SOCKET_SLOTS 4096
/* In jiffies. A socket is sent again after 4 s (HZ 1000) to 41 s (HZ 100). */
#define SOCKET_AGAIN_SHIFT 12

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOCKET_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} socket_seen SEC(".maps");

static __always_inline void socket_read_inet(struct wire_socket *r, struct sock *sk)
{
	r->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	r->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (r->family == AF_INET) {
		BPF_CORE_READ_INTO((__u32 *)r->local, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)r->remote, sk, __sk_common.skc_daddr);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO((struct in6_addr *)r->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)r->remote, sk, __sk_common.skc_v6_daddr);
	}
}

static __always_inline void socket_read_unix(struct wire_socket *r, struct unix_sock *sk)
{
	struct unix_address *a;
	__u32 len;

	if (!bpf_core_type_exists(struct unix_sock))
		return;
	a = BPF_CORE_READ(sk, addr);
	if (!a) {
		sk = (void *)BPF_CORE_READ(sk, peer);
		a = BPF_CORE_READ(sk, addr);
	}
	if (!a)
		return;
	len = BPF_CORE_READ(a, len) - 2;	/* bytes without the family */
	if (len > WIRE_SOCKET_PATH)
		return;
	if (!bpf_probe_read_kernel(r->path, len, a->name[0].sun_path))
		r->path_len = len;
}

/* of: the switch that names the socket's inode, after emit_open(). */
static __always_inline void socket_send(const struct emit *of, struct file *file, __u64 ino,
					__u32 tid)
{
	__u32 slot = ino & (SOCKET_SLOTS - 1);
	__u64 word = ino << 24 ^ bpf_jiffies64() >> SOCKET_AGAIN_SHIFT;
	__u64 *seen = bpf_map_lookup_elem(&socket_seen, &slot);
	struct emit e = *of;
	struct wire_socket *r;
	struct socket *socket;
	struct sock *sk;

	if (!seen || *(volatile __u64 *)seen == word)
		return;
	e.hook = WIRE_SOCKET;
	r = emit_reserve(&e, sizeof(*r), tid, 0);
	if (!r)
		return;
	__builtin_memset(&r->ino, 0, sizeof(*r) - offsetof(struct wire_socket, ino));
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	r->ino = ino;
	r->type = BPF_CORE_READ(socket, type);
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (r->family == AF_UNIX)
		socket_read_unix(r, (void *)sk);
	else if (r->family == AF_INET || r->family == AF_INET6)
		socket_read_inet(r, sk);
	emit_submit(&e, r);
	*(volatile __u64 *)seen = word;
}
