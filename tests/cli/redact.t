# Redacting the golden trace: pseudonyms by a known salt, numbers as they were.

$ ebpfrec redact -i golden.ebpfrec -o public.ebpfrec --salt pepper
2~ ebpfrec: public.ebpfrec: 4 blocks, * kB, of golden.ebpfrec
2> ebpfrec: public.ebpfrec: replaced: 4 process names, 1 command line, 1 path, 1 device
2> ebpfrec: public.ebpfrec: still there: 1 process name, 1 cgroup, 1 kernel symbol

$ ebpfrec report cpu -i public.ebpfrec --format csv 2>/dev/null
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,proc-qfnptb,1500000000,37.5,1,1,0,3,,,
1> 100,proc-bgjntf,1000000000,25,2,0,0,3,,,
1> 300,proc-kfqnjl,250000000,6.25,1,0,0,3,,,

$ ebpfrec sql -i public.ebpfrec --format csv 'SELECT pid, comm, exe, cmdline FROM processes WHERE upid >= 16'
1> pid,comm,exe,cmdline
1> 1,proc-gjhfgq,"",""
1> 100,proc-bgjntf,"",""
1> 300,proc-kfqnjl,"",""
1> 900,ebpfrec,"",""
1> 200,proc-qfnptb,/ppkkfhn/phjgkmk/prhcpsd/pqfnptb,aqfnptb -okmhpjg pjnjjtj.c

$ ebpfrec check -i public.ebpfrec >/dev/null
2> ebpfrec: public.ebpfrec: whole: 4 blocks, 231 events

$ ebpfrec info -i public.ebpfrec --format csv | grep redacted
1> manifest,redacted,1
1> manifest,redacted.state,finished

# A salt from a file, patterns: '*' does not reach across a slash, a pattern that begins with one keeps what is below.
$ printf pepper >salt; ebpfrec redact -i golden.ebpfrec -o usr.ebpfrec --salt @salt --keep '/usr/l*' --keep '[cm]*' \
>   --keep '*.c' 2>/dev/null

$ ebpfrec sql -i usr.ebpfrec --format csv 'SELECT pid, comm, exe, cmdline FROM processes WHERE upid >= 16'
1> pid,comm,exe,cmdline
1> 1,proc-gjhfgq,"",""
1> 100,make,"",""
1> 300,proc-kfqnjl,"",""
1> 900,ebpfrec,"",""
1> 200,cc1,/usr/lib/gcc/cc1,cc1 -okmhpjg a.c

# A random salt by default.
$ ebpfrec redact -i golden.ebpfrec -o other.ebpfrec 2>/dev/null;
> ebpfrec report cpu -i other.ebpfrec --format csv 2>/dev/null | grep -c 'qfnptb\|bgjntf'
? 1
1> 0

$ ebpfrec redact -i golden.ebpfrec -o public.ebpfrec
? 1
2> ebpfrec: 'public.ebpfrec' exists already, and is left alone; name a new one with -o

$ ebpfrec redact -i golden.ebpfrec -o golden.ebpfrec/new
? 1
2~ ebpfrec: 'golden.ebpfrec/new' lies inside of the trace that is read*

$ ebpfrec redact -i golden.ebpfrec
? 2
2> ebpfrec redact: -o OUT is needed: the trace itself is not changed
2> Try 'ebpfrec redact --help'.

$ ebpfrec redact -i golden.ebpfrec -o x --salt ''
? 2
2> ebpfrec redact: --salt: it is empty; leave --salt out for a random one
2> Try 'ebpfrec redact --help'.

$ ebpfrec redact -i golden.ebpfrec -o x --salt @nowhere
? 1
2> ebpfrec: --salt: cannot read nowhere: No such file or directory

$ gen_golden damaged.ebpfrec damaged; ebpfrec redact -i damaged.ebpfrec -o x
? 1
2> ebpfrec: damaged.ebpfrec: has 1 damaged part; `ebpfrec repair -i damaged.ebpfrec -o NEW` makes a trace of what is valid, which can be redacted

# Mounts are left out knowingly; what this version does not know is counted.
$ cp -r golden.ebpfrec more.ebpfrec;
> sed -i '/^crc32c=/d;$a mounts=8:1 /home/ann ext4 /dev/sda1\nlater=1' more.ebpfrec/manifest;
> ebpfrec redact -i more.ebpfrec -o less.ebpfrec 2>&1 | tail -n 1
1> ebpfrec: less.ebpfrec: left out: 1 manifest entry of unknown meaning

$ grep -c -E 'mounts|later' less.ebpfrec/manifest
? 1
1> 0
