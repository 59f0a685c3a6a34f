#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# install.sh: chdb (ClickHouse 26.7 in process), DuckDB 1.5 and hyparquet for node, from the npm registry into the
# cache. Prints their directory; or says on stderr why there is none, and ends with 1. They are there already after the
# first time: it fetches 190 MB and keeps 640 MB. Each package has the contents that it had when this was written, and
# no script of it runs.
set -u

version=chdb-3.4.0-duckdb-1.5.6-hyparquet-1.33.0
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ebpfrec/engines-$version
packages='chdb@3.4.0 47bad24d64658bc3c84d9d7651f53290012ae78deb98912d6a06b84d858be26b
@chdb/lib-linux-x64-gnu@26.7.3-stable.1 c0d32b129e988f2b9a9a31c9141aecf5e1e2453f9a079efc4d36ab8e3f92b2ad
@duckdb/node-api@1.5.6-r.1 64d5080af3c0144329f9cbdbff7bc867c9c1f9df57a7e7e2a8b13bc6ed2bc664
@duckdb/node-bindings@1.5.6-r.1 9d1ebca9020dcd5680e2e38bd182f1a0e69e59f00d31dfc5afca2623b8a34ac3
@duckdb/node-bindings-linux-x64@1.5.6-r.1 1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff
detect-libc@2.1.2 270dec0fc06cff86481da8af2dd8f18dee6b602790b14ef0e1c2c18d7da39427
hyparquet@1.33.0 6af16c6ed33e983d6ee6e5e05b1ef3ae766efc22240fac3eb56ecd2ab5780e9b
hyparquet-compressors@1.1.2 d0b146d31c35a8f51ee05358326fb833ff13347e64d7c61b8592e9de0a76c3cc
fzstd@0.1.1 5ed2ee2d3439067be211d0093292c708a831045372342c897437e5a4997c45c5
hysnappy@1.1.1 3935b671bab5e639e061d473f45ab19c756c65ff6b6fb884f4370eb6b8ae528f'

fail()
{
	echo "$1" >&2
	exit 1
}

# into node_modules; npm prints the files in the order of the packages
unpack_all()
{
	local package sum file

	# shellcheck disable=SC2046
	npm pack --loglevel=error $(cut -d' ' -f1 <<<"$packages") >pack.out 2>pack.err ||
		fail "npm does not give all packages: $(grep -m 1 error pack.err)"
	while read -r package sum && read -r file <&3; do
		sha256sum --check --status <<<"$sum  $file" || fail "npm's $package is not what it was"
		mkdir -p "node_modules/${package%@*}" && tar -xzf "$file" -C "node_modules/${package%@*}" --strip-components 1 &&
			rm "$file" || exit 1
	done <<<"$packages" 3<pack.out
}

if ! [ -e "$cache" ]; then
	[ "$(uname -m)" = x86_64 ] || fail "the packages are those for x86-64"
	command -v node >/dev/null && command -v npm >/dev/null || fail "node and npm are needed for chdb and DuckDB"
	mkdir -p "${cache%/*}" && new=$(mktemp -d "$cache.XXXXXX") || exit 1
	trap 'rm -rf "$new"' EXIT
	(cd "$new" && unpack_all) || exit 1
	mv -T "$new" "$cache" 2>/dev/null || [ -e "$cache" ] || exit 1
fi
echo "$cache"
