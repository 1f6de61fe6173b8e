"""How a definition is written, as one short hash, found without parsing its file.

The fingerprint of a target asks for its syntax tree, which takes milliseconds. Its wording is
found by indentation in some ten microseconds. The same wording is the same source, so a process
that finds one that was reviewed need not look further; another wording says nothing, as a comment
may have changed.

The wording of a definition is its text with its decorators, the conditions that it stands under,
and every other line of the module that may bind one of its names.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from importlib.util import resolve_name
from typing import NamedTuple

from patchkit.core.text.indentation import WORD, SourceLines

_HOPS = 8
_DEFINES = re.compile(rb" *(?:async[ \t]+def|def|(class))[ \t]+(?P<name>\w+)")
_ASSIGNS = re.compile(rb" *(?P<name>[^\s:=]+)[ \t]*[:=](?!=)")
_CONTINUES = re.compile(rb"(?:else|elif|except|finally)\b")
_IMPORTS = re.compile(rb"\nfrom ([.\w]+) import (\([^)]*\)|[^\n(]*)")
_COMMENT = re.compile(rb"#[^\n]*")
_ALIAS = re.compile(rb"(\w+)(?:[ \t]+as[ \t]+(\w+))?")
# No pattern holds a name: to compile one takes longer than all the rest.
_SETS = re.compile(rb"[ \t]*=(?!=)")
_DECLARES = re.compile(rb"[ \t]*(?::[^=\n]*)?=(?!=)")  # NAME = …, NAME: int = …
# An assignment of something spelled out, with no call, no alias and no choice in it.
_PLAIN = re.compile(
    rb"\s*\w+[ \t]*(?::[^=]*)?=[ \t]*"
    rb"(?=[\[{'\"\d.-]|[rbfuRBFU]{1,2}['\"]|(?:True|False|None)\b)(?:(?!\belse\b)[^(])*\Z"
)
_ADDS = re.compile(rb"\.(?:register|\w+[ \t\\\n]*=(?!=))")  # @NAME.register, NAME.other = …
_BINDERS = re.compile(rb"\b(?:import|as|global|nonlocal|del|for)\b")
_MAKERS = (b"\nsetattr(", b"\nexec(", b"\nglobals(", b"\nvars(", b"\ndef __getattr__(")
# Both begin with one letter, which the search skips to, and have no groups, which cost thrice.
_MADE = re.compile(rb"\n(?:setattr|exec|globals|vars|def __getattr__)\(")
_STARS = re.compile(rb"\*(?<=import \*)")
_BLANKS = (b" ", b"\t")


class Wording(NamedTuple):
    """How a definition is written."""

    mark: str  # a hash, 16 hexadecimal digits
    module: str  # where the definition stands, after imports were followed
    page: "_ModuleSource"

    @property
    def lines(self) -> tuple[tuple[int, int], ...]:
        """Number the first and last line of each of its texts, decorators included."""
        count = self.page.source.count
        texts = self.page.texts
        return tuple((count(b"\n", 0, start), count(b"\n", 0, end)) for start, end in texts)


def wording_of(
    read: Callable[[str], tuple[bytes, bool] | None], module: str, qualname: str
) -> Wording | None:
    """Find how a definition is written; None where it cannot be found by indentation alone.

    `read` returns a module's source and whether it is a package; plain imports are followed.
    """
    parts: list[bytes] = []
    for _ in range(_HOPS):
        found = read(module)
        if found is None or b"\t" in found[0] or "[" in qualname:
            return None
        page = _ModuleSource(found[0], qualname)
        parts += page.bindings()
        if page.texts:
            if page.may_wrap():
                return None
            parts += page.parts()
            return Wording(_hash(parts), module, page)
        imported = page.imported(module, is_package=found[1])
        if imported is None:
            return None
        module, qualname = imported
    return None


def _hash(parts: list[bytes]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(b"%d\n" % len(part))
        whole.update(part)
    return whole.hexdigest()[:16]


class _ModuleSource(SourceLines):
    """One module's source, as far as one name of it goes."""

    def __init__(self, source: bytes, qualname: str) -> None:
        super().__init__(source)
        self._names = [name.encode() for name in qualname.split(".")]
        self._mentions = {name: self.lines_with(name) for name in dict.fromkeys(self._names)}
        defined = [(self.first_decorator(at), self.end(at)) for at in self._bound(_DEFINES)]
        self.texts = defined or [(at, self.end(at)) for at in self._bound(_ASSIGNS)]
        self._are_assigned = not defined
        self._outside = {name: self._outside_of(at) for name, at in self._mentions.items()}

    def parts(self) -> Iterator[bytes]:
        """What stands there, with the conditions around it."""
        for start, end in self.texts:
            yield from self._conditions(self.line_at(start))
            yield self.source[start:end]

    def bindings(self) -> Iterator[bytes]:
        """Other lines that may bind the name, or one on the way to it."""
        for name, mentions in self._outside.items():
            for at in mentions:
                if _binds(line := self.text(at), name):
                    yield line.strip()
        makers = sorted(_MADE.finditer(self.source), key=lambda found: _MAKERS.index(found[0]))
        for found in (*makers, *_STARS.finditer(self.source)):
            yield self.text(self.line_at(found.end()))

    def may_wrap(self) -> bool:
        """Whether code that stands elsewhere in the file may be part of what the name runs."""
        for name in self._names[:-1]:
            found = (_DEFINES.match(self.source, at) for at in self._mentions[name])
            if sum(one is not None and one[2] == name for one in found) > 1:
                return True  # the last one counts, and it may be no class
        if self._are_assigned:
            return not all(_PLAIN.match(self.source[start:end]) for start, end in self.texts)
        name = self._names[-1]
        outside = self._outside[name]
        if b"custom_op(" in self.source:
            lines = map(self.text, outside)  # one may do more with a name than call it
            if any(line.count(name) > line.count(name + b"(") for line in lines):
                return True
        return any(_adds(self.source, at, self.line_end(at), name) for at in outside)

    def imported(self, module: str, *, is_package: bool) -> tuple[str, str] | None:
        """Find where the only import of the first name leads; None where that is not plain."""
        sources = [
            (statement[1].decode(), name)
            for statement in _IMPORTS.finditer(self.source)
            for name, as_name in _ALIAS.findall(_COMMENT.sub(b"", statement[2]).strip(b"()"))
            if (as_name or name) == self._names[0]
        ]
        if len(sources) != 1:
            return None
        source, name = sources[0]
        try:
            base = resolve_name(source, module if is_package else module.rpartition(".")[0])
        except ImportError:
            return None
        return base, b".".join([name, *self._names[1:]]).decode()

    def _outside_of(self, places: list[int]) -> list[int]:
        for start, end in self.texts:
            places = [at for at in places if not start <= at < end]
        return places

    def _bound(self, pattern: re.Pattern[bytes]) -> Iterator[int]:
        """The lines that bind the name, as a pattern has it."""
        *around, name = self._names
        for at in self._mentions[name]:
            found = pattern.match(self.source, at)
            if found and found["name"] == name and self._scope(at) == around:
                yield at

    def _scope(self, at: int) -> list[bytes] | None:
        names: list[bytes] = []
        for header in self.headers(at):
            found = _DEFINES.match(self.source, header)
            if found and not found[1]:
                return None
            if found:
                names.insert(0, found[2])
        return names

    def _conditions(self, at: int) -> Iterator[bytes]:
        for header in self.headers(at):
            text = self.text(header).strip()
            if not _DEFINES.match(text):
                yield text
                yield from self._before(header)

    def _before(self, header: int) -> Iterator[bytes]:
        indent = self.indent(header)
        while _CONTINUES.match(self.source, header + indent):
            above = self.above(header, indent)
            if above is None:
                return
            header = above
            yield self.text(header).strip()


def _binds(line: bytes, name: bytes) -> bool:
    """Whether a line that holds a name may bind it; rather once too often."""
    if line[:1] in _BLANKS and line.strip(b" \t") in (name, name + b","):
        return True  # a line of an import or a tuple in brackets
    at, size = line.find(name), len(name)
    while at >= 0:
        before, end = line[at - 1 : at] if at else b"", at + size
        if before == b".":
            if _SETS.match(line, end):  # Class.NAME = …
                return True
        elif before not in WORD and _DECLARES.match(line, end):
            return True
        is_word = before not in WORD and line[end : end + 1] not in WORD
        if is_word and _BINDERS.search(line, 0, at):
            return True
        at = line.find(name, at + 1)
    return False


def _adds(source: bytes, at: int, end: int, name: bytes) -> bool:
    """Whether a line adds to a function or a class of a name, or sets it anew on a class."""
    while (at := source.find(name, at, end)) >= 0:
        after = at + len(name)
        is_attribute = source[at - 1 : at] == b"."
        if _ADDS.match(source, after) or (is_attribute and _SETS.match(source, after)):
            return True
        at = after
    return False
