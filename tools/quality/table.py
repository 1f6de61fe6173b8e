"""The table of measures, as Markdown: as it is printed, and as a page of the docs has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .limits import Limit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .measures import Measure

START = "<!-- quality: begin -->"
END = "<!-- quality: end -->"
_HEAD = ("| measure | now | limit | aim |", "|---|---:|---:|---:|")


def table(measures: Iterable[Measure], limits: Mapping[str, Limit]) -> str:
    """Return the table of what was measured, with its limits.

    Args:
        measures: What was measured.
        limits: The limits by the key of the measure.
    """
    rows = [_row(measure, limits.get(measure.key, Limit())) for measure in measures]
    return "\n".join([*_HEAD, *rows])


def _row(measure: Measure, limit: Limit) -> str:
    cells = [
        _shown(value, measure) for value in (measure.value, limit.limit, limit.aim)
    ]
    return f"| {measure.label} | {' | '.join(cells)} |"


def _shown(value: float | None, measure: Measure) -> str:
    if value is None:
        return ""
    return f"{value:,.{measure.digits}f}{measure.unit}"


def page_with(page: str, text: str) -> str:
    """Put a table between the marks of a page.

    Args:
        page: The text of the page.
        text: The table.

    Returns:
        The new text of the page.

    Raises:
        ValueError: The page does not have both marks.
    """
    before, start, following = page.partition(START)
    _, end, after = following.partition(END)
    if not start or not end:
        raise ValueError(
            f"found a page without a table, expected {START} and {END} in it"
        )
    return f"{before}{START}\n{text}\n{END}{after}"


def is_shown(page: str, text: str) -> bool:
    """Whether a page has a table's measures, limits and aims; figures change with every commit.

    Args:
        page: The text of the page.
        text: The table.
    """
    shown = page.partition(START)[2].partition(END)[0]
    return _without_figures(shown) == _without_figures(text)


def _without_figures(text: str) -> list[list[str]]:
    rows = [row.split(" | ") for row in text.strip().splitlines()]
    return [[*row[:1], *row[2:]] for row in rows]
