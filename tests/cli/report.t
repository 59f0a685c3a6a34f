# The answers, worked out by hand from what gen_golden.c says the trace holds.

$ ebpfrec report cpu -i golden.ebpfrec
1> cpu: Who used the CPU?
1> golden.ebpfrec, 0.000 .. 4.000 s (4.00 s), from 2023-11-14T22:30:00.000+00:00, INCOMPLETE: sched: 3 events lost
1...
1>
1> PID  COMM                ONCPU  UTIL %  SWITCHES  PREEMPTED  COMPLETE  LOST EVENTS
1> 200  cc1                1.50 s    37.5         1          1        NO            3
1> 100  make               1.00 s    25.0         2          0        NO            3
1> 300  =1+\x1b[31m,"\xff  250 ms     6.3         1          0        NO            3

$ ebpfrec report cpu -i golden.ebpfrec --from 1s --to 2s
1> cpu: Who used the CPU?
1> golden.ebpfrec, 1.000 .. 2.000 s (1.00 s), from 2023-11-14T22:30:01.000+00:00, complete
1...
1>
1> PID  COMM                ONCPU  UTIL %  SWITCHES  PREEMPTED  COMPLETE  LOST EVENTS
1> 200  cc1                1.00 s   100.0         0          0       yes            0
1> 300  =1+\x1b[31m,"\xff  250 ms    25.0         1          0       yes            0

$ ebpfrec report cpu -i golden.ebpfrec --from -3s --to 2023-11-14T22:30:02Z --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> 200,cc1,1000000000,100,0,0,1,0,,
1> 300,"'=1+\x1b[31m,""\xff",250000000,25,1,0,1,0,,

$ ebpfrec report cpu -i golden.ebpfrec --from @1700001001 --to T22:30:02 --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> 200,cc1,1000000000,100,0,0,1,0,,
1> 300,"'=1+\x1b[31m,""\xff",250000000,25,1,0,1,0,,

$ ebpfrec report cpu -i golden.ebpfrec --from 0.25s --to 0.250000001s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> 100,make,1,100,0,0,1,0,,

$ ebpfrec report cpu -i golden.ebpfrec --every 1s --format csv 2>/dev/null
1> t_ns,pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> 0,100,make,500000000,50,1,0,1,0,,
1> 1000000000,200,cc1,1000000000,100,0,0,1,0,,
1> 1000000000,300,"'=1+\x1b[31m,""\xff",250000000,25,1,0,1,0,,
1> 2000000000,200,cc1,500000000,50,1,1,0,3,,
1> 2000000000,100,make,500000000,50,0,0,0,3,,
1> 3000000000,100,make,0,0,1,0,1,0,,

$ ebpfrec report cpu -i golden.ebpfrec --by cpu --from 0 --to 2s --format csv
1> cpu,oncpu_ns,util_pct,switches,preempted,complete,lost_events,idle_ns,unknown_ns,other_ns,irq_ns,softirq_ns
1> 0,1500000000,75,1,0,1,0,500000000,0,0,,
1> 1,250000000,12.5,1,0,1,0,1650000000,0,100000000,,

# by CPU, idle time has its own column: --with-idle adds nothing
$ ebpfrec report cpu -i golden.ebpfrec --by cpu --with-idle --from 0 --to 2s --format csv
1> cpu,oncpu_ns,util_pct,switches,preempted,complete,lost_events,idle_ns,unknown_ns,other_ns,irq_ns,softirq_ns
1> 0,1500000000,75,1,0,1,0,500000000,0,0,,
1> 1,250000000,12.5,1,0,1,0,1650000000,0,100000000,,

$ ebpfrec report cpu -i golden.ebpfrec --with-recorder --from 1s --to 2s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> 200,cc1,1000000000,100,0,0,1,0,,
1> 300,"'=1+\x1b[31m,""\xff",250000000,25,1,0,1,0,,
1> 900,ebpfrec,100000000,10,1,0,1,0,,

$ ebpfrec report cpu -i golden.ebpfrec --comm 'c*' --format json
1> [
1> {"pid":200,"comm":"cc1","oncpu_ns":1500000000,"util_pct":37.5,"switches":1,"preempted":1,"complete":0,"lost_events":3,"irq_ns":null,"softirq_ns":null}
1> ]
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report cpu -i golden.ebpfrec --pid 100 --from 0 --to 1s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> 100,make,500000000,50,1,0,1,0,,

$ ebpfrec report cpu -i golden.ebpfrec --sort comm --limit 1
1> cpu: Who used the CPU?
1> golden.ebpfrec, 0.000 .. 4.000 s (4.00 s), from 2023-11-14T22:30:00.000+00:00, INCOMPLETE: sched: 3 events lost
1...
1>
1> PID  COMM   ONCPU  UTIL %  SWITCHES  PREEMPTED  COMPLETE  LOST EVENTS
1> 100  make  1.00 s    25.0         2          0        NO            3
1> (2 more; --limit 0 shows all)

$ ebpfrec report cpu -i golden.ebpfrec --sort -oncpu_ns --limit 1 --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> 300,"'=1+\x1b[31m,""\xff",250000000,6.25,1,0,0,3,,
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report cpu -i golden.ebpfrec --sort nope
? 2
2> ebpfrec report: --sort: there is no column "nope" here; there are pid, comm, oncpu_ns, util_pct, switches, preempted, complete, lost_events, irq_ns, softirq_ns
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --from 3.5s --to 4s
1> cpu: Who used the CPU?
1> golden.ebpfrec, 3.500 .. 4.000 s (500 ms), from 2023-11-14T22:30:03.500+00:00, complete
1...
1>
1> PID  COMM  ONCPU  UTIL %  SWITCHES  PREEMPTED  COMPLETE  LOST EVENTS  IRQ  SOFTIRQ
1> (nothing)

$ ebpfrec report cpu -i golden.ebpfrec --from 10s --to 11s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
2> ebpfrec: golden.ebpfrec: the window is incomplete: the window lies outside of the trace

$ ebpfrec report io -i golden.ebpfrec --format csv | cut -d, -f1-11
1> pid,comm,device,op,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns
1> 100,make,dev8:0,write,10,655360,2.5,163840,5000000,5000000,5000000

$ ebpfrec report io -i golden.ebpfrec --by device --every 1s --format csv | cut -d, -f1-6
1> t_ns,device,op,ios,bytes,iops
1> 0,dev8:0,write,10,655360,10

$ ebpfrec report alloc -i golden.ebpfrec --pid 200 --format csv | cut -d, -f1-8
1> pid,comm,source,allocs,frees,alloc_bytes,free_bytes,net_bytes
1> 200,cc1,rss,32,0,33554432,0,33554432
1> 200,cc1,slab,100,60,19200,11520,7680

$ ebpfrec report spikes -i golden.ebpfrec --format csv | cut -d, -f1-8
1> pid,comm,source,start_ns,dur_ns,bytes,bytes_per_s,baseline_bytes
1> 200,cc1,rss,1201562500,48437500,33554432,692736660.6451613,0

$ ebpfrec report loss -i golden.ebpfrec --format csv 2>/dev/null | cut -d, -f1-5
1> class,source,attempted,read,lost_events
1> sched,sched.switch,0,0,3

$ ebpfrec report -i golden.ebpfrec | head -n 3
1> summary: What happened, and who used the most?
1> golden.ebpfrec, 0.000 .. 4.000 s (4.00 s), from 2023-11-14T22:30:00.000+00:00, INCOMPLETE: sched: 3 events lost
1~ ?*

$ ebpfrec report -i golden.ebpfrec --format csv 2>/dev/null | head -n 1
1> section,row,name,value

$ ebpfrec report -i golden.ebpfrec --format csv 2>/dev/null | grep '^CPU'
1> CPU by process,1,pid,200
1> CPU by process,1,comm,cc1
1> CPU by process,1,oncpu_ns,1500000000
1> CPU by process,1,util_pct,37.5
1> CPU by process,1,switches,1
1> CPU by process,1,preempted,1
1> CPU by process,2,pid,100
1> CPU by process,2,comm,make
1> CPU by process,2,oncpu_ns,1000000000
1> CPU by process,2,util_pct,25
1> CPU by process,2,switches,2
1> CPU by process,2,preempted,0
1> CPU by process,3,pid,300
1> CPU by process,3,comm,"'=1+\x1b[31m,""\xff"
1> CPU by process,3,oncpu_ns,250000000
1> CPU by process,3,util_pct,6.25
1> CPU by process,3,switches,1
1> CPU by process,3,preempted,0

$ ebpfrec report --list | grep -c '?$'
1> 20

$ ebpfrec report -i golden.ebpfrec --phases --format csv
1> phase,t_ns,dur_ns,oncpu_ns,util_pct,switches,preempted,wait_max_ns,rss_alloc_bytes,slab_alloc_bytes,page_alloc_bytes,rss_peak_bytes,rss_peak_comm,ios,io_bytes,io_lat_max_ns,complete,lost_events
1> [start],0,4000000000,2750000000,68.75,4,1,,33554432,19200,0,33554432,cc1,10,655360,5000000,0,3
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report -i golden.ebpfrec cpu --phases --comm cc1 --format csv 2>/dev/null
1> phase,t_ns,dur_ns,pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> [start],0,4000000000,200,cc1,1500000000,37.5,1,1,0,3,,

$ ebpfrec report -i golden.ebpfrec cpu --phases --every 1s
? 2
2> ebpfrec report: --phases and --every are two ways to cut the window: choose one
2> Try 'ebpfrec report --help'.

$ ebpfrec report -i golden.ebpfrec cpu --follow=1ms
? 2
2> ebpfrec report: --follow: 1ms is too often; at least 100ms
2> Try 'ebpfrec report --help'.

$ ebpfrec report -i golden.ebpfrec cpu --follow --comm cc1 --format csv 2>/dev/null
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> 200,cc1,1500000000,37.5,1,1,0,3,,

$ ebpfrec report -i golden.ebpfrec cpu --during nobody
? 2
2> ebpfrec report: --during: there is no process 'nobody' in the trace
2> Try 'ebpfrec report --help'.

$ ebpfrec mark -i golden.ebpfrec hello
? 1
2> ebpfrec: golden.ebpfrec: nobody is recording into it now; a mark can only be made meanwhile

$ ebpfrec mark
? 2
2> ebpfrec mark: no text; what is this instant called?
2> Try 'ebpfrec mark --help'.

$ ebpfrec snapshot -i golden.ebpfrec -o golden.copy
2> ebpfrec: golden.copy: 4 blocks, 4.00 s

$ ebpfrec snapshot -i golden.ebpfrec -o golden.copy
? 1
2~ ebpfrec: 'golden.copy' exists already, ?*

$ ebpfrec report -i golden.copy cpu --comm cc1 --format csv 2>/dev/null
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> 200,cc1,1500000000,37.5,1,1,0,3,,

$ ebpfrec snapshot
? 2
2> ebpfrec snapshot: -o has to say where the copy goes
2> Try 'ebpfrec snapshot --help'.

# queue depth over time, and an average below 1 is not called 1
$ ebpfrec report devices -i golden.ebpfrec --every 10ms --from 100ms --to 200ms --sparklines --limit 1
1> devices: How busy was each block device?
1...
1> (9 more; --limit 0 shows all)
1>
1> DEPTH AVG over time, each line from 0 to its own highest value:
1>
1> dev8:0  @@@@@@@@@@  0.5

# of each section of the summary, too
$ ebpfrec report -i golden.ebpfrec --format csv 2>err | grep -c '^CPU by process,.*,pid,'; ebpfrec report -i golden.ebpfrec --limit 2 --format csv 2>err | grep -c '^CPU by process,.*,pid,'
1> 3
1> 2
