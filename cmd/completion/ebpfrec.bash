# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# bash completion for ebpfrec. Commands, options, views, tables and event sources come from the program itself, so
# that this file has nothing to forget.

_ebpfrec_commands()
{
	"$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p'
}

# Options of a command, "--name" or "--name=" when they take a value.
_ebpfrec_options()
{
	"$1" "$2" --help 2>/dev/null | grep -oE '^ .{5}--[a-z-]+' | grep -oE -- '--[a-z-]+'
}

# The words an option takes, from what its line in the help says it takes.
_ebpfrec_values()
{
	local program=$1 command=$2 option=$3 line

	case $option in
	-e | --events)
		"$program" record -e list 2>/dev/null | sed -n 's/^\([a-z][a-z.]*\) .*/\1/p'
		return
		;;
	-t | --table)
		"$program" sql --list 2>/dev/null | sed 's/ .*//'
		return
		;;
	--format)
		[ "$command" = report ] && echo markdown folded html pprof
		[ "$command" = diff ] && echo markdown
		[ "$command" = assert ] && echo markdown junit github
		echo "table csv json jsonl"
		return
		;;
	--by)
		"$program" report --list --format jsonl 2>/dev/null | sed 's/.*"by":"\([a-z,_]*\)".*/\1/' | tr , '\n' | sort -u
		return
		;;
	--to)
		if [ "$command" = export ]; then
			line=$("$program" export --help 2>/dev/null | sed -n 's/.*--to FORMAT *//p')
			grep -oE '[a-z]+' <<<"$line" | grep -vE '^(or|and|a|the|default)$'
		fi
		return
		;;
	--show)
		"$program" report --list --format jsonl 2>/dev/null |
			awk -F'"' -v words=" ${COMP_WORDS[*]} " 'match($0, /"of":"[a-z]+"/) {
				if (index(words, " " substr($0, RSTART + 6, RLENGTH - 7) " ")) print $8 }'
		return
		;;
	-u | --user) compgen -u; return ;;
	-i | --input | -o | --output | --db | --cgroup | --btf) echo "<file>"; return ;;
	esac
	line=$("$program" "$command" --help 2>/dev/null | grep -E -- "(^|[ ,])$option( |,|\$)" | head -n 1)
	# an option with a value shows it in capitals
	grep -qE -- "$option [A-Z]" <<<"$line" && echo "<value>"
}

_ebpfrec()
{
	local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command='' word i values

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		--)
			# what follows is another program's command line
			declare -F _command_offset >/dev/null && _command_offset $((i + 1))
			return
			;;
		-*) ;;
		*) [ -n "$command" ] || command=$word ;;
		esac
	done
	if [ -z "$command" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_ebpfrec_commands "$program") --help --version" -- "$current")
		return
	fi
	if [[ $previous == -* && $previous != -- ]]; then
		values=$(_ebpfrec_values "$program" "$command" "$previous")
		case $values in
		'') ;;
		'<value>') return ;;
		'<file>')
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
			compopt -o filenames 2>/dev/null
			return
			;;
		*)
			# a list separated by commas: complete its last word
			local head=''
			[[ $current == *,* ]] && head=${current%,*},
			mapfile -t COMPREPLY < <(compgen -W "$values" -P "$head" -- "${current##*,}")
			return
			;;
		esac
	fi
	case $command in
	report)
		values=$("$program" report --list --format jsonl 2>/dev/null |
			sed -n '/"of":/!s/.*"view":"\([a-z]*\)".*/\1/p')
		;;
	help) values=$(_ebpfrec_commands "$program") ;;
	*) values='' ;;
	esac
	if [[ $current == -* || -n $values ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$values $(_ebpfrec_options "$program" "$command")" -- "$current")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		compopt -o filenames 2>/dev/null
	fi
}

complete -F _ebpfrec ebpfrec
