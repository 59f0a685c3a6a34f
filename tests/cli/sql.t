# What there is to ask, wrong names, formats, dot commands. The shell: sql_shell.py.

# every table that can be exported, every view and function, without a trace
$ ebpfrec sql --schema --format csv >all; ebpfrec export --list | awk '{ print $1 }' |
> while read -r t; do grep -q "^$t,table," all || echo "no $t"; done; cut -d, -f2 all | sort | uniq -c |
> awk '{ print $2, $3, ($1 > 8) }'
1> function  1
1> kind  0
1> table  1
1> table-valued function 1
1> view  1

$ ebpfrec sql --schema cpu_by_second
1> cpu_by_second
1> CPU time per process and second of the trace.
1> t_ns      integer  ns         start of the second
1> upid      integer             process
1> pid       integer             kernel's pid; empty for idle, unknown and interrupts
1> comm      text                name of the process
1> oncpu_ns  integer  ns         time on the CPU in this second

$ ebpfrec sql --schema --format csv cpus
1> table,column,type,unit,meaning
1> cpus,cpu,integer,,number

$ ebpfrec sql --schema page_bytes
1> page_bytes()
1> page size of the recorded machine

# what TABLES.md says of views is what they have: --schema names each column
$ for v in $(ebpfrec sql --schema --format csv | sed -n 's/,view,.*//p');
> do ebpfrec sql -i golden.ebpfrec --format csv "SELECT * FROM $v LIMIT 0" | tr ',' '\n' >has;
> ebpfrec sql --schema --format csv $v | tail -n +2 | cut -d, -f2 | diff has - >&2 && echo same; done | sort |
> uniq -c | awk '{ print ($1 > 8), $2 }'
1> 1 same

$ ebpfrec sql --schema swiches
? 1
2> ebpfrec: there is no table, view or function 'swiches'; did you mean 'switches'?
2~ there are: processes threads *
2...
2>   requests_named cpu_by_process cpu_by_second waits_by_process states_by_process alloc_by_process
2>   rss_by_process io_by_process io_by_second

$ ebpfrec sql -i golden.ebpfrec 'SELECT * FROM swiches'
? 1
2> ebpfrec: no such table: swiches; did you mean 'switches'?
2~ there are: processes threads *
2...
2~ *io_by_process*
2...

$ ebpfrec sql -i golden.ebpfrec 'SELECT s.tz_ns FROM switches AS s JOIN cpus AS c ON c.cpu = s.cpu'
? 1
2> ebpfrec: no such column: s.tz_ns; did you mean 'ts_ns'?
2> the columns are: cpu ts_ns cpu utid preempted next_utid prev_state prev_prio next_prio steal_ns
2>   stay_ns call object

$ ebpfrec sql -i golden.ebpfrec 'SELECT percentil(cpu, 50) FROM cpus'
? 1
2> ebpfrec: no such function: percentil; did you mean 'percentile'?
2~ besides SQLite's own there are: wall_time *
2...
2~ * percentile

$ ebpfrec sql -i golden.ebpfrec --format vertical \
>   "SELECT pid, comm, 0.5 AS half, NULL AS nil FROM processes WHERE pid IN (200, 300) ORDER BY pid"
1> row 1
1>  pid  200
1> comm  cc1
1> half  0.5
1>  nil  NULL
1>
1> row 2
1>  pid  300
1> comm  =1+\x1b[31m,"\xff
1> half  0.5
1>  nil  NULL

$ ebpfrec sql -i golden.ebpfrec --format vertical 'SELECT 1 WHERE 0'
1> (nothing)

$ ebpfrec sql --format vert 'SELECT 1'
? 2
2> ebpfrec sql: unknown format 'vert'; there are table, vertical, csv, json and jsonl
2> Try 'ebpfrec sql --help'.

$ ebpfrec sql .tables | diff - <(ebpfrec sql --schema) && ebpfrec sql '.schema switches;' |
> diff - <(ebpfrec sql --schema switches) && echo the same
1> the same

$ ebpfrec sql .tabels
? 1
2> ebpfrec: there is no command '.tabels'; .help lists them

# the examples are the queries of schema/QUERIES.md, as they can be pasted
$ ebpfrec sql --examples | awk \
>   '/^-- Which threads were busiest/ { on = 1 } on && !/^--/ { print } /;$/ && on { exit }' >query;
> ebpfrec sql -i golden.ebpfrec --format csv - <query | head -n 1
1> pid,tid,comm,oncpu_ms

# plain sqlite3 answers from an exported database what reports answer
$ ebpfrec export -q -i golden.ebpfrec --to sqlite -o g.db 2>/dev/null;
> sqlite3 -csv g.db "SELECT pid, comm, oncpu_ns FROM cpu_by_process WHERE upid >= 16 AND comm <> 'ebpfrec'" |
> sed 's/=1.*"",/X,/; s/"//' ; ebpfrec report cpu -i golden.ebpfrec --format csv 2>/dev/null | tail -n +2 |
> cut -d, -f1-3
1> 200,cc1,1500000000
1> 100,make,1000000000
1~ 300,*250000000
1> 200,cc1,1500000000
1> 100,make,1000000000
1~ 300,*

$ sqlite3 -csv g.db "SELECT pid, running_ns, runnable_ns, preempted_ns, sleeping_ns FROM states_by_process WHERE pid
>   < 300; SELECT DISTINCT end_reason, end_state, state FROM slices_named ORDER BY 1, 2"
1> 200,1500000000,0,0,0
1> 100,1000000000,0,0,2000000000
1> cut,,
1> preempted,0,preempted
1> slept,1,sleeping

# the view decodes the kernel's bits by itself, as thread_state() does
$ ebpfrec sql -i golden.ebpfrec \
>   "WITH RECURSIVE b (v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM b WHERE v < 65535) SELECT v, thread_state(v) FROM
>   b" --format csv | tail -n +2 | tr -d '\r' >bits; cp g.db b.db;
> sqlite3 b.db "DELETE FROM sched_slices; WITH RECURSIVE b (v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM b WHERE v <
>   65535) INSERT INTO sched_slices (start_ns, end_ns, dur_ns, cpu, utid, end_reason, end_state) SELECT v, v, 0, 0,
>   17, 'slept', v FROM b"; sqlite3 -csv b.db "SELECT end_state, state FROM slices_named ORDER BY 1" | tr -d '\r' |
> cmp - bits && wc -l <bits; rm b.db
1> 65536

$ sqlite3 g.db 'SELECT sum(oncpu_ns) - (SELECT sum(dur_ns) FROM sched_slices) FROM cpu_by_second; SELECT DISTINCT
>   t_ns FROM cpu_by_second'
1> 0
1> 0
1> 1000000000
1> 2000000000
1> 3000000000

$ sqlite3 -csv g.db 'SELECT pid, device, op, ios, bytes, lat_max_ns FROM io_by_process; SELECT t_ns, pid, ios FROM
>   io_by_second'
1> 100,dev8:0,write,10,655360,5000000
1> 0,100,10

$ sqlite3 -csv g.db 'SELECT pid, source, allocs, alloc_bytes, freed_bytes, held_bytes FROM alloc_by_process; SELECT
>   pid, member, peak_bytes, peak_ns FROM rss_by_process'
1> 200,slab,100,19200,11520,7680
1> 200,anon,33554432,1250000000

# the same words as report states has, for bits of waits for a lock (0x1000), an idle kernel thread (0x402), a stop and
# a trace
$ ebpfrec sql -i golden.ebpfrec \
>   "SELECT thread_state(1), thread_state(2), thread_state(0x402), thread_state(0x1000), thread_state(4),
>   thread_state(8), thread_state(0), thread_state(NULL)" --format csv
1> thread_state(1),thread_state(2),thread_state(0x402),thread_state(0x1000),thread_state(4),thread_state(8),thread_state(0),thread_state(NULL)
1> sleeping,uninterruptible,sleeping,uninterruptible,stopped,stopped,preempted,

# What ends before a query's time is passed over, where rows come in the order of their ends: no answer differs.
$ for t in hook_stats cost blocks; do for x in -1 0 999999999 1000000000 1000000001 2.5e9 9e18;
> do ebpfrec sql -i golden.ebpfrec --format csv \
>   "SELECT (SELECT count(*) FROM $t WHERE to_ns > $x) - (SELECT count(*) FROM $t WHERE +to_ns > $x), (SELECT
>   count(*) FROM $t WHERE to_ns >= $x) - (SELECT count(*) FROM $t WHERE +to_ns >= $x), (SELECT count(*) FROM $t
>   WHERE to_ns = $x) - (SELECT count(*) FROM $t WHERE +to_ns = $x)" 2>&1 | tail -n 1; done; done | sort | uniq -c |
> tr -s ' '
1>  21 0,0,0
# views are there for who lists them
$ ebpfrec sql -i golden.ebpfrec --format csv \
>   "SELECT name FROM sqlite_schema WHERE type = 'view' AND name LIKE 'cpu%' ORDER BY 1"
1> name
1> cpu_by_process
1> cpu_by_second
$ ebpfrec sql -i golden.ebpfrec --format csv "PRAGMA table_info(epoch)"
1> cid,name,type,notnull,dflt_value,pk
1> 0,start_unix_ns,"",0,,0
