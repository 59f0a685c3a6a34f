/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* machine: describes the recorded machine in the manifest, without environment variables. */
#pragma once

#include <stdbool.h>

#include "format/rows.h"
#include "store/store_writer.h"

/* Sets host, kernel.*, cpu.*, mem.*, page_bytes, recorder.version in the manifest. */
void machine_describe(struct store_writer *w);

/*
 * Runs the calling thread on each CPU. This forces a switch on each CPU. The record of the switch
 * shows the thread that was running on the CPU.
 */
void machine_visit_cpus(void);

/*
 * Reads all clocks at almost the same time: mono_ns is midway between two readings that are
 * uncertainty_ns * 2 apart, and the other clocks are read between these. Repeats this a few times
 * and returns the readings with the lowest uncertainty.
 */
void machine_read_clocks(struct trace_clock *ret);
