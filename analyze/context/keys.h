/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * keys: the keys by which rows of a result are grouped.
 *
 * A set of keys is a mask, 1u << REPORT_BY_x. Keys of tasks are process, thread, the thread's name,
 * and texts that every process has, such as its name, container or user. A text is declared by a
 * line of the table in keys.c; views, SQL and the options of `report` are derived from that table.
 * Threads: a struct task_keys belongs to one thread.
 */
#pragma once

#include "analyze/context/dense_ids.h"
#include "analyze/context/row_sink.h"
#include "base/strpool.h"

#define KEY(x) (1u << REPORT_BY_##x)
#define KEYS_TEXT                                                                                  \
	(KEY(COMM) | KEY(CGROUP) | KEY(CONTAINER) | KEY(UNIT) | KEY(USER) | KEY(TREE))
/* keys that are names, which may change over time */
#define KEYS_NAME (KEY(COMM) | KEY(THREAD_NAME))
#define KEYS_THREAD (KEY(THREAD) | KEY(THREAD_NAME))	/* keys with one or more rows per thread */
#define KEYS_WHO (KEY(PROCESS) | KEYS_THREAD | KEYS_TEXT)
/* keys of block requests */
#define KEYS_REQUEST (KEY(DEVICE) | KEY(PARTITION) | KEY(OP) | KEY(SIZE) | KEY(FILE))

#define KEYS_UNKNOWN "[unknown]" /* text if the task or its key is unknown */

/* Parses keys such as "comm,device"; "" and "none": 0. Returns false if a word is not a key. */
bool keys_parse(const char *list, unsigned int *ret);
/* Writes a mask in the form that keys_parse() reads. */
void keys_format(unsigned int keys, char *buf, size_t size);
/*
 * Adds the keys that rows of block requests always have: device and operation if there is no key of
 * requests, or operation if device or partition is the only key.
 */
unsigned int keys_of_requests(unsigned int keys);

/* Texts of processes, made on first use. */
struct task_keys {
	const struct dense_ids *ids;
	struct strpool *pool;
	const char **texts[REPORT_BY_CNT];	/* by dense process; NULL: not made yet */
	/* by dense process: root of its tree + 1; 0: not looked up yet */
	uint32_t *roots;
};

void task_keys_init(struct task_keys *k, const struct dense_ids *d);
void task_keys_done(struct task_keys *k);

/*
 * Returns the text of a process for one of KEYS_TEXT, valid until task_keys_done(); equal texts are
 * the same pointer. "[none]": the process is in no container or unit. "[unknown]": unknown. The
 * text of a pseudo process is its name. NULL: out of memory.
 */
const char *task_keys_text(struct task_keys *k, enum report_by key, uint32_t process);
/* As task_keys_text(), for a thread's name; "": the number is not a thread's. */
const char *task_keys_thread_name(struct task_keys *k, uint32_t thread);
/* As task_keys_text(), for a given name of a process or thread, and for any text. */
const char *task_keys_name(struct task_keys *k, const char *name);
const char *task_keys_put(struct task_keys *k, const char *text);
