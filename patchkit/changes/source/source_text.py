"""A function's own source, read and held against the code that is loaded."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING

from patchkit.changes.source.function_text import FunctionText
from patchkit.changes.source.mismatch import SourceLine
from patchkit.changes.source.recompile import Surroundings, arrangement, compiled, not_loaded
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from types import CodeType, FunctionType


class Source:
    """
    The source of a function that has not been edited yet.

    Args:
        function: the function.

    Raises:
        TargetError: there is no source, or it is not that of the loaded code.

    """

    def __init__(self, function: FunctionType) -> None:
        code = function.__code__
        lines = _lines_of(function)
        first = code.co_firstlineno - 1
        rest = "".join(lines[first:])
        self.text = FunctionText(rest)
        self.place = SourceLine(function.__module__ or "", code.co_filename, first + 1)
        self._around = Surroundings(
            code=code,
            scopes=_scopes(function),
            before="".join(lines[:first]),
            after=self._cut(code),
            margin=rest[: len(rest) - len(rest.lstrip(" \t\f"))],
        )
        self._arrange = arrangement(self._around, self.text.text)

    def _cut(self, code: CodeType) -> str:
        try:
            return self.text.cut()
        except TargetError as error:
            raise not_loaded(code) from error

    def module_text(self, text: str) -> str:
        """Return the module's text with this one in the function's place."""
        return f"{self._around.before}{text}{self._around.after}"

    def compiled(self, text: str, filename: str) -> CodeType:
        """
        Compile another text of the function.

        Raises:
            TargetError: it is no Python, or needs another closure.

        """
        return compiled(self._arrange, self._around, text, filename)


def _lines_of(function: FunctionType) -> list[str]:
    code = function.__code__
    if code.co_name == "<lambda>":
        raise TargetError("found a lambda, expected a function that a `def` statement makes")
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if len(lines) < code.co_firstlineno:
        raise TargetError(
            f"found no source of {function.__qualname__} in {code.co_filename}, expected one to "
            "edit; use Replace or Wrap"
        )
    return lines


def _scopes(function: FunctionType) -> tuple[str, ...]:
    # Python 3.10 has the qualified name on the function only, where `wraps` may have changed it.
    name: str = getattr(function.__code__, "co_qualname", function.__qualname__)
    return tuple(name.split(".")[:-1])
