"""Texts as pages show them: counted, and with nothing in them that a terminal would obey."""

from collections.abc import Iterable, Sequence


def count(number: int, noun: str) -> str:
    """Write `1 patch` or `2 patches`."""
    end = "" if number == 1 else "es" if noun.endswith(("ch", "ss")) else "s"
    return f"{number} {noun}{end}"


def age(seconds: float) -> str:
    """Write `25 s ago`, or the minutes, hours or days of what is older than two of them."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{max(0, seconds):.0f} s ago"


def one_line(text: str) -> str:
    """Write a text on one line, without control characters."""
    return text if text.isprintable() else " ".join(printable(text).split())


def printable(text: str) -> str:
    """Leave no control characters in what a stranger may have written; lines stay lines."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1]
        for letter in text.replace("\t", "    ")
    )


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write the lines of a table; what cells say may hold Markdown."""
    cells = ([one_line(cell).replace("|", "\\|") for cell in row] for row in rows)
    lines = [heads, ["---"] * len(heads), *cells]
    return [f"| {' | '.join(line)} |" for line in lines]
