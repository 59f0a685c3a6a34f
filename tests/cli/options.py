# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
options.py: --help, the man page, and what bash and zsh complete name the same options, for every command. An option
that is added in one place only fails here. Prints "ok NAME", "not ok NAME: reason", "SKIP NAME: why".
"""
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = sys.argv[1]
ZSH = r"""
f() { source %s/cmd/completion/_ebpfrec }
_describe() { print -rl -- "${(@)${(@P)2}%%%%:*}" }
words=(%s %s --) CURRENT=3
f
"""


# In an instrumented build LeakSanitizer once hung at the end of a process that zsh had started.
ENV = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")


def output(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENV).stdout


def helped(command):
    """{'--input': '-i', ...}"""
    text = output(PROGRAM, command, "--help")
    text = text[text.index("\nOptions:"):].split("\nExamples:")[0]
    return {long: short for short, long in re.findall(r"(?m)^  (-\w|  ),? +(--[a-z-]+)", text)}


def paged(command):
    """the same from the man page: items of OPTIONS, each the line after .TP; one may name several"""
    text = open("%s/cmd/ebpfrec-%s.1" % (TOP, command)).read()
    options = re.search(r"(?ms)^\.SH OPTIONS\n(.*?)(?=^\.SH )", text)
    found = {}
    for line in re.findall(r"(?m)^\.T[PQ]\n\.[BIR]+ (.*)$", options.group(1) if options else ""):
        for short, long in re.findall(r"(?:(-\w) *, *)?(--[a-z-]+)", re.sub(r'\\f.|["\\]', "", line)):
            found[long] = short or "  "
    return found


def bash_offers(command):
    script = ('source "%s/cmd/completion/ebpfrec.bash"; COMP_WORDS=("%s" %s --); COMP_CWORD=2; _ebpfrec 2>/dev/null; '
              'printf "%%s\\n" "${COMPREPLY[@]}"')
    return {w for w in output("bash", "-c", script % (TOP, PROGRAM, command)).split() if w.startswith("--")}


def zsh_offers(command):
    return {w for w in output("zsh", "-fc", ZSH % (TOP, PROGRAM, command)).split() if w.startswith("--")}


def check(name, got, want):
    if got == want:
        print("ok " + name)
    else:
        missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
        print("not ok %s: missing %s, not in --help %s%s" % (name, missing, extra, "" if missing or extra
            else ", short names differ"))


def examples(command):
    """the examples of --help, and the lines of EXAMPLES in the man page"""
    text = output(PROGRAM, command, "--help")
    helped = text.split("\nExamples:\n")[1] if "\nExamples:\n" in text else ""
    page = open("%s/cmd/ebpfrec-%s.1" % (TOP, command)).read()
    lines = re.search(r"(?ms)^\.SH EXAMPLES\n\.nf\n(.*?)^\.fi$", page)
    plain = (lines.group(1) if lines else "").replace("\\(aq", "'").replace("\\-", "-").replace("\\e", "\\")
    return {line.strip() for line in helped.splitlines() if line.strip()}, set(plain.splitlines())


commands = re.findall(r"(?m)^  ([a-z]+) +\S", output(PROGRAM, "--help").split("Commands:")[1])
commands = [c for c in commands if c not in ("help", "version")]
if len(commands) < 14:
    print("not ok options: --help lists commands: %s" % commands)
for command in commands:
    wanted = helped(command)
    if "--help" not in wanted:
        print("not ok options of %s: --help is not understood: %s" % (command, wanted))
    check("options of %s: man page" % command, paged(command), wanted)
    in_help, in_page = examples(command)
    check("examples of %s: man page" % command, in_page & in_help, in_help or {"an example"})
    check("options of %s: bash" % command, bash_offers(command), set(wanted))
    if shutil.which("zsh"):
        check("options of %s: zsh" % command, zsh_offers(command), set(wanted))
if not shutil.which("zsh"):
    print("SKIP options_zsh: zsh is not installed")
