/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gen_trace: puts records into a buffer, buffers into blocks, blocks into a trace. The dice are
 * in gen_mix.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "format/event.h"
#include "tests/unit/gen/gen_trace.h"

struct gen {
	struct gen_config config;
	bool is_last;
	uint64_t suspended_ns;
	int64_t set_ns;
	struct block_writer *bw;
	struct store_writer *sw;
	struct buf records;
	struct block_segment segment;
	struct buf losses, costs, hook_stats, marks;
	uint64_t from_ns;
	const void *block;
	size_t block_bytes;
	struct block_stats stats;
};

#define MUST(x)                                                                                    \
	do {                                                                                       \
		int must_ = (x);                                                                   \
		if (must_ < 0) {                                                                   \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x,                 \
				strerror(-must_));                                                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Functions of the kernel with real names, 256 bytes each. */
static const char *const kernel_functions[GEN_KERNEL_CNT] = {
	[GEN_SCHEDULE_INNER] = "__schedule", [GEN_SCHEDULE] = "schedule",
	[GEN_MUTEX_LOCK] = "__mutex_lock.constprop.0", [GEN_COMPLETION] = "wait_for_completion",
	[GEN_PIPE_WRITE] = "pipe_write",
};

static int name_of(void *ctx, enum trace_name_type type, uint64_t id, char *name, size_t size,
		   uint64_t *ret_arg)
{
	const char *const *cgroups = ctx;
	unsigned long long v = id;

	for (; type == TRACE_NAME_CGROUP && cgroups && *cgroups; cgroups++, id--) {
		snprintf(name, size, "%s", *cgroups);
		if (!id)
			return 0;
	}
	switch (type) {
	case TRACE_NAME_USER:
		snprintf(name, size, "%s", id == 1 ? "root" : "ann");
		return ctx && (id == 1 || id == 1001) ? 0 : -ENOENT;
	case TRACE_NAME_CACHE:
		snprintf(name, size, "cache-%llx", v);
		*ret_arg = 192;
		return 0;
	case TRACE_NAME_DEVICE:
		snprintf(name, size, "dev%llu:%llu", v >> 20, v & 0xfffff);
		*ret_arg = 1 << 21;
		return 0;
	case TRACE_NAME_CGROUP:
		if (id == 1)
			snprintf(name, size, "/");
		else
			snprintf(name, size, "/group-%llu", v);
		return 0;
	case TRACE_NAME_SYMBOL:
		if (id >= GEN_KERNEL(0) && id < GEN_KERNEL(GEN_KERNEL_CNT)) {
			snprintf(name, size, "%s+0x%llx", kernel_functions[(id >> 8) & 15],
				 v & 0xff);
			return 0;
		}
		snprintf(name, size, "function_%llx+0x%llx", v >> 8, v & 0xff);
		return 0;
	default:
		return -ENOENT;
	}
}

/* Group 77 has the quota of a group above. The quota of group 1 changes, ends, and returns. */
static const struct trace_quota *quota_at(void *ctx, size_t i)
{
	static struct trace_quota own = { .cgroup_id = 1, .limit_id = 1, .period_ns = 100000000 };
	static const struct trace_quota above = { .cgroup_id = 77, .limit_id = 7,
						  .quota_ns = 5000000, .period_ns = 10000000 };
	static unsigned int blocks;

	if (i)
		return i == 1 ? &above : NULL;
	own.quota_ns = (blocks++ / 3 + 1) % 3 * 20000000;
	return &own;
}

static const char *const *site_symbols;	/* of the trace being made, or NULL */
static uint64_t site_remap_ns;			/* likewise */

/* An even address has a name; an odd one is in a file without symbols. */
static int name_site(void *ctx, uint32_t pid, uint64_t ts_ns, struct trace_site *ret,
		     uint64_t *ret_until_ns)
{
	static char symbol[32];
	uint64_t nth = site_remap_ns ? ts_ns / site_remap_ns : 0;

	snprintf(symbol, sizeof(symbol), "ufunc_%llx%s",
		 (unsigned long long)(ret->addr >> 8 & 0xfff), nth % 2 ? "_new" : "");
	ret->why = ret->addr & 1 ? TRACE_SITE_STRIPPED : TRACE_SITE_NAMED;
	ret->symbol = ret->addr & 1 ? "" :
		      site_symbols  ? site_symbols[ret->addr >> 8 & 15] : symbol;
	ret->symbol_offset = ret->addr & 1 ? 0 : ret->addr & 0xff;
	ret->module = nth % 2 ? "/opt/new" : !strncmp(ret->symbol, "py::", 4) ? TRACE_MODULE_JIT :
		      !strncmp(ret->symbol, "_Py", 3) ? "/opt/libpython3.12.so.1.0" : "/opt/prog";
	ret->module_offset = ret->addr & 0xfffff;
	ret->build_id = "c0ffee0123";
	ret->from_ns = nth * site_remap_ns;
	*ret_until_ns = site_remap_ns ? (nth + 1) * site_remap_ns : UINT64_MAX;
	return 0;
}

/* Locks above 2^47 are in no file. */
static int name_variable(void *ctx, uint32_t pid, uint64_t since_ns, uint64_t ts_ns,
			 struct trace_site *ret)
{
	uint64_t until_ns;

	return ret->addr >> 47 ? -ENOENT : name_site(ctx, pid, ts_ns, ret, &until_ns);
}

struct gen *gen_open(const char *dir, const struct gen_config *config)
{
	struct gen *g = calloc(1, sizeof(*g));
	struct store_config sc = { .trace_id = config->trace_id ?: 0x7ace,
				   .file_bytes = config->file_bytes,
				   .keep_bytes = config->keep_bytes, .keep_ns = config->keep_ns,
				   .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct block_writer_config bc = {
		.zstd_level = config->zstd_level,
		.filtered = config->filtered,
		.no_switches = config->no_switches,
		.tasks.recorder_pid = config->recorder_pid,
		.tasks.command_pid = config->command_pid,
		.tasks.all_cmdlines = config->all_cmdlines,
		.names = { .ctx = (void *)config->cgroups, .name = name_of },
	};
	struct err e = { 0 };
	static bool online[1024];

	if (!g)
		abort();
	g->config = *config;
	if (!g->config.cpu_cnt)
		g->config.cpu_cnt = 2;
	if (g->config.cpu_cnt > 1024)
		abort();
	bc.cpu_cnt = g->config.cpu_cnt;
	memset(online, 1, sizeof(online));
	if (config->cpus_online)
		bc.cpu_online = online;
	site_symbols = config->symbols;
	site_remap_ns = config->remap_ns;
	if (config->sites) {
		bc.names.site = name_site;
		bc.names.variable = name_variable;
	}
	bc.names.unwind = config->unwind;
	if (config->quotas)
		bc.names.quota = quota_at;
	if (config->no_names)
		memset(&bc.names, 0, sizeof(bc.names));
	bc.watch_requests = config->watch_requests;
	g->from_ns = config->from_ns;
	MUST(block_writer_new(&g->bw, &bc));
	if (dir && store_writer_create(&g->sw, dir, &sc, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		abort();
	}
	if (g->sw)
		MUST(store_writer_set(g->sw, "page_bytes", "4096"));
	if (g->sw && config->sources)
		MUST(store_writer_set(g->sw, "sources", config->sources));
	if (config->machine)
		MUST(store_writer_set(g->sw, "machine", config->machine));
	/* as the recorder does, so that a trace that was killed says it, too */
	if (g->sw && config->sources)
		MUST(store_writer_flush_manifest(g->sw, NULL));
	return g;
}

static void gen_free(struct gen *g)
{
	block_writer_free(g->bw);
	buf_done(&g->records);
	buf_done(&g->losses);
	buf_done(&g->costs);
	buf_done(&g->hook_stats);
	buf_done(&g->marks);
	free(g);
}

void gen_finish(struct gen *g)
{
	struct err e = { 0 };

	if (g->sw && store_writer_finish(g->sw, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		abort();
	}
	gen_free(g);
}

void gen_abort(struct gen *g)
{
	store_writer_abort(g->sw);
	gen_free(g);
}

void gen_temp_dir(char path[64])
{
	snprintf(path, 64, "/tmp/ebpfrec-unit.XXXXXX");
	if (!mkdtemp(path))
		abort();
}

unsigned int gen_seeds(unsigned int cnt)
{
	const char *s = getenv("EBPFREC_TEST_SEEDS");

#if defined(SANITIZED_address) || defined(SANITIZED_thread)
	cnt = (cnt + 2) / 3;
#endif
	return s ? (unsigned int)atoi(s) : cnt;
}

void gen_remove_dir(const char *path)
{
	struct dirent *d;
	char sub[512];
	struct stat st;
	DIR *dir = opendir(path);

	if (!dir)
		return;
	while ((d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, d->d_name);
		if (lstat(sub, &st) == 0 && S_ISDIR(st.st_mode))
			gen_remove_dir(sub);
		else
			unlink(sub);
	}
	closedir(dir);
	rmdir(path);
}

/* ---- records ---- */

void gen_raw(struct gen *g, const void *record, size_t bytes)
{
	static const uint8_t zeros[8];
	const struct wire_hdr *h = record;
	struct gen_drop *d = g->config.drop;

	if (d && h->hook == d->hook && h->ts_ns >= d->from_ns && h->ts_ns < d->to_ns) {
		d->cnt++;
		return;
	}
	buf_add(&g->records, record, bytes);
	buf_add(&g->records, zeros, -bytes & 7);
	if (g->records.failed)
		abort();
}

#define HDR(hook_id, more_flags)                                                 \
	.hdr = { .ts_ns = ts, .hook = (hook_id), .flags = (wire_u8)(more_flags), \
		 .cpu = (wire_u16)cpu, .tid = tid }
#define EMIT(type, ...)                                                          \
	do {                                                                     \
		struct type r_ = { __VA_ARGS__ };                                \
		gen_raw(g, &r_, sizeof(r_));                                     \
	} while (0)

void gen_switch(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t prev, uint32_t next,
		unsigned int flags)
{
	uint32_t tid = prev;

	EMIT(wire_switch, HDR(WIRE_SWITCH, flags), .next_tid = next,
	     .prev_state = flags & WIRE_F_PREEMPT ? 0 : 1, .prev_prio = 120, .next_prio = 120);
}

void gen_leave(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int state,
	       unsigned int call, uint64_t object)
{
	EMIT(wire_switch, HDR(WIRE_SWITCH, 0), .prev_state = (wire_u16)state,
	     .call = (wire_u16)(WIRE_CALL_IS_NUMBER | call),
	     .object_high = (wire_u16)(object >> 32), .object_low = (wire_u32)object);
}

void gen_switch_more(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t prev, uint32_t next,
		     unsigned int flags, uint64_t steal_ns, uint64_t stay_ns)
{
	uint32_t tid = prev;

	EMIT(wire_switch_more,
	     .common = { .next_tid = next, .prev_state = flags & WIRE_F_PREEMPT ? 0 : 1,
			 .prev_prio = 120, .next_prio = 120,
			 HDR(WIRE_SWITCH_MORE, flags) },
	     .steal_ns = steal_ns, .stay_ns = stay_ns);
}

void gen_wakeup(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t waker, uint32_t target,
		unsigned int flags)
{
	gen_wakeup_in(g, ts, cpu, waker, target, flags,
		      flags & WIRE_F_IRQ ? WIRE_CALL_UNKNOWN : WIRE_CALL_IS_NUMBER | 202);
}

void gen_wakeup_in(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t waker, uint32_t target,
		   unsigned int flags, unsigned int call)
{
	uint32_t tid = waker;

	EMIT(wire_waking, HDR(WIRE_WAKING, flags), .target_tid = target,
	     .target_cpu = (wire_u16)cpu, .prio = 120, .call = (wire_u16)call);
}

void gen_kmalloc(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr,
		 uint32_t bytes, uint64_t call_site, unsigned int flags)
{
	EMIT(wire_kmalloc, HDR(WIRE_KMALLOC, flags), .addr = addr, .call_site = call_site,
	     .bytes_req = bytes, .bytes_alloc = (bytes + 31) & ~31u);
}

void gen_kfree(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr)
{
	EMIT(wire_kfree, HDR(WIRE_KFREE, 0), .addr = addr);
}

void gen_cache_alloc(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr,
		     uint32_t bytes, uint64_t call_site, uint64_t cache)
{
	EMIT(wire_cache_alloc, HDR(WIRE_CACHE_ALLOC, 0), .addr = addr, .call_site = call_site,
	     .cache = cache, .bytes_req = bytes, .bytes_alloc = bytes);
}

void gen_cache_free(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr,
		    uint64_t cache)
{
	EMIT(wire_cache_free, HDR(WIRE_CACHE_FREE, 0), .addr = addr, .cache = cache);
}

void gen_page_alloc(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t pfn,
		    unsigned int order, unsigned int flags)
{
	EMIT(wire_page_alloc, HDR(WIRE_PAGE_ALLOC, flags), .pfn = pfn, .gfp = 0x400dc0,
	     .order = (wire_u16)order, .migratetype = 1);
}

void gen_page_free(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t pfn,
		   unsigned int order)
{
	EMIT(wire_page_free, HDR(WIRE_PAGE_FREE, 0), .pfn = pfn, .order = order);
}

void gen_rss(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	     unsigned int member, int64_t pages)
{
	EMIT(wire_rss, HDR(WIRE_RSS, 0), .pid = pid, .member = member, .pages = pages);
}

void gen_vm(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	    unsigned int op, uint64_t addr, uint64_t len, uint64_t total_pages)
{
	EMIT(wire_vm, HDR(WIRE_VM, 0), .pid = pid, .op = op, .addr = addr, .len_bytes = len,
	     .total_vm_pages = total_pages);
}

void gen_block(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int hook,
	       uint64_t rq, uint32_t dev, uint64_t sector, uint32_t bytes, uint32_t cmd_flags)
{
	struct wire_request_issue r = { .step = {
		HDR((wire_u8)hook, 0), .rq = rq, .sector = sector, .dev = dev,
		.bytes = bytes, .cmd_flags = cmd_flags,
		.done_bytes = hook == WIRE_BLOCK_COMPLETE ? bytes : 0, .part = dev,
	} };

	gen_raw(g, &r, hook == WIRE_BLOCK_ISSUE ? sizeof(r) : sizeof(r.step));
}

void gen_block_pages(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t rq,
		     uint32_t dev, uint64_t sector, uint32_t bytes, unsigned int pages,
		     uint64_t ino, uint64_t last_ino, uint32_t ino_dev)
{
	EMIT(wire_request_issue,
	     .step = { HDR(WIRE_BLOCK_ISSUE, 0), .rq = rq, .sector = sector, .dev = dev,
		       .bytes = bytes, .cmd_flags = 1, .part = dev },
	     .ino = ino, .last_ino = last_ino, .ino_dev = ino_dev, .pages = pages);
}

void gen_path(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t ino,
	      uint32_t ino_dev, const char *path)
{
	struct wire_path r = { HDR(WIRE_PATH, 0), .ino = ino, .ino_dev = ino_dev };
	const char *end = path + strlen(path), *name;

	/* from the last name to the first */
	for (; end > path; end = name > path ? name - 1 : path) {
		for (name = end; name > path && name[-1] != '/'; name--)
			;
		memcpy(r.names + r.len, name, (size_t)(end - name));
		r.len += end - name + 1;
	}
	gen_raw(g, &r, (offsetof(struct wire_path, names) + r.len + 7) & ~7ul);
}

void gen_dirty(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	       uint64_t ino, uint32_t ino_dev, const char *path)
{
	struct wire_dirty r = { HDR(WIRE_DIRTY, 0), .ino = ino, .ino_dev = ino_dev, .pid = pid };

	if (*path)
		gen_path(g, ts, cpu, tid, ino, ino_dev, path);
	gen_raw(g, &r, sizeof(r));
}

void gen_irq(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int hook,
	     unsigned int vector)
{
	EMIT(wire_irq, HDR(hook, WIRE_F_IRQ), .vector = vector,
	     .type = hook <= WIRE_IRQ_EXIT ? EVENT_IRQ_LINE :
		     hook <= WIRE_SOFTIRQ_EXIT ? EVENT_IRQ_SOFT : EVENT_IRQ_LOCAL,
	     .handled = hook == WIRE_IRQ_EXIT);
}

void gen_span(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int action,
	      const char *name, uint64_t id)
{
	struct wire_span r = { HDR(WIRE_SPAN, 0), .id = id, .action = (wire_u16)action };

	strncpy(r.name, name ? name : "", sizeof(r.name));
	gen_raw(g, &r, sizeof(r));
}

void gen_stack(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int of,
	       uint64_t addr, uint64_t bytes, const uint64_t *frames, unsigned int kernel_cnt,
	       unsigned int user_cnt)
{
	struct wire_stack r = { HDR(WIRE_STACK, 0), .addr = addr, .bytes = bytes,
				.of = (wire_u16)of, .kernel_cnt = (wire_u16)kernel_cnt,
				.user_cnt = (wire_u16)user_cnt };

	memcpy(r.frames, frames, (kernel_cnt + user_cnt) * sizeof(*frames));
	gen_raw(g, &r,
		offsetof(struct wire_stack, frames) + (kernel_cnt + user_cnt) * sizeof(*frames));
}

void gen_heap(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr,
	      uint64_t bytes)
{
	if (bytes)
		EMIT(wire_heap_alloc, HDR(WIRE_HEAP_ALLOC, 0), .addr = addr, .bytes = bytes,
		     .call_site = 0x55551234);
	else
		EMIT(wire_heap_free, HDR(WIRE_HEAP_FREE, 0), .addr = addr);
}

static void set_comm(char *dst, const char *comm)
{
	memset(dst, 0, WIRE_COMM_LEN);
	memcpy(dst, comm, strnlen(comm, WIRE_COMM_LEN - 1));
}

void gen_new(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t forker, uint32_t tid_,
	     uint32_t pid, uint32_t ppid, const char *comm)
{
	uint32_t tid = forker;
	struct wire_task r = {
		HDR(WIRE_TASK_NEW, 0), .tid = tid_,	    .pid = pid,
		.ppid = ppid,	       .ns_tid = tid_,	    .ns_pid = pid,
		.uid = 1000,	       .start_ns = ts - 10, .cgroup_id = 1,
	};

	set_comm(r.comm, comm);
	gen_raw(g, &r, sizeof(r));
}

void gen_exec(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	      uint32_t old_tid, const char *comm, const char *file, const char *args,
	      size_t args_len)
{
	struct wire_exec r = {
		HDR(WIRE_TASK_EXEC, 0),
		.tid = tid,
		.pid = pid,
		.old_tid = old_tid ? old_tid : tid,
		.uid = 1000,
		.cgroup_id = 1,
		.file_len = (wire_u16)(strlen(file) + 1),
		.args_len = (wire_u16)args_len,
	};

	set_comm(r.comm, comm);
	memcpy(r.strings, file, r.file_len);
	memcpy(r.strings + r.file_len, args, args_len);
	gen_raw(g, &r, offsetof(struct wire_exec, strings) + r.file_len + args_len);
}

void gen_rename(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
		const char *comm)
{
	struct wire_rename r = { HDR(WIRE_TASK_RENAME, 0), .tid = tid, .pid = pid };

	set_comm(r.comm, comm);
	gen_raw(g, &r, sizeof(r));
}

void gen_exit(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	      uint32_t code, bool group_dead, uint64_t sum_exec_ns)
{
	gen_exit_all(g, ts, cpu, tid, pid, code, group_dead, sum_exec_ns, 0);
}

void gen_exit_all(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
		  uint32_t code, bool group_dead, uint64_t sum_exec_ns, uint32_t group_code)
{
	EMIT(wire_exit, HDR(WIRE_TASK_EXIT, 0), .tid = tid, .pid = pid, .exit_code = code,
	     .group_dead = group_dead, .sum_exec_ns = sum_exec_ns, .uid = 1000,
	     .group_code = group_code);
}

void gen_cgroup(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
		uint64_t cgroup_id)
{
	EMIT(wire_cgroup, HDR(WIRE_TASK_CGROUP, 0), .tid = tid, .pid = pid, .cgroup_id = cgroup_id,
	     .whole_process = 1);
}

void gen_snap_full(struct gen *g, uint64_t ts, uint32_t tid, uint32_t pid, uint32_t ppid,
		   uint64_t start_ns, const char *comm, const int64_t rss_pages[4],
		   int64_t vm_pages, uint64_t sum_exec_ns, unsigned int cpu, bool on_cpu)
{
	struct wire_snap r = {
		.task = { HDR(WIRE_TASK_SNAP, 0), .tid = tid, .pid = pid, .ppid = ppid,
			  .ns_tid = tid, .ns_pid = pid, .start_ns = start_ns, .cgroup_id = 1 },
		.total_vm_pages = vm_pages,
		.sum_exec_ns = sum_exec_ns,
		.cpu = cpu,
		.on_cpu = on_cpu,
		.read_ns = ts + 1000,
		.off_cpu_state = on_cpu ? 0 : (tid + 1) % 4,
	};

	set_comm(r.task.comm, comm);
	memcpy(r.rss_pages, rss_pages, sizeof(r.rss_pages));
	gen_raw(g, &r, sizeof(r));
}

void gen_snap(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	      uint32_t ppid, const char *comm)
{
	static const int64_t rss[4] = { 10, 100, 0, 1 };

	gen_snap_full(g, ts, tid, pid, ppid, 1 + tid, comm, rss, 1000, 5000, cpu, false);
}

/* ---- slices ---- */

void gen_loss(struct gen *g, const struct trace_loss *loss)
{
	buf_add(&g->losses, loss, sizeof(*loss));
}

void gen_cost(struct gen *g, const struct trace_cost *cost)
{
	buf_add(&g->costs, cost, sizeof(*cost));
}

void gen_hook_stat(struct gen *g, const struct trace_hook_stat *stat)
{
	buf_add(&g->hook_stats, stat, sizeof(*stat));
}

void gen_mark(struct gen *g, uint64_t ts, const char *text)
{
	const struct trace_mark m = { .ts_ns = ts, .text = text };

	buf_add(&g->marks, &m, sizeof(m));
}

const struct block_segment *gen_records(const struct gen *g)
{
	struct gen *m = (struct gen *)g;

	m->segment = (struct block_segment){ g->records.len ? (const void *)g->records.data : "",
					     g->records.len };
	return &m->segment;
}

void gen_last(struct gen *g)
{
	g->is_last = true;
}

void gen_suspend(struct gen *g, uint64_t dur_ns)
{
	g->suspended_ns += dur_ns;
}

void gen_set_clock(struct gen *g, int64_t by_ns)
{
	g->set_ns += by_ns;
}

/* The loss of what was dropped, as the recorder's counters tell it: somewhere in the slice. */
static void add_drop(struct gen *g, uint64_t to_ns)
{
	struct gen_drop *d = g->config.drop;

	if (d && d->cnt && !d->is_silent)
		gen_loss(g, &(struct trace_loss){ .from_ns = g->from_ns, .to_ns = to_ns,
						  .hook = (uint8_t)d->hook,
						  .cls = hook_name_find(d->hook)->cls,
						  .full_cnt = d->cnt });
	if (d)
		d->cnt = 0;
}

void gen_slice(struct gen *g, uint64_t to_ns)
{
	uint64_t elapsed_ns = to_ns + g->suspended_ns;
	struct trace_clock clock = {
		.mono_ns = to_ns,
		.boot_ns = elapsed_ns + 7,
		.real_ns = elapsed_ns + 1700000000000000000ull + (uint64_t)g->set_ns,
		.tai_ns = elapsed_ns + 1700000037000000000ull + (uint64_t)g->set_ns,
		.uncertainty_ns = 20,
	};
	struct block_slice s;
	struct err e = { 0 };

	add_drop(g, to_ns);
	s = (struct block_slice){
		.from_ns = g->from_ns,
		.to_ns = to_ns,
		.segments = gen_records(g),
		.segment_cnt = 1,
		.losses = (void *)g->losses.data,
		.loss_cnt = g->losses.len / sizeof(struct trace_loss),
		.costs = (void *)g->costs.data,
		.cost_cnt = g->costs.len / sizeof(struct trace_cost),
		.hook_stats = (void *)g->hook_stats.data,
		.hook_stat_cnt = g->hook_stats.len / sizeof(struct trace_hook_stat),
		.marks = (void *)g->marks.data,
		.mark_cnt = g->marks.len / sizeof(struct trace_mark),
		.clocks = &clock,
		.clock_cnt = 1,
		.is_last = g->is_last,
	};
	if (g->sw && store_writer_begins_file(g->sw))
		block_writer_force_keyframe(g->bw);
	MUST(block_writer_encode(g->bw, &s, &g->block, &g->block_bytes, &g->stats));
	if (g->sw && store_writer_append(g->sw, g->block, g->block_bytes, 0, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		abort();
	}
	g->from_ns = to_ns;
	buf_reset(&g->records);
	buf_reset(&g->losses);
	buf_reset(&g->costs);
	buf_reset(&g->hook_stats);
	buf_reset(&g->marks);
}

const void *gen_last_block(const struct gen *g, size_t *ret_bytes)
{
	*ret_bytes = g->block_bytes;
	return g->block;
}

const struct block_stats *gen_last_stats(const struct gen *g)
{
	return &g->stats;
}

struct block_writer *gen_block_writer(struct gen *g)
{
	return g->bw;
}

struct store_writer *gen_store_writer(struct gen *g)
{
	return g->sw;
}
