# Who, in the words people use: keys from cgroups, users and parents, and several keys at once. gen_golden.c says what
# is in who.ebpfrec.

$ gen_golden who.ebpfrec who; ebpfrec report cpu -i who.ebpfrec --by container
1> 0 .. 1 s of who.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> CONTAINER                        ONCPU  %CPU  SWITCHES  PREEMPTED
1> [none]                         36.0 ms   3.6        10          0
1> lxc:web                        9.00 ms   0.9         2          0
1> k8s:11112222-333/fedcba987654  8.00 ms   0.8         2          0
1> k8s:11112222-333/0123456789ab  7.00 ms   0.7         2          0
1> containerd:0123456789ab        6.00 ms   0.6         2          0
1> podman:0123456789ab            5.00 ms   0.5         2          0
1> docker:fedcba987654            4.00 ms   0.4         2          0
1> docker:0123456789ab            3.00 ms   0.3         2          0
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i who.ebpfrec --by unit
1> 0 .. 1 s of who.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> UNIT                                                                                     ONCPU  %CPU  SWITCHES  PREEMPTED
1> [none]                                                                                 14.0 ms   1.4         6          0
1> session-3.scope                                                                        12.0 ms   1.2         2          0
1> user@1000.service/app-edit.service                                                     11.0 ms   1.1         2          0
1> ssh.service                                                                            10.0 ms   1.0         2          0
1> crio-fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210.scope            8.00 ms   0.8         2          0
1> cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope  7.00 ms   0.7         2          0
1> nerdctl-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope         6.00 ms   0.6         2          0
1> libpod-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope          5.00 ms   0.5         2          0
1> docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope          3.00 ms   0.3         2          0
1> init.scope                                                                             2.00 ms   0.2         2          0
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i who.ebpfrec --by user
1> 0 .. 1 s of who.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> USER    ONCPU  %CPU  SWITCHES  PREEMPTED
1> root  55.0 ms   5.5        20          0
1> 1234  12.0 ms   1.2         2          0
1> ann   11.0 ms   1.1         2          0
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

# 110 is the root of 111 and 112; systemd is the root of no other
$ ebpfrec report cpu -i who.ebpfrec --by tree
1> 0 .. 1 s of who.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> TREE         ONCPU  %CPU  SWITCHES  PREEMPTED
1> 110 work2  33.0 ms   3.3         6          0
1> 109 work1  9.00 ms   0.9         2          0
1> 108 work0  8.00 ms   0.8         2          0
1> 107 work3  7.00 ms   0.7         2          0
1> 106 work2  6.00 ms   0.6         2          0
1> 105 work1  5.00 ms   0.5         2          0
1> 104 work0  4.00 ms   0.4         2          0
1> 103 work3  3.00 ms   0.3         2          0
1> 102 work2  2.00 ms   0.2         2          0
1> 101 work1  1.00 ms   0.1         2          0
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

$ ebpfrec report cpu -i who.ebpfrec --by user,container --limit 3 --format csv
1> container,user,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> [none],root,13000000,1.3,6,0,1,0,,,
1> [none],1234,12000000,1.2,2,0,1,0,,,
1> [none],ann,11000000,1.1,2,0,1,0,,,

# a process is finer than its container, which is a column then
$ ebpfrec report sched -i who.ebpfrec --by container,process --limit 3 --format csv
1> pid,comm,container,waits,wait_ns,wait_p50_ns,wait_p99_ns,wait_max_ns,wakeups,preempts,unknown_waits,migrations,complete,lost_events
1> 101,work1,[none],1,2000,2000,2000,2000,1,0,1,0,1,0
1> 102,work2,[none],1,2000,2000,2000,2000,1,0,1,0,1,0
1> 103,work3,docker:0123456789ab,1,2000,2000,2000,2000,1,0,1,0,1,0

$ ebpfrec report cpu -i who.ebpfrec --by thread,user --limit 2 --format csv
1> pid,tid,comm,user,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns,policy,nice,allowed
1> 112,112,work0,1234,12000000,1.2,2,0,1,0,,,,,,
1> 111,111,work3,ann,11000000,1.1,2,0,1,0,,,,,,

$ ebpfrec report alloc -i who.ebpfrec --by user --format csv
1> user,source,allocs,frees,alloc_bytes,free_bytes,net_bytes,peak_bytes,peak_ns,now_bytes,exit_bytes,lost_frees,complete,lost_events
1> root,rss,45,0,47185920,0,47185920,59768832,200000010,59768832,0,0,1,0
1> root,vm,0,0,0,0,0,16777216,0,16777216,0,0,1,0
1> 1234,rss,11,0,11534336,0,11534336,12582912,240000012,12582912,0,0,1,0
1> ann,rss,10,0,10485760,0,10485760,11534336,220000011,11534336,0,0,1,0

$ ebpfrec report alloc -i who.ebpfrec --by user,tree --limit 2 --format csv
1> user,tree,source,allocs,frees,alloc_bytes,free_bytes,net_bytes,peak_bytes,peak_ns,now_bytes,exit_bytes,lost_frees,complete,lost_events
1> 1234,110 work2,rss,11,0,11534336,0,11534336,12582912,240000012,12582912,0,0,1,0
1> ann,110 work2,rss,10,0,10485760,0,10485760,11534336,220000011,11534336,0,0,1,0

$ ebpfrec report io -i who.ebpfrec --by user,device --format csv
1> user,device,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns,errors,merges,requeues,unknown_owner_ios,submitter,owner_how,unowned_ios,unowned_bytes,complete,lost_events
1> root,dev8:0,5,53248,5,53248,6000000,10000000,10000000,0,0,0,0,several,several,0,0,1,0
1> root,dev8:16,5,40960,5,40960,5000000,9000000,9000000,0,0,0,0,several,several,0,0,1,0
1> ann,dev8:16,1,16384,1,16384,11000000,11000000,11000000,0,0,0,0,work3,read,0,0,1,0
1> 1234,dev8:0,1,4096,1,4096,12000000,12000000,12000000,0,0,0,0,work0,read,0,0,1,0

$ ebpfrec report io -i who.ebpfrec --by op --format csv
1> op,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns,errors,merges,requeues,unknown_owner_ios,submitter,owner_how,unowned_ios,unowned_bytes,complete,lost_events
1> read,10,90112,10,90112,6000000,12000000,12000000,0,0,0,0,several,read,0,0,1,0
1> write,2,24576,2,24576,5000000,10000000,10000000,0,0,0,0,several,submitted,0,0,1,0

$ ebpfrec report io -i who.ebpfrec --by comm --limit 2 --format csv
1> comm,device,op,ios,bytes,iops,bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns,errors,merges,requeues,unknown_owner_ios,submitter,owner_how,unowned_ios,unowned_bytes,complete,lost_events
1> work3,dev8:16,read,3,28672,3,28672,7000000,11000000,11000000,0,0,0,0,work3,read,0,0,1,0
1> work0,dev8:0,read,3,28672,3,28672,8000000,12000000,12000000,0,0,0,0,work0,read,0,0,1,0

$ ebpfrec report latency -i who.ebpfrec --by size --format csv
1> size_from_bytes,size_to_bytes,ios,lat_p50_ns,lat_p90_ns,lat_p99_ns,lat_p999_ns,lat_max_ns,queue_p50_ns,queue_p90_ns,queue_p99_ns,queue_p999_ns,queue_max_ns,device_p50_ns,device_p90_ns,device_p99_ns,device_p999_ns,device_max_ns,errors,merges,requeues,unowned_ios,unowned_bytes,complete,lost_events
1> 4096,8192,4,6000000,12000000,12000000,12000000,12000000,100,100,100,100,100,5999900,11999900,11999900,11999900,11999900,0,0,0,0,0,1,0
1> 8192,16384,4,4000000,10000000,10000000,10000000,10000000,100,100,100,100,100,3999900,9999900,9999900,9999900,9999900,0,0,0,0,0,1,0
1> 16384,32768,4,5000000,11000000,11000000,11000000,11000000,100,100,100,100,100,4999900,10999900,10999900,10999900,10999900,0,0,0,0,0,1,0

$ ebpfrec report latency -i who.ebpfrec --by op,size --format csv
1> op,size_from_bytes,size_to_bytes,ios,lat_p50_ns,lat_p90_ns,lat_p99_ns,lat_p999_ns,lat_max_ns,queue_p50_ns,queue_p90_ns,queue_p99_ns,queue_p999_ns,queue_max_ns,device_p50_ns,device_p90_ns,device_p99_ns,device_p999_ns,device_max_ns,errors,merges,requeues,unowned_ios,unowned_bytes,complete,lost_events
1> read,4096,8192,4,6000000,12000000,12000000,12000000,12000000,100,100,100,100,100,5999900,11999900,11999900,11999900,11999900,0,0,0,0,0,1,0
1> write,8192,16384,1,10000000,10000000,10000000,10000000,10000000,100,100,100,100,100,9999900,9999900,9999900,9999900,9999900,0,0,0,0,0,1,0
1> read,8192,16384,3,4000000,7000000,7000000,7000000,7000000,100,100,100,100,100,3999900,6999900,6999900,6999900,6999900,0,0,0,0,0,1,0
1> read,16384,32768,3,8000000,11000000,11000000,11000000,11000000,100,100,100,100,100,7999900,10999900,10999900,10999900,10999900,0,0,0,0,0,1,0
1> write,16384,32768,1,5000000,5000000,5000000,5000000,5000000,100,100,100,100,100,4999900,4999900,4999900,4999900,4999900,0,0,0,0,0,1,0

$ ebpfrec report latency -i who.ebpfrec --histogram --by size,op --every 100ms --limit 4 --format csv
1> t_ns,op,size_from_bytes,size_to_bytes,phase,low_ns,high_ns,ios,pct,upto_pct,unowned_ios,unowned_bytes,complete,lost_events
1> 0,read,4096,8192,total,2097152,4194304,1,100,100,0,0,1,0
1> 0,read,4096,8192,queue,64,128,1,100,100,0,0,1,0
1> 0,read,4096,8192,device,2097152,4194304,1,100,100,0,0,1,0
1> 0,read,8192,16384,total,524288,1048576,1,50,50,0,0,1,0
1> 100000000,read,4096,8192,total,4194304,8388608,1,50,50,0,0,1,0
1> 100000000,read,4096,8192,total,8388608,16777216,1,50,100,0,0,1,0
1> 100000000,read,4096,8192,queue,64,128,2,100,100,0,0,1,0
1> 100000000,read,4096,8192,device,4194304,8388608,1,50,50,0,0,1,0
1> 200000000,read,4096,8192,total,8388608,16777216,1,100,100,0,0,1,0
1> 200000000,read,4096,8192,queue,64,128,1,100,100,0,0,1,0
1> 200000000,read,4096,8192,device,8388608,16777216,1,100,100,0,0,1,0
1> 200000000,read,16384,32768,total,8388608,16777216,1,100,100,0,0,1,0

# names are no columns of ours: they stay as they are
$ ebpfrec report cpu -i who.ebpfrec --by user --every 400ms --wide-by user | sed -n '3,4p'
1> T (s)  root  1234  ann
1> 0.000  13.8   3.0  2.8

$ ebpfrec report cpu -i who.ebpfrec --by user --every 100ms --wide-by user --format csv
1> t_ns,root,1234,ann
1> 0,10,0,0
1> 100000000,35,0,0
1> 200000000,10,12,11
1> 300000000,0,0,0
1> 400000000,0,0,0
1> 500000000,0,0,0
1> 600000000,0,0,0
1> 700000000,0,0,0
1> 800000000,0,0,0
1> 900000000,0,0,0

$ ebpfrec report memory -i who.ebpfrec --by user --format csv
1> user,rss_bytes,anon_bytes,file_bytes,shmem_bytes,swap_bytes,vm_bytes,rss_peak_bytes,rss_peak_at_ns,rss_low_bytes,heap_bytes,heap_kept_bytes,complete,lost_events
1> root,59768832,58720256,1048576,0,0,16777216,59768832,200000010,2097152,,,1,0
1> 1234,12582912,12582912,0,0,0,0,12582912,240000012,0,,,1,0
1> ann,11534336,11534336,0,0,0,0,11534336,220000011,0,,,1,0

$ ebpfrec report memory -i who.ebpfrec --by tree --every 230ms --from 10ms --comm 'work[23]' --limit 8 --format csv
1> t_ns,tree,rss_bytes,anon_bytes,file_bytes,shmem_bytes,swap_bytes,vm_bytes,rss_peak_bytes,rss_peak_at_ns,rss_low_bytes,heap_bytes,heap_kept_bytes,complete,lost_events
1> 10000000,110 work2,22020096,22020096,0,0,0,0,22020096,220000011,0,,,1,0
1> 10000000,107 work3,7340032,7340032,0,0,0,0,7340032,140000007,0,,,1,0
1> 10000000,106 work2,6291456,6291456,0,0,0,0,6291456,120000006,0,,,1,0
1> 10000000,103 work3,3145728,3145728,0,0,0,0,3145728,60000003,0,,,1,0
1> 10000000,102 work2,2097152,2097152,0,0,0,0,2097152,40000002,0,,,1,0
1> 240000000,110 work2,22020096,22020096,0,0,0,0,22020096,240000000,22020096,,,1,0
1> 240000000,107 work3,7340032,7340032,0,0,0,0,7340032,240000000,7340032,,,1,0
1> 240000000,106 work2,6291456,6291456,0,0,0,0,6291456,240000000,6291456,,,1,0
1> 240000000,103 work3,3145728,3145728,0,0,0,0,3145728,240000000,3145728,,,1,0
1> 240000000,102 work2,2097152,2097152,0,0,0,0,2097152,240000000,2097152,,,1,0
1> 470000000,110 work2,22020096,22020096,0,0,0,0,22020096,470000000,22020096,,,1,0
1> 470000000,107 work3,7340032,7340032,0,0,0,0,7340032,470000000,7340032,,,1,0
1> 470000000,106 work2,6291456,6291456,0,0,0,0,6291456,470000000,6291456,,,1,0
1> 470000000,103 work3,3145728,3145728,0,0,0,0,3145728,470000000,3145728,,,1,0
1> 470000000,102 work2,2097152,2097152,0,0,0,0,2097152,470000000,2097152,,,1,0
1> 700000000,110 work2,22020096,22020096,0,0,0,0,22020096,700000000,22020096,,,1,0
1> 700000000,107 work3,7340032,7340032,0,0,0,0,7340032,700000000,7340032,,,1,0
1> 700000000,106 work2,6291456,6291456,0,0,0,0,6291456,700000000,6291456,,,1,0
1> 700000000,103 work3,3145728,3145728,0,0,0,0,3145728,700000000,3145728,,,1,0
1> 700000000,102 work2,2097152,2097152,0,0,0,0,2097152,700000000,2097152,,,1,0
1> 930000000,110 work2,22020096,22020096,0,0,0,0,22020096,930000000,22020096,,,1,0
1> 930000000,107 work3,7340032,7340032,0,0,0,0,7340032,930000000,7340032,,,1,0
1> 930000000,106 work2,6291456,6291456,0,0,0,0,6291456,930000000,6291456,,,1,0
1> 930000000,103 work3,3145728,3145728,0,0,0,0,3145728,930000000,3145728,,,1,0
1> 930000000,102 work2,2097152,2097152,0,0,0,0,2097152,930000000,2097152,,,1,0

$ ebpfrec report sched -i who.ebpfrec --by device
? 2
2> ebpfrec report: view 'sched' has no rows by device; it takes --by process,thread,thread_name,comm,cgroup,container,unit,user,tree
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i who.ebpfrec --by comm,cpu
? 2
2> ebpfrec report: view 'cpu' has rows by cpu alone, not together with other keys
2> Try 'ebpfrec report --help'.

$ ebpfrec report memory -i who.ebpfrec --by size
? 2
2> ebpfrec report: view 'memory' has no rows by size; it takes --by process,comm,cgroup,container,unit,user,tree
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i who.ebpfrec --by user,contaner
? 2
2> ebpfrec report: --by: unknown key 'contaner'; did you mean 'container'?; `ebpfrec report --list VIEW` shows those of VIEW
2> Try 'ebpfrec report --help'.

$ ebpfrec sql -i who.ebpfrec --format csv "SELECT pid, container, unit, user FROM processes WHERE pid IS NOT NULL"
1> pid,container,unit,user
1> 1,,init.scope,root
1> 101,,,root
1> 102,,init.scope,root
1> 103,docker:0123456789ab,docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope,root
1> 104,docker:fedcba987654,,root
1> 105,podman:0123456789ab,libpod-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope,root
1> 106,containerd:0123456789ab,nerdctl-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope,root
1> 107,k8s:11112222-333/0123456789ab,cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope,root
1> 108,k8s:11112222-333/fedcba987654,crio-fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210.scope,root
1> 109,lxc:web,,root
1> 110,,ssh.service,root
1> 111,,user@1000.service/app-edit.service,ann
1> 112,,session-3.scope,1234

$ ebpfrec sql -i who.ebpfrec --format csv "SELECT tid, container, unit, user FROM threads WHERE tid > 109"
1> tid,container,unit,user
1> 110,,ssh.service,root
1> 111,,user@1000.service/app-edit.service,ann
1> 112,,session-3.scope,1234

$ ebpfrec sql -i who.ebpfrec "SELECT task_key('process', 16)"
? 1
2> ebpfrec: task_key(): a key is 'comm', 'cgroup', 'container', 'unit', 'user' or 'tree'

# a redacted trace has the same groups, with other ids
$ ebpfrec redact -i who.ebpfrec -o public.ebpfrec --salt pepper 2>&1 | grep -v MB;
> ebpfrec report cpu -i public.ebpfrec --by container,unit,user --format csv
1> ebpfrec: public.ebpfrec: 1 block, 3.90 kB, of who.ebpfrec
1> ebpfrec: public.ebpfrec: replaced: 5 process names, 10 cgroups, 2 devices, 1 user name
1> ebpfrec: public.ebpfrec: still there: 2 cgroups
1> container,unit,user,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> [none],session-3.scope,1828685320,12000000,1.2,2,0,1,0,,,
1> [none],user@1163285977.service/pcpppsm.service,user-prjgpf,11000000,1.1,2,0,1,0,,,
1> [none],phgjkdl.service,root,10000000,1,2,0,1,0,,,
1> lxc:scqddk,[none],root,9000000,0.9,2,0,1,0,,,
1> k8s:1cc5f273-a1f/e157c215b00c,crio-e157c215b00cb12e157c215b00cb12e157c215b00cb12e157c215b00cb12e157.scope,root,8000000,0.8,2,0,1,0,,,
1> k8s:1cc5f273-a1f/2e07a264dc9f,cri-containerd-2e07a264dc9f9c42e07a264dc9f9c42e07a264dc9f9c42e07a264dc9f9c42e07.scope,root,7000000,0.7,2,0,1,0,,,
1> containerd:2e07a264dc9f,nerdctl-2e07a264dc9f9c42e07a264dc9f9c42e07a264dc9f9c42e07a264dc9f9c42e07.scope,root,6000000,0.6,2,0,1,0,,,
1> podman:2e07a264dc9f,libpod-2e07a264dc9f9c42e07a264dc9f9c42e07a264dc9f9c42e07a264dc9f9c42e07.scope,root,5000000,0.5,2,0,1,0,,,
1> docker:e157c215b00c,[none],root,4000000,0.4,2,0,1,0,,,
1> docker:2e07a264dc9f,docker-2e07a264dc9f9c42e07a264dc9f9c42e07a264dc9f9c42e07a264dc9f9c42e07.scope,root,3000000,0.3,2,0,1,0,,,
1> [none],init.scope,root,2000000,0.2,2,0,1,0,,,
1> [none],[none],root,1000000,0.1,2,0,1,0,,,

# a cut has the names of its processes, and no other
$ ebpfrec cut -i who.ebpfrec -o part.ebpfrec --pid 111,103 2>/dev/null;
> ebpfrec sql -i part.ebpfrec --format csv "SELECT type, name FROM names WHERE type IN ('cgroup', 'user')"
1> type,name
1> cgroup,/
1> cgroup,/init.scope
1> cgroup,/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope
1> cgroup,/system.slice/ssh.service
1> cgroup,/user.slice/user-1000.slice/user@1000.service/app.slice/app-edit.service
1> user,root
1> user,ann

$ ebpfrec info -i who.ebpfrec --tree | head -n 4
1> PID  COMM      USER  CONTAINER                      START (s)  END (s)  CMDLINE
1>   1  systemd   root  -                               -999.999        -  
1> 101   work1    root  -                                  0.019        -  
1> 102   work2    root  -                                  0.039        -  

$ ebpfrec info -i who.ebpfrec --tree --format csv | tail -n 3
1> 26,110,1,1,work2,root,,199000000,,""
1> 27,111,110,2,work3,ann,,219000000,,""
1> 28,112,111,3,work0,1234,,239000000,,""

# A group has its quota, or that of a group above, in the window; who had none is no row.
$ ebpfrec report throttle -i who.ebpfrec --format csv
1> cgroup,quota_ns,period_ns,quota_of,periods,throttled_ns,throttled_max_ns,threads,complete,lost_events
1> /,20000000,100000000,,0,0,,0,1,0

$ ebpfrec sql -i who.ebpfrec --format csv 'SELECT * FROM quotas'
1> from_ns,to_ns,cgroup_id,cgroup,limit_id,quota_of,quota_ns,period_ns
1> 0,1000000000,1,/,1,/,20000000,100000000
1> 0,1000000000,77,,7,/kubepods.slice/kubepods-pod11112222_3333_4444_5555_666677778888.slice/cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope,5000000,10000000

$ ebpfrec report throttle -i public.ebpfrec --format csv
1> cgroup,quota_ns,period_ns,quota_of,periods,throttled_ns,throttled_max_ns,threads,complete,lost_events
1> /,20000000,100000000,,0,0,,0,1,0

# a cut of processes has the quotas of their groups
$ for pid in 101 102; do ebpfrec cut -i who.ebpfrec --pid $pid -o $pid.ebpfrec 2>/dev/null || echo "cut $?";
> ebpfrec sql -i $pid.ebpfrec --format csv 'SELECT cgroup_id, quota_ns FROM quotas'; done
1> cgroup_id,quota_ns
1> 1,20000000
1> cgroup_id,quota_ns

# the workload alone: the recorded command and its descendants, and no others of their names
$ gen_golden sample.ebpfrec sample; ebpfrec report cpu -i sample.ebpfrec --workload --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,cc1,1500000000,37.5,1,1,0,3,,,
1> 100,make,1000000000,25,2,0,0,3,,,
2> ebpfrec: sample.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report sched -i sample.ebpfrec --workload --comm cc1 --format csv
1> pid,comm,waits,wait_ns,wait_p50_ns,wait_p99_ns,wait_max_ns,wakeups,preempts,unknown_waits,migrations,complete,lost_events
1> 200,cc1,0,1500000000,,,,0,0,0,0,0,3
2> ebpfrec: sample.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec report -i sample.ebpfrec --workload | tail -n 3
1> Cause 1: ebpfrec report cpu --by thread --comm make -i sample.ebpfrec
1> Cause 2: ebpfrec report why --comm cc1 -i sample.ebpfrec
1> Cause 3: ebpfrec report spikes --comm cc1 -i sample.ebpfrec

$ ebpfrec report path -i sample.ebpfrec --workload --limit 2 | head -n 5
1> 0 .. 4 s of sample.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> PID  TID  COMM  KIND     CALL  OBJECT  PARTS    PATH  PATH MAX  SHARE %
1> 100  100  make  unknown     -       -      2  3.00 s    2.00 s     75.0
1> 100  100  make  running     -       -      2  1.00 s    500 ms     25.0

# a mistake is told
$ ebpfrec report cpu -i who.ebpfrec --workload
? 1
2> ebpfrec: who.ebpfrec: the trace has no workload: it was recorded without a command, -p or --cgroup

$ ebpfrec report cpu -i sample.ebpfrec --workload --comm systemd
? 1
2> ebpfrec: sample.ebpfrec: no process or thread matches all of these: --comm, --workload

$ ebpfrec report loss -i sample.ebpfrec --workload
? 2
2> ebpfrec report: view 'loss' shows the whole machine; it takes no --workload
2> Try 'ebpfrec report --help'.

$ ebpfrec report processes -i who.ebpfrec
1> 0 .. 1 s of who.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> PID  PPID  COMM      START (s)    WALL    ONCPU  RSS PEAK  EXIT  CMDLINE
1>   1     0  systemd    -999.999  1.00 s     0 ns  2.00 MiB     -        -
1> 101     1   work1        0.019  981 ms  1.00 ms  1.00 MiB     -        -
1> 102     1   work2        0.039  961 ms  2.00 ms  2.00 MiB     -        -
1> 103     1   work3        0.059  941 ms  3.00 ms  3.00 MiB     -        -
1> 104     1   work0        0.079  921 ms  4.00 ms  4.00 MiB     -        -
1> 105     1   work1        0.099  901 ms  5.00 ms  5.00 MiB     -        -
1> 106     1   work2        0.119  881 ms  6.00 ms  6.00 MiB     -        -
1> 107     1   work3        0.139  861 ms  7.00 ms  7.00 MiB     -        -
1> 108     1   work0        0.159  841 ms  8.00 ms  8.00 MiB     -        -
1> 109     1   work1        0.179  821 ms  9.00 ms  9.00 MiB     -        -
1> 110     1   work2        0.199  801 ms  10.0 ms  10.0 MiB     -        -
1> 111   110    work3       0.219  781 ms  11.0 ms  11.0 MiB     -        -
1> 112   111     work0      0.239  761 ms  12.0 ms  12.0 MiB     -        -
1>
1> Processes that ran, began or ended in the window, with their parents, each below its parent. (More: --notes.)

$ ebpfrec report processes -i who.ebpfrec --from 200ms --until 300ms --format csv --limit 3
1> pid,ppid,depth,comm,start_ns,wall_ns,oncpu_ns,rss_peak_bytes,exit_status,signal,cmdline,complete,lost_events
1> 1,0,0,systemd,-999999999000,100000000,0,2097152,,,,1,0
1> 110,1,1,work2,199000000,100000000,10000000,10485760,,,,1,0
1> 111,110,2,work3,219000000,81000000,11000000,11534336,,,,1,0
