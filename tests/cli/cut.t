# What a cut says of sources: one that was recorded and is left out is off; one that was not recorded was not.

$ cp -r golden.ebpfrec some.ebpfrec;
> sed -i '/^crc32c=/d;$a sources=sched.switch,sched.wakeup,alloc.slab,block' some.ebpfrec/manifest;
> ebpfrec cut -i some.ebpfrec -e sched -o sched.ebpfrec
2~ ebpfrec: sched.ebpfrec: 0.000 .. 4.000 s of some.ebpfrec, * in 4 blocks

$ ebpfrec sql -i sched.ebpfrec --format csv "SELECT DISTINCT source, reason FROM source_gaps ORDER BY source"
1> source,reason
1> alloc.slab,cut
1> block,cut

$ grep cut.left_out sched.ebpfrec/manifest
1> cut.left_out=alloc.slab,block

$ ebpfrec report irq -i sched.ebpfrec --format csv 2>&1 | grep -c 'sched.irq was off'
? 1
1> 0

$ ebpfrec report irq -i sched.ebpfrec 2>&1 | grep -o 'sched.irq was not recorded'
1> sched.irq was not recorded

$ ebpfrec cut -i some.ebpfrec -e sched,sched.irq,alloc.heap -o asked.ebpfrec
2> ebpfrec: some.ebpfrec: sched.irq was not recorded: nothing of it can be kept
2> ebpfrec: some.ebpfrec: alloc.heap was not recorded: nothing of it can be kept
2~ ebpfrec: asked.ebpfrec: 0.000 .. 4.000 s of some.ebpfrec, * in 4 blocks

$ ebpfrec cut -i some.ebpfrec -e alloc.heap -o none.ebpfrec
? 1
2> ebpfrec: some.ebpfrec: alloc.heap was not recorded: nothing of it can be kept

# Processes that are not there: the nearest names.
$ ebpfrec cut -i golden.ebpfrec --comm ccl1 -o none.ebpfrec
? 1
2> ebpfrec: golden.ebpfrec: there is no process 'ccl1' in the trace; did you mean 'cc1'?

$ ebpfrec cut -i golden.ebpfrec --pid 4711 -o none.ebpfrec
? 1
2> ebpfrec: golden.ebpfrec: there is no process '4711' in the trace; `ebpfrec sql -i golden.ebpfrec 'SELECT pid, comm, cgroup FROM processes'` lists them

$ ebpfrec cut -i golden.ebpfrec --cgroup /x/y -o none.ebpfrec; ls none.ebpfrec 2>/dev/null
? 2
2> ebpfrec: golden.ebpfrec: there is no cgroup '/x/y' in the trace; `ebpfrec sql -i golden.ebpfrec 'SELECT pid, comm, cgroup FROM processes'` lists them

# The workload alone has the figures that it has in the whole trace.
$ ebpfrec cut -i golden.ebpfrec --workload -o mine.ebpfrec 2>/dev/null; ebpfrec info -i mine.ebpfrec --format csv |
> grep processes; for t in golden mine; do ebpfrec report waits -i $t.ebpfrec --workload --format csv 2>/dev/null;
> done | sort | uniq -c | awk '$1 != 2'
1> tasks,processes,3
1> tasks,processes_at_start,2
1> manifest,cut.processes,"2, workload"

$ gen_golden who.ebpfrec who; ebpfrec cut -i who.ebpfrec --workload -o none.ebpfrec
? 1
2> ebpfrec: who.ebpfrec: the trace has no workload: it was recorded without a command, -p or --cgroup

# Of a process that did not live in the window there is nothing, which reports of all say.
$ ebpfrec cut -i golden.ebpfrec --pid 200 --to 0.5s -o before.ebpfrec 2>/dev/null;
> ebpfrec report -i before.ebpfrec cpu | grep nothing; ebpfrec report -i before.ebpfrec cpu --comm cc1
? 1
1> (nothing)
2> ebpfrec: before.ebpfrec: there is no process 'cc1' in the trace; `ebpfrec sql -i before.ebpfrec 'SELECT pid, comm, cgroup FROM processes'` lists them

# A copy of everything remains the same trace, a part is another one.

$ ebpfrec cut -i golden.ebpfrec -o whole.ebpfrec 2>/dev/null;
> ebpfrec cut -i golden.ebpfrec --to 1s -o part.ebpfrec 2>/dev/null;
> for t in golden whole part; do grep trace.id= $t.ebpfrec/manifest; done | uniq -c | awk '{ print $1 }'
1> 2
1> 1

# A block whose events turn out to be damaged when they are read, alone, at the end of the window and at its beginning.

$ cp -r golden.ebpfrec byte.ebpfrec; printf '\377' |
> dd of=byte.ebpfrec/chunk-000000.ebr bs=1 seek=4200 conv=notrunc 2>/dev/null;
> for w in '1s 2s' '0s 2s' '1s 3s'; do set -- $w; ebpfrec cut -i byte.ebpfrec --from $1 --to $2 -o byte-$1-$2 2>&1 |
> grep -E 'no valid|[0-9] block'; done
1> ebpfrec: 'byte.ebpfrec' has no valid block in that window: there is nothing to cut out
1~ ebpfrec: byte-0s-2s: 0.000 .. 1.000 s of byte.ebpfrec, * in 1 block
1~ ebpfrec: byte-1s-3s: 2.000 .. 3.000 s of byte.ebpfrec, * in 1 block

# A request of an unknown owner may belong to any process: reports about one of them say so, and a cut of it notes how
# many it omits. A window without such a request is complete in the trace; of a cut, the number of the whole is a bound.
$ gen_golden unowned.ebpfrec unowned; ebpfrec cut -i unowned.ebpfrec --comm client -o client.ebpfrec 2>/dev/null;
> for t in unowned client; do ebpfrec report io -i $t.ebpfrec --comm client | sed -n '1p; /^ *PID/,/^$/p';
> ebpfrec report io -i $t.ebpfrec --comm client --until 500ms | head -n 1; done; ebpfrec info -i client.ebpfrec |
> grep unowned
1> 0 .. 1 s of unowned.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: 1 block request (4.00 KiB) of unknown owners may belong to the chosen processes
1> PID  COMM    DEVICE  OP     IOS     BYTES  IOPS     BYTES/S  LAT P50  LAT P99  LAT MAX  ERRORS
1> 200  client  dev8:0  write    1  4.00 KiB   1.0  4.00 KiB/s  5.00 ms  5.00 ms  5.00 ms       0
1> (in all rows, COMPLETE: NO)
1>
1> 0 .. 0.5 s of unowned.ebpfrec, started 2023-11-14 22:30:00 UTC, complete
1> 0 .. 1 s of client.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: 1 block request (4.00 KiB) of unknown owners may belong to the chosen processes
1> PID  COMM    DEVICE  OP     IOS     BYTES  IOPS     BYTES/S  LAT P50  LAT P99  LAT MAX  ERRORS
1> 200  client  dev8:0  write    1  4.00 KiB   1.0  4.00 KiB/s  5.00 ms  5.00 ms  5.00 ms       0
1> (in all rows, COMPLETE: NO)
1>
1> 0 .. 0.5 s of client.ebpfrec, started 2023-11-14 22:30:00 UTC, INCOMPLETE: 1 block request (4.00 KiB) of unknown owners may belong to the chosen processes
1>   cut.unowned_bytes    4096
1>   cut.unowned_ios      1

# A cut of the cut keeps the number, and so does a redacted copy.
$ ebpfrec cut -i client.ebpfrec --comm client -e block -o again.ebpfrec 2>/dev/null;
> ebpfrec redact -i again.ebpfrec -o gone.ebpfrec 2>/dev/null;
> for t in again gone; do grep unowned $t.ebpfrec/manifest; done
1> cut.unowned_bytes=4096
1> cut.unowned_ios=1
1> cut.unowned_bytes=4096
1> cut.unowned_ios=1
