# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""views_work: 300 pipes that stay, 1,500 names looked up, 96 MiB of anonymous memory that is touched and returned"""
import mmap
import os

keep = [os.pipe() for _ in range(300)]
for _ in range(1500):
    os.stat("/etc/passwd")
m = mmap.mmap(-1, 96 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, len(m), 4096):
    m[i] = 1
m.close()
