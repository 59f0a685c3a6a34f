# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
references: what the kernel and the usual tools say, each with the instant (CLOCK_MONOTONIC, ns) at which
it was read, so that a trace can be asked for exactly that window.
"""
import os
import platform
import resource
import shutil
import signal
import subprocess
import time
import urllib.request

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
NODE_PORT = 19173

# Before a command: it gets the CPU it wants, whatever else this machine does. Where sessions are scheduled as
# groups (autogroup), nice only counts inside one.
UNDISTURBED = ["setsid", "-w", "sh", "-c", "[ ! -e /proc/self/autogroup ] || echo -20 >/proc/self/autogroup; exec "
               "nice -n -20 \"$@\"", "sh"]


def read(path):
    try:
        # names are any bytes
        with open(path, errors="surrogateescape") as f:
            return f.read()
    except OSError:
        return ""


def missing(workload):
    """why a workload cannot run here; '' when it can"""
    needs = {"cpu": ["stress"], "memory": ["stress"], "hdd": ["stress", "losetup", "mkfs.ext4"],
             "io": ["stress", "losetup", "mkfs.ext4"], "fio": ["fio", "losetup"], "forks": []}[workload]
    gone = [n for n in needs if not shutil.which(n)]
    return ", ".join(gone) + " not installed" if gone else ""


def environment(version):
    model = next((line.split(":")[1].strip() for line in read("/proc/cpuinfo").splitlines()
                  if line.startswith("model name")), platform.machine())
    return "%s; Linux %s; %d CPUs, %s; load %s\n" % (version, platform.release(), os.cpu_count(), model,
                                                     read("/proc/loadavg").split(" ")[0])


# ---- processes ----

def parents():
    ret = {}
    for p in os.listdir("/proc"):
        if p.isdigit():
            fields = read("/proc/%s/stat" % p).rpartition(")")[2].split()
            if fields:
                ret[int(p)] = int(fields[1])
    return ret


def tree(pid):
    up, ret = parents(), {pid}
    while True:
        more = {c for c, p in up.items() if p in ret} - ret
        if not more:
            return sorted(ret)
        ret |= more


def kill_tree(process):
    for pid in tree(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    process.wait()


def at_an_instant(what):
    """(instant, what()): of several readings the one that took the shortest, so that its instant is known best"""
    best = None
    for _ in range(5):
        a = time.monotonic_ns()
        value = what()
        b = time.monotonic_ns()
        if best is None or b - a < best[0]:
            best = (b - a, (a + b) // 2, value)
    return best[1:]


def cpu_clock(pid):
    """(instant, ns) of the process's CPU clock, which includes the slice that is running"""
    try:
        return at_an_instant(lambda: time.clock_gettime_ns((~pid << 3) | 2))
    except OSError:
        return None


def memory_of(pid):
    status = dict(line.split(":", 1) for line in read("/proc/%d/status" % pid).splitlines() if ":" in line)
    kib = lambda key: int(status[key].split()[0]) * 1024 if key in status else 0
    if "VmHWM" not in status:
        return None
    statm = read("/proc/%d/statm" % pid).split()
    if not statm:	# it ended in between
        return None
    ret = {"rss": int(statm[1]) * PAGE, "anon": kib("RssAnon"), "hwm": kib("VmHWM"), "vm": kib("VmSize")}
    for line in read("/proc/%d/smaps_rollup" % pid).splitlines():
        if line.startswith("Rss:"):
            ret["smaps_rss"] = int(line.split()[1]) * 1024
    return ret


def rss_batch_bytes():
    """how far a counter of the kernel's may lag, all CPUs together: percpu_counter_batch is max(32, 2 x CPUs)"""
    return max(32, 2 * os.cpu_count()) * os.cpu_count() * PAGE


def delta(before, after):
    return sum(after[k] - before[k] for k in before if k in after)


def children_ns():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((u.ru_utime + u.ru_stime) * 1e9)


def forks():
    """(before it was read, after that, tasks made since the boot)"""
    before = time.monotonic_ns()
    for line in read("/proc/stat").splitlines():
        if line.startswith("processes "):
            return before, time.monotonic_ns(), int(line.split()[1])


def proc_stat():
    """(busy ns, steal ns) of all CPUs; guest time is part of user time, iowait is idle"""
    f = list(map(int, read("/proc/stat").split("\n")[0].split()[1:]))
    busy = f[0] + f[1] + f[2] + f[5] + f[6]
    return busy * 1_000_000_000 // TICKS, f[7] * 1_000_000_000 // TICKS


def steal_ns(before, after):
    """what a hypervisor took: not in a task's clock, but in a trace; one tick more per CPU where it takes at all"""
    d = after.steal_ns - before.steal_ns
    return d + os.cpu_count() * 1_000_000_000 // TICKS if after.steal_ns else 0


class Reading:
    """Everything of one instant, as near to it as one thread can"""

    def __init__(self, pids, group, loop):
        self.clock = {p: c for p, c in ((p, cpu_clock(p)) for p in pids) if c}
        self.disk = loop.stat() if loop else None
        self.cgroup = group.cpu()
        self.ns = time.monotonic_ns()
        self.schedstat = {p: int(s.split()[0]) for p, s in ((p, read("/proc/%d/schedstat" % p)) for p in pids) if s}
        stat = {p: read("/proc/%d/stat" % p).rpartition(")")[2].split() for p in pids}
        self.ticks = {p: int(f[11]) + int(f[12]) for p, f in stat.items() if f}
        self.busy_ns, self.steal_ns = proc_stat()
        self.memory = {p: m for p, m in ((p, memory_of(p)) for p in pids) if m}
        self.io_write = {}
        for p in pids:
            for line in read("/proc/%d/io" % p).splitlines():
                if line.startswith("write_bytes:"):
                    self.io_write[p] = int(line.split()[1])


def sleep_sampling(seconds, pids):
    """Waits, and reads what htop reads at its usual rate, so that the machine bears the tool's load as it would."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for p in pids:
            read("/proc/%d/stat" % p)
        time.sleep(max(0, min(1.5, end - time.monotonic())))


# ---- cgroups ----

class Cgroup:
    """A group of the unified hierarchy for the workload, where there is one"""

    def __init__(self, name):
        self.path = None
        for top in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
            if os.path.exists(top + "/cgroup.procs") and os.path.exists(top + "/cgroup.controllers"):
                path = "%s/%s-%d" % (top, name, os.getpid())
                try:
                    os.makedirs(path, exist_ok=True)
                    self.path = path
                except OSError:
                    pass
                break

    def start(self, command, cwd):
        def enter():
            if self.path:
                with open(self.path + "/cgroup.procs", "w") as f:
                    f.write("0")
        return subprocess.Popen(command, cwd=cwd, preexec_fn=enter, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def cpu(self):
        """(instant, ns, id)"""
        if not self.path:
            return None
        ns, text = at_an_instant(lambda: read(self.path + "/cpu.stat"))
        usage = [int(line.split()[1]) * 1000 for line in text.splitlines() if line.startswith("usage_usec ")]
        return (ns, usage[0], os.stat(self.path).st_ino) if usage else None

    def remove(self):
        for _ in range(50):
            try:
                if self.path:
                    os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)


# ---- block devices ----

class Loop:
    def __init__(self, scratch, size, fs=True):
        self.image, self.mount = os.path.join(scratch, "loop.img"), None
        subprocess.run(["truncate", "-s", size, self.image], check=True)
        self.path = subprocess.run(["losetup", "--direct-io=on", "--show", "-f", self.image], check=True,
                                   stdout=subprocess.PIPE).stdout.decode().strip()
        self.name = os.path.basename(self.path)
        if fs:
            subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", self.path],
                           check=True)
            mount = os.path.join(scratch, "mnt")
            os.makedirs(mount, exist_ok=True)
            subprocess.run(["mount", self.path, mount], check=True)
            self.mount = mount

    def stat(self):
        ns, text = at_an_instant(lambda: read("/sys/block/%s/stat" % self.name))
        f = list(map(int, text.split()))
        return {"ns": ns, "reads": f[0], "read_bytes": f[2] * 512, "writes": f[4], "write_bytes": f[6] * 512}

    def remove(self):
        if self.mount and subprocess.run(["umount", self.mount]).returncode:
            subprocess.run(["umount", "-l", self.mount])
        subprocess.run(["losetup", "-d", self.path])
        os.unlink(self.image)


# ---- tools that run beside the workload ----

class Tools:
    """iostat, pidstat and node-exporter over one interval; what is not installed gives None"""

    def __init__(self, seconds, loop):
        self.seconds, self.loop = max(1, int(seconds)), loop
        self.iostat = self.pidstat_cpu = self.node_before = self.node_after = None
        self.pidstat_rss = {}
        self.node = None
        if shutil.which("prometheus-node-exporter"):
            self.node = subprocess.Popen(["prometheus-node-exporter", "--web.listen-address=127.0.0.1:%d" % NODE_PORT,
                                          "--collector.disable-defaults", "--collector.cpu", "--collector.diskstats",
                                          "--collector.diskstats.ignored-devices=^$"], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)

    def scrape(self):
        for _ in range(20):
            try:
                text = urllib.request.urlopen("http://127.0.0.1:%d/metrics" % NODE_PORT, timeout=5).read().decode()
                break
            except OSError:
                time.sleep(0.1)
        else:
            return None
        ret = {"ns": time.monotonic_ns(), "cpu": 0.0, "disk_bytes": {}}
        for line in text.splitlines():
            if line.startswith("node_cpu_seconds_total") and not any('mode="%s"' % m in line
                for m in ("idle", "iowait", "steal")):
                ret["cpu"] += float(line.rpartition(" ")[2])
            elif line.startswith("node_disk_written_bytes_total"):
                ret["disk_bytes"][line.split('device="')[1].split('"')[0]] = float(line.rpartition(" ")[2])
        return ret

    def start(self, pids):
        env = dict(os.environ, S_COLORS="never", LC_ALL="C")
        spawn = lambda *c: subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        if self.node:
            self.node_before = self.scrape()
        self.from_ns = time.monotonic_ns()
        self.io = spawn("iostat", "-d", "-x", "-k", "-y", self.loop.name, str(self.seconds),
                        "1") if self.loop and shutil.which("iostat") else None
        self.pid = spawn("pidstat", "-u", "-r", "-h", "-p", ",".join(map(str, pids)), str(self.seconds),
                         "1") if pids and shutil.which("pidstat") else None
        self.to_ns = self.from_ns + self.seconds * 1_000_000_000

    def stop(self):
        if self.node:
            self.node_after = self.scrape()
        for p, parse in ((self.io, self.parse_iostat), (self.pid, self.parse_pidstat)):
            if p:
                parse([line.split() for line in p.communicate(timeout=30)[0].decode(errors="replace").splitlines()
                       if line.strip()])
        if self.node:
            self.node.kill()
            self.node.wait()

    def parse_iostat(self, lines):
        head = next((line for line in lines if line[0].startswith("Device")), None)
        row = next((line for line in lines if line[0] == self.loop.name), None)
        if head and row:
            self.iostat = dict(zip(head[1:], map(float, row[1:])))

    def parse_pidstat(self, lines):
        head = next((line[1:] for line in lines if line[0] == "#"), None)
        if not head:
            return
        rows = [dict(zip(head, line)) for line in lines if line[0] != "#" and line[0] != "Linux"
                and len(line) >= len(head)]
        self.pidstat_cpu = sum(float(r["%CPU"]) for r in rows)
        self.pidstat_rss = {int(r["PID"]): int(r["RSS"]) * 1024 for r in rows}
