"""The texts of the programs that stand for others while scripts run; `StandIns` fills them in.

A command that is not run is written to the file `log`, an edit to the file `edits_log`.
"""

RUN_PYTHON = """#!/bin/sh
options=
while :; do
    case "$1" in
        -B | -O | -OO | -q | -u) options="$options $1"; shift ;;
        -W | -X) options="$options $1 $2"; shift 2 ;;
        *) break ;;
    esac
done
if [ "$1" = -m ] && [ "$2" = pip ]; then
    shift 2
    exec pip "$@"
fi
if [ $# = 0 ]; then
    set -- -
fi
if [ "$1" = -c ] || [ "$1" = - ] || [ -f "$1" ]; then
    exec {python} $options {runner} "" "$@"
fi
exec {python} $options "$@"
"""
RUN_PIP = """#!/bin/sh
case "$1" in
    show) shift; exec {python} {show} "$@" ;;
    list | freeze | -V | --version) exec {python} -m pip "$@" ;;
esac
echo {name} "$@" >> {log}
"""
RUN_UV = """#!/bin/sh
case "$1" in
    pip) shift; exec pip "$@" ;;
    run) shift; exec "$@" ;;
esac
echo {name} "$@" >> {log}
"""
RUN_NOTHING = """#!/bin/sh
echo {name} "$@" >> {log}
"""
RUN_AS_IT_IS = """#!/bin/sh
while :; do
    case "$1" in
        -u | -g) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
exec env "$@"
"""

RUN_EDITOR = """#!/bin/sh
sums() {{
    for argument in "$@"; do
        [ -f "$argument" ] && cksum "$argument"
    done
}}
edits=
inputs=0
for argument in "$@"; do
    if [ -f "$argument" ]; then
        inputs=$((inputs + 1))
        input=$argument
    fi
    case "{name} $argument" in
        "patch --dry-run") exec {editor} "$@" ;;
        "patch "* | "ed "* | "ex "*) edits=1 ;;
        *" --in-place"* | *" -i"* | *" -"[0-9Eacnlprsuz]*i*) edits=1 ;;
    esac
done
before=$(sums "$@")
{editor} "$@" 2> {edits_log}.$$
code=$?
cat {edits_log}.$$ >&2
reason=
if [ $code != 0 ]; then
    # Without a message, it is an answer of the command, as that of `sed '/x/q1'`.
    if [ "$edits" ] || [ -s {edits_log}.$$ ]; then
        reason="it ended with $code"
    fi
elif [ "$edits" ] && [ "$before" ] && [ "$before" = "$(sums "$@")" ]; then
    if [ {name} != patch ]; then
        reason="it changed nothing"
    fi
elif [ $inputs = 1 ]; then
    # It writes the new text into another file, which often takes the place of the first one.
    output=$(readlink /proc/$$/fd/1)
    case "$output" in
        {workspace}/*) cmp -s "$input" "$output" && reason="it changed nothing" ;;
    esac
fi
rm -f {edits_log}.$$
if [ "$reason" ] || [ "$edits" ]; then
    text=$(printf '%s ' {name} "$@" | tr '\\n\\t' '  ')
    printf '%s\\t%s\\n' "$reason" "${{text% }}" >> {edits_log}
fi
exit $code
"""
"""It notes what an edit has come to: it failed, it left a file as it was, or ''.

Whether a script goes on after it is the script's to say. A trial, such as `patch --dry-run`, is no
edit.
"""

RUN_GIT = """#!/bin/sh
command=
folder=.
option=
for argument in "$@"; do
    if [ "$option" ]; then
        [ "$option" = -C ] && folder=$argument
        option=
        continue
    fi
    case "$argument" in
        -C | -c) option=$argument ;;
        -*) ;;
        *) command=$argument; break ;;
    esac
done
for argument in "$@"; do
    case "$command $argument" in
        "apply --check" | "apply --stat" | "apply --numstat" | "apply --summary") is_trial=1 ;;
        "am --abort" | "am --continue" | "am --quit" | "am --skip") is_trial=1 ;;
        "apply "* | "am "*) ;;
        *) exec {editor} "$@" ;;
    esac
done
text=$(printf '%s ' git "$@" | tr '\\n\\t' '  ')
if ! {editor} -C "$folder" rev-parse --git-dir > /dev/null 2>&1; then
    if [ "$is_trial" ] && [ "$command" = am ]; then
        exit 0
    fi
    while [ "$1" != "$command" ]; do
        shift
    done
    shift
    for argument in "$@"; do
        shift
        case "$command $argument" in
            "apply -3" | "apply --3way" | "apply --index") continue ;;
            "am --reject" | "am --ignore-whitespace" | "am -p"* | "am -C"*) ;;
            "am --directory"* | "am --whitespace"* | "am --exclude"* | "am --include"*) ;;
            "am -"*) continue ;;
        esac
        set -- "$@" "$argument"
    done
    set -- -C "$folder" apply "$@"
fi
if [ "$is_trial" ]; then
    exec {editor} "$@"
fi
{editor} "$@"
code=$?
reason=
if [ $code != 0 ]; then
    reason="it ended with $code"
fi
printf '%s\\t%s\\n' "$reason" "${{text% }}" >> {edits_log}
exit $code
"""
"""It notes what `git apply` and `git am` have come to.

The copy is no repository. Where a script expects one, `git am` and `git apply --3way` become
`git apply`, which does the same with a diff that fits.
"""

SHOW = """import importlib.metadata, sys
for name in sys.argv[1:]:
    if name.startswith("-"):
        continue
    found = importlib.metadata.distribution(name)
    print("Name:", found.metadata["Name"])
    print("Version:", found.version)
    print("Location:", found.locate_file(""))
    if "-f" in sys.argv or "--files" in sys.argv:
        print("Files:")
        for file in found.files or ():
            print(" ", file)
"""
