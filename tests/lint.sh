#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# lint.sh: static analysis of everything that ships: clang-tidy with .clang-tidy, cppcheck with .cppcheck-suppressions.
# Needs a build (generated headers). LINT_NODES=225000, clang's default, looks deeper and takes ten times as long.
# One verdict per source file and tool. The last line is "N passed, N failed".
set -u

cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
jobs=${LINT_JOBS:-$(nproc)}
files=(src/*/*.c src/*/*/*.c analyze/*/*.c cmd/*.c cmd/*/*.c)
passed=0 failed=0
out=$(mktemp -d "${TMPDIR:-/tmp}/ebpfrec-lint.XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT

# judge TOOL: findings are lines "FILE:LINE: ..." in $out/TOOL
judge()
{
	local file

	for file in "${files[@]}"; do
		if grep -qF "$file:" "$out/$1"; then
			failed=$((failed + 1))
			echo "not ok lint/$1/$file: $(grep -F "$file:" "$out/$1" | head -n 3 | tr '\n' ' ')"
		else
			passed=$((passed + 1))
		fi
	done
	if grep -vE "^($(IFS='|'; echo "${files[*]}")):" "$out/$1" | grep -E '^[^ ]+:[0-9]+:' | grep -v "^$build/"; then
		failed=$((failed + 1))
		echo "not ok lint/$1: findings in headers, above"
	fi
}

[ -e "$build/ebpfrec.skel.h" ] || { echo "not ok lint: nothing built in $build; run make"; exit 1; }
# Nine tenths of the time is the analyzer's, in few large functions: max-nodes, 225000 by default, bounds its work for
# each.
# shellcheck disable=SC2016
printf '%s\n' "${files[@]}" | build=$build top=$PWD nodes=${LINT_NODES:-8000} xargs -P "$jobs" -n 6 sh -c '
	{ clang-tidy -quiet "$@" -- -std=gnu11 -I. -Isrc -I"$build" -D_GNU_SOURCE -DEBPFREC_VERSION=\"lint\" -DEBPFREC_LINES \
		-DEBPFREC_DEMANGLE -Xclang -analyzer-config -Xclang max-nodes=$nodes 2>/dev/null
	[ $? -lt 128 ] || for f; do echo "$f:1:1: error: clang-tidy crashed on one of: $*"; done; } |
		sed "s|^$top/||" | grep -E "^[^ ]+:[0-9]+:[0-9]+: (warning|error): "' sh | sort -u >"$out/clang-tidy"
judge clang-tidy
# The skeleton holds the BPF programs as one string, which cppcheck reads for minutes.
mkdir "$out/include" && cp "$build"/*.h "$out/include" && rm "$out/include/ebpfrec.skel.h"
cppcheck -q -j "$jobs" --enable=warning,portability,performance --inline-suppr --std=c11 -I. -Isrc -I"$out/include" \
	--suppressions-list=.cppcheck-suppressions --suppress=missingInclude \
	--template='{file}:{line}: {severity}: {message} [{id}]' \
	src analyze cmd >"$out/cppcheck" 2>&1
[ $? -eq 0 ] || echo "cppcheck ended badly:1: see above" >>"$out/cppcheck"
judge cppcheck
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
