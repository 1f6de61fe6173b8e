"""What a file defines, seen by its lines alone: a hundred times faster than parsing it."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.upstream.fingerprint import canonical
from patchkit.upstream.reading.files import parse

if TYPE_CHECKING:
    from collections.abc import Iterable


_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_LINE = re.compile(
    rb"^([ \t]*)(?:(?:async[ \t]+)?(def|class)[ \t]+(%s)"
    rb"|(?:if|elif|else|try|except|finally|with|for|while|match|case)\b)"
    rb"|^(%s)[ \t]*(?::[^=\n]+)?=(?!=)" % (_NAME, _NAME),
    re.MULTILINE,
)


class Definition(NamedTuple):
    """
    A class, a function, or a name that a module assigns to.

    Args:
        kind: `class`, `def` or `name`.
        qualname: within its module.
        start: where its first line begins; decorators come before.
        width: of its indentation.

    """

    kind: str
    qualname: str
    start: int
    width: int

    @property
    def name(self) -> str:
        """The last part of its qualname."""
        return self.qualname.rpartition(".")[2]


class _Open(NamedTuple):
    """What the lines that follow stand in, as long as they are indented further."""

    width: int
    kind: str
    qualname: str


def scan(text: bytes) -> list[Definition]:
    """
    List what a file defines; what functions define within themselves is left out.

    Lines within a text that look like definitions are taken for some: whoever relies on one
    parses it.
    """
    found: list[Definition] = []
    around: list[_Open] = []
    for line in _LINE.finditer(text):
        indent, kind, name, assigned = line.groups()
        width = len(indent.expandtabs()) if indent else 0
        while around and around[-1].width >= width:
            around.pop()
        if not (kind or assigned) or any(one.kind == "def" for one in around):
            continue
        one = (kind or b"name").decode()
        own = (name or assigned).decode(errors="replace")
        qualname = f"{around[-1].qualname}.{own}" if around else own
        found.append(Definition(one, qualname, line.start(), width))
        if kind:
            around.append(_Open(width, one, qualname))
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


_RUN = 4
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Likeness:
    """
    A definition to which others are compared.

    Args:
        nodes: its statements, as a rule one.

    """

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        several = list(nodes)
        words = [word for node in several for word in _words(node)]
        self.size = len(words) - sum(_head(node) for node in several)
        """In words, of a function those of its body: `pass` has none, `return self.x` 12."""
        self._runs = frozenset(
            hash(tuple(words[at : at + _RUN])) for at in range(max(1, len(words) - _RUN + 1))
        )

    def to(self, other: Likeness) -> float:
        """Tell from 0 to 1 how alike another one is."""
        shared = len(self._runs & other._runs)
        return round(shared / (len(self._runs) + len(other._runs) - shared), 3)


def _words(node: ast.AST) -> Iterable[str]:
    return canonical(_with(node, decorator_list=[]), named=False)


def _head(node: ast.AST) -> int:
    if not isinstance(node, _FUNCTIONS):
        return 0
    return sum(1 for _ in _words(_with(node, body=[])))


def _with(node: ast.AST, **changes: object) -> ast.AST:
    if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return node
    fields: dict[str, Any] = {name: getattr(node, name, None) for name in node._fields}
    return type(node)(**{**fields, **changes})
