"""Reads lists of targets, each of which becomes a row, and chooses the names of these rows."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from patchkit.core.plain_files import read_plain
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError, UpstreamError

_EXPECTED = (
    "expected a target, such as vllm.envs:VLLM_PORT, and perhaps a name for its patch"
)


_MAX_BYTES = 16 << 20
"""Bytes that a list may have."""


class ListedTarget(NamedTuple):
    """A line of a list.

    Args:
        target: The target.
        name: The name that its patch is to have; '' where the list has none.
    """

    target: Target
    name: str = ""


def read_list(file: Path) -> list[ListedTarget]:
    """Read a file with a target on each line; empty lines and comments after `#` are skipped.

    Args:
        file: The file.

    Returns:
        The targets in their order, at least one.

    Raises:
        ScaffoldError: The file cannot be read, or a line is no target.
    """
    try:
        lines = read_plain(file, _MAX_BYTES).decode("utf-8").splitlines()
    except (OSError, UpstreamError, UnicodeDecodeError) as error:
        raise ScaffoldError(f"{file}: {error}, expected a list of targets") from error
    listed: list[ListedTarget] = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if text:
            listed.append(_listed(text, f"{file}:{number}"))
    if not listed:
        raise ScaffoldError(f"{file}: found no target, {_EXPECTED}")
    return listed


def _listed(text: str, location: str) -> ListedTarget:
    """Read a line: a target, or a target and a name; raise ScaffoldError for anything else.

    A target may have spaces itself, in the key of an item, so the whole line is tried first.

    Args:
        text: The line.
        location: Its file and number, for the error.
    """
    *words, last = text.split()
    # The whole line as a target without a name; else its last word as the name.
    for target, name in ((text, ""), (" ".join(words), last)):
        try:
            return ListedTarget(Target.parse(target), name)
        except ValueError:
            continue
    raise ScaffoldError(f"{location}: found {text!r}, {_EXPECTED}")


def name_for(target: Target, taken: Collection[str]) -> str:
    """Return a name for the patch of a target.

    For `vllm.envs:PORT`, that is `port`; if it is taken, `envs-port`, `vllm-envs-port`, and then
    `vllm-envs-port-2`.

    Args:
        target: The target.
        taken: The names that are not free.
    """
    words = _words(target.qualname)
    for part in reversed(target.module.split(".")):
        name = "-".join(words)
        # A module as a target has no qualname, so that there are no words at first.
        if words and name not in taken:
            return name
        words = [*_words(part), *words]
    name = "-".join(words)
    number = 2
    unused = name
    while unused in taken:
        unused = f"{name}-{number}"
        number += 1
    return unused


def _words(text: str) -> list[str]:
    """Split a name into words, in lower case: `SchedulerConfig.max_num` into four."""
    # Between `aB`, and before the last capital of `ABc`.
    separated = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return re.findall(r"[a-z0-9]+", separated.lower())
