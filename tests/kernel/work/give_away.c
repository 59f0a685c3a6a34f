/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * give_away COUNT BYTES: one process ("giver") sends COUNT datagrams of BYTES over a Unix
 * socket, another ("taker") receives them. The kernel allocates each buffer for the giver and
 * frees it in the taker. A tool that charges frees to the running task shows a giver that leaks
 * and a taker below zero.
 */
#include <sys/socket.h>

#include "truth.h"

int main(int argc, char **argv)
{
	long cnt = truth_arg(argc, argv, 1, 5000);
	long bytes = truth_arg(argc, argv, 2, 1000);
	char *buffer = calloc(1, (size_t)bytes);
	pid_t giver, taker;
	int fds[2], status = 0;
	long i;

	if (!buffer || socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) != 0)
		truth_fail("socketpair");
	taker = fork();
	if (taker < 0)
		truth_fail("fork");
	if (taker == 0) {
		prctl(PR_SET_NAME, "taker");
		for (i = 0; i < cnt; i++) {
			if (recv(fds[1], buffer, (size_t)bytes, 0) != bytes)
				truth_fail("recv");
		}
		_exit(0);
	}
	giver = fork();
	if (giver < 0)
		truth_fail("fork");
	if (giver == 0) {
		prctl(PR_SET_NAME, "giver");
		for (i = 0; i < cnt; i++) {
			if (send(fds[0], buffer, (size_t)bytes, 0) != bytes)
				truth_fail("send");
		}
		_exit(0);
	}
	waitpid(giver, NULL, 0);
	waitpid(taker, &status, 0);
	printf("giver=%d\ntaker=%d\ncount=%ld\nbytes=%ld\n", (int)giver, (int)taker, cnt, bytes);
	return status != 0;
}
