/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * refuse_call: makes a system call fail from here on, as on another kernel or file system, or in
 * a container. It uses a seccomp filter, which cannot be taken back: call it in a child process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The calling thread's system call nr fails with error. With arg 0 .. 5, it fails only where
 * that argument is value. False: this machine has no such filters.
 */
bool refuse_call(int nr, int arg, uint32_t value, int error);
