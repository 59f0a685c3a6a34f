# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""perfetto_work.py FILE: threads, processes with odd names, and writes to FILE, for Perfetto."""
import os, sys, threading, time

def nap():
    for _ in range(50):
        time.sleep(0.001)
        sum(range(2000))

for _ in range(60):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
# a process whose parent ends, so that it has another parent at the end of the recording, when it is still alive
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.05)
        os.execlp("sh", "sh", "-c", "sleep 4; :")
    os._exit(0)
os.wait()
threads = [threading.Thread(target=nap) for _ in range(20)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for name in (b"<img src=x>", b'a"b\n\x1b[31m', b"\xff\xfe"):
    if os.fork() == 0:
        with open("/proc/self/comm", "wb") as f:
            f.write(name)
        time.sleep(0.02)
        os._exit(0)
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(50):
    os.write(fd, bytes(65536))
    os.fsync(fd)
