"""
A function's text compiled in its place: same name, same lines, same class and closure around it.

Mostly the text is compiled alone, under as many `class` lines as it stands in and beside what its
module imports; what is inside another function is compiled with its whole module.
"""

from __future__ import annotations
import __future__

import contextlib
import functools
import linecache
import re
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

from patchkit.changes.source.mismatch import SourceLine
from patchkit.changes.source.rewriting import FunctionText
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from types import FunctionType


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Arrangement = Callable[[str], "str | None"]

_FUTURE = sum(
    getattr(__future__, name).compiler_flag
    for name in __future__.all_feature_names
    if name != "nested_scopes"  # its flag says of code that it is nested
)


@dataclass(frozen=True)
class Surroundings:
    """
    Where a function's text stands.

    Args:
        code: the function's, before any edit.
        scopes: names of what is around it, the outermost first.
        before: the module's text before it.
        after: the module's text after it.
        margin: the indentation of its first line.

    """

    code: CodeType
    scopes: tuple[str, ...]
    before: str
    after: str
    margin: str

    @functools.cached_property
    def imports(self) -> str:
        """
        A line that imports what the module imports; '' if that is nothing.

        Python compiles `name.function()` in another way where the module imports `name`.
        """
        names = sorted({*_imported(self.before), *_imported(self.after)})
        return f"import {', '.join(names)}" if names else ""

    def alone(self, text: str) -> str | None:
        """Put a function under the `class` lines that it stands in; None where that cannot be."""
        classes = self.scopes
        heads = [f"class {name}:" for name in classes] or ["if 1:"] * bool(self.margin)
        imports = [self.imports] * bool(self.imports)
        blank = self.code.co_firstlineno - 1 - len(heads) - len(imports)
        if "<locals>" in classes or len(self.margin) < len(heads) or blank < 0:
            return None
        lines = [self.margin[:depth] + head for depth, head in enumerate(heads)]
        return "\n".join([*imports, *lines, *[""] * blank, text])

    def whole(self, text: str) -> str | None:
        """Put a function into its module."""
        return self.before + text + self.after

    def compile(self, source: str | None, filename: str) -> CodeType | None:
        """Return the function's code from an arrangement's; None where it has none."""
        if source is None:
            return None
        flags = self.code.co_flags & _FUTURE
        return _find(compile(source, filename, "exec", flags, dont_inherit=True), self.code)


def arrangement(around: Surroundings, text: str) -> Arrangement:
    """
    Find the arrangement in which a function's own text becomes the code that it has.

    Raises:
        TargetError: there is none, so the text is not that of the function.

    """
    for arrange in (around.alone, around.whole):
        with contextlib.suppress(SyntaxError, ValueError):
            if around.compile(arrange(text), around.code.co_filename) == around.code:
                return arrange
    raise not_loaded(around.code)


def not_loaded(code: CodeType) -> TargetError:
    """Make the error for a source that does not become the loaded code."""
    return TargetError(
        f"the source in {code.co_filename}:{code.co_firstlineno} is not what is loaded: the file "
        "has changed since it was imported, or somebody else has changed the function"
    )


def compiled(arrange: Arrangement, around: Surroundings, text: str, filename: str) -> CodeType:
    """
    Compile another text of a function.

    Args:
        arrange: what `arrangement` found.
        around: where the function stands.
        text: the new one.
        filename: for the new code.

    Raises:
        TargetError: it is no Python, or needs another closure.

    """
    code = around.code
    try:
        new = around.compile(arrange(text), filename)
        if new is not None and (lost := sorted({*code.co_freevars} - {*new.co_freevars})):
            new = around.compile(arrange(_mentioning(lost, text)), filename)
    except (SyntaxError, ValueError) as error:
        raise TargetError(f"the edited text does not compile: {error}") from error
    if new is None:
        raise TargetError(f"the edited text defines no function {code.co_name!r} any more")
    _refuse_closure(code.co_freevars, new.co_freevars)
    return new


def _imported(text: str) -> Iterator[str]:
    """Find the names that a module imports; some may be missing, and the whole is compiled then."""
    for imports in re.findall(r"^(?:from \S+ )?import (\([^)]*|[^(\n]*)", text, re.MULTILINE):
        for part in re.sub(r"#.*|[(\\]", "", imports).split(","):
            words = part.partition(";")[0].replace(".", " . ").split()
            if words and words[0].isidentifier():
                yield words[-1] if "as" in words else words[0]


def _find(outer: CodeType, code: CodeType) -> CodeType | None:
    for inner in _inner(outer):
        if (inner.co_name, inner.co_firstlineno) == (code.co_name, code.co_firstlineno):
            return inner
        if (nested := _find(inner, code)) is not None:
            return nested
    return None


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _refuse_closure(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    if old == new:
        return
    more = [name for name in new if name not in old]
    if more == ["__class__"]:
        raise TargetError(
            "the edited text uses super() or __class__, which the function was made without; "
            "write super(Class, self)"
        )
    if more:
        raise TargetError(
            f"the edited text uses {', '.join(more)} of the function around it, which the closure "
            f"does not hold; it holds {', '.join(old) or 'nothing'}"
        )
    lost = ", ".join(name for name in old if name not in new)
    raise TargetError(f"the edited text makes {lost} local, which the closure holds")


def _mentioning(names: list[str], text: str) -> str:
    """Mention variables that are needed no more: the closure goes on holding them."""
    tokens = FunctionText(text).tokens
    margins = [token.margin for token in tokens[1:] if token.margin is not None]
    return f"{text}\n{margins[0]}if 0: {'; '.join(names)}\n" if margins else text


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
