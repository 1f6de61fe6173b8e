"""A function's own source, and another text compiled in its place.

It has the same name, the same lines, the same class and closure around it. Mostly the text is
compiled alone, under as many `class` lines as it stands in and beside what its module imports;
what is inside another function is compiled with its whole module.

The edited module is a file that tracebacks, debuggers, coverage and vLLM's compile cache find, by
the hash of its content in a folder of the user's own, so that processes share it.
"""

from __future__ import annotations
import __future__

import contextlib
import hashlib
import linecache
import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from threading import get_ident
from types import CodeType, FunctionType

from patchkit.core.text.rewriting import FunctionText, SourceLine
from patchkit.errors import TargetError

Arrangement = Callable[[str], "str | None"]

_FUTURE = sum(
    getattr(__future__, name).compiler_flag
    for name in __future__.all_feature_names
    if name != "nested_scopes"  # its flag says of code that it is nested
)


class Source:
    """The source of a function that has not been edited; a TargetError where it cannot be had."""

    def __init__(self, function: FunctionType) -> None:
        code = self._code = function.__code__
        lines = _lines_of(function)
        first = code.co_firstlineno - 1
        rest = "".join(lines[first:])
        self.text = FunctionText(rest)
        self.place = SourceLine(code.co_filename, first + 1)
        # Python 3.10 has the qualified name on the function only, where `wraps` may change it.
        name: str = getattr(code, "co_qualname", function.__qualname__)
        self._scopes = name.split(".")[:-1]
        self._margin = rest[: len(rest) - len(rest.lstrip(" \t\f"))]
        self._before = "".join(lines[:first])
        try:
            self._after = self.text.cut()
        except TargetError as error:
            raise self._not_loaded() from error
        self._arrange = self._arrangement()

    def compiled(self, text: str, filename: str) -> CodeType:
        """Compile another text of the function; a TargetError where it does not fit."""
        code = self._code
        try:
            new = self._compile(self._arrange(text), filename)
            if new is not None and (lost := sorted({*code.co_freevars} - {*new.co_freevars})):
                new = self._compile(self._arrange(_mentioning(lost, text)), filename)
        except (SyntaxError, ValueError) as error:
            raise TargetError(f"the edited text does not compile: {error}") from error
        if new is None:
            raise TargetError(f"the edited text defines no function {code.co_name!r} any more")
        _refuse_closure(code.co_freevars, new.co_freevars)
        return new

    def alone(self, text: str) -> str | None:
        """Put a function under the `class` lines that it stands in; None where that cannot be."""
        heads = [f"class {name}:" for name in self._scopes] or ["if 1:"] * bool(self._margin)
        blank = self._code.co_firstlineno - 1 - len(heads) - len(self._imports)
        if "<locals>" in self._scopes or len(self._margin) < len(heads) or blank < 0:
            return None
        lines = [self._margin[:depth] + head for depth, head in enumerate(heads)]
        return "\n".join([*self._imports, *lines, *[""] * blank, text])

    def whole(self, text: str) -> str:
        """Put a function into its module."""
        return f"{self._before}{text}{self._after}"

    @cached_property
    def _imports(self) -> list[str]:
        """One line or none: Python compiles `name.function()` in another way for an import."""
        names = sorted({*_imported(self._before), *_imported(self._after)})
        return [f"import {', '.join(names)}"] if names else []

    def _arrangement(self) -> Arrangement:
        for arrange in (self.alone, self.whole):
            with contextlib.suppress(SyntaxError, ValueError):
                if self._compile(arrange(self.text.text), self.place.file) == self._code:
                    return arrange
        raise self._not_loaded()

    def _compile(self, source: str | None, filename: str) -> CodeType | None:
        if source is None:
            return None
        flags = self._code.co_flags & _FUTURE
        return _find(compile(source, filename, "exec", flags, dont_inherit=True), self._code)

    def _not_loaded(self) -> TargetError:
        return TargetError(
            f"the source in {self.place.file}:{self.place.line} is not what is loaded: the file "
            "has changed since it was imported, or somebody else has changed the function"
        )


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


def _imported(text: str) -> Iterator[str]:
    """Find the names that a module imports; some may be missing, and the whole is compiled then."""
    # Not with `^`, which `re` tries at every character.
    lines = r"\n(?=[fi])(?:from \S+ )?import (\([^)]*|[^(\n]*)"
    for imports in re.findall(lines, f"\n{text}"):
        for part in re.sub(r"#.*|[(\\]", "", imports).split(","):
            words = part.partition(";")[0].replace(".", " . ").split()
            if words and words[0].isidentifier():
                yield words[-1] if "as" in words else words[0]


def _find(outer: CodeType, code: CodeType) -> CodeType | None:
    for inner in outer.co_consts:
        if isinstance(inner, CodeType):
            if (inner.co_name, inner.co_firstlineno) == (code.co_name, code.co_firstlineno):
                return inner
            if (nested := _find(inner, code)) is not None:
                return nested
    return None


def _refuse_closure(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    if old == new:
        return
    more = [name for name in new if name not in old]
    if more:
        held = f"it holds {', '.join(old) or 'nothing'}"
        way = "write super(Class, self)" if more == ["__class__"] else held
        raise TargetError(
            f"the edited text uses {', '.join(more)} of the function around it, which the closure "
            f"does not hold; {way}"
        )
    lost = ", ".join(name for name in old if name not in new)
    raise TargetError(f"the edited text makes {lost} local, which the closure holds")


def _mentioning(names: list[str], text: str) -> str:
    """Mention variables that are needed no more: the closure goes on holding them."""
    tokens = FunctionText(text).tokens
    margins = [token.margin for token in tokens[1:] if token.margin is not None]
    return f"{text}\n{margins[0]}if 0: {'; '.join(names)}\n" if margins else text


def publish(text: str, file: str) -> str:
    """Make edited text known; return a file name for its code, which ends as the module's."""
    content = text.encode(errors="surrogatepass")
    digest = hashlib.sha256(content).hexdigest()[:32]
    try:
        name = _written(content, folder() / digest / Path(file).name)
    except (OSError, RuntimeError):  # also where nobody knows the home
        name = f"<patchkit edit of {file} {digest}>"
        # Without a time of modification `checkcache` leaves it.
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    linecache.cache.setdefault(name, (lambda: text,))  # should the file be cleaned away
    return name


def folder() -> Path:
    """Return the folder for edited files, which need not be there."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return root / "patchkit" / "edited"


def _written(content: bytes, file: Path) -> str:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for place in (file.parent.parent, file.parent):
        info = place.lstat()
        # What others may write to could show other text than what runs.
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
            raise PermissionError(f"{place} is not this user's own")
    if not (file.is_file() and file.read_bytes() == content):
        draft = file.with_name(f".{os.getpid()}-{get_ident()}")
        draft.touch(0o600)
        draft.write_bytes(content)
        draft.replace(file)
    return str(file)
