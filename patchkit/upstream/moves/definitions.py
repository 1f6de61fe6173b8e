"""
What a file defines, seen by its lines alone, and how alike two definitions are.

Lines are a hundred times faster than parsing. To be compared, both definitions are written as the
words that a fingerprint is made of, without name and decorators, and cut into runs of four words:
the likeness is the share of the runs that both have, of all that any has.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.upstream.fingerprint import canonical
from patchkit.upstream.reading.files import parse
from patchkit.upstream.resolving.syntax import DEFS, SCOPES

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_LINE = re.compile(
    rb"^([ \t]*)(?:(?:async[ \t]+)?(def|class)[ \t]+(%s)"
    rb"|(?:if|elif|else|try|except|finally|with|for|while|match|case)\b)"
    rb"|^(%s)[ \t]*(?::[^=\n]+)?=(?!=)" % (_NAME, _NAME),
    re.MULTILINE,
)
_RUN = 4


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


def scan(text: bytes) -> list[Definition]:
    """
    List what a file defines; what functions define within themselves is left out.

    Lines within a text that look like definitions are taken for some: whoever relies on one
    parses it.
    """
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
    """A definition to which others are compared: its statements, as a rule one."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        several = list(nodes)
        words = [word for node in several for word in _words(node, decorator_list=[])]
        heads = [
            _words(node, decorator_list=[], body=[]) for node in several if isinstance(node, DEFS)
        ]
        self.size = len(words) - sum(len(head) for head in heads)
        """In words, of a function those of its body: `pass` has none, `return self.x` 12."""
        self._runs = frozenset(
            hash(tuple(words[at : at + _RUN])) for at in range(max(1, len(words) - _RUN + 1))
        )

    def to(self, other: Likeness) -> float:
        """Tell from 0 to 1 how alike another one is."""
        shared = len(self._runs & other._runs)
        return round(shared / (len(self._runs) + len(other._runs) - shared), 3)


def _words(node: ast.AST, **changes: object) -> list[str]:
    if isinstance(node, SCOPES):
        fields: dict[str, Any] = {name: getattr(node, name, None) for name in node._fields}
        node = type(node)(**{**fields, **changes})
    return list(canonical(node, named=False))
