"""Reads the tests by which a pile asks for the version of upstream, as bounds on it.

`version.parse(vllm.__version__) >= version.parse("0.8")` is `>=0.8`, and so on. A test of another
form stays a condition that is asked at run time.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from operator import eq, ge, gt, le, lt, ne

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.authoring.diffs.unexpressed import TO_LOOK_AT, UnexpressedCode
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.version_expressions import (
    PARSERS,
    Upstream,
    VersionExpressions,
)
from patchkit.authoring.source.name_scopes import NameScope
from patchkit.core.versions.requirements import satisfies

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_COMPARE = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_AT_RUN_TIME = (
    "it asks for the version, and no bounds say the same: a `when` asks it at run time"
)
_AS_TEXTS = (
    "it compares versions as texts, by their letters: for {release} the answer is another than "
    "that of the versions; the row does as the pile does"
)
_PARTS_OF_RELEASE = 3
"""How many numbers a version of upstream has."""


class VersionTests:
    """Reads the tests of one module.

    Args:
        scope: What names mean there.
        module: The module.
        upstream: The package that the pile patches.
    """

    def __init__(
        self, scope: NameScope, module: ModuleTree, upstream: Upstream
    ) -> None:
        self._expressions = VersionExpressions(scope, module, upstream)
        self._release = upstream.release.version

    def bounds(self, test: ast.expr) -> list[str]:
        """Return the bounds that a test stands for, such as `>=0.8`; none if it is no such test.

        Args:
            test: The condition.
        """
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._opposite(test.operand)
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            parts = [self.bounds(value) for value in test.values]
            if not all(parts):
                return []
            return [bound for part in parts for bound in part]
        if isinstance(test, ast.Compare):
            return self._of_comparison(test)
        if isinstance(test, ast.Call):
            return self._of_call(test)
        return []

    def is_unclear(self, test: ast.expr) -> bool:
        """Whether a test asks for the version in a form that is neither bounds nor several of them.

        Args:
            test: The condition.
        """
        if self.bounds(test):
            return False
        if isinstance(test, ast.BoolOp):
            return any(self.is_unclear(value) for value in test.values)
        if isinstance(test, ast.UnaryOp):
            return self.is_unclear(test.operand)
        return any(self._asks(node) for node in ast.walk(test))

    def reason(self, test: ast.expr) -> str:
        """Say what a person has to look at in a test that is unclear.

        Args:
            test: The condition.

        Returns:
            The reason, for the list.
        """
        for node in ast.walk(test):
            if not isinstance(node, ast.Compare) or self.bounds(node):
                continue
            sides = [
                self._expressions.read(side) for side in (node.left, *node.comparators)
            ]
            if all(side is not None and side.kind == "text" for side in sides):
                return _AS_TEXTS.format(release=self._release)
        return _AT_RUN_TIME

    def _asks(self, node: ast.AST) -> bool:
        """Whether an expression is the version of upstream, or a call that compares with one."""
        if not isinstance(node, ast.expr):
            return False
        version = self._expressions.read(node)
        if version is not None and not version.written:
            return True
        if not isinstance(node, ast.Call) or not node.args:
            return False
        name = dotted(node.func).rpartition(".")[2]
        argument = self._expressions.read(node.args[0])
        names_version = argument is not None and argument.written != ""
        return "version" in name.lower() and name not in PARSERS and names_version

    def _opposite(self, test: ast.expr) -> list[str]:
        """Return the bounds of all versions that a test is false for; none if that is no range."""
        bounds = self.bounds(test)
        if len(bounds) != 1:
            return []
        operator, version = _split(bounds[0])
        is_helper = isinstance(test, ast.Call) and _is_version_is(test)
        if is_helper and operator == "==":
            # A pile that asks whether it is not yet a release has another one for those before.
            return [f">={version}", f"!={version}"]
        return [f"{_OPPOSITE[operator]}{version}"]

    def _of_call(self, call: ast.Call) -> list[str]:
        """Return the bounds of `version_is("1.0")` and `….startswith("1.0")`; none for others."""
        if len(call.args) != 1:
            return []
        argument = self._expressions.read(call.args[0])
        if argument is None or argument.kind != "text" or not argument.written:
            return []
        if _is_version_is(call):
            return [f"=={argument.written}"]
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "startswith":
            return []
        start = argument.written.rstrip(".")
        version = self._expressions.read(call.func.value)
        is_upstream = (
            version is not None and version.kind == "text" and not version.written
        )
        if not is_upstream or not _NUMBERS.fullmatch(start):
            return []
        return [f"=={start}.*"]

    def _of_comparison(self, test: ast.Compare) -> list[str]:
        """Return the bounds of a comparison, also of `a <= b < c`; none for others."""
        bounds: list[str] = []
        left = test.left
        for operator, right in zip(test.ops, test.comparators, strict=True):
            bound = self._of_pair(left, operator, right)
            if not bound:
                return []
            bounds.append(bound)
            left = right
        return bounds

    def _of_pair(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> str:
        """Return the bound that two sides of a comparison are; '' if they are none."""
        symbol = _OPERATORS.get(type(operator), "")
        version = self._expressions.read(left)
        written = self._expressions.read(right)
        if not symbol or version is None or written is None:
            return ""
        if version.written:
            version, written = written, version
            symbol = _MIRRORED[symbol]
        if version.written or not written.written or version.kind != written.kind:
            return ""
        if version.kind == "tuple":
            return _bound_of_tuple(symbol, written.written, version.length)
        bound = f"{symbol}{written.written}"
        if version.kind == "text":
            # Texts compare by letters: "0.8" is behind "0.30".
            answer = _COMPARE[symbol](self._release, written.written)
            if answer != satisfies(self._release, bound):
                return ""
        return bound


def _is_version_is(call: ast.Call) -> bool:
    """Whether a call is one of a helper such as `vllm_version_is`."""
    return dotted(call.func).endswith("version_is")


def _split(bound: str) -> tuple[str, str]:
    """Split a bound into its operator and its version."""
    version = bound.lstrip("=!<>")
    return bound.removesuffix(version), version


def _bound_of_tuple(symbol: str, written: str, length: int) -> str:
    """Return the bound that a comparison of tuples is; '' if it is none.

    A tuple is greater than its own beginning: `(0, 30, 0) > (0, 30)`.

    Args:
        symbol: The operator.
        written: The numbers that are written down, with dots.
        length: The number of parts that the version was cut to; 0 for all of them.
    """
    numbers = written.split(".")
    if length and length != len(numbers):
        return ""
    if length and length < _PARTS_OF_RELEASE:
        following = ".".join([*numbers[:-1], str(int(numbers[-1]) + 1)])
        bounds = {
            "==": f"=={written}.*",
            "!=": f"!={written}.*",
            ">": f">={following}",
            "<=": f"<{following}",
        }
        return bounds.get(symbol, f"{symbol}{written}")
    is_beginning = len(numbers) < _PARTS_OF_RELEASE
    if is_beginning and symbol in {"==", "!="}:
        return ""  # they never are the same
    if is_beginning and symbol in {">", "<="}:
        symbol = {">": ">=", "<=": "<"}[symbol]
    return f"{symbol}{written}"


def parts_of(conditions: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """Yield conditions, and each part of those that are joined by `and`.

    Args:
        conditions: The conditions.
    """
    for condition in conditions:
        if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
            yield from parts_of(condition.values)
        else:
            yield condition


def narrow(reader: PileReader, upstream: Upstream) -> list[UnexpressedCode]:
    """Set the requirements of placements that run for the release, but not for all others.

    The others keep their condition, which is asked at run time.

    Args:
        reader: The reader of a module, whose placements are changed.
        upstream: The package that the pile patches.

    Returns:
        The conditions that ask for the version, and are no requirements: a person has to look at
        them.
    """
    unclear: dict[str, UnexpressedCode] = {}
    for placement in reader.placements:
        if placement.context is None:
            continue
        scope = placement.context.scope
        versions = VersionTests(scope, reader.module, upstream)
        bounds: dict[str, None] = {}
        for condition in parts_of(placement.context.conditions):
            bounds.update(dict.fromkeys(versions.bounds(condition)))
            if placement.is_expressible and versions.is_unclear(condition):
                code = ast.unparse(condition)
                unclear[code] = UnexpressedCode(
                    reader.module.path,
                    placement.statement.lineno,
                    code,
                    versions.reason(condition),
                    reader.module.name,
                    kind=TO_LOOK_AT,
                )
        # The row is for the release alone: a change for others could never be made.
        if bounds and satisfies(upstream.release.version, ",".join(bounds)):
            placement.requires = (upstream.project + ",".join(bounds),)
    return list(unclear.values())
