from __future__ import annotations

import pytest

from patchkit.errors import TargetError
from runtime.changes.source.edits import Desk, loaded

UPSTREAM = """
    # above
    def f(a, b):
        process = start(
            target=run,
            daemon=True,
        )
        if process:
            return wait(process, a)
        return wait(process, b)
"""


def refusal(old: str, count: int = 1, upstream: str = UPSTREAM) -> str:
    """The error of an edit that does not match, with FILE for the file of the module."""
    module = loaded(upstream)
    with pytest.raises(TargetError) as caught:
        Desk(module).prepare("f", old, "", count)
    text = str(caught.value)
    return text.replace(module.f.__code__.co_filename, "FILE")


def test_the_nearest_text_is_shown_with_its_line() -> None:
    """The error names the target, the fragment, the place, and what is most like it."""
    assert refusal("daemon=False") == (
        "Edit('upstream:f'): old not found, expected once in FILE:3:\n"
        "    daemon=False\n"
        "nearest match:\n"
        "     6          daemon=True,"
    )


def test_the_nearest_text_is_as_high_as_the_fragment() -> None:
    """For a fragment of two lines the error shows two lines."""
    message = refusal("if process:\n    return wait(process, a, 1)\n")
    assert message.endswith(
        "nearest match:\n     8      if process:\n     9          return wait(process, a)"
    )


def test_too_many_are_shown_with_their_lines() -> None:
    """The error says how often the fragment was found, and in which lines."""
    assert refusal("wait(process") == (
        "Edit('upstream:f'): old found 2 times, lines 9, 10, expected once in FILE:3:\n"
        "    wait(process"
    )


def test_too_few_are_shown_with_the_nearest_of_the_others() -> None:
    """The error says where it was found, and shows what else is like the fragment."""
    message = refusal("return wait(process, a)", 2)
    assert "found once, line 9, expected 2 times in FILE:3:" in message
    assert message.endswith("nearest match:\n    10      return wait(process, b)")


def test_a_fragment_in_the_only_line_is_like_no_other() -> None:
    """Without another line, the error ends with the fragment."""
    message = refusal("return a", 2, "def f(a): return a\n")
    assert message.endswith("expected 2 times in FILE:1:\n    return a")
