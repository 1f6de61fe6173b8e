"""Hashes how a definition is written, without parsing its file.

The fingerprint of a target needs its syntax tree, which takes milliseconds. Its wording is found by
indentation in some ten microseconds. The same wording means the same source, so a process that
finds a reviewed one stops there. Another wording means nothing: perhaps only a comment has changed.

The wording of a definition is its text with its decorators, the headers of the `if` or `try` blocks
around it, and every other line of the module that may bind one of its names.
"""

import contextlib
import importlib
import re
from collections.abc import Callable, Iterator
from importlib.util import resolve_name
from typing import Any, NamedTuple

from patchkit.core.text.indentation import WORD, SourceLines

_HOPS = 8  # the most modules that imports are followed through
_DEFINES = re.compile(rb" *(?:async[ \t]+def|def|(class))[ \t]+(?P<name>\w+)")
_ASSIGNS = re.compile(rb" *(?P<name>[^\s:=]+)[ \t]*[:=](?!=)")
_CONTINUES = re.compile(rb"(?:else|elif|except|finally)\b")
_IMPORTS = re.compile(rb"\nfrom ([.\w]+) import (\([^)]*\)|[^\n(]*)")
_COMMENT = re.compile(rb"#[^\n]*")
_ALIAS = re.compile(rb"(\w+)(?:[ \t]+as[ \t]+(\w+))?")
# No pattern holds a name: to compile one takes longer than all the rest.
_SETS = re.compile(rb"[ \t]*=(?!=)")
_DECLARES = re.compile(rb"[ \t]*(?::[^=\n]*)?=(?!=)")  # NAME = …, NAME: int = …
# An assignment of a literal, with no call, no other name and no `if … else` in it.
_PLAIN = re.compile(
    rb"\s*\w+[ \t]*(?::[^=]*)?=[ \t]*"
    rb"(?=[\[{'\"\d.-]|[rbfuRBFU]{1,2}['\"]|(?:True|False|None)\b)(?:(?!\belse\b)[^(])*\Z"
)
# @NAME.register, NAME.other = …
_ADDS = re.compile(rb"\.(?:register|\w+[ \t\\\n]*=(?!=))")
_BINDERS = re.compile(rb"\b(?:import|as|global|nonlocal|del|for)\b")
# Calls that may bind any name of a module. They are hashed in this order, also by existing locks.
_BINDING_CALLS_IN_ORDER = (
    b"\nsetattr(",
    b"\nexec(",
    b"\nglobals(",
    b"\nvars(",
    b"\ndef __getattr__(",
)
# For speed, both begin with a fixed character, and neither has a group.
_BINDING_CALLS = re.compile(rb"\n(?:setattr|exec|globals|vars|def __getattr__)\(")
_STAR_IMPORTS = re.compile(rb"\*(?<=import \*)")
_BLANKS = (b" ", b"\t")

_Readable = tuple[bytes, bool]
"""A module's source, and whether the module is a package."""


class Wording(NamedTuple):
    """How a definition is written.

    Args:
        mark: The hash, 16 hexadecimal digits.
        module: The module where the definition stands, after imports were followed.
        page: The source of that module.
    """

    mark: str
    module: str
    page: "_ModuleSource"

    @property
    def lines(self) -> tuple[tuple[int, int], ...]:
        """The numbers of the first and last line of each of its texts, decorators included."""
        # The source begins with an added end of line, so that the first line has number 1.
        source = self.page.source
        lines = []
        for start, end in self.page.texts:
            first = source.count(b"\n", 0, start)
            last = source.count(b"\n", 0, end)
            lines.append((first, last))
        return tuple(lines)


def wording_of(
    read: Callable[[str], _Readable | None], module: str, qualname: str
) -> Wording | None:
    """Find how a definition is written; `from x import name` is followed to the module `x`.

    Args:
        read: Returns a module's source and whether it is a package, or None if it has no source.
        module: The module to begin with.
        qualname: The dotted name of the definition in it.

    Returns:
        The wording, or None if the definition cannot be found by indentation alone.
    """
    parts: list[bytes] = []
    for _ in range(_HOPS):
        readable = read(module)
        if readable is None:
            return None
        text, is_package = readable
        # Indentation is counted in blanks, and an item of a container is not found by it.
        if b"\t" in text or "[" in qualname:
            return None
        page = _ModuleSource(text, qualname)
        # Of each module on the way, as such lines decide where the name leads.
        parts += page.bindings()
        if page.texts:
            if page.may_run_more():
                return None
            parts += page.parts()
            hash_of_parts = _hash(parts)
            return Wording(hash_of_parts, module, page)
        imported = page.imported(module, is_package=is_package)
        if imported is None:
            return None
        module, qualname = imported
    return None


def _hash(parts: list[bytes]) -> str:
    """Hash texts, each with its length, so that `ab`, `c` differs from `a`, `bc`."""
    digest = _sha256()
    for part in parts:
        size = len(part)
        digest.update(b"%d\n" % size)
        digest.update(part)
    hexadecimal: str = digest.hexdigest()
    return hexadecimal[:16]


def _find_sha256() -> Callable[[], Any]:
    """Return `hashlib.sha256`, as a module of Python's own has it, too.

    `hashlib` loads OpenSSL, which is a quarter of what a start with a lock takes.
    """
    for name in ("_sha2", "_sha256"):  # from Python 3.12 on, and before
        with contextlib.suppress(ImportError):
            constructor: Callable[[], Any] = importlib.import_module(name).sha256
            return constructor
    from hashlib import sha256  # noqa: PLC0415 - of a Python that was built without the other

    return sha256


_sha256 = _find_sha256()


class _ModuleSource(SourceLines):
    """A module's source, searched for the lines that concern one name, such as `Class.method`.

    `texts` are the start and end of each text that binds the name: of its definitions, or if it has
    none, of assignments to it.
    """

    def __init__(self, source: bytes, qualname: str) -> None:
        super().__init__(source)
        encoded = qualname.encode()
        self._names = encoded.split(b".")
        # By part of the name: the lines in which it occurs, and of these, those outside of `texts`.
        self._mentions: dict[bytes, list[int]] = {}
        self._lines_outside: dict[bytes, list[int]] = {}
        for name in self._names:
            if name not in self._mentions:
                self._mentions[name] = self.lines_with(name)
        definitions = list(self._bound(_DEFINES))
        self._are_assigned = not definitions
        self.texts: list[tuple[int, int]] = []
        for at in definitions:
            start = self.first_decorator(at)
            self.texts.append((start, self.end(at)))
        if not definitions:
            for at in self._bound(_ASSIGNS):
                end = self.end(at)
                self.texts.append((at, end))
        for name, lines in self._mentions.items():
            self._lines_outside[name] = self._not_in_texts(lines)

    def parts(self) -> Iterator[bytes]:
        """Yield the texts of the definition, with the conditions that they stand under."""
        for start, end in self.texts:
            first_line = self.line_at(start)
            yield from self._conditions(first_line)
            yield self.source[start:end]

    def bindings(self) -> Iterator[bytes]:
        """Yield the further lines that may bind the name or a part of it, or any name at all.

        For `Class.method` such are `Class = other(Class)`, `setattr(…)` and `from x import *`.
        """
        for name, lines in self._lines_outside.items():
            for offset in lines:
                line = self.text(offset)
                if _binds(line, name):
                    yield line.strip()
        # `setattr(…)` or `def __getattr__(…)`, in the order that existing locks have hashed.
        calls = sorted(_BINDING_CALLS.finditer(self.source), key=_rank_of_call)
        stars = _STAR_IMPORTS.finditer(self.source)
        for match in (*calls, *stars):
            # A match of a call begins with the end of the line before.
            end = match.end()
            offset = self.line_at(end)
            yield self.text(offset)

    def may_run_more(self) -> bool:
        """Whether a call of the name may run code of the module that is not in its texts.

        So it is where an assignment calls a decorator, `run = cached(_run)`, or where other code
        registers a function: `@run.register`.
        """
        for name in self._names[:-1]:  # the classes around it
            mentions = self._mentions[name]
            definitions = [at for at in mentions if self._defines(at, name)]
            if len(definitions) > 1:
                # Only the last `class` of a name counts, and the texts may be of an earlier one.
                return True
        if self._are_assigned:  # a literal runs nothing
            texts = [self.source[start:end] for start, end in self.texts]
            are_literals = all(map(_PLAIN.match, texts))
            return not are_literals
        name = self._names[-1]
        # `custom_op(…)` of torch and vLLM registers a function that it is passed.
        may_register = b"custom_op(" in self.source
        for at in self._lines_outside[name]:
            if may_register and _does_more_than_call(self.text(at), name):
                return True
            if _adds(self.source, at, self.line_end(at), name):
                return True
        return False

    def _defines(self, at: int, name: bytes) -> bool:
        """Whether the line that begins at a byte is the `def` or `class` of a name.

        In whatever scope: the same name may be that of another class elsewhere in the module.
        """
        match = _DEFINES.match(self.source, at)
        if match is None:
            return False
        return match["name"] == name

    def imported(self, module: str, *, is_package: bool) -> tuple[str, str] | None:
        """Find the module and the name that the only import of the first name leads to.

        Args:
            module: The name of this module, for relative imports.
            is_package: Whether this module is a package.

        Returns:
            The module and the dotted name in it, or None if no or several imports bind the name.
        """
        imports = list(self._imports_of(self._names[0]))
        if len(imports) != 1:
            return None
        source, name = imports[0]
        package = module
        if not is_package:
            package, _, _ = module.rpartition(".")
        try:
            base = resolve_name(source, package)
        except ImportError:
            return None
        attributes = self._names[1:]
        dotted = b".".join([name, *attributes])
        return base, dotted.decode()

    def _imports_of(self, bound: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield the module as written, and the name there, of each `from` import of a name."""
        for statement in _IMPORTS.finditer(self.source):
            without_comments = _COMMENT.sub(b"", statement[2])
            names = without_comments.strip(b"()")
            for name, as_name in _ALIAS.findall(names):
                bound_here = as_name or name
                if bound_here == bound:
                    yield statement[1].decode(), name

    def _not_in_texts(self, lines: list[int]) -> list[int]:
        """Return the lines that lie in none of the definition's texts."""
        for start, end in self.texts:
            lines = [at for at in lines if not start <= at < end]
        return lines

    def _bound(self, pattern: re.Pattern[bytes]) -> Iterator[int]:
        """Yield the lines that bind the name in its own class, or at module level, by a pattern."""
        *owners, name = self._names
        for at in self._mentions[name]:
            match = pattern.match(self.source, at)
            if match is None or match["name"] != name:
                continue
            if self._scope(at) == owners:
                yield at

    def _scope(self, at: int) -> list[bytes] | None:
        """Return the names of the classes around a line, outermost first; None in a function."""
        names: list[bytes] = []
        for header in self.headers(at):
            match = _DEFINES.match(self.source, header)
            if match is None:
                continue
            is_class = match[1] is not None  # the word `class`
            if not is_class:
                return None
            name = match["name"]
            names.insert(0, name)
        return names

    def _conditions(self, at: int) -> Iterator[bytes]:
        """Yield the headers of the `if`, `try` and other blocks that a line is in."""
        for header in self.headers(at):
            text = self.text(header).strip()
            is_definition = _DEFINES.match(text) is not None
            if is_definition:
                continue
            yield text
            yield from self._earlier_clauses(header)

    def _earlier_clauses(self, at: int) -> Iterator[bytes]:
        """Yield the headers that an `else` or the like depends on: each `elif`, and the `if`.

        Args:
            at: The start of the line of the `else`.
        """
        indent = self.indent(at)
        while _CONTINUES.match(self.source, at + indent):
            earlier = self.above(at, indent)
            if earlier is None:
                return
            yield self.text(earlier).strip()
            at = earlier


def _rank_of_call(match: re.Match[bytes]) -> int:
    """Return where in `_BINDING_CALLS_IN_ORDER` the call of a match is."""
    return _BINDING_CALLS_IN_ORDER.index(match[0])


def _does_more_than_call(line: bytes, name: bytes) -> bool:
    """Whether a line mentions a name other than as `name(`: it may pass the function on."""
    calls = line.count(name + b"(")
    mentions = line.count(name)
    return mentions > calls


def _binds(line: bytes, name: bytes) -> bool:
    """Whether a line that contains a name may bind it; True in case of doubt."""
    if line[:1] in _BLANKS:
        item = line.strip(b" \t")
        if item in (name, name + b","):
            return True  # a line of an import or a tuple in brackets
    at = line.find(name)
    while at >= 0:
        if _binds_at(line, name, at):
            return True
        at = line.find(name, at + 1)
    return False


def _binds_at(line: bytes, name: bytes, at: int) -> bool:
    """Whether a line may bind the name that is at an offset in it.

    So it does in `Class.NAME = …`, `NAME = …`, `NAME: int = …`, and behind `import` or the like.
    """
    end = at + len(name)
    before = b""
    if at:
        before = line[at - 1 : at]
    if before == b".":
        if _SETS.match(line, end):  # `Class.NAME = …`
            return True
    elif before not in WORD and _DECLARES.match(line, end):
        return True
    after = line[end : end + 1]
    is_word = before not in WORD and after not in WORD
    if not is_word:
        return False
    return _BINDERS.search(line, 0, at) is not None


def _adds(source: bytes, start: int, end: int, name: bytes) -> bool:
    """Whether a line changes what NAME does: `NAME.register`, `NAME.x = …`, `Class.NAME = …`."""
    at = source.find(name, start, end)
    while at >= 0:
        after = at + len(name)
        if _ADDS.match(source, after):
            return True
        is_attribute = source[at - 1 : at] == b"."
        if is_attribute and _SETS.match(source, after):
            return True
        at = source.find(name, after, end)
    return False
