from __future__ import annotations

import ast
import importlib
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.upstream.moves.catalog import block, parse_definition, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STANDARD = (
    "textwrap",
    "queue",
    "ast",
    "shlex",
    "typing",
    "enum",
    "tarfile",
    "asyncio.events",
)


def names(text: str) -> list[str]:
    """What a text defines, by qualname."""
    return [one.qualname for one in scan(dedent(text).encode())]


def test_lists_classes_functions_and_variables() -> None:
    """Members go by the classes around them; what functions hold is left out."""
    text = """
    LIMIT: int = 3
    class A:
        size = 1
        class B:
            async def c(self):
                def inner(): ...
        def d(self): ...
    def e(): ...
    """
    assert names(text) == ["LIMIT", "A", "A.B", "A.B.c", "A.d", "e"]


def test_a_branch_ends_what_came_before() -> None:
    """What an `if` defines belongs to the module, not to the class above it."""
    text = """
    class A:
        def b(self):
            return 1
    if FLAG:
        def c(): ...
    else:
        class D:
            def e(self): ...
    """
    assert names(text) == ["A", "A.b", "c", "D", "D.e"]


def test_quotes_to_the_end() -> None:
    """Closing brackets and comments at the margin do not end a definition."""
    text = b"def a(\n    x,\n) -> int:\n# why\n    return x\n\n\nb = 1\n"
    first = scan(text)[0]
    assert block(text, first) == b"def a(\n    x,\n) -> int:\n# why\n    return x\n\n\n"


def test_what_lines_do_not_tell_is_left_to_the_parser() -> None:
    """A text at the margin looks like the end; then nothing is said."""
    text = b"def a():\n    x = '''\nhere\n'''\n    return x\n"
    assert parse_definition(text, scan(text)[0]) is None


@pytest.mark.parametrize("name", STANDARD)
def test_agrees_with_the_parser(name: str) -> None:
    """It finds every definition of a standard module, and quotes it or says nothing."""
    text = Path(str(importlib.import_module(name).__file__)).read_bytes()
    found = {one.qualname: one for one in scan(text) if one.kind != "name"}
    for qualname, node in _defined(ast.parse(text).body, ""):
        assert qualname in found
        quoted = parse_definition(text, found[qualname])
        if quoted is not None:
            assert getattr(quoted, "name", "") == node.name


def _defined(
    body: Sequence[ast.stmt], around: str
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    for one in body:
        if isinstance(one, (ast.ClassDef, ast.FunctionDef)):
            yield f"{around}{one.name}", one
            if isinstance(one, ast.ClassDef):
                yield from _defined(one.body, f"{around}{one.name}.")
