/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * names: answers the block writer's questions for names, on the machine that is recorded.
 */
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "chunk/block_writer.h"

struct probe;
struct names;
struct user_sites;

/* Finds the cgroup file system and reads the kernel's symbols; what is missing stays unresolved. */
int names_new(struct names **ret, struct probe *probe);
void names_free(struct names *n);

/* False where the kernel hides the addresses of its functions from this user: they stay without names. */
bool names_has_kernel_symbols(const struct names *n);

/* The callbacks for block_writer_config; n and sites (NULL: user space is not named) must outlive the writer. */
struct block_names names_callbacks(struct names *n, struct user_sites *sites);

#endif /* NAMES_H */
