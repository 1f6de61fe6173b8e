"""Changes a function or a class a little, as `drawn_rows.py` wants it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.analysis.upstream.resolving.syntax import DEFS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

REMOVABLE = (ast.Expr, ast.AugAssign, ast.Assert, ast.Raise)
NEAREST = 8
"""Of how many changes one is chosen that is to be near a line."""


class SmallChange(NamedTuple):
    """One small change of a text.

    Args:
        first: The first line that is replaced, counted from 1.
        last: The last one; one less than `first` where lines are only put in.
        new: The lines in their place.
    """

    first: int
    last: int
    new: Sequence[str]

    def made(self, text: str) -> str:
        """Return the text with the change made."""
        lines = text.split("\n")
        lines[self.first - 1 : self.last] = self.new
        return "\n".join(lines)


def mutated(text: str, random: Random, number: int, near: Sequence[int]) -> str:
    """Make one or two small changes of a definition.

    Args:
        text: The definition, not indented.
        random: Chooses them.
        number: Makes them differ from those of other rows.
        near: Lines beside which the first change is to be; may be empty.

    Returns:
        The changed text; the same text where nothing can be changed.
    """
    for is_first in (True, False):
        changes = list(small_changes(text, number))
        if not changes or not (is_first or random.random() < 0.4):
            break
        if near and is_first:
            changes.sort(key=lambda one: min(abs(one.first - line) for line in near))
            changes = changes[:NEAREST]
        attempt = random.choice(changes).made(text)
        try:
            compile(attempt, "drawn", "exec", dont_inherit=True)
        except SyntaxError:
            continue
        text = attempt
    return text


def small_changes(text: str, number: int) -> Iterator[SmallChange]:
    """Yield the small changes that a definition offers."""
    lines = text.split("\n")
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, DEFS):
            continue
        for block in blocks_of(function):
            for statement in block:
                if starts_a_line(statement, lines):
                    yield from of_lines(statement, number, len(block) > 1)
                    yield from of_literals(statement, lines, number)


def blocks_of(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of statements in a function, without those of inner definitions."""
    for name in ("body", "orelse", "finalbody", "handlers"):
        block = getattr(node, name, None)
        if not isinstance(block, list) or not block:
            continue
        if isinstance(block[0], ast.stmt):
            yield block
        for inner in block:
            if not isinstance(inner, (*DEFS, ast.ClassDef)):
                yield from blocks_of(inner)


def starts_a_line(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether a statement is no docstring, has no decorators, and no other code before it."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return False
    if getattr(statement, "decorator_list", None):
        return False
    return not lines[statement.lineno - 1][: statement.col_offset].strip()


def of_lines(
    statement: ast.stmt, number: int, has_siblings: bool
) -> Iterator[SmallChange]:
    """Yield a line before a statement, and its removal."""
    first = statement.lineno
    indent = " " * statement.col_offset
    yield SmallChange(first, first - 1, [f"{indent}own_{number} = {number}"])
    if has_siblings and isinstance(statement, REMOVABLE):
        yield SmallChange(first, statement.end_lineno or first, [])


def of_literals(
    statement: ast.stmt, lines: Sequence[str], number: int
) -> Iterator[SmallChange]:
    """Yield other literals in a statement of one line."""
    line = lines[statement.lineno - 1]
    parts = list(ast.walk(statement))
    is_formatted = any(isinstance(part, ast.JoinedStr) for part in parts)
    has_one_line = statement.lineno == statement.end_lineno
    if is_formatted or not has_one_line or not line.isascii():
        return
    for part in parts:
        if not isinstance(part, ast.Constant):
            continue
        new = ""
        if isinstance(part.value, str) and part.value.isidentifier():
            new = repr(f"{part.value}_{number}")
        elif isinstance(part.value, (int, float)) and part.value not in (True, False):
            new = repr(part.value + number)
        if new:
            before = line[: part.col_offset]
            after = line[part.end_col_offset :]
            yield SmallChange(
                statement.lineno, statement.lineno, [f"{before}{new}{after}"]
            )
