"""Write texts as pages show them: counts, ages, and nothing that a terminal would obey."""

from collections.abc import Iterable, Sequence


def count(number: int, noun: str) -> str:
    """Write `1 patch` or `2 patches`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("ch", "ss")):
        return f"{number} {noun}es"
    return f"{number} {noun}s"


def age(seconds: float) -> str:
    """Write `25 s ago`, or the minutes, hours or days of what is older than two of them."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{max(0, seconds):.0f} s ago"


def one_line(text: str) -> str:
    """Write a text on one line, without control characters."""
    if text.isprintable():
        return text
    return " ".join(printable(text).split())


def printable(text: str) -> str:
    """Leave no control characters in what a stranger may have written; lines stay lines."""
    if text.isprintable():
        return text
    return "".join(map(_spelt_out, text.replace("\t", "    ")))


def _spelt_out(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return ascii(character)[1:-1]


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write a Markdown table.

    Args:
        heads: The heads of the columns.
        rows: The cells of each row, which may hold Markdown.

    Returns:
        The lines of the table.
    """
    lines = [_table_line(heads), _table_line(["---"] * len(heads))]
    for row in rows:
        cells = [one_line(cell).replace("|", "\\|") for cell in row]
        lines.append(_table_line(cells))
    return lines


def _table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
