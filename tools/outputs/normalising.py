"""What changes from run to run, and what is written in its place.

Everything else is compared as it is. A substitution that hides too much hides a change of
behaviour, so each one names the text around the value, not only its shape.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Substitution(NamedTuple):
    """Text that changes from run to run."""

    pattern: re.Pattern[str]
    replacement: str
    reason: str


_OWN_FRAME = r'  File "(?:CHECKOUT|WORK/checkout)/patchkit/[^"\n]*", line \d+, in .*\n(?:    .*\n)*'

SUBSTITUTIONS = (
    Substitution(
        re.compile(r"\bpatchkit\[\d+\]"),
        "patchkit[PID]",
        "a line of a process on standard error has its number",
    ),
    Substitution(
        re.compile(r"\bpatchkit-[a-z0-9_]{8}(?=[/\s'\"]|$)", re.MULTILINE),
        "patchkit-TEMP",
        "names of temporary folders are made at random",
    ),
    Substitution(
        re.compile(r"\b\d{8}-\d{6}-\d{6}-[a-z0-9_]{8}\b"),
        "RUN",
        "folders of `run` are named after the time",
    ),
    Substitution(
        re.compile(r"HOST-\d+-\d{19}\.jsonl"),
        "HOST-PID-TIME.jsonl",
        "a journal is named after the process and its start",
    ),
    Substitution(
        re.compile(r'("(?:pid|ppid|child|began)": ?)\d+'),
        r"\1PID",
        "numbers of processes in JSON",
    ),
    Substitution(
        re.compile(r'("space": ?)"[0-9a-f-]+:\d+"'),
        r'\1"SPACE"',
        "the boot and the namespace in which a pid counts",
    ),
    Substitution(
        re.compile(r"\bpid \d+\b"),
        "pid PID",
        "`probe` names processes by their numbers",
    ),
    Substitution(
        re.compile(
            r'("(?:age|at|observed|seconds|started|time|verified)": ?)-?\d+(?:\.\d+)?(?:e-\d+)?'
        ),
        r"\1SECONDS",
        "moments and durations in JSON",
    ),
    Substitution(
        re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d(?::\d\d| UTC)"),
        "MOMENT",
        "pages of `check`, `fit` and `status` say when they were made",
    ),
    Substitution(
        re.compile(r"\b\d\d:\d\d:\d\d\b"),
        "CLOCK TI",
        "tables of `status` have the hour of a process's start; the width stays",
    ),
    Substitution(
        re.compile(r"\bafter \d+\.\d s\b"),
        "after SECONDS s",
        "`bisect` says how long a run took",
    ),
    Substitution(
        re.compile(r"^(\d+ +-?\d+ +(?:good|bad|skipped) +)\d+\.\d +", re.MULTILINE),
        r"\1SECONDS  ",
        "a row of its table says so, too",
    ),
    Substitution(
        re.compile(f"(?:{_OWN_FRAME})+"),
        "  frames of patchkit\n",
        "a refactoring moves functions of patchkit, which tracebacks list",
    ),
    Substitution(
        re.compile(r"^patchkit(?:\.\w+)+\.(\w+): ", re.MULTILINE),
        r"patchkit.\1: ",
        "it moves exceptions of patchkit, too",
    ),
    Substitution(
        re.compile(r" 0x[0-9a-f]{8,16}\b"),
        " ADDRESS",
        "the repr of an object has its address",
    ),
)


def normalised(text: str, names: dict[str, str]) -> str:
    """Replace what changes from run to run.

    Args:
        text: an output.
        names: what stands for paths of this machine and for its host, by the text that it
            replaces; the longest is replaced first.

    Returns:
        The text as any other run of the same patchkit would have it.
    """
    for value in sorted(names, key=len, reverse=True):
        # As a whole word: a short host name may occur in what is made at random.
        whole = re.compile(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])")
        text = whole.sub(names[value], text)
    for substitution in SUBSTITUTIONS:
        text = substitution.pattern.sub(substitution.replacement, text)
    return text
