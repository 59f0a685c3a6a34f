/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* metric_table: each metric names a section of the counted rows and the column it is made of. */
#include "cmd/metrics/metric_table.h"

#include <stddef.h>

#define COUNTER(name, section, column, help)                                                       \
	{                                                                                          \
		"ebpfrec_" name, METRIC_COUNTER, section, column, NULL, help                       \
	}
#define GAUGE(name, section, column, help)                                                         \
	{                                                                                          \
		"ebpfrec_" name, METRIC_GAUGE, section, column, NULL, help                         \
	}
#define PEAK(name, section, column, help)                                                          \
	{                                                                                          \
		"ebpfrec_" name, METRIC_PEAK, section, column, NULL, help                          \
	}
#define PART(name, section, column, label, help)                                                   \
	{                                                                                          \
		"ebpfrec_" name, METRIC_COUNTER, section, column, label, help                      \
	}

#define STATE(word, help)                                                                          \
	PART("thread_state_seconds", "states", word "_ns", "state=\"" word "\"", help)
#define RECORDER_CPU(column, mode, help)                                                           \
	PART("recorder_cpu_seconds", "cost", column, "mode=\"" mode "\"", help)

const struct metric metric_table[] = {
	COUNTER("cpu_seconds", "cpu", "oncpu_ns", "Time on any CPU."),
	COUNTER("context_switches", "cpu", "switches", "Switches away from a CPU."),
	COUNTER("preemptions", "cpu", "preempted",
		"Switches away from a CPU while still runnable."),
	STATE("running", "Time that threads spent in a state."),
	STATE("runnable", NULL),
	STATE("preempted", NULL),
	STATE("disk", NULL),
	STATE("uninterruptible", NULL),
	STATE("sleeping", NULL),
	STATE("stopped", NULL),
	STATE("unknown", NULL),
	COUNTER("cpu_wait_seconds", "waits", "wait_ns", "Time spent waiting for a CPU."),
	COUNTER("cpu_waits", "waits", "waits", "Waits for a CPU that ended."),
	PEAK("cpu_wait_peak_seconds", "waits", "wait_max_ns",
	     "Longest wait for a CPU that ended in the peak interval."),
	GAUGE("resident_bytes", "memory", "rss_bytes", "Resident memory."),
	PEAK("resident_peak_bytes", "memory", "rss_peak_bytes",
	     "Highest resident memory in the peak interval."),
	COUNTER("allocated_bytes", "alloc", "alloc_bytes",
		"Memory allocated. Sources overlap; do not add them."),
	COUNTER("freed_bytes", "alloc", "free_bytes",
		"Memory freed. Sources overlap; do not add them."),
	COUNTER("exit_bytes", "alloc", "exit_bytes",
		"Memory that processes still held when they ended or called exec."),
	PEAK("burst_peak_bytes", "bursts", "bytes",
	     "Largest spike of resident memory of 16 MiB and more that began in the peak "
	     "interval."),
	COUNTER("io_bytes", "io", "bytes", "Bytes of block requests that ended, by owner."),
	COUNTER("io_requests", "io", "ios", "Block requests that ended, by owner."),
	COUNTER("device_bytes", "requests", "bytes",
		"Bytes of block requests that ended. Devices stack; do not add layers."),
	COUNTER("device_requests", "requests", "ios", "Block requests that ended."),
	COUNTER("device_errors", "requests", "errors", "Block requests that failed."),
	PEAK("request_peak_seconds", "requests", "lat_max_ns",
	     "Longest time of a block request that ended in the peak interval."),
	{ "ebpfrec_request_seconds", METRIC_HISTOGRAM, "latency", "ios", NULL,
	  "Time of block requests from queueing to completion." },
	COUNTER("events", "sources", "events", "Events recorded."),
	COUNTER("lost_events", "sources", "lost", "Events lost."),
	COUNTER("source_off_seconds", "sources", "off_ns",
		"Time in which record --max-overhead had turned a source off."),
	RECORDER_CPU("user_ns", "user",
		     "CPU time of the recorder, and of its programs in the kernel."),
	RECORDER_CPU("sys_ns", "system", NULL),
	RECORDER_CPU("kernel_ns", "programs", NULL),
	COUNTER("recorder_written_bytes", "cost", "bytes_written", "Bytes written to the trace."),
	COUNTER("incomplete_seconds", "trace", "incomplete_ns",
		"Time of windows of which something that was recorded is missing: what was counted "
		"there is not complete."),
	COUNTER("missing_seconds", "trace", "missing_ns",
		"Time that the trace has no block of, that was removed before it was counted, or "
		"whose events came after."),
	GAUGE("trace_end_timestamp_seconds", "trace", "end_unix_ns",
	      "Wall clock of the instant up to which all other values count."),
	GAUGE("trace_end_monotonic_seconds", "trace", "end_mono_ns",
	      "The same instant by the trace's own clock, CLOCK_MONOTONIC."),
	GAUGE("peak_interval_seconds", "program", "peak_interval_ns",
	      "Length of the interval whose peaks are shown."),
	GAUGE("recording", "program", "recording", "1: the trace is being recorded."),
	{ NULL, 0, NULL, NULL, NULL, NULL },
};
