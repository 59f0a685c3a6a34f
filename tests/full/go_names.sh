#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Programs of Go, also stripped and loaded at any address: every sample in the program's function has its name, its
# caller, which has no frame pointer to be found by, and the goroutine's first function.
. "$(dirname "$0")/../kernel/harness.bash"

command -v go >/dev/null || { skip go "there is no Go compiler"; exit 0; }
cd "$tmp" || exit 1
cat >main.go <<'END'
package main

import "time"

//go:noinline
func leaf(x uint64) uint64 {
	for i := 0; i < 2000000; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func middle(x uint64) uint64 { return leaf(x) + 1 }

func work(s uint64, end time.Time) uint64 {
	for time.Now().Before(end) {
		s = middle(s)
		m := map[uint64][]byte{}
		for i := uint64(0); i < 2000; i++ {
			m[i] = make([]byte, 100)
		}
	}
	return s
}

func main() {
	end := time.Now().Add(time.Second)
	done := make(chan uint64)
	go func() { done <- work(1, end) }()
	println(work(2, end) + <-done)
}
END
export GO111MODULE=off GOFLAGS= GOCACHE=$tmp/cache
go build -o full main.go && go build -ldflags '-s -w' -o stripped main.go &&
	go build -buildmode=pie -ldflags '-s -w' -o pie main.go || { not_ok "go build" "it failed"; exit 1; }
for name in full stripped pie; do
	recorded "$name.rec" -e sched --profile=997 -- "./$name"
done
checker <"$top/tests/full/go_names.py"
