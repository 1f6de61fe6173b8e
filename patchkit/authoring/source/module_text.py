"""Holds the text of a module while it is changed, line by line."""

import ast
from dataclasses import dataclass

from patchkit.analysis.upstream.resolving.module_tree import lines_of
from patchkit.authoring.source.definitions import Definitions


@dataclass
class ModuleText:
    """A module, changed step by step.

    Args:
        path: the path of its file in its release.
        text: its text, as it is by now; its lines end with a newline alone.
        changed: the names that changes of the same row define in it; `bring` brings none of these.
        with_conditional: whether what is defined under a condition can be changed.
    """

    path: str
    text: str
    changed: frozenset[str] = frozenset()
    with_conditional: bool = False

    def read(self) -> Definitions:
        """Return what the text defines by now."""
        definitions = Definitions.of(self.path, self.text.encode())
        if self.with_conditional:
            definitions.add_conditional()
        return definitions

    def line(self, number: int) -> str:
        """Return a line.

        Args:
            number: its number, counted from 1.
        """
        return self.text.split("\n")[number - 1]

    def put(self, first: int, last: int, text: str) -> None:
        """Put a text in the place of lines.

        Args:
            first: the first line, counted from 1.
            last: the last line; if it is `first - 1`, the text is inserted, and replaces no line.
            text: the text, without the newline at its end.
        """
        lines = self.text.split("\n")
        lines[first - 1 : last] = text.split("\n")
        self.text = "\n".join(lines)

    def put_before(self, line: int, text: str) -> None:
        """Put a text before a line.

        Args:
            line: the line, counted from 1.
            text: the text, without the newline at its end.
        """
        self.put(line, line - 1, text)

    def above_comments(self, line: int) -> int:
        """Return the first line of the comments that stand directly above a line.

        Args:
            line: the line, counted from 1; it is returned if there are none.
        """
        while line > 1 and self.line(line - 1).startswith("#"):
            line -= 1
        return line

    def remove(self, first: int, last: int) -> None:
        """Take lines out, with the empty lines before them.

        Args:
            first: the first line, counted from 1.
            last: the last line.
        """
        lines = self.text.split("\n")
        # `lines[first - 2]` is the line above `first`, as `lines` counts from 0.
        while first > 1 and not lines[first - 2].strip():
            first -= 1
        del lines[first - 1 : last]
        self.text = "\n".join(lines)


def lines_of_statement(node: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a statement, decorators included.

    Args:
        node: the statement.
    """
    # `lines_of` returns None for nodes without a line; a statement that was parsed has one.
    return lines_of([node]) or (0, 0)


def line_after(node: ast.stmt) -> int:
    """Return the line that follows a statement.

    Args:
        node: the statement.
    """
    _, last = lines_of_statement(node)
    return last + 1
