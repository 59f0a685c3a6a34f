/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gen_doubtful KIND DIR [SEED]: writes a trace of some seconds that is not complete, for
 * one_answer.py and tests/format. SEED makes another chaotic one.
 *
 *     chaotic   gen_chaos: losses, late records, unknown threads, lost frees
 *     damaged   the same, with a byte in the middle of a chunk file changed
 *     lossy     a machine at work; switches and requests were lost, the last after the trace's end
 *     partial   the same without losses, of which only switches and wake-ups were to be recorded
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/gen/gen_chaos.h"

#define MS 1000000ull
#define START 1000000000ull
#define EVENTS_PER_S 4000

/* Of the first chunk file, a byte in its middle. */
static void damage(const char *dir)
{
	unsigned char byte;
	char path[4096];
	off_t size;
	int fd;

	snprintf(path, sizeof(path), "%s/chunk-000000.ebr", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (size < 0 || pread(fd, &byte, 1, size / 2) != 1)
		abort();
	byte ^= 0xff;
	if (pwrite(fd, &byte, 1, size / 2) != 1 || close(fd))
		abort();
}

static void write_chaos(const char *dir, uint64_t seed)
{
	struct chaos f;

	chaos_begin(&f, seed);
	f.m.per_second = EVENTS_PER_S;
	chaos_add_blocks(&f, 30);
	chaos_end(&f, true);
	if (rename(f.path, dir))
		abort();
	gen_remove_dir(f.dir);
}

static void lose(struct gen *g, unsigned int hook, uint64_t from_ns, uint64_t to_ns)
{
	const struct trace_loss l = { .from_ns = from_ns,
				      .to_ns = to_ns,
				      .hook = hook,
				      .cls = hook == WIRE_SWITCH ? EVENT_CLASS_SCHED :
								   EVENT_CLASS_BLOCK,
				      .full_cnt = 3,
				      .missed_cnt = 2 };

	gen_loss(g, &l);
}

static void write_mix(const char *dir, const char *sources, bool lossy)
{
	struct gen_mix m = { .seed = 4, .now_ns = START, .per_second = EVENTS_PER_S };
	struct gen *g = gen_open(dir, &(struct gen_config){ .cpu_cnt = 2,
							    .from_ns = START,
							    .sources = sources });
	uint64_t from_ns;

	gen_mix_start(g, &m);
	for (unsigned int i = 0; i < 6; i++) {
		from_ns = m.now_ns;
		gen_mix_run(g, &m, 4000);
		if (lossy && i == 1)
			lose(g, WIRE_BLOCK_ISSUE, from_ns + 300 * MS, m.now_ns);
		if (lossy && i == 3)
			lose(g, WIRE_SWITCH, from_ns, m.now_ns - 200 * MS);
		if (lossy && i == 5)
			lose(g, WIRE_SWITCH, m.now_ns - 10 * MS, m.now_ns + 10 * MS);
		gen_slice(g, m.now_ns + 1);
	}
	gen_mix_done(&m);
	gen_finish(g);
}

int main(int argc, char **argv)
{
	const char *kind = argc == 3 || argc == 4 ? argv[1] : "";
	bool lossy = !strcmp(kind, "lossy");

	if (!strcmp(kind, "chaotic") || !strcmp(kind, "damaged"))
		write_chaos(argv[2], argc == 4 ? strtoull(argv[3], NULL, 10) : 12);
	else if (lossy || !strcmp(kind, "partial"))
		write_mix(argv[2],
			  lossy ? "sched.switch,sched.wakeup,alloc.slab,alloc.page,alloc.rss,"
				  "alloc.vm,block" :
				  "sched.switch,sched.wakeup",
			  lossy);
	else
		return 2;
	if (!strcmp(kind, "damaged"))
		damage(argv[2]);
	return 0;
}
