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
    return [definition.qualname for definition in scan(dedent(text).encode())]


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


def test_quotes_a_definition_to_its_end() -> None:
    """Closing brackets and comments at the margin do not end a definition."""
    text = b"def a(\n    x,\n) -> int:\n# why\n    return x\n\n\nb = 1\n"
    first = scan(text)[0]
    assert block(text, first) == b"def a(\n    x,\n) -> int:\n# why\n    return x\n\n\n"


def test_a_definition_with_a_string_at_the_margin_is_not_quoted() -> None:
    """`parse_definition` gives None, as text at the margin looks like the end of a definition."""
    text = b"def a():\n    x = '''\nhere\n'''\n    return x\n"
    assert parse_definition(text, scan(text)[0]) is None


@pytest.mark.parametrize("name", STANDARD)
def test_agrees_with_the_parser(name: str) -> None:
    """Each class and function of a standard module is found; what is parsed of it has its name."""
    text = Path(str(importlib.import_module(name).__file__)).read_bytes()
    scanned = {
        definition.qualname: definition
        for definition in scan(text)
        if definition.kind != "name"
    }
    for qualname, node in _defined(ast.parse(text).body, ""):
        assert qualname in scanned
        parsed = parse_definition(text, scanned[qualname])
        if parsed is not None:
            assert getattr(parsed, "name", "") == node.name


def _defined(
    body: Sequence[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """Yield the classes and functions of a body and of its classes, with their qualnames."""
    for statement in body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            yield f"{prefix}{statement.name}", statement
            if isinstance(statement, ast.ClassDef):
                yield from _defined(statement.body, f"{prefix}{statement.name}.")
