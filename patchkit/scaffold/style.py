"""How generated text is laid out: after the file that it goes into."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 88
"""What is longer is taken apart, with a comma at its end: stable under every formatter."""


@dataclass(frozen=True)
class Style:
    """
    One file's habits.

    Args:
        indent: of one level.
        quote: around texts.
        newline: at the end of lines.

    """

    indent: str = "    "
    quote: str = '"'
    newline: str = "\n"

    def text(self, value: str) -> str:
        """Write a text as a literal; in the quotes that need no escape, where there is a choice."""
        other = "'" if self.quote == '"' else '"'
        quote = other if self.quote in value and other not in value else self.quote
        plain = repr(f"{value}\"'")[1:-4]  # both quotes in it: repr escapes the single one
        return f"{quote}{_requoted(plain, quote)}{quote}"

    def literal(self, value: object) -> str:
        """Write a text, a number, or a type."""
        if isinstance(value, str):
            return self.text(value)
        return value.__name__ if isinstance(value, type) else repr(value)

    def call(self, head: str, arguments: Sequence[str], tail: str = ")", depth: int = 0) -> str:
        """Write a call or the head of a definition, on one line or an argument a line."""
        plain = f"{head}({', '.join(arguments)}{tail}"
        if len(self.indent) * depth + len(plain) <= WIDTH or not arguments:
            return plain
        return self.exploded(head, arguments, tail, depth)

    def exploded(self, head: str, arguments: Iterable[str], tail: str = ")", depth: int = 0) -> str:
        """Write a call with an argument a line."""
        inner = self.indent * (depth + 1)
        lines = [f"{head}(", *(f"{inner}{one}," for one in arguments)]
        return "\n".join([*lines, f"{self.indent * depth}{tail}"])


def style_of(text: str) -> Style:
    """Read the habits of a file that Python can read."""
    indents, quotes = [], []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.INDENT:
            indents.append(token.string)
        elif token.type == tokenize.STRING and not token.string.lstrip("rbfuRBFU").startswith(
            ('"""', "'''")
        ):
            quotes.append(token.string.lstrip("rbfuRBFU")[:1])
    single = quotes.count("'") > quotes.count('"')
    return Style(
        indents[0] if indents else "    ",
        "'" if single else '"',
        "\r\n" if "\r\n" in text else "\n",
    )


def _requoted(plain: str, quote: str) -> str:
    """Escape one quote only, in a text that `repr` has written between single ones."""
    bare = plain.replace("\\'", "'")
    return bare.replace(quote, f"\\{quote}")
