# Requests of programs, of a trace in which request n begins at 40 * n ms.

$ gen_golden spans.ebpfrec spans; ebpfrec report requests -i spans.ebpfrec
1> 0 .. 1 s of spans.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> NAME       REQUESTS  PER S      P50      P90      P99      MAX  ERRORS  OPEN
1> GET /            15   15.0  4.00 ms  4.00 ms  4.00 ms  4.00 ms       1     0
1> PUT /cart         4    4.0  4.00 ms  24.0 ms  24.0 ms  24.0 ms       0     1
1>
1> A request counts where it ends, with its whole length; OPEN are those that had not ended. (More: --notes.)

$ ebpfrec report requests -i spans.ebpfrec --by step --format csv
1> name,step,steps,p50_ns,p90_ns,p99_ns,max_ns,share_pct,complete,lost_events
1> GET /,save,15,2000000,2000000,2000000,2000000,100,1,0
1> PUT /cart,save,5,22000000,198000000,198000000,198000000,100,1,0

$ ebpfrec report requests -i spans.ebpfrec --by thread --format csv
1> name,pid,tid,thread,requests,p50_ns,p90_ns,p99_ns,max_ns,share_pct,complete,lost_events
1> GET /,200,201,worker,15,3000000,3000000,3000000,3000000,100,1,0
1> GET /,200,200,shop,15,0,0,0,0,0,1,0
1> PUT /cart,200,201,worker,5,23000000,199000000,199000000,199000000,100,1,0
1> PUT /cart,200,200,shop,5,0,0,0,0,0,1,0

$ ebpfrec report requests -i spans.ebpfrec --by step,thread
? 2
2> ebpfrec report: --by: use one of step and thread
2> Try 'ebpfrec report --help'.

$ ebpfrec report requests -i spans.ebpfrec --slowest 3
1> 0 .. 1 s of spans.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> NAME       ID  PID  THREAD  START (s)      DUR  BREAKDOWN
1> PUT /cart   8  200  shop        0.320  24.0 ms  lock 7f33a0012000 19.0 ms, running 3.00 ms, cpu 1.00 ms
1> PUT /cart  16  200  shop        0.640  24.0 ms  lock 7f33a0012000 19.0 ms, running 3.00 ms, cpu 1.00 ms
1> GET /       1  200  shop        0.040  4.00 ms  running 3.00 ms, queued 1.00 ms
1>
1> Each row is a request; BREAKDOWN has the largest parts of its time, and `request_time()` has all parts.

$ ebpfrec report requests -i spans.ebpfrec --histogram --format csv
1> name,low_ns,high_ns,requests,pct,upto_pct,complete,lost_events
1> GET /,2097152,4194304,15,100,100,1,0
1> PUT /cart,2097152,4194304,2,50,50,1,0
1> PUT /cart,16777216,33554432,2,50,100,1,0

$ ebpfrec report requests -i spans.ebpfrec --every 300ms --format csv
1> t_ns,name,requests,per_s,p50_ns,p90_ns,p99_ns,max_ns,errors,open,complete,lost_events
1> 0,GET /,6,20,4000000,4000000,4000000,4000000,1,0,1,0
1> 0,PUT /cart,1,3.333,4000000,4000000,4000000,4000000,0,0,1,0
1> 300000000,GET /,5,16.667,4000000,4000000,4000000,4000000,0,0,1,0
1> 300000000,PUT /cart,2,6.667,4000000,24000000,24000000,24000000,0,0,1,0
1> 600000000,GET /,4,13.333,4000000,4000000,4000000,4000000,0,0,1,0
1> 600000000,PUT /cart,1,3.333,24000000,24000000,24000000,24000000,0,0,1,0
1> 900000000,PUT /cart,0,0,,,,,0,1,1,0

$ ebpfrec report why --requests '*' --slow '>20ms' -i spans.ebpfrec
1> 0 .. 1 s of spans.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> In short
1> The slowest 11 % (2 requests, 24.0 ms) waited 19.0 ms for lock 7f33a0012000, held by audit (202): running 100 %; the others 0 ns
1>
1> What differs
1> KIND     OBJECT           SLOW   OTHERS     DIFF  ERROR
1> lock     7f33a0012000  19.0 ms     0 ns  19.0 ms   0 ns
1> cpu      -             1.00 ms     0 ns  1.00 ms   0 ns
1> running  -             3.00 ms  3.00 ms     0 ns   0 ns
1> queued   -             1.00 ms  1.00 ms     0 ns   0 ns
1>
1> Slowest
1> NAME       ID  THREAD  START (s)      DUR  BREAKDOWN
1> PUT /cart   8  shop        0.320  24.0 ms  lock 7f33a0012000 19.0 ms, running 3.00 ms, cpu 1.00 ms
1> PUT /cart  16  shop        0.640  24.0 ms  lock 7f33a0012000 19.0 ms, running 3.00 ms, cpu 1.00 ms
1> GET /       1  shop        0.040  4.00 ms  running 3.00 ms, queued 1.00 ms
1>
1> Slow requests are at least as long as the 99th percentile, or as the limit of --slow. (More: --notes.)

# the parts of each request add up to its length
$ ebpfrec sql -i spans.ebpfrec --format csv "SELECT id, kind, call, by_utid, waits, dur_ns FROM
> request_time(0, 400000000) WHERE id > 6"
1> id,kind,call,by_utid,waits,dur_ns
1> 7,running,,,0,3000000
1> 8,running,,,0,3000000
1> 8,lock,futex,18,1,19000000
1> 8,cpu,,0,1,1000000
1> 9,running,,,0,3000000
1> 7,queued,,,0,1000000
1> 8,queued,,,0,1000000
1> 9,queued,,,0,1000000

$ ebpfrec report why --slow p90 -i spans.ebpfrec
? 2
2> ebpfrec report: --slow says which of --requests NAME are slow: give it
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu --requests GET -i spans.ebpfrec
? 2
2> ebpfrec report: --requests is for the views 'why' and 'requests', not for 'cpu'
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu --slowest 1 -i spans.ebpfrec
? 2
2> ebpfrec report: --slowest is for the view 'requests', not for 'cpu'
2> Try 'ebpfrec report --help'.

$ ebpfrec report requests -i golden.ebpfrec
1> 0 .. 4 s of golden.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: sched: 3 events lost
1>
1> NAME  REQUESTS  PER S  P50  P90  P99  MAX  ERRORS  OPEN  COMPLETE  LOST EVENTS
1> (nothing)

# names are replaced, and the same name by the same word
$ ebpfrec redact -i spans.ebpfrec -o anon.ebpfrec 2>/dev/null; ebpfrec report requests -i anon.ebpfrec --format csv |
> sed 's/request-[a-z]*/request-X/'
1> name,requests,per_s,p50_ns,p90_ns,p99_ns,max_ns,errors,open,complete,lost_events
1> request-X,15,15,4000000,4000000,4000000,4000000,1,0,1,0
1> request-X,4,4,4000000,24000000,24000000,24000000,0,1,1,0

$ ebpfrec report locks -i spans.ebpfrec --during request:8
1> 0.32 .. 0.344 s of spans.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> PID  COMM  OBJECT        KIND  WAITS  WAITERS     WAIT  WAIT MAX  HOLDER  TID  HELD %  MEANWHILE
1> 200  shop  7f33a0012000  lock      1        1  19.0 ms   19.0 ms  audit   202   100.0  running 100 %
1>
1> Each row is a lock of a process: OBJECT is the variable that contains the lock, its address or the file of a flock, or for a lock of the kernel the mappings (mmap lock), the file or directory, or the function that takes the lock. (More: --notes.)

# an unknown name is an error that lists the known ones
$ ebpfrec report why --requests NOPE -i spans.ebpfrec || ebpfrec report requests --requests save -i spans.ebpfrec
? 1
2> ebpfrec: spans.ebpfrec: no request is named NOPE; there are: GET /, PUT /cart
2> ebpfrec: spans.ebpfrec: no request is named save; there are: GET /, PUT /cart

# so is a known one without a request in the window, which has no sections of nothing
$ ebpfrec report why --requests 'GET*' --until 30ms -i spans.ebpfrec;
> ebpfrec report why --requests 'PUT*' --from 900ms -i spans.ebpfrec | grep '^No'
1> 0 .. 0.03 s of spans.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> In short
1> No request GET* ended in this window
1>
1> Slow requests are at least as long as the 99th percentile, or as the limit of --slow. (More: --notes.)
1> No request PUT* ended in this window; open at its end: 1

$ ebpfrec report requests --requests GET -i golden.ebpfrec
? 1
2> ebpfrec: golden.ebpfrec: no request is named GET: the trace has no requests; record them with --spans, --span-fd or --request

$ ebpfrec assert --rule 'requests --requests NOPE p99_ns < 20ms' spans.ebpfrec
? 3
1> VERDICT        FIGURE  LIMIT      RULE
1> INDETERMINATE  -       < 20.0 ms  requests --requests NOPE p99_ns < 20ms
1>
1> --rule:1: INDETERMINATE: p99_ns is not known, and must be < 20.0 ms in spans.ebpfrec; there is no answer, for the reason on stderr: `ebpfrec report -i spans.ebpfrec requests --requests NOPE`
1>
1> 0 pass, 0 fail, 1 indeterminate
2> ebpfrec: spans.ebpfrec: no request is named NOPE; there are: GET /, PUT /cart

# one request: its parts, its threads and steps, and the path back from its end
$ ebpfrec report why --request 16 -i spans.ebpfrec
1> 0 .. 1 s of spans.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1>
1> In short
1> This request (24.0 ms) waited 19.0 ms for lock 7f33a0012000, held by audit (202): running 100 %; the others 6.33 ms
1>
1> Parts
1> KIND     OBJECT        ENDED BY     WAITS     TIME  SHARE %
1> lock     7f33a0012000  audit (202)      1  19.0 ms     79.2
1> running  -             -                0  3.00 ms     12.5
1> cpu      -             [idle]           1  1.00 ms      4.2
1> queued   -             -                0  1.00 ms      4.2
1>
1> Timeline
1> START (s)      DUR  TID  THREAD  STEP
1>     0.640     0 ns  200  shop    -
1>     0.641  23.0 ms  201  worker  -
1>     0.642  22.0 ms  201  worker  save
1>
1> Path
1> PID  COMM    KIND     OBJECT  PARTS     PATH  LAST (s)  SHARE %
1> 200  worker  running       -      2  4.00 ms     0.664     16.7
1> 200  worker  cpu           -      1  1.00 ms     0.662      4.2
1> 200  audit   running       -      1  19.0 ms     0.661     79.2
1>
1> The request is compared with the others of its name in the window. (More: --notes.)

$ ebpfrec report why --request 20 -i spans.ebpfrec --from 200ms --format csv | grep -v ^Timeline
1> section,row,name,value
1> In short,1,answer,This request (200 ms) ran for 199 ms on CPUs; the others 3.00 ms
1> Parts,1,kind,running
1> Parts,1,object,
1> Parts,1,ended_by,
1> Parts,1,waits,0
1> Parts,1,time_ns,199000000
1> Parts,1,share_pct,99.5
1> Parts,2,kind,queued
1> Parts,2,object,
1> Parts,2,ended_by,
1> Parts,2,waits,0
1> Parts,2,time_ns,1000000
1> Parts,2,share_pct,0.5
1> Path,1,pid,200
1> Path,1,comm,worker
1> Path,1,kind,running
1> Path,1,object,
1> Path,1,parts,1
1> Path,1,path_ns,200000000
1> Path,1,last_ns,1000000000
1> Path,1,share_pct,100

$ ebpfrec report why --request 8 --requests '*' -i spans.ebpfrec || ebpfrec report cpu --request 8 -i spans.ebpfrec
? 2
2> ebpfrec report: --request explains one of the requests, and --requests compares those of a name: choose one
2> Try 'ebpfrec report --help'.
2> ebpfrec report: --request is for the view 'why', not for 'cpu'; --during request:ID is for all
2> Try 'ebpfrec report --help'.

$ ebpfrec report why --request 8 --until 100ms -i spans.ebpfrec
? 2
2> ebpfrec report: --request: no request has the id 8; `ebpfrec report requests --slowest 5` shows ids
2> Try 'ebpfrec report --help'.

# every view takes the life of a request as its window; --from and --until choose among requests with one id
$ for v in $(ebpfrec report --list --format csv | sed 1d | cut -d, -f2); do
> ebpfrec report $v -i spans.ebpfrec --during request:8 2>/dev/null | head -n 1 | cut -d, -f1; done | sort | uniq -c
1>      37 0.32 .. 0.344 s of spans.ebpfrec

$ ebpfrec report cpu -i spans.ebpfrec --during request:99
? 2
2> ebpfrec report: --during: no request has the id 99; `ebpfrec report requests --slowest 5` shows ids
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu -i spans.ebpfrec --during request:x
? 2
2> ebpfrec report: --during: 'x' is not the id of a request, a number as `ebpfrec report requests --slowest 5` shows it
2> Try 'ebpfrec report --help'.

# exports have requests and steps: of a window, those that ended in it or were open at its end
$ ebpfrec export -q --to csv -t requests -i spans.ebpfrec --from 340ms --until 401ms -o -
1> name,id,utid,upid,start_ns,end_ns,dur_ns,failed,is_call,end_utid
1> PUT /cart,8,16,16,320000000,344000000,24000000,0,0,17
1> GET /,9,16,16,360000000,364000000,4000000,0,0,17
1> GET /,10,16,16,400000000,,1000000,0,0,

$ ebpfrec export -q --to sqlite -i spans.ebpfrec -o spans.db; ebpfrec export -q --to parquet -t requests,request_steps \
> -i spans.ebpfrec -o spans.parquet; ls spans.parquet; python3 -c "import sqlite3; print(*sqlite3.connect('spans.db').execute(
> 'SELECT count(*), sum(r.dur_ns), sum(s.dur_ns) FROM requests AS r JOIN request_steps AS s USING (id)'))"
1> request_steps
1> requests
1> (20, 316000000, 276000000)

$ ebpfrec sql -i spans.ebpfrec --format csv "SELECT count(*), sum(r.dur_ns), sum(s.dur_ns) FROM requests AS r
> JOIN request_steps AS s USING (id)"
1> count(*),sum(r.dur_ns),sum(s.dur_ns)
1> 20,316000000,276000000
