"""The files of one release, what they define, and how alike two definitions are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from patchkit.analysis.upstream.fingerprint import canonical
from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.module_tree import Modules, module_name
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES

_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_LINE = re.compile(
    rb"^([ \t]*)(?:(?:async[ \t]+)?(def|class)[ \t]+(%s)"
    rb"|(?:if|elif|else|try|except|finally|with|for|while|match|case)\b)"
    rb"|^(%s)[ \t]*(?::[^=\n]+)?=(?!=)" % (_NAME, _NAME),
    re.MULTILINE,
)
_RUN = 4  # words
TRIVIAL = 20
"""Words below which a source is evidence of nothing: `return self.x` has 12."""
TELLING = 35
"""Words from which a source is evidence without its name."""


class Definition(NamedTuple):
    """A class, a function, or a name that a module assigns to."""

    kind: str  # `class`, `def` or `name`
    qualname: str
    start: int  # where its first line begins; decorators come before
    width: int  # of its indentation

    @property
    def name(self) -> str:
        """The last part of its qualname."""
        return self.qualname.rpartition(".")[2]


def scan(text: bytes) -> list[Definition]:
    """List what a file defines outside of functions; lines of a text may be taken for some."""
    # By lines alone, a hundred times faster than by parsing: whoever relies on one parses it.
    found: list[Definition] = []
    around: list[tuple[int, str, str]] = []  # width, kind and qualname of what is open
    for line in _LINE.finditer(text):
        indent, kind, name, assigned = line.groups()
        width = len(indent.expandtabs()) if indent else 0
        while around and around[-1][0] >= width:
            around.pop()
        if not (kind or assigned) or any(outer == "def" for _, outer, _ in around):
            continue
        what = (kind or b"name").decode()
        own = (name or assigned).decode(errors="replace")
        qualname = f"{around[-1][2]}.{own}" if around else own
        found.append(Definition(what, qualname, line.start(), width))
        if kind:
            around.append((width, what, qualname))
    return found


def block(text: bytes, definition: Definition) -> bytes:
    """Quote a definition without its decorators: up to the next line that is not part of it."""
    end = _end(definition.width).search(text, definition.start + definition.width)
    return text[definition.start : end.start() + 1 if end else len(text)]


def node_of(text: bytes, definition: Definition) -> ast.stmt | None:
    """Parse a definition by itself; None where its lines alone do not tell where it ends."""
    quoted = block(text, definition)
    tree, fault = parse(b"if 1:\n" + quoted if definition.width else quoted)
    if fault or not tree.body:
        return None
    only = tree.body[0]
    found = only.body if isinstance(only, ast.If) and definition.width else tree.body
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=64)
def _end(width: int) -> re.Pattern[bytes]:
    # A closing bracket belongs to what it closes, a comment to nothing.
    return re.compile(rb"\n[ \t]{0,%d}(?=[^\s#)\]}])" % width)


class Likeness:
    """Statements to compare, as the words of a fingerprint without their name and decorators."""

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        words = [word for node in nodes for word in _words(node, decorator_list=[])]
        functions = (node for node in nodes if isinstance(node, DEFS))
        heads = (_words(node, decorator_list=[], body=[]) for node in functions)
        self.size = len(words) - sum(map(len, heads))
        """In words, of a function those of its body: `pass` has none, `return self.x` 12."""
        self.is_trivial = self.size < TRIVIAL
        self.is_telling = self.size >= TELLING
        self._runs = frozenset(
            hash(tuple(words[at : at + _RUN])) for at in range(max(1, len(words) - _RUN + 1))
        )

    def to(self, other: Likeness) -> float:
        """Tell from 0 to 1 how alike another one is: the share of runs of words that both have."""
        shared = len(self._runs & other._runs)
        return round(shared / (len(self._runs) + len(other._runs) - shared), 3)


def _words(node: ast.AST, **changes: object) -> list[str]:
    if isinstance(node, SCOPES):
        fields: dict[str, Any] = {name: getattr(node, name, None) for name in node._fields}
        node = type(node)(**{**fields, **changes})
    return list(canonical(node, named=False))


REACH = 1 << 20
"""Bytes of files, unpacked, that are fetched in search of one target beyond those that are new."""
_WORD = re.compile(rb"[A-Za-z_]\w{5,}")


class SourceFile:
    """What one file defines."""

    def __init__(self, path: str, text: bytes) -> None:
        self.path = path
        self.module = module_name(path)
        self.last = self.module.rpartition(".")[2]
        self.definitions = scan(text)
        self.text = text

    @cached_property
    def names(self) -> frozenset[str]:
        """The classes and functions that it defines, by qualname; no other names for them."""
        return frozenset(one.qualname for one in self.definitions if one.kind != "name")

    @cached_property
    def tops(self) -> frozenset[str]:
        """What it defines for itself and not for a class, variables too."""
        return frozenset(one.qualname for one in self.definitions if "." not in one.qualname)

    def likeness(self, definition: Definition) -> Likeness | None:
        """Parse one of its definitions; None where its lines alone do not tell."""
        node = node_of(self.text, definition)
        return Likeness([node]) if node else None

    @cached_property
    def whole(self) -> Likeness:
        """All of it."""
        return Likeness(parse(self.text)[0].body)


class Catalog:
    """The files of one release."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self.source = modules.files.source
        self._pages: dict[str, SourceFile | None] = {}

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every Python file."""
        return frozenset(self._modules.files.python())

    def named(self, last: str) -> set[str]:
        """List the files of the modules whose name ends like this."""
        return self._by_name.get(last, set())

    @cached_property
    def _by_name(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path in self.paths:
            found.setdefault(module_name(path).rpartition(".")[2], set()).add(path)
        return found

    def pages(self, paths: Iterable[str]) -> list[SourceFile]:
        """Read files, all that are not known yet at once; in the order of their paths."""
        wanted = sorted(paths)
        missing = [path for path in wanted if path not in self._pages]
        if missing:
            self.source.prefetch(missing)
        for path in missing:
            text = self.source.read(path)
            self._pages[path] = None if text is None else SourceFile(path, text)
        return [page for path in wanted if (page := self._pages[path])]

    def page(self, path: str) -> SourceFile | None:
        """Read one file; None where there is none."""
        return next(iter(self.pages([path] if path in self.paths else [])), None)

    def module(self, name: str) -> SourceFile | None:
        """Read the file of a module; None where it has none."""
        tree = self._modules.get(name)
        return self.page(tree.path) if tree and tree.path else None


def nearness(one: str, other: str) -> float:
    """Tell from 0 to 1 how many parts two dotted names have in common."""
    ours, theirs = one.split("."), other.split(".")
    return len(set(ours) & set(theirs)) / max(len(ours), len(theirs))


def rarest(text: bytes, pages: Sequence[SourceFile], count: int) -> list[bytes]:
    """Pick the words of a text that the fewest files hold, of those that any does."""
    longest = sorted(set(_WORD.findall(text)), key=lambda word: (-len(word), word))[:40]
    held = {word: sum(word in page.text for page in pages) for word in longest}
    known = [word for word in longest if held[word]]
    return sorted(known, key=lambda word: (held[word], word))[:count]
