# What Prometheus gets of the golden trace. A real one is in tests/kernel/metrics.sh.

$ ebpfrec metrics
? 2
2> ebpfrec metrics: say where to: --listen ADDR:PORT, --textfile DIR or --once
2> Try 'ebpfrec metrics --help'.

$ ebpfrec metrics --listen 127.0.0.1:0 --once
? 2
2> ebpfrec metrics: --listen stands alone, without --once
2> Try 'ebpfrec metrics --help'.

$ ebpfrec metrics --once --by pid
? 2
2> ebpfrec metrics: --by: unknown key 'pid'; there are comm, unit, container and user: metrics are of processes, not of threads
2> Try 'ebpfrec metrics --help'.

$ ebpfrec metrics --once --top 0
? 2
2> ebpfrec metrics: --top: 0 is not between 1 and 1000
2> Try 'ebpfrec metrics --help'.

$ ebpfrec metrics --once --interval 10ms
? 2
2> ebpfrec metrics: --interval: 10ms is too short; at least 1s
2> Try 'ebpfrec metrics --help'.

$ ebpfrec metrics --once -i nowhere
? 1
2> ebpfrec: nowhere: no such trace; record one with `ebpfrec record -- COMMAND`, or name it with -i

$ ebpfrec metrics --once -i golden.ebpfrec --textfile nowhere
? 1
2> ebpfrec: cannot make a directory beside 'nowhere/ebpfrec.prom': No such file or directory

$ ebpfrec metrics --once -i golden.ebpfrec --top 2 | grep -v -e '^#' -e _bucket
1> ebpfrec_cpu_seconds_total{comm="=1+\\x1b[31m,\"\\xff"} 0.250000000
1> ebpfrec_cpu_seconds_total{comm="cc1"} 1.499999000
1> ebpfrec_cpu_seconds_total{comm="make"} 1.000001000
1> ebpfrec_context_switches_total{comm="=1+\\x1b[31m,\"\\xff"} 1
1> ebpfrec_context_switches_total{comm="cc1"} 1
1> ebpfrec_context_switches_total{comm="make"} 2
1> ebpfrec_preemptions_total{comm="=1+\\x1b[31m,\"\\xff"} 0
1> ebpfrec_preemptions_total{comm="cc1"} 1
1> ebpfrec_preemptions_total{comm="make"} 0
1> ebpfrec_thread_state_seconds_total{comm="=1+\\x1b[31m,\"\\xff",state="running"} 0.250000000
1> ebpfrec_thread_state_seconds_total{comm="[other]",state="running"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="cc1",state="running"} 1.499999000
1> ebpfrec_thread_state_seconds_total{comm="make",state="running"} 1.000001000
1> ebpfrec_thread_state_seconds_total{comm="=1+\\x1b[31m,\"\\xff",state="runnable"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="[other]",state="runnable"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="cc1",state="runnable"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="make",state="runnable"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="=1+\\x1b[31m,\"\\xff",state="preempted"} 1.500000000
1> ebpfrec_thread_state_seconds_total{comm="[other]",state="preempted"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="cc1",state="preempted"} 1.500000000
1> ebpfrec_thread_state_seconds_total{comm="make",state="preempted"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="=1+\\x1b[31m,\"\\xff",state="throttled"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="[other]",state="throttled"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="cc1",state="throttled"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="make",state="throttled"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="=1+\\x1b[31m,\"\\xff",state="disk"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="[other]",state="disk"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="cc1",state="disk"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="make",state="disk"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="=1+\\x1b[31m,\"\\xff",state="uninterruptible"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="[other]",state="uninterruptible"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="cc1",state="uninterruptible"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="make",state="uninterruptible"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="=1+\\x1b[31m,\"\\xff",state="sleeping"} 2.250000000
1> ebpfrec_thread_state_seconds_total{comm="[other]",state="sleeping"} 4.000000000
1> ebpfrec_thread_state_seconds_total{comm="cc1",state="sleeping"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="make",state="sleeping"} 3.000000000
1> ebpfrec_thread_state_seconds_total{comm="=1+\\x1b[31m,\"\\xff",state="stopped"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="[other]",state="stopped"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="cc1",state="stopped"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="make",state="stopped"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="=1+\\x1b[31m,\"\\xff",state="unknown"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="[other]",state="unknown"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="cc1",state="unknown"} 0.000000000
1> ebpfrec_thread_state_seconds_total{comm="make",state="unknown"} 0.000000000
1> ebpfrec_cpu_wait_seconds_total{comm="=1+\\x1b[31m,\"\\xff"} 1.500000000
1> ebpfrec_cpu_wait_seconds_total{comm="cc1"} 1.500000000
1> ebpfrec_cpu_wait_seconds_total{comm="make"} 0.000000000
1> ebpfrec_cpu_waits_total{comm="=1+\\x1b[31m,\"\\xff"} 0
1> ebpfrec_cpu_waits_total{comm="cc1"} 0
1> ebpfrec_cpu_waits_total{comm="make"} 0
1> ebpfrec_wait_seconds_total{comm="=1+\\x1b[31m,\"\\xff",kind="cpu"} 1.500000000
1> ebpfrec_wait_seconds_total{comm="=1+\\x1b[31m,\"\\xff",kind="unknown"} 2.250000000
1> ebpfrec_wait_seconds_total{comm="[other]",kind="unknown"} 4.000000000
1> ebpfrec_wait_seconds_total{comm="cc1",kind="cpu"} 1.500000000
1> ebpfrec_wait_seconds_total{comm="make",kind="unknown"} 3.000000000
1> ebpfrec_resident_bytes{comm="=1+\\x1b[31m,\"\\xff"} 2097152
1> ebpfrec_resident_bytes{comm="[other]"} 2097152
1> ebpfrec_resident_bytes{comm="cc1"} 33554432
1> ebpfrec_resident_bytes{comm="make"} 2097152
1> ebpfrec_resident_peak_bytes{comm="=1+\\x1b[31m,\"\\xff"} 2097152
1> ebpfrec_resident_peak_bytes{comm="[other]"} 2097152
1> ebpfrec_resident_peak_bytes{comm="cc1"} 33554432
1> ebpfrec_resident_peak_bytes{comm="make"} 2097152
1> ebpfrec_allocated_bytes_total{comm="=1+\\x1b[31m,\"\\xff",source="rss"} 0
1> ebpfrec_allocated_bytes_total{comm="[other]",source="rss"} 0
1> ebpfrec_allocated_bytes_total{comm="cc1",source="rss"} 33554432
1> ebpfrec_allocated_bytes_total{comm="cc1",source="slab"} 19200
1> ebpfrec_allocated_bytes_total{comm="make",source="rss"} 0
1> ebpfrec_freed_bytes_total{comm="=1+\\x1b[31m,\"\\xff",source="rss"} 0
1> ebpfrec_freed_bytes_total{comm="[other]",source="rss"} 0
1> ebpfrec_freed_bytes_total{comm="cc1",source="rss"} 0
1> ebpfrec_freed_bytes_total{comm="cc1",source="slab"} 11520
1> ebpfrec_freed_bytes_total{comm="make",source="rss"} 0
1> ebpfrec_exit_bytes_total{comm="=1+\\x1b[31m,\"\\xff",source="rss"} 0
1> ebpfrec_exit_bytes_total{comm="[other]",source="rss"} 0
1> ebpfrec_exit_bytes_total{comm="cc1",source="rss"} 0
1> ebpfrec_exit_bytes_total{comm="cc1",source="slab"} 0
1> ebpfrec_exit_bytes_total{comm="make",source="rss"} 0
1> ebpfrec_burst_peak_bytes{comm="cc1"} 33554432
1> ebpfrec_io_bytes_total{comm="make",op="write"} 655360
1> ebpfrec_io_requests_total{comm="make",op="write"} 10
1> ebpfrec_unowned_bytes_total 0
1> ebpfrec_unowned_requests_total 0
1> ebpfrec_device_bytes_total{device="dev8:0",op="write"} 655360
1> ebpfrec_device_requests_total{device="dev8:0",op="write"} 10
1> ebpfrec_device_errors_total{device="dev8:0",op="write"} 0
1> ebpfrec_request_peak_seconds{device="dev8:0",op="write"} 0.005000000
1> ebpfrec_request_seconds_sum{device="dev8:0",op="write"} 0.050000000
1> ebpfrec_request_seconds_count{device="dev8:0",op="write"} 10
1> ebpfrec_events_total{source="sched.switch"} 0
1> ebpfrec_lost_events_total{source="sched.switch"} 3
1> ebpfrec_source_off_seconds_total{source="sched.switch"} 0.000000000
1> ebpfrec_recorder_cpu_seconds_total{mode="user"} 0.032000000
1> ebpfrec_recorder_cpu_seconds_total{mode="system"} 0.008000000
1> ebpfrec_recorder_written_bytes_total 6656
1> ebpfrec_incomplete_seconds_total 4.000000000
1> ebpfrec_missing_seconds_total 0.000000000
1> ebpfrec_trace_end_timestamp_seconds 1700001004.000000000
1> ebpfrec_trace_end_monotonic_seconds 1004.000000000
1> ebpfrec_peak_interval_seconds 4.000000000
1> ebpfrec_recording 0
1> ebpfrec_snapshots 0
1> ebpfrec_build_info{version="0.1.0"} 1

$ ebpfrec metrics --once -i golden.ebpfrec | grep -e 'HELP ebpfrec_request_seconds' -A 6
1> # HELP ebpfrec_request_seconds Time of block requests from queueing to completion.
1> # TYPE ebpfrec_request_seconds histogram
1> # UNIT ebpfrec_request_seconds seconds
1> ebpfrec_request_seconds_bucket{device="dev8:0",op="write",le="0.000004095"} 0
1> ebpfrec_request_seconds_bucket{device="dev8:0",op="write",le="0.000008191"} 0
1> ebpfrec_request_seconds_bucket{device="dev8:0",op="write",le="0.000016383"} 0
1> ebpfrec_request_seconds_bucket{device="dev8:0",op="write",le="0.000032767"} 0

$ ebpfrec metrics --once -i golden.ebpfrec | tail -n 1
1> # EOF

# Snapshots beside the trace, and not those of another name.
$ mkdir beside beside/t.snapshot-20260301T120000Z beside/t.snapshot-20260301T120000Z-2 beside/tt.snapshot-1 \
>   beside/t.snap; cp -r golden.ebpfrec beside/t; ebpfrec metrics --once -i beside/t/ | grep '^ebpfrec_snap';
> cd beside && ebpfrec metrics --once -i t | grep '^ebpfrec_snap'
1> ebpfrec_snapshots 2
1> ebpfrec_snapshots 2

$ mkdir out; ebpfrec metrics --once -i golden.ebpfrec --textfile out; stat -c '%a %n' out/*; head -n 3 out/*;
> grep -c EOF out/*
? 1
1> 644 out/ebpfrec.prom
1> # HELP ebpfrec_cpu_seconds_total Time on any CPU.
1> # TYPE ebpfrec_cpu_seconds_total counter
1> ebpfrec_cpu_seconds_total{comm="=1+\\x1b[31m,\"\\xff"} 0.250000000
1> 0

$ diff <(ebpfrec metrics --list) <(sed -n '/^\.SH METRICS/,/^\.fi/{s/\\-/-/g;/^[a-z]/p}' \
>   "$(dirname "$README")/cmd/ebpfrec-metrics.1")

$ diff <(ebpfrec metrics --list | sed 's/ .*//') <(ebpfrec metrics --once -i golden.ebpfrec |
> sed -n 's/^# TYPE \([^ ]*\).*/\1/p')
? 1
1> 7d6
1> < ebpfrec_cpu_wait_peak_seconds
1> 24,26d22
1> < ebpfrec_app_requests
1> < ebpfrec_app_request_errors
1> < ebpfrec_app_request_seconds

$ ebpfrec metrics --list | wc -l; grep -o 'ebpfrec_[a-z_]*' "$(dirname "$README")/schema/grafana.json" |
> sed 's/_total$//; s/_bucket$//' | sort -u | grep -vxF -f <(ebpfrec metrics --list | sed 's/ .*//')
? 1
1> 39

$ ebpfrec export -i golden.ebpfrec --to csv --every 1s
? 2
2> ebpfrec export: --every and --by are for openmetrics and clickhouse
2> Try 'ebpfrec export --help'.

$ ebpfrec export -i golden.ebpfrec --to openmetrics --every 1ns
? 2
2> ebpfrec export: --every: 1ns is too short; at least 1ms
2> Try 'ebpfrec export --help'.

$ ebpfrec export -i golden.ebpfrec --to openmetrics --from 100s
? 2
2> ebpfrec export: --from 100s is at 100.000 s, and the trace has 0 .. 4.000 s only
2> Try 'ebpfrec export --help'.

$ ebpfrec export -q -i golden.ebpfrec --to openmetrics --top 1 -o - | grep -e cpu_seconds -e 'write".*_count' -e EOF
1> # HELP ebpfrec_cpu_seconds Time on any CPU.
1> # TYPE ebpfrec_cpu_seconds counter
1> # UNIT ebpfrec_cpu_seconds seconds
1> ebpfrec_cpu_seconds_total{comm="=1+\\x1b[31m,\"\\xff"} 0.000000000 1700001000.000
1> ebpfrec_cpu_seconds_total{comm="=1+\\x1b[31m,\"\\xff"} 0.000000000 1700001001.000
1> ebpfrec_cpu_seconds_total{comm="=1+\\x1b[31m,\"\\xff"} 0.250000000 1700001002.000
1> ebpfrec_cpu_seconds_total{comm="=1+\\x1b[31m,\"\\xff"} 0.250000000 1700001003.000
1> ebpfrec_cpu_seconds_total{comm="=1+\\x1b[31m,\"\\xff"} 0.250000000 1700001004.000
1> ebpfrec_cpu_seconds_total{comm="cc1"} 0.000000000 1700001000.000
1> ebpfrec_cpu_seconds_total{comm="cc1"} 0.000000000 1700001001.000
1> ebpfrec_cpu_seconds_total{comm="cc1"} 0.999999000 1700001002.000
1> ebpfrec_cpu_seconds_total{comm="cc1"} 1.499999000 1700001003.000
1> ebpfrec_cpu_seconds_total{comm="cc1"} 1.499999000 1700001004.000
1> ebpfrec_cpu_seconds_total{comm="make"} 0.000000000 1700001000.000
1> ebpfrec_cpu_seconds_total{comm="make"} 0.500000000 1700001001.000
1> ebpfrec_cpu_seconds_total{comm="make"} 0.500001000 1700001002.000
1> ebpfrec_cpu_seconds_total{comm="make"} 1.000001000 1700001003.000
1> ebpfrec_cpu_seconds_total{comm="make"} 1.000001000 1700001004.000
1> # HELP ebpfrec_recorder_cpu_seconds CPU time of the recorder, and of its programs in the kernel.
1> # TYPE ebpfrec_recorder_cpu_seconds counter
1> # UNIT ebpfrec_recorder_cpu_seconds seconds
1> ebpfrec_recorder_cpu_seconds_total{mode="user"} 0.000000000 1700001000.000
1> ebpfrec_recorder_cpu_seconds_total{mode="user"} 0.008000000 1700001001.000
1> ebpfrec_recorder_cpu_seconds_total{mode="user"} 0.016000000 1700001002.000
1> ebpfrec_recorder_cpu_seconds_total{mode="user"} 0.024000000 1700001003.000
1> ebpfrec_recorder_cpu_seconds_total{mode="user"} 0.032000000 1700001004.000
1> ebpfrec_recorder_cpu_seconds_total{mode="system"} 0.000000000 1700001000.000
1> ebpfrec_recorder_cpu_seconds_total{mode="system"} 0.002000000 1700001001.000
1> ebpfrec_recorder_cpu_seconds_total{mode="system"} 0.004000000 1700001002.000
1> ebpfrec_recorder_cpu_seconds_total{mode="system"} 0.006000000 1700001003.000
1> ebpfrec_recorder_cpu_seconds_total{mode="system"} 0.008000000 1700001004.000
1> # EOF
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec export -i golden.ebpfrec --to openmetrics --every 500ms --from 1s; ls golden.openmetrics;
> grep -c . golden.openmetrics
1> golden.openmetrics
1> 700
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: golden.openmetrics: 633 samples, 54.6 kB

# The window grows to whole bins of UTC; the last one has what the trace has of it.
$ ebpfrec export -q -i golden.ebpfrec --to openmetrics --top 1 --from 300ms --until 1300ms -o - 2>/dev/null |
> grep -e 'cpu_seconds_total{comm="cc1"' -e 'end_timestamp.* '
1> ebpfrec_cpu_seconds_total{comm="cc1"} 0.000000000 1700001000.000
1> ebpfrec_cpu_seconds_total{comm="cc1"} 0.000000000 1700001001.000
1> ebpfrec_cpu_seconds_total{comm="cc1"} 0.999999000 1700001002.000
1> # HELP ebpfrec_trace_end_timestamp_seconds Wall-clock time of the instant up to which everything is counted.
1> # TYPE ebpfrec_trace_end_timestamp_seconds gauge
1> # UNIT ebpfrec_trace_end_timestamp_seconds seconds
1> ebpfrec_trace_end_timestamp_seconds 1700001001.000000000 1700001001.000
1> ebpfrec_trace_end_timestamp_seconds 1700001002.000000000 1700001002.000

$ ebpfrec export -q -i golden.ebpfrec --to openmetrics --top 1 --every 2500ms -o - 2>/dev/null |
> grep -e 'cpu_seconds_total{comm="cc1"' -e '^ebpfrec_trace_end_t' -e ^ebpfrec_missing
1> ebpfrec_cpu_seconds_total{comm="cc1"} 0.000000000 1700001000.000
1> ebpfrec_cpu_seconds_total{comm="cc1"} 1.499999000 1700001002.500
1> ebpfrec_cpu_seconds_total{comm="cc1"} 1.499999000 1700001005.000
1> ebpfrec_missing_seconds_total 0.000000000 1700001000.000
1> ebpfrec_missing_seconds_total 0.000000000 1700001002.500
1> ebpfrec_missing_seconds_total 0.000000000 1700001005.000
1> ebpfrec_trace_end_timestamp_seconds 1700001002.500000000 1700001002.500
1> ebpfrec_trace_end_timestamp_seconds 1700001004.000000000 1700001005.000

$ ebpfrec export -q -i golden.ebpfrec --to openmetrics --every 1h -o -
? 1
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost
2> ebpfrec: the first bin of UTC would begin before the machine was up; choose a shorter --every

# Requests of programs: a bucket has the id of the longest one as exemplar.
$ gen_golden spans.ebpfrec spans; ebpfrec metrics --once -i spans.ebpfrec | grep -e 'app_request[^{]*{' |
> grep -v -e '[^0]"} [0-9]*$' -e ' 0$'
1> ebpfrec_app_request_seconds_bucket{request="GET /",le="0.004194303"} 15 # {request_id="1"} 0.004000000
1> ebpfrec_app_request_seconds_sum{request="GET /"} 0.060000000
1> ebpfrec_app_request_seconds_bucket{request="PUT /cart",le="0.033554431"} 4 # {request_id="8"} 0.024000000
1> ebpfrec_app_request_seconds_sum{request="PUT /cart"} 0.056000000

$ ebpfrec export -q --to openmetrics --every 500ms -i spans.ebpfrec -o - | grep -e app_requests -e app_request_seconds_sum
1> # HELP ebpfrec_app_requests Requests of programs that ended, by name.
1> # TYPE ebpfrec_app_requests counter
1> ebpfrec_app_requests_total{request="GET /"} 0 1700001000.000
1> ebpfrec_app_requests_total{request="GET /"} 9 1700001000.500
1> ebpfrec_app_requests_total{request="GET /"} 15 1700001001.000
1> ebpfrec_app_requests_total{request="PUT /cart"} 0 1700001000.000
1> ebpfrec_app_requests_total{request="PUT /cart"} 3 1700001000.500
1> ebpfrec_app_requests_total{request="PUT /cart"} 4 1700001001.000
1> ebpfrec_app_request_seconds_sum{request="GET /"} 0.000000000 1700001000.000
1> ebpfrec_app_request_seconds_sum{request="GET /"} 0.036000000 1700001000.500
1> ebpfrec_app_request_seconds_sum{request="GET /"} 0.060000000 1700001001.000
1> ebpfrec_app_request_seconds_sum{request="PUT /cart"} 0.000000000 1700001000.000
1> ebpfrec_app_request_seconds_sum{request="PUT /cart"} 0.032000000 1700001000.500
1> ebpfrec_app_request_seconds_sum{request="PUT /cart"} 0.056000000 1700001001.000
