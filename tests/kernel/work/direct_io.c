/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * direct_io FILE read|write|dsync COUNT BYTES [THREADS [SYNC]]: O_DIRECT transfers. Each of
 * THREADS threads does one after the other, at its own offset. With SYNC 1 the program ends with
 * one fdatasync(). dsync: each write is on the medium before the next (O_DSYNC: the kernel sends
 * FUA or a flush).
 */
#include "truth.h"

struct mover {
	int fd, is_write;
	long first, cnt, bytes;
};

static void *mover_run(void *arg)
{
	struct mover *m = arg;
	void *buffer;
	long i;

	if (posix_memalign(&buffer, 4096, (size_t)m->bytes) != 0)
		truth_fail("posix_memalign");
	memset(buffer, 0x5a, (size_t)m->bytes);
	for (i = 0; i < m->cnt; i++) {
		off_t at = (off_t)(m->first + i) * m->bytes;
		ssize_t done = m->is_write ? pwrite(m->fd, buffer, (size_t)m->bytes, at) :
					     pread(m->fd, buffer, (size_t)m->bytes, at);

		if (done != m->bytes)
			truth_fail(m->is_write ? "pwrite" : "pread");
	}
	free(buffer);
	return NULL;
}

int main(int argc, char **argv)
{
	int is_dsync = argc > 2 && strcmp(argv[2], "dsync") == 0;
	int is_write = is_dsync || (argc > 2 && strcmp(argv[2], "write") == 0);
	long cnt = truth_arg(argc, argv, 3, 1000);
	long bytes = truth_arg(argc, argv, 4, 65536);
	long thread_cnt = truth_arg(argc, argv, 5, 1);
	struct mover movers[16];
	pthread_t threads[16];
	uint64_t start_ns;
	long i;
	int fd;

	if (argc < 2 || thread_cnt < 1 || thread_cnt > 16)
		return 2;
	fd = open(argv[1],
		  (is_write ? O_RDWR | O_CREAT : O_RDONLY) | O_DIRECT | (is_dsync ? O_DSYNC : 0),
		  0600);
	if (fd < 0)
		truth_fail(argv[1]);
	start_ns = truth_now_ns();
	for (i = 0; i < thread_cnt; i++) {
		movers[i] = (struct mover){ .fd = fd, .is_write = is_write,
					    .first = i * (cnt / thread_cnt),
					    .cnt = cnt / thread_cnt, .bytes = bytes };
		if (pthread_create(&threads[i], NULL, mover_run, &movers[i]) != 0)
			truth_fail("pthread_create");
	}
	for (i = 0; i < thread_cnt; i++)
		pthread_join(threads[i], NULL);
	if (truth_arg(argc, argv, 6, 0) && fdatasync(fd) != 0)
		truth_fail("fdatasync");
	printf("pid=%d\nios=%ld\nbytes=%ld\nstart=%llu\nend=%llu\n", (int)getpid(),
	       cnt / thread_cnt * thread_cnt, cnt / thread_cnt * thread_cnt * bytes,
	       (unsigned long long)start_ns, (unsigned long long)truth_now_ns());
	close(fd);
	return 0;
}
