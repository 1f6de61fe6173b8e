"""A module's source seen by its lines and their indentation, without a parser."""

import functools
import re
from collections.abc import Iterator

_WINDOW = 256
WORD = frozenset(b"%c" % one for one in range(128) if chr(one).isalnum() or chr(one) == "_")


class SourceLines:
    """The lines of a module's source, each known by where it starts."""

    def __init__(self, source: bytes) -> None:
        plain = source.replace(b"\r\n", b"\n") if b"\r" in source else source
        self.source = b"\n" + plain  # so that every line has an end of line before it
        self._aboves: dict[tuple[int, int], int | None] = {}

    def lines_with(self, name: bytes) -> list[int]:
        """List the starts of the lines that hold a name, each once."""
        source, size = self.source, len(name)
        found = []
        at = source.find(name)
        while at >= 0:
            is_part = source[at - 1 : at] in WORD or source[at + size : at + size + 1] in WORD
            if not is_part:
                found.append(self.line_at(at))
            at = source.find(name, at + 1 if is_part else self.line_end(at))
        return found

    def line_at(self, at: int) -> int:
        """Find the start of the line that a place is in."""
        return self.source.rfind(b"\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Find the end of the line that a place is in."""
        end = self.source.find(b"\n", at)
        return len(self.source) if end < 0 else end

    def text(self, at: int) -> bytes:
        """Quote a line from a place on."""
        return self.source[at : self.line_end(at)]

    def indent(self, at: int) -> int:
        """Count the blanks that a line begins with."""
        text = self.text(at)
        return len(text) - len(text.lstrip(b" "))

    def headers(self, at: int) -> Iterator[int]:
        """Yield the lines that a line is indented under, the innermost first."""
        indent = self.indent(at)
        while indent and (above := self.above(at, indent - 1)) is not None:
            at, indent = above, self.indent(above)
            yield at

    def above(self, at: int, indent: int) -> int | None:
        """Find the line above that is indented so far at most, and starts a statement."""
        if (at, indent) not in self._aboves:
            self._aboves[at, indent] = self._find_above(at, indent)
        return self._aboves[at, indent]

    def _find_above(self, at: int, indent: int) -> int | None:
        statement, end, window = _statement(indent), at, _WINDOW
        while end > 0:
            start = self.line_at(max(0, end - window))
            # A match begins with the end of the line before.
            found = list(statement.finditer(self.source, max(0, start - 1), end))
            if found:
                return found[-1].start() + 1
            end = start
            window *= 4
        return None

    def first_decorator(self, at: int) -> int:
        """Find the line where the decorators of a definition start."""
        indent, first = self.indent(at), at
        while (above := self.above(first, indent)) is not None:
            if self.indent(above) != indent or not self.source.startswith(b"@", above + indent):
                break
            first = above
        return first

    def end(self, at: int) -> int:
        """Find the end of the block that starts at a line."""
        found = _statement(self.indent(at)).search(self.source, self.line_end(at))
        end = found.start() if found else len(self.source)
        # A line that is empty or a comment belongs to no block.
        while self.text(start := self.line_at(end)).lstrip()[:1] in (b"", b"#") and start > at:
            end = start - 1
        return end


@functools.cache
def _statement(indent: int) -> re.Pattern[bytes]:
    return re.compile(rb"\n {0,%d}[^ \n#)\]}]" % indent)
