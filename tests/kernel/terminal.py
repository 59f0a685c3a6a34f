# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""terminal: what the program shows in a terminal of a size, for the scripts that look at it as a person does."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from trace_query import EBPFREC


def screen(width, height, *argv, **env):
    """(status, lines) of the program in a terminal. It is not the program's own, so that it does not hang up, which
    loses what it has not passed on."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    env = dict(os.environ, PAGER="cat", LC_ALL="C.UTF-8", TERM="xterm", **env)
    env.pop("COLUMNS", None)
    p = subprocess.Popen([EBPFREC, *argv], stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    threading.Thread(target=lambda: (p.wait(), os.write(theirs, b"\0"))).start()
    data = b""
    while not data.endswith(b"\0"):
        data += os.read(ours, 65536)
    os.close(ours)
    os.close(theirs)
    return p.wait(), data[:-1].decode("utf-8", "replace").replace("\r\n", "\n").splitlines()
