# Rules, and what becomes of them. golden.ebpfrec lost switches in 2 .. 2.5 s: cc1 ran 1.5 s, and its second second is
# complete.

$ printf '%s\n' '# a remark' '' 'cpu --from 1s --until 2s --by comm comm=cc1 util_pct <= 100%' \
>   "  cpu --from 1s --until 2s comm='cc*' oncpu_ms>=1000" 'io sum:bytes <= 640KiB' 'if-any: io comm=nobody ios < 5' \
>   'sql: SELECT 1 WHERE 0' >rules; ebpfrec assert -i golden.ebpfrec rules
? 3
1> VERDICT        FIGURE   LIMIT       RULE
1> PASS           100.0 %  <= 100.0 %  cpu --from 1s --until 2s --by comm comm=cc1 util_pct <= 100%
1> PASS           1,000    >= 1,000    cpu --from 1s --until 2s comm='cc*' oncpu_ms>=1000
1> PASS           640 KiB  <= 640 KiB  io sum:bytes <= 640KiB
1> PASS           -        < 5         if-any: io comm=nobody ios < 5
1> INDETERMINATE  0        == 0        sql: SELECT 1 WHERE 0
1>
1> rules:7: INDETERMINATE: the number of rows is 0, and must be == 0 in golden.ebpfrec; sched: 3 events lost: `ebpfrec sql -i golden.ebpfrec 'SELECT 1 WHERE 0'`
1>
1> 4 pass, 0 fail, 1 indeterminate

# A figure that is not complete fails only where missing data cannot help it.
$ ebpfrec assert -i golden.ebpfrec --rule 'cpu comm=cc1 oncpu_ns < 1s' --rule 'cpu comm=cc1 oncpu_ns < 2s' \
>   --rule 'cpu comm=cc1 oncpu_ns > 1s' --rule 'waits sum:wait_ns < 1ns'
? 1
1> VERDICT        FIGURE  LIMIT     RULE
1> FAIL           1.50 s  < 1.00 s  cpu comm=cc1 oncpu_ns < 1s
1> INDETERMINATE  1.50 s  < 2.00 s  cpu comm=cc1 oncpu_ns < 2s
1> INDETERMINATE  1.50 s  > 1.00 s  cpu comm=cc1 oncpu_ns > 1s
1> INDETERMINATE  12.3 s  < 1 ns    waits sum:wait_ns < 1ns
1>
1> --rule:1: FAIL: oncpu_ns is 1.50 s, and must be < 1.00 s in golden.ebpfrec (pid=200 comm=cc1); sched: 3 events lost: `ebpfrec report -i golden.ebpfrec cpu`
1>
1> --rule:2: INDETERMINATE: oncpu_ns is 1.50 s, and must be < 2.00 s in golden.ebpfrec (pid=200 comm=cc1); sched: 3 events lost: `ebpfrec report -i golden.ebpfrec cpu`
1>
1> --rule:3: INDETERMINATE: oncpu_ns is 1.50 s, and must be > 1.00 s in golden.ebpfrec (pid=200 comm=cc1); sched: 3 events lost: `ebpfrec report -i golden.ebpfrec cpu`
1>
1> --rule:4: INDETERMINATE: sum:wait_ns is 12.3 s, and must be < 1 ns in golden.ebpfrec; sched: 3 events lost: `ebpfrec report -i golden.ebpfrec waits`
1>
1> 0 pass, 1 fail, 3 indeterminate

# Several traces: the median, or every one. A trace that cannot be read decides nothing.
$ for s in 1200ms 1400ms 1600ms; do ebpfrec cut -i golden.ebpfrec --from 1s --until $s -o part-$s 2>/dev/null; done;
> ebpfrec assert part-1200ms part-1400ms part-1600ms --rule 'cpu comm=cc1 oncpu_ms == 400' \
>   --rule 'every: cpu comm=cc1 oncpu_ms < 500' --rule 'every: cpu comm=cc1 oncpu_ms > 100'
? 1
1> VERDICT  FIGURE  LIMIT   RULE
1> PASS     400     == 400  cpu comm=cc1 oncpu_ms == 400
1> FAIL     600     < 500   every: cpu comm=cc1 oncpu_ms < 500
1> PASS     200     > 100   every: cpu comm=cc1 oncpu_ms > 100
1>
1> --rule:2: FAIL: oncpu_ms is 600, and must be < 500 in part-1600ms (pid=200 comm=cc1): `ebpfrec report -i part-1600ms cpu`
1>
1> 2 pass, 1 fail, 0 indeterminate

$ gen_golden damaged.ebpfrec damaged;
> printf '%s\n' 'cpu comm=cc1 oncpu_ns < 10s' 'every: alloc rows > 0' 'io ios < 11' 'io ios < 2' >rules;
> ebpfrec assert part-1200ms damaged.ebpfrec part-1400ms rules 2>/dev/null
? 3
1> VERDICT        FIGURE  LIMIT     RULE
1> INDETERMINATE  400 ms  < 10.0 s  cpu comm=cc1 oncpu_ns < 10s
1> INDETERMINATE  6       > 0       every: alloc rows > 0
1> INDETERMINATE  -       < 11      io ios < 11
1> INDETERMINATE  -       < 2       io ios < 2
1>
1> rules:1: INDETERMINATE: oncpu_ns is 400 ms, and must be < 10.0 s, as the median of 3 traces; damaged.ebpfrec: sched: 3 events lost; 1.000 .. 2.000 s is missing, its part of the trace is damaged: `ebpfrec report -i damaged.ebpfrec cpu`
1>
1> rules:2: INDETERMINATE: rows is 6, and must be > 0 in damaged.ebpfrec; 1.000 .. 2.000 s is missing, its part of the trace is damaged: `ebpfrec report -i damaged.ebpfrec alloc`
1>
1> rules:3: INDETERMINATE: ios is not known, and must be < 11, as the median of 3 traces; part-1200ms: no row matches: `ebpfrec report -i part-1200ms io`
1>
1> rules:4: INDETERMINATE: ios is not known, and must be < 2, as the median of 3 traces; part-1200ms: no row matches: `ebpfrec report -i part-1200ms io`
1>
1> 0 pass, 0 fail, 4 indeterminate

$ ebpfrec cut -i golden.ebpfrec --until 2s -o ten-a 2>/dev/null;
> ebpfrec cut -i golden.ebpfrec --until 1900ms -o ten-c 2>/dev/null

# Ten rules over three traces, one of which is damaged: what the damage touches is not decided, however the others do.
$ printf '%s\n' 'cpu --by comm comm=cc1 util_pct <= 100' 'cpu --until 900ms sum:oncpu_ns <= 1s' \
>   'every: cpu --until 900ms pid=100 oncpu_ms == 400' 'sched --until 900ms rows < 9' \
>   'memory --by comm comm=make rss_peak_mib < 64' 'every: io --until 900ms sum:bytes >= 64KiB' \
>   'if-any: spikes --until 900ms bytes < 1GiB' 'if-any: loss --until 900ms sum:lost_events == 0' \
>   'every: states --until 900ms pid=100 running_ns >= 500ms' 'sql: SELECT pid FROM processes WHERE uid = 99' >ten;
> ebpfrec assert -i ten-a -i damaged.ebpfrec -i ten-c ten 2>/dev/null
? 1
1> VERDICT        FIGURE   LIMIT        RULE
1> INDETERMINATE  47.4 %   <= 100.0 %   cpu --by comm comm=cc1 util_pct <= 100
1> PASS           500 ms   <= 1.00 s    cpu --until 900ms sum:oncpu_ns <= 1s
1> FAIL           500      == 400       every: cpu --until 900ms pid=100 oncpu_ms == 400
1> PASS           1        < 9          sched --until 900ms rows < 9
1> INDETERMINATE  2        < 64         memory --by comm comm=make rss_peak_mib < 64
1> PASS           640 KiB  >= 64.0 KiB  every: io --until 900ms sum:bytes >= 64KiB
1> INDETERMINATE  -        < 1.00 GiB   if-any: spikes --until 900ms bytes < 1GiB
1> PASS           -        == 0         if-any: loss --until 900ms sum:lost_events == 0
1> PASS           500 ms   >= 500 ms    every: states --until 900ms pid=100 running_ns >= 500ms
1> INDETERMINATE  0        == 0         sql: SELECT pid FROM processes WHERE uid = 99
1>
1> ten:1: INDETERMINATE: util_pct is 47.4 %, and must be <= 100.0 %, as the median of 3 traces; damaged.ebpfrec: sched: 3 events lost; 1.000 .. 2.000 s is missing, its part of the trace is damaged: `ebpfrec report -i damaged.ebpfrec cpu --by comm`
1>
1> ten:3: FAIL: oncpu_ms is 500, and must be == 400 in ten-a (pid=100 comm=make): `ebpfrec report -i ten-a cpu --until 900ms`
1>
1> ten:5: INDETERMINATE: rss_peak_mib is 2, and must be < 64, as the median of 3 traces; damaged.ebpfrec: 1.000 .. 2.000 s is missing, its part of the trace is damaged: `ebpfrec report -i damaged.ebpfrec memory --by comm`
1>
1> ten:7: INDETERMINATE: bytes is not known, and must be < 1.00 GiB, as the median of 3 traces; damaged.ebpfrec: 1.000 .. 2.000 s is missing, its part of the trace is damaged: `ebpfrec report -i damaged.ebpfrec spikes --until 900ms`
1>
1> ten:10: INDETERMINATE: the number of rows is 0, and must be == 0 in damaged.ebpfrec; sched: 3 events lost; 1.000 .. 2.000 s is missing, its part of the trace is damaged: `ebpfrec sql -i damaged.ebpfrec 'SELECT pid FROM processes WHERE uid = 99'`
1>
1> 5 pass, 1 fail, 4 indeterminate

# For other programs.
$ printf '%s\n' 'cpu comm=cc1 oncpu_ns < 1s' 'cpu --from 1s --until 2s pid=300 oncpu_ms < 1e3' 'io ios < 2' \
>   'cpu pid=100 oncpu_ns < 100s' >rules; ebpfrec assert -i golden.ebpfrec rules --format csv
? 1
1> verdict,line,rule,column,figure,op,limit,traces,trace,row,why,command
1> FAIL,1,cpu comm=cc1 oncpu_ns < 1s,oncpu_ns,1500000000,<,1000000000,1,golden.ebpfrec,pid=200 comm=cc1,sched: 3 events lost,ebpfrec report -i golden.ebpfrec cpu
1> PASS,2,cpu --from 1s --until 2s pid=300 oncpu_ms < 1e3,oncpu_ms,250,<,1000,1,golden.ebpfrec,"pid=300 comm==1+\x1b[31m,""\xff",,ebpfrec report -i golden.ebpfrec cpu --from 1s --until 2s
1> FAIL,3,io ios < 2,ios,10,<,2,1,golden.ebpfrec,pid=100 comm=make device=dev8:0 op=write,,ebpfrec report -i golden.ebpfrec io
1> INDETERMINATE,4,cpu pid=100 oncpu_ns < 100s,oncpu_ns,1000000000,<,100000000000,1,golden.ebpfrec,pid=100 comm=make,sched: 3 events lost,ebpfrec report -i golden.ebpfrec cpu

$ ebpfrec assert -i golden.ebpfrec rules --format json
? 1
1> [
1> {"verdict":"FAIL","line":1,"rule":"cpu comm=cc1 oncpu_ns < 1s","column":"oncpu_ns","figure":1500000000,"op":"<","limit":1000000000,"traces":1,"trace":"golden.ebpfrec","row":"pid=200 comm=cc1","why":"sched: 3 events lost","command":"ebpfrec report -i golden.ebpfrec cpu"},
1> {"verdict":"PASS","line":2,"rule":"cpu --from 1s --until 2s pid=300 oncpu_ms < 1e3","column":"oncpu_ms","figure":250,"op":"<","limit":1000,"traces":1,"trace":"golden.ebpfrec","row":"pid=300 comm==1+\u001b[31m,\"�","why":null,"command":"ebpfrec report -i golden.ebpfrec cpu --from 1s --until 2s"},
1> {"verdict":"FAIL","line":3,"rule":"io ios < 2","column":"ios","figure":10,"op":"<","limit":2,"traces":1,"trace":"golden.ebpfrec","row":"pid=100 comm=make device=dev8:0 op=write","why":null,"command":"ebpfrec report -i golden.ebpfrec io"},
1> {"verdict":"INDETERMINATE","line":4,"rule":"cpu pid=100 oncpu_ns < 100s","column":"oncpu_ns","figure":1000000000,"op":"<","limit":100000000000,"traces":1,"trace":"golden.ebpfrec","row":"pid=100 comm=make","why":"sched: 3 events lost","command":"ebpfrec report -i golden.ebpfrec cpu"}
1> ]

$ ebpfrec assert -i golden.ebpfrec rules --format junit
? 1
1> <?xml version="1.0" encoding="UTF-8"?>
1> <testsuites>
1~ <testsuite name="rules" tests="4" failures="2" errors="1" time="[0-9]*.[0-9][0-9][0-9]">
1~ <testcase classname="ebpfrec assert" line="1" name="cpu comm=cc1 oncpu_ns &lt; 1s" time="[0-9]*.[0-9][0-9][0-9]">
1> <failure type="FAIL" message="oncpu_ns is 1.50 s, and must be &lt; 1.00 s in golden.ebpfrec (pid=200 comm=cc1); sched: 3 events lost">ebpfrec report -i golden.ebpfrec cpu</failure>
1> </testcase>
1~ <testcase classname="ebpfrec assert" line="2" name="cpu --from 1s --until 2s pid=300 oncpu_ms &lt; 1e3" time="[0-9]*.[0-9][0-9][0-9]"/>
1~ <testcase classname="ebpfrec assert" line="3" name="io ios &lt; 2" time="[0-9]*.[0-9][0-9][0-9]">
1> <failure type="FAIL" message="ios is 10, and must be &lt; 2 in golden.ebpfrec (pid=100 comm=make device=dev8:0 op=write)">ebpfrec report -i golden.ebpfrec io</failure>
1> </testcase>
1~ <testcase classname="ebpfrec assert" line="4" name="cpu pid=100 oncpu_ns &lt; 100s" time="[0-9]*.[0-9][0-9][0-9]">
1> <error type="INDETERMINATE" message="oncpu_ns is 1.00 s, and must be &lt; 100 s in golden.ebpfrec (pid=100 comm=make); sched: 3 events lost">ebpfrec report -i golden.ebpfrec cpu</error>
1> </testcase>
1> </testsuite>
1> </testsuites>

$ ebpfrec assert -i golden.ebpfrec rules --format github
? 1
1> ::error file=rules,line=1,title=FAIL%3A cpu comm=cc1 oncpu_ns < 1s::oncpu_ns is 1.50 s, and must be < 1.00 s in golden.ebpfrec (pid=200 comm=cc1); sched: 3 events lost; ebpfrec report -i golden.ebpfrec cpu
1> ::error file=rules,line=3,title=FAIL%3A io ios < 2::ios is 10, and must be < 2 in golden.ebpfrec (pid=100 comm=make device=dev8:0 op=write); ebpfrec report -i golden.ebpfrec io
1> ::warning file=rules,line=4,title=INDETERMINATE%3A cpu pid=100 oncpu_ns < 100s::oncpu_ns is 1.00 s, and must be < 100 s in golden.ebpfrec (pid=100 comm=make); sched: 3 events lost; ebpfrec report -i golden.ebpfrec cpu

$ ebpfrec assert -i golden.ebpfrec rules --format markdown
? 1
1> | VERDICT | FIGURE | LIMIT | RULE |
1> |---|---|---|---|
1> | FAIL | 1.50 s | &#60; 1.00 s | cpu comm=cc1 oncpu\_ns &#60; 1s |
1> | PASS | 250 | &#60; 1,000 | cpu --from 1s --until 2s pid=300 oncpu\_ms &#60; 1e3 |
1> | FAIL | 10 | &#60; 2 | io ios &#60; 2 |
1> | INDETERMINATE | 1.00 s | &#60; 100 s | cpu pid=100 oncpu\_ns &#60; 100s |
1>
1> rules:1: FAIL: oncpu\_ns is 1.50 s, and must be &#60; 1.00 s in golden.ebpfrec (pid=200 comm=cc1); sched: 3 events lost: \`ebpfrec report -i golden.ebpfrec cpu\`
1>
1> rules:3: FAIL: ios is 10, and must be &#60; 2 in golden.ebpfrec (pid=100 comm=make device=dev8:0 op=write): \`ebpfrec report -i golden.ebpfrec io\`
1>
1> rules:4: INDETERMINATE: oncpu\_ns is 1.00 s, and must be &#60; 100 s in golden.ebpfrec (pid=100 comm=make); sched: 3 events lost: \`ebpfrec report -i golden.ebpfrec cpu\`
1>
1> 1 pass, 2 fail, 1 indeterminate

# Wrong rules are no verdict.
$ echo 'cpu util < 60' | ebpfrec assert -i golden.ebpfrec -
? 2
2> ebpfrec: -:1: the view 'cpu' has no column 'util'; did you mean 'util_pct'?

$ echo 'cpuu util_pct < 60' | ebpfrec assert -i golden.ebpfrec -
? 2
2> ebpfrec report: unknown view 'cpuu'; did you mean 'cpu'?
2> Try 'ebpfrec report --help'.
2> ebpfrec: -:1: report refuses this rule

$ echo 'cpu com=x util_pct < 60' | ebpfrec assert -i golden.ebpfrec -
? 2
2> ebpfrec: -:1: the view 'cpu' has no column 'com'; did you mean 'comm'?

$ ebpfrec assert -i golden.ebpfrec --rule 'cpu oncpu_ns < 60'
? 2
2> ebpfrec assert: --rule:1: '60' is no limit; it must be a time with its unit: 5ms, 1.5s
2> Try 'ebpfrec assert --help'.

$ ebpfrec assert -i golden.ebpfrec --rule 'cpu util_pct < much'
? 2
2> ebpfrec assert: --rule:1: 'much' is no limit; it must be a number of percent: 60, 60%
2> Try 'ebpfrec assert --help'.

$ ebpfrec assert -i golden.ebpfrec --rule 'cpu util_pct'
? 2
2> ebpfrec assert: --rule:1: a rule is 'VIEW [OPTIONS] [COLUMN=VALUE...] COLUMN < LIMIT', or 'sql: SELECT ...'
2> Try 'ebpfrec assert --help'.

$ ebpfrec assert -i golden.ebpfrec --rule 'cpu comm == 3'
? 2
2> ebpfrec: --rule:1: comm is a text: write comm=VALUE rows > 0

$ ebpfrec assert -i golden.ebpfrec --rule "cpu comm='cc1 util_pct < 3"
? 2
2> ebpfrec assert: --rule:1: a quote is not closed
2> Try 'ebpfrec assert --help'.

$ ebpfrec assert -i golden.ebpfrec --rule 'cpu --follow util_pct < 3'
? 2
2> ebpfrec report: a rule takes no -i, --follow, --db, --list, --sparklines or --wide-by
2> Try 'ebpfrec report --help'.
2> ebpfrec: --rule:1: report refuses this rule

$ ebpfrec assert -i golden.ebpfrec --rule 'sql: SELECT nothing FROM processes'
? 2
2> ebpfrec: --rule:1: near "nothing": syntax error

$ ebpfrec assert nothing
? 2
2> ebpfrec assert: nothing: No such file or directory
2> Try 'ebpfrec assert --help'.

$ ebpfrec assert
? 2
2> ebpfrec assert: which rules? Name their file, or give one with --rule
2> Try 'ebpfrec assert --help'.

$ ebpfrec assert -i nothing.ebpfrec --rule 'cpu util_pct < 5'
? 3
1> VERDICT        FIGURE  LIMIT    RULE
1> INDETERMINATE  -       < 5.0 %  cpu util_pct < 5
1>
1> --rule:1: INDETERMINATE: util_pct is not known, and must be < 5.0 % in nothing.ebpfrec; the trace cannot be read: `ebpfrec report -i nothing.ebpfrec cpu`
1>
1> 0 pass, 0 fail, 1 indeterminate
2> ebpfrec: nothing.ebpfrec: no such trace; record one with `ebpfrec record -- COMMAND`, or name it with -i

# A phase, which no mark begins here; and one of a trace that a mark divides.
$ ebpfrec assert -i golden.ebpfrec --rule 'cpu mark:nomark --by comm comm=cc1 util_pct < 5'
? 3
1> VERDICT        FIGURE  LIMIT    RULE
1> INDETERMINATE  -       < 5.0 %  cpu mark:nomark --by comm comm=cc1 util_pct < 5
1>
1> --rule:1: INDETERMINATE: util_pct is not known, and must be < 5.0 % in golden.ebpfrec; sched: 3 events lost: `ebpfrec report -i golden.ebpfrec cpu --by comm --phases`
1>
1> 0 pass, 0 fail, 1 indeterminate

$ ebpfrec assert -i golden.ebpfrec --rule 'cpu --phases phase=[[]start] comm=cc1 oncpu_ms > 5' \
>   --rule 'sched comm=cc1 wait_p99_ns > 5s'
? 3
1> VERDICT        FIGURE  LIMIT     RULE
1> INDETERMINATE  1,500   > 5       cpu --phases phase=[[]start] comm=cc1 oncpu_ms > 5
1> INDETERMINATE  -       > 5.00 s  sched comm=cc1 wait_p99_ns > 5s
1>
1> --rule:1: INDETERMINATE: oncpu_ms is 1,500, and must be > 5 in golden.ebpfrec (pid=200 comm=cc1); sched: 3 events lost: `ebpfrec report -i golden.ebpfrec cpu --phases`
1>
1> --rule:2: INDETERMINATE: wait_p99_ns is not known, and must be > 5.00 s in golden.ebpfrec; sched: 3 events lost: `ebpfrec report -i golden.ebpfrec sched`
1>
1> 0 pass, 0 fail, 2 indeterminate

# Verdicts are kept where the trace is, with figure, limit, window and when; what is judged later takes their place.
# Of bundles, which not every build reads, tests/kernel/copies.sh has this.
$ ebpfrec assert -i part-1200ms --keep --rule 'cpu comm=cc1 oncpu_ms < 100' --rule 'cpu oncpu_ns < 9s' \
>   --rule 'cpu pid=1 oncpu_ns < 9s' >out; echo $?;
> ebpfrec assert -i part-1200ms --keep --rule 'cpu comm=cc1 oncpu_ms < 100' \
>   --rule 'cpu --from 100ms oncpu_ns < 9s' >out; ebpfrec info -i part-1200ms | grep assert;
> ebpfrec check -i part-1200ms >/dev/null && ebpfrec report cpu -i part-1200ms --format csv | tail -n 1
1> 1
1~   note.assert          ????-??-??T??:??:??Z, --rule: 1 pass, 1 fail, 0 indeterminate; FAIL: cpu comm=cc1 oncpu_ms < 100
1~   note.assert.01       {"verdict":"FAIL","rule":"cpu comm=cc1 oncpu_ms < 100","figure":"200","limit":"< 100","window":"0.000 .. 0.200 s","started":"2023-11-14T22:30:01.000Z","judged":"????-??-??T??:??:??Z"}
1~   note.assert.02       {"verdict":"PASS","rule":"cpu --from 100ms oncpu_ns < 9s","figure":"100 ms","limit":"< 9.00 s","window":"0.100 .. 0.200 s","started":"2023-11-14T22:30:01.000Z","judged":"????-??-??T??:??:??Z"}
1> 200,cc1,200000000,100,0,0,1,0,,,
2> ebpfrec: part-1200ms: whole: 2 blocks, 169 events

# The summary has them, what failed first, and so has a cut, which knows of what they were found.
$ ebpfrec cut -i part-1200ms --until 50ms -o short 2>/dev/null; ebpfrec report -i short | sed -n '/^Rules/,$p'
1> Rules judged
1> VERDICT  JUDGED (UTC)      FIGURE  LIMIT     RULE                            WINDOW            STARTED (UTC)
1~ FAIL     ????-??-?? ??:??  200     < 100     cpu comm=cc1 oncpu_ms < 100     0.000 .. 0.200 s  2023-11-14 22:30:01.000
1~ PASS     ????-??-?? ??:??  100 ms  < 9.00 s  cpu --from 100ms oncpu_ns < 9s  0.100 .. 0.200 s  2023-11-14 22:30:01.000
1>
1> Cause 1: ebpfrec report cpu --by thread --comm cc1 -i short

$ ebpfrec report -i short --format csv | grep '^Rules judged,1,'
1> Rules judged,1,verdict,FAIL
1~ Rules judged,1,judged_utc,????-??-?? ??:??
1> Rules judged,1,figure,200
1> Rules judged,1,limit,< 100
1> Rules judged,1,rule,cpu comm=cc1 oncpu_ms < 100
1> Rules judged,1,window,0.000 .. 0.200 s
1> Rules judged,1,started_utc,2023-11-14 22:30:01.000
1> Rules judged,1,traces,
1> Rules judged,1,why,

$ ebpfrec report -i golden.ebpfrec | grep -c Rules
? 1
1> 0

# A page has them too, of a program that makes pages, and no empty section without them.
$ for t in short golden.ebpfrec; do ebpfrec export -q -i $t --to html -o $t.html 2>err;
> grep -q 'built without' err && echo "$t $([ $t = short ] && echo 1 || echo 0)" ||
> echo "$t $(grep -c '<h3>Rules judged' $t.html)"; done
1> short 1
1> golden.ebpfrec 0

# A note of somebody else of such a name, and one that is no JSON, are not in the way.
$ cp -r part-1200ms noted; python3 - noted/manifest \
>   <<<'import sys; p = sys.argv[1]; t = open(p).read().split("\n"); t[1:2] = ["note.assert.x=hello",
>   "note.assert.y={}"]; open(p, "w").write("\n".join(t))'; ebpfrec report -i noted | grep -A3 Rules
1> Rules judged
1> VERDICT  JUDGED (UTC)      FIGURE  LIMIT     RULE                            WINDOW            STARTED (UTC)
1~ FAIL     ????-??-?? ??:??  200     < 100     cpu comm=cc1 oncpu_ms < 100     0.000 .. 0.200 s  2023-11-14 22:30:01.000
1~ PASS     ????-??-?? ??:??  100 ms  < 9.00 s  cpu --from 100ms oncpu_ns < 9s  0.100 .. 0.200 s  2023-11-14 22:30:01.000

# A trace of several is judged by their median; warm-up runs are left out, as by diff, and get no note.
$ for s in 1200ms 1400ms 1600ms; do rm -rf part-$s;
> ebpfrec cut -i golden.ebpfrec --from 1s --until $s -o part-$s 2>/dev/null; done;
> python3 - part-1600ms/manifest \
>   <<<'import sys; p = sys.argv[1]; t = open(p).read().split("\n"); t[1:2] = ["note.warm_up=1"]; open(p,
>   "w").write("\n".join(t))'; ebpfrec assert part-* --keep --rule 'cpu comm=cc1 oncpu_ms == 300' \
>   --rule 'every: cpu comm=cc1 oncpu_ms <= 400'; grep -c note.assert part-*/manifest;
> ebpfrec report -i part-1200ms --wide | grep -A3 Rules
1> VERDICT  FIGURE  LIMIT   RULE
1> PASS     300     == 300  cpu comm=cc1 oncpu_ms == 300
1> PASS     400     <= 400  every: cpu comm=cc1 oncpu_ms <= 400
1>
1> 2 pass, 0 fail, 0 indeterminate
1> part-1200ms/manifest:3
1> part-1400ms/manifest:3
1> part-1600ms/manifest:0
1> Rules judged
1> VERDICT  JUDGED (UTC)      FIGURE  LIMIT   RULE                                 WINDOW            STARTED (UTC)            TRACES
1~ PASS     ????-??-?? ??:??  300     == 300  cpu comm=cc1 oncpu_ms == 300         0.000 .. 0.200 s  2023-11-14 22:30:01.000  median of 2 traces
1~ PASS     ????-??-?? ??:??  400     <= 400  every: cpu comm=cc1 oncpu_ms <= 400  0.000 .. 0.400 s  2023-11-14 22:30:01.000  part-1400ms, of 2 traces
2> ebpfrec: part-1600ms: a warm-up run, left out

$ ebpfrec assert part-1600ms --rule 'cpu comm=cc1 oncpu_ms == 300'
? 2
2> ebpfrec: part-1600ms: a warm-up run, left out
2> ebpfrec assert: all traces are warm-up runs, which are left out
2> Try 'ebpfrec assert --help'.

