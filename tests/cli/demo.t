# The trace that comes with the program can be read, and its steps lead to its fault: a lock, who holds it, and the
# file.

$ ebpfrec demo >said; echo $?; grep -c '^\$ ebpfrec ' said; grep -o 'stock_lock (shop) .* audit' said |
> sed 's/ .* / /'; grep -c '^/srv/audit.log ' said; grep -c 'complete$' said
1> 0
1> 5
1> stock_lock audit
1> 1
1> 4

$ ebpfrec report processes -i "$(dirname "$README")/cmd/demo/shop.ebpfrec" | sed 1,2d
1> PID  PPID  COMM      START (s)    WALL   ONCPU  RSS PEAK  EXIT  SIGNAL  CMDLINE
1> 161   160  shop         -1.798  3.30 s  1.33 s   796 KiB     0       -  shop /srv/audit.log 3000
1> 169   161   nightly      0.103  3.19 s  1.83 s   332 KiB     -       9  shop /srv/audit.log 3000
1>
1> Processes that ran, began or ended in the window, with their parents, each below its parent. (More: --notes.)

$ ebpfrec report processes -i "$(dirname "$README")/cmd/demo/shop.ebpfrec" --machine --format csv | head -4
1> pid,ppid,depth,comm,start_ns,wall_ns,oncpu_ns,rss_peak_bytes,exit_status,signal,cmdline,complete,lost_events
1> 161,160,0,shop,-1798271764,3304831241,1333321672,815104,0,,shop /srv/audit.log 3000,1,0
1> 169,161,1,nightly,103287445,3188045055,1826577595,339968,,9,shop /srv/audit.log 3000,1,0
1> 2,0,0,kthreadd,-9528280115,3352781428,0,,,,,1,0
