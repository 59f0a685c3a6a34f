/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * floor [ROUNDS]: what the pieces of recording an event cost on this machine, as CSV
 * (piece,ns,ns_p25,rounds). No recorder made of these pieces can cost less.
 *
 * floor --attach empty|clock TRACEPOINT,... COMMAND...: runs COMMAND while a program that does
 * nothing, or one that reads the clock, is attached to each of the tracepoints (a group in front,
 * as in kmem:kfree, is ignored). This is what a recorder of these events cannot go below.
 *
 * BPF_PROG_TEST_RUN runs each piece a thousand times in a loop, all pieces in turn, ROUNDS
 * times. The result is the median, less the median of the empty loop. program_1 .. 3 are what
 * one more empty program at a tracepoint adds to an event: the kernel calls the first directly,
 * and goes through a list from the second on. program_clock is a first program that reads the
 * clock. No recorder of this kind can cost less per event. It costs more than the sum of
 * program_1 and the clock, because the clock waits for what came before it.
 *
 * The programs are measured (CPU time, rounds in turn) at the tracepoint of prctl() calls
 * without effect, which no other tracer uses. Kernels without that tracepoint are measured at the
 * frees of failing path look-ups, where floor must be the only tracer. Needs root, Linux 6.2 and
 * a JIT compiler.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/floor.skel.h"
#include "bpf/wire.h"
#include "probe/attach.h"
#include "probe/kernel.h"

#define ROUNDS_MAX 1001
#define PIECES_MAX 32
#define ATTACHED 3 /* empty programs at most */
#define CALLS 5000
#define NO_OPTION 0x65627066 /* of prctl() */

static double samples[PIECES_MAX][ROUNDS_MAX];
static const char *names[PIECES_MAX];
static double call_ns[ATTACHED + 2]
		     [ROUNDS_MAX]; /* with that many empty programs; last: the clock */
static const char *tracepoint = "task_prctl_unknown";

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void *map(int fd, int prot, off_t at)
{
	void *p = mmap(NULL, 4096, prot, MAP_SHARED, fd, at);

	if (p == MAP_FAILED)
		fail("mmap");
	return p;
}

static double cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double call(void)
{
	bool has_prctl = !strcmp(tracepoint, "task_prctl_unknown");
	double from = cpu_now_ns();
	int i;

	for (i = 0; i < CALLS; i++) {
		if (has_prctl)
			prctl(NO_OPTION, 0, 0, 0, 0);
		else
			(void)!access("", F_OK); /* the name is a slab object, freed at once */
	}
	return (cpu_now_ns() - from) / CALLS;
}

static struct bpf_link *attach(struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach_raw_tracepoint(prog, tracepoint);

	if (!link)
		fail(tracepoint);
	return link;
}

static void pick_tracepoint(struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach_raw_tracepoint(prog, tracepoint);

	if (link)
		bpf_link__destroy(link);
	else
		tracepoint = "kmem_cache_free";
}

/* Events of a call, by the kernel's own count of one program's runs. */
static double events_per_call(struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct bpf_link *link = attach(prog);
	__u32 len = sizeof(info);

	if (stats < 0)
		fail("statistics of programs");
	call();
	bpf_link__destroy(link);
	close(stats);
	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		fail("statistics of programs");
	return (double)info.run_cnt / CALLS;
}

static struct floor_bpf *load(void)
{
	struct floor_bpf *skel = floor_bpf__open();
	struct kernel_info *k = NULL;
	struct bpf_program *prog;
	uint32_t cast_id;

	if (!skel || kernel_info_open(&k, NULL, NULL))
		fail("open");
	cast_id = kernel_function_id(k, "bpf_rdonly_cast");
	if (!cast_id || !adapt_can_fetch()) {
		fprintf(stderr, "floor: this kernel is too old; 6.2 has all that is measured\n");
		exit(1);
	}
	bpf_object__for_each_program(prog, skel->obj)
	{
		if (adapt_program(prog, k, cast_id, true))
			fail("adapt");
	}
	kernel_info_close(k);
	if (floor_bpf__load(skel))
		fail("load");
	return skel;
}

static unsigned int run_pieces(struct floor_bpf *skel, int rounds)
{
	unsigned long *consumer = map(bpf_map__fd(skel->maps.ringbuf), PROT_READ | PROT_WRITE, 0);
	unsigned long *producer = map(bpf_map__fd(skel->maps.ringbuf), PROT_READ, 4096);
	struct bpf_program *prog;
	unsigned int n = 0;
	int r;

	for (r = -2; r < rounds; r++) { /* two to warm up */
		n = 0;
		bpf_object__for_each_program(prog, skel->obj)
		{
			unsigned long args[4] = {};
			LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args,
				    .ctx_size_in = sizeof(args));

			if (!strncmp(bpf_program__name(prog), "attached", 8))
				continue;
			if (bpf_prog_test_run_opts(bpf_program__fd(prog), &opts))
				fail("test run");
			names[n] = bpf_program__name(prog);
			samples[n++][r < 0 ? 0 : r] = (double)skel->bss->result_ns / 1000;
			*consumer = *producer;
		}
	}
	return n;
}

static void run_attached(struct floor_bpf *skel, int rounds)
{
	struct bpf_program *progs[] = { skel->progs.attached_1, skel->progs.attached_2,
					skel->progs.attached_3 };
	struct bpf_link *links[ATTACHED];
	int r, i, set, cnt;

	for (r = -1; r < rounds; r++) {
		for (set = 0; set <= ATTACHED + 1; set++) {
			cnt = set > ATTACHED ? 1 : set;
			for (i = 0; i < cnt; i++)
				links[i] = attach(set > ATTACHED ? skel->progs.attached_clock
								 : progs[i]);
			call(); /* attaching has patched code: warm up */
			call_ns[set][r < 0 ? 0 : r] = call();
			for (i = 0; i < cnt; i++)
				bpf_link__destroy(links[i]);
		}
	}
}

static void print_attached(const char *name, int set, int less, double events, int rounds)
{
	printf("%s,%.1f,%.1f,%d\n", name,
	       (call_ns[set][rounds / 2] - call_ns[less][rounds / 2]) / events,
	       (call_ns[set][rounds / 4] - call_ns[less][rounds / 4]) / events, rounds);
}

/* Returns COMMAND's exit status. */
static int run_with_programs(const char *kind, char *tracepoints, char **command)
{
	struct floor_bpf *skel = load();
	struct bpf_program *prog = !strcmp(kind, "clock") ? skel->progs.attached_clock
							  : skel->progs.attached_1;
	char *word, *group;
	int status = 0;
	pid_t pid;

	/* The links end with this process. */
	for (word = strtok(tracepoints, ","); word; word = strtok(NULL, ",")) {
		group = strchr(word, ':');
		tracepoint = group ? group + 1 : word;
		attach(prog);
	}
	pid = fork();
	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail(command[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 301, i;
	struct floor_bpf *skel;
	unsigned int n, p;
	cpu_set_t one;
	double events;

	if (argc > 4 && !strcmp(argv[1], "--attach") &&
	    (!strcmp(argv[2], "empty") || !strcmp(argv[2], "clock")))
		return run_with_programs(argv[2], argv[3], argv + 4);
	if (rounds < 5 || rounds > ROUNDS_MAX) {
		fprintf(stderr,
			"usage: floor [ROUNDS], 5 to %d\n"
			"       floor --attach empty|clock TRACEPOINT,... COMMAND...\n",
			ROUNDS_MAX);
		return 2;
	}
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	skel = load();
	n = run_pieces(skel, rounds);
	pick_tracepoint(skel->progs.attached_1);
	events = events_per_call(skel->progs.attached_1);
	run_attached(skel, rounds);
	for (p = 0; p < n; p++)
		qsort(samples[p], rounds, sizeof(double), compare);
	puts("piece,ns,ns_p25,rounds");
	for (p = 0; p < n; p++)
		printf("%s,%.1f,%.1f,%d\n", names[p],
		       samples[p][rounds / 2] - (p ? samples[0][rounds / 2] : 0),
		       samples[p][rounds / 4] - (p ? samples[0][rounds / 4] : 0), rounds);
	for (i = 0; i <= ATTACHED + 1; i++)
		qsort(call_ns[i], rounds, sizeof(double), compare);
	print_attached("program_1", 1, 0, events, rounds);
	print_attached("program_2", 2, 1, events, rounds);
	print_attached("program_3", 3, 2, events, rounds);
	print_attached("program_clock", ATTACHED + 1, 0, events, rounds);
	floor_bpf__destroy(skel);
	return 0;
}
