/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * analysis_export_perfetto(): a window as a trace that ui.perfetto.dev and trace_processor read.
 * This file has what describes the machine.
 */
#include "analyze/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic_output.h"

/* Fields of messages, and clocks. */
enum {
	CLOCKS_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2,
	CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3, CLOCK_IS_BOOTTIME = 6,
	SYSTEM_UTSNAME = 1, SYSTEM_MACHINE_NAME = 17,
	UTSNAME_SYSNAME = 1, UTSNAME_VERSION = 2, UTSNAME_RELEASE = 3, UTSNAME_MACHINE = 4,
};

/* More than this, and browsers and trace_processor have trouble. */
#define BYTES_MAX (500ull << 20)
/*
 * One event of a kind takes this many bytes, measured on recordings of compilers and of databases.
 */
static const uint8_t event_bytes[EVENT_KIND_CNT] = {
	[EVENT_SWITCH] = 11, [EVENT_WAKEUP] = 12, [EVENT_RSS] = 48, [EVENT_REQUEST] = 90,
};

static void put_clock(struct proto *p, unsigned int id, uint64_t ns)
{
	proto_begin(p, CLOCKS_CLOCK);
	proto_uint(p, CLOCK_ID, id);
	proto_uint(p, CLOCK_TIMESTAMP, ns);
	proto_end(p);
}

static int write_clocks(struct perfetto *x)
{
	struct proto *p = &x->packet;

	perfetto_packet(x, 0);
	proto_uint(p, PACKET_SEQUENCE_FLAGS, 1);	/* nothing came before */
	proto_begin(p, PACKET_CLOCKS);
	put_clock(p, CLOCK_IS_BOOTTIME, perfetto_boot_ns(x, x->from_ns));
	put_clock(p, CLOCK_IS_MONOTONIC, x->from_ns);
	put_clock(p, CLOCK_IS_REALTIME, trace_real_ns(x->t, x->from_ns));
	return perfetto_packet_end(x);
}

static void put_manifest(struct perfetto *x, unsigned int field, const char *key)
{
	const char *value = trace_get(x->t, key);

	if (value)
		perfetto_text(&x->packet, field, value);
}

/* The kernel's version tells trace_processor what the states of threads mean. */
static int write_system(struct perfetto *x)
{
	perfetto_packet(x, 0);
	proto_begin(&x->packet, PACKET_SYSTEM_INFO);
	proto_begin(&x->packet, SYSTEM_UTSNAME);
	proto_text(&x->packet, UTSNAME_SYSNAME, "Linux");
	put_manifest(x, UTSNAME_VERSION, "kernel.version");
	put_manifest(x, UTSNAME_RELEASE, "kernel.release");
	put_manifest(x, UTSNAME_MACHINE, "machine");
	proto_end(&x->packet);
	put_manifest(x, SYSTEM_MACHINE_NAME, "host");
	return perfetto_packet_end(x);
}

/* 0, or -EFBIG: the file would be too large for those who read it. */
static int check_size(const struct perfetto *x, struct err *e)
{
	uint64_t bytes = 0;

	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++)
		if (event_bytes[k])
			bytes += context_events(x->a, 1u << k, x->from_ns, x->to_ns) *
				 event_bytes[k];
	if (bytes <= BYTES_MAX)
		return 0;
	return err_set(e, -EFBIG,
		       "the window would take about %llu MB, and Perfetto reads up to about 500 MB "
		       "well; choose a shorter one with --from and --until",
		       (unsigned long long)(bytes >> 20));
}

static int write_all(struct perfetto *x, struct err *e)
{
	int ret = write_clocks(x);

	ret = ret ?: write_system(x);
	/* tasks follow their events: threads that leave a CPU after their exit are known then */
	ret = ret ?: perfetto_sched(x, e) ?: perfetto_tasks(x);
	ret = ret ?: perfetto_task_ends(x) ?: perfetto_tracks(x, e);
	ret = ret ?: perfetto_stacks(x, e);
	return ret;
}

static int fill(void *ctx, FILE *f, struct err *e)
{
	struct perfetto *x = ctx;
	int ret;

	x->out = f;
	ret = write_all(x, e);
	return ret && !e->text[0] ? err_set(e, ret, "%s", strerror(-ret)) : ret;
}

int analysis_export_perfetto(struct analysis *a, const struct export_request *r, uint64_t *ret_rows,
			     struct err *e)
{
	struct perfetto x = { .a = a, .t = a->trace, .sequence = 1,
			      .from_ns = r->from_ns > a->start_ns ? r->from_ns : a->start_ns,
			      .to_ns = r->to_ns < a->end_ns ? r->to_ns : a->end_ns };
	int ret;

	if (!r->force && !access(r->path, F_OK))
		return err_set(e, -EEXIST, "%s exists; -f replaces it", r->path);
	ret = check_size(&x, e);
	if (ret)
		return ret;
	x.left_cpu_ns = calloc(a->ids.thread_cnt, sizeof(*x.left_cpu_ns));
	x.maker = calloc(a->ids.thread_cnt, sizeof(*x.maker));
	x.process_end_ns = calloc(a->ids.process_cnt, sizeof(*x.process_end_ns));
	ret = x.left_cpu_ns && x.maker && x.process_end_ns ?
		atomic_output_file(r->path, r->force, fill, &x, e) :
		err_set(e, -ENOMEM, "out of memory");
	buf_done(&x.packet.buf);
	free(x.left_cpu_ns);
	free(x.maker);
	free(x.process_end_ns);
	*ret_rows = x.row_cnt;
	return ret;
}
