"""A row put into a pack's `__init__.py`, by an edit that keeps all else byte for byte."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import TYPE_CHECKING, NamedTuple

from patchkit.errors import ScaffoldError
from patchkit.scaffold.row import names_of, row_text
from patchkit.scaffold.style import Style, style_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.declaration import Patch

_VOCABULARY = ("patchkit", "patchkit.declaration")
_IDLE = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
)
_OTHERS_NAMES = ("after", "conflicts")


class Insertion(NamedTuple):
    """
    A text to put in.

    Args:
        at: line, from 1, and column.
        text: with plain line ends.

    """

    at: tuple[int, int]
    text: str


class PackFile:
    """
    The `__init__.py` of a pack.

    Args:
        name: for messages.
        content: as it lies there.

    Raises:
        ScaffoldError: it is no Python that can be read.

    """

    def __init__(self, name: str, content: bytes) -> None:
        self._name = name
        try:
            self._encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
            self._content = content.decode(self._encoding)
            self._tree = ast.parse(content)
        except (SyntaxError, ValueError) as error:
            raise ScaffoldError(f"{name}: cannot be read as Python: {error}") from error
        self._text = self._content.replace("\r\n", "\n")
        self._lines = self._text.splitlines(keepends=True)
        self.style = style_of(self._content)

    def mentions(self, name: str) -> bool:
        """Whether a row of this name seems to be there; what rows name of others does not count."""
        names = (one for one in ast.walk(self._tree) if isinstance(one, ast.keyword))
        others = {
            id(text) for one in names if one.arg in _OTHERS_NAMES for text in ast.walk(one.value)
        }
        return any(
            isinstance(one, ast.Constant) and one.value == name and id(one) not in others
            for one in ast.walk(self._tree)
        )

    def row(self, patch: Patch) -> str:
        """Write the row as it would stand there."""
        return row_text(patch, self.style, self._spelled)

    def with_row(self, patch: Patch) -> bytes:
        """
        Return the file with a row more, the last.

        Raises:
            ScaffoldError: its `PATCHES` is no plain tuple.

        """
        display = self._display()
        text = self._put([*self._row(display, patch), *self._imports(names_of(patch))])
        if not self._is_one_more(display, text):
            raise self._refusal("found one that cannot be added to")
        return text.replace("\n", self.style.newline).encode(self._encoding)

    # --- the row

    def _display(self) -> ast.Tuple:
        bound = [
            one
            for one in ast.walk(self._tree)
            if isinstance(one, ast.Name) and one.id == "PATCHES" and isinstance(one.ctx, ast.Store)
        ]
        found = [one for one in self._tree.body if _assigned(one) in bound]
        value = getattr(found[0], "value", None) if len(bound) == len(found) == 1 else None
        if not isinstance(value, ast.Tuple) or isinstance(found[0], ast.AugAssign):
            raise self._refusal("found none" if not bound else "found another")
        if not self._text_at(value).startswith("("):
            raise self._refusal("found one without parentheses")
        return value

    def _refusal(self, found: str) -> ScaffoldError:
        expected = "expected one plain tuple, PATCHES = (…)"
        return ScaffoldError(f"{self._name}, PATCHES: {found}, {expected}")

    def _row(self, display: ast.Tuple, patch: Patch) -> Iterator[Insertion]:
        inside = [one for one in self._tokens(display) if one.type not in _IDLE]
        close, last = inside[-1], inside[-2]
        indent = self._indent_of(display)
        style = Style(indent, self.style.quote)
        row = f"{indent}{row_text(patch, style, self._spelled, depth=1)},\n"
        if last.string not in (",", "("):
            yield Insertion(last.end, ",")
        line, column = close.start
        if self._lines[line - 1][:column].strip():
            yield Insertion(close.start, f"\n{row}")
        else:
            yield Insertion((line, 0), row)

    def _indent_of(self, display: ast.Tuple) -> str:
        for one in display.elts:
            before = self._lines[one.lineno - 1][: one.col_offset]
            if before and not before.strip():
                return before
        return self.style.indent

    def _tokens(self, display: ast.expr) -> list[tokenize.TokenInfo]:
        start, end = self._span(display)
        return [one for one in self._all_tokens() if start <= one.start and one.end <= end]

    def _all_tokens(self) -> Iterator[tokenize.TokenInfo]:
        return tokenize.generate_tokens(io.StringIO(self._text).readline)

    # --- the words of the vocabulary

    def _spelled(self, word: str) -> str:
        for one in self._froms():
            for alias in one.names:
                if alias.name == word:
                    return alias.asname or word
        module = None if self._froms() else self._module()
        return f"{module}.{word}" if module else word

    def _imports(self, words: Sequence[str]) -> Iterator[Insertion]:
        froms = self._froms()
        known = {alias.name for one in froms for alias in one.names}
        missing = [one for one in words if one not in known]
        if not missing or "*" in known or (not froms and self._module()):
            return
        if froms:
            yield from self._into(froms[0], missing)
        else:
            yield self._new_import(missing)

    def _into(self, node: ast.ImportFrom, words: Sequence[str]) -> Iterator[Insertion]:
        """Put each word where it belongs in sorted names, and else at the end."""
        names = [one.name for one in node.names]
        for word in words:
            later = [one for one in node.names if one.name > word]
            if later and names == sorted(names):
                start = self._span(later[0])[0]
                yield Insertion(start, f"{word},{self._between(start, ' ')}")
            else:
                start, end = self._span(node.names[-1])
                yield Insertion(end, f",{self._between(start, ' ')}{word}")

    def _between(self, start: tuple[int, int], plain: str) -> str:
        """What stands between names: a line's end, where each has its own line."""
        before = self._lines[start[0] - 1][: start[1]]
        return plain if before.strip() else f"\n{before}"

    def _new_import(self, words: Sequence[str]) -> Insertion:
        line = f"from patchkit import {', '.join(words)}\n"
        above = [one for one in self._tree.body if _is_preamble(one)]
        if not above:
            return Insertion((1, 0), f"{line}\n")
        end = above[-1].end_lineno or 1
        space = "" if isinstance(above[-1], (ast.Import, ast.ImportFrom)) else "\n"
        if end >= len(self._lines) and not self._text.endswith("\n"):
            return Insertion((end, len(self._lines[-1])), f"\n{space}{line.rstrip()}")
        return Insertion((end + 1, 0), f"{space}{line}")

    def _froms(self) -> list[ast.ImportFrom]:
        return [
            one
            for one in self._tree.body
            if isinstance(one, ast.ImportFrom) and one.module in _VOCABULARY and not one.level
        ]

    def _module(self) -> str | None:
        for one in self._tree.body:
            for alias in one.names if isinstance(one, ast.Import) else ():
                if alias.name == "patchkit":
                    return alias.asname or alias.name
        return None

    # --- places and texts

    def _span(self, node: ast.expr | ast.alias) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return where a node begins and ends, in letters and not in bytes."""
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        first = (node.lineno, self._letters(node.lineno, node.col_offset))
        return first, (end_line, self._letters(end_line, end))

    def _letters(self, line: int, size: int) -> int:
        return len(self._lines[line - 1].encode()[:size].decode())

    def _text_at(self, node: ast.expr) -> str:
        line, column = self._span(node)[0]
        return self._lines[line - 1][column:]

    def _put(self, insertions: Sequence[Insertion]) -> str:
        lines = [*self._lines, ""]
        for one in sorted(insertions, key=lambda one: one.at, reverse=True):
            line, column = one.at
            whole = lines[line - 1]
            lines[line - 1] = whole[:column] + one.text + whole[column:]
        return "".join(lines)

    def _is_one_more(self, display: ast.Tuple, text: str) -> bool:
        """Whether the new file says the same, and a row more."""
        try:
            now = PackFile(self._name, text.encode(self._encoding))
            after = now._display()
        except ScaffoldError:
            return False
        rows = [ast.dump(one) for one in display.elts]
        return [ast.dump(one) for one in after.elts[:-1]] == rows


def new_pack(module: str, patch: Patch) -> bytes:
    """Write the `__init__.py` of a pack that has one row."""
    style = Style()
    row = row_text(patch, style, str, depth=1)
    imports = f"from patchkit import {', '.join(names_of(patch))}"
    text = f'"""Patches of {module}."""\n\n{imports}\n\nPATCHES = (\n    {row},\n)\n'
    return text.encode()


def _assigned(node: ast.stmt) -> ast.expr | None:
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return node.target
    return node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None


def _is_preamble(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, (ast.Import, ast.ImportFrom))
