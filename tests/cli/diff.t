# Two traces side by side. What counts as a change is tested on the real kernel, in tests/kernel/diff_burn.sh.

$ ebpfrec diff golden.ebpfrec
? 2
2> ebpfrec diff: two traces are needed: ebpfrec diff A B
2> Try 'ebpfrec diff --help'.

$ ebpfrec diff a b c
? 2
2> ebpfrec diff: 'c': two traces are compared, no more
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
1> role,parent,metric,a,b,change_pct,verdict,p_value,procs_a,procs_b,complete
2...

$ ebpfrec diff --from 1s --to 2s golden.ebpfrec golden.ebpfrec --format csv | grep -E '^(role|cc1.*oncpu)'
1> role,parent,metric,a,b,change_pct,verdict,p_value,procs_a,procs_b,complete
1> cc1 a.c,make,oncpu_ns,1000000000,1000000000,0,same,1,1,1,1

$ ebpfrec diff golden.ebpfrec golden.ebpfrec | tail -n 1
1> 0 figures changed by more than noise, which is how much a figure varies from one bin of 80.0 ms to the next inside a trace. How much it varies from run to run, two traces do not tell. Of 100 comparisons in which nothing changed, about one calls a figure changed.

# Nobody reads "same" beside +100 %: people are told why. Nor is the wall time of two runs unknown.
$ for s in 1001ms 1002ms; do ebpfrec cut -i golden.ebpfrec --until $s -o part-$s 2>/dev/null; done; ebpfrec diff part-1001ms part-1002ms | grep "^cc1.*CPU time" | tr -s " "; ebpfrec diff part-1001ms part-1002ms --format csv | grep "^cc1.*oncpu" | cut -d, -f1-7
1> cc1 a.c make CPU time 1.00 ms 2.00 ms +100.0 small: 1.00 ms - 1 1
1> cc1 a.c,make,oncpu_ns,1000000,2000000,100,same


# What one side did not record is no change; what a trace of some processes cannot tell is said, as report does.
$ ebpfrec cut -i golden.ebpfrec -e sched -o cpu.ebpfrec 2>/dev/null; ebpfrec diff golden.ebpfrec cpu.ebpfrec --format csv 2>/dev/null | grep -E '^(cc1|make)' | cut -d, -f1-9
1> cc1 a.c,make,oncpu_ns,1500000000,1500000000,0,same,1,1
1> make,systemd,oncpu_ns,1000000000,1000000000,0,same,1,1
1> cc1 a.c,make,largest_rss_bytes,33554432,,,unknown,,1
1> make,systemd,largest_rss_bytes,2097152,2097152,0,unknown,,1
1> make,systemd,ios,10,,,unknown,,1
1> make,systemd,io_bytes,655360,,,unknown,,1
1> make,systemd,lat_p50_ns,5000000,,,unknown,,1
1> make,systemd,lat_p99_ns,5000000,,,unknown,,1

$ ebpfrec diff golden.ebpfrec cpu.ebpfrec --changed --exit-code --format csv
1> role,parent,metric,a,b,change_pct,verdict,p_value,procs_a,procs_b,complete
2...

$ ebpfrec cut -i golden.ebpfrec --comm cc1 -o cc1.ebpfrec 2>/dev/null; ebpfrec diff golden.ebpfrec cc1.ebpfrec | head -n 4
1~ A: golden.ebpfrec, *
1~ B: cc1.ebpfrec, *
1> B: Cut: events of some processes only (cut.processes in `ebpfrec info`). What others did, and so machines, CPUs and devices as a whole, is not in it.
1>

$ ebpfrec diff golden.ebpfrec cc1.ebpfrec --format csv 2>&1 >/dev/null | grep -c '^ebpfrec: cc1.ebpfrec: Cut: events of some processes only'
1> 1
