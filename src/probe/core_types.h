/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * core_types: makes a small BTF file of the kernel types that programs read.
 *
 * For each structure that a program reads, libbpf searches all types of the kernel, about 130,000,
 * which takes 40 ms. In a file with only the structures that the programs use, and their contents,
 * the search takes a negligible time.
 */
#pragma once

struct btf;

/*
 * Writes these types to fd, an empty file. Type ids differ from the kernel's. Pointers have no
 * target type, which libbpf accepts as compatible. programs: BTF of the BPF object. 0 or -errno.
 */
int core_types_write(const struct btf *kernel, const struct btf *programs, int fd);
