/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A terminal of 80 columns shows the subject of a view for values of any width. Columns that the
 * view declares dispensable are dropped to make room.
 */
#include "analyze/engine/report_view.h"
#include "cmd/render/render.h"
#include "tests/unit/unit_test.h"

#define ROWS 3
#define COLS_MAX 24

/* The columns of a view as csv has them, and the headings that must be there. */
static const struct {
	const char *view, *columns, *about;
	bool has_no_room; /* for all of them, where only some rows are complete */
} views[] = {
	{ "cpu", "pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,"
		 "irq_ns,softirq_ns", "ONCPU,%CPU", false },
	{ "sched", "pid,comm,waits,wait_ns,wait_p50_ns,wait_p99_ns,wait_max_ns,wakeups,preempts,"
		   "unknown_waits,migrations,complete,lost_events", "WAIT,WAIT MAX", false },
	{ "states", "pid,comm,life_ns,running_ns,runnable_ns,preempted_ns,disk_ns,"
		    "uninterruptible_ns,sleeping_ns,stopped_ns,unknown_ns,complete,lost_events",
	  "RUNNING,RUNNABLE,ASLEEP", false },
	{ "states", "phase,t_ns,dur_ns,pid,comm,life_ns,running_ns,runnable_ns,preempted_ns,"
		    "disk_ns,uninterruptible_ns,sleeping_ns,stopped_ns,unknown_ns,complete,"
		    "lost_events", "RUNNING,RUNNABLE,PREEMPT,DISK,UNINT,ASLEEP", true },
	{ "io", "pid,comm,device,op,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns,"
		"errors,merges,requeues,unknown_owner_ios,submitter,owner_how,complete,lost_events",
	  "DEVICE,OP,IOS,BYTES,LAT MAX", false },
	{ "latency", "device,op,ios,lat_p50_ns,lat_p90_ns,lat_p99_ns,lat_p999_ns,lat_max_ns,"
		     "queue_p50_ns,queue_p90_ns,queue_p99_ns,queue_p999_ns,queue_max_ns,"
		     "device_p50_ns,device_p90_ns,device_p99_ns,device_p999_ns,device_max_ns,"
		     "errors,merges,requeues,complete,lost_events",
	  "DEVICE,OP,QUEUE P50,QUEUE P99,DEVICE P50,DEVICE P99", false },
	{ "devices", "device,busy_pct,depth_avg,depth_max,iops,bytes_per_s,reads,read_bytes,"
		     "writes,write_bytes,others,lat_avg_ns,merges,errors,busy_ns,inflight_ns,"
		     "complete,lost_events", "BUSY %,IOPS,BYTES/S", false },
	{ "timeline", "start_ns,cpu,dur_ns,pid,tid,comm,wait_ns,end_reason,complete,lost_events",
	  "CPU,DUR,COMM", false },
	{ "leaks", "pid,comm,source,kind,call_site,objects,bytes,oldest_ns,newest_ns,unsure,"
		   "complete,lost_events,held", "CALL SITE,BYTES", false },
	{ "lifetimes", "pid,comm,source,kind,call_site,allocs,bytes,freed,temporary,"
		       "temporary_pct,temporary_bytes,life_avg_ns,life_max_ns,complete,"
		       "lost_events", "TEMPORARY", false },
	{ "pattern", "device,op,ios,bytes,seq_pct,size_avg_bytes,size_p50_bytes,size_p90_bytes,"
		     "size_p99_bytes,size_max_bytes,complete,lost_events", "SIZE P50 BYTES",
	  false },
};

static struct value widest(const char *name, unsigned int row, bool same)
{
	static const char *const texts[][2] = {
		{ "device", "nvme10n1p12" }, { "op", "discard" }, { "source", "slab" },
		{ "kind", "kmalloc-cg-4k" }, { "held", "live" },
	};
	enum column_kind kind = column_find(name)->kind;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!strcmp(name, texts[i][0]))
			return value_text(texts[i][1]);
	if (!strcmp(name, "comm") || !strcmp(name, "phase") || !strcmp(name, "call_site") ||
	    !strcmp(name, "submitter") || !strcmp(name, "owner_how") || !strcmp(name, "end_reason"))
		return value_text("kworker/u64:12-events_unbound");
	if (!strcmp(name, "complete"))
		return value_int(same || row);
	if (!strcmp(name, "lost_events"))
		return value_int(same || row ? 0 : 123456);
	if (kind == COLUMN_RATE || kind == COLUMN_BYTE_RATE || kind == COLUMN_RATIO ||
	    kind == COLUMN_PERCENT)
		return (struct value){ .type = VALUE_REAL,
				       .r = kind == COLUMN_BYTE_RATE ? 1023e6 :
					    kind == COLUMN_PERCENT ? 99.9 : 9999.9 };
	return value_int(kind == COLUMN_ID ? 4194303 - row : kind == COLUMN_COUNT ? 9999999 :
							     999000000 + row);
}

/* The first line that a terminal of so many columns shows. malloc'ed. */
static char *heading(size_t view, unsigned int width, bool same)
{
	char *columns = strdup(views[view].columns), *text = NULL, *at, *rest = columns;
	struct render_options o = { .format = RENDER_TABLE, .human = true, .width = width,
				    .drops = report_view_find(views[view].view)->drops };
	const char *names[COLS_MAX];
	struct value row[COLS_MAX];
	unsigned int cnt = 0;
	struct render *r;
	size_t bytes;

	while ((at = strsep(&rest, ","))) {
		assert_in_range(cnt, 0, COLS_MAX - 1);
		names[cnt++] = at;
	}
	o.out = open_memstream(&text, &bytes);
	assert_int_equal(render_new(&r, &o), 0);
	assert_int_equal(render_begin(r, cnt, names), 0);
	for (unsigned int i = 0; i < ROWS; i++) {
		for (unsigned int k = 0; k < cnt; k++)
			row[k] = widest(names[k], i, same);
		assert_int_equal(render_put(r, row), 0);
	}
	assert_int_equal(render_end(r), 0);
	render_free(r);
	fclose(o.out);
	free(columns);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

UNIT_TEST(test_narrow_tables_show_what_a_view_is_about)
{
	bool failed = false;

	for (unsigned int i = 0; i < 4 * sizeof(views) / sizeof(*views); i++) {
		unsigned int width = i % 2 ? 120 : 80;
		bool same = i / 2 % 2;
		char *line = heading(i / 4, width, same), *about = strdup(views[i / 4].about);
		bool must = same || width > 80 || !views[i / 4].has_no_room;
		char *rest = about, *want;

		assert_in_range(strlen(line), 1, width);
		while ((want = strsep(&rest, ","))) {
			if (!must || strstr(line, want))
				continue;
			print_error("%s, %u columns: no %s in '%s'\n", views[i / 4].view, width,
				    want, line);
			failed = true;
		}
		free(line);
		free(about);
	}
	assert_false(failed);
}

UNIT_TESTS
