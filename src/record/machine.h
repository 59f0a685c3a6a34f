/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* machine: describes the recorded machine in the manifest. Never records environment variables. */
#pragma once

#include <stdbool.h>

#include "format/rows.h"
#include "store/store_writer.h"

/* Sets host, kernel.*, cpu.*, mem.*, page_bytes, recorder.version in the manifest. */
void machine_describe(struct store_writer *w);

/* Sets online[cpu] for the CPUs that are online now. The switches show later changes. */
void machine_online_cpus(bool *online, unsigned int cpu_cnt);

/*
 * A CPU that does not switch hides the thread that runs on it. This visits each CPU, which forces a
 * switch there, and the switch names that thread.
 */
void machine_visit_cpus(void);

/*
 * The clocks at one instant: mono_ns is midway between two readings uncertainty_ns * 2 apart, with
 * the other clocks in between. Tries a few times and keeps the tightest.
 */
void machine_read_clocks(struct trace_clock *ret);
