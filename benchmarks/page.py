"""Results as the tables of docs/benchmarks.md, which `make bench` writes."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.measure import Spread
    from benchmarks.results import Aim, Line, Result

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
AIMS = "aims"
CASES = "cases"


class PageError(Exception):
    """The page has no place for a table."""


def write(results: Sequence[Result], page: Path = PAGE) -> None:
    """Write the tables of a whole run into the page, between its markers.

    Args:
        results: of all benchmarks, in the order of the tables.
        page: the Markdown file.

    Raises:
        PageError: a pair of markers is missing; the page stays as it was.
    """
    text = page.read_text("utf-8")
    text = _replaced(text, AIMS, aims_table(results))
    text = _replaced(text, CASES, case_tables(results))
    page.write_text(text, "utf-8")


def aims_table(results: Sequence[Result]) -> str:
    """Write what was measured where, and a table of every figure that has a limit."""
    where = environment()
    versions = ", ".join(
        f"{name} {version}" for name, version in where["versions"].items()
    )
    today = date.today().isoformat()
    rows = [_aim_row(result, aim) for result in results for aim in result.aims]
    return "\n".join(
        [
            f"Measured on {today}, {where['cpus']} CPUs, Python {where['python']}, {versions}.",
            "",
            "| benchmark | aim | found | limit | |",
            "|---|---|---:|---:|---|",
            *rows,
        ]
    )


def case_tables(results: Sequence[Result]) -> str:
    """Write a table for each benchmark, with every case that was measured."""
    return "\n\n".join("\n".join(_case_table(result)) for result in results)


def _replaced(text: str, name: str, table: str) -> str:
    begin = f"<!-- {name}: written by `make bench` -->"
    end = f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise PageError(f"found no {begin} … {end}, expected both in the page")
    return pattern.sub(lambda _: f"{begin}\n{table}\n{end}", text)


def _aim_row(result: Result, aim: Aim) -> str:
    verdict = "met" if aim.is_met else "**missed**"
    cells = [
        f"`{result.name}`",
        aim.text,
        _figure(aim.found),
        _figure(aim.limit),
        verdict,
    ]
    return f"| {' | '.join(cells)} |"


def _case_table(result: Result) -> Iterator[str]:
    yield f"### `{result.name}`"
    yield ""
    yield f"{result.title}. Medians of {result.rounds}, in brackets the quartiles."
    if result.lines:
        yield ""
        yield f"| case | {' | '.join([result.unit, *(f'against {it}' for it in result.against)])} |"
        yield f"|---|{'---:|' * (1 + len(result.against))}"
        for line in result.lines:
            yield _case_row(line, result.against)
    for note in result.notes:
        yield ""
        yield note


def _case_row(line: Line, against: Sequence[str]) -> str:
    ratios = [_ratio(line.ratios.get(case)) for case in against]
    return f"| {' | '.join([line.case, _figure(line.cost.median), *ratios])} |"


def _ratio(ratio: Spread | None) -> str:
    if ratio is None:
        return ""
    low_to_high = f"{_figure(ratio.low)} to {_figure(ratio.high)}"
    return f"×{_figure(ratio.median)} ({low_to_high})"  # noqa: RUF001 - the sign of a ratio


def _figure(value: float) -> str:
    """Write three significant digits, and all digits before the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
