# Stacks in the views that say where from: gen_golden's 80 of 100 kmallocs have one, of two stacks, and 60 of those are
# freed.
$ gen_golden stacks.ebpfrec stacks; ebpfrec report -i stacks.ebpfrec leaks
1> 0 .. 4 s of stacks.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> PID  COMM  SOURCE  KIND     CALL SITE                    OBJECTS     BYTES  OLDEST  NEWEST  UNSURE  HELD
1> 200  cc1   heap             ufunc_512+0x34 [prog]              1  3.91 KiB  2.70 s  2.70 s       0  live
1>       user: ufunc_33 < ufunc_1
1> 200  cc1   slab             function_ffffffff810010+0x0       20  3.75 KiB  2.90 s  2.90 s       0  live
1> 200  cc1   slab             function_ffffffff810010+0x0       15  2.81 KiB  2.90 s  2.90 s       0  live
1>       user: ufunc_12 < ufunc_1
1>       kernel: function_ffffffff810010 < function_ffffffff81abc0
1> 200  cc1   slab             function_ffffffff810010+0x0        5     960 B  2.90 s  2.90 s       0  live
1>       user: prog+0x1341 (stripped) < ufunc_1
1>       kernel: function_ffffffff810010 < function_ffffffff81def0
1> 200  cc1   page    order 8                                    32  32.0 MiB  2.80 s  2.75 s       0  live
1>       user: ufunc_22 < ufunc_1
1>       kernel: function_ffffffff817770
1>
1> HELD is the holder of the memory: a live process (live), a process that had this heap memory when it ended or called exec (at exit), the kernel, which kept it after the process had ended (after exit), a cache of the kernel for names, inodes and buffers of files, which the kernel frees when memory is short (cache), or the dynamic loader, which keeps it (loader). (More: --notes.)

$ ebpfrec report -i stacks.ebpfrec leaks --format csv
1> pid,comm,source,kind,call_site,objects,bytes,oldest_ns,newest_ns,unsure,complete,lost_events,user_stack,kernel_stack,held
1> 200,cc1,heap,"",ufunc_512+0x34 [prog],1,4000,2699999999,2699999999,0,1,0,ufunc_1;ufunc_33,,live
1> 200,cc1,slab,"",function_ffffffff810010+0x0,20,3840,2899920000,2899901000,0,1,0,,,live
1> 200,cc1,slab,"",function_ffffffff810010+0x0,15,2880,2899939000,2899921000,0,1,0,ufunc_1;ufunc_12,function_ffffffff81abc0;function_ffffffff810010,live
1> 200,cc1,slab,"",function_ffffffff810010+0x0,5,960,2899940000,2899924000,0,1,0,ufunc_1;prog+0x1341 (stripped),function_ffffffff81def0;function_ffffffff810010,live
1> 200,cc1,page,order 8,"",32,33554432,2798437500,2750000000,0,1,0,ufunc_1;ufunc_22,function_ffffffff817770,live

$ ebpfrec report -i stacks.ebpfrec leaks --by comm --format json
1> [
1> {"comm":"cc1","source":"heap","kind":"","call_site":"ufunc_512+0x34 [prog]","objects":1,"bytes":4000,"oldest_ns":2699999999,"newest_ns":2699999999,"unsure":0,"complete":1,"lost_events":0,"user_stack":"ufunc_1;ufunc_33","kernel_stack":null,"held":"live"},
1> {"comm":"cc1","source":"slab","kind":"","call_site":"function_ffffffff810010+0x0","objects":20,"bytes":3840,"oldest_ns":2899920000,"newest_ns":2899901000,"unsure":0,"complete":1,"lost_events":0,"user_stack":null,"kernel_stack":null,"held":"live"},
1> {"comm":"cc1","source":"slab","kind":"","call_site":"function_ffffffff810010+0x0","objects":15,"bytes":2880,"oldest_ns":2899939000,"newest_ns":2899921000,"unsure":0,"complete":1,"lost_events":0,"user_stack":"ufunc_1;ufunc_12","kernel_stack":"function_ffffffff81abc0;function_ffffffff810010","held":"live"},
1> {"comm":"cc1","source":"slab","kind":"","call_site":"function_ffffffff810010+0x0","objects":5,"bytes":960,"oldest_ns":2899940000,"newest_ns":2899924000,"unsure":0,"complete":1,"lost_events":0,"user_stack":"ufunc_1;prog+0x1341 (stripped)","kernel_stack":"function_ffffffff81def0;function_ffffffff810010","held":"live"},
1> {"comm":"cc1","source":"page","kind":"order 8","call_site":"","objects":32,"bytes":33554432,"oldest_ns":2798437500,"newest_ns":2750000000,"unsure":0,"complete":1,"lost_events":0,"user_stack":"ufunc_1;ufunc_22","kernel_stack":"function_ffffffff817770","held":"live"}
1> ]

$ ebpfrec report -i stacks.ebpfrec leaks --format folded
1> cc1;[heap];ufunc_1;ufunc_33 4000
1> cc1;[slab];[not recorded] 3840
1> cc1;[slab];ufunc_1;ufunc_12;function_ffffffff81abc0;function_ffffffff810010 2880
1> cc1;[slab];ufunc_1;prog+0x1341 (stripped);function_ffffffff81def0;function_ffffffff810010 960
1> cc1;[page];ufunc_1;ufunc_22;function_ffffffff817770 33554432

# by site the stacks are together, and apart in what draws them
$ ebpfrec report -i stacks.ebpfrec leaks --by site --format csv;
> ebpfrec report -i stacks.ebpfrec leaks --by site --format folded | wc -l
1> source,kind,call_site,objects,bytes,oldest_ns,newest_ns,unsure,complete,lost_events,user_stack,kernel_stack,held
1> heap,"",ufunc_512+0x34 [prog],1,4000,2699999999,2699999999,0,1,0,ufunc_1;ufunc_33,,live
1> slab,"",function_ffffffff810010+0x0,40,7680,2899940000,2899901000,0,1,0,ufunc_1;ufunc_12,function_ffffffff81abc0;function_ffffffff810010,live
1> page,order 8,"",32,33554432,2798437500,2750000000,0,1,0,ufunc_1;ufunc_22,function_ffffffff817770,live
1> 5

# a window of 15 of them: every fourth, from the first on, is of the one stack, the others of the other
$ ebpfrec report -i stacks.ebpfrec leaks --from 1.1s --to 1.100015s --format folded --sort objects
1> cc1;[slab];ufunc_1;ufunc_12;function_ffffffff81abc0;function_ffffffff810010 11
1> cc1;[slab];ufunc_1;prog+0x1341 (stripped);function_ffffffff81def0;function_ffffffff810010 4

$ ebpfrec report -i stacks.ebpfrec spikes
1> 0 .. 4 s of stacks.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> PID  COMM  SOURCE  ALSO  START (s)      DUR     BYTES    BYTES/S  BASELINE BYTES  END (s)  THRESHOLD BYTES  CAUSE                   STACK BYTES
1> 200  cc1   rss     page      1.201  48.4 ms  32.0 MiB  661 MiB/s             0 B    1.250         16.0 MiB  anon, pages of order 8     32.0 MiB
1>       user: ufunc_22 < ufunc_1
1>       kernel: function_ffffffff817770
1>
1> A spike is memory that a process allocated within 100 ms (or --spike-window) and that reaches the threshold, 16 MiB (or --spike-min). (More: --notes.)

$ ebpfrec report -i stacks.ebpfrec spikes --format csv
1> pid,comm,source,also,start_ns,dur_ns,bytes,bytes_per_s,baseline_bytes,end_ns,threshold_bytes,cause,complete,lost_events,user_stack,kernel_stack,stack_bytes
1> 200,cc1,rss,page,1201562500,48437500,33554432,692736660.6451613,0,1250000000,16777216,"anon, pages of order 8",1,0,ufunc_1;ufunc_22,function_ffffffff817770,33554432

$ ebpfrec report -i stacks.ebpfrec spikes --every 1s --format csv
1> t_ns,pid,comm,source,also,start_ns,dur_ns,bytes,bytes_per_s,baseline_bytes,end_ns,threshold_bytes,cause,complete,lost_events,user_stack,kernel_stack,stack_bytes
1> 1000000000,200,cc1,rss,page,1201562500,48437500,33554432,692736660.6451613,0,1250000000,16777216,"anon, pages of order 8",1,0,ufunc_1;ufunc_22,function_ffffffff817770,33554432

$ ebpfrec report -i stacks.ebpfrec stacks
1> 0 .. 4 s of stacks.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> PID  COMM  SOURCE  SAMPLES     BYTES
1> 200  cc1   page         32  32.0 MiB
1>       stack: function_ffffffff817770 < ufunc_22 < ufunc_1
1> 200  cc1   slab         60  11.3 KiB
1>       stack: function_ffffffff810010 < function_ffffffff81abc0 < ufunc_12 < ufunc_1
1> 200  cc1   heap          2  7.81 KiB
1>       stack: ufunc_33 < ufunc_1
1> 200  cc1   slab         20  3.75 KiB
1>       stack: function_ffffffff810010 < function_ffffffff81def0 < prog+0x1341 (stripped) < ufunc_1
1>
1> Only allocations whose stack was recorded count, so the bytes are not totals. (More: --notes.)

$ ebpfrec report -i stacks.ebpfrec stacks --format folded --sort samples
1> cc1;[slab];ufunc_1;ufunc_12;function_ffffffff81abc0;function_ffffffff810010 60
1> cc1;[page];ufunc_1;ufunc_22;function_ffffffff817770 32
1> cc1;[slab];ufunc_1;prog+0x1341 (stripped);function_ffffffff81def0;function_ffffffff810010 20
1> cc1;[heap];ufunc_1;ufunc_33 2

# the same as a profile and as a page
$ ebpfrec report -i stacks.ebpfrec leaks --format pprof | pprof_text
1> types: objects in count, bytes in bytes
1> time: 1700001000000000000
1> duration: 4000000000
1> comment: 0 .. 4 s of stacks.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1> default: bytes
1> [heap];cc1;ufunc_1;ufunc_33 1 4000 comm=cc1 pid=200
1> [slab];cc1;[not recorded] 20 3840 comm=cc1 pid=200
1> [slab];cc1;ufunc_1;ufunc_12;function_ffffffff81abc0;function_ffffffff810010 15 2880 comm=cc1 pid=200
1> [slab];cc1;ufunc_1;prog+0x1341 (stripped);function_ffffffff81def0;function_ffffffff810010 5 960 comm=cc1 pid=200
1> [page];cc1;ufunc_1;ufunc_22;function_ffffffff817770 32 33554432 comm=cc1 pid=200

$ ebpfrec report -i stacks.ebpfrec stacks --format pprof --sort samples | pprof_text
1> types: samples in count, bytes in bytes
1> time: 1700001000000000000
1> duration: 4000000000
1> comment: 0 .. 4 s of stacks.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1> default: samples
1> [slab];cc1;ufunc_1;ufunc_12;function_ffffffff81abc0;function_ffffffff810010 60 11520 comm=cc1 pid=200
1> [page];cc1;ufunc_1;ufunc_22;function_ffffffff817770 32 33554432 comm=cc1 pid=200
1> [slab];cc1;ufunc_1;prog+0x1341 (stripped);function_ffffffff81def0;function_ffffffff810010 20 3840 comm=cc1 pid=200
1> [heap];cc1;ufunc_1;ufunc_33 2 8000 comm=cc1 pid=200

$ ebpfrec report -i stacks.ebpfrec leaks --format html | sed -n '/<h1>/p; /<pre/,/pre>/p; /^<.html>/p'
1> <header><h1>0 .. 4 s of stacks.ebpfrec, started 2023-11-14 22:30:00 UTC, complete</h1></header>
1> <pre id="stacks" data-unit="bytes">[heap];cc1;ufunc_1;ufunc_33 4000
1> [slab];cc1;[not recorded] 3840
1> [slab];cc1;ufunc_1;ufunc_12;function_ffffffff81abc0;function_ffffffff810010 2880
1> [slab];cc1;ufunc_1;prog+0x1341 (stripped);function_ffffffff81def0;function_ffffffff810010 960
1> [page];cc1;ufunc_1;ufunc_22;function_ffffffff817770 33554432
1> </pre>
1> </html>

$ ebpfrec report -i stacks.ebpfrec stacks --format html --from 3s | grep '<pre'
1> <pre id="stacks" data-unit="bytes"></pre>

$ ebpfrec report -i stacks.ebpfrec stacks --format pprof --from 3s | pprof_text
1> types: samples in count, bytes in bytes
1> time: 1700001003000000000
1> duration: 1000000000
1> comment: 3 .. 4 s of stacks.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1> default: bytes

# what cannot be written is said
$ ebpfrec report -i stacks.ebpfrec stacks --format pprof >/dev/full
? 1
2> ebpfrec: report stacks: No space left on device

$ ebpfrec report -i stacks.ebpfrec stacks --format html --follow
? 2
2> ebpfrec report: --format html and pprof hold one answer: leave out --follow and --phases
2> Try 'ebpfrec report --help'.

$ ebpfrec report -i stacks.ebpfrec spikes --format folded
? 2
2> ebpfrec report: --format folded, html and pprof are for the views 'profile', 'offcpu', 'stacks' and 'leaks', of one trace; what made a spike is in the stacks of its time: `ebpfrec report stacks --from T --until T`
2> Try 'ebpfrec report --help'.

$ ebpfrec sql -i stacks.ebpfrec \
>   "SELECT stack_text(stack, alloc_ns) AS whole, stack_text(stack, alloc_ns, 'user') AS u, stack_text(stack,
>   alloc_ns, 'kernel') AS k, count(*) AS n FROM allocations GROUP BY 1, 2, 3 ORDER BY n" --format csv
1> whole,u,k,n
1> ufunc_1;ufunc_33,ufunc_1;ufunc_33,,2
1> ,,,20
1> ufunc_1;prog+0x1341 (stripped);function_ffffffff81def0;function_ffffffff810010,ufunc_1;prog+0x1341 (stripped),function_ffffffff81def0;function_ffffffff810010,20
1> ufunc_1;ufunc_22;function_ffffffff817770,ufunc_1;ufunc_22,function_ffffffff817770,32
1> ufunc_1;ufunc_12;function_ffffffff81abc0;function_ffffffff810010,ufunc_1;ufunc_12,function_ffffffff81abc0;function_ffffffff810010,60

$ ebpfrec sql -i stacks.ebpfrec "SELECT stack_text(1, 0, 'both')"
? 1
2> ebpfrec: a part of a stack is 'user', 'kernel' or 'interrupt'

# frames are found by their stack, not searched for in all of them
$ ebpfrec sql -i stacks.ebpfrec --format csv \
>   "SELECT f.nth, coalesce(user_symbol(f.upid, f.addr, s.ts_ns), symbol(f.addr)) AS at, count(*) AS n FROM
>   stack_samples AS s JOIN stack_frames AS f ON f.stack = s.stack WHERE s.source = 'slab' GROUP BY 1, 2 ORDER BY 1, 2"
1> nth,at,n
1> 0,function_ffffffff810010+0x0,80
1> 1,function_ffffffff81abc0+0x10,60
1> 1,function_ffffffff81def0+0x10,20
1> 2,prog+0x1341 (stripped),20
1> 2,ufunc_12+0x40 [prog],60
1> 3,ufunc_1+0x80 [prog],80

$ ebpfrec sql -i stacks.ebpfrec --format csv \
>   "SELECT count(*) AS n FROM stack_frames WHERE stack IN (SELECT stack FROM stack_samples) UNION ALL SELECT
>   count(*) FROM stack_frames UNION ALL SELECT count(*) FROM stack_frames WHERE stack = -1 UNION ALL SELECT count(*)
>   FROM stack_frames WHERE stack = 'x'"
1> n
1> 13
1> 24
1> 0
1> 0

$ ebpfrec sql -i stacks.ebpfrec --format csv "EXPLAIN QUERY PLAN SELECT * FROM stack_frames WHERE stack = 5"
1> id,parent,notused,detail
1~ *VIRTUAL TABLE INDEX*:k

# several traces: each its own
$ ebpfrec report leaks -i stacks.ebpfrec -i golden.ebpfrec --format csv
1> host,pid,comm,source,kind,call_site,objects,bytes,oldest_ns,newest_ns,unsure,complete,lost_events,user_stack,kernel_stack,held
1> stacks.ebpfrec,200,cc1,heap,"",ufunc_512+0x34 [prog],1,4000,2699999999,2699999999,0,1,0,ufunc_1;ufunc_33,,live
1> stacks.ebpfrec,200,cc1,slab,"",function_ffffffff810010+0x0,20,3840,2899920000,2899901000,0,1,0,,,live
1> stacks.ebpfrec,200,cc1,slab,"",function_ffffffff810010+0x0,15,2880,2899939000,2899921000,0,1,0,ufunc_1;ufunc_12,function_ffffffff81abc0;function_ffffffff810010,live
1> stacks.ebpfrec,200,cc1,slab,"",function_ffffffff810010+0x0,5,960,2899940000,2899924000,0,1,0,ufunc_1;prog+0x1341 (stripped),function_ffffffff81def0;function_ffffffff810010,live
1> stacks.ebpfrec,200,cc1,page,order 8,"",32,33554432,2798437500,2750000000,0,1,0,ufunc_1;ufunc_22,function_ffffffff817770,live
1> golden.ebpfrec,200,cc1,slab,"",function_ffffffff810010+0x0,40,7680,2899940000,2899901000,0,1,0,,,live
2> ebpfrec: 2 traces, aligned by wall clock, as read within 40 ns; how far the hosts' clocks were apart is not known

# nothing of a trace without them changes but the empty columns
$ ebpfrec report leaks --format csv -i golden.ebpfrec
1> pid,comm,source,kind,call_site,objects,bytes,oldest_ns,newest_ns,unsure,complete,lost_events,user_stack,kernel_stack,held
1> 200,cc1,slab,"",function_ffffffff810010+0x0,40,7680,2899940000,2899901000,0,1,0,,,live

# no stacks, and that none were asked for, are two things
$ cp -r golden.ebpfrec asked.ebpfrec; sed -i '/^crc32c=/d;$a sources=alloc.slab,alloc.page' asked.ebpfrec/manifest;
> cp -r asked.ebpfrec some.ebpfrec; sed -i '/^crc32c=/d;$a stacks.every=9' some.ebpfrec/manifest;
> for t in asked some; do ebpfrec report stacks -i $t.ebpfrec --format csv; done
1> pid,comm,source,samples,bytes,stack,complete,lost_events
1> pid,comm,source,samples,bytes,stack,complete,lost_events
2> ebpfrec: asked.ebpfrec: No stacks were recorded; `ebpfrec record --stacks -- COMMAND` records some.

# waits off the CPU, and who ended them
$ ebpfrec report -i stacks.ebpfrec offcpu
1> 0 .. 4 s of stacks.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> PID  COMM  STATE      WAKER  WAITS   OFFCPU  OFFCPU MAX  RUNNABLE
1> 200  cc1   sleeping   make       1  30.0 ms     30.0 ms   1.00 ms
1>       stack: function_ffffffff818880 < ufunc_12 < ufunc_1
1> 200  cc1   disk       [irq]      1  20.0 ms     20.0 ms   1.00 ms
1>       stack: function_ffffffff818880 < ufunc_12 < ufunc_1
1> 200  cc1   preempted  -          1  10.0 ms     10.0 ms   10.0 ms
1>       stack: function_ffffffff818880 < ufunc_12 < ufunc_1
1>
1> A wait counts in the window in which it ends, with its whole length. (More: --notes.)

# from which length on, as the trace says
$ cp -r stacks.ebpfrec from5.ebpfrec; sed -i '/^crc32c=/d;$a offcpu.min_ns=5000000' from5.ebpfrec/manifest;
> ebpfrec report -i from5.ebpfrec offcpu | grep recorded
1> Waits of 5.00 ms and more were recorded.

$ ebpfrec report -i from5.ebpfrec offcpu --format csv 2>&1 | grep recorded
1> ebpfrec: from5.ebpfrec: Waits of 5.00 ms and more were recorded.

$ ebpfrec report -i stacks.ebpfrec -i from5.ebpfrec offcpu | grep recorded
1> from5.ebpfrec: Waits of 5.00 ms and more were recorded.

$ ebpfrec report -i stacks.ebpfrec -i from5.ebpfrec offcpu --format csv 2>&1 | grep recorded
1> ebpfrec: from5.ebpfrec: Waits of 5.00 ms and more were recorded.

$ ebpfrec report -i from5.ebpfrec cpu | grep 'were recorded'
? 1

$ ebpfrec report -i stacks.ebpfrec offcpu --by waker --format csv
1> comm,woken,state,waits,offcpu_ns,offcpu_max_ns,runnable_ns,stack,complete,lost_events
1> make,cc1,sleeping,1,30000000,30000000,1000000,function_ffffffff819990,1,0
1> [irq],cc1,disk,1,20000000,20000000,1000000,function_ffffffff819990,1,0

$ ebpfrec report -i stacks.ebpfrec offcpu --by thread --format folded
1> cc1;[sleeping];ufunc_1;ufunc_12;function_ffffffff818880 30000000
1> cc1;[disk];ufunc_1;ufunc_12;function_ffffffff818880 20000000
1> cc1;[preempted];ufunc_1;ufunc_12;function_ffffffff818880 10000000

$ ebpfrec report -i stacks.ebpfrec offcpu --from 1.35s --by comm --format folded --sort waits
1> cc1;[disk];ufunc_1;ufunc_12;function_ffffffff818880 1
1> cc1;[preempted];ufunc_1;ufunc_12;function_ffffffff818880 1

$ ebpfrec report -i stacks.ebpfrec offcpu --pid 100 --format csv
1> pid,comm,state,waker,waits,offcpu_ns,offcpu_max_ns,runnable_ns,stack,complete,lost_events

$ ebpfrec report -i golden.ebpfrec offcpu --every 1s
? 1
2> ebpfrec: report offcpu has no --every: it looks at the window's end

$ ebpfrec sql -i stacks.ebpfrec "SELECT * FROM offcpu"
1>      ts_ns  cpu  utid  preempted  waker_utid  state                stack         waker_stack    dur_ns  runnable_ns
1> 1340000000    0    20          0          17      1  2612551638222610233  591883654206574080  30000000      1000000
1> 1370000000    0    20          0           2      2  2612551638222610233  591883654206574080  20000000      1000000
1> 1390000000    0    20          1           1      0  2612551638222610233                NULL  10000000     10000000

# every section has its name
$ ebpfrec info --columns -i stacks.ebpfrec --format csv | grep ^state | cut -d, -f3 | paste -sd' '
1> processes threads task_events cpu_state rss_state rss_snaps loss cost clocks names utids sites frames

# samples of the CPU: 1.5 s of cc1, less what it waited, are divided among six samples, and make has no sample
$ ebpfrec report -i stacks.ebpfrec profile
1> 0 .. 4 s of stacks.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> PID  COMM  FUNCTION                 MODE      SELF  SELF %   TOTAL  SAMPLES  TOTAL SAMPLES
1> 100  make  [no sample]              -       1.00 s    37.2  1.00 s        0              0
1>   -  -     function_ffffffff810010  kernel  730 ms    27.1  730 ms        3              3
1> 200  cc1   ufunc_12                 user    720 ms    26.8  1.20 s        3              5
1> 200  cc1   [no stack]               user    240 ms     8.9  240 ms        1              1
1> 200  cc1   ufunc_1                  user      0 ns     0.0  1.20 s        0              5
1> (in all rows, COMPLETE: NO, LOST EVENTS: 3)
1>
1> The time is exact: each thread's time on the CPU is divided among its samples in the window. (More: --notes.)

$ ebpfrec report -i stacks.ebpfrec profile --by module --format csv 2>/dev/null
1> pid,comm,module,mode,self_ns,self_pct,total_ns,samples,total_samples,complete,lost_events
1> 100,make,[no sample],,1000000000,37.175,1000000000,0,0,0,3
1> ,,[kernel],kernel,729999867,27.138,729999867,3,3,0,3
1> 200,cc1,prog,user,719999799,26.766,1199999666,3,5,0,3
1> 200,cc1,[no stack],user,239999934,8.922,239999934,1,1,0,3

$ ebpfrec report -i stacks.ebpfrec profile --by comm,module --format folded 2>/dev/null
1> make;[no sample] 1000001000
1> cc1;prog 719999299
1> cc1;prog;[kernel] 479999534
1> =1+\x1b[31m,"\xff;[kernel] 250000000
1> cc1;[no stack] 239999767

$ ebpfrec report -i stacks.ebpfrec stacks --by module --format csv
1> pid,comm,source,samples,bytes,stack,complete,lost_events
1> 200,cc1,page,32,33554432,prog;[kernel],1,0
1> 200,cc1,slab,80,15360,prog;[kernel],1,0
1> 200,cc1,heap,2,8000,prog,1,0

$ ebpfrec report -i stacks.ebpfrec profile --by process,function --from 1s --to 1.035s --format csv |
> cmp - <(ebpfrec report -i stacks.ebpfrec profile --by process --from 1s --to 1.035s --format csv) 2>/dev/null

$ ebpfrec report -i stacks.ebpfrec profile --by module,function
? 2
2> ebpfrec report: --by: a function is in one module: use one of function and module
2> Try 'ebpfrec report --help'.

$ ebpfrec report -i stacks.ebpfrec profile --from 1s --to 1.035s --format csv;
> ebpfrec report -i stacks.ebpfrec cpu --from 1s --to 1.035s --format csv
1> pid,comm,function,mode,self_ns,self_pct,total_ns,samples,total_samples,complete,lost_events
1> 200,cc1,ufunc_12,user,23333333,66.667,35000000,2,3,1,0
1> 200,cc1,function_ffffffff810010,kernel,11666667,33.333,11666667,1,1,1,0
1> 200,cc1,ufunc_1,user,0,0,35000000,0,3,1,0
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,cc1,35000000,100,0,0,1,0,,,

$ ebpfrec report -i stacks.ebpfrec profile --from 2.1s --by comm,thread_name --format csv
1> thread_name,comm,function,mode,self_ns,self_pct,total_ns,samples,total_samples,complete,lost_events
1> make,make,[no sample],,500000000,55.556,500000000,0,0,0,3
1> cc1,cc1,[no sample],,400000000,44.444,400000000,0,0,0,3
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report -i stacks.ebpfrec profile --sort total_ns --comm cc1 --limit 2 --format csv
1> pid,comm,function,mode,self_ns,self_pct,total_ns,samples,total_samples,complete,lost_events
1> 200,cc1,ufunc_12,user,719999299,50,1199998833,3,5,0,3
1> 200,cc1,ufunc_1,user,0,0,1199998833,0,5,0,3
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report -i stacks.ebpfrec profile --format folded
1> make;[no sample] 1000000000
1> cc1;ufunc_1;ufunc_12;ufunc_12 719999799
1> cc1;ufunc_1;ufunc_12;function_ffffffff810010 479999867
1> =1+\x1b[31m,"\xff;function_ffffffff810010 250000000
1> cc1;[no stack] 239999934
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report -i stacks.ebpfrec profile --format folded --sort samples
1> cc1;ufunc_1;ufunc_12;ufunc_12 3
1> cc1;ufunc_1;ufunc_12;function_ffffffff810010 2
1> =1+\x1b[31m,"\xff;function_ffffffff810010 1
1> cc1;[no stack] 1
1> make;[no sample] 0
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost

# the rows add up to report cpu, whatever they go by
$ for by in process thread comm tree; do for view in 'profile self_ns' 'cpu oncpu_ns'; do set -- $view;
> ebpfrec report -i stacks.ebpfrec $1 --by $by --format json | sed 's/.*"'$2'":\([0-9]*\).*/\1/;/^[0-9]/!d' |
> awk '{ s += $1 } END { printf "%.0f\n", s }'; done; done
1> 2689999600
1> 2689999600
1> 2689999600
1> 2689999600
1> 2689999600
1> 2689999600
1> 2689999600
1> 2689999600
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec sql -i stacks.ebpfrec "SELECT utid, stack IS NULL AS n, samples, oncpu_ns FROM cpu_profile(1e9, 1.045e9)"
1> utid  n  samples  oncpu_ns
1>   20  0        3  33750000
1>   20  0        1  11250000
1>    0  1        0  45000000

$ ebpfrec sql -i stacks.ebpfrec \
>   "SELECT ts_ns, cpu, comm, irq, stack_text(stack, ts_ns) AS text FROM cpu_samples JOIN threads USING (utid) WHERE
>   ts_ns > 1.05e9" --format csv
1> ts_ns,cpu,comm,irq,text
1> 1060000000,0,cc1,0,[no stack]
1> 1600000000,1,"'=1+\x1b[31m,""\xff",1,function_ffffffff810010

# why has the innermost functions, with a caller, and does not mention them without samples
$ ebpfrec report why -i stacks.ebpfrec --comm cc1 2>/dev/null | sed -n '/^Where it ran/,/^$/p';
> ebpfrec report why -i golden.ebpfrec --comm cc1 --to 1s 2>/dev/null | grep -c '^Where it ran'
? 1
1> Where it ran
1> FUNCTION                   SELF  SELF %  SAMPLES  CALLED BY
1> ufunc_12                 720 ms    50.0        3  ufunc_12
1> function_ffffffff810010  480 ms    33.3        2  ufunc_12
1> [no stack]               240 ms    16.7        1  -
1>
1> 0

$ ebpfrec report why -i stacks.ebpfrec --comm cc1 --format csv 2>/dev/null | grep '^Where it ran,1'
1> Where it ran,1,function,ufunc_12
1> Where it ran,1,self_ns,719999299
1> Where it ran,1,self_pct,50
1> Where it ran,1,samples,3
1> Where it ran,1,called_by,ufunc_12

# the function with most samples of the process that ran longest on the path
$ ebpfrec report whatif -i stacks.ebpfrec --comm cc1 --from 1s --to 1.6s --format csv 2>/dev/null
1> cause,saves_min_ns,saves_max_ns,of_ns,drift_ns,next,next_ns,verdict,complete,lost_events
1> function:ufunc_1,223704732,535771218,600000000,12000000,cc1 running,89999931,,1,0
1> function:ufunc_12,223704732,535771218,600000000,12000000,cc1 running,89999931,,1,0
1> disk:cc1,7000200,32000200,600000000,12000000,cc1 running,539999600,,1,0
1> cpu,12000000,12000000,600000000,0,cc1 running,539999600,,1,0

# code without a name, and the files that would name it
$ ebpfrec report -i stacks.ebpfrec symbols --format csv 2>/dev/null
1> module,build_id,addresses,stacks,stacks_pct,complete,lost_events
1> /opt/prog,c0ffee0123,1,20,16.129,1,0

$ ebpfrec report -i stacks.ebpfrec stacks --symbols nowhere
? 1
2> ebpfrec: --symbols: nowhere: No such file or directory

# debuginfod-find is run for --fetch alone, if a server is named
$ printf '#!/bin/sh\necho "$@" >>asked\nexit 1\n' >debuginfod-find; chmod +x debuginfod-find; PATH=.:$PATH;
> export DEBUGINFOD_URLS=http://127.0.0.1:1; ebpfrec report -i stacks.ebpfrec symbols --format csv; ls asked;
> DEBUGINFOD_URLS= ebpfrec report -i stacks.ebpfrec symbols --fetch; ls asked;
> ebpfrec report -i stacks.ebpfrec symbols --fetch --format csv; cat asked; rm debuginfod-find;
> ebpfrec report -i stacks.ebpfrec symbols --fetch; ebpfrec report -i stacks.ebpfrec stacks --fetch
? 2
1> module,build_id,addresses,stacks,stacks_pct,complete,lost_events
1> /opt/prog,c0ffee0123,1,20,16.129,1,0
1> module,build_id,addresses,stacks,stacks_pct,complete,lost_events
1> /opt/prog,c0ffee0123,1,20,16.129,1,0
1> debuginfo c0ffee0123
1> executable c0ffee0123
2> ls: cannot access 'asked': No such file or directory
2> ebpfrec: --fetch: DEBUGINFOD_URLS names no server
2> ls: cannot access 'asked': No such file or directory
2> ebpfrec: --fetch: debuginfod-find found 0 of 1 file
2> ebpfrec: --fetch: debuginfod-find is not installed
2> ebpfrec report: --fetch is for the view symbols, of one trace, once
2> Try 'ebpfrec report --help'.

# export (with and without the index), diff and view, which prints no address
$ for to in csv html; do ebpfrec export -i stacks.ebpfrec --to $to --symbols nowhere -o nothing; done;
> ebpfrec diff stacks.ebpfrec stacks.ebpfrec --symbols nowhere;
> ebpfrec diff stacks.ebpfrec --with stacks.ebpfrec --symbols nowhere;
> ebpfrec view -i stacks.ebpfrec --symbols nowhere; ls nothing
? 2
2> ebpfrec: stacks.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: --symbols: nowhere: No such file or directory
2> ebpfrec: --symbols: nowhere: No such file or directory
2> ebpfrec: --symbols: nowhere: No such file or directory
2> ebpfrec: --symbols: nowhere: No such file or directory
2> ebpfrec: --symbols: nowhere: No such file or directory
2> ls: cannot access 'nothing': No such file or directory

# a flame graph of the difference: lines for other tools, or a page (tests/page looks at it)
$ ebpfrec diff stacks.ebpfrec stacks.ebpfrec --per run --of stacks --from 1.100015s --from-b 1.1s --until-b 1.100015s \
>   --flame d.folded >/dev/null; cat d.folded; ebpfrec diff stacks.ebpfrec stacks.ebpfrec --flame d.folded
? 1
1> cc1;[page];ufunc_1;ufunc_22;function_ffffffff817770 33554432 0
1> cc1;[slab];ufunc_1;ufunc_12;function_ffffffff81abc0;function_ffffffff810010 9408 2112
1> cc1;[heap];ufunc_1;ufunc_33 8000 0
1> cc1;[slab];ufunc_1;prog+0x1341 (stripped);function_ffffffff81def0;function_ffffffff810010 3072 768
2> ebpfrec: d.folded: 4 stacks, 283 B
2> ebpfrec: d.folded exists; -f replaces it

$ ebpfrec diff stacks.ebpfrec stacks.ebpfrec --per run --of stacks --from 1.100015s --from-b 1.1s --until-b 1.100015s \
>   --flame d.html >/dev/null; sed -n '/<h1>/p; /<pre/,/pre>/p' d.html
1> <header><h1>B against A: allocated bytes per run. A: stacks.ebpfrec. B: stacks.ebpfrec</h1></header>
1> <pre id="stacks" data-unit="bytes">[page];cc1;ufunc_1;ufunc_22;function_ffffffff817770 0	33554432	-1.000	-100.0 %
1> [slab];cc1;ufunc_1;ufunc_12;function_ffffffff81abc0;function_ffffffff810010 2112	9408	-0.776	-77.6 %
1> [heap];cc1;ufunc_1;ufunc_33 0	8000		no change beyond the error of 2 and 0 samples
1> [slab];cc1;ufunc_1;prog+0x1341 (stripped);function_ffffffff81def0;function_ffffffff810010 768	3072		no change beyond the error of 16 and 4 samples
1> </pre>
2> ebpfrec: d.html: 4 stacks, 19.1 kB

# per second; and per request, of which there are none
$ ebpfrec diff stacks.ebpfrec stacks.ebpfrec --flame d.folded -f >/dev/null; cat d.folded;
> ebpfrec diff stacks.ebpfrec --with stacks.ebpfrec --per request --flame d.folded -f >/dev/null
? 1
1> make;[no sample] 250000250 250000250
1> cc1;ufunc_1;ufunc_12;ufunc_12 179999825 179999825
1> cc1;ufunc_1;ufunc_12;function_ffffffff810010 119999884 119999884
1> =1+\x1b[31m,"\xff;function_ffffffff810010 62500000 62500000
1> cc1;[no stack] 59999942 59999942
2> ebpfrec: d.folded: 5 stacks, 245 B
2> ebpfrec: stacks.ebpfrec: no request of a program ended in the window

# few runs tell nothing
$ ebpfrec diff --flame g.html --of offcpu --from 1.35s stacks.ebpfrec stacks.ebpfrec --with stacks.ebpfrec stacks.ebpfrec \
>   >/dev/null; sed -n '/<h1>/p; /<pre/,/pre>/p' g.html
1> <header><h1>B against A: waiting time per run. A: stacks.ebpfrec and on, 2 runs. B: stacks.ebpfrec and on, 2 runs</h1></header>
1> <pre id="stacks" data-unit="ns">[disk];cc1;ufunc_1;ufunc_12;function_ffffffff818880 20000000	20000000		cannot tell
1> [preempted];cc1;ufunc_1;ufunc_12;function_ffffffff818880 10000000	10000000		cannot tell
1> </pre>
2> ebpfrec: g.html: 2 stacks, 18.9 kB

$ ebpfrec diff golden.ebpfrec golden.ebpfrec --flame none.html --of stacks >/dev/null; ls none.html;
> ebpfrec diff golden.ebpfrec golden.ebpfrec --of stacks; ebpfrec diff --of cpu
? 2
2> ebpfrec: golden.ebpfrec: it has no stacks for the flame graph of stacks; `ebpfrec record --stacks -- COMMAND` records them
2> ls: cannot access 'none.html': No such file or directory
2> ebpfrec diff: --of, --per and --force are for --flame FILE
2> Try 'ebpfrec diff --help'.
2> ebpfrec diff: --of: unknown view 'cpu'; there are profile, offcpu and stacks
2> Try 'ebpfrec diff --help'.
