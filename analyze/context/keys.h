/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * keys: the keys by which rows of a result are grouped.
 *
 * A set of keys is a mask, 1u << REPORT_BY_x. Besides process, thread and the thread's name, a key
 * of tasks is a text that every process has: its name, its container, its user. Such a key is one
 * line in the table of keys.c; views, SQL and the options of `report` are derived from it. Threads:
 * a struct task_keys belongs to one.
 */
#pragma once

#include "analyze/context/analysis.h"
#include "analyze/context/dense_ids.h"
#include "base/strpool.h"

#define KEY(x) (1u << REPORT_BY_##x)
#define KEYS_TEXT                                                                                  \
	(KEY(COMM) | KEY(CGROUP) | KEY(CONTAINER) | KEY(UNIT) | KEY(USER) | KEY(TREE))
/* a task may have several names over time */
#define KEYS_NAME (KEY(COMM) | KEY(THREAD_NAME))
#define KEYS_THREAD (KEY(THREAD) | KEY(THREAD_NAME))	/* of these, a thread is the finest */
#define KEYS_WHO (KEY(PROCESS) | KEYS_THREAD | KEYS_TEXT)
/* of block requests */
#define KEYS_REQUEST (KEY(DEVICE) | KEY(PARTITION) | KEY(OP) | KEY(SIZE) | KEY(FILE))

#define KEYS_UNKNOWN "[unknown]" /* the text if the task, or its key, is unknown */

/* "comm,device" as a mask; "" and "none": 0. False: a word is not a key. */
bool keys_parse(const char *list, unsigned int *ret);
/* Writes a mask in the form that keys_parse() reads. */
void keys_format(unsigned int keys, char *buf, size_t size);
/*
 * Adds the keys that rows of block requests always have: without a key of requests, rows are by
 * device and operation, too; if only device or partition is given, they are by operation, too.
 */
unsigned int keys_of_requests(unsigned int keys);

/* The texts of processes, each made on first use. */
struct task_keys {
	const struct dense_ids *ids;
	struct strpool *pool;
	const char **texts[REPORT_BY_CNT];	/* by dense process; NULL: not made yet */
	uint32_t *roots;			/* root + 1; 0: not looked up yet */
};

void task_keys_init(struct task_keys *k, const struct dense_ids *d);
void task_keys_done(struct task_keys *k);

/*
 * Returns the text of one of KEYS_TEXT, valid as long as k; equal texts are one pointer. "[none]":
 * the process is in no container or unit; "[unknown]": unknown; a pseudo process has its name.
 * NULL: out of memory.
 */
const char *task_keys_text(struct task_keys *k, enum report_by key, uint32_t process);
/* The same for a thread's name; "" if the number is not a thread's. */
const char *task_keys_thread_name(struct task_keys *k, uint32_t thread);
/* The same for a former name of a process or thread; and for any text. */
const char *task_keys_name(struct task_keys *k, const char *name);
const char *task_keys_put(struct task_keys *k, const char *text);
