"""Finds lines, blocks and decorators of a module's source by indentation, without a parser.

A line inside a string is taken for code.
"""

import functools
import re
from collections.abc import Iterator

_WINDOW = 256
"""How many bytes before a line are searched first for the statement above it."""


def _word_bytes() -> frozenset[bytes]:
    """Return each ASCII letter, digit and the underscore."""
    in_words = []
    for code in range(128):
        char = chr(code)
        if char.isalnum() or char == "_":
            in_words.append(char.encode())
    return frozenset(in_words)


WORD = _word_bytes()
"""The ASCII characters of a name, each as bytes."""


class SourceLines:
    """A module's source, in which a line is named by the offset of its first byte.

    Args:
        source: The source as its file has it.
    """

    def __init__(self, source: bytes) -> None:
        if b"\r" in source:
            source = source.replace(b"\r\n", b"\n")
        self.source = b"\n" + source  # so that every line has an end of line before it
        self._aboves: dict[tuple[int, int], int | None] = {}

    def lines_with(self, name: bytes) -> list[int]:
        """Return the starts of the lines in which a name occurs, each once.

        Args:
            name: The name; `run` does not occur in `rerun`.
        """
        source = self.source
        size = len(name)
        starts = []
        at = source.find(name)
        while at >= 0:
            end = at + size
            before = source[at - 1 : at]
            after = source[end : end + 1]
            is_part = before in WORD or after in WORD
            if is_part:
                at = source.find(name, at + 1)
            else:
                starts.append(self.line_at(at))
                at = source.find(name, self.line_end(at))  # in another line
        return starts

    def line_at(self, at: int) -> int:
        """Return the start of the line that an offset is in.

        Args:
            at: The offset in the source.
        """
        # After the end of line before it, which also the first line has: `__init__` adds one.
        return self.source.rfind(b"\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Return the end of the line that an offset is in.

        Args:
            at: The offset in the source.
        """
        end = self.source.find(b"\n", at)
        if end < 0:
            return len(self.source)
        return end

    def text(self, at: int) -> bytes:
        """Return the text of a line from an offset on.

        Args:
            at: The offset in the source.
        """
        end = self.line_end(at)
        return self.source[at:end]

    def indent(self, at: int) -> int:
        """Return the number of blanks that a line begins with.

        Args:
            at: The start of the line.
        """
        text = self.text(at)
        unindented = text.lstrip(b" ")
        return len(text) - len(unindented)

    def headers(self, at: int) -> Iterator[int]:
        """Yield the starts of the lines that a line is indented under, the innermost first.

        Args:
            at: The start of the line.
        """
        indent = self.indent(at)
        while indent:
            above = self.above(at, indent - 1)  # indented less
            if above is None:
                return
            at = above
            indent = self.indent(above)
            yield at

    def above(self, at: int, indent: int) -> int | None:
        """Find the nearest line above that starts a statement and has at most so many blanks.

        Args:
            at: The start of the line below it.
            indent: The most blanks that it may begin with.

        Returns:
            The start of the line, or None if there is none.
        """
        if (at, indent) not in self._aboves:
            self._aboves[at, indent] = self._find_above(at, indent)
        return self._aboves[at, indent]

    def _find_above(self, at: int, indent: int) -> int | None:
        """Find the nearest line above that starts a statement; `above` keeps the answer.

        The line is mostly a few lines above, so what is searched first is a short text before `at`;
        then longer ones before that.
        """
        statement = _statement(indent)
        end = at
        window = _WINDOW
        while end > 0:
            window_start = max(0, end - window)
            start = self.line_at(window_start)
            # The pattern begins with the end of the line before. The first line has one, too:
            # `__init__` adds it.
            end_of_line_before = max(0, start - 1)
            matches = list(statement.finditer(self.source, end_of_line_before, end))
            if matches:
                nearest = matches[-1]
                return nearest.start() + 1  # the line starts after that end of line
            end = start
            window *= 4
        return None

    def first_decorator(self, at: int) -> int:
        """Return the start of the first decorator's line, or of the definition if it has none.

        Args:
            at: The start of the definition's line.
        """
        indent = self.indent(at)
        first = at
        above = self.above(first, indent)
        while above is not None and self._is_decorator(above, indent):
            first = above
            above = self.above(first, indent)
        return first

    def _is_decorator(self, at: int, indent: int) -> bool:
        if self.indent(at) != indent:
            return False
        return self.source.startswith(b"@", at + indent)

    def end(self, at: int) -> int:
        """Return the end of the block that starts at a line.

        Args:
            at: The start of the line.
        """
        indent = self.indent(at)
        statement = _statement(indent)
        line_end = self.line_end(at)
        # The block ends where a statement is indented no further than its first line.
        following = statement.search(self.source, line_end)
        end = len(self.source)
        if following is not None:
            end = following.start()
        start = self.line_at(end)
        # Blank lines and comments before the next statement do not belong to the block.
        while start > at and self._is_empty_or_comment(start):
            end = start - 1
            start = self.line_at(end)
        return end

    def _is_empty_or_comment(self, at: int) -> bool:
        text = self.text(at).lstrip()
        if not text:
            return True
        return text.startswith(b"#")


@functools.cache
def _statement(indent: int) -> re.Pattern[bytes]:
    """Compile a pattern that matches the start of a statement with at most so many blanks.

    A line that begins with a closing bracket continues a statement; a comment is none.
    """
    return re.compile(rb"\n {0,%d}[^ \n#)\]}]" % indent)
