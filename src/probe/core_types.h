/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * core_types: the few types of the kernel's BTF that the programs' fields are looked up in.
 *
 * For each structure that a program reads, libbpf walks through all types of the kernel, about
 * 130,000. Of the 40 ms that this takes nothing is left when libbpf is given the structures of the
 * programs' names, with what they contain, as a BTF file of their own.
 */
#pragma once

struct btf;

/*
 * Writes these types to fd, an empty file. Type ids in that file are not the kernel's. Pointers in
 * it point to nothing, which libbpf takes as compatible. programs: the BTF of the BPF object.
 * 0 or -errno.
 */
int core_types_write(const struct btf *kernel, const struct btf *programs, int fd);
