# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
sql_shell.py PROGRAM TRACE: types into the shell of `ebpfrec sql` on a pseudo-terminal: statements, completion, history,
Ctrl-C, errors. Prints "ok NAME", "not ok NAME: what it saw".
"""
import os
import pty
import re
import select
import sys
import tempfile
import time

PROGRAM, TRACE = sys.argv[1:3]
EDITS = "libedit" in os.popen("ldd %s 2>/dev/null" % PROGRAM).read()
PROMPTS = ("ebpfrec> ", "    ...> ")


class Shell:
    def __init__(self, home):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(HOME=home, TERM="xterm", COLUMNS="80")
            os.execv(PROGRAM, [PROGRAM, "sql", "-i", TRACE])
        self.banner = self.prompt()

    def prompt(self):
        """what is written until the shell asks again, or ends"""
        text, end = b"", time.time() + 20
        while time.time() < end:
            if select.select([self.fd], [], [], 0.3)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    break
                if not data:
                    break
                text += data
            elif text.decode(errors="replace").endswith(PROMPTS):
                break
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode(errors="replace")).replace("\r", "")

    def type(self, keys):
        os.write(self.fd, keys.encode())
        return self.prompt()

    def status(self):
        return os.waitpid(self.pid, 0)[1]


def check(name, passed, saw):
    print("ok sql shell: " + name if passed else "not ok sql shell: %s: saw %r" % (name, saw))


with tempfile.TemporaryDirectory() as home:
    s = Shell(home)
    saw = s.type("SELECT comm FROM processes\n")
    check("says so if nothing edits lines", EDITS != ("without libedit" in s.banner), s.banner)
    check("a statement goes on until its semicolon", saw.endswith(PROMPTS[1]), saw)
    saw = s.type("WHERE upid = 0;\n")
    check("answers a statement", "\n[idle]\n" in saw and saw.endswith(PROMPTS[0]), saw)
    saw = s.type("SELECT * FROM swiches;\n")
    check("goes on after an error", "did you mean 'switches'" in saw and saw.endswith(PROMPTS[0]), saw)
    saw = s.type(".schema cpus\n")
    check("describes tables", "integer" in saw, saw)
    saw = s.type(".mode csv\n") + s.type("SELECT 1 AS a, 2 AS b;\n")
    check("takes a format", "a,b\n1,2\n" in saw, saw)
    s.type("SELECT 3 FROM\n")
    s.type("\x03")
    saw = s.type("SELECT 4 AS four;\n")
    check("Ctrl-C drops what was typed", "four\n4\n" in saw, saw)
    os.write(s.fd, b"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;\n")
    time.sleep(0.5)
    saw = s.type("\x03")
    check("Ctrl-C ends a statement, not the shell", "interrupt" in saw and saw.endswith(PROMPTS[0]), saw)
    if EDITS:
        saw = s.type("SELECT count(*) AS n FROM sched_sl\t;\n")
        check("Tab completes the name of a table", "n\n" in saw and "no such table" not in saw, saw)
        saw = s.type("SELECT min(queued_n\t) AS q FROM block_requests;\n")
        check("Tab completes the name of a column", "q\n" in saw and "no such column" not in saw, saw)
        s.type("SELECT 'remembered' AS r;\n")
    s.type(".quit\n")
    check("ends with 0", s.status() == 0, "another status")
    if EDITS:
        mode = os.stat(home + "/.ebpfrec_history").st_mode & 0o777
        check("the history is its owner's alone", mode == 0o600, oct(mode))
        s = Shell(home)
        saw = s.type("\x1b[A\x1b[A\n")
        check("remembers what was asked in an earlier shell", "r\nremembered\n" in saw, saw)
        os.write(s.fd, b"\x04")
        check("Ctrl-D ends it", s.status() == 0, "another status")
    else:
        print("SKIP sql_shell_editing: this program was built without libedit")
