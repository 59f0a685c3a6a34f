/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * refuse_call: a system call that fails from here on as another kernel, file system or container would have it fail. By a
 * seccomp filter, which cannot be taken back: for a child process.
 */
#ifndef REFUSE_CALL_H
#define REFUSE_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* The calling thread's system call nr gives error; with arg 0 .. 5 only where that argument is value. false: not here. */
bool refuse_call(int nr, int arg, uint32_t value, int error);

#endif /* REFUSE_CALL_H */
