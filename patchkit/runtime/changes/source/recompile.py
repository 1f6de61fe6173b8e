"""Reads a function's own source, and compiles another text in its place.

The new code has the same name, the same lines, the same class and closure around it. Mostly the
text is compiled alone, under as many `class` lines as it stands in and beside what its module
imports; what is inside another function is compiled with its whole module.

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

"""Puts a function's text where it can be compiled; None where that cannot be."""

_FUTURE = sum(
    getattr(__future__, name).compiler_flag
    for name in __future__.all_feature_names
    if name != "nested_scopes"  # its flag says of code that it is nested
)


class Source:
    """The source of a function that has not been edited.

    Args:
        function: The function as a `def` statement made it.

    Raises:
        TargetError: There is no source, or it is not what is loaded.
    """

    def __init__(self, function: FunctionType) -> None:
        self._code = function.__code__
        lines = _lines_of(function)
        first = self._code.co_firstlineno - 1
        text = "".join(lines[first:])
        self.text = FunctionText(text)
        self.place = SourceLine(self._code.co_filename, first + 1)
        # Python 3.10 has the qualified name on the function only, where `wraps` may change it.
        name: str = getattr(self._code, "co_qualname", function.__qualname__)
        self._scopes = name.split(".")[:-1]
        margin_length = len(text) - len(text.lstrip(" \t\f"))
        self._margin = text[:margin_length]
        self._before = "".join(lines[:first])
        try:
            self._after = self.text.cut()
        except TargetError as error:
            raise self._stale_source_error() from error
        self._arrange = self._arrangement()

    def compiled(self, text: str, filename: str) -> CodeType:
        """Compile another text of the function.

        Args:
            text: The text, decorators included.
            filename: The file that the code is to name.

        Returns:
            Code that can take the place of the function's own.

        Raises:
            TargetError: The text does not compile, or not to a function with the same closure.
        """
        code = self._code
        try:
            new = self._compile(self._arrange(text), filename)
            if new is not None:
                lost = sorted(set(code.co_freevars).difference(new.co_freevars))
                if lost:
                    text = _with_mentions(lost, text)
                    new = self._compile(self._arrange(text), filename)
        except (SyntaxError, ValueError) as error:
            raise TargetError(f"the edited text does not compile: {error}") from error
        if new is None:
            raise TargetError(
                f"the edited text defines no function {code.co_name!r} any more"
            )
        _refuse_closure(code.co_freevars, new.co_freevars)
        return new

    def alone(self, text: str) -> str | None:
        """Put a function under the `class` lines that it stands in, on the same lines of a file.

        Args:
            text: The text of the function.

        Returns:
            A module without what else the function's has; None where that cannot be.
        """
        if "<locals>" in self._scopes:
            return None
        heads = [f"class {name}:" for name in self._scopes]
        if not heads and self._margin:
            heads = ["if 1:"]
        lines_before = self._code.co_firstlineno - 1
        blank_count = lines_before - len(heads) - len(self._imports)
        if len(self._margin) < len(heads) or blank_count < 0:
            return None
        head_lines = [self._margin[:depth] + head for depth, head in enumerate(heads)]
        blank_lines = [""] * blank_count
        return "\n".join([*self._imports, *head_lines, *blank_lines, text])

    def whole(self, text: str) -> str:
        """Put a function into its module.

        Args:
            text: The text of the function.

        Returns:
            The text of the module.
        """
        return f"{self._before}{text}{self._after}"

    @cached_property
    def _imports(self) -> list[str]:
        """One line or none: Python compiles `name.function()` in another way for an import."""
        names = {*_imported_names(self._before), *_imported_names(self._after)}
        if not names:
            return []
        joined = ", ".join(sorted(names))
        return [f"import {joined}"]

    def _arrangement(self) -> Arrangement:
        """Find the way of compiling that makes, of the unedited text, the very code it has."""
        for arrange in (self.alone, self.whole):
            with contextlib.suppress(SyntaxError, ValueError):
                code = self._compile(arrange(self.text.text), self.place.file)
                if code == self._code:
                    return arrange
        raise self._stale_source_error()

    def _compile(self, source: str | None, filename: str) -> CodeType | None:
        """Compile a module; return the code of the function in it, None where it has none."""
        if source is None:
            return None
        flags = self._code.co_flags & _FUTURE
        module = compile(source, filename, "exec", flags, dont_inherit=True)
        return _find_code(module, self._code)

    def _stale_source_error(self) -> TargetError:
        return TargetError(
            f"the source in {self.place.file}:{self.place.line} is not what is loaded: the file "
            "has changed since it was imported, or somebody else has changed the function"
        )


def _lines_of(function: FunctionType) -> list[str]:
    """Read the lines of a function's file; a TargetError where they cannot hold its source."""
    code = function.__code__
    if code.co_name == "<lambda>":
        raise TargetError(
            "found a lambda, expected a function that a `def` statement makes"
        )
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if len(lines) < code.co_firstlineno:
        raise TargetError(
            f"found no source of {function.__qualname__} in {code.co_filename}, expected one to "
            "edit; use Replace or Wrap"
        )
    return lines


def _imported_names(text: str) -> Iterator[str]:
    """Find the names that a module imports; some may be missing, and the whole is compiled then."""
    # Not with `^`, which `re` tries at every character.
    pattern = r"\n(?=[fi])(?:from \S+ )?import (\([^)]*|[^(\n]*)"
    for imports in re.findall(pattern, f"\n{text}"):
        for part in re.sub(r"#.*|[(\\]", "", imports).split(","):
            tokens = part.partition(";")[0].replace(".", " . ").split()
            if not tokens or not tokens[0].isidentifier():
                continue
            if "as" in tokens:
                yield tokens[-1]
            else:
                yield tokens[0]


def _find_code(outer: CodeType, code: CodeType) -> CodeType | None:
    """Find the code of a function with the same name and line, at any depth."""
    for inner in outer.co_consts:
        if not isinstance(inner, CodeType):
            continue
        if (
            inner.co_name == code.co_name
            and inner.co_firstlineno == code.co_firstlineno
        ):
            return inner
        nested = _find_code(inner, code)
        if nested is not None:
            return nested
    return None


def _refuse_closure(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    """Refuse code that uses other variables of the function around it than the closure holds."""
    if old == new:
        return
    more = [name for name in new if name not in old]
    if more == ["__class__"]:
        hint = "write super(Class, self)"
    else:
        hint = f"it holds {', '.join(old) or 'nothing'}"
    if more:
        raise TargetError(
            f"the edited text uses {', '.join(more)} of the function around it, which the closure "
            f"does not hold; {hint}"
        )
    lost = ", ".join(name for name in old if name not in new)
    raise TargetError(f"the edited text makes {lost} local, which the closure holds")


def _with_mentions(names: list[str], text: str) -> str:
    """Mention variables that are needed no more: the closure goes on holding them."""
    tokens = FunctionText(text).tokens
    margins = [token.margin for token in tokens[1:] if token.margin is not None]
    if not margins:
        return text
    mentions = "; ".join(names)
    return f"{text}\n{margins[0]}if 0: {mentions}\n"


def publish(text: str, file: str) -> str:
    """Make the text of an edited module known to tracebacks and debuggers.

    Args:
        text: The text of the whole module.
        file: The module's own file.

    Returns:
        A file name for the edited code, which ends as the module's.
    """
    content = text.encode(errors="surrogatepass")
    digest = hashlib.sha256(content).hexdigest()[:32]
    try:
        copy = folder() / digest / Path(file).name
        name = _write_file(content, copy)
    except (OSError, RuntimeError):  # also where nobody knows the home
        name = f"<patchkit edit of {file} {digest}>"
        # Without a time of modification `checkcache` leaves it.
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)
    linecache.cache.setdefault(name, (lambda: text,))  # should the file be cleaned away
    return name


def folder() -> Path:
    """Return the folder for edited files, which need not be there."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(cache)
    if not root.is_absolute():
        root = Path.home() / ".cache"
    return root / "patchkit" / "edited"


def _write_file(content: bytes, file: Path) -> str:
    """Write a file, unless it is there already; return its name."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for parent in (file.parent.parent, file.parent):
        info = parent.lstat()
        is_own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
        # What others may write to could show other text than what runs.
        if not is_own or info.st_mode & 0o022:
            raise PermissionError(f"{parent} is not this user's own")
    if not (file.is_file() and file.read_bytes() == content):
        draft = file.with_name(f".{os.getpid()}-{get_ident()}")
        draft.touch(0o600)
        draft.write_bytes(content)
        draft.replace(file)
    return str(file)
