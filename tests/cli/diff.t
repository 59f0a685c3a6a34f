# Two traces side by side. What counts as a change is tested on the real kernel, in tests/full/cpu_time.sh.

$ ebpfrec diff golden.ebpfrec
? 2
2> ebpfrec diff: two traces are needed: ebpfrec diff A B
2> Try 'ebpfrec diff --help'.

$ ebpfrec diff a b c
? 2
2> ebpfrec diff: 'c': this would be a third trace; groups are compared by ebpfrec diff A... --with B...
2> Try 'ebpfrec diff --help'.

$ ebpfrec diff --every 0 golden.ebpfrec golden.ebpfrec
? 2
2> ebpfrec diff: --every: must be more than 0
2> Try 'ebpfrec diff --help'.

$ ebpfrec diff golden.ebpfrec nothing.ebpfrec
? 1
2~ ebpfrec: nothing.ebpfrec: *

$ ebpfrec diff --from 1h golden.ebpfrec golden.ebpfrec
? 2
2> ebpfrec diff: --from 1h is at 3600.000 s, and the trace has 0 .. 4.000 s only
2...

# A trace is the same as itself, whatever it holds.
$ ebpfrec diff --changed --exit-code --format csv golden.ebpfrec golden.ebpfrec
1> role,parent,metric,a,b,change_pct,verdict,reason,p_value,procs_a,procs_b,complete
2...

$ ebpfrec diff --from 1s --to 2s golden.ebpfrec golden.ebpfrec --format csv | grep -E '^(role|cc1.*oncpu)'
1> role,parent,metric,a,b,change_pct,verdict,reason,p_value,procs_a,procs_b,complete
1> cc1 a.c,make,oncpu_ns,1000000000,1000000000,0,same,,1,1,1,1

$ ebpfrec diff golden.ebpfrec golden.ebpfrec | tail -n 1
1> 0 figures changed by more than noise, which is how much a figure varies from one bin of 80.0 ms to the next inside a trace. How much it varies from run to run, two traces do not tell. Of 100 comparisons in which nothing changed, about one calls a figure changed.

# Nobody reads "same" beside +100 %: people are told why. Nor is the wall time of two runs unknown.
$ for s in 1001ms 1002ms; do ebpfrec cut -i golden.ebpfrec --until $s -o part-$s 2>/dev/null; done;
> ebpfrec diff part-1001ms part-1002ms | grep "^cc1.*CPU time" | tr -s " ";
> ebpfrec diff part-1001ms part-1002ms --format csv | grep "^cc1.*oncpu" | cut -d, -f1-7
1> cc1 a.c make CPU time 1.00 ms 2.00 ms +100.0 small: 1.00 ms - 1 1
1> cc1 a.c,make,oncpu_ns,1000000,2000000,100,same


# What one side did not record is no change; what a trace of some processes cannot tell is said, as report does.
$ ebpfrec cut -i golden.ebpfrec -e sched -o cpu.ebpfrec 2>/dev/null;
> ebpfrec diff golden.ebpfrec cpu.ebpfrec --format csv 2>/dev/null | grep -E '^(cc1|make)' | cut -d, -f1-10
1> cc1 a.c,make,oncpu_ns,1500000000,1500000000,0,same,,1,1
1> make,systemd,oncpu_ns,1000000000,1000000000,0,same,,1,1
1> cc1 a.c,make,largest_rss_bytes,33554432,,,unknown,,,1
1> make,systemd,largest_rss_bytes,2097152,2097152,0,unknown,,,1
1> make,systemd,ios,10,,,unknown,,,1
1> make,systemd,io_bytes,655360,,,unknown,,,1
1> make,systemd,lat_p50_ns,5000000,,,unknown,,,1
1> make,systemd,lat_p99_ns,5000000,,,unknown,,,1

$ ebpfrec diff golden.ebpfrec cpu.ebpfrec --changed --exit-code --format csv
1> role,parent,metric,a,b,change_pct,verdict,reason,p_value,procs_a,procs_b,complete
2...

$ ebpfrec cut -i golden.ebpfrec --comm cc1 -o cc1.ebpfrec 2>/dev/null; ebpfrec diff golden.ebpfrec cc1.ebpfrec |
> head -n 4
1~ A: golden.ebpfrec, *
1~ B: cc1.ebpfrec, *
1> B: Cut: events of some processes only (cut.processes in `ebpfrec info`). What others did, and so machines, CPUs and devices as a whole, is not in it.
1>

$ ebpfrec diff golden.ebpfrec cc1.ebpfrec --format csv 2>&1 >/dev/null |
> grep -c '^ebpfrec: cc1.ebpfrec: Cut: events of some processes only'
1> 1

# Several runs against several: cc1 runs from 1 s on, so that each cut gives it another time on the CPU.
$ for s in 1100 1101 1102 1103 1104 1105 1106 1107;
> do ebpfrec cut -i golden.ebpfrec --until ${s}ms -o a.$s 2>/dev/null;
> ebpfrec cut -i golden.ebpfrec --until $((s + 20))ms -o b.$s 2>/dev/null; done; ebpfrec diff a.* --with b.* 2>/dev/null
1> A: a.1100 and on, 8 runs
1> B: b.1100 and on, 8 runs
1>
1> ROLE               METRIC             A         B         CHANGE %           VERDICT
1> [workload]         wall_ns            1.10 s    1.12 s    +1.8 (+1.6..+2.0)  small
1> cc1 a.c            oncpu_ns           104 ms    124 ms    +19 (+17..+22)     worse
1> =1+\x1b[31m,"\xff  wait_cpu_ns        1.10 s    1.12 s    +1.8 (+1.6..+2.0)  small
1> make               io_bytes           640 KiB   640 KiB   +0.0 (+0.0..+0.0)  same
1> make               ios                10        10        +0.0 (+0.0..+0.0)  same
1> =1+\x1b[31m,"\xff  largest_rss_bytes  2.00 MiB  2.00 MiB  +0.0 (+0.0..+0.0)  same
1> make               largest_rss_bytes  2.00 MiB  2.00 MiB  +0.0 (+0.0..+0.0)  same
1> systemd            largest_rss_bytes  2.00 MiB  2.00 MiB  +0.0 (+0.0..+0.0)  same
1> make               oncpu_ns           500 ms    500 ms    +0.0 (+0.0..+0.0)  same
1>
1> 1 figure worse, 0 better. A and B are the medians of the runs; the change is in percent of A, with its 90 % interval. Of all figures called worse or better, at most 5 % are so by chance. A change called small is too small to matter.

$ ebpfrec diff --exit-code --changed a.* --with b.* --format csv 2>/dev/null
? 1
1> role,parent,metric,a,b,change_pct,low_pct,high_pct,verdict,reason,p_value,runs_a,runs_b
1> [workload],"",wall_ns,1103500000,1123500000,1.8124154118273512,1.626016260162504,2.0000000000000053,small,,0.0004662004662004662,8,8
1> cc1 a.c,make,oncpu_ns,103500000,123500000,19.324085961991234,16.822429906542148,21.99999999999986,worse,,0.0004662004662004662,8,8

$ ebpfrec diff --exit-code a.1100 a.1102 a.1104 a.1106 --with a.1101 a.1103 a.1105 a.1107 --format csv 2>/dev/null |
> cut -d, -f1,3-6,9-13
1> role,metric,a,b,change_pct,verdict,reason,p_value,runs_a,runs_b
1> [workload],wall_ns,1103000000,1104000000,0.09066190585536255,same,,1,4,4
1> cc1 a.c,slab_alloc_bytes,19200,19200,0,small,,1,4,4
1> make,io_bytes,655360,655360,0,same,,1,4,4
1> make,ios,10,10,0,same,,1,4,4
1> "'=1+\x1b[31m,systemd,largest_rss_bytes,2097152,2097152,0,same,,1,4
1> make,largest_rss_bytes,2097152,2097152,0,same,,1,4,4
1> systemd,largest_rss_bytes,2097152,2097152,0,same,,1,4,4
1> make,oncpu_ns,500000000,500000000,0,same,,1,4,4
1> cc1 a.c,oncpu_ns,103000000,104000000,0.970964869146024,same,,1,4,4
1> "'=1+\x1b[31m,systemd,wait_cpu_ns,1103000000,1104000000,0.45454545454555395,same,,1,4

# Two runs against two say nothing; nor do runs that lost what a figure is made of.
$ ebpfrec diff a.1100 a.1101 --with b.1106 b.1107 2>/dev/null | head -n 6
1> A: a.1100 and on, 2 runs
1> B: b.1106 and on, 2 runs
1>
1> ROLE               METRIC             A         B         CHANGE %  VERDICT
1> [workload]         wall_ns            1.10 s    1.13 s    +2.4      ? few runs
1> make               io_bytes           640 KiB   640 KiB   +0.0      ? few runs

# A page for a browser has the rows of the table, each with a box plot: eight runs, quartiles and median of a side.
$ ebpfrec diff a.* --with b.* --format html 2>/dev/null >page.html; grep -c '<svg' page.html;
> grep '>cc1 a.c<' page.html | sed 's/<circle[^>]*>/./g'; grep -c 'script' page.html; grep -c 'x1b.31m' page.html;
> tail -n 5 page.html | head -n 1 | cut -c 1-60
1> 9
1> <tr><td class="text">cc1 a.c</td><td class="text">oncpu_ns</td><td class="">104 ms</td><td class="">124 ms</td><td class="text">+19 (+17..+22)</td><td class="text worse">worse</td><td class="text"><svg width="300" height="48" role="img" aria-label="runs of A and B, from 100 ms to 127 ms"><line class="a" x1="6.0" x2="80.7" y1="8" y2="8"/><rect class="a box" x="24.7" y="2" width="37.3" height="12"/>........<line class="middle" x1="43.3" x2="43.3" y1="2" y2="14"/><line class="b" x1="219.3" x2="294.0" y1="26" y2="26"/><rect class="b box" x="238.0" y="20" width="37.3" height="12"/>........<line class="middle" x1="256.7" x2="256.7" y1="20" y2="32"/><text x="6" y="46">100 ms</text><text x="294" y="46" text-anchor="end">127 ms</text></svg></td></tr>
1> 0
1> 2
1> </tbody></table></div>

$ ebpfrec diff --format html a.1100 b.1100
? 2
2> ebpfrec diff: box plots show several runs: ebpfrec diff --format html A... --with B...
2> Try 'ebpfrec diff --help'.

$ ebpfrec diff --with b.1100
? 2
2> ebpfrec diff: no trace to compare with: ebpfrec diff A... --with B...
2> Try 'ebpfrec diff --help'.

$ ebpfrec diff a.1100 --with b.1100 --every 10ms
? 2
2> ebpfrec diff: --every is for two traces; groups measure noise from run to run
2> Try 'ebpfrec diff --help'.

$ ebpfrec diff a.1100 --with nothing.ebpfrec
? 1
2> ebpfrec: nothing.ebpfrec: no such trace; record one with `ebpfrec record -- COMMAND`, or name it with -i

# Two windows of one trace, and the columns of machines.
$ ebpfrec diff --from 0 --until 1s --from-b 1s --until-b 3s --format csv --limit 3 golden.ebpfrec golden.ebpfrec |
> sed -E 's/([0-9]\.[0-9]{4})[0-9]+e/\1e/'
1> role,parent,metric,a,b,change_pct,verdict,reason,p_value,procs_a,procs_b,complete
1> [workload],"",wall_ns,1000000000,2000000000,100,unknown,,,2,2,1
1> cc1 a.c,make,oncpu_ns,,1500000000,,changed,,0,1,1,0
1> "'=1+\x1b[31m,""\xff",systemd,oncpu_ns,,250000000,,changed,,6.7797e-09,1,1,0
1> cc1 a.c,make,largest_rss_bytes,,33554432,,changed,,1.2588e-35,1,1,1
1> make,systemd,ios,10,,,changed,,0,1,1,1
1> make,systemd,oncpu_ns,500000000,500000000,0,same,,1,1,1,0
1> systemd,"",largest_rss_bytes,2097152,2097152,0,same,,1,1,1,1
1> make,systemd,largest_rss_bytes,2097152,2097152,0,same,,1,1,1,1
1> "'=1+\x1b[31m,""\xff",systemd,largest_rss_bytes,2097152,2097152,0,same,,1,1,1,1
1> make,systemd,io_bytes,655360,,,same,small,1,1,1,1
1> make,systemd,lat_p50_ns,5000000,,,same,few I/Os,1,1,1,1
1> make,systemd,lat_p99_ns,5000000,,,same,few I/Os,1,1,1,1
2> ebpfrec: golden.ebpfrec: the window is incomplete: sched: 3 events lost

$ ebpfrec diff --from-b 1s golden.ebpfrec --with golden.ebpfrec
? 2
2> ebpfrec diff: --from-b and --until-b are for two traces
2> Try 'ebpfrec diff --help'.

# Requests of programs, by name: an early window against a late one, and groups without and with slow ones.
$ gen_golden spans.ebpfrec spans; ebpfrec diff --until 500ms --from-b 500ms --until-b 1s spans.ebpfrec spans.ebpfrec |
> grep -E '^(ROLE|GET|PUT)'
1> ROLE       PARENT  METRIC           A        B        CHANGE %  VERDICT             P VALUE  PROCS A  PROCS B  COMPLETE
1> GET /              requests         9        6        -33.3     small: 3            -              1        1       yes
1> PUT /cart          requests         3        1        -66.7     small: 2            -              1        1       yes
1> GET /              requests/s       18       12       -33.3     same: noise         -              1        1       yes
1> PUT /cart          requests/s       6        2        -66.7     same: noise         -              1        1       yes
1> PUT /cart          request p50      4.00 ms  24.0 ms  +500.0    same: few requests  -              1        1       yes
1> GET /              request p50      4.00 ms  4.00 ms  +0.0      same                -              1        1       yes
1> PUT /cart          request p90      24.0 ms  24.0 ms  +0.0      same                -              1        1       yes
1> GET /              request p90      4.00 ms  4.00 ms  +0.0      same                -              1        1       yes
1> PUT /cart          request p99      24.0 ms  24.0 ms  +0.0      same                -              1        1       yes
1> GET /              request p99      4.00 ms  4.00 ms  +0.0      same                -              1        1       yes
1> PUT /cart          request max      24.0 ms  24.0 ms  +0.0      same                -              1        1       yes
1> GET /              request max      4.00 ms  4.00 ms  +0.0      same                -              1        1       yes
1> PUT /cart          request cpu      333 us   1.00 ms  +200.0    same: few requests  -              1        1       yes
1> PUT /cart          request lock     6.33 ms  19.0 ms  +200.0    same: few requests  -              1        1       yes
1> PUT /cart          request running  3.00 ms  3.00 ms  +0.0      same                -              1        1       yes
1> GET /              request running  3.00 ms  3.00 ms  +0.0      same                -              1        1       yes
1> PUT /cart          request queued   1.00 ms  1.00 ms  +0.0      same                -              1        1       yes
1> GET /              request queued   1.00 ms  1.00 ms  +0.0      same                -              1        1       yes

$ for s in 301 302 303 304 305 306 307 308; do ebpfrec cut -i spans.ebpfrec --until ${s}ms -o s.$s 2>/dev/null;
> ebpfrec cut -i spans.ebpfrec --until $((s + 100))ms -o t.$s 2>/dev/null; done;
> ebpfrec diff s.30? --with t.30? 2>/dev/null | grep -E '^(ROLE|GET|PUT)'
1> ROLE       METRIC              A        B        CHANGE %           VERDICT
1> PUT /cart  request_cpu_ns      0 ns     500 us   -                  worse
1> PUT /cart  request_lock_ns     0 ns     9.50 ms  -                  worse
1> PUT /cart  request_max_ns      4.00 ms  24.0 ms  +500 (+500..+500)  worse
1> PUT /cart  request_p90_ns      4.00 ms  24.0 ms  +500 (+500..+500)  worse
1> PUT /cart  request_p99_ns      4.00 ms  24.0 ms  +500 (+500..+500)  worse
1> PUT /cart  requests_per_s      3        5        +51 (+50..+52)     better
1> GET /      requests_per_s      20       19       -6.1 (-12..-0.1)   ? noise
1> GET /      request_max_ns      4.00 ms  4.00 ms  +0.0 (+0.0..+0.0)  same
1> GET /      request_p50_ns      4.00 ms  4.00 ms  +0.0 (+0.0..+0.0)  same
1> PUT /cart  request_p50_ns      4.00 ms  4.00 ms  +0.0 (+0.0..+0.0)  same
1> GET /      request_p90_ns      4.00 ms  4.00 ms  +0.0 (+0.0..+0.0)  same
1> GET /      request_p99_ns      4.00 ms  4.00 ms  +0.0 (+0.0..+0.0)  same
1> GET /      request_queued_ns   1.00 ms  1.00 ms  +0.0 (+0.0..+0.0)  same
1> PUT /cart  request_queued_ns   1.00 ms  1.00 ms  +0.0 (+0.0..+0.0)  same
1> GET /      request_running_ns  3.00 ms  3.00 ms  +0.0 (+0.0..+0.0)  same
1> PUT /cart  request_running_ns  3.00 ms  3.00 ms  +0.0 (+0.0..+0.0)  same

$ ebpfrec diff s.301 t.301 --format csv 2>/dev/null | grep PUT
1> PUT /cart,"",requests,1,2,100,same,small,1,1,1,1
1> PUT /cart,"",requests_per_s,3,5,50.125,same,noise,1,1,1,1
1> PUT /cart,"",request_p50_ns,4000000,4000000,0,same,,1,1,1,1
1> PUT /cart,"",request_p90_ns,4000000,24000000,500,same,few requests,1,1,1,1
1> PUT /cart,"",request_p99_ns,4000000,24000000,500,same,few requests,1,1,1,1
1> PUT /cart,"",request_max_ns,4000000,24000000,500,same,few requests,1,1,1,1
1> PUT /cart,"",request_cpu_ns,0,500000,,same,few requests,1,1,1,1
1> PUT /cart,"",request_lock_ns,0,9500000,,same,few requests,1,1,1,1
1> PUT /cart,"",request_running_ns,3000000,3000000,0,same,,1,1,1,1
1> PUT /cart,"",request_queued_ns,1000000,1000000,0,same,,1,1,1,1
