# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""irq_load.py DATA COUNTS: interrupts of a loopback socket, of direct reads of DATA and of timers; the kernel's own
counts before and after go to COUNTS."""
import json, os, socket, sys, time

def counts():
    at = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    soft, hard = open("/proc/softirqs").read(), open("/proc/interrupts").read()
    return {"from": at, "soft": soft, "hard": hard, "to": time.clock_gettime_ns(time.CLOCK_MONOTONIC)}

before = counts()
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3000):
    b.sendto(b"x" * 200, a.getsockname())
    a.recv(300)
f = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
import mmap
m = mmap.mmap(-1, 65536)
for i in range(64):
    os.preadv(f, [m], i * 65536)
for i in range(100):
    time.sleep(0.001)
after = counts()
json.dump({"before": before, "after": after, "pid": os.getpid()}, open(sys.argv[2], "w"))
