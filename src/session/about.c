// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * about: one manifest entry per fact. Never environment variables.
 */
#include "session/about.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "probe/probe.h"
#include "probe/source.h"
#include "session/machine.h"
#include "session/session.h"
#include "session/target.h"
#include "store/store_writer.h"

int about_describe(struct store_writer *w, const struct session_options *o, uint32_t sources,
		   const struct probe *probe, uint32_t recorder_pid, uint32_t command_pid,
		   struct err *e)
{
	struct buf text = {};
	unsigned int i;
	int err;

	err = machine_describe(w);
	for (i = 0; i < SOURCE_CNT; i++) {
		if (!(sources & SOURCE_BIT(i)))
			continue;
		if (text.len)
			buf_add(&text, ",", 1);
		buf_add(&text, source_infos[i].name, strlen(source_infos[i].name));
	}
	buf_add(&text, "", 1);
	if (!err && !text.failed)
		err = store_writer_set(w, "sources", (const char *)text.data);
	buf_reset(&text);
	for (i = 0; o->command && o->command[i]; i++) {
		if (i)
			buf_add(&text, " ", 1);
		buf_add(&text, o->command[i], strlen(o->command[i]));
	}
	buf_add(&text, "", 1);
	if (!err && o->command && !text.failed)
		err = store_writer_set(w, "command", (const char *)text.data);
	buf_done(&text);
	if (!err && command_pid)
		err = store_writer_set_number(w, "command.pid", command_pid);
	if (!err)
		err = store_writer_set(w, "programs", probe_programs(probe));
	if (!err)
		err = store_writer_set(w, "only", o->only ? "1" : "0");
	if (!err && recorder_pid)
		err = store_writer_set_number(w, "recorder.pid", recorder_pid);
	if (!err && o->command_line)
		err = store_writer_set(w, "recorder.command_line", o->command_line);
	if (!err && o->keep_bytes)
		err = store_writer_set_number(w, "keep.bytes", o->keep_bytes);
	if (!err && o->keep_ns)
		err = store_writer_set_number(w, "keep.ns", o->keep_ns);
	if (!err && o->stacks_min_bytes)
		err = store_writer_set_number(w, "stacks.min_bytes", o->stacks_min_bytes);
	if (!err && o->stacks_every)
		err = store_writer_set_number(w, "stacks.every", o->stacks_every);
	if (!err && o->cgroup)
		err = store_writer_set(w, "cgroup", o->cgroup);
	if (!err && o->budget_ppm)
		err = store_writer_set_number(w, "max_overhead_ppm", o->budget_ppm);
	if (!err)
		err = store_writer_set_number(w, "ring.bytes", probe_ring_place(probe, 0).bytes);
	if (!err)
		err = store_writer_set_number(w, "ring.cnt", probe_ring_cnt(probe));
	if (!err)
		err = store_writer_set(w, "ring.kind",
				       probe_ring_place(probe, 0).mapped_fd < 0 ? "bpf" : "mapped");
	for (i = 0; !err && i < o->note_cnt; i++)
		err = target_set_note(w, o->notes[i], e);
	return err ? err_set(e, err, "cannot describe the recording: %s", strerror(-err)) : 0;
}
