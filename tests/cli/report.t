# The answers, worked out by hand from what gen_golden.c says the trace holds.

$ ebpfrec report cpu -i golden.ebpfrec
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1...
1> 100  make               1.00 s  25.0         2          0
1> 300  =1+\x1b[31m,"\xff  250 ms   6.3         1          0
1> (in all rows, COMPLETE: NO, LOST EVENTS: 3)
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i golden.ebpfrec --from 1s --to 2s
1> 1 .. 2 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1...
1> 200  cc1                1.00 s  100.0         0          0
1> 300  =1+\x1b[31m,"\xff  250 ms   25.0         1          0
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i golden.ebpfrec --from -3s --to 2023-11-14T22:30:02Z --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,cc1,1000000000,100,0,0,1,0,,,
1> 300,"'=1+\x1b[31m,""\xff",250000000,25,1,0,1,0,,,

$ ebpfrec report cpu -i golden.ebpfrec --from @1700001001 --to T22:30:02 --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,cc1,1000000000,100,0,0,1,0,,,
1> 300,"'=1+\x1b[31m,""\xff",250000000,25,1,0,1,0,,,

$ ebpfrec report cpu -i golden.ebpfrec --from 0.25s --to 0.250000001s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 100,make,1,100,0,0,1,0,,,

$ ebpfrec report cpu -i golden.ebpfrec --every 1s --format csv 2>/dev/null
1> t_ns,pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 0,100,make,500000000,50,1,0,1,0,,,
1> 0,200,cc1,0,0,0,0,1,0,,,
1> 0,300,"'=1+\x1b[31m,""\xff",0,0,0,0,1,0,,,
1> 1000000000,200,cc1,1000000000,100,0,0,1,0,,,
1> 1000000000,300,"'=1+\x1b[31m,""\xff",250000000,25,1,0,1,0,,,
1> 1000000000,100,make,0,0,0,0,1,0,,,
1> 2000000000,200,cc1,500000000,50,1,1,0,3,,,
1> 2000000000,100,make,500000000,50,0,0,0,3,,,
1> 2000000000,300,"'=1+\x1b[31m,""\xff",0,0,0,0,0,3,,,
1> 3000000000,100,make,0,0,1,0,1,0,,,
1> 3000000000,200,cc1,0,0,0,0,1,0,,,
1> 3000000000,300,"'=1+\x1b[31m,""\xff",0,0,0,0,1,0,,,

$ ebpfrec report cpu -i golden.ebpfrec --by cpu --from 0 --to 2s --format csv
1> cpu,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,idle_ns,unknown_ns,other_ns,irq_ns,softirq_ns
1> 0,1500000000,75,1,0,1,0,,500000000,0,0,,
1> 1,250000000,12.5,1,0,1,0,,1650000000,0,100000000,,

# by CPU, idle time has its own column: --with-idle adds nothing
$ ebpfrec report cpu -i golden.ebpfrec --by cpu --with-idle --from 0 --to 2s --format csv
1> cpu,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,idle_ns,unknown_ns,other_ns,irq_ns,softirq_ns
1> 0,1500000000,75,1,0,1,0,,500000000,0,0,,
1> 1,250000000,12.5,1,0,1,0,,1650000000,0,100000000,,

$ ebpfrec report cpu -i golden.ebpfrec --with-recorder --from 1s --to 2s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,cc1,1000000000,100,0,0,1,0,,,
1> 300,"'=1+\x1b[31m,""\xff",250000000,25,1,0,1,0,,,
1> 900,ebpfrec,100000000,10,1,0,1,0,,,

$ ebpfrec report cpu -i golden.ebpfrec --comm 'c*' --format json
1> [
1> {"pid":200,"comm":"cc1","oncpu_ns":1499999000,"util_pct":37.5,"switches":1,"preempted":1,"complete":0,"lost_events":3,"steal_ns":null,"irq_ns":null,"softirq_ns":null}
1> ]
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report cpu -i golden.ebpfrec --pid 100 --from 0 --to 1s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 100,make,500000000,50,1,0,1,0,,,

$ ebpfrec report cpu -i golden.ebpfrec --sort comm --limit 1
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1...
1> (in all rows, COMPLETE: NO, LOST EVENTS: 3)
1> (2 more: --limit 0)
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i golden.ebpfrec --sort -oncpu_ns --limit 1 --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 300,"'=1+\x1b[31m,""\xff",250000000,6.25,1,0,0,3,,,
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report cpu -i golden.ebpfrec --sort nope
? 2
2> ebpfrec report: --sort: there is no column "nope" here; there are pid, comm, oncpu_ns, util_pct, switches, preempted, complete, lost_events, steal_ns, irq_ns, softirq_ns
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --from 3.5s --to 4s
1> 3.5 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1...
1> (nothing)

$ ebpfrec report cpu -i golden.ebpfrec --from 10s --to 11s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
2> ebpfrec: golden.ebpfrec: the window is incomplete: the window lies outside of the trace, which ends at 4.000 s

$ ebpfrec report io -i golden.ebpfrec --format csv | cut -d, -f1-11
1> pid,comm,device,op,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns
1> 100,make,dev8:0,write,10,655360,2.5,163840,5000000,5000000,5000000

$ ebpfrec report io -i golden.ebpfrec --by device --every 1s --format csv | cut -d, -f1-6
1> t_ns,device,op,ios,bytes,iops
1> 0,dev8:0,write,10,655360,10
1> 1000000000,dev8:0,write,0,0,0
1> 2000000000,dev8:0,write,0,0,0
1> 3000000000,dev8:0,write,0,0,0

# With --every, csv has a row for each bin: of a process while it lived, of others in all of the window. A table has one
# for a bin without any.
$ ebpfrec report sched -i golden.ebpfrec --every 1s --format csv 2>/dev/null | cut -d, -f1-9
1> t_ns,pid,comm,waits,wait_ns,wait_p50_ns,wait_p99_ns,wait_max_ns,wakeups
1> 0,300,"'=1+\x1b[31m,""\xff",0,1000000000,,,
1> 0,200,cc1,0,0,,,,0
1> 0,100,make,0,0,,,,0
1> 1000000000,300,"'=1+\x1b[31m,""\xff",0,500000000,,,
1> 1000000000,200,cc1,0,0,,,,0
1> 1000000000,100,make,0,0,,,,0
1> 2000000000,200,cc1,0,500000000,,,,0
1> 2000000000,100,make,0,0,,,,0
1> 2000000000,300,"'=1+\x1b[31m,""\xff",0,0,,,
1> 3000000000,200,cc1,0,1000000000,,,,0
1> 3000000000,300,"'=1+\x1b[31m,""\xff",0,0,,,
1> 3000000000,100,make,0,0,,,,0

$ ebpfrec report io -i golden.ebpfrec --every 1s | grep '^[0-9T]' | cut -c1-60
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC,
1> T (s)  PID  COMM  DEVICE  OP     IOS    BYTES  IOPS    BYTES
1> 0.000  100  make  dev8:0  write   10  640 KiB  10.0  640 KiB
1> 1.000    -  -     -       -        0      0 B   0.0      0 B
1> 2.000    -  -     -       -        0      0 B   0.0      0 B
1> 3.000    -  -     -       -        0      0 B   0.0      0 B
1> The process that last dirtied a file owns its write-back; th

$ ebpfrec report cpu -i golden.ebpfrec --every 1s --limit 1 --format csv 2>/dev/null | cut -d, -f1-4
1> t_ns,pid,comm,oncpu_ns
1> 0,100,make,500000000
1> 1000000000,200,cc1,1000000000
1> 2000000000,200,cc1,500000000
1> 3000000000,100,make,0

$ ebpfrec report cpu -i golden.ebpfrec --every 1s --limit 1 | grep -e '^ *[0-9T]' -e more
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1> T (s)  PID  COMM   ONCPU   %CPU  SWITCHES  PREEMPTED  COMPLETE  LOST EVENTS
1> 0.000  100  make  500 ms   50.0         1          0       yes            0
1> 1.000  200  cc1   1.00 s  100.0         0          0       yes            0
1> 2.000  200  cc1   500 ms   50.0         1          1        NO            3
1> 3.000  100  make    0 ns    0.0         1          0       yes            0
1> (2 more: --limit 0)
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i golden.ebpfrec --every 1s --sparklines --with-recorder
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> %CPU over time, each line from 0 to its own highest value:
1>
1> 200 cc1                 @=   100.0 %
1> 100 make               @ @   50.0 %
1> 300 =1+\x1b[31m,"\xff   @    25.0 %
1> 900 ebpfrec             @    10.0 %
1> (--limit N shows the N largest of each bin in numbers)
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i golden.ebpfrec --every 1s --by cpu --sparklines | tail -n 6
1> %CPU over time, each line from 0 to its own highest value:
1>
1> 0  =@@   100.0 %
1> 1   @    25.0 %
1>
1> ONCPU, IDLE, UNKNOWN (the running task is unknown: switches were lost, or the kernel hides the task from BPF) and OTHER (the recorder, and threads that --pid and the like or record --only exclude) add up to the window. (More: --notes.)

$ ebpfrec report cpu -i golden.ebpfrec --every 1s --wide-by comm --format csv 2>/dev/null
1> t_ns,cc1,make,"'=1+\x1b[31m,""\xff"
1> 0,0,50,0
1> 1000000000,100,0,25
1> 2000000000,50,50,0
1> 3000000000,0,0,0

# --limit is of names there, not of bins
$ ebpfrec report cpu -i golden.ebpfrec --every 1s --wide-by comm --limit 1 --format csv 2>/dev/null | wc -l
1> 5

$ ebpfrec report cpu -i golden.ebpfrec --every 1s --wide-by comm --limit 2
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> T (s)    cc1  make  [others]
1> 0.000    0.0  50.0       0.0
1> 1.000  100.0   0.0      25.0
1> 2.000   50.0  50.0       0.0
1> 3.000    0.0   0.0       0.0
1>
1> The columns are %CPU by comm, the first 2 of 3 (--limit 0 shows all).
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report io -i golden.ebpfrec --every 1s --wide-by comm,op --format csv 2>/dev/null
1> t_ns,make write
1> 0,655360
1> 1000000000,0
1> 2000000000,0
1> 3000000000,0

$ ebpfrec report alloc -i golden.ebpfrec --pid 200 --every 1s --wide-by comm --format csv
? 2
2> ebpfrec report: --wide-by: a bin has several rows with comm 'cc1'; name more columns, of comm,source, or choose another --by
2> Try 'ebpfrec report --help'.

$ ebpfrec report alloc -i golden.ebpfrec --pid 200 --every 1s --format csv | cut -d, -f1-5,10-12
1> t_ns,pid,comm,source,allocs,peak_bytes,peak_ns,now_bytes
1> 0,200,cc1,rss,0,0,,0
1> 0,200,cc1,slab,0,0,,0
1> 1000000000,200,cc1,rss,32,33554432,1250000000,33554432
1> 1000000000,200,cc1,slab,100,19200,1100099000,7680
1> 2000000000,200,cc1,rss,0,33554432,2000000000,33554432
1> 2000000000,200,cc1,slab,0,7680,2000000000,7680
1> 3000000000,200,cc1,rss,0,33554432,3000000000,33554432
1> 3000000000,200,cc1,slab,0,7680,3000000000,7680

$ ebpfrec report alloc -i golden.ebpfrec --pid 200 --format csv | cut -d, -f1-8
1> pid,comm,source,allocs,frees,alloc_bytes,free_bytes,net_bytes
1> 200,cc1,rss,32,0,33554432,0,33554432
1> 200,cc1,slab,100,60,19200,11520,7680

$ ebpfrec report spikes -i golden.ebpfrec --format csv | cut -d, -f1-8
1> pid,comm,source,also,start_ns,dur_ns,bytes,bytes_per_s
1> 200,cc1,rss,,1201562500,48437500,33554432,692736660.6451613

# a process that was make for 1 us, and then cc1
$ for c in cc1 make; do ebpfrec report spikes -i golden.ebpfrec --comm $c --format csv | cut -d, -f1-8; done
1> pid,comm,source,also,start_ns,dur_ns,bytes,bytes_per_s
1> 200,cc1,rss,,1201562500,48437500,33554432,692736660.6451613
1> pid,comm,source,also,start_ns,dur_ns,bytes,bytes_per_s

$ ebpfrec report loss -i golden.ebpfrec --format csv 2>/dev/null | cut -d, -f1-5
1> class,source,attempted,read,lost_events
1> sched,sched.switch,1,0,3

$ ebpfrec report -i golden.ebpfrec | head -n 3
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1> 1. cc1 waited 1.50 s of 4.00 s (37 %) for a CPU
1~ ?*

$ ebpfrec report -i golden.ebpfrec --format csv 2>/dev/null | head -n 1
1> section,row,name,value

# json has an object of sections with rows; jsonl a row per value, as csv
$ ebpfrec report -i golden.ebpfrec --format json 2>/dev/null |
> python3 -c 'import json, sys; s = json.load(sys.stdin); print(*s, sep=", "); print(s["Machine"]); print([r["comm"]
>   for r in s["CPU by name"]], s["Spikes"])'
1> Causes, Machine, CPU by name, Waiting by name, Memory by name, Killed by the OOM killer, Stalled because memory was short, Spikes, Block I/O by name, Rules judged, Events, Recording, Recording cost
1> [{'cpus': 2, 'cpu_busy_pct': 34.375, 'rss_peak_bytes': 39845888, 'read_bytes': 0, 'written_bytes': 655360, 'lost_events': 3}]
1> ['cc1', 'make', '=1+\x1b[31m,"�'] [{'pid': 200, 'comm': 'cc1', 'source': 'rss', 'start_ns': 1201562500, 'dur_ns': 48437500, 'bytes': 33554432, 'bytes_per_s': 692736660.6451613}]

$ ebpfrec report why -i golden.ebpfrec --comm cc1 --format json 2>/dev/null |
> python3 -c 'import json, sys; print([(k, len(v)) for k, v in json.load(sys.stdin).items()])'
1> [('In short', 2), ('Waited for', 1), ('States', 2), ('Where it ran', 0), ('Where it waited', 0), ('Waited longest', 0), ('Ran instead', 0), ('Requests', 0), ('Files', 0), ('Beside them', 0), ('Woken by', 0), ('Memory', 1), ('Path', 4), ('Rules', 5)]

$ ebpfrec report -i golden.ebpfrec --format json --limit 1 2>/dev/null |
> python3 -c 'import json, sys; print([len(v) for v in json.load(sys.stdin).values()])'
1> [2, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 5, 1]

$ ebpfrec report -i golden.ebpfrec --format jsonl 2>/dev/null | head -n 2
1> {"section":"Causes","row":1,"name":"answer","value":"cc1 waited 1.50 s of 4.00 s (37 %) for a CPU"}
1> {"section":"Causes","row":1,"name":"cost_ns","value":1500000000}

# The machine is the machine, whoever is asked about; in a trace of some processes it is not known.
$ for who in "" "--comm cc1" "--pid 100 --with-idle" "--tid 300"; do ebpfrec report -i golden.ebpfrec $who |
> sed -n '/^Machine/,/^$/p'; done
1> Machine
1> CPUS  CPU BUSY %  RSS PEAK  READ BYTES  WRITTEN BYTES  LOST EVENTS
1>    2        34.4  38.0 MiB         0 B        640 KiB            3
1>
1> Machine
1> CPUS  CPU BUSY %  RSS PEAK  READ BYTES  WRITTEN BYTES  LOST EVENTS
1>    2        34.4  38.0 MiB         0 B        640 KiB            3
1>
1> Machine
1> CPUS  CPU BUSY %  RSS PEAK  READ BYTES  WRITTEN BYTES  LOST EVENTS
1>    2        34.4  38.0 MiB         0 B        640 KiB            3
1>
1> Machine
1> CPUS  CPU BUSY %  RSS PEAK  READ BYTES  WRITTEN BYTES  LOST EVENTS
1>    2        34.4  38.0 MiB         0 B        640 KiB            3
1>

$ ebpfrec cut -i golden.ebpfrec --comm cc1 -o part.ebpfrec 2>/dev/null; ebpfrec report -i part.ebpfrec |
> sed -n '/^Machine/,/^$/p'
1> Machine
1> CPUS  CPU BUSY %  RSS PEAK  READ BYTES  WRITTEN BYTES  LOST EVENTS
1>    2           -         -           -              -            3
1>

$ ebpfrec report -i golden.ebpfrec --format csv 2>/dev/null | grep '^Machine\|^CPU\|^Waiting'
1> Machine,1,cpus,2
1> Machine,1,cpu_busy_pct,34.375
1> Machine,1,rss_peak_bytes,39845888
1> Machine,1,read_bytes,0
1> Machine,1,written_bytes,655360
1> Machine,1,lost_events,3
1> CPU by name,1,comm,cc1
1> CPU by name,1,processes,1
1> CPU by name,1,pid,200
1> CPU by name,1,oncpu_ns,1499999000
1> CPU by name,1,util_pct,37.5
1> CPU by name,1,switches,1
1> CPU by name,1,preempted,1
1> CPU by name,2,comm,make
1> CPU by name,2,processes,2
1> CPU by name,2,pid,
1> CPU by name,2,oncpu_ns,1000001000
1> CPU by name,2,util_pct,25
1> CPU by name,2,switches,2
1> CPU by name,2,preempted,0
1> CPU by name,3,comm,"'=1+\x1b[31m,""\xff"
1> CPU by name,3,processes,1
1> CPU by name,3,pid,300
1> CPU by name,3,oncpu_ns,250000000
1> CPU by name,3,util_pct,6.25
1> CPU by name,3,switches,1
1> CPU by name,3,preempted,0
1> Waiting by name,1,comm,"'=1+\x1b[31m,""\xff"
1> Waiting by name,1,cpu_wait_ns,1500000000
1> Waiting by name,1,cpu_wait_max_ns,
1> Waiting by name,1,disk_wait_ns,0
1> Waiting by name,1,uninterruptible_ns,0
1> Waiting by name,1,waited_for,"unknown 60 %, cpu 40 %"
1> Waiting by name,2,comm,cc1
1> Waiting by name,2,cpu_wait_ns,1500000000
1> Waiting by name,2,cpu_wait_max_ns,
1> Waiting by name,2,disk_wait_ns,0
1> Waiting by name,2,uninterruptible_ns,0
1> Waiting by name,2,waited_for,cpu 100 %

$ ebpfrec report --list --format csv | sed '1d; s/^[^,]*,\([a-z]*\),"*\([^?]*\).*/\1 \2/' |
> diff - <(sed -n '/made from/,/" end$/{/^[^.]/s/.*\\fB *\([a-z]*\) *\\fR \(.*\)?/\1 \2/p}' \
>     "$(dirname "$README")/cmd/ebpfrec-report.1")

$ ebpfrec report --list | awk '{ n += length > 80 } END { print NR <= 30, n + 0 }'
1> 1 0

$ ebpfrec report --list | grep -A1 'also:'
1>            why        Why did it take that long? (also: path, whatif)
1>            totals     How much CPU time, memory and I/O was there in all?
1> --
1> CPU        cpu        Who used the CPU? (also: parallel, timeline)
1>            profile    Which code ran on the CPU?
1>            sched      Who waited for a CPU, and for how long? (also: preempts)
1>            irq        Which interrupts took time, and whose?
1> --
1>            waits      What did threads wait for? (also: offcpu)
1>            locks      Which locks were waited for, and who held them?
1> --
1>            alloc      Who allocated, freed and held how much memory? (also:
1>                       sizes, lifetimes, stacks)
1> --
1>            latency    Where did requests spend their time? (also: pattern,
1>                       beside)
1> --
1> also: report VIEW --show NAME. Keys: --list VIEW. Notes: report VIEW --notes

$ ebpfrec report --list latency
1> latency: Where did requests spend their time?
1> QUEUE is the time from queueing to the first issue to the device; DEVICE is the time from the last issue to completion. Percentiles are exact up to 65536 requests per row, otherwise within 0.4 %.
1> --by process,thread,thread_name,comm,cgroup,container,unit,user,tree,device,partition,op,size; default device
1> --show pattern   How large are requests, and do they follow each other?
1> --show beside    Who else used the disk, and how long did requests take?

$ ebpfrec report --list pattern
1> pattern: How large are requests, and do they follow each other?
1> A request is sequential if it is adjacent on the device to one of the 16 requests of its row that ended before it.
1> --by process,thread,thread_name,comm,cgroup,container,unit,user,tree,device,partition,op; default device
1> The same as report latency --show pattern

# a further answer of a view is the view of that name
$ for v in $(ebpfrec report --list --format jsonl |
>     sed -n 's/.*"view":"\([a-z]*\)".*"of":"\([a-z]*\)".*/\2:\1/p'); do
>     cmp <(ebpfrec report -i golden.ebpfrec "${v%:*}" --show "${v#*:}" 2>&1) \
>         <(ebpfrec report -i golden.ebpfrec "${v#*:}" 2>&1) && echo "$v"; done | xargs
1> why:path why:whatif cpu:parallel cpu:timeline sched:preempts waits:offcpu alloc:sizes alloc:lifetimes alloc:stacks latency:pattern latency:beside

$ ebpfrec report latency --show sizes
? 2
2> ebpfrec report: view 'latency' has no --show sizes; it has pattern, beside
2> Try 'ebpfrec report --help'.

$ ebpfrec report --show path
? 2
2> ebpfrec report: view 'summary' has no --show path; it has none
2> Try 'ebpfrec report --help'.

$ ebpfrec report --list cpu --format jsonl
1> {"group":"CPU","view":"cpu","question":"Who used the CPU?","by":"process,thread,thread_name,comm,cgroup,container,unit,user,tree,cpu","by_default":"process","notes":"The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. IRQ and SOFTIRQ are this part of ONCPU, if sched.irq was recorded. [unknown] is time on CPUs without a known thread: switches were lost, or the kernel hides the task from BPF."}

$ ebpfrec report --list why
1> why: Why did it take that long?
1> The sections show what the threads waited for, what else they did, their longest waits for a CPU and the threads that ran there, their requests, and the threads that woke them. The last section, Path, goes back along the wake-ups from the end of the window to its beginning.
1> --show path      What delayed the end of the window, step by step?
1> --show whatif    How much sooner would it have ended without a cause?

$ ebpfrec report whatif -i golden.ebpfrec
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> CAUSE  SAVES MIN  SAVES MAX  OF  DRIFT  NEXT  NEXT  VERDICT  COMPLETE  LOST EVENTS
1> (nothing)
1>
1> The end is that of the last thread on a CPU, of any process; --workload, --pid, --comm, --tid, --thread or --during selects threads.

$ ebpfrec report whatif -i golden.ebpfrec --without locks:x
? 1
2> ebpfrec: report whatif: 'locks:x' is not a cause: lock:NAME, file:PATH, process:NAME, function:NAME, disk, quota, sleep, timeout, stop or cpu

$ ebpfrec report whatif -i golden.ebpfrec --without lock
? 1
2> ebpfrec: report whatif: 'lock' needs a name: lock:NAME

$ ebpfrec report whatif -i golden.ebpfrec --without cpu --without quota --format csv
1> cause,saves_min_ns,saves_max_ns,of_ns,drift_ns,next,next_ns,verdict,complete,lost_events
1> "cpu, quota",0,0,3000000000,0,make unknown,2000000000,"cannot tell: 2.00 s of the path are unknown, of make",0,3
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: golden.ebpfrec: The end is that of the last thread on a CPU, of any process; --workload, --pid, --comm, --tid, --thread or --during selects threads.

$ ebpfrec report why -i golden.ebpfrec --without cpu
? 2
2> ebpfrec report: --without is for the view 'whatif', not for 'why'
2> Try 'ebpfrec report --help'.

$ ebpfrec report why -i golden.ebpfrec --comm make
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> In short
1> All threads together ran for 1.00 s of 4.00 s (25 %) on CPUs
1>
1> Waited for
1> KIND     CALL  OBJECT  WAITS    WAIT  WAIT MAX  ENDED BY  MEANWHILE
1> unknown     -       -      1  3.00 s    2.00 s         -          -
1>
1> States
1> STATE       TIME  SHARE %  BAR
1> running   1.00 s     25.0  ########
1> sleeping  3.00 s     75.0  #######################
1>
1> Requests
1> DEVICE  OP     IOS    BYTES  LAT P50  LAT MAX  QUEUE MAX  DEVICE MAX
1> dev8:0  write   10  640 KiB  5.00 ms  5.00 ms    1.00 ms     4.00 ms
1>
1> Path
1> PID  COMM  KIND     CALL  OBJECT  PARTS    PATH  SHARE %
1> 100  make  unknown     -       -      2  3.00 s     75.0
1> 100  make  running     -       -      2  1.00 s     25.0
1>
1> The sections show what the threads waited for, what else they did, their longest waits for a CPU and the threads that ran there, their requests, and the threads that woke them. (More: --notes.)

$ ebpfrec report why -i golden.ebpfrec --every 1s
? 1
2> ebpfrec: report why has no --every: it looks at the window's end

$ ebpfrec report parallel -i golden.ebpfrec --format csv
1> pid,comm,wall_ns,wall_pct,alone_ns,oncpu_ns,parallel_avg,complete,lost_events
1> 200,cc1,1375000000,34.375,1250000000,1500000000,1.167,0,3
1> 100,make,1000000000,25,1000000000,1000000000,1,0,3
1> 300,"'=1+\x1b[31m,""\xff",125000000,3.125,0,250000000,2,0,3
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report parallel -i golden.ebpfrec --histogram
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> BUSY    WALL  WALL %   ONCPU
1>    0  1.50 s    37.5    0 ns
1>    1  2.25 s    56.3  2.25 s
1>    2  250 ms     6.3  500 ms
1> (in all rows, COMPLETE: NO, LOST EVENTS: 3)
1>
1> Each row is a number of CPUs, and the time in which exactly this number was busy at once.

$ ebpfrec report parallel -i golden.ebpfrec --histogram --comm 'c*' --every 2s --format csv
1> t_ns,busy,wall_ns,wall_pct,oncpu_ns,complete,lost_events
1> 0,0,1000001000,50,0,1,0
1> 0,1,999999000,50,999999000,1,0
1> 2000000000,0,1500000000,75,0,0,3
1> 2000000000,1,500000000,25,500000000,0,3
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report states -i golden.ebpfrec --format csv
1> pid,comm,life_ns,running_ns,runnable_ns,preempted_ns,throttled_ns,disk_ns,uninterruptible_ns,sleeping_ns,stopped_ns,unknown_ns,complete,lost_events
1> 200,cc1,3000000000,1500000000,0,1500000000,0,0,0,0,0,0,0,3
1> 300,"'=1+\x1b[31m,""\xff",4000000000,250000000,0,1500000000,0,0,0,2250000000,0,0,0,3
1> 100,make,4000000000,1000000000,0,0,0,0,0,3000000000,0,0,0,3
1> 1,systemd,4000000000,0,0,0,0,0,0,4000000000,0,0,0,3
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report states -i golden.ebpfrec --by thread --every 2s --from 1500ms --pid 100
1> 1.5 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> T (s)  PID  TID  COMM    LIFE  RUNNING  RUNNABLE  PREEMPT  THROTTLED  DISK  UNINT  ASLEEP  STOPPED  UNKNOWN  LOST EVENTS
1> 1.500  100  100  make  2.00 s   500 ms      0 ns     0 ns       0 ns  0 ns   0 ns  1.50 s     0 ns     0 ns            3
1> 3.500  100  100  make  500 ms     0 ns      0 ns     0 ns       0 ns  0 ns   0 ns  500 ms     0 ns     0 ns            0
1> (in all rows, COMPLETE: NO)
1>
1> The parts of a thread add up to its life in the window. (More: --notes.)

$ ebpfrec report -i golden.ebpfrec --phases --format csv
1> phase,t_ns,dur_ns,oncpu_ns,util_pct,switches,preempted,wait_max_ns,rss_alloc_bytes,slab_alloc_bytes,page_alloc_bytes,rss_peak_bytes,largest_rss_bytes,largest_rss_comm,ios,io_bytes,io_lat_max_ns,complete,lost_events
1> [start],0,4000000000,2750000000,68.75,4,1,,33554432,19200,0,39845888,33554432,cc1,10,655360,5000000,0,3
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report -i golden.ebpfrec summary --phases --format json |
> python3 -c 'import json, sys; [print(k, [[r["phase"], r["t_ns"], list(r.values())[3]] for r in v]) for k, v in
>   json.load(sys.stdin).items()]'
1> Causes [['[start]', 0, 'cc1 waited 1.50 s of 4.00 s (37 %) for a CPU'], ['[start]', 0, 'cc1 took 32.0 MiB of memory within 48.4 ms, at 1.202 s']]
1> Machine [['[start]', 0, 2]]
1> CPU by name [['[start]', 0, 'cc1'], ['[start]', 0, 'make'], ['[start]', 0, '=1+\x1b[31m,"�']]
1> Waiting by name [['[start]', 0, '=1+\x1b[31m,"�'], ['[start]', 0, 'cc1']]
1> Memory by name [['[start]', 0, 'cc1'], ['[start]', 0, '=1+\x1b[31m,"�'], ['[start]', 0, 'make'], ['[start]', 0, 'systemd']]
1> Killed by the OOM killer []
1> Stalled because memory was short []
1> Spikes [['[start]', 0, 200]]
1> Block I/O by name [['[start]', 0, 'make']]
1> Rules judged []
1> Events []
1> Recording [['[start]', 0, 'started'], ['[start]', 0, 'window'], ['[start]', 0, 'length'], ['[start]', 0, 'complete'], ['[start]', 0, 'cpus']]
1> Recording cost [['[start]', 0, 40000000]]
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report -i golden.ebpfrec cpu --phases --comm cc1 --format csv 2>/dev/null
1> phase,t_ns,dur_ns,pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> [start],0,4000000000,200,cc1,1499999000,37.5,1,1,0,3,,,

$ ebpfrec report -i golden.ebpfrec cpu --phases --every 1s
? 2
2> ebpfrec report: --phases and --every are two ways to cut the window: choose one
2> Try 'ebpfrec report --help'.

$ ebpfrec report -i golden.ebpfrec cpu --follow=1ms
? 2
2> ebpfrec report: --follow: 1ms is too often; at least 100ms
2> Try 'ebpfrec report --help'.

$ ebpfrec report -i golden.ebpfrec cpu --follow --comm cc1 --format csv 2>/dev/null
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,cc1,1499999000,37.5,1,1,0,3,,,

$ ebpfrec report -i golden.ebpfrec cpu --during nobody
? 1
2> ebpfrec: golden.ebpfrec: there is no process 'nobody' in the trace; `ebpfrec sql -i golden.ebpfrec 'SELECT pid, comm, cgroup FROM processes'` lists them

$ ebpfrec mark -i golden.ebpfrec hello
? 1
2> ebpfrec: golden.ebpfrec: nobody is recording into it; only a running recording takes marks

$ ebpfrec mark
? 2
2> ebpfrec mark: no text: say what this instant is called
2> Try 'ebpfrec mark --help'.

$ ebpfrec snapshot -i golden.ebpfrec -o golden.copy
2~ ebpfrec: golden.copy: 4.00 s, 4 blocks, [0-9.]* kB

$ ebpfrec snapshot -i golden.ebpfrec -o golden.copy
? 1
2~ ebpfrec: 'golden.copy' exists already, ?*

$ ebpfrec report -i golden.copy cpu --comm cc1 --format csv 2>/dev/null
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,cc1,1499999000,37.5,1,1,0,3,,,

$ ebpfrec snapshot
? 2
2> ebpfrec snapshot: -o has to say where the copy goes
2> Try 'ebpfrec snapshot --help'.

# queue depth over time, and an average below 1 is not called 1
$ ebpfrec report devices -i golden.ebpfrec --every 10ms --from 100ms --to 200ms --sparklines --limit 1
1> 0.1 .. 0.2 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1...
1> 0.190  dev8:0    50.0        0.5          1  100.0  6.25 MiB/s      0         0 B       1     64.0 KiB       0  5.00 ms       0     0  5.00 ms   5.00 ms
1>
1> IOPS over time, each line from 0 to its own highest value:
1>
1> dev8:0  @@@@@@@@@@  100
1>
1> The view counts the requests of all processes. (More: --notes.)

# of each section of the summary, too
$ ebpfrec report -i golden.ebpfrec --format csv 2>err | grep -c '^CPU by name,.*,comm,';
> ebpfrec report -i golden.ebpfrec --limit 2 --format csv 2>err | grep -c '^CPU by name,.*,comm,'
1> 3
1> 2

# a filter that names nothing is no empty answer
$ ebpfrec report cpu -i golden.ebpfrec --comm mkae --format csv
? 1
2> ebpfrec: golden.ebpfrec: there is no process 'mkae' in the trace; did you mean 'make'?

$ ebpfrec report cpu -i golden.ebpfrec --pid 4242
? 1
2> ebpfrec: golden.ebpfrec: there is no process '4242' in the trace; `ebpfrec sql -i golden.ebpfrec 'SELECT pid, comm, cgroup FROM processes'` lists them

$ ebpfrec report devices -i golden.ebpfrec --comm make
? 2
2> ebpfrec report: view 'devices' shows the whole machine; it takes no --comm
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --sparklines
? 2
2> ebpfrec report: --sparklines draws the bins of --every: give --every, too
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --from 10:30
? 2
2> ebpfrec report: --from: '10:30' is not an offset; a time of day is written T10:30
2> Try 'ebpfrec report --help'.

# --sort takes a heading as tables print it
$ for c in %CPU util_pct SWITCHES -Oncpu;
> do ebpfrec report cpu -i golden.ebpfrec --sort "$c" --limit 1 --format csv 2>/dev/null | tail -n 1; done
1> 200,cc1,1500000000,37.5,1,1,0,3,,,
1> 200,cc1,1500000000,37.5,1,1,0,3,,,
1> 100,make,1000000000,25,2,0,0,3,,,
1> 300,"'=1+\x1b[31m,""\xff",250000000,6.25,1,0,0,3,,,

$ for c in 'LAT P99' BYTES/S 'LAT MAX'; do ebpfrec report io -i golden.ebpfrec --sort "$c" --format csv | tail -n 1 |
> cut -d, -f1-3; done
1> 100,make,dev8:0
1> 100,make,dev8:0
1> 100,make,dev8:0

# requests by the file behind them; this trace was made without paths
$ ebpfrec report io -i golden.ebpfrec --by file,op --format csv
1> op,file,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns,errors,unowned_ios,unowned_bytes,complete,lost_events
1> write,[unknown],10,655360,2.5,163840,5000000,5000000,5000000,0,0,0,1,0

$ ebpfrec report io -i golden.ebpfrec --by comm,file --every 2s --format csv
1> t_ns,comm,file,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns,errors,unowned_ios,unowned_bytes,complete,lost_events
1> 0,make,[unknown],10,655360,5,327680,5000000,5000000,5000000,0,0,0,1,0
1> 2000000000,make,[unknown],0,0,0,0,,,,0,0,0,1,0

$ ebpfrec report io -i golden.ebpfrec --by file,thread
? 2
2> ebpfrec report: view 'io' cannot have rows by file together with thread, thread_name or size
2> Try 'ebpfrec report --help'.

$ ebpfrec report latency -i golden.ebpfrec --by file
? 2
2> ebpfrec report: view 'latency' has no rows by file; it takes --by process,thread,thread_name,comm,cgroup,container,unit,user,tree,device,partition,op,size
2> Try 'ebpfrec report --help'.

# ---- --align ----

$ ebpfrec report timeline -i golden.ebpfrec --every 1500ms --align --format csv
1> unix_ns,wall_uncertainty_ns,t_ns,cpu,busy_pct,switches,pid,comm,oncpu_ns,complete,lost_events
1> 1700001000000000000,20,0,0,66.667,1,100,make,500000000,1,0
1> 1700001001500000000,20,1500000000,0,100,1,200,cc1,1000000000,0,3
1> 1700001001500000000,20,1500000000,1,16.667,1,300,"'=1+\x1b[31m,""\xff",250000000,0,3
1> 1700001003000000000,20,3000000000,0,0,1,100,make,0,0,0
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost; the window ends after the trace, which ends at 4.000 s

$ ebpfrec report cpu -i golden.ebpfrec --every 1500ms --align --wide-by comm --format csv
1> unix_ns,wall_uncertainty_ns,t_ns,cc1,make,"'=1+\x1b[31m,""\xff"
1> 1700001000000000000,20,0,33.333,33.333,0
1> 1700001001500000000,20,1500000000,66.667,33.333,16.667
1> 1700001003000000000,20,3000000000,0,0,0
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost; the window ends after the trace, which ends at 4.000 s

$ ebpfrec report cpu -i golden.ebpfrec --every 1500ms --align --limit 1
1> 0 .. 4.5 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, whole bins of UTC, as read within 20 ns, INCOMPLETE: sched: 3 events lost; the window ends after the trace, which ends at 4.000 s
1>
1> T (s)  PID  COMM   ONCPU  %CPU  SWITCHES  PREEMPTED  COMPLETE  LOST EVENTS
1> 0.000  100  make  500 ms  33.3         1          0       yes            0
1> 1.500  200  cc1   1.00 s  66.7         1          1        NO            3
1> 3.000  100  make    0 ns   0.0         1          0        NO            0
1> (3 more: --limit 0)
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i golden.ebpfrec --align
? 2
2> ebpfrec report: --align says where the bins of --every begin: give --every
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --every 1h --align
? 1
2> ebpfrec: the first bin of UTC would begin before the machine was up; choose a shorter --every

# ---- --format jsonl ----

# A line is an object, without what is not known; bins say whose and when.
$ ebpfrec report cpu -i golden.ebpfrec --format jsonl --limit 2
1> {"pid":200,"comm":"cc1","oncpu_ns":1500000000,"util_pct":37.5,"switches":1,"preempted":1,"complete":0,"lost_events":3}
1> {"pid":100,"comm":"make","oncpu_ns":1000000000,"util_pct":25,"switches":2,"preempted":0,"complete":0,"lost_events":3}
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report cpu -i golden.ebpfrec --every 1500ms --format jsonl --by cpu 2>/dev/null
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"cpu":0,"oncpu_ns":1000000000,"util_pct":66.667,"switches":1,"preempted":0,"complete":1,"lost_events":0,"idle_ns":500000000,"unknown_ns":0,"other_ns":0}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"cpu":1,"oncpu_ns":0,"util_pct":0,"switches":0,"preempted":0,"complete":1,"lost_events":0,"idle_ns":1500000000,"unknown_ns":0,"other_ns":0}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001001500000000,"wall_uncertainty_ns":20,"t_ns":1500000000,"cpu":0,"oncpu_ns":1500000000,"util_pct":100,"switches":1,"preempted":1,"complete":0,"lost_events":3,"idle_ns":0,"unknown_ns":0,"other_ns":0}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001001500000000,"wall_uncertainty_ns":20,"t_ns":1500000000,"cpu":1,"oncpu_ns":250000000,"util_pct":16.667,"switches":1,"preempted":0,"complete":0,"lost_events":3,"idle_ns":1150000000,"unknown_ns":0,"other_ns":100000000}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001003000000000,"wall_uncertainty_ns":20,"t_ns":3000000000,"cpu":0,"oncpu_ns":0,"util_pct":0,"switches":1,"preempted":0,"complete":1,"lost_events":0,"idle_ns":1000000000,"unknown_ns":0,"other_ns":0}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001003000000000,"wall_uncertainty_ns":20,"t_ns":3000000000,"cpu":1,"oncpu_ns":0,"util_pct":0,"switches":0,"preempted":0,"complete":1,"lost_events":0,"idle_ns":1000000000,"unknown_ns":0,"other_ns":0}

$ ebpfrec report io -i golden.ebpfrec --every 1500ms --align --format jsonl 2>/dev/null
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"pid":100,"comm":"make","device":"dev8:0","op":"write","ios":10,"bytes":655360,"iops":6.667,"bytes_per_s":436906.667,"lat_p50_ns":5000000,"lat_p99_ns":5000000,"lat_max_ns":5000000,"errors":0,"merges":0,"requeues":0,"unknown_owner_ios":0,"submitter":"make","owner_how":"submitted","unowned_ios":0,"unowned_bytes":0,"complete":1,"lost_events":0}

# What is followed comes once; a finished trace at once, bin by bin as without --follow.
$ for view in cpu sched states memory alloc io latency bins loss devices;
> do diff <(ebpfrec report $view -i golden.ebpfrec --every 700ms --align --format jsonl 2>/dev/null) <(ebpfrec report \
>   $view -i golden.ebpfrec --every 700ms --align --format jsonl --follow 2>/dev/null) || echo $view differs; done

$ for end in 1s 1500ms; do ebpfrec report bins -i golden.ebpfrec --every 1s --from 500ms --until $end --format jsonl \
>   --follow 2>/dev/null | cmp - <(ebpfrec report bins -i golden.ebpfrec --every 1s --from 500ms --until $end \
>   --format jsonl 2>/dev/null); done

$ ebpfrec report cpu -i golden.ebpfrec --format jsonl --follow
? 2
2> ebpfrec report: --follow with --format jsonl gives each bin once: give --every
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --every 1s --during cc1 --format jsonl --follow
? 2
2> ebpfrec report: --follow with --format jsonl gives each bin once: leave out --during
2> Try 'ebpfrec report --help'.

# The view bins: a machine's row, rows of names, of requests, and of the steps of their latency.
$ ebpfrec report bins -i golden.ebpfrec --every 2s --align --format jsonl 2>/dev/null
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"bin_ns":2000000000,"name":"","cpus":2,"lost_events":0,"complete":1}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"bin_ns":2000000000,"name":"=1+\u001b[31m,\"�","running_ns":250000000,"runnable_ns":0,"preempted_ns":1500000000,"throttled_ns":0,"disk_ns":0,"uninterruptible_ns":0,"unknown_ns":0,"rss_bytes":2097152,"rss_peak_bytes":2097152}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"bin_ns":2000000000,"name":"cc1","running_ns":999999000,"runnable_ns":0,"preempted_ns":0,"throttled_ns":0,"disk_ns":0,"uninterruptible_ns":0,"unknown_ns":0,"rss_bytes":33554432,"rss_peak_bytes":33554432,"rss_grown_bytes":33554432,"slab_alloc_bytes":19200,"spikes":1,"spike_max_bytes":33554432}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"bin_ns":2000000000,"name":"ebpfrec","running_ns":100000000,"runnable_ns":0,"preempted_ns":1750000000,"throttled_ns":0,"disk_ns":0,"uninterruptible_ns":0,"unknown_ns":0,"rss_bytes":2097152,"rss_peak_bytes":2097152}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"bin_ns":2000000000,"name":"make","running_ns":500001000,"runnable_ns":0,"preempted_ns":0,"throttled_ns":0,"disk_ns":0,"uninterruptible_ns":0,"unknown_ns":0,"rss_bytes":2097152,"rss_peak_bytes":2097152}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"bin_ns":2000000000,"name":"make","device":"dev8:0","op":"write","ios":10,"io_bytes":655360,"lat_sum_ns":50000000,"lat_max_ns":5000000}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"bin_ns":2000000000,"name":"make","device":"dev8:0","op":"write","lat_low_ns":4194304,"lat_ios":10}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"bin_ns":2000000000,"name":"systemd","rss_bytes":2097152,"rss_peak_bytes":2097152}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001002000000000,"wall_uncertainty_ns":20,"t_ns":2000000000,"bin_ns":2000000000,"name":"","cpus":2,"lost_events":3,"complete":0}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001002000000000,"wall_uncertainty_ns":20,"t_ns":2000000000,"bin_ns":2000000000,"name":"cc1","running_ns":500000000,"runnable_ns":0,"preempted_ns":1500000000,"throttled_ns":0,"disk_ns":0,"uninterruptible_ns":0,"unknown_ns":0}
1> {"trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001002000000000,"wall_uncertainty_ns":20,"t_ns":2000000000,"bin_ns":2000000000,"name":"make","running_ns":500000000,"runnable_ns":0,"preempted_ns":0,"throttled_ns":0,"disk_ns":0,"uninterruptible_ns":0,"unknown_ns":0}

# Of the rows that export sends for it, these are the columns.
$ diff <(ebpfrec export --to clickhouse --schema | grep '^CREATE TABLE IF NOT EXISTS comm_bins_here' |
> grep -o '`[a-z_]*`' | tr -d '`') <(ebpfrec report bins -i golden.ebpfrec --every 1s --format csv 2>/dev/null |
> head -n 1 | tr -d '\r' | tr , '\n' | sed 1d)

# A section that was cut says how many rows it has beyond, and what shows them.
$ ebpfrec report -i golden.ebpfrec --comm '[cm]*' --until 3s --limit 1 | grep more
1> (1 more: ebpfrec report cpu --by comm --comm '[cm]*' --until 3s -i golden.ebpfrec)
1> (1 more: ebpfrec report memory --by comm --comm '[cm]*' --until 3s -i golden.ebpfrec)
1> (4 more: --limit 0)

$ ebpfrec report -i golden.ebpfrec --limit 1 | grep more; ebpfrec report -i golden.ebpfrec why --limit 1 | grep more
1> (2 more: ebpfrec report cpu --by comm -i golden.ebpfrec)
1> (1 more: ebpfrec report waits --by comm -i golden.ebpfrec)
1> (3 more: ebpfrec report memory --by comm -i golden.ebpfrec)
1> (4 more: --limit 0)
1> (1 more: --limit 0)
1> (1 more: --limit 0)
1> (2 more: --limit 0)
1> (1 more: ebpfrec report path -i golden.ebpfrec)
1> (10 more: --limit 0)

# The last line of the summary names the command that says most: who was held up, or had the CPU; or nobody.
$ for t in who threads waits; do gen_golden last-$t.ebpfrec $t; done;
> for t in golden last-who last-threads last-waits; do ebpfrec report -i $t.ebpfrec 2>/dev/null | tail -n 1; done
1> Cause 2: ebpfrec report spikes --comm cc1 -i golden.ebpfrec
1> Cause 1: ebpfrec report spikes --comm work0 -i last-who.ebpfrec
1> Why a name was slow: ebpfrec report why --comm NAME -i last-threads.ebpfrec
1> Cause 1: ebpfrec report why --comm waits -i last-waits.ebpfrec

$ ebpfrec report -i golden.ebpfrec --pid 1 2>/dev/null | tail -n 1;
> ebpfrec report -i golden.ebpfrec --from 0s --until 500ms 2>/dev/null | tail -n 1
1> Why a name was slow: ebpfrec report why --comm NAME -i golden.ebpfrec
1> Cause 1: ebpfrec report cpu --by thread --comm make --from 0s --until 500ms -i golden.ebpfrec

$ eval "$(ebpfrec report -i golden.ebpfrec 2>/dev/null | sed -n 's/^Cause 1: ebpfrec /ebpfrec /p')" | sed -n 3,5p
1> In short
1> All threads together waited 1.50 s of 3.00 s (50 %) for a CPU
1> Path to the end: cc1 cpu 37 %, cc1 running 37 %

# With a recorded command the summary is about its processes, and a line about the others. --machine shows everything.
$ gen_golden command.ebpfrec command; for o in '' --machine '--comm cc1';
> do ebpfrec report -i command.ebpfrec $o 2>/dev/null | sed -n '2p; /^CPU by/,/^$/p; $p'; done
1> 1. make ran for 1.00 s of the critical path (25 %) on CPUs
1> CPU by name
1> COMM  PROCESSES  PID   ONCPU  %CPU  SWITCHES  PREEMPTED
1> cc1           1  200  1.50 s  37.5         1          1
1> make          2    -  1.00 s  25.0         2          0
1>
1> Cause 3: ebpfrec report spikes --comm cc1 -i command.ebpfrec
1> 1. cc1 waited 1.50 s of 4.00 s (37 %) for a CPU
1> CPU by name
1> COMM               PROCESSES  PID   ONCPU  %CPU  SWITCHES  PREEMPTED
1> cc1                        1  200  1.50 s  37.5         1          1
1> make                       2    -  1.00 s  25.0         2          0
1> =1+\x1b[31m,"\xff          1  300  250 ms   6.3         1          0
1>
1> Cause 2: ebpfrec report spikes --comm cc1 -i command.ebpfrec
1> 1. cc1 waited 1.50 s of 4.00 s (37 %) for a CPU
1> CPU by name
1> COMM  PROCESSES  PID   ONCPU  %CPU  SWITCHES  PREEMPTED
1> cc1           1  200  1.50 s  37.5         1          1
1>
1> Cause 2: ebpfrec report spikes --comm cc1 -i command.ebpfrec

$ ebpfrec report -i golden.ebpfrec growth --limit 3
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> PID  COMM  SOURCE     GROWN     GROWN/S  LINEAR %  CALL SITE                    KEPT %  KEPT BYTES  AGE P50
1> 200  cc1   rss     32.0 MiB  10.0 MiB/s      62.8  -                                 -           -        -
1> 200  cc1   slab    7.50 KiB  2.08 KiB/s      42.2  function_ffffffff810010+0x0    40.0    7.50 KiB   2.90 s
1>
1> GROWN/S is the slope of the straight line that fits the window best. (More: --notes.)

# Markdown, with a name that would be markup.
$ ebpfrec report cpu -i golden.ebpfrec --from 1s --to 2s --format markdown
1> 1 .. 2 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> | PID | COMM | ONCPU | %CPU | SWITCHES | PREEMPTED |
1> |---:|---|---:|---:|---:|---:|
1> | 200 | cc1 | 1.00 s | 100.0 | 0 | 0 |
1> | 300 | =1+&#92;x1b\[31m,&#34;&#92;xff | 250 ms | 25.0 | 1 | 0 |
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)
1>

$ ebpfrec report -i golden.ebpfrec --format markdown | head -n 8
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> 1. cc1 waited 1.50 s of 4.00 s (37 %) for a CPU
1>
1> 2. cc1 took 32.0 MiB of memory within 48.4 ms, at 1.202 s
1>
1> ### Machine
1>

# The ring had no room for switches behind the last one: nobody knows who has the CPU, and no view says that it is make
$ gen_golden lost.ebpfrec lost; for v in 'cpu --by comm' 'cpu --by cpu' 'states --comm make';
> do ebpfrec report $v -i lost.ebpfrec --format csv 2>/dev/null; done
1> comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> cc1,1499999000,37.5,1,1,0,3,,,
1> make,500001000,12.5,2,0,0,3,,,
1> [unknown],500000000,12.5,0,0,0,3,,,
1> "'=1+\x1b[31m,""\xff",250000000,6.25,1,0,0,3,,,
1> cpu,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,idle_ns,unknown_ns,other_ns,irq_ns,softirq_ns
1> 0,2000000000,50,3,1,0,3,,1500000000,500000000,0,,
1> 1,250000000,6.25,1,0,0,3,,3650000000,0,100000000,,
1> pid,comm,life_ns,running_ns,runnable_ns,preempted_ns,throttled_ns,disk_ns,uninterruptible_ns,sleeping_ns,stopped_ns,unknown_ns,complete,lost_events
1> 100,make,4000000000,500000000,0,0,0,0,0,3000000000,0,500000000,0,3
1> 200,make,1000,1000,0,0,0,0,0,0,0,0,0,3
