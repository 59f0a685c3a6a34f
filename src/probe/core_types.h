/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * core_types: the few types of the kernel's BTF in which the programs' fields are looked up.
 *
 * For each structure that a program reads, libbpf walks through all types of the kernel, about
 * 130,000, which takes 40 ms. With only the structures that the programs name, and their contents,
 * in a BTF file of their own, this time is negligible.
 */
#pragma once

struct btf;

/*
 * Writes these types to fd, an empty file. Its type ids differ from the kernel's. Its pointers have
 * no target type, which libbpf accepts as compatible. programs: the BTF of the BPF object. 0 or
 * -errno.
 */
int core_types_write(const struct btf *kernel, const struct btf *programs, int fd);
