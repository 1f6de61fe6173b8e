"""What a condition in upstream's source comes to, where that can be told without running it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_NAMES = {
    "TYPE_CHECKING": False,
    "typing.TYPE_CHECKING": False,
    "typing_extensions.TYPE_CHECKING": False,
    "t.TYPE_CHECKING": False,
    "__debug__": True,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
}


class Condition(NamedTuple):
    """
    Something that must hold for a definition to count, and that cannot be told here.

    Args:
        words: for people.
        test: the expression, None where there is none (`except ImportError`).

    """

    words: str
    test: ast.expr | None = None

    def __str__(self) -> str:
        return self.words


class Platform(NamedTuple):
    """
    The Python that a release is judged for.

    Args:
        python: its version.
        system: its `sys.platform`.

    """

    python: tuple[int, int] = (3, 11)
    system: str = "linux"

    def facts(self) -> dict[str, Any]:
        """The names that conditions may be about."""
        full = (*self.python, 99, "final", 0)
        return {
            **_NAMES,
            "sys.version_info": full,
            "sys.version_info.major": full[0],
            "sys.version_info.minor": full[1],
            "sys.platform": self.system,
            "os.name": "nt" if self.system == "win32" else "posix",
            "sys.implementation.name": "cpython",
            "platform.python_implementation": "CPython",
            "platform.system": {"win32": "Windows"}.get(self.system, self.system.capitalize()),
        }


class UndecidedError(Exception):
    """An expression whose value cannot be told; never leaves this module's callers."""


class _Facts(dict[str, Any]):
    """What is known of the platform, and who is asked about other names."""

    def __init__(self, platform: Platform, known: Callable[[str], Any] | None) -> None:
        super().__init__(platform.facts())
        self._known = known

    def __missing__(self, name: str) -> Any:
        if self._known is None or not name:
            raise UndecidedError(name)
        return self._known(name)


def decide(
    test: ast.expr, platform: Platform, known: Callable[[str], Any] | None = None
) -> bool | None:
    """
    Tell whether a condition holds on a platform; None where that cannot be told.

    Args:
        test: the condition.
        platform: the platform.
        known: tells the value of any other name, or raises `UndecidedError`.

    """
    return _truth(test, _Facts(platform, known))


def evaluate(node: ast.expr, platform: Platform, known: Callable[[str], Any]) -> Any:
    """
    Work out what an expression comes to on a platform.

    Raises:
        UndecidedError: that cannot be told.

    """
    facts = _Facts(platform, known)
    if isinstance(node, (ast.BoolOp, ast.UnaryOp)):
        truth = _truth(node, facts)
        if truth is None:
            raise UndecidedError
        return truth
    return _value(node, facts)


def _truth(test: ast.expr, facts: dict[str, Any]) -> bool | None:
    if isinstance(test, ast.BoolOp):
        return _bool_op(test, facts)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, facts)
        return None if inner is None else not inner
    if _is_main(test):
        return False
    try:
        return bool(_value(test, facts))
    except (UndecidedError, TypeError, IndexError):
        return None


def _bool_op(test: ast.BoolOp, facts: dict[str, Any]) -> bool | None:
    parts = [_truth(one, facts) for one in test.values]
    ends = isinstance(test.op, ast.Or)
    if ends in parts:
        return ends
    return None if None in parts else not ends


def _is_main(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == "__main__"
    )


def _value(node: ast.expr, facts: dict[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_value(one, facts) for one in node.elts)
    if isinstance(node, ast.Compare):
        return _compare(node, facts)
    if isinstance(node, ast.Subscript):
        return _value(node.value, facts)[_index(node.slice, facts)]
    if isinstance(node, ast.Call):
        return _call(node, facts)
    return facts[dotted(node)]


def _index(node: ast.expr, facts: dict[str, Any]) -> Any:
    if isinstance(node, ast.Slice):
        ends = [None if end is None else _value(end, facts) for end in (node.lower, node.upper)]
        return slice(*ends)
    return _value(node, facts)


def _compare(node: ast.Compare, facts: dict[str, Any]) -> bool:
    left = _value(node.left, facts)
    for operator, right_node in zip(node.ops, node.comparators, strict=True):
        right = _value(right_node, facts)
        if not _COMPARE[type(operator)](left, right):
            return False
        left = right
    return True


def _call(node: ast.Call, facts: dict[str, Any]) -> Any:
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("startswith", "endswith"):
        text = _value(node.func.value, facts)
        if isinstance(text, str) and len(node.args) == 1 and not node.keywords:
            return getattr(text, node.func.attr)(_value(node.args[0], facts))
    if dotted(node.func) in facts and not node.args:
        return facts[dotted(node.func)]
    raise UndecidedError


def dotted(node: ast.AST) -> str:
    """Write `a.b.c` for a chain of names; '' for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join((node.id, *reversed(parts)))


def words(node: ast.expr, limit: int = 60) -> str:
    """Write an expression on one line, cut where it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
