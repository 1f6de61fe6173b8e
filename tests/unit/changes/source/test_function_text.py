from __future__ import annotations

import pytest

from patchkit.changes.source.rewriting import FunctionText
from patchkit.errors import TargetError

AFTER = "\n    # said of what follows\nx = 1\n"


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("def f(a): return a\n", "def f(a):"),
        ("    def f(a):  # why\n        return a\n", "def f(a):"),
        (
            "    @one({'a': 1})\n    # c\n    @two\n    async def f():\n        ...\n",
            "async def f():",
        ),
        ("def f(\n  a: int = {1: 2}[1],\n) -> 'x':\n    return a\n", None),
        (
            "\tdef f():\n\n\t\tif a:\n  # odd\n\t\t\tb()\n\t\treturn '''\nx\n'''  # end\n",
            "def f():",
        ),
        ("def f():\n    def g():\n        pass\n    return g\n", "def f():"),
    ],
)
@pytest.mark.parametrize("after", ["", AFTER, "@next\ndef g(): ...\n"])
def test_a_function_ends_where_its_block_ends(text: str, header: str | None, after: str) -> None:
    """What follows is cut off, comments before it too; the header ends at its colon."""
    function = FunctionText(text + after)
    assert function.cut() == after
    assert function.text == text
    assert function.end == len(text)
    if header is not None:
        assert function.header == header


@pytest.mark.parametrize("text", ["", "x = 1\n", "@a\nclass A: ...\n", "f = lambda: 1\n", "'open"])
def test_what_is_no_function_is_refused(text: str) -> None:
    """Only a `def` statement is one."""
    with pytest.raises(TargetError, match="expected a function"):
        _ = FunctionText(text).tokens
