"""Mutants: small changes of one statement each, in functions, that leave code that parses."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAIRS: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.And, ast.Or),
    (ast.Add, ast.Sub),
    (ast.BitOr, ast.BitAnd),
)
SWAPS = {**dict(PAIRS), **{second: first for first, second in PAIRS}}
"""Which operator takes another's place."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the lines from `first` to `last` become `text`.

    Args:
        file: The file, relative to the repository.
        first: The number of the first line that changes.
        last: The number of the last one.
        text: What takes their place.
        what: What was done to the statement, in a word or two.
    """

    file: str
    first: int
    last: int
    text: str
    what: str

    def __str__(self) -> str:
        """Tell where the change is, what was done, and how its first line reads now."""
        head = self.text.strip().splitlines()[0]
        return f"{self.file}:{self.first}: {self.what}: {head[:90]}"

    def applied_to(self, source: str) -> str:
        """Return the file's text with the change made."""
        lines = source.splitlines(keepends=True)
        lines[self.first - 1 : self.last] = [self.text]
        return "".join(lines)


def mutants_of(file: Path, repository: Path) -> Iterator[Mutant]:
    """Make every mutant of a file, a statement at a time."""
    source = file.read_text(encoding="utf-8")
    lines = source.splitlines()
    name = str(file.relative_to(repository))
    for statement in _statements(ast.parse(source)):
        if not _is_alone(statement, lines):
            continue
        indent = " " * statement.col_offset
        last = statement.end_lineno or statement.lineno
        for what, text in _variants(statement):
            body = "".join(f"{indent}{line}\n" for line in text.splitlines())
            yield Mutant(name, statement.lineno, last, body, what)


def _is_alone(statement: ast.stmt, lines: list[str]) -> bool:
    """Whether there is nothing but a comment beside a statement on its lines."""
    last = lines[(statement.end_lineno or statement.lineno) - 1].encode()
    after = last[statement.end_col_offset :].strip()
    before = lines[statement.lineno - 1].encode()[: statement.col_offset]
    return not before.strip() and (not after or after.startswith(b"#"))


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements in functions that are no block and no docstring, one by one."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _within(function.body)


def _within(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(
            statement, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
        ):
            continue
        if isinstance(statement, ast.Expr) and isinstance(
            statement.value, ast.Constant
        ):
            continue  # a docstring
        if not isinstance(
            statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            yield statement
            for part in _parts(statement):
                yield from _within(part)


def _parts(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the bodies of a statement; an `elif` counts as part of its `if`."""
    handlers = getattr(statement, "handlers", [])
    cases = getattr(statement, "cases", [])
    for holder in (statement, *handlers, *cases):
        for name in ("body", "orelse", "finalbody"):
            part = getattr(holder, name, [])
            is_elif = (
                name == "orelse" and len(part) == 1 and isinstance(part[0], ast.If)
            )
            yield part[0].body if is_elif else part


def _variants(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield what was done, and the statement's text with it done."""
    if isinstance(statement, ast.Expr):
        yield "left out", "pass"
    if isinstance(statement, ast.Return) and statement.value is not None:
        is_none = (
            isinstance(statement.value, ast.Constant) and statement.value.value is None
        )
        if not is_none:
            yield "returns None", "return None"
    if not _is_loose(statement):
        return
    for at, node in enumerate(_own_nodes(statement)):
        for what, change in _changes(node):
            copy = ast.parse(ast.unparse(statement)).body[0]
            change(list(_own_nodes(copy))[at])
            yield what, ast.unparse(copy)


def _is_loose(statement: ast.stmt) -> bool:
    """Whether the statement means the same outside its function, as far as parsing goes."""
    try:
        again = ast.parse(ast.unparse(statement)).body[0]
    except SyntaxError:
        return False
    return ast.dump(again) == ast.dump(statement)


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Walk the expressions of a statement itself, not those of the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        yield node
        if isinstance(node, (ast.JoinedStr, ast.Raise, ast.arguments)):
            continue  # texts are no behaviour
        children = ast.iter_child_nodes(node)
        waiting += [child for child in children if not isinstance(child, ast.stmt)]


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], object]]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        operator = SWAPS[type(node.ops[0])]
        yield "comparison", lambda copy: copy.ops.__setitem__(0, operator())
    if isinstance(node, (ast.BoolOp, ast.BinOp)) and type(node.op) in SWAPS:
        kind = SWAPS[type(node.op)]
        yield "operator", lambda copy: setattr(copy, "op", kind())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", _double
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", lambda copy: setattr(copy, "value", not copy.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield "number", lambda copy: setattr(copy, "value", copy.value + 1)


def _double(copy: ast.UnaryOp) -> None:
    """Turn `not x` into `not (not x)`."""
    copy.operand = ast.UnaryOp(ast.Not(), copy.operand)
