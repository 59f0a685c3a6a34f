# record.sh of the GitHub Action, with a program that "records" copies of a trace; tests/full/action.sh has one that
# records.

$ printf '%s\n' '#!/bin/bash' '[ "$1" = record ] || exec ebpfrec "$@"' '[ -z "${BREAK:-}" ] || exit "$BREAK"' \
>   'while [ "$1" != -o ]; do shift; done' 'for i in 1 2; do cp -r whole "$2.$i"; done' >fake; chmod +x fake;
> ebpfrec cut -i golden.ebpfrec --until 1500ms -o whole 2>/dev/null;
> printf '%s\n' 'cpu --by comm comm=make oncpu_ms <= 501' >good;
> for r in good=501 fails=400 column=500 view=500; do v=cpu c=oncpu_ms; [ ${r%=*} != column ] || c=oncpu;
> [ ${r%=*} != view ] || v=cpuu; echo "$v --by comm comm=make $c <= ${r#*=}" >${r%=*}; done;
> echo 'cpu comm=nobody util_pct < 5' >open; ls
1> column
1> fails
1> fake
1> golden.ebpfrec
1> good
1> open
1> view
1> whole

$ for r in good fails column view missing open;
> do EBPFREC=$PWD/fake RULES=$r $RECORD_SH out -- true >log 2>/dev/null; echo "$r $?";
> grep -ho '^::[a-z]* [^,]*ebpfrec::[^:]*\|^::error file=[a-z]*' log | grep -v 'notice\|no bundle'; done
1> good 0
1> fails 1
1> ::error file=fails
1> column 2
1> ::error title=ebpfrec::the rules are wrong
1> view 2
1> ::error title=ebpfrec::the rules are wrong
1> missing 2
1> ::error title=ebpfrec::the rules cannot be read
1> open 0
1> ::warning title=ebpfrec::rules could not be decided

# what cannot be decided fails if that is asked for
$ EBPFREC=$PWD/fake RULES=open STRICT=1 $RECORD_SH out -- true >log 2>/dev/null; echo $?
1> 1

# runs and results of an earlier job are gone, and what is not ours stays
$ mkdir -p stale; for i in 1 7 7.old; do cp -r golden.ebpfrec stale/run.$i; done; touch stale/junit.xml stale/notes;
> EBPFREC=$PWD/fake $RECORD_SH stale -- true >log 2>/dev/null; echo $?;
> ls -d stale/run.[0-9]* stale/junit.xml stale/notes 2>/dev/null; head -1 stale/summary.md; rm -r stale/run.*;
> mkdir stale/run.9; EBPFREC=$PWD/fake $RECORD_SH stale -- true 2>/dev/null; echo $?
1> 0
1> stale/notes
1> stale/run.1
1> stale/run.2
1> ## Recorded: 2 runs
1> ::error title=ebpfrec::not a trace, and in the way: stale/run.9
1> 125

# commands that fail: the recording, the program that judges, the one that compares
$ EBPFREC=$PWD/fake BREAK=125 $RECORD_SH none -- true 2>/dev/null; echo $?
1> ::error title=ebpfrec::nothing was recorded
1> 125

$ for dies in assert diff; do printf '%s\n' '#!/bin/bash' "[ \$1 != $dies ] || exit 139" 'exec ./fake "$@"' >dies;
> chmod +x dies; EBPFREC=./dies RULES=good BASELINE=out $RECORD_SH dead -- true 2>/dev/null |
> grep -v 'notice\|no bundle'; echo ${PIPESTATUS[0]}; done; EBPFREC=./fake BASELINE=out $RECORD_SH ./out -- true;
> echo $?
1> ::error title=ebpfrec::ebpfrec assert ended with status 139
1> 1
1> ::error title=ebpfrec::ebpfrec diff ended with status 139
1> 1
1> ::error title=ebpfrec::the baseline is the directory that is recorded into
1> 2
