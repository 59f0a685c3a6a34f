/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * session_open: creates the parts of a recording, from options to loaded programs, in the order
 * described in session.c, and frees them. After a failure before the recording began,
 * session_close() removes the directory.
 */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/encode/block_writer.h"
#include "probe/probe.h"
#include "probe/source.h"
#include "ring/heap_ring.h"
#include "ring/ring.h"
#include "record/launch.h"
#include "record/machine.h"
#include "record/guard/overhead.h"
#include "record/session_state.h"
#include "record/tasks/user_sites.h"
#include "store/store_writer.h"

/*
 * Number of descriptors besides those of the rings. On Linux 6.18 with two rings, 94 are open, and
 * 188 with all sources.
 */
#define FILES_NEEDED 128
#define FILES_NEEDED_HEAP 128

static int check_options(const struct session_options *o, uint32_t *ret_sources, struct err *e)
{
	int err = source_parse(o->events, ret_sources, e);

	if (err)
		return err;
	if (o->heap || o->heap_wait)
		*ret_sources |= SOURCE_BIT(SOURCE_HEAP);
	if (o->offcpu_ns)
		*ret_sources |= SOURCE_BIT(SOURCE_OFFCPU);
	if (o->profile_hz)
		*ret_sources |= SOURCE_BIT(SOURCE_SAMPLE);
	if (o->spans || o->span_fd || o->request_cnt)
		*ret_sources |= SOURCE_BIT(SOURCE_SPAN);
	if (o->rings.bytes > 1ULL << 30)
		return err_set(e, -EINVAL, "a ring of %llu bytes is too large: at most 1 GiB",
			       (unsigned long long)o->rings.bytes);
	if ((o->stacks_min_bytes || o->stacks_every) &&
	    !(*ret_sources &
	      (SOURCE_BIT(SOURCE_SLAB) | SOURCE_BIT(SOURCE_PAGE) | SOURCE_BIT(SOURCE_HEAP))))
		return err_set(e, -EINVAL,
			       "--stacks records stacks of allocations, and -e leaves these out: "
			       "add +alloc.slab, +alloc.page or +alloc.heap to its list");
	if (o->only && !o->command && !o->pid_cnt && !o->cgroup)
		return err_set(e, -EINVAL,
			       "--only needs to know whom: give a COMMAND, -p or --cgroup");
	if (*ret_sources & SOURCE_BIT(SOURCE_HEAP) && !o->command && !o->pid_cnt && !o->cgroup)
		return err_set(
			e, -EINVAL,
			"alloc.heap records the workload only: give a COMMAND, -p or --cgroup");
	/* BPF programs see pids of the initial namespace, where these pids are other processes. */
	if ((o->pid_cnt || o->cgroup) && own_pids_are_other())
		return err_set(e, -EINVAL,
			       "-p and --cgroup name processes of the host, and this is a pid "
			       "namespace of its own: give a COMMAND, or record outside of it");
	if ((o->spans || o->span_fd) && own_pids_are_other())
		return err_set(e, -EINVAL,
			       "%s tells threads by ids of the host, and this is a pid namespace "
			       "of its own: record outside of it",
			       o->spans ? "--spans" : "--span-fd");
	for (unsigned int i = 0; i < o->pid_cnt; i++)
		if (kill((pid_t)o->pids[i], 0) && errno == ESRCH)
			return err_set(e, -ESRCH, "-p %u: there is no such process", o->pids[i]);
	return 0;
}

/* Appends a word to a text, after sep unless it is the first word. */
static void join(struct buf *text, const char *word, const char *sep)
{
	if (text->len)
		buf_add(text, sep, strlen(sep));
	buf_add(text, word, strlen(word));
}

/*
 * Adds a limitation to the manifest, without a warning: it applies to all recordings on this
 * machine.
 */
static void add_lack(void *ctx, const char *text)
{
	struct session *s = ctx;

	join(&s->lacks, text, "; ");
}

/* Adds a limitation to the manifest, and warns about it. */
static void note_lack(void *ctx, const char *text)
{
	struct session *s = ctx;

	add_lack(s, text);
	notices_warn(&s->o.notices, "%s", text);
}

/*
 * Finds the user under which the recorder runs after it drops privileges. With sudo, this is the
 * invoking user, who owns the trace.
 */
static void find_user(struct session *s)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

	if (!geteuid() && uid && gid && strtoul(uid, NULL, 10))
		privilege_find_user(&s->user, strtoul(uid, NULL, 10), strtoul(gid, NULL, 10));
}

static bool takes_stacks(const struct session *s)
{
	return s->o.stacks_min_bytes || s->o.stacks_every ||
	       s->sources & (SOURCE_BIT(SOURCE_OFFCPU) | SOURCE_BIT(SOURCE_SAMPLE));
}

static uint64_t profile_period_ns(const struct session *s)
{
	return 1000000000 / (s->o.profile_hz ? s->o.profile_hz : SESSION_PROFILE_HZ);
}

bool session_is_of_all(const struct session *s)
{
	return !s->o.command && !s->o.pid_cnt && !s->o.cgroup;
}

uint32_t session_probe_sources(const struct session *s)
{
	uint32_t others = s->preload.ring ? SOURCE_BIT(SOURCE_HEAP) : 0;

	return s->sources & ~(s->span_probes.cnt ? others : others | SOURCE_BIT(SOURCE_SPAN));
}

/* Reports how much the uprobes of --request slow down each call of a function. */
static void report_probes(const struct session *s)
{
	const struct span_probes *p = &s->span_probes;
	char text[256];

	if (!p->cnt || !s->o.notices.notice)
		return;
	snprintf(text, sizeof(text),
		 "--request: each call of %.80s%s takes two traps more, of 1 to 10 us each",
		 p->names[0], p->cnt > 1 ? " and the others" : "");
	s->o.notices.notice(s->o.notices.ctx, text);
}

static int open_probe(struct session *s, struct err *e)
{
	const struct notices lacks = { .warn = note_lack, .ctx = s };
	const struct notices quiet = { .warn = add_lack, .ctx = s };
	bool stacks = takes_stacks(s), has_code;
	struct probe_config config = { .sources = session_probe_sources(s), .only = s->o.only,
				       .targets = s->preload.ring != NULL,
				       .offcpu_ns = s->o.offcpu_ns,
				       .of_all = session_is_of_all(s),
				       .heap_program = s->preload.program,
				       .span_probes = &s->span_probes,
				       .profile_ns = profile_period_ns(s),
				       .copies = s->other_ids ? 0 : s->o.unwound,
				       .stacks_min_bytes = s->o.stacks_min_bytes,
				       .stacks_every = s->o.stacks_every };
	int err;

	config.rings = s->o.rings;
	config.btf_file = s->o.btf_file;
	config.notices = lacks;
	if (s->o.cgroup) {
		err = target_cgroup_id(s->o.cgroup, &config.cgroup_id, e);
		if (err)
			return err;
	}
	err = probe_open(&s->probe, &config, e);
	if (err)
		return err;
	report_probes(s);
	err = id_names_new(&s->names, s->probe);
	if (err)
		return err_set(e, err, "out of memory");
	if (s->sources & (SOURCE_BIT(SOURCE_HEAP) | SOURCE_BIT(SOURCE_SWITCH)) || stacks) {
		has_code = s->sources & SOURCE_BIT(SOURCE_HEAP) || stacks;
		err = user_sites_new(&s->sites, probe_cpu_cnt(s->probe), has_code,
				     has_code ? &lacks : &quiet, e);
		if (err)
			return err;
	}
	if (s->o.budget_ppm && !privilege_has(CAP_SYS_ADMIN))
		return err_set(e, -EPERM,
			       "--max-overhead: measuring what programs cost takes CAP_SYS_ADMIN; "
			       "run with sudo");
	if ((s->sources & SOURCE_BIT(SOURCE_SLAB) || stacks) &&
	    !id_names_has_kernel_symbols(s->names))
		add_lack(s, "kernel functions: their names need CAP_SYSLOG here");
	/* the kernel lists only threads of the caller's pid namespace */
	if (s->other_ids && !s->o.only)
		note_lack(s, "names: processes outside of this pid namespace that run already have "
			     "none, and their time is [unknown]; a container sees them with "
			     "--pid=host");
	if (probe_stats_start(&s->stats_helper))
		add_lack(s, "cost: run times of programs need CAP_SYS_ADMIN");
	if (config.copies & s->sources & ~probe_copies(s->probe))
		add_lack(s, "user stacks: callers are found by frame pointers only: this kernel "
			    "has no bpf_task_pt_regs, which Linux has since 5.15");
	if (s->sources & SOURCE_BIT(SOURCE_SWITCH) && !probe_has_steal(s->probe))
		add_lack(s, "steal_ns: this kernel does not tell what a hypervisor takes "
			    "(CONFIG_PARAVIRT_TIME_ACCOUNTING)");
	return 0;
}

static int find_own_pids(struct session *s, struct err *e)
{
	int err;

	s->own_pids[OWN_RECORDER] = getpid();
	s->own_pids[OWN_COMMAND] = s->launch ? launch_pid(s->launch) : 0;
	s->own_pids[OWN_STATS] = s->stats_helper.pid;
	s->own_pids[OWN_OPENER] = user_sites_pid(s->sites);
	if (!s->other_ids)
		return 0;
	err = own_pids_translate(s->probe, s->own_pids, OWN_CNT, e);
	if (!err && s->launch && !s->own_pids[OWN_COMMAND])
		err = err_set(e, -ESRCH,
			      "in this pid namespace COMMAND cannot be told from others; "
			      "record outside of it");
	return err;
}

static int open_writers(struct session *s, struct err *e)
{
	struct block_writer_config config = {
		.cpu_cnt = probe_cpu_cnt(s->probe),
		.zstd_level = s->o.zstd_level,
		.filtered = s->o.only,
		.no_switches = !(s->sources & SOURCE_BIT(SOURCE_SWITCH)),
		.tasks = {
			.recorder_pid = s->own_pids[OWN_RECORDER],
			.helper_pids = { s->own_pids[OWN_STATS], s->own_pids[OWN_OPENER] },
			.command_pid = s->own_pids[OWN_COMMAND],
			.page_bytes = sysconf(_SC_PAGESIZE),
			.all_cmdlines = s->o.all_cmdlines,
		},
		.names = id_names_calls(s->names, s->sites),
		.watch_requests = true,
		.span_names = s->span_probes.names,
		.span_name_cnt = (unsigned int)s->span_probes.cnt,
	};
	struct store_config store = {
		.uid = (uid_t)-1, .gid = (gid_t)-1,
		.keep_bytes = s->o.keep_bytes, .keep_ns = s->o.keep_ns,
	};
	int err;

	s->online = calloc(config.cpu_cnt, sizeof(*s->online));
	if (!s->online)
		return err_set(e, -ENOMEM, "out of memory");
	/* a CPU that comes online later appears in switch records */
	topology_online(TOPOLOGY_DIR, config.cpu_cnt, s->online);
	config.cpu_online = s->online;
	for (unsigned int cpu = 0; cpu < config.cpu_cnt; cpu++) {
		config.tasks.online_cnt += s->online[cpu];
		if (config.cpu_cnt <= 64)
			config.tasks.online_cpus |= (uint64_t)s->online[cpu] << cpu;
	}
	err = block_writer_new(&s->writer, &config);
	if (err)
		return err_set(e, err, "cannot set up the encoder: %s", strerror(-err));
	if (s->user.change) {
		store.uid = s->user.uid;
		store.gid = s->user.gid;
	}
	err = store_backup_check(s->o.output, s->o.force, store.uid, &s->older_real_ns, e);
	if (err > 0) {
		s->older = true;
		err = atomic_output_begin(&s->place, s->o.output, false, e);
	}
	if (!err)
		err = store_writer_create(&s->store, s->older ? s->place.path : s->o.output, &store,
					  e);
	s->made_output = !err;
	return err;
}

/* Drops all privileges of a reader thread, which only maps and copies memory. */
static int drop_all(void *ctx)
{
	struct session *s = ctx;

	return privilege_drop(0, &s->user);
}

static int flush_stages(void *ctx)
{
	struct session *s = ctx;

	return probe_flush(s->probe);
}

static int start_readers(struct session *s, struct err *e)
{
	struct ring_group_config config = {
		.fds = probe_rings(s->probe)->fds,
		.ring_cnt = probe_rings(s->probe)->cnt,
		.ring_bytes = probe_rings(s->probe)->bytes,
		.enter = drop_all,
		.flush = flush_stages,
		.enter_ctx = s,
	};
	int err;

	if (s->preload.ring) {
		heap_ring_limit_cpus(s->preload.ring, probe_cpu_cnt(s->probe));
		config.feeds[config.feed_cnt++] = (struct ring_feed){
			s->preload.ring, heap_ring_next, heap_ring_unread, heap_ring_count
		};
	}
	if (s->spans) {
		heap_ring_limit_cpus(s->spans, probe_cpu_cnt(s->probe));
		config.feeds[config.feed_cnt++] = (struct ring_feed){
			s->spans, heap_ring_next, heap_ring_unread, heap_ring_count
		};
	}
	if (s->o.span_fd) {
		s->span_lines = span_lines_new(s->o.span_fd);
		if (!s->span_lines)
			return err_set(e, -ENOMEM, "out of memory");
		config.feeds[config.feed_cnt++] = (struct ring_feed){
			s->span_lines, span_lines_next, span_lines_unread, span_lines_count
		};
	}
	err = ring_group_new(&s->rings, &config, e);
	if (err)
		return err;
	s->slices = calloc(ring_group_slices(s->rings), sizeof(*s->slices));
	if (!s->slices)
		return err_set(e, -ENOMEM, "out of memory");
	err = sampler_new(&s->sampler, s->probe, s->rings, config.ring_bytes, &s->stats_helper,
			  config.feeds, config.feed_cnt, clock_mono_ns());
	if (err)
		return err_set(e, err, "out of memory");
	sampler_add_helper(s->sampler, user_sites_pid(s->sites));
	return 0;
}

/*
 * Checks the limit of descriptors: each program, link and ring uses one, and the kernel's errors
 * while loading do not show this cause.
 */
static int check_descriptors(uint32_t sources, const struct span_probes *requests,
			     struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	rlim_t need = FILES_NEEDED + 2 * (rlim_t)(cpus < 1 ? 1 : cpus > 64 ? 64 : cpus);
	struct rlimit limit;

	if (sources & SOURCE_BIT(SOURCE_HEAP))
		need += FILES_NEEDED_HEAP;
	if (sources & SOURCE_BIT(SOURCE_SAMPLE))	/* a perf event per CPU, and its link */
		need += 2 * (rlim_t)(cpus < 1 ? 1 : cpus);
	for (size_t i = 0; i < requests->cnt; i++)	/* uprobes and their links */
		need += 2 * (2 + (rlim_t)requests->v[i].return_cnt);
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return 0;
	return err_set(e, -EMFILE,
		       "recording takes up to %llu open files, and %llu are allowed; raise that "
		       "with `ulimit -n`",
		       (unsigned long long)need, (unsigned long long)limit.rlim_cur);
}

/* Sets a manifest entry to a text, and clears the text. */
static void set_text(struct store_writer *w, const char *key, struct buf *text)
{
	buf_add(text, "", 1);
	if (!text->failed)
		store_writer_set(w, key, (const char *)text->data);
	buf_reset(text);
}

static void set_unless_zero(struct store_writer *w, const char *key, uint64_t value)
{
	if (value)
		store_writer_set_number(w, key, value);
}

/* Sets the manifest entries that are known before the recording begins. */
static int fill_manifest(struct session *s, struct err *e)
{
	const struct session_options *o = &s->o;
	struct store_writer *w = s->store;
	struct buf text = {};
	int err = 0;

	machine_describe(w);
	for (unsigned int i = 0; i < SOURCE_ALL_CNT; i++)
		if (s->sources & SOURCE_BIT(i))
			join(&text, source_infos[i].name, ",");
	set_text(w, "sources", &text);
	for (unsigned int i = 0; o->command && o->command[i]; i++)
		join(&text, o->command[i], " ");
	if (o->command)
		set_text(w, "command", &text);
	buf_done(&text);
	set_unless_zero(w, "command.pid", s->own_pids[OWN_COMMAND]);
	store_writer_set(w, "programs", probe_programs(s->probe));
	store_writer_set(w, "only", o->only ? "1" : "0");
	store_writer_set(w, "steal", probe_has_steal(s->probe) ? "1" : "0");
	set_unless_zero(w, "recorder.pid", s->own_pids[OWN_RECORDER]);
	if (o->command_line)
		store_writer_set(w, "recorder.command_line", o->command_line);
	set_unless_zero(w, "keep.bytes", o->keep_bytes);
	set_unless_zero(w, "keep.ns", o->keep_ns);
	set_unless_zero(w, "stacks.min_bytes", o->stacks_min_bytes);
	set_unless_zero(w, "stacks.every", o->stacks_every);
	if (s->sources & SOURCE_BIT(SOURCE_HEAP))
		store_writer_set(w, "heap", s->preload.ring ? "library" : "uprobes");
	set_unless_zero(w, "heap.sample_bytes", o->heap_sample_bytes);
	if (s->sources & SOURCE_BIT(SOURCE_OFFCPU))
		store_writer_set_number(w, "offcpu.min_ns",
					o->offcpu_ns ? o->offcpu_ns : PROBE_OFFCPU_NS);
	if (s->sources & SOURCE_BIT(SOURCE_SAMPLE))
		store_writer_set_number(w, "profile.period_ns", profile_period_ns(s));
	if (probe_copies(s->probe) & SOURCE_BIT(SOURCE_SAMPLE))
		store_writer_set(w, "profile.unwind", "dwarf");
	if (probe_copies(s->probe) & SOURCE_BIT(SOURCE_OFFCPU))
		store_writer_set(w, "offcpu.unwind", "dwarf");
	if (o->cgroup)
		store_writer_set(w, "cgroup", o->cgroup);
	set_unless_zero(w, "max_overhead_ppm", o->budget_ppm);
	store_writer_set_number(w, "ring.bytes", probe_rings(s->probe)->bytes);
	store_writer_set_number(w, "ring.cnt", probe_rings(s->probe)->cnt);
	for (unsigned int i = 0; !err && i < o->note_cnt; i++)
		err = target_set_note(w, o->notes[i], e);
	if (s->lacks.len)
		set_text(w, "lacks", &s->lacks);
	return err ? err_set(e, err, "cannot describe the recording: %s", strerror(-err)) : 0;
}

void session_end_flight(struct session *s)
{
	struct flight_recorder *w = s->flight;

	s->flight = NULL;	/* clear this first: a signal may request a snapshot at any time */
	flight_recorder_free(w);
}

void session_close(struct session *s)
{
	bool unfinished;

	if (!s)
		return;
	unfinished = s->made_output && !s->start_ns;
	if (s->probe)
		probe_detach(s->probe);
	heap_ring_end(s->preload.ring);
	heap_ring_end(s->spans);
	launch_free(s->launch);
	ring_group_free(s->rings);
	preload_close(&s->preload);
	heap_ring_free(s->spans);
	free(s->spans_env);
	span_lines_free(s->span_lines);
	span_probes_done(&s->span_probes);
	sampler_free(s->sampler);
	workload_filter_done(&s->only);
	overhead_free(s->overhead);
	block_writer_free(s->writer);
	free(s->online);
	session_end_flight(s);
	store_writer_abort(s->store);
	if (unfinished)
		store_remove(s->older ? s->place.path : s->o.output, NULL);
	atomic_output_drop(&s->place);
	id_names_free(s->names);
	user_sites_free(s->sites);
	probe_close(s->probe);
	helper_end(&s->stats_helper);
	buf_done(&s->lacks);
	buf_done(&s->snapshot);
	free(s->slices);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	free(s);
}

int session_span_socket(int fd)
{
	return span_lines_socket(fd);
}

int session_open(struct session **ret, const struct session_options *o, struct err *e)
{
	struct session *s = calloc(1, sizeof(*s));
	char *env[4];
	int err, n = 0;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->o = *o;
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->other_ids = own_pids_are_other();
	find_user(s);
	err = check_options(o, &s->sources, e);
	for (unsigned int i = 0; i < o->request_cnt && !err; i++)
		err = span_probes_add(&s->span_probes, o->requests[i], e);
	err = err ?: check_descriptors(s->sources, &s->span_probes, e);
	err = err ?: flight_recorder_new(&s->flight, &s->o.flight, &s->o.notices, s->sources,
					 &s->span_probes, o->command, e);
	if (!err && s->sources & SOURCE_BIT(SOURCE_HEAP))
		err = preload_open(&s->preload, o, s->user.change ? s->user.uid : geteuid(),
				   s->user.change ? s->user.gid : getegid(), e);
	if (!err && o->spans)
		err = preload_open_spans(&s->spans, &s->spans_env, o,
					 s->user.change ? s->user.uid : geteuid(),
					 s->user.change ? s->user.gid : getegid(), e);
	for (char **p = s->preload.env; *p; p++)
		env[n++] = *p;
	if (s->spans_env)
		env[n++] = s->spans_env;
	env[n] = NULL;
	if (!err && o->command)
		err = launch_new(&s->launch, o->command, o->user, &o->ignored, env, e);
	if (!err && s->launch)
		preload_raise_limit(&s->preload, launch_pid(s->launch));
	/* create no files for a command that cannot be run: session_run() only reports the error */
	if (!err && s->launch && launch_refusal(s->launch)) {
		*ret = s;
		return 0;
	}
	err = err ?: open_probe(s, e) ?: find_own_pids(s, e);
	err = err ?: open_writers(s, e) ?: fill_manifest(s, e);
	err = err ?: store_writer_flush_manifest(s->store, e);
	err = err ?: target_seed(s->probe, s->writer, s->own_pids[OWN_COMMAND], o, e);
	if (!err)
		err = flight_recorder_begin(s->flight, s->store, s->o.output,
					    (const uint32_t[]){ s->own_pids[OWN_RECORDER],
								s->own_pids[OWN_STATS],
								s->own_pids[OWN_OPENER] }, e);
	err = err ?: start_readers(s, e);
	if (err) {
		session_close(s);
		return err;
	}
	*ret = s;
	return 0;
}
