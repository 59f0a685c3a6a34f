/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * helper: a process of this program that keeps a capability which the recorder drops, and serves
 * requests over a socket. It ends when the recorder's end of the socket closes, for any reason.
 * Threads: one.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* All zeros: no process. */
struct helper {
	pid_t pid;
	int fd;		/* the recorder's end of the socket */
};

/*
 * Starts a process called name that keeps the capabilities caps (PRIVILEGE_BIT), closes every
 * descriptor except its end of the socket, and runs serve(fd) until serve returns. socket_type:
 * SOCK_STREAM or SOCK_SEQPACKET. 0 or -errno.
 */
int helper_start(struct helper *ret, const char *name, uint64_t caps, int socket_type,
		 void (*serve)(int fd));
/* Closes the socket and waits for the process, if there is one. */
void helper_end(const struct helper *h);
