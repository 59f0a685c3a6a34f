# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by interrupted.sh."""
import fcntl
import multiprocessing
import resource
import signal
from trace_query import *
tmp, full = os.environ["tmp"], os.environ["full"]
place = tmp + "/place"		# of this process: where its outputs go
os.mkdir(place)
COMMANDS = {
    "bundle": ["bundle", "-i", tmp + "/long", "-o", "out.zip"],
    "bundle --redact": ["bundle", "--redact", "-i", tmp + "/long", "-o", "out.zip"],
    "cut": ["cut", "-i", tmp + "/long", "--from", "50ms", "-o", "out"],
    "redact": ["redact", "-i", tmp + "/long", "-o", "out"],
    "repair": ["repair", "-i", tmp + "/hurt", "-o", "out"],
    "snapshot": ["snapshot", "-i", tmp + "/long", "-o", "out"],
    "export csv": ["export", "-q", "-i", tmp + "/long", "--to", "csv", "-o", "out"],
    "export sqlite": ["export", "-q", "-i", tmp + "/long", "--to", "sqlite", "-o", "out.db"],
    "report --db": ["report", "-i", tmp + "/long", "cpu", "--db", "out.db"],
}


def listing(path=None):
    return sorted(os.listdir(path or place))


def start(args, signals=signal.SIG_DFL, stdout=subprocess.DEVNULL):
    def ready():
        for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(s, signals)
    return subprocess.Popen([EBPFREC] + args, cwd=place, preexec_fn=ready, stdout=stdout, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL)


def clean():
    subprocess.run(["rm", "-rf", place])
    os.mkdir(place)


def is_whole(args):
    """what is there under the output's name, alone"""
    out = args[-1]
    if listing() != [out]:
        return False
    path = place + "/" + out
    if args[0] == "export" and "csv" in args:
        return len(os.listdir(path)) == csv_files
    if path.endswith(".db"):
        return subprocess.run(["sqlite3", path, "PRAGMA integrity_check"], stdout=subprocess.PIPE).stdout == b"ok\n"
    return subprocess.run([EBPFREC, "check", "-i", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def interrupt(args, number, after_s):
    """begins, waits until something is there, sends the signal. (how it ended, what it said)"""
    p = start(args)
    while p.poll() is None and not listing():
        time.sleep(0.001)
    time.sleep(after_s)
    p.send_signal(number)
    said = [line for line in p.stderr.read().decode().splitlines() if "the window is incomplete" not in line]
    return p.wait(), said


p = start(COMMANDS["export csv"])
p.communicate()
csv_files = len(os.listdir(place + "/out"))
check("interrupted: export writes all tables", csv_files > 10 and p.returncode == 0, csv_files)


def interrupted(name):
    """one command, by each signal and by kill -9: what to check"""
    global place
    place, args, bad, hits = tmp + "/place of " + name, COMMANDS[name], [], 0
    for i, number in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
        clean()
        code, said = interrupt(args, number, i * 0.02)
        hits += code != 0
        if not (listing() == [] and code == -number and not said) and not (is_whole(args) and code in (0, -number)):
            bad.append((number, code, said, listing()))
    checks = [("interrupted: %s leaves all or nothing, and ends by the signal (%d of 3 were under way)" % (name, hits),
               not bad, bad[:2])]
    clean()
    code, said = interrupt(args, signal.SIGKILL, 0)
    left = listing()
    half = args[-1] in left and not is_whole(args)
    p = start(args if code else args + ["-f"] if args[0] in ("bundle", "export", "report") else ["--help"])
    said = p.communicate()[1].decode()
    return checks + [("interrupted: %s killed has no half output (but %s), and the next clears that away" %
                      (name, left), not half and p.returncode == 0 and is_whole(args), (left, listing(), said))]


# each in a place of its own, as many at a time as there are CPUs
with multiprocessing.Pool(os.cpu_count()) as pool:
    for checks in pool.map(interrupted, COMMANDS, 1):
        for c in checks:
            check(*c)

# its output is not read, so that it blocks
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    clean()
    r, w = os.pipe()
    os.set_blocking(w, False)
    try:
        while True:
            os.write(w, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(w, True)
    code, said = None, ""
    p = start(COMMANDS["bundle"] + ["--show-strings"], stdout=w)
    while p.poll() is None and not any("zip" in f for d in listing() for f in os.listdir(place + "/" + d)):
        time.sleep(0.01)
    p.send_signal(number)
    p.communicate()
    check("interrupted: bundle, while it waits, signal %d" % number, p.returncode == -number and listing() == [],
          (p.returncode, listing()))
    os.close(r)
    os.close(w)
clean()
r, w = os.pipe()
os.close(r)
p = start(COMMANDS["bundle"] + ["--show-strings"], stdout=w)
said = p.communicate()[1].decode()
check("interrupted: bundle is made when nobody reads what it lists", is_whole(COMMANDS["bundle"]), (listing(), said))
for name in ("cut", "export sqlite"):
    clean()
    p = start(COMMANDS[name], signals=signal.SIG_IGN)
    while p.poll() is None and not listing():
        time.sleep(0.001)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        p.send_signal(number)
    said = p.communicate()[1].decode()
    check("interrupted: %s goes on under nohup" % name, p.returncode == 0 and is_whole(COMMANDS[name]),
          (p.returncode, listing(), said))

# A trace in use is not abandoned, and a foreign directory is not a trace.
clean()
os.mkdir(place + "/.ebpfrec-new.in_use")
os.mkdir(place + "/.ebpfrec-new.dead00")
os.mkdir(place + "/.ebpfrec-new.longer-name")
os.symlink(tmp + "/long", place + "/.ebpfrec-new.link00")
os.mkdir(place + "/.ebpfrec-new.dead00/trace")
os.symlink(tmp + "/long", place + "/.ebpfrec-new.dead00/trace/link")
fd = os.open(place + "/.ebpfrec-new.in_use", os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_EX)
p = start(COMMANDS["cut"])
p.communicate()
check("interrupted: what is cleared away is what nobody uses, and links are not followed",
      listing() == [".ebpfrec-new.in_use", ".ebpfrec-new.link00", ".ebpfrec-new.longer-name", "out"] and
      subprocess.run([EBPFREC, "check", "-i", tmp + "/long"], stdout=subprocess.DEVNULL).returncode == 0, listing())
os.close(fd)

# A file that may not grow is an error, not a crash that leaves an unfinished file.
clean()
for name, args in COMMANDS.items():
    p = subprocess.run([EBPFREC] + args, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
        (4096, 4096)))
    check("interrupted: %s with ulimit -f says so, and leaves nothing" % name, p.returncode == 1 and p.stderr
          and b"kept" not in p.stderr and listing() == [], (p.returncode, p.stderr, listing()))
    clean()

if full:
    for name, args in COMMANDS.items():
        p = start(args[:-1] + [full + "/" + args[-1]])
        said = p.communicate()[1].decode()
        check("interrupted: %s on a full disk says so, and leaves nothing" % name, p.returncode == 1
              and "space" in said.lower() and "kept" not in said and listing(full) == [],
              (p.returncode, said, listing(full)))
