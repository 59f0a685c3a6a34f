# Threads as people name them: by TID, by name, and as a key. gen_golden.c says what is in threads.ebpfrec.

$ gen_golden threads.ebpfrec threads; ebpfrec report cpu -i threads.ebpfrec --thread req-0 --format csv
1> pid,tid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns,policy,nice,allowed
1> 200,201,req-0,51000000,5.1,2,0,1,0,,,,other,0,0-1
1> 100,101,req-0,21000000,2.1,2,0,1,0,,,,other,0,0-1

$ ebpfrec report cpu -i threads.ebpfrec --thread 'req-*' --by process --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 100,server,52000000,5.2,4,0,1,0,,,
1> 200,client,51000000,5.1,2,0,1,0,,,

$ ebpfrec report cpu -i threads.ebpfrec --tid 101,200 --format csv
1> pid,tid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns,policy,nice,allowed
1> 200,200,client,41000000,4.1,2,0,1,0,,,,other,0,0-1
1> 100,101,req-0,21000000,2.1,2,0,1,0,,,,other,0,0-1

# all options must hold
$ ebpfrec report cpu -i threads.ebpfrec --thread req-0 --comm client --format csv
1> pid,tid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns,policy,nice,allowed
1> 200,201,req-0,51000000,5.1,2,0,1,0,,,,other,0,0-1

$ ebpfrec report cpu -i threads.ebpfrec --by thread_name --format csv
1> thread_name,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> req-0,72000000,7.2,4,0,1,0,,,
1> client,41000000,4.1,2,0,1,0,,,
1> req-1,31000000,3.1,2,0,1,0,,,
1> server,11000000,1.1,2,0,1,0,,,

$ ebpfrec report states -i threads.ebpfrec --by comm,thread_name --format csv
1> thread_name,comm,life_ns,running_ns,runnable_ns,preempted_ns,throttled_ns,disk_ns,uninterruptible_ns,sleeping_ns,stopped_ns,unknown_ns,complete,lost_events
1> req-0,client,500000000,51000000,2000000,0,0,0,0,447000000,0,0,1,0
1> client,client,600000000,41000000,2000000,0,0,0,0,557000000,0,0,1,0
1> req-1,server,700000000,31000000,2000000,0,0,0,0,667000000,0,0,1,0
1> req-0,server,700000000,21000000,2000000,0,0,0,0,677000000,0,0,1,0
1> server,server,900000000,11000000,2000000,0,0,0,0,887000000,0,0,1,0

$ ebpfrec report irq -i threads.ebpfrec --by thread_name --format csv
1> thread_name,type,vector,name,runs,run_ns,util_pct,run_p50_ns,run_p99_ns,run_max_ns,broken,complete,lost_events

# memory of a process is no thread's
$ ebpfrec report alloc -i threads.ebpfrec --by process,thread_name --format csv
1> pid,comm,thread_name,source,allocs,frees,alloc_bytes,free_bytes,net_bytes,peak_bytes,peak_ns,now_bytes,exit_bytes,lost_frees,complete,lost_events
1> 100,server,,rss,2,0,2097152,0,2097152,3145728,302000000,3145728,0,0,1,0
1> 200,client,,rss,1,0,1048576,0,1048576,5242880,502000000,5242880,0,0,1,0
1> 100,server,server,slab,1,0,1024,0,1024,1024,101000000,1024,0,0,1,0
1> 100,server,req-0,slab,1,0,1024,0,1024,1024,201000000,1024,0,0,1,0
1> 100,server,req-1,slab,1,0,1024,0,1024,1024,301000000,1024,0,0,1,0
1> 200,client,client,slab,1,0,1024,0,1024,1024,401000000,1024,0,0,1,0
1> 200,client,req-0,slab,1,0,1024,0,1024,1024,501000000,1024,0,0,1,0

$ ebpfrec report alloc -i threads.ebpfrec --tid 101 --every 500ms --format csv
1> t_ns,pid,tid,comm,source,allocs,frees,alloc_bytes,free_bytes,net_bytes,peak_bytes,peak_ns,now_bytes,exit_bytes,lost_frees,complete,lost_events
1> 0,100,101,req-0,slab,1,0,1024,0,1024,1024,201000000,1024,0,0,1,0
1> 500000000,100,101,req-0,slab,0,0,0,0,0,1024,500000000,1024,0,0,1,0
2> ebpfrec: threads.ebpfrec: The figures are those of threads (--tid, --thread), without resident memory, mapped memory and spikes, which belong to processes.

# what the exit of the process gave back of its heap is no thread's: its levels are not known from then on
$ gen_golden heap.ebpfrec heap; ebpfrec report alloc -i heap.ebpfrec --tid 201 --every 300ms --format csv 2>/dev/null
1> t_ns,pid,tid,comm,source,allocs,frees,alloc_bytes,free_bytes,net_bytes,peak_bytes,peak_ns,now_bytes,exit_bytes,lost_frees,complete,lost_events
1> 0,200,201,req-0,heap,1,0,4000,0,4000,4000,100000000,4000,0,0,1,0
1> 300000000,200,201,req-0,heap,0,0,0,0,,4000,300000000,,,0,1,0
1> 600000000,200,201,req-0,heap,0,0,0,0,,,,,,0,1,0
1> 900000000,200,201,req-0,heap,0,0,0,0,,,,,,0,1,0

$ ebpfrec report alloc -i heap.ebpfrec --tid 201 --until 0.4s --format csv 2>/dev/null
1> pid,tid,comm,source,allocs,frees,alloc_bytes,free_bytes,net_bytes,peak_bytes,peak_ns,now_bytes,exit_bytes,lost_frees,complete,lost_events
1> 200,201,req-0,heap,1,0,4000,0,4000,4000,100000000,4000,0,0,1,0

$ ebpfrec report totals -i threads.ebpfrec --tid 101
1> 0 .. 1 s of threads.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1>   ONCPU  %CPU  SWITCHES  PREEMPTED  WAIT MAX  RSS ALLOC BYTES  SLAB ALLOC BYTES  PAGE ALLOC BYTES  RSS PEAK  LARGEST RSS BYTES  LARGEST RSS COMM  IOS  IO BYTES  IO LAT MAX
1> 21.0 ms   2.1         2          0   2.00 ms                -          1.00 KiB               0 B         -                  -                 -    1  4.00 KiB     5.00 ms
1>
1> The figures are those of threads (--tid, --thread), without resident memory, mapped memory and spikes, which belong to processes.
1>
1> A request that passes several devices, such as a volume on a disk, counts once for each.

$ ebpfrec report offcpu -i threads.ebpfrec --thread req-0 --format csv
1> pid,tid,comm,state,waker,waits,offcpu_ns,offcpu_max_ns,runnable_ns,stack,complete,lost_events
1> 200,201,req-0,sleeping,client,1,22000000,22000000,2000000,function_ffffffff818880,1,0
1> 100,101,req-0,sleeping,server,1,22000000,22000000,2000000,function_ffffffff818880,1,0

$ ebpfrec report leaks -i threads.ebpfrec --tid 101 --format csv
1> pid,tid,comm,source,kind,call_site,objects,bytes,oldest_ns,newest_ns,unsure,complete,lost_events,user_stack,kernel_stack,held
1> 100,101,req-0,slab,"",function_ffffffff810010+0x0,1,1024,799000000,799000000,0,1,0,,,live

$ ebpfrec report io -i threads.ebpfrec --tid 101 --format csv
1> pid,tid,comm,device,op,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns,errors,merges,requeues,unknown_owner_ios,submitter,owner_how,unowned_ios,unowned_bytes,complete,lost_events
1> 100,101,req-0,dev8:0,read,1,4096,1,4096,5000000,5000000,5000000,0,0,0,0,server,read,0,0,1,0
2> ebpfrec: threads.ebpfrec: The figures are those of threads (--tid, --thread), without requests that others submitted for their process, such as write-back.

$ ebpfrec report io -i threads.ebpfrec --tid 101 --by file --format csv
1> file,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns,errors,unowned_ios,unowned_bytes,complete,lost_events
1> [unknown],1,4096,1,4096,5000000,5000000,5000000,0,0,0,1,0
2> ebpfrec: threads.ebpfrec: The figures are those of threads (--tid, --thread), without requests that others submitted for their process, such as write-back.

$ ebpfrec report timeline -i threads.ebpfrec --tid 101 --format csv
1> start_ns,cpu,dur_ns,pid,tid,comm,wait_ns,end_reason,complete,lost_events
1> 200000000,0,20000000,100,101,req-0,,slept,1,0
1> 242000000,0,1000000,100,101,req-0,2000000,slept,1,0

$ ebpfrec report why -i threads.ebpfrec --thread req-0
1> 0 .. 1 s of threads.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> In short
1> All threads together ran for 72.0 ms of 1.20 s (6 %) on CPUs
1>
1> Waited for
1> KIND     CALL  OBJECT  WAITS     WAIT  WAIT MAX  ENDED BY          MEANWHILE
1> unknown     -       -      2   1.12 s   20.0 ms  server (100) 1 %  unknown 100 %
1> cpu         -       -      2  4.00 ms   2.00 ms  -                 -
1>
1> States
1> STATE        TIME  SHARE %  BAR
1> running   72.0 ms      6.0  ##
1> runnable  4.00 ms      0.3  #
1> sleeping   1.12 s     93.7  #############################
1>
1> Where it waited
1> FUNCTION                    WAIT  WAITS  CALLED BY
1> function_ffffffff818880  44.0 ms      2          -
1>
1> Waited longest
1> PID  TID  COMM   AT (s)     WAIT  REASON  CPU
1> 100  101  req-0   0.242  2.00 ms  wakeup    0
1> 200  201  req-0   0.572  2.00 ms  wakeup    0
1>
1> Ran instead
1> PID  COMM    CPU    ONCPU
1>   -  [idle]    0  4.00 ms
1>
1> Requests
1> DEVICE  OP    IOS     BYTES  LAT P50  LAT MAX  QUEUE MAX  DEVICE MAX
1> dev8:0  read    2  8.00 KiB  5.00 ms  5.00 ms    1.00 ms     4.00 ms
1>
1> Beside them
1> PID  COMM    DEVICE  OP    IOS     BYTES
1> 100  server  dev8:0  read    2  8.00 KiB
1> 200  client  dev8:0  read    1  4.00 KiB
1>
1> Woken by
1> PID  COMM    WAKEUPS    SLEPT  SLEPT MAX  AT (s)
1> 100  server        1  20.0 ms    20.0 ms   0.240
1> 200  client        1  20.0 ms    20.0 ms   0.570
1>
1> Path
1> PID  COMM    KIND     CALL  OBJECT  PARTS     PATH  SHARE %
1> 200  client  unknown     -       -      3   457 ms     45.7
1> 200  req-0   unknown     -       -      1   427 ms     42.7
1> 200  req-0   running     -       -      2  51.0 ms      5.1
1> 200  client  running     -       -      2  41.0 ms      4.1
1> 100  req-1   unknown     -       -      1  20.0 ms      2.0
1> (2 more: ebpfrec report path --thread req-0 -i threads.ebpfrec)
1>
1> The figures are those of threads (--tid, --thread), without resident memory, mapped memory and spikes, which belong to processes.
1>
1> The sections show what the threads waited for, what else they did, their longest waits for a CPU and the threads that ran there, their requests, and the threads that woke them. (More: --notes.)

$ ebpfrec report why -i threads.ebpfrec --tid 101 --format csv
1> section,row,name,value
1> In short,1,answer,What the threads did is not known for 677 ms of 700 ms (96 %)
1> Waited for,1,kind,unknown
1> Waited for,1,call,
1> Waited for,1,object,
1> Waited for,1,waits,1
1> Waited for,1,wait_ns,677000000
1> Waited for,1,wait_max_ns,20000000
1> Waited for,1,ended_by,server (100) 2 %
1> Waited for,1,meanwhile,unknown 100 %
1> Waited for,2,kind,cpu
1> Waited for,2,call,
1> Waited for,2,object,
1> Waited for,2,waits,1
1> Waited for,2,wait_ns,2000000
1> Waited for,2,wait_max_ns,2000000
1> Waited for,2,ended_by,
1> Waited for,2,meanwhile,
1> States,1,state,running
1> States,1,time_ns,21000000
1> States,1,share_pct,3
1> States,1,bar,#
1> States,2,state,runnable
1> States,2,time_ns,2000000
1> States,2,share_pct,0.286
1> States,2,bar,#
1> States,3,state,sleeping
1> States,3,time_ns,677000000
1> States,3,share_pct,96.714
1> States,3,bar,##############################
1> Where it waited,1,function,function_ffffffff818880
1> Where it waited,1,wait_ns,22000000
1> Where it waited,1,waits,1
1> Where it waited,1,called_by,
1> Waited longest,1,pid,100
1> Waited longest,1,tid,101
1> Waited longest,1,comm,req-0
1> Waited longest,1,at_ns,242000000
1> Waited longest,1,wait_ns,2000000
1> Waited longest,1,reason,wakeup
1> Waited longest,1,cpu,0
1> Ran instead,1,pid,
1> Ran instead,1,comm,[idle]
1> Ran instead,1,cpu,0
1> Ran instead,1,oncpu_ns,2000000
1> Requests,1,device,dev8:0
1> Requests,1,op,read
1> Requests,1,ios,1
1> Requests,1,bytes,4096
1> Requests,1,lat_p50_ns,5000000
1> Requests,1,lat_max_ns,5000000
1> Requests,1,queue_max_ns,1000000
1> Requests,1,device_max_ns,4000000
1> Beside them,1,pid,100
1> Beside them,1,comm,server
1> Beside them,1,device,dev8:0
1> Beside them,1,op,read
1> Beside them,1,ios,2
1> Beside them,1,bytes,8192
1> Beside them,2,pid,200
1> Beside them,2,comm,client
1> Beside them,2,device,dev8:0
1> Beside them,2,op,read
1> Beside them,2,ios,2
1> Beside them,2,bytes,8192
1> Woken by,1,pid,100
1> Woken by,1,comm,server
1> Woken by,1,wakeups,1
1> Woken by,1,slept_ns,20000000
1> Woken by,1,slept_max_ns,20000000
1> Woken by,1,at_ns,240000000
1> Path,1,pid,100
1> Path,1,comm,req-0
1> Path,1,kind,unknown
1> Path,1,call,
1> Path,1,object,
1> Path,1,parts,1
1> Path,1,path_ns,657000000
1> Path,1,share_pct,65.7
1> Path,2,pid,100
1> Path,2,comm,server
1> Path,2,kind,unknown
1> Path,2,call,
1> Path,2,object,
1> Path,2,parts,3
1> Path,2,path_ns,187000000
1> Path,2,share_pct,18.7
1> Path,3,pid,100
1> Path,3,comm,req-0
1> Path,3,kind,ended
1> Path,3,call,
1> Path,3,object,
1> Path,3,parts,1
1> Path,3,path_ns,100000000
1> Path,3,share_pct,10
1> Path,4,pid,100
1> Path,4,comm,req-0
1> Path,4,kind,running
1> Path,4,call,
1> Path,4,object,
1> Path,4,parts,2
1> Path,4,path_ns,21000000
1> Path,4,share_pct,2.1
1> Path,5,pid,
1> Path,5,comm,""
1> Path,5,kind,unknown
1> Path,5,call,
1> Path,5,object,
1> Path,5,parts,1
1> Path,5,path_ns,20000000
1> Path,5,share_pct,2
1> Path,6,pid,100
1> Path,6,comm,server
1> Path,6,kind,running
1> Path,6,call,
1> Path,6,object,
1> Path,6,parts,2
1> Path,6,path_ns,11000000
1> Path,6,share_pct,1.1
1> Path,7,pid,100
1> Path,7,comm,server
1> Path,7,kind,cpu
1> Path,7,call,
1> Path,7,object,
1> Path,7,parts,1
1> Path,7,path_ns,2000000
1> Path,7,share_pct,0.2
1> Path,8,pid,100
1> Path,8,comm,req-0
1> Path,8,kind,cpu
1> Path,8,call,
1> Path,8,object,
1> Path,8,parts,1
1> Path,8,path_ns,2000000
1> Path,8,share_pct,0.2
1> Rules,1,rule,together
1> Rules,1,rank,1
1> Rules,1,cost_ns,677000000
1> Rules,1,verdict,yes: a fact about all threads
1> Rules,1,answer,What the threads did is not known for 677 ms of 700 ms (96 %)
1> Rules,1,command,
1> Rules,2,rule,herd
1> Rules,2,rank,
1> Rules,2,cost_ns,
1> Rules,2,verdict,no: few threads were woken in vain
1> Rules,2,answer,
1> Rules,2,command,
1> Rules,3,rule,killed
1> Rules,3,rank,
1> Rules,3,cost_ns,
1> Rules,3,verdict,no: nobody was killed
1> Rules,3,answer,
1> Rules,3,command,
1> Rules,4,rule,path
1> Rules,4,rank,
1> Rules,4,cost_ns,
1> Rules,4,verdict,no: it has one large part
1> Rules,4,answer,
1> Rules,4,command,
1> Rules,5,rule,stalled
1> Rules,5,rank,
1> Rules,5,cost_ns,
1> Rules,5,verdict,no: memory was not short
1> Rules,5,answer,
1> Rules,5,command,
2> ebpfrec: threads.ebpfrec: The figures are those of threads (--tid, --thread), without resident memory, mapped memory and spikes, which belong to processes.

# the window is the life of a thread
$ ebpfrec report cpu -i threads.ebpfrec --during 101 --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,client,92000000,10.234,4,0,1,0,,,
1> 100,server,63000000,7.008,6,0,1,0,,,

$ ebpfrec report cpu -i threads.ebpfrec --during req-1 --by thread --limit 1
1> 0.001 .. 1 s of threads.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> PID  TID  COMM     ONCPU  %CPU  SWITCHES  PREEMPTED  POLICY  NICE  ALLOWED
1> 200  201  req-0  51.0 ms   5.1         2          0  other      0  0-1
1> (4 more: --limit 0)
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i threads.ebpfrec --during req-0
? 2
2> ebpfrec report: --during: 2 threads are 'req-0': 101 (from 0.001 s), 201 (from 0.001 s); give a TID, or --from and --until
2> Try 'ebpfrec report --help'.

# what is no process is a thread
$ ebpfrec report cpu -i threads.ebpfrec --comm req-0
? 1
2> ebpfrec: threads.ebpfrec: no process is named req-0; a thread is: --thread req-0

$ ebpfrec report cpu -i threads.ebpfrec --pid 201
? 1
2> ebpfrec: threads.ebpfrec: no process has the PID 201; a thread has that TID: --tid 201

$ ebpfrec cut -i threads.ebpfrec --comm 'req-?' -o none.ebpfrec
? 1
2> ebpfrec: threads.ebpfrec: no process is named req-?; a thread of process 100, server, is: --pid 100

# a view that takes no --thread is not offered it
$ ebpfrec report memory -i threads.ebpfrec --comm req-0
? 1
2> ebpfrec: threads.ebpfrec: no process is named req-0; a thread of process 100, server, is: --pid 100

$ ebpfrec cut -i threads.ebpfrec --pid 101 -o none.ebpfrec
? 1
2> ebpfrec: threads.ebpfrec: no process has the PID 101; a thread of process 100, server, has that TID: --pid 100

$ ebpfrec report cpu -i threads.ebpfrec --thread rex-0
? 1
2> ebpfrec: threads.ebpfrec: there is no thread 'rex-0' in the trace; did you mean 'req-0'?

$ ebpfrec report cpu -i threads.ebpfrec --tid 555
? 1
2> ebpfrec: threads.ebpfrec: there is no thread '555' in the trace; `ebpfrec sql -i threads.ebpfrec 'SELECT tid, comm FROM threads'` lists them

# a pattern can be pasted
$ ebpfrec report cpu -i threads.ebpfrec --comm 'req-?'
? 1
2> ebpfrec: threads.ebpfrec: no process is named req-?; a thread is: --thread 'req-?'

# each is known, but nobody is both
$ ebpfrec report cpu -i threads.ebpfrec --comm server --thread client
? 1
2> ebpfrec: threads.ebpfrec: no process or thread matches all of these: --comm, --thread

$ ebpfrec report cpu -i threads.ebpfrec --pid 100 --tid 201 --thread 'req-*'
? 1
2> ebpfrec: threads.ebpfrec: no process or thread matches all of these: --pid, --tid, --thread

$ ebpfrec report memory -i threads.ebpfrec --pid 100 --comm client
? 1
2> ebpfrec: threads.ebpfrec: no process or thread matches all of these: --pid, --comm

# of several traces, one is enough, for each option and for all together
$ cp -r threads.ebpfrec more.ebpfrec; ebpfrec report cpu -i threads.ebpfrec -i more.ebpfrec --thread nosuch
? 1
2> ebpfrec: threads.ebpfrec: there is no thread 'nosuch' in the trace; `ebpfrec sql -i threads.ebpfrec 'SELECT tid, comm FROM threads'` lists them

$ ebpfrec report cpu -i golden.ebpfrec -i threads.ebpfrec --thread req-0 --comm client --format csv 2>/dev/null | wc -l
1> 2

$ ebpfrec report cpu -i golden.ebpfrec -i threads.ebpfrec --comm server --thread client
? 1
2> ebpfrec: golden.ebpfrec: no process or thread matches all of these: --comm, --thread

# a trace that is followed, but no longer recorded
$ ebpfrec report cpu -i threads.ebpfrec --thread nosuch --follow
? 1
2> ebpfrec: threads.ebpfrec: there is no thread 'nosuch' in the trace; `ebpfrec sql -i threads.ebpfrec 'SELECT tid, comm FROM threads'` lists them

# views that know no threads
$ ebpfrec report memory -i threads.ebpfrec --tid 101
? 2
2> ebpfrec report: view 'memory' shows what whole processes have; it takes no --tid
2> Try 'ebpfrec report --help'.

$ ebpfrec report spikes -i threads.ebpfrec --thread req-0
? 2
2> ebpfrec report: view 'spikes' shows what whole processes have; it takes no --thread
2> Try 'ebpfrec report --help'.

$ ebpfrec report bins -i threads.ebpfrec --thread req-0
? 2
2> ebpfrec report: view 'bins' shows what whole processes have; it takes no --thread
2> Try 'ebpfrec report --help'.

$ ebpfrec report devices -i threads.ebpfrec --tid 101
? 2
2> ebpfrec report: view 'devices' shows the whole machine; it takes no --tid
2> Try 'ebpfrec report --help'.

$ ebpfrec report memory -i threads.ebpfrec --by thread_name
? 2
2> ebpfrec report: view 'memory' has no rows by thread_name; it takes --by process,comm,cgroup,container,unit,user,tree
2> Try 'ebpfrec report --help'.

# Waits of the same stack are one line, whoever ended them.
$ ebpfrec report -i threads.ebpfrec offcpu --format folded 2>/dev/null
1> server;[sleeping];function_ffffffff818880 66000000
1> client;[sleeping];function_ffffffff818880 44000000

# how the scheduler treats a thread
$ ebpfrec sql -i threads.ebpfrec --format csv "SELECT tid, policy, nice, rt_priority, allowed_cpus,
>   cpu_list(cpu_mask) AS cpus FROM threads WHERE tid > 100 ORDER BY tid"
1> tid,policy,nice,rt_priority,allowed_cpus,cpus
1> 101,other,0,,2,0-1
1> 102,batch,5,,1,1
1> 200,other,0,,2,0-1
1> 201,other,0,,2,0-1

$ ebpfrec sql -i threads.ebpfrec --format csv "SELECT cpu_list(0) AS a, cpu_list(-1) AS b,
>   cpu_list(0x8000000000000025) AS c, cpu_list(NULL) IS NULL AS d"
1> a,b,c,d
1> "",0-63,"0,2,5,63",1
