# Several traces at once. Both have the same times, so both lie at 0 of the common axis.

$ cp -r golden.ebpfrec db.ebpfrec; echo host=db >>db.ebpfrec/manifest; cp -r db.ebpfrec copy.ebpfrec; ebpfrec report cpu -i golden.ebpfrec -i db.ebpfrec --limit 1
1> cpu: Who used the CPU?
1~ 2 traces, aligned by wall clock, as read within *; how far the hosts' clocks were apart is not known
1> golden.ebpfrec: golden.ebpfrec, 0.000 .. 4.000 s, from 2023-11-14T22:30:00.000+00:00, INCOMPLETE: sched: 3 events lost
1> db: db.ebpfrec, 0.000 .. 4.000 s, from 2023-11-14T22:30:00.000+00:00, INCOMPLETE: sched: 3 events lost
1> Interrupts count for the thread they interrupted, as in the scheduler's own accounting; irq and softirq are the interrupts' part, if sched.irq was recorded. [unknown]: switches were lost, or belong to tasks that the kernel hides from BPF.
1> At most 1 row of each host; --limit 0 shows all.
1>
1> HOST            PID  COMM   ONCPU  UTIL %  SWITCHES  PREEMPTED  COMPLETE  LOST EVENTS
1> golden.ebpfrec  200  cc1   1.50 s    37.5         1          1        NO            3
1> db              200  cc1   1.50 s    37.5         1          1        NO            3

# A pattern of the shell; hosts of the same name are told apart.
$ ebpfrec report cpu --from 1s --to 2s --every 500ms --format csv -i copy.ebpfrec db.ebpfrec
1> host,t_ns,pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,irq_ns,softirq_ns
1> db,1000000000,200,cc1,500000000,100,0,0,1,0,,
1> db,1500000000,200,cc1,500000000,100,0,0,1,0,,
1> db,1500000000,300,"'=1+\x1b[31m,""\xff",250000000,50,1,0,1,0,,
1> db#2,1000000000,200,cc1,500000000,100,0,0,1,0,,
1> db#2,1500000000,200,cc1,500000000,100,0,0,1,0,,
1> db#2,1500000000,300,"'=1+\x1b[31m,""\xff",250000000,50,1,0,1,0,,
2~ ebpfrec: 2 traces, aligned by wall clock, as read within *; all of one host

$ ebpfrec report cpu -i db.ebpfrec copy.ebpfrec --follow
? 2
2> ebpfrec report: --follow is for one trace, and there are 2
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i db.ebpfrec -i nowhere
? 1
2~ ebpfrec: nowhere: no such trace*

$ ebpfrec export -i db.ebpfrec --to csv --with-host -t switches -o - 2>/dev/null | head -n 2
1> host,unix_ns,ts_ns,cpu,utid,preempted,next_utid,prev_state,prev_prio,next_prio
1> db,1700001000500000000,500000000,0,17,0,0,1,120,120

$ ebpfrec export -i db.ebpfrec --to sqlite --with-host
? 2
2> ebpfrec export: --with-host is for csv and json
2> Try 'ebpfrec export --help'.

# One of them is of some processes only: said for that one.
$ ebpfrec cut -i golden.ebpfrec --comm cc1 -o cc1.ebpfrec 2>/dev/null; ebpfrec report cpu -i db.ebpfrec cc1.ebpfrec | grep 'Cut:'
1~ cc1.ebpfrec: Cut: events of some processes only *

$ ebpfrec report cpu -i db.ebpfrec cc1.ebpfrec --format csv 2>&1 >/dev/null | grep 'Cut:'
1~ ebpfrec: cc1.ebpfrec: Cut: events of some processes only *

$ cp -r golden.ebpfrec only.ebpfrec; echo only=1 >>only.ebpfrec/manifest; ebpfrec report devices -i only.ebpfrec | sed -n 4p
1> Recorded with --only: what others than the workload did, and so machines, CPUs and devices as a whole, is not in it.

# All but report are of one trace, and do not take the last of two.
$ ebpfrec cut -i golden.ebpfrec -i db.ebpfrec -o both.ebpfrec
? 2
2> ebpfrec cut: -i: one trace at a time, and there are 'golden.ebpfrec' and 'db.ebpfrec'
2> Try 'ebpfrec cut --help'.
