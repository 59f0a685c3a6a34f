# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""without_call.py CALL ERRNO COMMAND...: COMMAND's system call CALL returns -ERRNO, and is not done."""
import ctypes
import os
import platform
import struct
import sys
call = {"capset": {"x86_64": 126, "aarch64": 91}, "bpf": {"x86_64": 321, "aarch64": 280}}[sys.argv[1]][
        platform.machine()]
code = [(0x20, 0, 0, 0),                # the call's number
        (0x15, 0, 1, call),
        (0x06, 0, 0, 0x00050000 + int(sys.argv[2])),
        (0x06, 0, 0, 0x7fff0000)]       # others: allowed
rows = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *c) for c in code))
program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(rows)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(22, 2, program, 0, 0):    # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
    sys.exit("seccomp: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[3], sys.argv[3:])
