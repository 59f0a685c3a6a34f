/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * probe: see probe.h. Opens the skeleton, sets constants that describe the kernel, and loads only
 * the selected programs, in the cheapest variants that this kernel supports.
 */
#include "probe/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/workers.h"
#include "ebpfrec.skel.h"
#include "probe/attach.h"
#include "probe/kernel.h"
#include "probe/program_queue.h"
#include "probe/source.h"
#include "probe/span_probes.h"

/*
 * stats_helper: a process that turns the kernel's statistics of BPF programs on and off, for
 * probe_stats_start() and probe_stats_switch() of probe.h.
 */

/*
 * Serves requests: '1' or '0' turns the statistics on or off; the answer is a byte. The statistics
 * are on while the descriptor that turned them on is open: they are off when the helper has ended,
 * for any reason.
 */
static void serve_stats(int fd)
{
	int stats_fd = -1;
	char c;

	while (read(fd, &c, 1) == 1) {
		if (c == '1' && stats_fd < 0) {
			stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
			c = stats_fd < 0 ? 'e' : '1';
		} else if (c == '0' && stats_fd >= 0) {
			close(stats_fd);
			stats_fd = -1;
		}
		if (send(fd, &c, 1, MSG_NOSIGNAL) != 1)
			break;
	}
}

int probe_stats_start(struct helper *ret)
{
	if (!privilege_has(CAP_SYS_ADMIN))
		return -EPERM;
	return helper_start(ret, "ebpfrec-stats", PRIVILEGE_BIT(CAP_SYS_ADMIN), SOCK_STREAM,
			    serve_stats);
}

int probe_stats_switch(const struct helper *h, bool on)
{
	char c = on ? '1' : '0';
	ssize_t n;

	if (send(h->fd, &c, 1, MSG_NOSIGNAL) != 1)
		return -errno;
	do {
		n = read(h->fd, &c, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1 && c != 'e' ? 0 : -EIO;
}

#define RSS_SUM_CPUS_MAX 4	/* iterations of the loop in fix_rss_pages() */
#define TARGETS_MAX 65536
#define ONLY_REQUESTS_MAX 16384
#define ONLY_PLACES_BYTES (1u << 17)	/* FILTER_PLACES of bpf/filter.bpf.h */
#define NO_TASK_STORAGE \
	"this kernel has no task storage for tracing programs, which Linux has since 5.12"

struct probe {
	struct ebpfrec_bpf *skel;
	struct kernel_info *kernel;
	struct attached attached;
	unsigned int cpu_cnt;
	struct rings rings;
	struct wire_counters *counters;
	size_t counters_bytes;
	uint32_t sources, copies;
	char programs[1024];
};

/* Sets the constants for this kernel's tracepoints: see conf.bpf.h. */
static void describe_kernel(struct ebpfrec_bpf__rodata *r, const struct kernel_info *k,
			    unsigned int cpu_cnt)
{
	int n;

	r->conf_switch_state_arg = kernel_tracepoint_args(k, "sched_switch") >= 4;
	r->conf_call = kernel_has_helper(k, "BPF_FUNC_task_pt_regs");
	r->conf_cookie = kernel_has_helper(k, "BPF_FUNC_get_attach_cookie");
	r->conf_rq_arg = !kernel_arg_is(k, "block_rq_issue", 0, "request");
	r->conf_bio_arg = !kernel_arg_is(k, "block_bio_queue", 0, "bio");
	r->conf_merge_arg = !kernel_arg_is(k, "block_bio_backmerge", 0, "bio");
	r->conf_kmalloc_cache_arg = kernel_arg_points_to(k, "kmalloc", 2) != NULL;
	if (!kernel_arg_points_to(k, "kmem_cache_alloc", 2))
		r->conf_cache_alloc_sizes = 1;
	else if (kernel_tracepoint_args(k, "kmem_cache_alloc") >= 6)
		r->conf_cache_alloc_sizes = 2;
	r->conf_cache_free_cache = kernel_arg_is(k, "kmem_cache_free", 2, "kmem_cache");
	r->conf_rss_count_arg = kernel_tracepoint_args(k, "rss_stat") >= 3;
	r->conf_rss_sum_cpus = cpu_cnt <= RSS_SUM_CPUS_MAX ? cpu_cnt : 0;
	r->conf_oom_task = kernel_arg_is(k, "mark_victim", 0, "task_struct");
	n = kernel_tracepoint_args(k, "mmap_lock_released");
	r->conf_lock_write_arg = n == 2 ? 1 : 2;
	r->conf_at_runqueues = kernel_percpu_at(k, "runqueues");
	r->conf_at_preempt_count = kernel_percpu_at(k, "__preempt_count");
	r->conf_at_pcpu_hot = kernel_percpu_at(k, "pcpu_hot");
	r->conf_at_this_cpu_off = kernel_percpu_at(k, "this_cpu_off");
	r->conf_at_current_task = kernel_percpu_at(k, "current_task");
}

/*
 * Selects the cheapest variants that this kernel supports. plain: excludes variants that may fail
 * depending on how the kernel was built or set up, such as without a JIT compiler; only loading
 * shows whether they work.
 */
static int describe_ways(struct probe *p, const struct probe_config *config, bool plain)
{
	struct ebpfrec_bpf__rodata *r = p->skel->rodata;
	/*
	 * The id must be from the kernel's own BTF; in a BTF file the function may have another id.
	 */
	uint32_t cast_id = plain || config->btf_file ?
			   0 : kernel_function_id(p->kernel, "bpf_rdonly_cast");
	bool fetching = adapt_can_fetch();
	struct bpf_program *prog;
	int err;

	err = rings_plan(&p->rings, &config->rings, p->cpu_cnt);
	if (err)
		return err;
	r->conf_wake_bytes = p->rings.wake_bytes;
	r->conf_peek = cast_id != 0;
	r->conf_fetching = fetching;
	r->conf_reentrant = !source_skips_nested(p->kernel);
	r->conf_stage = !kernel_is_preempt_rt();
	r->conf_copies = source_has_seconds(p->kernel);
	bpf_object__for_each_program(prog, p->skel->obj)
		err = err ?: adapt_program(prog, p->kernel, cast_id, fetching);
	return err;
}

/* Returns whether the programs need the set of the workload's processes. */
static bool needs_targets(const struct probe_config *config)
{
	uint32_t of_targets = SOURCE_BIT(SOURCE_HEAP);

	/* to name code in stacks, the recorder follows the code mappings of the set's processes */
	if (!config->of_all)
		of_targets |= SOURCE_BIT(SOURCE_OFFCPU) | SOURCE_BIT(SOURCE_SAMPLE);
	return config->targets || config->only || config->cgroup_id ||
	       (config->sources & of_targets) ||
	       (!config->of_all && (config->stacks_min_bytes || config->stacks_every));
}

static int pick_programs(struct probe *p, const struct probe_config *config, struct err *e)
{
	uint32_t sources = config->sources;
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, p->skel->obj)
		bpf_program__set_autoload(prog, false);
	bpf_program__set_autoload(p->skel->progs.task_snapshot, true);
	bpf_program__set_autoload(p->skel->progs.find_cpu_area, true);
	bpf_program__set_autoload(p->skel->progs.page_calibrate,
				  !!(config->sources & SOURCE_BIT(SOURCE_PAGE)));
	bpf_program__set_autoload(p->skel->progs.read_fact, true);
	bpf_program__set_autoload(p->skel->progs.flush_stage, true);
	bpf_program__set_autoload(p->skel->progs.read_symbol,
				  kernel_has_helper(p->kernel, "BPF_FUNC_snprintf"));
	if (config->span_probes && span_probes_need_cookies(config->span_probes) &&
	    !kernel_has_helper(p->kernel, "BPF_FUNC_get_attach_cookie"))
		return err_set(e, -ENOSYS,
			       "--request: one function only: this kernel has no "
			       "bpf_get_attach_cookie, which Linux has since 5.15");
	if (config->sources & SOURCE_BIT(SOURCE_OFFCPU) && !source_has_task_storage(p->kernel)) {
		if (config->offcpu_ns)
			return err_set(e, -ENOSYS, "--offcpu: " NO_TASK_STORAGE);
		notices_warn(&config->notices, "sched.offcpu: " NO_TASK_STORAGE);
		sources &= ~SOURCE_BIT(SOURCE_OFFCPU);
	}
	bpf_program__set_autoload(p->skel->progs.offcpu_seed,
				  !!(sources & SOURCE_BIT(SOURCE_OFFCPU)));
	for (unsigned int i = 0; i < source_program_cnt; i++) {
		const struct source_program *sp = &source_programs[i];

		if (!(sources & SOURCE_BIT(sp->source)))
			continue;
		if (!strcmp(sp->program, "task_free") && !needs_targets(config))
			continue;
		if (sp->source == SOURCE_SPAN &&
		    !span_probes_need(config->span_probes, sp->program))
			continue;
		if (source_program_usable(sp, p->kernel)) {
			prog = bpf_object__find_program_by_name(p->skel->obj, sp->program);
			if (!prog)
				return err_set(e, -ENOENT, "program %s is not in the object: a bug",
					       sp->program);
			bpf_program__set_autoload(prog, true);
			snprintf(p->programs + strlen(p->programs),
				 sizeof(p->programs) - strlen(p->programs), "%s%s",
				 p->programs[0] ? " " : "", sp->program);
			continue;
		}
		if (sp->optional)
			continue;
		if (sp->source == SOURCE_TASK || sp->source == SOURCE_SWITCH)
			return err_set(
				e, -ENOSYS,
				"this kernel is too old or cut down: it has no tracepoint %s (%s)",
				sp->tracepoint, sp->used_for);
		notices_warn(&config->notices,
			     "%s: this kernel has no tracepoint %s; %s will be missing",
			     source_infos[sp->source].name, sp->tracepoint, sp->used_for);
	}
	return 0;
}

static int size_maps(struct probe *p, const struct probe_config *config)
{
	bool waits = bpf_program__autoload(p->skel->progs.offcpu_seed), copies;
	bool track = needs_targets(config);

	bpf_map__set_max_entries(p->skel->maps.counters, p->cpu_cnt);
	bpf_map__set_max_entries(p->skel->maps.stages, p->cpu_cnt);
	if (track)
		bpf_map__set_max_entries(p->skel->maps.targets, TARGETS_MAX);
	if (config->stacks_min_bytes || config->stacks_every)
		bpf_map__set_max_entries(p->skel->maps.stack_places, p->cpu_cnt * WIRE_LEVELS);
	if (config->only) {
		bpf_map__set_max_entries(p->skel->maps.only_requests, ONLY_REQUESTS_MAX);
		bpf_map__set_value_size(p->skel->maps.only_objects, ONLY_PLACES_BYTES);
	}
	if (!(config->sources & SOURCE_BIT(SOURCE_HEAP)))
		bpf_map__set_max_entries(p->skel->maps.heap_calls, 1);
	if (config->sources & SOURCE_BIT(SOURCE_SAMPLE))
		bpf_map__set_max_entries(p->skel->maps.sample_places, p->cpu_cnt);
	if (!span_probes_need(config->span_probes, "span_usdt_begin")) {
		bpf_map__set_autocreate(p->skel->maps.__bpf_usdt_specs, false);
		bpf_map__set_autocreate(p->skel->maps.__bpf_usdt_ip_to_spec_id, false);
	}
	p->copies = p->skel->rodata->conf_call ? config->copies & config->sources : 0;
	p->skel->rodata->conf_copy_stacks = !!(p->copies & SOURCE_BIT(SOURCE_SAMPLE));
	p->skel->rodata->conf_copy_waits = copies = !!(p->copies & SOURCE_BIT(SOURCE_OFFCPU));
	bpf_map__set_autocreate(p->skel->maps.offcpu_places, waits && !copies);
	bpf_map__set_autocreate(p->skel->maps.offcpu_copies, waits && copies);
	return track;
}

static int map_counters(struct probe *p, struct err *e)
{
	long page = sysconf(_SC_PAGESIZE);
	void *area;

	/* The array pads elements to multiples of 8 bytes; the struct's size is such a multiple. */
	p->counters_bytes = (p->cpu_cnt * sizeof(struct wire_counters) + page - 1) / page * page;
	area = mmap(NULL, p->counters_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		    bpf_map__fd(p->skel->maps.counters), 0);
	if (area == MAP_FAILED)
		return err_set(e, -errno, "cannot map the event counters: %s", strerror(errno));
	p->counters = area;
	return 0;
}

/* Runs an iterator program to its end. Calls row for each record; row is NULL if it writes none. */
static int run_iterator(struct bpf_program *prog,
			int (*row)(void *ctx, const struct wire_snap *snap), void *ctx,
			struct err *e)
{
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);
	struct wire_snap rows[64];
	size_t have = 0;
	int err = 0, fd;

	if (!link)
		return err_set(e, -errno, "cannot attach the task iterator: %s", strerror(errno));
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0) {
		err = err_set(e, -errno, "cannot start the task iterator: %s", strerror(errno));
		goto out;
	}
	for (;;) {
		ssize_t n = read(fd, (char *)rows + have, sizeof(rows) - have);
		size_t i;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			err = err_set(e, -errno, "cannot read the list of tasks: %s",
				      strerror(errno));
		if (n <= 0)
			break;
		have += n;
		for (i = 0; i < have / sizeof(rows[0]) && err >= 0; i++)
			err = row(ctx, &rows[i]);
		if (err < 0)
			break;
		have %= sizeof(rows[0]);
		memmove(rows, rows + i, have);
	}
	close(fd);
out:
	bpf_link__destroy(link);
	return err < 0 ? err : 0;
}

static void find_cpu_areas(struct probe *p, const struct probe_config *config)
{
	if (p->skel->rodata->conf_at_runqueues)
		run_iterator(p->skel->progs.find_cpu_area, NULL, NULL, NULL);
	for (unsigned int cpu = 0; cpu < p->cpu_cnt; cpu++) {
		if (p->counters[cpu].preempt_at)
			return;
	}
#if defined(__x86_64__)
	/* In other pid namespaces, the kernel threads that lead to these areas are invisible. */
	notices_warn(&config->notices,
		     "interrupts cannot be told from the tasks they interrupt, on this kernel or "
		     "from this pid namespace: allocations and wake-ups in interrupts are charged "
		     "to the interrupted task");
#endif
}

static void calibrate_pages(struct probe *p, const struct probe_config *config)
{
	volatile struct wire_calib *calib = &p->skel->bss->calib;
	struct bpf_link *link = NULL;
	int err = -errno;

	if (!(config->sources & SOURCE_BIT(SOURCE_PAGE)))
		return;
	calib->tid = gettid();
	link = attach_program(p->skel->progs.page_calibrate);
	if (link)
		err = kernel_find_pages(calib, &p->skel->bss->kernel_vmemmap);
	bpf_link__destroy(link);
	calib->tid = 0;
	if (err)
		notices_warn(&config->notices,
			     "alloc.page: page frame numbers cannot be told %s; pages are "
			     "numbered from an unknown base",
			     privilege_has(CAP_SYS_ADMIN) ? "here" : "without CAP_SYS_ADMIN");
}

static int refused(int err, const char *text, struct err *e)
{
	return err_set(e, err == -EPERM || err == -ENOMEM ? err : -ENOSYS,
		       "the kernel refused the BPF programs: %s%s%s%s", strerror(-err),
		       privilege_is_locked_down() ? "; " PRIVILEGE_LOCKED_DOWN : "",
		       *text ? "; " : "", text);
}

/*
 * Makes the rings (piece 0) or loads the programs (piece 1), in parallel: after filling the slots,
 * the kernel waits for an RCU grace period of about 10 ms, which is shorter than the loading.
 */
static int make_piece(void *ctx, unsigned int piece, struct err *e)
{
	struct probe *p = ctx;
	struct err why = { "" };
	int err;

	if (!piece)
		return rings_make(&p->rings, bpf_map__fd(p->skel->maps.rings),
				  kernel_locks_map_memory(p->kernel), e);
	libbpf_text_clear();
	err = ebpfrec_bpf__load(p->skel);
	if (err)
		return refused(err, libbpf_text(), e);
	err = program_queue_load(&why);
	return err ? refused(err, why.text, e) : 0;
}

/* Loads the programs. plain: without the variants that may fail. */
static int load_from(struct probe *p, const struct probe_config *config, int types_fd, bool plain,
		     struct err *e)
{
	struct workers pieces = { .cnt = 2, .thread_max = 2, .run = make_piece, .ctx = p };
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	char types[32];
	int err;

	/*
	 * Always pass a file: otherwise libbpf would also search the modules' BTF for types that
	 * this kernel lacks, which takes CAP_SYS_ADMIN.
	 */
	snprintf(types, sizeof(types), "/proc/self/fd/%d", types_fd);
	opts.btf_custom_path = types;
	err = program_queue_register(p->kernel);
	if (err)
		return err_set(e, err, "cannot open the BPF object: %s", strerror(-err));
	p->skel = ebpfrec_bpf__open_opts(&opts);
	if (!p->skel)
		return err_set(e, -errno, "cannot open the BPF object: %s", strerror(errno));
	err = core_types_write(kernel_btf(p->kernel), bpf_object__btf(p->skel->obj), types_fd);
	if (err)
		return err_set(e, err, "cannot pick the kernel's types: %s", strerror(-err));
	p->programs[0] = 0;
	err = pick_programs(p, config, e);
	if (err)
		return err;
	err = describe_ways(p, config, plain);
	if (err)
		return err_set(e, err, "cannot fit the programs to this kernel: %s",
			       strerror(-err));
	describe_kernel(p->skel->rodata, p->kernel, p->cpu_cnt);
	p->skel->rodata->conf_track = size_maps(p, config);
	p->skel->rodata->conf_only = config->only;
	p->skel->rodata->conf_stacks_min = config->stacks_min_bytes;
	p->skel->rodata->conf_stacks_every = config->stacks_every;
	p->skel->rodata->conf_offcpu_ns = config->offcpu_ns ? config->offcpu_ns : PROBE_OFFCPU_NS;
	p->skel->rodata->conf_offcpu_targets = !config->of_all;
	p->skel->rodata->conf_page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	p->skel->rodata->conf_cgroup_id = config->cgroup_id;
	p->skel->rodata->conf_rss = !!(config->sources & SOURCE_BIT(SOURCE_RSS));
	p->skel->rodata->conf_vm = !!(config->sources & SOURCE_BIT(SOURCE_VM));
	err = rings_make_slots(&p->rings, p->skel->maps.rings);
	if (err)
		return err_set(e, err, "cannot make a map: %s%s", strerror(-err),
			       err == -EPERM ? "; a container's seccomp filter or a security "
					       "module may forbid bpf()" : "");
	return workers_run(&pieces, e);
}

static int load_programs(struct probe *p, const struct probe_config *config, bool plain,
			 struct err *e)
{
	int types_fd = memfd_create("ebpfrec_types", MFD_CLOEXEC), err;

	if (types_fd < 0)
		return err_set(e, -errno, "cannot make a file in memory: %s", strerror(errno));
	err = load_from(p, config, types_fd, plain, e);
	close(types_fd);
	return err;
}

static void unload(struct probe *p)
{
	ebpfrec_bpf__destroy(p->skel);
	p->skel = NULL;
	rings_done(&p->rings);
}

static int load(struct probe *p, const struct probe_config *config, struct err *e)
{
	int err = load_programs(p, config, false, e);

	if (err == -ENOSYS && p->skel && p->skel->rodata->conf_peek) {
		struct err first = *e;

		unload(p);
		e->text[0] = 0;
		err = load_programs(p, config, true, e);
		if (err)
			*e = first;
		else
			notices_warn(&config->notices, "each event costs more than it should: %s",
				     first.text);
	}
	err = err ?: map_counters(p, e);
	if (err)
		return err;
	p->attached.obj = p->skel->obj;
	p->attached.cpu_cnt = p->cpu_cnt;
	p->attached.profile_ns = config->profile_ns;
	p->attached.heap_program = config->heap_program;
	p->attached.span_probes = config->span_probes;
	p->attached.has_cookies = p->skel->rodata->conf_cookie;
	find_cpu_areas(p, config);
	calibrate_pages(p, config);
	return 0;
}

/* Returns the capability that is missing, or NULL. */
static const char *missing_capability(void)
{
	bool bpf = privilege_has(CAP_BPF), perfmon = privilege_has(CAP_PERFMON);

	if (!privilege_is_global())
		return "CAP_BPF and CAP_PERFMON of the initial user namespace "
		       "(this is another one)";
	/* CAP_SYS_ADMIN implies the others. */
	if (privilege_has(CAP_SYS_ADMIN) || (bpf && perfmon))
		return NULL;
	if (!bpf && !perfmon)
		return "CAP_BPF and CAP_PERFMON";
	return bpf ? "CAP_PERFMON" : "CAP_BPF";
}

int probe_open(struct probe **ret, const struct probe_config *config, struct err *e)
{
	const char *missing = missing_capability();
	struct probe *p;
	int err, cpus;

	if (missing)
		return err_set(e, -EPERM,
			       "not permitted to record: %s missing; run with sudo, or have root "
			       "give the program what it needs: setcap cap_bpf,cap_perfmon+ep FILE",
			       missing);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	adapt_keep_text();
	p->sources = config->sources;
	err = kernel_info_open(&p->kernel, config->btf_file, e);
	if (err)
		goto fail;
	cpus = libbpf_num_possible_cpus();
	if (cpus < 0) {
		err = err_set(e, cpus, "cannot tell the number of CPUs: %s", strerror(-cpus));
		goto fail;
	}
	p->cpu_cnt = cpus;
	err = load(p, config, e);
	if (err)
		goto fail;
	*ret = p;
	return 0;
fail:
	probe_close(p);
	return err;
}

void probe_close(struct probe *p)
{
	if (!p)
		return;
	probe_detach(p);
	if (p->counters)
		munmap(p->counters, p->counters_bytes);
	unload(p);
	kernel_info_close(p->kernel);
	free(p);
}

unsigned int probe_cpu_cnt(const struct probe *p)
{
	return p->cpu_cnt;
}

const struct rings *probe_rings(const struct probe *p)
{
	return &p->rings;
}

int probe_add_target(struct probe *p, uint32_t pid)
{
	uint8_t one = 1;

	if (!p->skel->rodata->conf_track)
		return 0;
	p->skel->bss->target_places[pid % sizeof(p->skel->bss->target_places)] = 1;
	return bpf_map_update_elem(bpf_map__fd(p->skel->maps.targets), &pid, &one, 0) ? -errno : 0;
}

/*
 * Attaches programs, and then allocates the storage of existing threads: one of the programs
 * allocates that of new threads.
 */
static int attach(struct probe *p, uint32_t sources, struct err *e)
{
	int err;

	p->skel->bss->offcpu_since_ns = clock_mono_ns();
	err = attach_sources(&p->attached, sources, e);
	if (!err && sources & SOURCE_BIT(SOURCE_OFFCPU) &&
	    bpf_program__autoload(p->skel->progs.offcpu_seed))
		err = run_iterator(p->skel->progs.offcpu_seed, NULL, NULL, e);
	return err;
}

int probe_attach(struct probe *p, struct err *e)
{
	return attach(p, p->sources, e);
}

void probe_detach(struct probe *p)
{
	attach_drop_all(&p->attached);
}

int probe_take_skipped(struct probe *p, unsigned int hook, struct err *e)
{
	return attach_second(&p->attached, hook, e);
}

/*
 * Turns on or off the state that task hooks send for alloc.rss and alloc.vm: the hooks stay
 * attached.
 */
static void switch_mm_state(struct probe *p, unsigned int source, bool off)
{
	uint32_t bit = source == SOURCE_RSS ? WIRE_MM_RSS : source == SOURCE_VM ? WIRE_MM_VM : 0;
	volatile uint32_t *mask = &p->skel->bss->mm_state_off;

	*mask = off ? *mask | bit : *mask & ~bit;
}

void probe_source_off(struct probe *p, unsigned int source)
{
	switch_mm_state(p, source, true);
	attach_drop_source(&p->attached, source);
}

int probe_source_on(struct probe *p, unsigned int source, struct err *e)
{
	int err = attach(p, SOURCE_BIT(source), e);

	switch_mm_state(p, source, false);
	if (err)
		probe_source_off(p, source);
	return err;
}

int probe_snapshot(struct probe *p, int (*row)(void *ctx, const struct wire_snap *snap), void *ctx,
		   struct err *e)
{
	return run_iterator(p->skel->progs.task_snapshot, row, ctx, e);
}

struct probe_count probe_count(const struct probe *p, unsigned int cpu, unsigned int hook)
{
	const volatile struct wire_tally *t = p->counters[cpu].tally;

	return (struct probe_count){
		.attempted = t[0].attempted[hook] + t[1].attempted[hook],
		.lost_full = t[0].lost_full[hook] + t[1].lost_full[hook],
		.lost_other = t[0].lost_other[hook] + t[1].lost_other[hook],
	};
}

/*
 * Returns the number of skipped events that are not missing: the second program sent them, or there
 * was nothing to send.
 */
static uint64_t seen_by_second(const struct probe *p, unsigned int hook)
{
	const volatile struct wire_counters *c = p->counters;
	uint64_t sum = 0;

	for (unsigned int cpu = 0; cpu < p->cpu_cnt; cpu++)
		sum += c[cpu].tally[1].attempted[hook] + c[cpu].tally[1].passed[hook];
	return sum;
}

static unsigned int first_hook(enum source source)
{
	for (unsigned int i = 0; i < source_program_cnt; i++)
		if (source_programs[i].source == source && source_programs[i].hook)
			return source_programs[i].hook;
	return 0;
}

int probe_read_stats(const struct probe *p, struct probe_run_stats stats[WIRE_HOOK_MAX])
{
	memset(stats, 0, WIRE_HOOK_MAX * sizeof(*stats));
	for (unsigned int i = 0; i < source_program_cnt; i++) {
		const struct source_program *sp = &source_programs[i];
		struct bpf_program *prog =
			bpf_object__find_program_by_name(p->skel->obj, sp->program);
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);
		unsigned int hook;

		if (!prog || !bpf_program__autoload(prog))
			continue;
		if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			return -errno;
		hook = sp->hook ? sp->hook : first_hook(sp->source);
		stats[hook].run_time_ns += info.run_time_ns;
		if (sp->copy)
			continue;
		if (sp->hook)
			stats[hook].missed_cnt += info.recursion_misses;
		stats[hook].run_cnt += info.run_cnt;
	}
	/*
	 * Read these counters after missed_cnt: events that were skipped in between only make the
	 * difference too small.
	 */
	for (unsigned int i = 0; i < WIRE_HOOK_MAX; i++) {
		uint64_t done = seen_by_second(p, i);

		stats[i].missed_cnt -= done < stats[i].missed_cnt ? done : stats[i].missed_cnt;
	}
	return 0;
}

static int try_all(void *ctx)
{
	struct probe_run_stats stats[WIRE_HOOK_MAX];
	int err = probe_flush(ctx);

	return err && err != -EAGAIN ? err : probe_read_stats(ctx, stats);
}

uint64_t probe_needs(struct probe *p)
{
	return privilege_without(try_all, p) ? PRIVILEGE_BIT(CAP_BPF) : 0;
}

/* Runs a program with an address as its argument. The program stores its result in a map. */
static int run_with(const struct bpf_program *prog, uint64_t addr)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &addr, .ctx_size_in = sizeof(addr));

	return bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
}

int probe_flush(const struct probe *p)
{
	return rings_flush(&p->rings, bpf_program__fd(p->skel->progs.flush_stage));
}

bool probe_has_symbols(const struct probe *p)
{
	return bpf_program__autoload(p->skel->progs.read_symbol);
}

int probe_symbol(struct probe *p, uint64_t addr, char *name, size_t size)
{
	const char *text = p->skel->bss->fact.text, *slash, *module;
	int err;

	if (!probe_has_symbols(p))
		return -ENOTSUP;
	err = run_with(p->skel->progs.read_symbol, addr);
	if (err)
		return err;
	/* "function+0x1a/0x2b [module]", or the address as a number */
	slash = strchr(text, '/');
	module = strchr(text, ' ');
	if (!slash)
		return -ENOENT;
	snprintf(name, size, "%.*s%s", (int)(slash - text), text, module ? module : "");
	return 0;
}

int probe_cache_name(struct probe *p, uint64_t addr, char *name, size_t size,
		     uint64_t *ret_object_bytes)
{
	const struct wire_fact *fact = &p->skel->bss->fact;
	int err = run_with(p->skel->progs.read_fact, addr);

	if (err)
		return err;
	if (!fact->text[0])
		return -ENOENT;
	snprintf(name, size, "%.*s", (int)sizeof(fact->text) - 1, fact->text);
	*ret_object_bytes = fact->value;
	return 0;
}

uint32_t probe_copies(const struct probe *p)
{
	return p->copies;
}

bool probe_has_steal(const struct probe *p)
{
	return p->sources & SOURCE_BIT(SOURCE_SWITCH) &&
	       kernel_has_field(p->kernel, "cfs_rq", "rq") &&
	       kernel_has_field(p->kernel, "rq", "prev_steal_time_rq");
}

const char *probe_programs(const struct probe *p)
{
	return p->programs;
}

const char *probe_library_version(void)
{
	return libbpf_version_string();
}

/*
 * own_pids: finds this program in the kernel's list of tasks. For each process, the list has its id
 * and its parent's id in the initial namespace, and its id in its own namespace. A process is
 * assumed to be this program if its own id and its children's ids match. Other namespaces may
 * contain the same ids: if two processes match, the result is unknown.
 */

#define PID_NS_INITIAL 0xEFFFFFFCu /* inode of /proc/self/ns/pid: PROC_PID_INIT_INO */

bool own_pids_are_other(void)
{
	struct stat ns;

	return !stat("/proc/self/ns/pid", &ns) && ns.st_ino != PID_NS_INITIAL;
}

static int keep_process(void *ctx, const struct wire_snap *snap)
{
	struct buf *rows = ctx;

	if (snap->task.tid == snap->task.pid)
		buf_add(rows, &snap->task, sizeof(snap->task));
	return rows->failed ? -ENOMEM : 0;
}

/* Finds the child of parent whose id in its own namespace is ns_pid. Returns 0 if there is none. */
static uint32_t child_of(const struct buf *rows, uint32_t parent, uint32_t ns_pid)
{
	const struct wire_task *t = (const void *)rows->data;

	for (size_t i = 0; i < rows->len / sizeof(*t); i++) {
		if (t[i].ppid == parent && t[i].ns_pid == ns_pid)
			return t[i].pid;
	}
	return 0;
}

/*
 * Returns true if `process` and its children have the ids `pids` in their own namespace, and then
 * sets ret to their ids in the initial namespace.
 */
static bool is_us(const struct buf *rows, const struct wire_task *process, const uint32_t *pids,
		  size_t cnt, uint32_t *ret)
{
	if (process->ns_pid != pids[0])
		return false;
	ret[0] = process->pid;
	for (size_t i = 1; i < cnt; i++) {
		ret[i] = pids[i] ? child_of(rows, process->pid, pids[i]) : 0;
		if (pids[i] && !ret[i])
			return false;
	}
	return true;
}

int own_pids_translate(struct probe *probe, uint32_t *pids, size_t cnt, struct err *e)
{
	uint32_t found[OWN_PIDS_MAX] = { 0 }, these[OWN_PIDS_MAX];
	const struct wire_task *t;
	struct buf rows = {};
	unsigned int times = 0;
	int err = probe_snapshot(probe, keep_process, &rows, e);

	t = (const void *)rows.data;
	for (size_t i = 0; !err && i < rows.len / sizeof(*t); i++) {
		if (is_us(&rows, &t[i], pids, cnt, these) && !times++)
			memcpy(found, these, cnt * sizeof(*found));
	}
	buf_done(&rows);
	if (err)
		return err;
	if (times != 1)
		memset(found, 0, sizeof(found));
	memcpy(pids, found, cnt * sizeof(*pids));
	return 0;
}
