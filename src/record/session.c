/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * session: runs a recording. The order of steps at the start is important:
 *
 *   fork the command (it waits) - load - start readers (they drop all records) - wait for
 *   --start-at - attach - choose the start time - snapshot - force a switch on every CPU - rename
 *   an older trace with the same name - drop privileges - release the command
 *
 * so that all events after the start time are recorded, and no earlier ones. Then the main thread
 * cuts a slice about every SLICE_NS (or when many bytes are waiting), encodes it and appends it,
 * while the readers continue. The steps at the end:
 *
 *   snapshot - choose the end time - cut the last slice there - detach - drain the rings - append
 *   the last block
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/privilege.h"
#include "record/encode/block_writer.h"
#include "format/rows.h"
#include "probe/probe.h"
#include "ring/heap_ring.h"
#include "ring/ring.h"
#include "record/launch.h"
#include "record/machine.h"
#include "record/guard/overhead.h"
#include "record/session_state.h"
#include "record/tasks/user_sites.h"
#include "store/store_writer.h"

#define SLICE_NS 800000000ULL /* with encoding and sync, a crash loses less than a second */
/* SLICE_NS with --max-overhead, whose budget is checked after each slice */
#define BUDGET_SLICE_NS 400000000ULL
#define SLICE_BYTES (24ULL << 20)	/* size of records, about half a million of them */
#define LOOK_MS 50
#define TICK_NS 250000000ULL
/* With --start-at, programs are attached this long before the start, to have no cost until then. */
#define ATTACH_AHEAD_NS 5000000000ULL
#define START_AHEAD_NS 20000000ULL
/* cuts are set this far in the future, so that no reader has passed them */
#define AHEAD_NS 2000000ULL

/* ---- starting ---- */

static int keep_snapshot_row(void *ctx, const struct wire_snap *snap)
{
	struct session *s = ctx;
	struct wire_snap row = *snap;

	if (!s->slice_ns) {
		/*
		 * Skip tasks younger than the recording, which have creation records. An older task
		 * was alive at the start, even if its row was read later.
		 */
		if (row.task.start_ns >= s->start_ns)
			return 0;
		row.task.hdr.ts_ns = s->start_ns;
		/*
		 * Later switches of a thread outside the target set are not recorded, so its state
		 * would soon be outdated.
		 */
		if (s->o.only && !(row.task.hdr.flags & WIRE_F_TARGET))
			row.on_cpu = row.off_cpu_state = 0;
	}
	if (s->sites && !s->slice_ns &&
	    (row.task.hdr.flags & WIRE_F_TARGET || session_is_of_all(s)) &&
	    row.task.tid == row.task.pid && user_sites_add(s->sites, row.task.pid))
		return -ENOMEM;
	buf_add(&s->snapshot, &row, sizeof(row));
	return s->snapshot.failed ? -ENOMEM : 0;
}

/* Drops privileges before the command runs, so that an attack on this process gains nothing. */
static int give_up_privileges(struct session *s, struct err *e)
{
	uint64_t keep = probe_needs(s->probe);
	int err = privilege_drop(keep, &s->user);

	if (err)
		return err_set(e, err, "cannot give up privileges: %s", strerror(-err));
	err = privilege_check_threads(keep, e);
	return err ? err_prefix(e, err, "cannot give up privileges") : 0;
}

/* If --start-at was used, waits until ahead_ns before it, even if the wall clock is changed. */
static int wait_for_start(struct session *s, uint64_t ahead_ns, struct err *e)
{
	struct pollfd fd = { .fd = s->stop_fd, .events = POLLIN };
	uint64_t now_ns;

	while (!s->stop_cnt && (now_ns = clock_real_ns() + ahead_ns) < s->o.start_real_ns)
		poll(&fd, 1, clock_poll_ms(now_ns, s->o.start_real_ns, LOOK_MS));
	return s->stop_cnt ? err_set(e, -EINTR, "interrupted before recording began; nothing was "
						"kept")
			   : 0;
}

/* Returns the time from which events are kept; it is in the near future. */
static uint64_t choose_start(const struct session *s)
{
	uint64_t soon_ns = clock_mono_ns() + AHEAD_NS, at_ns;
	struct trace_clock now;

	if (!s->o.start_real_ns)
		return soon_ns;
	machine_read_clocks(&now);
	at_ns = now.mono_ns + now.uncertainty_ns + (s->o.start_real_ns - now.real_ns);
	if (at_ns >= soon_ns)
		return at_ns;
	notices_warn(&s->o.notices, "recording begins %.3f s after --start-at",
		     (double)(soon_ns - at_ns) / 1e9);
	return soon_ns;
}

/*
 * If an older trace has the output's name, renames that trace, and then renames the new trace to
 * the output's name. Called after the other steps that can fail, but before privileges are dropped
 * and before the command, which has to find the new trace, is started.
 */
static int take_name(struct session *s, struct err *e)
{
	const char *path = s->o.output;
	int moved, err;

	if (!s->older)
		return 0;
	moved = store_backup(path, s->o.force, store_writer_uid(s->store), e);
	err = moved < 0 ? moved : atomic_output_commit(&s->place, path, false, e);
	if (err)
		return err;
	atomic_output_drop(&s->place);
	s->older = false;
	if (s->o.renamed)
		s->o.renamed(s->o.notices.ctx, s->older_real_ns, moved > 1);
	err = store_writer_renamed(s->store, path);
	return err ? err_set(e, err, "out of memory") : 0;
}

static int begin(struct session *s, struct err *e)
{
	int err = wait_for_start(s, ATTACH_AHEAD_NS, e);

	err = err ?: probe_attach(s->probe, e) ?: wait_for_start(s, START_AHEAD_NS, e);
	if (err)
		return err;
	s->start_ns = choose_start(s);
	ring_group_start_at(s->rings, s->start_ns);
	clock_sleep_until(s->start_ns);
	sampler_begin(s->sampler, s->start_ns);
	if (s->o.budget_ppm) {
		err = overhead_new(&s->overhead, s->o.budget_ppm, &s->o.notices,
				   session_probe_sources(s), s->probe, s->sampler, s->start_ns);
		if (err)
			return err_set(e, err, "out of memory");
	}
	err = probe_snapshot(s->probe, keep_snapshot_row, s, e);
	if (err)
		return err;
	s->slice_ns = s->start_ns;
	machine_read_clocks(&s->start_clock);
	machine_visit_cpus();
	/* In another pid namespace, these pids are other processes in /proc. */
	if (!s->other_ids)
		err = target_read_cmdlines(s->writer, &s->o, &s->snapshot);
	if (err)
		return err_set(e, err, "out of memory");
	err = take_name(s, e);
	return err ? err : give_up_privileges(s, e);
}

/* ---- slices ---- */

static void add_segment(struct buf *list, const void *data, size_t bytes)
{
	struct block_segment seg = { .data = data, .bytes = bytes };

	buf_add(list, &seg, sizeof(seg));
}

/* Sets the text of a write error, which states that the trace is kept. Returns err. */
static int store_error(struct err *e, int err, const struct err *why)
{
	return err ? err_set(e, err, "%s; what was recorded before is kept", err_text(why, err)) :
		     0;
}

/* Encodes the rings' records of [slice_ns, to_ns) and appends the block. */
static int write_slice(struct session *s, uint64_t to_ns, bool is_last, struct err *e)
{
	struct block_slice slice = { .from_ns = s->slice_ns, .to_ns = to_ns, .is_last = is_last };
	struct trace_clock clocks[] = { s->start_clock, { 0 } };
	bool is_first = s->slice_ns == s->start_ns;
	struct block_stats stats = {};
	struct buf list = {};
	struct ring_slab *slab;
	struct err why = { "" };
	const void *block;
	size_t bytes;
	unsigned int ring_cnt = ring_group_slices(s->rings), i;
	int err = 0;

	if (s->overhead)
		err = overhead_slice(s->overhead, s->slices, ring_cnt, &slice);
	err = err ?: sampler_take(s->sampler, store_writer_bytes(s->store), &slice);
	if (!err && s->o.only)
		err = workload_filter_apply(&s->only, s->slices, ring_cnt);
	err = err ?: flight_recorder_slice(s->flight, s->slices, ring_cnt, &s->snapshot, &slice, e);
	if (s->snapshot.len)
		add_segment(&list, s->snapshot.data, s->snapshot.len);
	for (i = 0; i < ring_cnt; i++)
		for (slab = s->slices[i].first; slab; slab = slab->next)
			add_segment(&list, slab->data, slab->bytes);
	if (list.failed)
		err = -ENOMEM;
	machine_read_clocks(&clocks[1]);
	slice.segments = (const struct block_segment *)list.data;
	slice.segment_cnt = list.len / sizeof(struct block_segment);
	slice.clocks = is_first ? clocks : clocks + 1;
	slice.clock_cnt = is_first ? 2 : 1;
	err = err ?: user_sites_look(s->sites);
	if (store_writer_begins_file(s->store))
		block_writer_force_keyframe(s->writer);
	err = err ?: block_writer_encode(s->writer, &slice, &block, &bytes, &stats);
	if (err)
		err_set(e, err, "cannot encode: %s", strerror(-err));
	else
		err = store_error(e, store_writer_append(s->store, block, bytes, 1, &why), &why);
	ring_group_release(s->rings, s->slices);
	buf_reset(&s->snapshot);
	buf_done(&list);
	if (err)
		return err;
	for (i = 0; i < SAMPLER_CLASS_CNT; i++) {
		s->stats.event_cnt[i] += stats.event_cnt[i];
		s->unseen_cnt[i] += stats.unseen_cnt[i];
	}
	s->slice_ns = to_ns;
	flight_recorder_written(s->flight, to_ns);
	user_sites_end_slice(s->sites, to_ns);
	return 0;
}

/* ---- running ---- */

static int cut(struct session *s, uint64_t cut_ns, struct err *e)
{
	int err = ring_group_cut(s->rings, cut_ns);

	return err ? err_set(e, err, "cannot take the records that wait on the CPUs: %s",
			     strerror(-err)) : 0;
}

static bool slice_is_due(struct session *s, uint64_t now_ns)
{
	struct ring_stats r;

	if (now_ns - s->slice_ns >= (s->overhead ? BUDGET_SLICE_NS : SLICE_NS) ||
	    flight_recorder_wants_slice(s->flight))
		return true;
	ring_group_stats(s->rings, &r, false);
	return r.slab_bytes_pending >= SLICE_BYTES;
}

/*
 * Returns true if the recording is over: the command or all watched processes have ended, the
 * duration is over, or a signal arrived.
 */
static bool is_over(struct session *s, uint64_t now_ns, int *ret_exit)
{
	if (s->stop_cnt)
		return true;
	if (s->launch && launch_wait(s->launch, 0, ret_exit))
		return true;
	if (s->o.duration_ns && now_ns - s->start_ns >= s->o.duration_ns)
		return true;
	if (s->launch || !s->o.pid_cnt || s->o.duration_ns)
		return false;
	for (unsigned int i = 0; i < s->o.pid_cnt; i++) {
		if (!kill(s->o.pids[i], 0) || errno == EPERM)
			return false;
	}
	return true;
}

static int run_loop(struct session *s, int *ret_exit, struct err *e)
{
	struct pollfd fds[2 + FLIGHT_RECORDER_POLLS] = { { .fd = s->stop_fd, .events = POLLIN },
					       { .fd = s->launch ? launch_fd(s->launch) : -1,
						 .events = POLLIN } };
	uint64_t cut_ns = 0, tick_ns = 0, now_ns;
	/* false: read the command's mappings in the first round, since the command may exit soon */
	bool has_list = false;
	int err = 0;

	sampler_stats_begin(s->sampler, s->overhead);
	for (;;) {
		uint64_t due_ns = s->o.duration_ns ? s->start_ns + s->o.duration_ns : UINT64_MAX;

		flight_recorder_polls(s->flight, fds + 2);
		poll(fds, 2 + FLIGHT_RECORDER_POLLS,
		     clock_poll_ms(clock_mono_ns(), due_ns, LOOK_MS));
		now_ns = clock_mono_ns();
		err = flight_recorder_look(s->flight, s->start_ns, now_ns, e);
		if (err)
			return err;
		sampler_stats_end(s->sampler);
		err = sampler_look(s->sampler, now_ns) ?: user_sites_look(s->sites);
		if (!err && s->launch && !has_list)
			err = user_sites_read_list(s->sites, launch_pid(s->launch));
		has_list = true;
		if (err)
			return err_set(e, err, "out of memory");
		if (!cut_ns && slice_is_due(s, now_ns)) {
			cut_ns = now_ns + AHEAD_NS;
			sampler_end_usage(s->sampler);
			err = cut(s, cut_ns, e);
			if (err)
				return err;
		} else if (cut_ns && !ring_group_take(s->rings, s->slices, 0)) {
			err = write_slice(s, cut_ns, false, e);
			cut_ns = 0;
			if (!err && s->overhead && overhead_look(s->overhead))
				err = err_set(e, -ENOMEM, "out of memory");
			if (err)
				return err;
			sampler_stats_begin(s->sampler, s->overhead);
		}
		if (s->o.tick && now_ns - tick_ns >= TICK_NS) {
			tick_ns = now_ns;
			s->o.tick(s->o.tick_ctx, s);
		}
		if (is_over(s, now_ns, ret_exit))
			break;
	}
	/* Finish a pending cut, because only one cut may be pending. */
	while (cut_ns && s->stop_cnt < 2 && !err) {
		if (!ring_group_take(s->rings, s->slices, LOOK_MS)) {
			err = write_slice(s, cut_ns, false, e);
			cut_ns = 0;
		}
	}
	return err;
}

/* Waits until all readers have reached the cut. False: the user has requested the stop twice. */
static bool take_cut(struct session *s)
{
	while (ring_group_take(s->rings, s->slices, LOOK_MS)) {
		if (s->stop_cnt >= 2)
			return false;
	}
	return true;
}

/*
 * Takes the end snapshot, chooses a later end time, and writes the last block, with all events
 * until the end time and with the final counters.
 */
static int end(struct session *s, struct err *e)
{
	struct ring_slice *last;
	uint64_t end_ns, detached_ns;
	size_t bytes;
	int err;

	if (s->stop_cnt >= 2)
		return 0;
	err = probe_snapshot(s->probe, keep_snapshot_row, s, e);
	if (err)
		return err;
	end_ns = clock_mono_ns() + AHEAD_NS;
	sampler_end_usage(s->sampler);
	err = cut(s, end_ns, e);
	probe_detach(s->probe);
	heap_ring_end(s->preload.ring);
	heap_ring_end(s->spans);
	if (err)
		return err;
	detached_ns = clock_mono_ns();
	if (!take_cut(s))
		return 0;
	/* Records between the end time and the detaching are read and counted, but not kept. */
	bytes = ring_group_slices(s->rings) * sizeof(*last);
	last = malloc(bytes);
	if (!last)
		return err_set(e, -ENOMEM, "out of memory");
	memcpy(last, s->slices, bytes);
	err = cut(s, detached_ns, e);
	if (!err && take_cut(s)) {
		sampler_drop(s->sampler, s->slices, ring_group_slices(s->rings));
		ring_group_release(s->rings, s->slices);
	}
	memcpy(s->slices, last, bytes);
	free(last);
	return err ?: write_slice(s, end_ns, true, e);
}

static void count_stored(const struct session *s, struct session_stats *st)
{
	const struct store_keep *keep = store_writer_keep(s->store);
	uint64_t from_ns = store_keep_from_ns(keep);

	st->bytes = store_writer_bytes(s->store);
	st->dropped_bytes = keep->dropped_bytes;
	st->kept_ns = from_ns && s->slice_ns > from_ns ? s->slice_ns - from_ns : 0;
}

/* Sets manifest entries for processes whose heap was not recorded. */
static void note_heaps(struct session *s)
{
	uint64_t execs = block_writer_workload_execs(s->writer);
	uint32_t pid, cnt = heap_ring_own_malloc(s->preload.ring, &pid);
	uint32_t began = heap_ring_began(s->preload.ring);

	if (cnt) {
		store_writer_set_number(s->store, "heap.own_malloc", cnt);
		store_writer_set_number(s->store, "heap.own_malloc_pid", pid);
	}
	s->preload.without_cnt = execs > began ? execs - began : 0;
	if (s->preload.without_cnt)
		store_writer_set_number(s->store, "heap.without", s->preload.without_cnt);
}

static void report_bad_lines(struct session *s)
{
	uint64_t cnt;

	if (!s->span_lines)
		return;
	cnt = span_lines_count(s->span_lines, WIRE_SPAN).lost_other;
	if (cnt)
		notices_warn(&s->o.notices,
			     "--span-fd: %llu line%s not valid and count%s as lost, such as '%s'",
			     (unsigned long long)cnt, cnt == 1 ? " is" : "s are",
			     cnt == 1 ? "s" : "", span_lines_first_bad(s->span_lines));
	if (span_lines_unsure_pid(s->span_lines))
		notices_warn(&s->o.notices,
			     "--span-fd: process %u has several threads, and lines without tid=N: "
			     "they count as its main thread's",
			     span_lines_unsure_pid(s->span_lines));
}

/* Finishes the trace. ended: the command has ended, with exit_code. */
static int close_trace(struct session *s, bool ended, int exit_code, struct err *e)
{
	struct store_sync_stats sync;
	struct sampler_totals t;
	struct err why = { "" };
	int err;

	sampler_totals(s->sampler, &t);
	store_writer_sync_stats(s->store, &sync);
	if (ended)
		store_writer_set_number(s->store, "command.exit", exit_code);
	store_writer_set_number(s->store, "attempted", t.attempted);
	store_writer_set_number(s->store, "read", t.read);
	store_writer_set_number(s->store, "lost", t.lost);
	store_writer_set_number(s->store, "disk.sync_max_ns", sync.max_ns);
	if (s->preload.ring) {
		store_writer_set_number(s->store, "heap.clock_error_ns",
					heap_ring_clock_error_ns(s->preload.ring));
		store_writer_set_number(s->store, "heap.event_ps",
					heap_ring_event_ps(s->preload.ring));
		note_heaps(s);
	}
	if (s->spans)
		store_writer_set_number(s->store, "spans.clock_error_ns",
					heap_ring_clock_error_ns(s->spans));
	preload_say(&s->preload, &s->o);
	report_bad_lines(s);
	count_stored(s, &s->stats);
	err = store_error(e, store_writer_finish(s->store, &why), &why);
	s->store = NULL;
	return err;
}

/* Removes the trace of a session in which nothing was recorded and no command has run. */
static void drop_trace(struct session *s)
{
	session_end_flight(s);
	store_writer_abort(s->store);
	s->store = NULL;
	store_remove(s->older ? s->place.path : s->o.output, NULL);
	s->made_output = false;
}

/* Sets the error for a command that could not be run. Returns the exit status. */
static int refuse(const struct session *s, int exec_errno, struct err *e)
{
	const char *command = s->o.command[0];

	err_set(e, 0, "cannot run %s: %s", command,
		exec_errno == ENOENT && !strchr(command, '/') ? "no such command"
							       : strerror(exec_errno));
	return exec_errno == ENOENT || exec_errno == ENOTDIR ? 127 : 126;
}

/*
 * Handles an error during the recording: keeps the recorded part, and waits for the command, which
 * continues.
 */
static void give_up(struct session *s, const struct err *e, int err)
{
	int code;

	probe_detach(s->probe);
	heap_ring_end(s->preload.ring);
	session_end_flight(s);
	store_writer_abort(s->store);
	s->store = NULL;
	if (!s->launch || s->stop_cnt || launch_wait(s->launch, 0, &code))
		return;
	notices_warn(&s->o.notices, "%s; recording has ended, the command goes on as process %d",
		     err_text(e, err), launch_pid(s->launch));
	while (!s->stop_cnt && !launch_wait(s->launch, 0, &code)) {
		struct pollfd fds[2] = { { .fd = s->stop_fd, .events = POLLIN },
					 { .fd = launch_fd(s->launch), .events = POLLIN } };

		poll(fds, 2, 1000);
	}
}

int session_run(struct session *s, int *ret_exit, struct err *e)
{
	int err, exec_errno, code = 0;
	bool ended;

	if (s->launch && launch_refusal(s->launch)) {
		*ret_exit = refuse(s, launch_refusal(s->launch), e);
		return 0;
	}
	err = begin(s, e);
	if (err) {
		drop_trace(s);
		return err;
	}
	if (s->launch) {
		exec_errno = launch_release(s->launch);
		if (exec_errno) {
			drop_trace(s);
			*ret_exit = refuse(s, exec_errno, e);
			return 0;
		}
	}
	err = run_loop(s, &code, e);
	if (!err && s->launch && launch_wait(s->launch, 0, &code))
		err = flight_recorder_exit(s->flight, clock_mono_ns(), code, e);
	err = err ?: flight_recorder_look(s->flight, s->start_ns, clock_mono_ns(), e) ?: end(s, e);
	if (!err)
		flight_recorder_end(s->flight);
	if (!err)
		session_end_flight(s);
	s->end_ns = s->slice_ns;
	if (err) {
		count_stored(s, &s->stats);
		give_up(s, e, err);
		return err;
	}
	/* get the status even if the signal that stopped the recorder also killed the command */
	ended = s->launch && launch_wait(s->launch, 0, &code);
	s->stats.running_pid = s->launch && !ended ? launch_pid(s->launch) : 0;
	if (s->launch && !ended && s->stop_cnt)
		code = 128 + SIGINT;
	err = close_trace(s, ended, code, e);
	*ret_exit = code;
	return err;
}

void session_stop(struct session *s)
{
	uint64_t one = 1;

	s->stop_cnt = s->stop_cnt + 1;
	(void)!write(s->stop_fd, &one, sizeof(one));
}

void session_snapshot(struct session *s)
{
	if (s->flight)
		flight_recorder_ask_snapshot(s->flight);
}

void session_get_stats(const struct session *s, struct session_stats *ret)
{
	struct ring_stats ring;

	*ret = s->stats;
	ret->has_trace = s->made_output;
	if (!s->sampler)
		return;
	sampler_totals(s->sampler, &ret->totals);
	for (unsigned int i = 0; i < SAMPLER_CLASS_CNT; i++) {
		ret->totals.lost_cnt[i] += s->unseen_cnt[i];
		ret->inferred_cnt += s->unseen_cnt[i];
	}
	if (s->overhead)
		ret->off = overhead_off(s->overhead, &ret->off_cnt);
	if (s->end_ns) {
		ret->duration_ns = s->end_ns - s->start_ns;
		return;
	}
	/* count all records that were read, whether encoded or not */
	ring_group_stats(s->rings, &ring, false);
	memset(ret->event_cnt, 0, sizeof(ret->event_cnt));
	for (unsigned int h = 1; h < WIRE_HOOK_MAX; h++)
		if (!wire_hook_is_name(h))
			ret->event_cnt[wire_hook_class[h]] += ring.kept_cnt[h];
	if (s->store)
		count_stored(s, ret);
	ret->duration_ns = s->start_ns ? clock_mono_ns() - s->start_ns : 0;
}
