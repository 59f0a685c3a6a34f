/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * shop FILE MS: a program with a fault to be found, recorded for `ebpfrec demo`. No test uses it.
 *
 * Four threads "order" serve an order every few milliseconds: they compute, and count it under
 * stock_lock. Four times a second the thread "audit" writes 40 blocks to FILE, each to the disk
 * before the next, while it holds stock_lock: all orders wait. A process "nightly" uses more CPU
 * time than any of them, without delaying any other.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ORDER_THREADS 4
#define AUDIT_BLOCKS 40
#define BLOCK_BYTES 4096

pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
static long stock = 1000000;
static volatile bool is_over;
static const char *audit_path;

static void nap_ms(long ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void compute_us(long us)
{
	struct timespec from, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
}

static void *serve_orders(void *nothing)
{
	prctl(PR_SET_NAME, "order");
	while (!is_over) {
		compute_us(200);
		pthread_mutex_lock(&stock_lock);
		stock--;
		compute_us(20);
		pthread_mutex_unlock(&stock_lock);
		nap_ms(8);
	}
	return NULL;
}

static void write_blocks(int fd)
{
	static char block[BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));

	for (int i = 0; i < AUDIT_BLOCKS; i++) {
		snprintf(block, sizeof(block), "stock %ld\n", stock);
		if (pwrite(fd, block, sizeof(block), (off_t)i * BLOCK_BYTES) < 0 || fdatasync(fd)) {
			perror(audit_path);
			exit(1);
		}
	}
}

static void *write_audit(void *nothing)
{
	int fd = open(audit_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	prctl(PR_SET_NAME, "audit");
	if (fd < 0) {
		perror(audit_path);
		exit(1);
	}
	while (!is_over) {
		nap_ms(250);
		pthread_mutex_lock(&stock_lock);
		write_blocks(fd);
		pthread_mutex_unlock(&stock_lock);
	}
	close(fd);
	return NULL;
}

static void run_nightly(void)
{
	prctl(PR_SET_NAME, "nightly");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		compute_us(30000);
		nap_ms(20);
	}
}

int main(int argc, char **argv)
{
	pthread_t orders[ORDER_THREADS], audit;
	pid_t nightly;

	if (argc != 3) {
		fprintf(stderr, "usage: shop FILE MS\n");
		return 2;
	}
	audit_path = argv[1];
	nightly = fork();
	if (!nightly)
		run_nightly();
	pthread_create(&audit, NULL, write_audit, NULL);
	for (int i = 0; i < ORDER_THREADS; i++)
		pthread_create(&orders[i], NULL, serve_orders, NULL);
	nap_ms(atol(argv[2]));
	is_over = true;
	for (int i = 0; i < ORDER_THREADS; i++)
		pthread_join(orders[i], NULL);
	pthread_join(audit, NULL);
	kill(nightly, SIGKILL);
	waitpid(nightly, NULL, 0);
	return 0;
}
