#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# bench_plots.sh DIR: draws DIR/samples.csv into DIR/plots, one PNG per case and metric: on the left a
# box plot per side, on the right each sample over the one before it (a lag plot: a cloud says samples
# are independent, a line or clusters say that the machine drifted or that something came and went).
set -eu

dir=$1
command -v gnuplot >/dev/null 2>&1 || { echo "bench_plots.sh: gnuplot is not installed: no plots" >&2; exit 0; }
rm -rf "$dir/plots"
mkdir -p "$dir/plots"
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

# Only metrics with a better and a worse value, the sides in the order of the file, and only with at least
# five samples: fewer have no quartiles to draw.
awk -F, 'NR > 1 && $5 == 0 && $8 != "-" && $7 != "events" && $1 != "programs" { print $1, $3, $7 }' "$dir/samples.csv" \
	| sort -u |
	while read -r case_name metric unit; do
		list=()
		rm -f "$data"/*
		while read -r side; do
			awk -F, -v c="$case_name" -v m="$metric" -v s="$side" \
				'$1 == c && $3 == m && $2 == s && $5 == 0 { print $6 }' "$dir/samples.csv" >"$data/$side"
			[ "$(wc -l <"$data/$side")" -lt 5 ] || list+=("$side")
		done < <(awk -F, -v c="$case_name" -v m="$metric" '$1 == c && $3 == m && !seen[$2]++ { print $2 }' \
			"$dir/samples.csv")
		[ ${#list[@]} -gt 0 ] || continue
		for side in "${list[@]}"; do
			awk 'NR > 1 { print last, $1 } { last = $1 }' "$data/$side" >"$data/$side.lag"
		done
		gnuplot <<-END || echo "bench_plots.sh: $case_name $metric: gnuplot failed" >&2
		set terminal pngcairo size 1100,480 font "sans,10"
		set output "$dir/plots/$case_name-$metric.png"
		sides = "${list[*]}"
		set multiplot layout 1,2 title "$case_name: ${metric//_/ } [$unit]" noenhanced
		set style data boxplot
		set style boxplot outliers pointtype 6
		set style fill solid 0.3 border
		unset key
		set yrange [0:*]
		set xrange [0.5:${#list[@]}.5]
		set grid ytics
		set format y "%.6g"
		set xtics () nomirror noenhanced
		set for [i=1:words(sides)] xtics add (word(sides, i) i)
		plot for [i=1:words(sides)] "$data/".word(sides, i) using (i):1 lt i lw 1.5 pointsize 0.6
		set style data points
		set autoscale
		set xtics auto nomirror rotate by -30
		set format x "%.6g"
		set grid
		set key outside noenhanced
		set xlabel "sample before"
		set ylabel "sample"
		plot for [i=1:words(sides)] "$data/".word(sides, i).".lag" using 1:2 pt 7 ps 0.9 lt i title word(sides, i)
		END
	done
