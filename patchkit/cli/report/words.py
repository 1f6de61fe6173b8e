"""Formats texts for reports: counts, ages, and texts without control characters."""

from collections.abc import Iterable, Sequence

_UNITS = (
    ("days", 86400),
    ("h", 3600),
    ("min", 60),
)
"""Units of time, and their lengths in seconds."""


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 patch` or `2 patches`.

    Args:
        number: The number.
        noun: The noun, in the singular.
    """
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("ch", "ss")):
        return f"{number} {noun}es"
    return f"{number} {noun}s"


def age(seconds: float) -> str:
    """Return an age such as `25 s ago` or `3 days ago`.

    The unit is the longest of which there are at least two: 90 seconds are `90 s ago`.

    Args:
        seconds: The age.
    """
    for unit, length in _UNITS:
        if seconds >= 2 * length:
            number = seconds / length
            return f"{number:.0f} {unit} ago"
    number = max(0, seconds)
    return f"{number:.0f} s ago"


def one_line(text: str) -> str:
    """Return a text on one line, without control characters.

    Args:
        text: The text, which may have several lines.
    """
    if text.isprintable():
        return text
    parts = printable(text).split()
    return " ".join(parts)


def printable(text: str) -> str:
    r"""Return a text with escape sequences such as `\x1b` for control characters but newlines.

    A terminal would obey control characters, and the text may come from a stranger.

    Args:
        text: The text.
    """
    if text.isprintable():
        return text
    without_tabs = text.replace("\t", "    ")
    escaped = map(_escaped, without_tabs)
    return "".join(escaped)


def _escaped(character: str) -> str:
    """Return a character, or its escape sequence if it is a control character."""
    if character.isprintable() or character == "\n":
        return character
    quoted = ascii(character)
    return quoted[1:-1]


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table.

    Args:
        heads: The heads of the columns.
        rows: The cells of each row, which may contain Markdown.
    """
    rules = ["---"] * len(heads)
    lines = [_table_line(heads), _table_line(rules)]
    for row in rows:
        texts = map(one_line, row)
        cells = [text.replace("|", "\\|") for text in texts]
        lines.append(_table_line(cells))
    return lines


def _table_line(cells: Sequence[str]) -> str:
    joined = " | ".join(cells)
    return f"| {joined} |"


def folded_patches(number: int, described: str) -> str:
    """Return the line about patches that come with patchkit, and are counted and not listed.

    Args:
        number: Their number.
        described: What they have in common, such as `never called`.
    """
    if number == 1:
        return f"1 patch that comes with patchkit: {described}; --all shows it"
    return f"{number} patches that come with patchkit: {described}; --all shows them"
