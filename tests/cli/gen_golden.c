/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gen_golden DIR: writes the trace that the golden tests of the command line read. All of it is
 * made of round numbers, so that a person can work out every answer:
 *
 *     0 .. 4 s, two CPUs, wall clock 2023-11-14T22:30:00Z at the start
 *     CPU 0   make 0 .. 0.5, idle .. 1, cc1 .. 2.5 (preempted), make .. 3, idle .. 4
 *     CPU 1   idle 0 .. 1.5, a process with an ugly name .. 1.75, ebpfrec .. 1.85, idle .. 4
 *     make    10 writes of 64 KiB from 0.1 s on, one every 10 ms: 1 ms queued, 4 ms in the device
 *     cc1     100 kmallocs of 192 bytes at 1.1 s, 60 of them freed; RSS 0 to 32 MiB at 1.2 .. 1.25
 *     lost    3 context switches on CPU 0 in 2 .. 2.5 s
 *
 * A second argument changes the trace:
 *
 *     stacks   cc1's first 80 kmallocs have stacks. Added, with stacks, are a page for each
 *              MiB that cc1 grows by, two heap objects, one of which is freed, and three waits.
 *     damaged  a byte in the middle of the chunk file is changed
 *     open     the trace is left as a killed recorder leaves it
 *     late     so is this one, whose last block has a wake-up of 0.6 s, and tells of a loss in
 *              1 .. 1.6 s; a third argument is its trace's number
 *     lost     the loss lasts beyond the switch from cc1 to make, so that nobody is known to have
 *              the CPU from there on until the next block
 *     who      another trace: see write_who()
 *     threads  another trace: see write_threads()
 *     waits    another trace: see write_hard_waits()
 *     spans    another trace: see write_spans()
 *     heap     another trace: thread 201 of process 200 allocates 4000 bytes of heap and keeps them
 *              until the process ends, after half of the trace's second
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/gen/gen_trace.h"

#define MS 1000000ull
#define START (1000000 * MS)
#define AT(ms) (START + (uint64_t)(ms) * MS)

#define MAKE 100
#define CC1 200
#define UGLY 300
#define RECORDER 900
#define DISK (8u << 20)
#define UGLY_NAME "=1+\x1b[31m,\"\xff"

static void write_tasks(struct gen *g)
{
	static const int64_t rss[4] = { 256, 256, 0, 0 };

	gen_snap_full(g, START, 1, 1, 0, 1000, "systemd", rss, 4096, 5 * MS, 1, false);
	gen_snap_full(g, START, MAKE, MAKE, 1, AT(-1000), "make", rss, 4096, 100 * MS, 0, true);
	gen_snap_full(g, START, UGLY, UGLY, 1, AT(-500), UGLY_NAME, rss, 4096, 0, 1, false);
	gen_snap_full(g, START, RECORDER, RECORDER, 1, AT(-100), "ebpfrec", rss, 4096, 0, 1, false);
	block_writer_add_workload(gen_block_writer(g), MAKE);
}

static void write_requests(struct gen *g)
{
	for (unsigned int i = 0; i < 10; i++) {
		uint64_t rq = 0xffff888000001000ull + i % 2 * 512, sector = 2048 + i * 128;

		gen_block(g, AT(100 + i * 10), 0, MAKE, WIRE_BLOCK_INSERT, rq, DISK, sector, 65536,
			  1);
		gen_block(g, AT(101 + i * 10), 0, MAKE, WIRE_BLOCK_ISSUE, rq, DISK, sector, 65536,
			  1);
		gen_block(g, AT(105 + i * 10), 1, 0, WIRE_BLOCK_COMPLETE, rq, DISK, sector, 65536,
			  1);
	}
}

static void write_memory(struct gen *g)
{
	for (unsigned int i = 0; i < 100; i++)
		gen_kmalloc(g, AT(1100) + i * 1000, 0, CC1, 0xffff888000100000ull + i * 192, 192,
			    0xffffffff81001000ull, 0);
	for (unsigned int i = 0; i < 60; i++)
		gen_kfree(g, AT(1150) + i * 1000, 0, CC1, 0xffff888000100000ull + i * 192);
	for (unsigned int i = 1; i <= 32; i++)
		gen_rss(g, AT(1200) + i * 50 * MS / 32, 0, CC1, CC1, 1, i * 256);
}

/* Frames from where it happened out: kernel's, 0, user's, 0. */
static void write_stack(struct gen *g, uint64_t ts, unsigned int of, uint64_t addr, uint64_t bytes,
			uint64_t call_site, const uint64_t *frames)
{
	struct wire_stack r = { .hdr = { .ts_ns = ts, .hook = WIRE_STACK, .tid = CC1 },
				.addr = addr,
				.bytes = bytes,
				.call_site = call_site,
				.of = (wire_u8)of };
	unsigned int n = 0;

	for (; *frames; frames++, r.kernel_cnt++)
		r.frames[n++] = *frames;
	for (frames++; *frames; frames++, r.user_cnt++)
		r.frames[n++] = *frames;
	gen_raw(g, &r, offsetof(struct wire_stack, frames) + n * 8);
}

static void write_stacks(struct gen *g)
{
	static const uint64_t open_file[] = { 0xffffffff81001000, 0xffffffff81abc010, 0,
					      0x555555501240,	  0x555555500180,     0 };
	static const uint64_t map_file[] = { 0xffffffff81001000, 0xffffffff81def010, 0,
					     0x555555501341,	 0x555555500180,     0 };
	static const uint64_t touch[] = { 0xffffffff81777010, 0, 0x555555502220, 0x555555500184,
					  0 };
	static const uint64_t build[] = { 0, 0x555555503330, 0x555555500188, 0 };

	for (unsigned int i = 0; i < 80; i++)
		write_stack(g, AT(1100) + i * 1000, WIRE_KMALLOC, 0xffff888000100000ull + i * 192,
			    192, 0xffffffff81001000, i % 4 ? open_file : map_file);
	for (unsigned int i = 1; i <= 32; i++) {
		uint64_t ts = AT(1200) + i * 50 * MS / 32;

		gen_page_alloc(g, ts, 0, CC1, 0x100000 + i * 256, 8, 0);
		write_stack(g, ts, WIRE_PAGE_ALLOC, 0x100000 + i * 256, 1 << 20, 0, touch);
	}
	for (unsigned int i = 0; i < 2; i++) {
		gen_heap(g, AT(1300) + i, 0, CC1, 0x7000000 + i * 4096, 4000);
		write_stack(g, AT(1300) + i, WIRE_HEAP_ALLOC, 0x7000000 + i * 4096, 4000,
			    0x55551234, build);
	}
	gen_heap(g, AT(1301), 0, CC1, 0x7000000, 0);
}

/*
 * cc1 sleeps 30 ms until make wakes it, 20 ms until the end of a request that it issued does, and
 * is preempted for 10 ms. The program that sees waits comes a little before or behind that of
 * switches.
 */
static void write_waits(struct gen *g)
{
	static const struct {
		unsigned int end_ms, dur_ms;
		wire_u16 state, waker_kind;
	} waits[] = { { 1340, 30, 1, OFFCPU_WAKER_THREAD }, { 1370, 20, 2, OFFCPU_WAKER_IRQ },
		      { 1390, 10, 0, OFFCPU_WAKER_NONE } };

	for (unsigned int i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		uint64_t ts = AT(waits[i].end_ms), rq = 0xffff888000002000ull;
		struct wire_switch leave = {
			.hdr = { .ts_ns = ts - waits[i].dur_ms * MS - 100, .hook = WIRE_SWITCH,
				 .flags = waits[i].state ? 0 : WIRE_F_PREEMPT, .tid = CC1 },
			.prev_state = waits[i].state,
		};
		struct wire_offcpu r = { .hdr = { .ts_ns = ts, .hook = WIRE_OFFCPU, .tid = CC1 },
					 .left_ns = ts - waits[i].dur_ms * MS,
					 .woken_ns = ts - MS,
					 .waker_tid = MAKE,
					 .state = waits[i].state,
					 .waker_kind = waits[i].waker_kind,
					 .kernel_cnt = 1,
					 .user_cnt = 2,
					 .frames = { 0x555555501240, 0x555555500180,
						     0xffffffff81999010 } };

		r.hdr.flags = leave.hdr.flags;
		r.waker_kernel_cnt = r.waker_kind != OFFCPU_WAKER_NONE;
		r.frames[2 + r.waker_kernel_cnt] = 0xffffffff81888010;
		if (r.waker_kind == OFFCPU_WAKER_IRQ)
			gen_block(g, r.left_ns - 2000, 0, CC1, WIRE_BLOCK_ISSUE, rq, DISK, 64, 4096,
				  0);
		gen_raw(g, &leave, sizeof(leave));
		if (r.waker_kind == OFFCPU_WAKER_IRQ)
			gen_block(g, r.woken_ns - 1000, 0, 0, WIRE_BLOCK_COMPLETE, rq, DISK, 64,
				  4096, 0);
		if (r.waker_kind)
			gen_wakeup(g, r.woken_ns + 100, 0, r.waker_tid, CC1,
				   r.waker_kind == OFFCPU_WAKER_IRQ ? WIRE_F_IRQ : 0);
		gen_switch(g, i ? ts + 100 : ts - 100, 0, 0, CC1, 0);
		gen_raw(g, &r, offsetof(struct wire_offcpu, frames) +
				       (3 + r.waker_kernel_cnt) * sizeof(r.frames[0]));
	}
}

/*
 * Samples of cc1: three in a function that calls itself, two in the kernel below it, one without
 * any frame; and one of the process whose name is ugly, in a soft interrupt. make has none.
 */
static void write_samples(struct gen *g)
{
	static const struct {
		unsigned int ms;
		uint32_t tid;
		wire_u16 kernel_cnt, user_cnt;
	} samples[] = { { 1010, CC1, 0, 3 }, { 1020, CC1, 0, 3 }, { 1030, CC1, 1, 2 },
			{ 1040, CC1, 0, 3 }, { 1050, CC1, 1, 2 }, { 1060, CC1, 0, 0 },
			{ 1600, UGLY, 1, 0 } };
	static const uint64_t user[] = { 0x555555501240, 0x555555501240, 0x555555500180 };

	for (unsigned int i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		unsigned int n = samples[i].kernel_cnt;
		struct wire_sample r = { .hdr = { .ts_ns = AT(samples[i].ms), .hook = WIRE_SAMPLE,
						  .cpu = samples[i].tid == UGLY,
						  .flags = samples[i].tid == UGLY ? WIRE_F_IRQ : 0,
						  .tid = samples[i].tid },
					 .kernel_cnt = samples[i].kernel_cnt,
					 .user_cnt = samples[i].user_cnt,
					 .frames = { 0xffffffff81001000 } };

		for (unsigned int k = 3 - samples[i].user_cnt; k < 3; k++)
			r.frames[n++] = user[k];
		gen_raw(g, &r, offsetof(struct wire_sample, frames) + n * sizeof(r.frames[0]));
	}
}

static void write_loss(struct gen *g, unsigned int from_ms, unsigned int to_ms)
{
	const struct trace_loss loss = {
		.from_ns = AT(from_ms), .to_ns = AT(to_ms), .cpu = 0, .hook = WIRE_SWITCH,
		.cls = EVENT_CLASS_SCHED, .full_cnt = 1, .other_cnt = 1, .missed_cnt = 1,
	};

	gen_loss(g, &loss);
}

static void write_cost(struct gen *g, unsigned int second)
{
	const struct trace_cost cost = {
		.from_ns = AT(second * 1000), .to_ns = AT(second * 1000 + 1000), .user_ns = 8 * MS,
		.sys_ns = 2 * MS, .bytes_written = 4096, .ring_used_max_bytes = 65536,
		.ring_size_bytes = 8 << 20, .rss_bytes = 16 << 20,
	};

	gen_cost(g, &cost);
}

/* Changes a byte in the middle of the chunk file. */
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

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD "11112222_3333_4444_5555_666677778888"

static const char *const who_cgroups[] = {
	"", "/", "/init.scope", "/system.slice/docker-" ID ".scope", "/docker/" ID2,
	"/machine.slice/libpod-" ID ".scope/container", "/system.slice/nerdctl-" ID ".scope",
	"/kubepods.slice/kubepods-pod" POD ".slice/cri-containerd-" ID ".scope",
	"/kubepods.slice/kubepods-pod" POD ".slice/crio-" ID2 ".scope",
	"/lxc.payload.web/system.slice/cron.service", "/system.slice/ssh.service",
	"/user.slice/user-1000.slice/user@1000.service/app.slice/app-edit.service",
	"/user.slice/user-1000.slice/session-3.scope", NULL,
};

/*
 * Processes 101, 102 and so on: number i is in cgroup i and runs i ms of CPU 0, from 20 * i ms on.
 * It allocates i MiB and writes 4 KiB, 8 KiB or 16 KiB in i ms to one of two disks. 1 is init and
 * the parent of those up to 110; 111 is the child of 110, and 112 of 111. User of those up to 110
 * is root, of the others ann, but for 112, whose user has no name.
 */
static void write_who(struct gen *g)
{
	static const int64_t rss[4] = { 256, 256, 0, 0 };

	gen_snap_full(g, START, 1, 1, 0, 1000, "systemd", rss, 4096, 5 * MS, 1, false);
	gen_cgroup(g, AT(1), 1, 1, 1, 2);
	for (unsigned int i = 1; i <= 12; i++) {
		uint64_t at = AT(20 * i), rq = 0xffff888000001000ull + i * 512;
		struct wire_task task = {
			.hdr = { .ts_ns = at - MS, .hook = WIRE_TASK_NEW, .cpu = 1, .tid = 1 },
			.tid = 100 + i, .pid = 100 + i, .ns_tid = 100 + i, .ns_pid = 100 + i,
			.ppid = i < 11 ? 1 : 99 + i, .uid = i == 12 ? 1234 : i == 11 ? 1000 : 0,
			.start_ns = at - MS, .cgroup_id = i,
		};
		uint32_t dev = DISK + i % 2 * 16, bytes = 4096u << i % 3, op = i % 5 == 0;

		snprintf((char *)task.comm, sizeof(task.comm), "work%u", i % 4);
		gen_raw(g, &task, sizeof(task));
		gen_switch(g, at, 0, 0, 100 + i, 0);
		for (unsigned int mib = 1; mib <= i; mib++)
			gen_rss(g, at + mib, 0, 100 + i, 100 + i, 1, mib * 256);
		gen_block(g, at + 100, 0, 100 + i, WIRE_BLOCK_INSERT, rq, dev, 2048, bytes, op);
		gen_block(g, at + 200, 0, 100 + i, WIRE_BLOCK_ISSUE, rq, dev, 2048, bytes, op);
		gen_switch(g, at + i * MS / 2, 0, 100 + i, 0, 0);
		gen_wakeup(g, at + i * MS / 2 + 1000, 1, 0, 100 + i, 0);
		gen_switch(g, at + i * MS / 2 + 3000, 0, 0, 100 + i, 0);
		gen_block(g, at + 100 + i * MS, 1, 0, WIRE_BLOCK_COMPLETE, rq, dev, 2048, bytes,
			  op);
		gen_switch(g, at + i * MS + 3000, 0, 100 + i, 0, 0);
	}
	gen_slice(g, AT(1000));
}

static void write_thread(struct gen *g, uint32_t tid, uint32_t pid, const char *comm)
{
	struct wire_task task = {
		.hdr = { .ts_ns = AT(1), .hook = WIRE_TASK_NEW, .cpu = 1, .tid = 1 },
		.tid = tid, .pid = pid, .ns_tid = tid, .ns_pid = pid, .ppid = 1,
		.start_ns = AT(1), .cgroup_id = 1,
		.policy = tid == 102 ? SCHED_BATCH : SCHED_OTHER,
		.static_prio = tid == 102 ? 125 : 120, .allowed_cnt = tid == 102 ? 1 : 2,
		.cpu_mask = tid == 102 ? 2 : 3,
	};

	snprintf((char *)task.comm, sizeof(task.comm), "%s", comm);
	gen_raw(g, &task, sizeof(task));
}

/*
 * Process 100 (server) has the threads 101 (req-0) and 102 (req-1), process 200 (client) has thread
 * 201 (req-0). From 100 ms on, each thread in turn runs 10, 20, 30, 40 and 50 ms on CPU 0, 100 ms
 * apart, sleeps 20 ms, is woken by the thread before it, and runs 1 ms after it waited for 2 ms.
 * Meanwhile it allocates once (1024 bytes), grows the process by a MiB, reads 4 KiB in 5 ms, and
 * waits off the CPU once. 101 ends at 900 ms.
 */
static void write_threads(struct gen *g)
{
	static const struct {
		uint32_t tid, pid;
		const char *comm;
	} threads[] = { { 100, 100, "server" }, { 101, 100, "req-0" }, { 102, 100, "req-1" },
			{ 200, 200, "client" }, { 201, 200, "req-0" } };

	for (unsigned int i = 0; i < 5; i++)
		write_thread(g, threads[i].tid, threads[i].pid, threads[i].comm);
	for (unsigned int i = 0; i < 5; i++) {
		uint32_t tid = threads[i].tid, pid = threads[i].pid;
		uint64_t at = AT(100 * (i + 1)), off = at + 10 * (i + 1) * MS, on = off + 22 * MS;
		uint64_t rq = 0xffff888000001000ull + i * 512;
		struct wire_offcpu wait = {
			.hdr = { .ts_ns = on, .hook = WIRE_OFFCPU, .tid = tid }, .left_ns = off,
			.woken_ns = off + 20 * MS, .waker_tid = i ? threads[i - 1].tid : 1,
			.state = 1, .waker_kind = OFFCPU_WAKER_THREAD, .kernel_cnt = 1,
			.waker_kernel_cnt = 1, .frames = { 0xffffffff81999010, 0xffffffff81888010 },
		};

		gen_switch(g, at, 0, 0, tid, 0);
		gen_kmalloc(g, at + MS, 0, tid, 0xffff888000100000ull + i * 4096, 1024,
			    0xffffffff81001000ull, 0);
		gen_rss(g, at + 2 * MS, 0, tid, pid, 1, (i + 1) * 256);
		gen_block(g, at + 3 * MS, 0, tid, WIRE_BLOCK_INSERT, rq, DISK, 2048, 4096, 0);
		gen_block(g, at + 4 * MS, 0, tid, WIRE_BLOCK_ISSUE, rq, DISK, 2048, 4096, 0);
		gen_block(g, at + 8 * MS, 0, tid, WIRE_BLOCK_COMPLETE, rq, DISK, 2048, 4096, 0);
		gen_switch(g, off, 0, tid, 0, 0);
		gen_wakeup(g, wait.woken_ns, 1, wait.waker_tid, tid, 0);
		gen_raw(g, &wait,
			offsetof(struct wire_offcpu, frames) + 2 * sizeof(wait.frames[0]));
		gen_switch(g, on, 0, 0, tid, 0);
		gen_switch(g, on + MS, 0, tid, 0, 0);
	}
	gen_exit(g, AT(900), 0, 101, 100, 0, false, 0);
	gen_slice(g, AT(1000));
}

/*
 * Waits for a CPU that are hard to tell, in slices of a second. 100 waits 10 ms until it runs
 * first, and then for its quota, which is no wait for a CPU. 101 waits 30 ms, since it was
 * woken in the stay that only the switch at 100 ms tells of. 102 waits 100 ms, until the edge
 * of a slice behind which it is known to have had a CPU since before. 103 waits 100 ms, since
 * the edge before which it was told to sleep, though it had been woken on its CPU. 104 waits
 * 1010 ms until it runs first; later it is woken twice, so that it may have had a CPU in
 * between, and nothing is a wait.
 */
static void write_hard_waits(struct gen *g)
{
	const struct wire_switch throttled = {
		.hdr = { .ts_ns = AT(20), .hook = WIRE_SWITCH, .flags = WIRE_F_PREEMPT,
			 .tid = 100 },
		.prev_prio = 120, .next_prio = 120, .call = WIRE_CALL_THROTTLED,
	};

	for (uint32_t tid = 100; tid < 105; tid++)
		gen_snap(g, START, 0, tid, tid, 1, "waits");
	gen_switch(g, AT(10), 0, 0, 100, 0);
	gen_raw(g, &throttled, sizeof(throttled));
	gen_switch(g, AT(50), 0, 0, 100, 0);
	gen_switch(g, AT(60), 0, 100, 0, 0);
	gen_wakeup(g, AT(90), 1, 0, 101, 0);
	gen_switch_more(g, AT(100), 0, 101, 0, 0, 0, 20 * MS);
	gen_switch(g, AT(130), 0, 0, 101, 0);
	gen_switch(g, AT(140), 0, 101, 102, 0);
	gen_switch(g, AT(900), 0, 102, 0, WIRE_F_PREEMPT);
	gen_slice(g, AT(1000));
	gen_switch_more(g, AT(1010), 0, 102, 104, 0, 0, 60 * MS);
	gen_switch(g, AT(1200), 0, 104, 0, 0);
	gen_wakeup(g, AT(1300), 1, 0, 104, 0);
	gen_wakeup(g, AT(1400), 1, 0, 104, 0);
	gen_switch(g, AT(1500), 0, 0, 104, 0);
	gen_switch(g, AT(1900), 0, 104, 103, 0);
	gen_wakeup(g, AT(1940), 1, 0, 103, 0);
	gen_switch(g, AT(1950), 0, 103, 0, 0);
	gen_slice(g, AT(2000));
	gen_switch(g, AT(2100), 0, 0, 103, 0);
	gen_slice(g, AT(2200));
}

static void write_heap(struct gen *g)
{
	gen_snap(g, START, 0, 200, 200, 1, "client");
	gen_snap(g, START, 0, 201, 200, 1, "req-0");
	gen_heap(g, AT(100), 0, 201, 0x7000000, 4000);
	gen_exit(g, AT(490), 0, 201, 200, 0, false, 0);
	gen_exit(g, AT(500), 0, 200, 200, 0, true, 0);
	gen_slice(g, AT(1000));
}

/* A write of a known thread, and one of a thread without a name. */
static void write_unowned(struct gen *g)
{
	static const uint32_t tids[] = { 200, 77 };

	gen_snap(g, START, 0, 200, 200, 1, "client");
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t rq = 0xffff888000001000ull + i * 512, sector = 2048 + i * 128;
		uint64_t at = AT(100 + i * 500);

		gen_block(g, at, 0, tids[i], WIRE_BLOCK_INSERT, rq, DISK, sector, 4096, 1);
		gen_block(g, at + MS, 0, tids[i], WIRE_BLOCK_ISSUE, rq, DISK, sector, 4096, 1);
		gen_block(g, at + 5 * MS, 1, 0, WIRE_BLOCK_COMPLETE, rq, DISK, sector, 4096, 1);
	}
	gen_slice(g, AT(1000));
}

/*
 * shop begins request n at 40 * n ms, which worker has from 1 ms later on and ends 3 ms later. For
 * requests 8 and 16 it waits for a lock that audit has for 19 ms, and 1 ms for a CPU. Request 20
 * does not end.
 */
static void write_spans(struct gen *g)
{
	gen_snap(g, START, 0, 200, 200, 1, "shop");
	gen_snap(g, START, 0, 201, 200, 1, "worker");
	gen_snap(g, START, 0, 202, 200, 1, "audit");
	gen_switch(g, START + 1, 0, 0, 200, 0);
	gen_switch(g, START + 1, 1, 0, 201, 0);
	gen_switch(g, START + 1, 2, 0, 202, 0);
	for (unsigned int n = 1; n <= 20; n++) {
		uint64_t at = AT(40 * n);

		gen_span(g, at, 0, 200, EVENT_SPAN_BEGIN, n % 4 ? "GET /" : "PUT /cart", n);
		gen_span(g, at, 0, 200, EVENT_SPAN_ATTACH, NULL, 0);
		gen_span(g, at + MS, 1, 201, EVENT_SPAN_ATTACH, NULL, n);
		gen_span(g, at + 2 * MS, 1, 201, EVENT_SPAN_STEP, "save", 0);
		if (n % 8 == 0) {
			gen_leave(g, at + 2 * MS, 1, 201, 1, 202, 0x7f33a0012000);	/* futex */
			gen_wakeup(g, at + 21 * MS, 2, 202, 201, 0);
			gen_switch(g, at + 22 * MS, 1, 0, 201, 0);
			at += 20 * MS;
		}
		if (n < 20)
			gen_span(g, at + 4 * MS, 1, 201, n == 3 ? EVENT_SPAN_FAIL : EVENT_SPAN_END,
				 NULL, n);
	}
	gen_slice(g, AT(1000));
}

static int make_other(const char *dir, const char *which)
{
	bool spans = !strcmp(which, "spans");
	const struct gen_config c = { .from_ns = START, .cgroups = who_cgroups, .quotas = true,
				      .cpu_cnt = spans ? 3 : 0,
				      .sources = spans ? "sched.switch,sched.wakeup,app.span" :
							 NULL,
				      .machine = spans ? "x86_64" : NULL };
	struct gen *g = gen_open(dir, &c);

	if (!strcmp(which, "who"))
		write_who(g);
	else if (!strcmp(which, "spans"))
		write_spans(g);
	else if (!strcmp(which, "heap"))
		write_heap(g);
	else if (!strcmp(which, "unowned"))
		write_unowned(g);
	else if (!strcmp(which, "waits"))
		write_hard_waits(g);
	else
		write_threads(g);
	gen_finish(g);
	return 0;
}

int main(int argc, char **argv)
{
	bool stacks = argc > 2 && !strcmp(argv[2], "stacks");
	bool late = argc > 2 && !strcmp(argv[2], "late");
	bool lost = argc > 2 && !strcmp(argv[2], "lost");
	uint64_t id = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	struct gen *g;

	if (argc > 2 && (!strcmp(argv[2], "who") || !strcmp(argv[2], "threads") ||
			 !strcmp(argv[2], "waits") || !strcmp(argv[2], "heap") ||
			 !strcmp(argv[2], "unowned") || !strcmp(argv[2], "spans")))
		return make_other(argv[1], argv[2]);
	if (argc < 2) {
		fprintf(stderr, "usage: gen_golden DIR "
				"[stacks|command|damaged|open|late|lost|who|threads|waits|"
				"heap|unowned|spans] "
				"[NUMBER]\n");
		return 2;
	}
	g = gen_open(argv[1], &(struct gen_config){ .cpu_cnt = 2,
						    .from_ns = START,
						    .recorder_pid = RECORDER,
						    .cpus_online = true,
						    .trace_id = id,
						    .sites = stacks });
	if (argc > 2 && !strcmp(argv[2], "command"))
		store_writer_set(gen_store_writer(g), "command", "make -j2");
	write_tasks(g);
	write_requests(g);
	gen_switch(g, AT(500), 0, MAKE, 0, 0);
	gen_new(g, AT(900), 0, MAKE, CC1, CC1, MAKE, "make");
	write_cost(g, 0);
	gen_slice(g, AT(1000));
	gen_switch(g, AT(1000), 0, 0, CC1, 0);
	gen_exec(g, AT(1000) + 1000, 0, CC1, CC1, 0, "cc1", "/usr/lib/gcc/cc1", "cc1\0-O2\0a.c",
		 12);
	write_memory(g);
	if (stacks) {
		write_stacks(g);
		write_waits(g);
		write_samples(g);
	}
	gen_switch(g, AT(1500), 1, 0, UGLY, 0);
	gen_switch(g, AT(1750), 1, UGLY, RECORDER, 0);
	gen_switch(g, AT(1850), 1, RECORDER, 0, 0);
	write_cost(g, 1);
	gen_slice(g, AT(2000));
	gen_switch(g, AT(2500), 0, CC1, MAKE, WIRE_F_PREEMPT);
	write_loss(g, 2000, lost ? 2600 : 2500);
	write_cost(g, 2);
	gen_slice(g, AT(3000));
	gen_switch(g, AT(3000), 0, MAKE, 0, 0);
	if (late) {
		gen_wakeup(g, AT(600), 0, MAKE, UGLY, 0);
		write_loss(g, 1000, 1600);
	}
	write_cost(g, 3);
	gen_slice(g, AT(4000));
	if (late || (argc > 2 && !strcmp(argv[2], "open")))
		gen_abort(g);
	else
		gen_finish(g);
	if (argc > 2 && !strcmp(argv[2], "damaged"))
		damage(argv[1]);
	return 0;
}
