/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* id_names: names for ids that the block writer asks for, from the machine that is recorded. */
#ifndef ID_NAMES_H
#define ID_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/encode/block_writer.h"

struct probe;
struct id_names;
struct user_sites;

/*
 * Finds the cgroup file system and, for kernels before 5.13, reads the kernel's symbols. Names that
 * are missing stay unresolved.
 */
int id_names_new(struct id_names **ret, struct probe *probe);
void id_names_free(struct id_names *n);

/*
 * False where the kernel hides its functions' addresses from this user; then they stay without
 * names.
 */
bool id_names_has_kernel_symbols(const struct id_names *n);

/* "vda", or "device 8:0" where the kernel has no name for it. */
void id_names_of_device(uint32_t dev, char *buf, size_t size);

/*
 * The callbacks for block_writer_config. n and sites (NULL: no names of user code) must outlive the
 * writer.
 */
struct block_names id_names_callbacks(struct id_names *n, struct user_sites *sites);

#endif /* ID_NAMES_H */
