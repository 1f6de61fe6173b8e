"""
A function's text compiled in its place: same name, same lines, same class and closure around it.

Mostly the text is compiled alone, under as many `class` lines as it stands in and beside what its
module imports; what is inside another function is compiled with its whole module.
"""

from __future__ import annotations
import __future__

import functools
import operator
import re
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, cast

from patchkit.changes.source.function_text import FunctionText
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Arrangement = Callable[["Surroundings", str], "str | None"]

_FUTURE = functools.reduce(
    operator.or_,
    (
        getattr(__future__, name).compiler_flag
        for name in __future__.all_feature_names
        if name != "nested_scopes"  # its flag says of code that it is nested
    ),
)
_COMPARED = (
    "co_name",
    "co_code",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_flags",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_exceptiontable",
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

    def whole(self, text: str) -> str:
        """Return the module's text with this one in the function's place."""
        return self.before + text + self.after


def arrange_alone(around: Surroundings, text: str) -> str | None:
    """Put a function under the `class` lines that it stands in; None where that cannot be."""
    classes = around.scopes
    heads = [f"class {name}:" for name in classes] or ["if 1:"] * bool(around.margin)
    imports = [around.imports] * bool(around.imports)
    blank = around.code.co_firstlineno - 1 - len(heads) - len(imports)
    if "<locals>" in classes or len(around.margin) < len(heads) or blank < 0:
        return None
    lines = [around.margin[:depth] + head for depth, head in enumerate(heads)]
    return "\n".join([*imports, *lines, *[""] * blank, text])


def arrange_whole(around: Surroundings, text: str) -> str | None:
    """Put a function into its module."""
    return around.whole(text)


def arrangement(around: Surroundings, text: str) -> Arrangement:
    """
    Find the arrangement in which a function's own text becomes the code that it has.

    Raises:
        TargetError: there is none, so the text is not that of the function.

    """
    for arrange in (arrange_alone, arrange_whole):
        code = _try(arrange, around, text)
        if code is not None and same_code(code, around.code):
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

    def compile_in_place(text: str) -> CodeType | None:
        source = cast("str", arrange(around, text))
        return _find(compile(source, filename, "exec", _flags(code), dont_inherit=True), code)

    try:
        new = compile_in_place(text)
        if new is not None and (lost := sorted({*code.co_freevars} - {*new.co_freevars})):
            new = compile_in_place(_mentioning(lost, text))
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


def same_code(one: CodeType, other: CodeType) -> bool:
    """Whether two codes do the same; file names and lines do not count."""
    if one == other:
        return True
    return all(getattr(one, name, 0) == getattr(other, name, 0) for name in _COMPARED) and (
        _same_constant(one.co_consts, other.co_consts)
    )


def _same_constant(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return same_code(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same_constant, one, other))
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return type(one) is type(other) and repr(one) == repr(other)  # 0.0 equals -0.0


def _try(arrange: Arrangement, around: Surroundings, text: str) -> CodeType | None:
    source = arrange(around, text)
    if source is None:
        return None
    code = around.code
    try:
        module = compile(source, code.co_filename, "exec", _flags(code), dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return _find(module, code)


def _flags(code: CodeType) -> int:
    return code.co_flags & cast("int", _FUTURE)


def _find(outer: CodeType, code: CodeType) -> CodeType | None:
    for inner in _inner(outer):
        if (inner.co_name, inner.co_firstlineno) == (code.co_name, code.co_firstlineno):
            return inner
        if (found := _find(inner, code)) is not None:
            return found
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
