# What is only for a trace that is being recorded, or for a directory, given something else.

# A bundle is in tests/kernel/copies.sh: not every build reads them.

$ mkdir empty; echo text >file; ebpfrec mark -i empty hello
? 1
2> ebpfrec: empty: not a trace: it has no file 'manifest'; name the one that is being recorded with -i

$ ebpfrec mark -i file hello
? 1
2> ebpfrec: 'file' is not a trace: a trace is a directory, or a zip file that `ebpfrec bundle` made

$ ebpfrec mark -i nowhere hello
? 1
2> ebpfrec: nowhere: no such trace; record one with `ebpfrec record -- COMMAND`, or name it with -i

$ gen_golden killed.ebpfrec open; ebpfrec mark -i killed.ebpfrec hello
? 1
2> ebpfrec: killed.ebpfrec: nobody is recording into it; only a running recording takes marks

$ ebpfrec snapshot -i empty -o copy
? 1
2> ebpfrec: empty: not a trace: it has no file 'manifest'

$ ebpfrec snapshot -i file -o copy
? 1
2> ebpfrec: 'file' is not a trace: a trace is a directory, or a zip file that `ebpfrec bundle` made

$ ebpfrec snapshot -i nowhere -o copy
? 1
2> ebpfrec: nowhere: no such trace; record one with `ebpfrec record -- COMMAND`, or name it with -i

$ ebpfrec snapshot -i killed.ebpfrec -o copy && ebpfrec check -i copy
1...
2~ ebpfrec: copy: 4.00 s, 4 blocks, [0-9.]* kB
2> ebpfrec: copy: whole: 4 blocks, 231 events

$ ls -A | grep ebpfrec-new
? 1
