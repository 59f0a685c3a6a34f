#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Programs of many languages, in each of which leaf() burns nearly all the time and is called by middle() and by the
# program's first function: of at least 95 % of the samples both ends of the stack have names. C++ with and without
# frame pointers, stripped (with its debug file in a directory of --symbols), and in a container: a root, a /tmp and
# numbers of processes of its own. Programs of Go have all callers, also stripped and loaded at any address.
. "$(dirname "$0")/../kernel/harness.bash"

cd "$tmp" || exit 1
export GO111MODULE=off GOFLAGS= GOCACHE=$tmp/cache
ran=()

# sampled NAME COMMAND...: records a program; unwind: how
unwind=dwarf
sampled()
{
	ran+=("$1")
	recorded "$1.rec" -e sched --profile=997 --unwind "$unwind" --only -- "${@:2}"
}

# in_container COMMAND...: with a root that has everything but /tmp
in_container()
{
	# shellcheck disable=SC2016
	unshare --mount --pid --fork sh -c 'mkdir -p root && mount --rbind / root && mount -t tmpfs tmpfs root/tmp &&
		mount -t proc proc root/proc && exec chroot root "$@"' sh "$@"
}
export -f in_container

cat >main.cc <<'END'
static volatile unsigned long sum;
__attribute__((noinline)) static void leaf(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i * i; }
__attribute__((noinline)) static void middle(unsigned long n) { leaf(n); sum++; }
int main() { for (int i = 0; i < 300; i++) middle(2000000); return 0; }
END
g++ -O1 -fno-omit-frame-pointer -o cpp main.cc && g++ -O1 -g -fomit-frame-pointer -Wl,--build-id -o cpp_bare main.cc &&
	strip -o cpp_stripped cpp_bare || { not_ok "languages: g++" "it failed"; exit 1; }
mkdir debug && objcopy --only-keep-debug cpp_bare debug/cpp
sampled cpp ./cpp
unwind=fp sampled cpp_pointers ./cpp
sampled cpp_bare ./cpp_bare
sampled cpp_stripped ./cpp_stripped
sampled cpp_contained bash -c "in_container $tmp/cpp_bare"

python=
for p in python3.14 python3.13 python3.12 python3 ~/.pyenv/versions/*/bin/python3; do
	python=$("$p" -c 'import sys; print(sys.executable if sys.version_info >= (3, 12) else "")' 2>/dev/null)
	[ -z "$python" ] || break
done
cat >main.py <<'END'
def leaf(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
def middle(n):
    return leaf(n) + 1
for i in range(300):
    middle(60000)
END
if [ -n "$python" ]; then
	sampled python "$python" -X perf main.py
	sampled python_contained bash -c "in_container $python -X perf $tmp/main.py"
else
	skip languages/python "there is no CPython 3.12 or later"
fi

cat >main.js <<'END'
let sum = 0;
function leaf(n) { for (let i = 0; i < n; i++) sum += i * i % 7; }
function middle(n) { leaf(n); sum++; }
for (let i = 0; i < 600; i++) middle(200000);
END
if command -v node >/dev/null; then
	sampled node node --perf-basic-prof --interpreted-frames-native-stack main.js
	sampled node_jitdump node --perf-prof --interpreted-frames-native-stack main.js
	sampled node_contained bash -c "in_container node --perf-basic-prof --interpreted-frames-native-stack $tmp/main.js"
else
	skip languages/node "there is no Node"
fi

cat >Main.java <<'END'
public class Main {
	static long sum;
	static void leaf(int n) { for (int i = 0; i < n; i++) sum += (long)i * i % 7; }
	static void middle(int n) { leaf(n); sum++; }
	public static void main(String[] args) { for (int i = 0; i < 3000; i++) middle(200000); System.out.println(sum); }
}
END
if command -v javac >/dev/null && javac Main.java 2>err; then
	sampled java java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer \
		-XX:CompileCommand=dontinline,Main.leaf -XX:CompileCommand=quiet Main
else
	skip languages/java "there is no JDK"
fi

cat >main.rs <<'END'
#[inline(never)]
fn leaf(n: u64) -> u64 { let mut s = 0u64; for i in 0..n { s = std::hint::black_box(s.wrapping_add(i * i)); } s }
#[inline(never)]
fn middle(n: u64) -> u64 { leaf(n) ^ 1 }
fn main() { let mut s = 0; for _ in 0..300 { s ^= middle(3000000); } println!("{}", s); }
END
if command -v rustc >/dev/null && rustc -O -o rust main.rs 2>err; then
	sampled rust ./rust
else
	skip languages/rust "there is no Rust compiler"
fi

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
if command -v go >/dev/null; then
	go build -o go main.go && go build -ldflags '-s -w' -o go_stripped main.go &&
		go build -buildmode=pie -ldflags '-s -w' -o go_pie main.go || { not_ok "go build" "it failed"; exit 1; }
	for name in go go_stripped go_pie; do
		sampled $name ./$name
	done
else
	skip languages/go "there is no Go compiler"
fi

RAN="${ran[*]}" checker <"$top/tests/full/languages.py"
