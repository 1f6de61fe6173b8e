"""`tools/row_path.py`: the files that one row passes through."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from row_path import Trail
from support.packages import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable


def function_of(module: str) -> Callable[..., Any]:
    """A function that calls another, if it is given one, as a module of this name has it."""
    namespace: dict[str, Any] = {"__name__": module}
    exec("def function(*inner):\n    return [call() for call in inner]\n", namespace)
    function: Callable[..., Any] = namespace["function"]
    return function


def test_a_trail_counts_calls_in_another_file_than_the_last() -> None:
    """Only calls of patchkit's modules count, whoever is called between; returns do not."""
    first = function_of("patchkit.first")
    second = function_of("patchkit.second")
    foreign = function_of("upstream.module")
    trail = Trail()
    with trail.followed():
        first(first, foreign, second)
        second()
        first()
    first(second)
    assert trail.entered == {"patchkit.first": 2, "patchkit.second": 1}
    assert str(trail) == "2 files, 2 switches"


@pytest.mark.processes
def test_the_path_of_one_row_has_two_steps() -> None:
    """The output has arming and applying, and lists the files of each."""
    command = [sys.executable, str(REPOSITORY / "tools" / "row_path.py"), "--files"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120
    )
    heads = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    steps = [re.fullmatch(r"(.+): (\d+) files, (\d+) switches", head) for head in heads]
    assert [step and step[1] for step in steps] == ["to arm", "to apply"]
    assert re.search(r" +\d+ patchkit\.runtime\.process\.session", done.stdout)
