# Several traces at once. Both have the same times, so both lie at 0 of the common axis.

$ cp -r golden.ebpfrec db.ebpfrec; sed -i '/^crc32c=/d;$a host=db' db.ebpfrec/manifest;
> cp -r db.ebpfrec copy.ebpfrec; ebpfrec report cpu -i golden.ebpfrec -i db.ebpfrec --limit 1
1~ 2 traces, aligned by wall clock, as read within *; how far the hosts' clocks were apart is not known
1> golden.ebpfrec: golden.ebpfrec, 0.000 .. 4.000 s, from 2023-11-14T22:30:00.000+00:00, INCOMPLETE: sched: 3 events lost
1> db: db.ebpfrec, 0.000 .. 4.000 s, from 2023-11-14T22:30:00.000+00:00, INCOMPLETE: sched: 3 events lost
1>
1> HOST            PID  COMM   ONCPU  %CPU  SWITCHES  PREEMPTED
1> golden.ebpfrec  200  cc1   1.50 s  37.5         1          1
1> db              200  cc1   1.50 s  37.5         1          1
1> (in all rows, COMPLETE: NO, LOST EVENTS: 3)
1> (4 more: --limit 0)
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

# The command below a section asks about the same traces, window and names.
$ ebpfrec report -i golden.ebpfrec -i db.ebpfrec --from 1s | grep 'report memory' | sort -u
1> (1 more: ebpfrec report memory --by comm --from 1s -i golden.ebpfrec -i db.ebpfrec)

# A pattern of the shell; hosts of the same name are told apart.
$ ebpfrec report cpu --from 1s --to 2s --every 500ms --format csv -i copy.ebpfrec db.ebpfrec
1> host,t_ns,pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> db,1000000000,200,cc1,500000000,100,0,0,1,0,,,
1> db,1500000000,200,cc1,500000000,100,0,0,1,0,,,
1> db,1500000000,300,"'=1+\x1b[31m,""\xff",250000000,50,1,0,1,0,,,
1> db#2,1000000000,200,cc1,500000000,100,0,0,1,0,,,
1> db#2,1500000000,200,cc1,500000000,100,0,0,1,0,,,
1> db#2,1500000000,300,"'=1+\x1b[31m,""\xff",250000000,50,1,0,1,0,,,
2~ ebpfrec: 2 traces, aligned by wall clock, as read within *; all of one host

$ ebpfrec report cpu -i db.ebpfrec copy.ebpfrec --follow
? 2
2> ebpfrec report: --follow is for one trace, and there are 2
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i db.ebpfrec -i nowhere
? 1
2~ ebpfrec: nowhere: no such trace*

$ ebpfrec export -i db.ebpfrec --to csv --with-host -t switches -o - 2>/dev/null | head -n 2
1> host,unix_ns,ts_ns,cpu,utid,preempted,next_utid,prev_state,prev_prio,next_prio,steal_ns,stay_ns,call,object
1> db,1700001000500000000,500000000,0,17,0,0,1,120,120,0,0,0,0

$ ebpfrec export -i db.ebpfrec --to sqlite --with-host
? 2
2> ebpfrec export: --with-host is for csv and json
2> Try 'ebpfrec export --help'.

# One of them is of some processes only: said for that one.
$ ebpfrec cut -i golden.ebpfrec --comm cc1 -o cc1.ebpfrec 2>/dev/null; ebpfrec report cpu -i db.ebpfrec cc1.ebpfrec |
> grep 'Cut:'
1~ cc1.ebpfrec: Cut: events of some processes only *

$ ebpfrec report cpu -i db.ebpfrec cc1.ebpfrec --format csv 2>&1 >/dev/null | grep 'Cut:'
1~ ebpfrec: cc1.ebpfrec: Cut: events of some processes only *

$ cp -r golden.ebpfrec only.ebpfrec; sed -i '/^crc32c=/d;$a only=1' only.ebpfrec/manifest;
> ebpfrec report devices -i only.ebpfrec | grep '^Recorded'
1> Recorded with --only: what others than the workload did, and so machines, CPUs and devices as a whole, is not in it.

# All but report are of one trace, and do not take the last of two.
$ ebpfrec cut -i golden.ebpfrec -i db.ebpfrec -o both.ebpfrec
? 2
2> ebpfrec cut: -i: one trace at a time, and there are 'golden.ebpfrec' and 'db.ebpfrec'
2> Try 'ebpfrec cut --help'.

# The tables of a fleet, and what is sent to them.
$ ebpfrec export --to clickhouse --schema --cluster fleet | grep -E ' cpus(_in|_here|_whole)? '
1> CREATE TABLE IF NOT EXISTS cpus_here (host String, trace_id UUID, load UInt64, unix_ns Int64, wall_uncertainty_ns UInt64, row Tuple(UInt64, UInt8), piece UInt64, `cpu` Nullable(Int64)) ENGINE = MergeTree PARTITION BY toDate(toDateTime(intDiv(unix_ns, 1000000000)), 'UTC') ORDER BY (host, trace_id, load, unix_ns);
1> CREATE MATERIALIZED VIEW IF NOT EXISTS cpus_in TO cpus_here AS SELECT host, trace_id, load, unix_ns, wall_uncertainty_ns, (intDiv(nr, 256), toUInt8(nr % 256)) AS row, bitXor(load, assumeNotNull((SELECT rand64()))) AS piece, numbers[1] AS `cpu` FROM landing_here WHERE tbl = 'cpus' AND layout = 3537365832;
1> CREATE MATERIALIZED VIEW IF NOT EXISTS cpus_in_arrived TO arrived_here AS SELECT host, trace_id, load, 'cpus' AS of, piece, min(row.1 * 256 + row.2) AS first_row, max(row.1 * 256 + row.2) AS last_row, uniqExact(row) AS rows, count() AS copies FROM cpus_in WHERE load != 0 GROUP BY host, trace_id, load, piece;
1> CREATE MATERIALIZED VIEW IF NOT EXISTS cpus_here_arrived TO arrived_here AS SELECT host, trace_id, load, 'cpus' AS of, piece, min(row.1 * 256 + row.2) AS first_row, max(row.1 * 256 + row.2) AS last_row, uniqExact(row) AS rows, count() AS copies FROM cpus_here WHERE load != 0 GROUP BY host, trace_id, load, piece;
1> CREATE VIEW IF NOT EXISTS cpus_whole AS SELECT * FROM cpus_here WHERE piece IN (SELECT piece FROM arrived_here WHERE of = 'cpus' AND (trace_id, load) IN (SELECT trace_id, counted FROM counted_here WHERE of = 'cpus' AND NOT twice)) UNION ALL SELECT * FROM cpus_here WHERE (trace_id, load) IN (SELECT trace_id, counted FROM counted_here WHERE of = 'cpus' AND twice) LIMIT 1 BY trace_id, load, row;
1> CREATE TABLE IF NOT EXISTS cpus AS cpus_whole ENGINE = Distributed(fleet, currentDatabase(), cpus_whole);

$ ebpfrec export --to clickhouse --schema | grep -c ' sched_slices'
1> 5

$ ebpfrec export -i golden.ebpfrec --to clickhouse --every 1s -o bins 2>/dev/null;
> ebpfrec export -q -i golden.ebpfrec --to clickhouse -t cpus,marks -o - 2>/dev/null | wc -c; stat -c %a bins
1> 500
1> 600

$ for key in comm unit container user;
> do ebpfrec export -q -i golden.ebpfrec --to clickhouse --every 1s --by $key -o - 2>/dev/null |
> grep -ao "${key}_bins" | uniq; done
1> comm_bins
1> unit_bins
1> container_bins
1> user_bins

# What is sent are the rows of report bins --align: whole bins, of which the last is incomplete when the trace ends in
# it.
$ for window in "" "--from 0.3s --until 1.9s";
> do diff <(ebpfrec export -q -i golden.ebpfrec --to clickhouse --every 1500ms $window -o - 2>/dev/null |
> landing - comm_bins) <(ebpfrec report bins -i golden.ebpfrec --every 1500ms --align $window \
>   --format csv 2>/dev/null | cut -d , -f 1,2,4- | sed "s/\"'=/\"=/;s/\"\",,/,,/" | tr -d '\r'); done
$ ebpfrec export -q -i golden.ebpfrec --to clickhouse --every 1500ms -o - 2>/dev/null | landing - comm_bins |
> cut -d , -f 1,3,28- | grep -v ',,'
1> unix_ns,bin_ns,cpus,lost_events,complete
1> 1700001000000000000,1500000000,2,0,1
1> 1700001001500000000,1500000000,2,3,0
1> 1700001003000000000,1000000000,2,0,0

# A table's row is sent at its own time.
$ ebpfrec export -q -i golden.ebpfrec --to clickhouse -t sched_slices --from 1.1s --until 2s -o - 2>/dev/null |
> landing - sched_slices | cut -d , -f 1,3
1> unix_ns,start_ns
1> 1700001001100000000,1100000000
1> 1700001001500000000,1500000000
1> 1700001001750000000,1750000000
1> 1700001001100000000,1100000000
1> 1700001001850000000,1850000000

# The CPU time of nobody known is the same as that of report cpu.
$ gen_golden part.ebpfrec damaged; ebpfrec report bins -i part.ebpfrec --every 1s --format csv 2>/dev/null |
> cut -d , -f 1,3,7 | grep unknown; ebpfrec report cpu -i part.ebpfrec --every 1s --format csv 2>/dev/null |
> cut -d , -f 1,3,4 | grep 'unknown.,[1-9]'
1> 1000000000,[unknown],2000000000
1> 1000000000,[unknown],2000000000

$ ebpfrec export --to clickhouse --by comm
? 2
2> ebpfrec export: --by is for the bins of --every
2> Try 'ebpfrec export --help'.

$ ebpfrec export --to csv --every 1s
? 2
2> ebpfrec export: --every and --by are for openmetrics and clickhouse
2> Try 'ebpfrec export --help'.

$ ebpfrec export --to clickhouse --schema --cluster 'x; DROP TABLE y'
? 2
2> ebpfrec export: --cluster takes a name of letters, digits and _
2> Try 'ebpfrec export --help'.

# A cut names the trace that it was made of, and a redacted copy of it does not.
$ ebpfrec cut -i golden.ebpfrec --until 1s -o origin.ebpfrec 2>/dev/null;
> ebpfrec redact -i origin.ebpfrec -o hidden.ebpfrec 2>/dev/null; ebpfrec info -i origin.ebpfrec |
> grep -c 'trace\.origin *00000000-0000-87ac-8e00-000000000000'; ebpfrec info -i hidden.ebpfrec | grep -c 'trace\.';
> ebpfrec info -i hidden.ebpfrec | grep -c 87ac
? 1
1> 1
1> 2
1> 0

# Bins of whole multiples of UTC: the same on both hosts, each with its clock's uncertainty.
$ ebpfrec report cpu --every 1500ms --align --format csv -i golden.ebpfrec -i db.ebpfrec 2>/dev/null
1> host,unix_ns,wall_uncertainty_ns,t_ns,pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> golden.ebpfrec,1700001000000000000,20,0,100,make,500000000,33.333,1,0,1,0,,,
1> golden.ebpfrec,1700001000000000000,20,0,200,cc1,500000000,33.333,0,0,1,0,,,
1> golden.ebpfrec,1700001001500000000,20,1500000000,200,cc1,1000000000,66.667,1,1,0,3,,,
1> golden.ebpfrec,1700001001500000000,20,1500000000,100,make,500000000,33.333,0,0,0,3,,,
1> golden.ebpfrec,1700001001500000000,20,1500000000,300,"'=1+\x1b[31m,""\xff",250000000,16.667,1,0,0,3,,,
1> golden.ebpfrec,1700001003000000000,20,3000000000,100,make,0,0,1,0,0,0,,,
1> db,1700001000000000000,20,0,100,make,500000000,33.333,1,0,1,0,,,
1> db,1700001000000000000,20,0,200,cc1,500000000,33.333,0,0,1,0,,,
1> db,1700001001500000000,20,1500000000,200,cc1,1000000000,66.667,1,1,0,3,,,
1> db,1700001001500000000,20,1500000000,100,make,500000000,33.333,0,0,0,3,,,
1> db,1700001001500000000,20,1500000000,300,"'=1+\x1b[31m,""\xff",250000000,16.667,1,0,0,3,,,
1> db,1700001003000000000,20,3000000000,100,make,0,0,1,0,0,0,,,

$ ebpfrec report cpu --every 1500ms --align --from 1s --until 2s --limit 1 -i golden.ebpfrec -i db.ebpfrec
1> 2 traces, aligned by wall clock, as read within 40 ns; how far the hosts' clocks were apart is not known
1> golden.ebpfrec: golden.ebpfrec, 0.000 .. 3.000 s, from 2023-11-14T22:30:00.000+00:00, INCOMPLETE: sched: 3 events lost
1> db: db.ebpfrec, 0.000 .. 3.000 s, from 2023-11-14T22:30:00.000+00:00, INCOMPLETE: sched: 3 events lost
1>
1> HOST            T (s)  PID  COMM   ONCPU  %CPU  SWITCHES  PREEMPTED
1> golden.ebpfrec  0.000  100  make  500 ms  33.3         1          0
1> db              0.000  100  make  500 ms  33.3         1          0
1> (8 more: --limit 0)
1>
1> The time of an interrupt counts for the thread that it interrupted, as in the kernel's own accounting. (More: --notes.)

# Lines of several hosts name the trace, too.
$ ebpfrec report cpu --by cpu --every 2s --format jsonl -i golden.ebpfrec -i db.ebpfrec 2>/dev/null
1> {"host":"golden.ebpfrec","trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"cpu":0,"oncpu_ns":1500000000,"util_pct":75,"switches":1,"preempted":0,"complete":1,"lost_events":0,"idle_ns":500000000,"unknown_ns":0,"other_ns":0}
1> {"host":"golden.ebpfrec","trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"cpu":1,"oncpu_ns":250000000,"util_pct":12.5,"switches":1,"preempted":0,"complete":1,"lost_events":0,"idle_ns":1650000000,"unknown_ns":0,"other_ns":100000000}
1> {"host":"golden.ebpfrec","trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001002000000000,"wall_uncertainty_ns":20,"t_ns":2000000000,"cpu":0,"oncpu_ns":1000000000,"util_pct":50,"switches":2,"preempted":1,"complete":0,"lost_events":3,"idle_ns":1000000000,"unknown_ns":0,"other_ns":0}
1> {"host":"golden.ebpfrec","trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001002000000000,"wall_uncertainty_ns":20,"t_ns":2000000000,"cpu":1,"oncpu_ns":0,"util_pct":0,"switches":0,"preempted":0,"complete":0,"lost_events":3,"idle_ns":2000000000,"unknown_ns":0,"other_ns":0}
1> {"host":"db","trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"cpu":0,"oncpu_ns":1500000000,"util_pct":75,"switches":1,"preempted":0,"complete":1,"lost_events":0,"idle_ns":500000000,"unknown_ns":0,"other_ns":0}
1> {"host":"db","trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001000000000000,"wall_uncertainty_ns":20,"t_ns":0,"cpu":1,"oncpu_ns":250000000,"util_pct":12.5,"switches":1,"preempted":0,"complete":1,"lost_events":0,"idle_ns":1650000000,"unknown_ns":0,"other_ns":100000000}
1> {"host":"db","trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001002000000000,"wall_uncertainty_ns":20,"t_ns":2000000000,"cpu":0,"oncpu_ns":1000000000,"util_pct":50,"switches":2,"preempted":1,"complete":0,"lost_events":3,"idle_ns":1000000000,"unknown_ns":0,"other_ns":0}
1> {"host":"db","trace_id":"00000000-0000-87ac-8e00-000000000000","unix_ns":1700001002000000000,"wall_uncertainty_ns":20,"t_ns":2000000000,"cpu":1,"oncpu_ns":0,"util_pct":0,"switches":0,"preempted":0,"complete":0,"lost_events":3,"idle_ns":2000000000,"unknown_ns":0,"other_ns":0}
