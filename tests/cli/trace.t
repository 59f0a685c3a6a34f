# Opening traces that are none, or not whole; windows; info, check, export and sql.

$ ebpfrec report
? 1
2> ebpfrec: trace.ebpfrec: no such trace; record one with `ebpfrec record -- COMMAND`, or name it with -i

$ ebpfrec info -i nowhere
? 1
2> ebpfrec: nowhere: no such trace; record one with `ebpfrec record -- COMMAND`, or name it with -i

$ touch file; ebpfrec info -i file
? 1
2~ ebpfrec: 'file' is not a trace*

$ mkdir dir; touch dir/x; ebpfrec report cpu -i dir
? 1
2~ ebpfrec: 'dir'*not a trace*manifest*

$ mkdir empty; ebpfrec check -i empty
? 1
2~ ebpfrec: 'empty'*not a trace*manifest*

$ cp -r golden.ebpfrec trace.ebpfrec; ebpfrec report cpu --format csv 2>/dev/null | wc -l
1> 4

$ ebpfrec report cpu -i golden.ebpfrec --from 3s --to 2s
? 2
2> ebpfrec report: the window is empty: it starts at 3.000 s and ends at 2.000 s (the trace has 0 .. 4.000 s); --from must be before --until
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --from 1s --to 1s
? 2
2> ebpfrec report: the window is empty: it starts at 1.000 s and ends at 1.000 s (the trace has 0 .. 4.000 s); --from must be before --until
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --from yesterday
? 2
2> ebpfrec report: --from: there is no mark 'yesterday' in the trace; write an offset (1.5s, 1500ms), -2s from the end, 2026-03-01T12:00:00.5Z, T12:00:03 or @SECONDS
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --to 1.5x
? 2
2> ebpfrec report: --until: '1.5x' is not a time; write an offset (1.5s, 1500ms), -2s from the end, 2026-03-01T12:00:00.5Z, T12:00:03 or @SECONDS
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i golden.ebpfrec --from 2026-02-30T00:00:00Z
? 2
2> ebpfrec report: --from: '2026-02-30T00:00:00Z' is not a time; write an offset (1.5s, 1500ms), -2s from the end, 2026-03-01T12:00:00.5Z, T12:00:03 or @SECONDS
2> Try 'ebpfrec report --help'.

$ ebpfrec check -i golden.ebpfrec
1> FILE              STATUS  OFFSET     BYTES  FROM (s)  TO (s)  BLOCKS  EVENTS  REASON
1> manifest          valid        0     224 B         -       -       -       -  finished
1~ chunk-000000.ebr  valid       64  * KiB     0.000   4.000       4     231  
2> ebpfrec: golden.ebpfrec: whole: 4 blocks, 231 events

$ ebpfrec check -i golden.ebpfrec --format csv 2>/dev/null
1> file,status,offset,bytes,from_ns,to_ns,blocks,events,reason
1> manifest,valid,0,224,,,,,finished
1~ chunk-000000.ebr,valid,64,*,0,4000000000,4,231,""

$ gen_golden open.ebpfrec open; ebpfrec check -i open.ebpfrec
1...
2> ebpfrec: open.ebpfrec: whole: 4 blocks, 231 events; not finished: its recorder was killed, or could not write

$ ebpfrec report cpu -i open.ebpfrec --from 1s --to 2s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 200,cc1,1000000000,100,0,0,1,0,,,
1> 300,"'=1+\x1b[31m,""\xff",250000000,25,1,0,1,0,,,

$ gen_golden damaged.ebpfrec damaged; ebpfrec check -i damaged.ebpfrec
? 1
1> FILE              STATUS   OFFSET     BYTES  FROM (s)  TO (s)  BLOCKS  EVENTS  REASON
1> manifest          valid         0     224 B         -       -       -       -  finished
1~ chunk-000000.ebr  valid        64  * KiB     0.000   1.000       1      32  
1~ chunk-000000.ebr  damaged  *,???  * KiB     1.000   2.000       -       -  *section*checksum
1~ chunk-000000.ebr  valid     *,???  * KiB     2.000   4.000       2       2  
2~ ebpfrec: damaged.ebpfrec: damaged: valid without a gap up to 1.000 s; 1 part (* kB) skipped, 1.00 s missing between valid blocks; 3 blocks with 34 events are valid
2> ebpfrec: damaged.ebpfrec: reports leave out what is damaged; `ebpfrec repair -i damaged.ebpfrec -o NEW` writes a trace of what is valid

$ ebpfrec repair -i damaged.ebpfrec -o fixed.ebpfrec
2~ ebpfrec: fixed.ebpfrec: 3 blocks, * kB, of damaged.ebpfrec; left out: 1 damaged part (* kB)
2> ebpfrec: fixed.ebpfrec: 1 gap, 1.00 s in all; reports over it are incomplete and say so

$ ebpfrec check -i fixed.ebpfrec --format csv
1> file,status,offset,bytes,from_ns,to_ns,blocks,events,reason
1~ manifest,valid,0,*,,,,,finished
1~ chunk-000000.ebr,valid,64,*,0,1000000000,1,32,""
1> chunk-000000.ebr,note,,,1000000000,2000000000,,,a gap that was declared when this trace was made
1~ chunk-000000.ebr,valid,*,2000000000,4000000000,2,2,""
2> ebpfrec: fixed.ebpfrec: whole: 3 blocks, 34 events

$ ebpfrec report cpu -i fixed.ebpfrec --from 0 --to 3s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1...
2~ ebpfrec: fixed.ebpfrec: the window is incomplete: *1.000 .. 2.000 s is missing*

# A cut declares the hole as a repair does; what the recorder counted in all is not said of a part.
$ sed -i '/^crc32c=/d;$a lost=7' damaged.ebpfrec/manifest;
> ebpfrec cut -i damaged.ebpfrec --from 0.5s --to 3s -o part.ebpfrec
2> ebpfrec: damaged.ebpfrec: 1 damaged part skipped; `ebpfrec check -i damaged.ebpfrec` lists it
2~ ebpfrec: part.ebpfrec: 0.500 .. 3.000 s of damaged.ebpfrec, * kB in 2 blocks
2> ebpfrec: part.ebpfrec: 1 gap in the window, 1.00 s in all, where the trace is damaged; reports over it are incomplete and say so

$ grep -E '^(repaired|lost)' part.ebpfrec/manifest; ebpfrec check -i part.ebpfrec --format csv 2>/dev/null | grep note
1~ repaired=1
1~ repaired.gap.0=* *
1> repaired.gaps=1
1> chunk-000000.ebr,note,,,500000000,1500000000,,,a gap that was declared when this trace was made

$ ebpfrec cut -i part.ebpfrec --from 1.6s --to 2s -o after.ebpfrec; grep -c 'repaired.gap' after.ebpfrec/manifest
? 1
1> 0
2...

$ ebpfrec repair -i damaged.ebpfrec -o again.ebpfrec 2>/dev/null; grep -c '^lost' again.ebpfrec/manifest;
> sed -i '/^lost=/d' damaged.ebpfrec/manifest
1> 0

# The first block of a recorder that was killed: what time it stood for is not known, but that it is missing.
$ gen_golden late.ebpfrec open; printf x | dd of=late.ebpfrec/chunk-000000.ebr bs=1 seek=64 conv=notrunc status=none;
> ebpfrec check -i late.ebpfrec --format csv
? 1
1> file,status,offset,bytes,from_ns,to_ns,blocks,events,reason
1...
1~ chunk-000000.ebr,damaged,64,*no block header; the first valid block is number 1
1...
2~ ebpfrec: late.ebpfrec: damaged: valid without a gap up to 0.000 s;*
2> ebpfrec: late.ebpfrec: its beginning is missing, and nothing says how long it was: the first valid block is number 1 (from 0), and times count from there
2...

# A hole of a terabyte in a chunk file is skipped.
$ cp -r golden.ebpfrec sparse.ebpfrec; truncate -s 1T sparse.ebpfrec/chunk-000000.ebr &&
> timeout 20 ebpfrec check -i sparse.ebpfrec 2>&1 |
> grep -o 'damaged: valid without a gap up to 4.000 s; 1 part (1.10 TB) skipped'; rm -r sparse.ebpfrec
1> damaged: valid without a gap up to 4.000 s; 1 part (1.10 TB) skipped

$ ebpfrec repair -i damaged.ebpfrec -o fixed.ebpfrec
? 1
2> ebpfrec: 'fixed.ebpfrec' exists already, and is left alone; name a new one with -o

$ ebpfrec repair -i damaged.ebpfrec -o damaged.ebpfrec/new
? 1
2~ ebpfrec: 'damaged.ebpfrec/new' lies inside of the trace that is read*

$ ebpfrec repair -i damaged.ebpfrec
? 2
2> ebpfrec repair: -o NEW is needed: the damaged trace is not changed
2> Try 'ebpfrec repair --help'.

$ cp -r damaged.ebpfrec headless.ebpfrec; rm headless.ebpfrec/manifest;
> ebpfrec check -i headless.ebpfrec --format csv 2>/dev/null
? 1
1...
1> manifest,damaged,0,0,,,,,cannot be read
1...

$ ebpfrec report -i headless.ebpfrec
? 1
2~ ebpfrec: *headless.ebpfrec*not a trace*

$ ebpfrec report cpu -i damaged.ebpfrec --from 0 --to 1s --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 100,make,500000000,50,1,0,1,0,,,
2> ebpfrec: damaged.ebpfrec: 1 damaged part skipped; `ebpfrec check -i damaged.ebpfrec` lists it

$ ebpfrec report cpu -i damaged.ebpfrec --format csv
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> ,[unknown],2000000000,50,0,0,0,3,,,
1> 100,make,1000000000,25,2,0,0,3,,,
1> 200,cc1,500000000,12.5,1,1,0,3,,,
2> ebpfrec: damaged.ebpfrec: 1 damaged part skipped; `ebpfrec check -i damaged.ebpfrec` lists it
2> ebpfrec: damaged.ebpfrec: the window is incomplete: sched: 3 events lost; 1.000 .. 2.000 s is missing, its part of the trace is damaged

$ ebpfrec info -i damaged.ebpfrec --format csv 2>/dev/null | grep damage
1> trace,path,damaged.ebpfrec
1~ damage,chunk-000000.ebr@[0-9]*,*bytes skipped: *

$ cp -r golden.ebpfrec cut.ebpfrec; truncate -s 100 cut.ebpfrec/chunk-000000.ebr; ebpfrec check -i cut.ebpfrec
? 1
1> FILE              STATUS   OFFSET  BYTES  FROM (s)  TO (s)  BLOCKS  EVENTS  REASON
1> manifest          valid         0  224 B         -       -       -       -  finished
1> chunk-000000.ebr  damaged      64   36 B         -       -       -       -  incomplete block at the end of the file
2> ebpfrec: cut.ebpfrec: damaged: valid without a gap up to 0.000 s; 1 part (36 B) skipped, 0 ns missing between valid blocks; 0 blocks with 0 events are valid

$ ebpfrec report cpu -i cut.ebpfrec --format csv
? 1
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
2> ebpfrec: cut.ebpfrec: there is no intact block in it, so there is nothing to report
2> ebpfrec: cut.ebpfrec: 1 damaged part skipped; `ebpfrec check -i cut.ebpfrec` lists it
2> ebpfrec: cut.ebpfrec: the window is incomplete: the window lies outside of the trace

$ ebpfrec report -i cut.ebpfrec
? 1
1> cut.ebpfrec, empty
1>
1...
2> ebpfrec: cut.ebpfrec: there is no intact block in it, so there is nothing to report
2> ebpfrec: cut.ebpfrec: 1 damaged part skipped; `ebpfrec check -i cut.ebpfrec` lists it

$ ebpfrec info -i cut.ebpfrec
1> trace
1>   path                 cut.ebpfrec
1>   state                finished
1>   duration             0.000 s
1>   start_mono           0.000 s of CLOCK_MONOTONIC
1>   cpus                 0
1>
1> events
1>   all                  0
1>
1> lost
1>   ring_full            0
1>   reservation_failed   0
1>   program_skipped      0
1>   inferred             0
1>
1> tasks
1>   processes            0
1>   processes_at_start   0
1>   threads              0
1>
1> files
1~   all                  * in 0 blocks
1>
1> damage
1~   chunk-000000.ebr@64 *bytes skipped: ?*
1>
1> manifest
1>   page_bytes           4096
1>   span.first_file      0
1>   span.from            1000000000000
1>   span.last_file       0
1>   span.to              1004000000000
1>   state                finished
1>   trace.id             0000000000007ace
1>   trace.uuid           00000000-0000-87ac-8e00-000000000000
2> ebpfrec: cut.ebpfrec: there is no intact block in it, so there is nothing to report
2> ebpfrec: cut.ebpfrec: 1 damaged part skipped; `ebpfrec check -i cut.ebpfrec` lists it

$ ebpfrec info -i golden.ebpfrec
1> trace
1>   path                 golden.ebpfrec
1>   state                finished
1>   duration             4.000 s
1>   start_mono           1000.000 s of CLOCK_MONOTONIC
1>   start                2023-11-14T22:30:00.000+00:00
1>   start_utc            2023-11-14T22:30:00.000Z
1>   end                  2023-11-14T22:30:04.000+00:00
1>   cpus                 2
1>
1> events
1>   switch               7
1>   slab_alloc           100
1>   slab_free            60
1>   rss                  32
1>   block                30
1>   task                 2
1>   all                  231
1~   bytes_per_event      [0-9]*.[0-9][0-9]
1>
1> lost
1>   ring_full            1
1>   reservation_failed   1
1>   program_skipped      1
1>   inferred             0
1>
1> tasks
1>   processes            5
1>   processes_at_start   4
1>   threads              5
1>
1> files
1~   chunk-000000.ebr     * in 4 blocks
1~   all                  * in 4 blocks
1>
1> manifest
1>   page_bytes           4096
1>   span.first_file      0
1>   span.from            1000000000000
1>   span.last_file       0
1>   span.to              1004000000000
1>   state                finished
1>   trace.id             0000000000007ace
1>   trace.uuid           00000000-0000-87ac-8e00-000000000000

$ ebpfrec info -i golden.ebpfrec --format csv | head -n 12
1> section,name,value
1> trace,path,golden.ebpfrec
1> trace,state,finished
1> trace,duration_ns,4000000000
1> trace,start_mono_ns,1000000000000
1> trace,start,2023-11-14T22:30:00.000+00:00
1> trace,start_utc,2023-11-14T22:30:00.000Z
1> trace,end,2023-11-14T22:30:04.000+00:00
1> trace,cpus,2
1> events,switch,7
1> events,slab_alloc,100
1> events,slab_free,60

$ ebpfrec info -i golden.ebpfrec --format json |
> python3 -c 'import json,sys; print(len([r for r in json.load(sys.stdin) if r["section"] == "events"]))'
1> 8

$ ebpfrec info --columns -i golden.ebpfrec --format csv | head -n 4
1> part,kind,column,codec,rows,raw_bytes,stored_bytes,bytes_per_event,share_pct
1~ events,switch,next_utid,UTID,7,*,*,*,*
1~ events,switch,prev_state,TUPLE,7,*
1~ events,switch,prev_prio,TUPLE,7,*

# every byte of the files is in one row: of a whole trace, one still open, a damaged and a torn one
$ sums()
> {
>   test "$(ebpfrec info --columns -i "$1" --format csv 2>/dev/null | awk -F, 'NR > 1 { s += $7 } END { print s }')" = \
>     "$(cat "$1"/* | wc -c)" && echo same
> }; gen_golden half.ebpfrec open; gen_golden hurt.ebpfrec damaged;
> cp -r golden.ebpfrec torn.ebpfrec; truncate -s -1500 torn.ebpfrec/chunk-000000.ebr;
> for t in golden half hurt torn; do sums $t.ebpfrec; done
1> same
1> same
1> same
1> same

$ ebpfrec info --columns -i golden.ebpfrec | tail -n 1
1~ all * 229 * 100.0

$ ebpfrec export -i golden.ebpfrec --to csv -o out
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost
2~ ebpfrec: out: [0-9]* rows, [0-9.]* kB

# as private as the trace, whatever the umask
$ (umask 022; ebpfrec export -q -i golden.ebpfrec --to json -o private 2>/dev/null;
> ebpfrec export -q -i golden.ebpfrec --to sqlite -o private.db 2>/dev/null);
> stat -c '%a %F' private private/cpus.json private.db
1> 700 directory
1> 600 regular file
1> 600 regular file

# --to is the older name of --until, where it is no format
$ for o in --to --until; do ebpfrec export -q -i golden.ebpfrec --to csv -t switches -o - --from 1s $o 1.5s;
> ebpfrec report cpu -i golden.ebpfrec --format csv $o 2s 2>/dev/null;
> ebpfrec cut -i golden.ebpfrec $o 2s -o part$o.ebpfrec 2>/dev/null;
> ebpfrec info -i part$o.ebpfrec --format csv 2>/dev/null | grep ',all,'; done | sort | uniq -c |
> awk '{ print $1 }' | uniq
1> 2

$ ls out | sed 's/[.].*//' | sort >there; ebpfrec export --list | awk '{ print $1 }' | sort |
> diff <(grep -v '^export_info$' there) - && echo every table
1> every table

# the same in a database, and in the footers of Parquet: what the files contain
$ cat out/export_info.csv; ebpfrec export -q -i golden.ebpfrec --to sqlite -o info.db 2>/dev/null;
> sqlite3 -csv info.db 'SELECT * FROM export_info' | tr -d '\r"' | diff - <(tail -n +2 out/export_info.csv) && echo same
1> key,value
1> from_ns,0
1> to_ns,4000000000
1> trace_ns,4000000000
1~ trace.uuid,*
1> complete,0
1> incomplete,sched: 3 events lost
1> unowned_ios,0
1> unowned_bytes,0
1> lost_task,0
1> lost_sched,3
1> lost_alloc,0
1> lost_block,0
1> lost_cpu,0
1> lost_mem,0
1> lost_app,0
1> damaged_parts,0
1> same

# and of a view's rows, in a file of the same writer
$ ebpfrec report -i golden.ebpfrec cpu --format parquet 2>/dev/null >cpu.parquet; head -c 4 cpu.parquet; tail -c 4 cpu.parquet; sed '1d;s/,.*//' out/export_info.csv | while read -r key; do grep -a -q "$key" cpu.parquet || echo "$key"; done
1> PAR1PAR1

$ ebpfrec report -i golden.ebpfrec -i golden.ebpfrec cpu --format parquet
? 2
2> ebpfrec report: --format parquet holds one answer about one trace: leave out --follow and further traces
2> Try 'ebpfrec report --help'.

$ ebpfrec report -i golden.ebpfrec cpu --format parquet >/dev/full
? 1
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: cannot write to stdout: No space left on device

$ head -n 3 out/switches.csv
1> ts_ns,cpu,utid,preempted,next_utid,prev_state,prev_prio,next_prio,steal_ns,stay_ns,call,object
1> 500000000,0,17,0,0,1,120,120,0,0,0,0
1> 1000000000,0,0,0,20,1,120,120,0,0,0,0

$ ebpfrec export -i golden.ebpfrec --to csv -o out
? 1
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: out/processes.csv exists; -f replaces it, or name another directory with -o

$ ebpfrec export -q -i golden.ebpfrec --to csv -o out -f --from 1s --to 2s

$ cut -d, -f1-5 out/switches.csv
1> ts_ns,cpu,utid,preempted,next_utid
1> 1000000000,0,0,0,20
1> 1500000000,1,0,0,18
1> 1750000000,1,18,0,19
1> 1850000000,1,19,0,0

$ ls -A out | grep -c part
? 1
1> 0

$ ebpfrec export -i golden.ebpfrec --to csv -t switches -o - --from 1s --to 1.5s
1> ts_ns,cpu,utid,preempted,next_utid,prev_state,prev_prio,next_prio,steal_ns,stay_ns,call,object
1> 1000000000,0,0,0,20,1,120,120,0,0,0,0

$ ebpfrec export -i golden.ebpfrec --to csv -t swiches -o -
? 2
2> ebpfrec export: unknown table 'swiches'; did you mean 'switches'?; --list shows all
2> Try 'ebpfrec export --help'.

$ ebpfrec export -i golden.ebpfrec --to json -o out2 -q -t cpus,losses --from 1s --to 2s; ls out2; cat out2/cpus.json
1> cpus.json
1> losses.json
1> [
1> {"cpu":0},
1> {"cpu":1}
1> ]

$ ebpfrec export -i golden.ebpfrec --to sqlite --from 0 --to 2s;
> sqlite3 golden.db 'PRAGMA integrity_check; SELECT count(*) FROM switches; SELECT comm FROM processes WHERE pid = 200'
1> ok
1> 5
1> cc1
2~ ebpfrec: golden.db: [0-9]* rows, [0-9.]* kB

$ ebpfrec export -i golden.ebpfrec --to sqlite --from 0 --to 2s
? 1
2> ebpfrec: golden.db exists; -f replaces it

$ ebpfrec export -i golden.ebpfrec --to sqlite -o whole.db 2>/dev/null;
> ebpfrec export -i golden.ebpfrec --to sqlite -o whole.db
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost
2~ ebpfrec: whole.db: [0-9]* rows, [0-9.]* kB

$ ebpfrec export -i golden.ebpfrec --to sqlite -o whole.db --from 1s
? 1
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: whole.db exists; -f replaces it

$ ebpfrec export -q -i golden.ebpfrec --to sqlite -o golden.db --from 0
? 1
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: golden.db exists, and is not the export of a whole trace; -f replaces it

$ ebpfrec export -i golden.ebpfrec --to csv -o /proc/nope --from 0 --to 1s
? 1
2> ebpfrec: cannot make a directory beside '/proc/nope': No such file or directory

$ ebpfrec report cpu -i golden.ebpfrec --from 0 --to 1s --db report.db --format csv;
> sqlite3 report.db 'SELECT count(*) FROM switches'
1> pid,comm,oncpu_ns,util_pct,switches,preempted,complete,lost_events,steal_ns,irq_ns,softirq_ns
1> 100,make,500000000,50,1,0,1,0,,,
1> 1
2~ ebpfrec: report.db: [0-9]* rows, [0-9.]* kB

$ ebpfrec sql -i golden.ebpfrec --format csv 'SELECT pid, comm FROM processes WHERE pid IS NOT NULL ORDER BY pid'
1> pid,comm
1> 1,systemd
1> 100,make
1> 200,cc1
1> 300,"'=1+\x1b[31m,""\xff"
1> 900,ebpfrec

$ echo 'SELECT count(*) AS n FROM slab_allocs' | ebpfrec sql -i golden.ebpfrec -
1>   n
1> 100

$ ebpfrec sql -i golden.ebpfrec 'SELECT ts_ns, next_utid, NULL AS nil, 0.5 AS half FROM switches LIMIT 2'
1>      ts_ns  next_utid   nil  half
1>  500000000          0  NULL   0.5
1> 1000000000         20  NULL   0.5

$ ebpfrec sql -i golden.ebpfrec 'SELEC 1'
? 1
2> ebpfrec: near "SELEC": syntax error

$ ebpfrec sql -i golden.ebpfrec 'DELETE FROM processes'
? 1
2> ebpfrec: table processes may not be modified

$ ebpfrec sql -i golden.ebpfrec "ATTACH 'x.db' AS x"; ls x.db 2>&1
? 2
1> ls: cannot access 'x.db': No such file or directory
2~ ebpfrec: this statement is refused*

$ ebpfrec sql -i golden.ebpfrec 'SELECT 1; SELECT 2'
? 1
2> ebpfrec: one statement at a time: there is more after the first ";"

$ ebpfrec sql -i golden.ebpfrec --format json "SELECT char(27) || 'x' AS esc"
1> [
1> {"esc":"\u001bx"}
1> ]

$ ebpfrec report cpu -i golden.ebpfrec --from 0 --to 1s --format csv > /dev/full
? 1
2> ebpfrec: cannot write to stdout: No space left on device

$ ebpfrec --version > /dev/full
? 1
2> ebpfrec: cannot write to stdout: No space left on device

$ ebpfrec sql -i golden.ebpfrec --format csv 'SELECT * FROM slab_allocs' | head -n 1
1> ts_ns,cpu,utid,irq,addr,bytes_req,bytes,call_site,cache

$ ebpfrec export -i golden.ebpfrec --to csv -t slab_allocs -o - --from 0 --to 2s > /dev/full
? 1
2> ebpfrec: cannot write to stdout: No space left on device

# A new trace that cannot be written is not made at all: nothing of it is kept, and nothing says so.
$ (trap '' XFSZ; ulimit -f 1; for c in "cut -o full.new" "snapshot -o full.new" "bundle -o full.zip";
> do ebpfrec $c -i golden.ebpfrec || echo "$?"; done); ls -A | grep -E "^full|ebpfrec-new"; true
1> 1
1> 1
1> 1
2~ ebpfrec: cannot write '.ebpfrec-new.*': File too large
2~ ebpfrec: golden.ebpfrec: cannot write '.ebpfrec-new.*': File too large
2~ ebpfrec: cannot write '.ebpfrec-new.*': File too large

# percentile() takes negative values, and refuses what is no percentage and no number.
$ ebpfrec sql -i golden.ebpfrec --format csv \
>   "SELECT percentile(column1, 0) AS lowest, percentile(column1, 34) AS second, percentile(column1, 67) AS third,
>   percentile(column1, 100) AS highest FROM (VALUES (4), (-3), (NULL), (-5))"
1> lowest,second,third,highest
1> -5,-3,4,4

$ ebpfrec sql -i golden.ebpfrec "SELECT percentile(1, 101)"
? 1
2> ebpfrec: percentile(x, p): p must be a number from 0 to 100

$ ebpfrec sql -i golden.ebpfrec "SELECT percentile('a', 50)"
? 1
2> ebpfrec: percentile(x, p): x must be a number

# Tables of events are read once, and tasks are looked up; not the other way round, once per thread.
$ ebpfrec sql -i golden.ebpfrec --format csv \
>   "EXPLAIN QUERY PLAN SELECT t.comm, count(*) FROM threads t JOIN slab_allocs a ON a.utid = t.utid GROUP BY 1" |
> grep -o 'SCAN [a-z]*'
1> SCAN a
1> SCAN t

$ ebpfrec report -i golden.ebpfrec --from 99s
? 2
2> ebpfrec report: --from 99s is at 99.000 s, and the trace has 0 .. 4.000 s only
2> Try 'ebpfrec report --help'.

$ ebpfrec report -i golden.ebpfrec --until -99s
? 2
2> ebpfrec report: --until -99s is at -95.000 s, and the trace has 0 .. 4.000 s only
2> Try 'ebpfrec report --help'.

# One flipped bit makes another key of a key; the manifest's checksum notices, and nothing that it says is used.
$ cp -r golden.ebpfrec stolen.ebpfrec; sed -i '/^crc32c=/d;$a steal=1' stolen.ebpfrec/manifest;
> ebpfrec cut -i stolen.ebpfrec -o bit.ebpfrec 2>/dev/null; ebpfrec report cpu -i bit.ebpfrec | grep -c STEAL
1> 1

$ sed -i s/^steal=/rteal=/ bit.ebpfrec/manifest; ebpfrec report cpu -i bit.ebpfrec | head -n 1
1~ * INCOMPLETE: *the manifest of the recording does not match its checksum: what it said is not known
2~ ebpfrec: bit.ebpfrec: 1 damaged part skipped; `ebpfrec check -i bit.ebpfrec` lists it

$ ebpfrec check -i bit.ebpfrec --format csv
? 1
1...
1~ manifest,damaged,0,*,,,,,does not match its checksum
1...
2~ ebpfrec: bit.ebpfrec: damaged: valid without a gap up to 4.000 s; 1 part (* B) skipped*
2> ebpfrec: bit.ebpfrec: reports leave out what is damaged; `ebpfrec repair -i bit.ebpfrec -o NEW` writes a trace of what is valid

$ ebpfrec info -i bit.ebpfrec --format csv 2>/dev/null | grep ,state,;
> ebpfrec report -i bit.ebpfrec summary --format csv 2>/dev/null | grep -A1 -e ,complete$ -e ,state$ | cut -d , -f 3-
1> trace,state,not known
1> item,complete
1> value,no: 3 events lost
1> --
1> item,state
1> value,"not known, since the manifest is lost"

$ ebpfrec info -i bit.ebpfrec --format csv 2>/dev/null | grep manifest
1> damage,manifest@0,238 bytes skipped: does not match its checksum
1> manifest,manifest.lost,does not match its checksum

# What is made of it has a right checksum again, and still says so.
$ for how in repair cut redact; do ebpfrec $how -i bit.ebpfrec -o $how.bit 2>/dev/null; rm -rf bit.ebpfrec;
> cp -r $how.bit bit.ebpfrec; ebpfrec check -i bit.ebpfrec >/dev/null; ebpfrec report memory -i bit.ebpfrec |
> head -n 1; done
1~ *, INCOMPLETE: the manifest of the recording does not match its checksum: what it said is not known
1~ *, INCOMPLETE: the manifest of the recording does not match its checksum: what it said is not known
1~ *, INCOMPLETE: the manifest of the recording does not match its checksum: what it said is not known
2> ebpfrec: bit.ebpfrec: whole: 4 blocks, 231 events
2> ebpfrec: bit.ebpfrec: whole: 4 blocks, 231 events
2> ebpfrec: bit.ebpfrec: whole: 4 blocks, 231 events

# One count of events: info, check, and the lists.
$ ebpfrec sql -i golden.ebpfrec --format csv \
>   "SELECT (SELECT sum(event_cnt) FROM blocks) + (SELECT count(*) FROM task_events WHERE type <> 'snap') AS events"
1> events
1> 231

# info --tree: each process below its parent, whenever it began
$ gen_doubtful lossy tree.ebpfrec; ebpfrec info -i tree.ebpfrec --tree --format csv |
> awk -F, 'NR > 1 { if ($4 != 0 && pid[$4 - 1] != $3) print "not below its parent:", $0; pid[$4] = $2; n++ } END {
>   print n }'
1> 37

# A file of which a block is gone: nothing is damaged but the time that it stood for.
$ cp -r golden.ebpfrec hole.ebpfrec; f=chunk-000000.ebr; { head -c 2128 golden.ebpfrec/$f;
> tail -c +4649 golden.ebpfrec/$f; } >hole.ebpfrec/$f; ebpfrec check -i hole.ebpfrec --format csv | grep 'no block'
1> chunk-000000.ebr,damaged,0,0,1000000000,2000000000,,,there is no block for this time
2> ebpfrec: hole.ebpfrec: damaged: valid without a gap up to 1.000 s; 1 part (0 B) skipped, 1.00 s missing between valid blocks; 3 blocks with 34 events are valid
2> ebpfrec: hole.ebpfrec: reports leave out what is damaged; `ebpfrec repair -i hole.ebpfrec -o NEW` writes a trace of what is valid

# A file that is there and cannot be opened is damage, no reason to give up.
$ cp -r golden.ebpfrec loop.ebpfrec; ln -sf chunk-000000.ebr loop.ebpfrec/chunk-000000.ebr;
> ebpfrec check -i loop.ebpfrec --format csv 2>/dev/null | grep chunk
1> chunk-000000.ebr,damaged,0,0,,,,,file cannot be opened
