# What is said when the command line is wrong: the thing, the nearest right one, exit status 2.

$ ebpfrec
? 2
2> Usage: ebpfrec COMMAND [OPTIONS]
2>
2> Commands:
2...
2~   record *
2...

$ ebpfrec reprot
? 2
2> ebpfrec: unknown command 'reprot'; did you mean 'report'?
2> Try 'ebpfrec --help'.

$ ebpfrec bananas
? 2
2> ebpfrec: unknown command 'bananas'
2> Try 'ebpfrec --help'.

$ ebpfrec why
? 2
2> ebpfrec: 'why' is a view: ebpfrec report why
2> Try 'ebpfrec --help'.

$ ebpfrec --verison
? 2
2> ebpfrec: unknown option '--verison'; did you mean '--version'?
2> Try 'ebpfrec --help'.

$ ebpfrec $'\033[31mred'
? 2
2> ebpfrec: unknown command '\x1b[31mred'
2> Try 'ebpfrec --help'.

$ ebpfrec --version
1~ ebpfrec [0-9]*.[0-9]*.[0-9]*
1~ trace format 2, libbpf [0-9]*.[0-9]*, libelf 0.[0-9]*, zstd [0-9]*.[0-9]*.[0-9]*, SQLite [0-9]*.[0-9]*.[0-9]*, libzip *, libdw (with*), libiberty (with*)

$ ebpfrec version
1~ ebpfrec [0-9]*.[0-9]*.[0-9]*
1~ trace format 2, libbpf [0-9]*.[0-9]*, libelf 0.[0-9]*, zstd [0-9]*.[0-9]*.[0-9]*, SQLite [0-9]*.[0-9]*.[0-9]*, libzip *, libdw (with*), libiberty (with*)

$ ebpfrec --help | head -n 1
1> Usage: ebpfrec COMMAND [OPTIONS]

$ ebpfrec help report | diff - <(ebpfrec report --help)

$ ebpfrec help nope
? 2
2> ebpfrec: unknown command 'nope'
2> Try 'ebpfrec --help'.

$ for c in record report sql export info check repair redact snapshot mark bundle cut doctor demo;
> do ebpfrec $c --help | grep -c '^Usage:\|^Options:\|^  -h, --help' ; done | sort -u
1> 3

$ ebpfrec report --evry 1s
? 2
2> ebpfrec report: unknown option '--evry'; did you mean '--every'?
2> Try 'ebpfrec report --help'.

$ ebpfrec report -z
? 2
2> ebpfrec report: unknown option '-z'
2> Try 'ebpfrec report --help'.

$ ebpfrec report --from
? 2
2> ebpfrec report: option '--from' needs a value: --from TIME
2> Try 'ebpfrec report --help'.

$ ebpfrec report --list=yes
? 2
2> ebpfrec report: option '--list' takes no value
2> Try 'ebpfrec report --help'.

$ ebpfrec report cup
? 2
2> ebpfrec report: unknown view 'cup'; did you mean 'cpu'?
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu io
? 2
2> ebpfrec report: unexpected argument 'io' after the view 'cpu'
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu --by proces
? 2
2> ebpfrec report: --by: unknown key 'proces'; did you mean 'process'?; `ebpfrec report --list VIEW` shows those of VIEW
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu --by device
? 2
2~ ebpfrec report: view 'cpu' has no rows by device; it takes --by process,*
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu --every 0
? 2
2> ebpfrec report: --every: the step must be longer than 0
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu --every 5x
? 2
2~ ebpfrec report: --every: '5x' is not a duration; write a number with a unit*
2> Try 'ebpfrec report --help'.

# what a bare number means is asked, where it may be ms
$ ebpfrec report cpu --every 100
? 2
2> ebpfrec report: --every: '100' has no unit; write 100ms or 100s
2> Try 'ebpfrec report --help'.

# units as systemd writes them
$ ebpfrec report cpu -i golden.ebpfrec --from 500msec --until 1500msec --format csv >ms.csv;
> ebpfrec report cpu -i golden.ebpfrec --from 0.5s --until 1500ms --format csv | cmp - ms.csv

$ ebpfrec report cpu -i golden.ebpfrec --from 5s --until 6s --format csv | wc -l
1> 1
2> ebpfrec: golden.ebpfrec: the window is incomplete: the window lies outside of the trace, which ends at 4.000 s

# a source is also known by the end of its name
$ ebpfrec record -e +irq -- true
? 2
2> ebpfrec record: -e: unknown event 'irq'; did you mean 'sched.irq'? '-e list' shows what there is
2> Try 'ebpfrec record --help'.

$ ebpfrec report cpu --limit -1
? 2
2> ebpfrec report: --limit: -1 is no number of rows; 0 is for all
2> Try 'ebpfrec report --help'.

$ ebpfrec diff --limit -1 golden.ebpfrec golden.ebpfrec
? 2
2> ebpfrec diff: --limit: -1 is no number of rows; 0 is for all
2> Try 'ebpfrec diff --help'.

$ ebpfrec report cpu --limit ten
? 2
2> ebpfrec report: --limit: 'ten' is not a whole number
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu --pid 1,x
? 2
2> ebpfrec report: --pid: '1,x' is not a list of ids such as 123,456
2> Try 'ebpfrec report --help'.

$ ebpfrec report spikes --spike-min 16MB/s
? 2
2~ ebpfrec report: --spike-min: '16MB/s' is not a size*
2> Try 'ebpfrec report --help'.

$ ebpfrec report --format xml
? 2
2> ebpfrec report: unknown format 'xml'; there are table, markdown, csv, json, jsonl, parquet, folded, html and pprof
2> Try 'ebpfrec report --help'.

$ ebpfrec sql
? 2
2> ebpfrec sql: no statement; give one in quotes, or - to read it from stdin
2> Try 'ebpfrec sql --help'.

$ ebpfrec sql SELECT 1
? 2
2> ebpfrec sql: more than one statement; put the whole statement in quotes
2> Try 'ebpfrec sql --help'.

$ ebpfrec export
? 2
2> ebpfrec export: no format: give --to csv, json, parquet, sqlite, html, perfetto, openmetrics or clickhouse
2> Try 'ebpfrec export --help'.

$ ebpfrec export --to cvs
? 2
2> ebpfrec export: --to: unknown format 'cvs'; did you mean 'csv'?; there are csv, json, parquet, sqlite, html, perfetto, openmetrics and clickhouse
2> Try 'ebpfrec export --help'.

$ ebpfrec export --to arrow
? 2
2> ebpfrec export: --to: unknown format 'arrow'; there are csv, json, parquet, sqlite, html, perfetto, openmetrics and clickhouse
2> Try 'ebpfrec export --help'.

$ ebpfrec export --to csv -o -
? 2
2> ebpfrec export: -o - takes one table as csv or json: name it with -t
2> Try 'ebpfrec export --help'.

$ ebpfrec export --to sqlite -t processes
? 2
2> ebpfrec export: --to sqlite takes no tables; leave out -t
2> Try 'ebpfrec export --help'.

$ ebpfrec info golden.ebpfrec
? 2
2> ebpfrec info: unexpected argument 'golden.ebpfrec'; -i names the trace
2> Try 'ebpfrec info --help'.

# ---- record: what is wrong is found before anything is asked of the kernel ----

$ ebpfrec record
? 2
2> ebpfrec record: nothing to record: give a COMMAND, or -a (until Ctrl-C), -p PID, --cgroup PATH or -d DUR
2> Try 'ebpfrec record --help'.

$ ebpfrec record --start-at 2020-01-01T00:00:00Z -a
? 2
2> ebpfrec record: --start-at: 2020-01-01T00:00:00Z has passed
2> Try 'ebpfrec record --help'.

$ ebpfrec record --start-at noon -a
? 2
2> ebpfrec record: --start-at: 'noon' is not a time to come; write T12:00:03, 2026-03-01T12:00:00.5Z, @SECONDS, or 5s from now
2> Try 'ebpfrec record --help'.

$ ebpfrec snapshot -i golden.ebpfrec -o copy --at mark:build
? 2
2> ebpfrec snapshot: --at: 'mark:build' is not a time to come; write T12:00:03, 2026-03-01T12:00:00.5Z, @SECONDS, or 5s from now
2> Try 'ebpfrec snapshot --help'.

$ ebpfrec record --only -a
? 2
2> ebpfrec record: --only keeps just the workload, and there is none: give a COMMAND, -p or --cgroup
2> Try 'ebpfrec record --help'.

$ ebpfrec record -u nobody -d 1s
? 2
2> ebpfrec record: -u says who runs COMMAND, but there is no COMMAND
2> Try 'ebpfrec record --help'.

$ ebpfrec record -e schde -a
? 2
2> ebpfrec record: -e: unknown event 'schde'; did you mean 'sched'? '-e list' shows what there is
2> Try 'ebpfrec record --help'.

$ ebpfrec record -e alloc.paeg,block -a
? 2
2> ebpfrec record: -e: unknown event 'alloc.paeg'; did you mean 'alloc.page'? '-e list' shows what there is
2> Try 'ebpfrec record --help'.

$ ebpfrec record -e alloc.heap -a
? 2
2> ebpfrec record: alloc.heap is recorded for a workload only: give a COMMAND, -p or --cgroup
2> Try 'ebpfrec record --help'.

$ ebpfrec record -e list | grep \
>   -c '^\(sched\.switch\|sched\.wakeup\|task\|alloc\.slab\|alloc\.page\|alloc\.rss\|alloc\.vm\|alloc\.heap\|block\) '
1> 9

$ ebpfrec record -e list | diff - <(ebpfrec record -e help)

$ ebpfrec record -d 0 -a
? 2
2> ebpfrec record: -d: a recording of no time has nothing in it
2> Try 'ebpfrec record --help'.

$ ebpfrec record --ring-size 2GiB -a
? 2
2> ebpfrec record: --ring-size: 2GiB is out of range; a ring buffer has 4KiB to 1GiB
2> Try 'ebpfrec record --help'.

$ ebpfrec record --note nothing true
? 2
2> ebpfrec record: --note: 'nothing' is not KEY=VALUE with a key of up to 64 letters, digits, '.', '_' and '-'
2> Try 'ebpfrec record --help'.

$ ebpfrec record -p 0
? 2
2> ebpfrec record: -p: '0' is not a list of ids such as 123,456
2> Try 'ebpfrec record --help'.

$ ebpfrec record --help | head -n 2
1> Usage: ebpfrec record [OPTIONS] [--] COMMAND [ARG...]
1>        ebpfrec record [OPTIONS] -a | -p PID,... | --cgroup PATH | -d DUR

$ ebpfrec bundle --max-size 0
? 2
2> ebpfrec bundle: --max-size: from 1 byte to 4GB
2> Try 'ebpfrec bundle --help'.

# What a view has no use for is refused, not ignored.
$ ebpfrec report --every 1s
? 2
2> ebpfrec report: the summary has many parts; --every is for one view: `ebpfrec report --list` shows them, and 'totals' has a row for all
2> Try 'ebpfrec report --help'.

$ ebpfrec report summary --sort oncpu_ns
? 2
2> ebpfrec report: the summary has many parts; --sort is for one view: `ebpfrec report --list` shows them, and 'totals' has a row for all
2> Try 'ebpfrec report --help'.

$ ebpfrec report cpu --spike-min 1MiB
? 2
2> ebpfrec report: --spike-window and --spike-min are for the views 'summary' and 'spikes', not for 'cpu'
2> Try 'ebpfrec report --help'.

$ ebpfrec record --mark-fd 9 -- true 9>/dev/null
? 2
2> ebpfrec record: --mark-fd: 9 is not open for reading
2> Try 'ebpfrec record --help'.

$ ebpfrec record --mark-fd 9 -- true 9<&-
? 2
2> ebpfrec record: --mark-fd: 9 is no open file descriptor
2> Try 'ebpfrec record --help'.

# The beginning of an option is that option; a name with a point or a slash is meant as a trace.
$ ebpfrec report --form csv
? 2
2> ebpfrec report: unknown option '--form'; did you mean '--format'?
2> Try 'ebpfrec report --help'.

$ ebpfrec report nosuch.ebpfrec
? 2
2> ebpfrec report: 'nosuch.ebpfrec' is neither a trace nor a view
2> Try 'ebpfrec report --help'.

$ ebpfrec view -i nowhere
? 1
2> ebpfrec: nowhere: no such trace; record one with `ebpfrec record -- COMMAND`, or name it with -i

$ ebpfrec view --listen ''
? 2
2> ebpfrec view: --listen: the address must not be empty
2> Try 'ebpfrec view --help'.
