# The trace that comes with the program can be read, and its steps lead to its fault: a lock, who holds it, and the file.

$ ebpfrec demo >said; echo $?; grep -c '^\$ ebpfrec ' said; grep -o 'stock_lock (shop) .* audit' said | sed 's/ .* / /'; grep -c '^/srv/audit.log ' said; grep -c 'complete$' said
1> 0
1> 5
1> stock_lock audit
1> 1
1> 4
