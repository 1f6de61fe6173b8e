"""Reads the source of a function, and compiles an edited text into code for the same function.

The new code has the same name, line numbers, class and closure. The text of a function or method is
compiled without the rest of its module: after the module's imports and its `class` lines, and as
many blank lines as keep the line numbers. That is quick. A function inside another function is
compiled with its whole module.

`publish` writes the text of the edited module to a file, so that tracebacks, debuggers, coverage
and vLLM's compile cache find the edited source. The file lies in a folder that is named by the hash
of its content, so that processes share it.
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
"""Makes a module's text of a function's text, to be compiled; None if that is not possible."""

_FUTURE = sum(
    getattr(__future__, name).compiler_flag
    for name in __future__.all_feature_names
    if name != "nested_scopes"  # its flag has another meaning by now: a nested function
)
"""The flags in `co_flags` that stand for `from __future__ import …`."""


class Source:
    """The source of a function that has not been edited.

    Args:
        function: The function as a `def` statement made it.

    Raises:
        TargetError: There is no source, or it is not that of the loaded function.
    """

    def __init__(self, function: FunctionType) -> None:
        self._code = function.__code__
        lines = _lines_of(function)
        first = self._code.co_firstlineno - 1
        text = "".join(lines[first:])
        self.text = FunctionText(text)
        self.place = SourceLine(self._code.co_filename, self._code.co_firstlineno)
        # In Python 3.10 code has no qualified name; that of the function may come from `wraps`.
        name: str = getattr(self._code, "co_qualname", function.__qualname__)
        self._scopes = name.split(".")[:-1]
        margin_length = len(text) - len(text.lstrip(" \t\f"))
        self._margin = text[:margin_length]
        self._before = "".join(lines[:first])
        # The text went on to the end of the file: only now the function's end is known.
        try:
            self._after = self.text.cut()
        except TargetError as error:
            raise self._stale_source_error() from error
        self._arrange = self._right_arrangement()

    def compiled(self, text: str, filename: str) -> CodeType:
        """Compile another text of the function.

        Args:
            text: The text, decorators included.
            filename: The `co_filename` of the new code.

        Returns:
            Code that can take the place of the function's own.

        Raises:
            TargetError: The text does not compile, or needs another closure.
        """
        code = self._code
        try:
            new_code = self._compile(self._arrange(text), filename)
            if new_code is not None:
                # The closure stays as it is: new code has to use the same variables.
                lost_variables = sorted(
                    set(code.co_freevars).difference(new_code.co_freevars)
                )
                if lost_variables:
                    text = _with_mentions(lost_variables, text)
                    new_code = self._compile(self._arrange(text), filename)
        except (SyntaxError, ValueError) as error:
            raise TargetError(f"the edited text does not compile: {error}") from error
        if new_code is None:
            raise TargetError(
                f"the edited text defines no function {code.co_name!r} any more"
            )
        _refuse_closure(code.co_freevars, new_code.co_freevars)
        return new_code

    def alone(self, text: str) -> str | None:
        """Return the text of a module with nothing but imports, `class` lines and the function.

        The function is on the same lines as in its own module.

        Args:
            text: The text of the function.

        Returns:
            The module's text; None for a function inside another one, and if there are too few
            lines above the function.
        """
        if "<locals>" in self._scopes:
            return None
        heads = [f"class {name}:" for name in self._scopes]
        if not heads and self._margin:
            heads = ["if 1:"]  # a function that is indented, but in no class
        lines_before = self._code.co_firstlineno - 1
        blank_count = lines_before - len(heads) - len(self._imports)
        if len(self._margin) < len(heads) or blank_count < 0:
            return None
        # The first `class` line has no indent, the next one a character of the margin, and so on.
        head_lines = [self._margin[:depth] + head for depth, head in enumerate(heads)]
        blank_lines = [""] * blank_count
        return "\n".join([*self._imports, *head_lines, *blank_lines, text])

    def whole(self, text: str) -> str:
        """Return the text of the function's module, with another text of the function.

        Args:
            text: The text of the function.

        Returns:
            The text of the module.
        """
        return f"{self._before}{text}{self._after}"

    @cached_property
    def _imports(self) -> list[str]:
        """A line that imports all names that the module imports; no line if there are none.

        Python compiles `name.function()` differently if an import binds `name`.
        """
        names = {*_imported_names(self._before), *_imported_names(self._after)}
        if not names:
            return []
        joined = ", ".join(sorted(names))
        return [f"import {joined}"]

    def _right_arrangement(self) -> Arrangement:
        """Choose how to make a module of the function's text: `alone`, or else `whole`.

        It is the first with which the unedited text compiles to the code that is loaded.

        Raises:
            TargetError: Neither does. So the source is not that of the loaded function.
        """
        for arrange in (self.alone, self.whole):
            module_text = arrange(self.text.text)
            if module_text is None:
                continue  # `alone` is not possible for this function
            # A function may not compile outside of its module.
            with contextlib.suppress(SyntaxError, ValueError):
                code = self._compile(module_text, self.place.file)
                if code == self._code:
                    return arrange
        raise self._stale_source_error()

    def _compile(self, source: str | None, filename: str) -> CodeType | None:
        """Compile the text of a module, and return the code of the function in it.

        Args:
            source: The text; None if an arrangement is not possible for this function.
            filename: The `co_filename` of the code.

        Returns:
            The code; None if there is no text, or no function of this name on this line in it.
        """
        if source is None:
            return None
        flags = self._code.co_flags & _FUTURE
        module = compile(source, filename, "exec", flags, dont_inherit=True)
        return _find_code(module, self._code)

    def _stale_source_error(self) -> TargetError:
        """Return the error for a source that is not that of the loaded function."""
        return TargetError(
            f"the source in {self.place.file}:{self.place.line} is not what is loaded: the file "
            "has changed since it was imported, or somebody else has changed the function"
        )


def _lines_of(function: FunctionType) -> list[str]:
    """Read the lines of a function's file; raise a TargetError if its source is not in there."""
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
    """Find the names that the module-level imports of a text bind, such as `a` for `import a.b`.

    This is faster than parsing. If it misses a name, the code may differ from the loaded one, and
    the function is compiled with its whole module.
    """
    # Matches `import a, b` and `from a import b` to the end of the line, and `from a import (b,` to
    # the `)`. The `(?=[fi])` rules out other lines early. A `\n` is much faster than `^`, which
    # `re` tries at every character.
    pattern = r"\n(?=[fi])(?:from \S+ )?import (\([^)]*|[^(\n]*)"
    for imports in re.findall(pattern, f"\n{text}"):
        # Without comments, the `(`, and a `\` at the end of a line; a `;` begins other statements.
        for part in re.sub(r"#.*|[(\\]", "", imports).split(","):
            tokens = part.partition(";")[0].replace(".", " . ").split()
            # For `a.b as c` the tokens are `a . b as c`.
            if not tokens or not tokens[0].isidentifier():
                continue
            if "as" in tokens:
                yield tokens[-1]
            else:
                yield tokens[0]


def _find_code(outer: CodeType, code: CodeType) -> CodeType | None:
    """Find the code of a function with the same name and first line, inside of other code.

    None if there is none.
    """
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
    """Raise a TargetError if new code needs another closure than the function has.

    Args:
        old: The closure variables of the function.
        new: Those of the new code.
    """
    if old == new:
        return
    more = [name for name in new if name not in old]
    if more == ["__class__"]:  # what a `super()` needs
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
    """Add a statement that never runs but uses variables, so that they stay in the closure.

    Args:
        names: The variables.
        text: The text of a function.
    """
    tokens = FunctionText(text).tokens
    # Tokens that begin a statement have its indentation: the first one after `def` is in the body.
    margins = [token.margin for token in tokens[1:] if token.margin is not None]
    if not margins:
        return text
    mentions = "; ".join(names)
    return f"{text}\n{margins[0]}if 0: {mentions}\n"


def publish(text: str, file: str) -> str:
    """Write the text of an edited module to a file, for tracebacks and debuggers.

    If no file can be written, the text is put into `linecache`, where tracebacks look for it.

    Args:
        text: The text of the whole module.
        file: The module's own file.

    Returns:
        The file name for the edited code.
    """
    content = text.encode(errors="surrogatepass")
    digest = hashlib.sha256(content).hexdigest()[:32]
    try:
        copy = folder() / digest / Path(file).name
        name = _write_file(content, copy)
    except (OSError, RuntimeError):  # `Path.home` raises a RuntimeError
        name = f"<patchkit edit of {file} {digest}>"
        # `linecache.checkcache` keeps an entry that has no time of modification.
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)
    # If the file is deleted one day, `linecache` calls this function for the text.
    linecache.cache.setdefault(name, (lambda: text,))
    return name


def folder() -> Path:
    """Return the folder for edited files, which may not exist yet."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(cache)
    if not root.is_absolute():
        root = Path.home() / ".cache"
    return root / "patchkit" / "edited"


def _write_file(content: bytes, file: Path) -> str:
    """Write a file, unless it is there already; return its name.

    Raises:
        PermissionError: Other users could write to its folder.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for parent in (file.parent.parent, file.parent):
        info = parent.lstat()
        is_own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
        # In a folder that others can write to, the file could differ from the code that runs.
        if not is_own or info.st_mode & 0o022:
            raise PermissionError(f"{parent} is not this user's own")
    if not (file.is_file() and file.read_bytes() == content):
        # Written under another name first: other processes never see half of it.
        draft = file.with_name(f".{os.getpid()}-{get_ident()}")
        draft.touch(0o600)
        draft.write_bytes(content)
        draft.replace(file)
    return str(file)
