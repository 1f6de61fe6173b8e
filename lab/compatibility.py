#!/usr/bin/env python3
"""What lanes said, kept in `docs/compatibility.json`, and the pages that are written from that.

`python lab/compatibility.py` writes the pages anew. `make matrix` adds results.
"""

from __future__ import annotations

import json
import sys
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from folders import REPOSITORY
from lanes import CHECKS, Plan, all_rows, read_plans
from verdicts import green, missing, stale

from patchkit.core.versions.requirements import release_order
from patchkit.errors import PatchkitError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from verdicts import Result, Results

DOCS = REPOSITORY / "docs"
NAME = "compatibility"
COLUMNS = CHECKS["engine"]
MARKS = {"passed": "✓", "failed": "✗"}
HYBRID = "-hybrid"
"""Ends the name of a lane of what nobody has released."""
NOTHING = "–"  # noqa: RUF001 - the sign for nothing
LOOKS = {"passed": "ok", "failed": "broken", "not run": "out-of-range"}
"""Classes of the style sheet of `patchkit check --format html`."""


def read(docs: Path = DOCS) -> dict[str, Result]:
    """Read the results that are kept.

    Raises:
        SettingsError: the file holds none.
    """
    file = docs / f"{NAME}.json"
    if not file.exists():
        return {}
    try:
        return dict(json.loads(file.read_text("utf-8"))["lanes"])
    except (ValueError, KeyError, TypeError) as error:
        expected = 'expected {"lanes": …} as `make matrix` writes it'
        raise SettingsError(
            f"{file}: found no results ({error!r}), {expected}"
        ) from error


def write(plans: Sequence[Plan], results: Results, docs: Path = DOCS) -> None:
    """Keep results, in the order of the lanes, and write the pages; the results come last."""
    kept = {plan.name: results[plan.name] for plan in plans if plan.name in results}
    text = json.dumps({"lanes": kept}, indent=1, ensure_ascii=False) + "\n"
    written = {**pages(plans, kept), "json": text}
    files = {docs / f"{NAME}.{ending}": page for ending, page in written.items()}
    for file, page in files.items():
        _beside(file).write_text(page, "utf-8")
    for file in files:
        _beside(file).replace(file)


def _beside(file: Path) -> Path:
    """Return where a file is written whole before it takes the place of the old one."""
    return file.with_name(f".{file.name}.new")


def pages(plans: Sequence[Plan], results: Results) -> dict[str, str]:
    """Write each page, by the ending of its file."""
    return {
        "md": "\n".join(_markdown(plans, results)) + "\n",
        "html": _html(plans, results),
        "svg": _badge(plans, results),
    }


# -- what all pages say ----------------------------------------------------------------------------


def _cells(plan: Plan, result: Result) -> list[tuple[str, str]]:
    """List for each column the result and what is said of it."""
    told = {one["check"]: (one["result"], one["detail"]) for one in result["results"]}
    left_out = {
        check: ("not run", reason) for check, reason in (plan.without or {}).items()
    }
    never = ("not run", "")
    return [told.get(check) or left_out.get(check, never) for check in COLUMNS]


def _ran(
    plans: Sequence[Plan], results: Results, *runs: str
) -> list[tuple[Plan, Result]]:
    there = [plan for plan in plans if plan.runs in runs and plan.name in results]
    return [(plan, results[plan.name]) for plan in there]


def _seconds(number: float | None) -> str:
    return NOTHING if number is None else f"{number:,.0f}"


def _not_run(plans: Sequence[Plan], results: Results) -> Iterator[tuple[str, str, str]]:
    for plan, result in _ran(plans, results, "engine"):
        for check, (outcome, words) in zip(COLUMNS, _cells(plan, result), strict=True):
            if outcome != "passed" and words:
                yield plan.name, check, words


def _simulated(
    plans: Sequence[Plan], results: Results
) -> dict[tuple[str, str], list[str]]:
    """Name the lanes in which each row of the simulated platform acted."""
    found: dict[tuple[str, str], list[str]] = {}
    for plan, result in _ran(plans, results, "engine", "import"):
        for one in result.get("simulation", ()):
            found.setdefault((one["row"], one["why"]), []).append(plan.name)
    return found


def _summary(plans: Sequence[Plan], results: Results) -> str:
    """Say which releases of vLLM ran: `0.7.3 to 0.32.0`; a hybrid is none."""
    ran = [
        plan
        for plan, _ in _ran(plans, results, "engine")
        if not plan.name.endswith(HYBRID)
    ]
    names = green(ran, results)
    passed = [plan.releases["vllm"] for plan in ran if plan.name in names]
    if not passed:
        return "nothing yet"
    ordered = sorted(passed, key=release_order)
    return ordered[0] if len({*passed}) == 1 else f"{ordered[0]} to {ordered[-1]}"


# -- Markdown --------------------------------------------------------------------------------------

_HEAD = """\
# Compatibility

The combinations of releases ([lanes](releases.md#lanes)) that patchkit was run on, also as
[a grid](compatibility.html). All run on CPUs: vLLM, Ray and torch are real, the NPUs are simulated.
On real accelerators, run `python -m patchkit_conformance` of `examples/conformance`.

`make matrix` writes this page from `compatibility.json` and [`lanes.toml`](../lanes.toml). A test
fails if the page is edited, or if a row has changed since its lanes were run.

## vLLM and Ray

| check | what was shown |
|---|---|
| `check` | the rows hold in the release, by its source |
| `apply` | each target is imported, changed, and changed back |
| `engine` | the engine generates the baseline's tokens |
| `flagship` | Ray workers fail without patchkit and run with it |
| `ray-v1`, `ray-v2` | two workers run on Ray, by each of vLLM's executors |
| `status` | `patchkit status` reports what was applied |
| `outsider` | a third-party pack acts in the roles that it names |

A dash means that a check was not run; the reason is below the table.
"""


def _markdown(plans: Sequence[Plan], results: Results) -> Iterator[str]:
    yield _HEAD
    yield from _table(
        ["lane", "vLLM", "Ray", *COLUMNS, "seconds", "date"], _rows(plans, results)
    )
    yield from _notes(plans, results)
    yield from _section("Environments", _ENVIRONMENT, _environments(plans, results))
    yield from _section(
        "Python", ["lane", "unit tests", "seconds", "date"], _unit(plans, results)
    )
    simulated = _simulated(plans, results).items()
    told = [[f"`{row}`", why, ", ".join(names)] for (row, why), names in simulated]
    yield from _section(
        "Simulated", ["row of the simulated platform", "why", "acted in"], told
    )
    cannot = [[one.name, one.reason, one.proof] for one in plans if one.reason]
    yield from _section("Lanes that cannot run", ["lane", "reason", "proof"], cannot)
    later = [[one.name] for one in plans if not one.reason and one.name not in results]
    yield from _section("Lanes without a result", ["lane"], later)


def _rows(plans: Sequence[Plan], results: Results) -> Iterator[list[str]]:
    for plan, result in _ran(plans, results, "engine", "import"):
        releases = [plan.releases.get(name, NOTHING) for name in ("vllm", "ray")]
        marks = [MARKS.get(outcome, NOTHING) for outcome, _ in _cells(plan, result)]
        yield [
            plan.name,
            *releases,
            *marks,
            _seconds(result["seconds"]),
            result["date"],
        ]


def _notes(plans: Sequence[Plan], results: Results) -> Iterator[str]:
    yield ""
    for plan, _ in _ran(plans, results, "engine", "import"):
        if plan.notes:
            yield f"- {plan.name}: {plan.notes}."
    lanes: dict[tuple[str, str], list[str]] = {}
    for lane, check, reason in _not_run(plans, results):
        lanes.setdefault((check, reason), []).append(lane)
    for (check, reason), names in lanes.items():
        yield f"- {', '.join(names)}, `{check}`: {reason}"


_ENVIRONMENT = [
    "lane",
    "Python",
    "torch",
    "vLLM",
    "Ray",
    "transformers",
    "install, seconds",
    "MB",
]


def _environments(plans: Sequence[Plan], results: Results) -> Iterator[list[str]]:
    for plan, result in _ran(plans, results, "engine", "import"):
        names = ("python", "torch", "vllm", "ray", "transformers")
        found = [result["environment"].get(name) or NOTHING for name in names]
        size = [_seconds(result["install_seconds"]), _seconds(result["megabytes"])]
        yield [plan.name, *found, *size]


def _unit(plans: Sequence[Plan], results: Results) -> Iterator[list[str]]:
    for plan, result in _ran(plans, results, "unit"):
        (one,) = result["results"]
        words = f"{MARKS.get(one['result'], NOTHING)} {one['detail']}"
        python = result["environment"].get("python") or plan.python
        yield [python, words, _seconds(result["seconds"]), result["date"]]


def _section(
    title: str, head: Sequence[str], rows: Iterable[Sequence[str]]
) -> Iterator[str]:
    if written := list(rows):
        yield from ("", f"## {title}", "")
        yield from _table(head, written)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


# -- HTML, in the style of `patchkit check --format html` ------------------------------------------

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>patchkit: compatibility</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header>
<h1>patchkit on vLLM {summary}</h1>
<p class="quiet">Run on CPUs with simulated NPUs; see compatibility.md.</p>
</header>
<main>
<div class="box" role="region" tabindex="0" aria-label="lanes">
<table class="grid"><thead><tr>{head}</tr></thead><tbody>
{body}
</tbody></table>
</div>
</main>
</body>
</html>
"""


def _html(plans: Sequence[Plan], results: Results) -> str:
    style = (
        resources.files("patchkit.cli.report")
        .joinpath("check_html.css")
        .read_text("utf-8")
    )
    head = "".join(
        f'<th scope="col"><span>{one}</span></th>' for one in ("lane", *COLUMNS, "date")
    )
    ran = _ran(plans, results, "engine", "import")
    body = "\n".join(_line(plan, result) for plan, result in ran)
    return _PAGE.format(
        style=style, summary=_summary(plans, results), head=head, body=body
    )


def _line(plan: Plan, result: Result) -> str:
    name = f'<th scope="row"><span title="{escape(plan.words)}">{escape(plan.name)}</span></th>'
    cells = [_cell(outcome, words) for outcome, words in _cells(plan, result)]
    return f"<tr>{name}{''.join(cells)}<td><span>{result['date']}</span></td></tr>"


def _cell(outcome: str, words: str) -> str:
    mark = f'<span aria-hidden="true">{MARKS.get(outcome, NOTHING)}</span>'
    title = f"{outcome}: {words}" if words else outcome
    shown = f'<span title="{escape(title)}">{mark} {outcome}</span>'
    return f'<td class="{LOOKS[outcome]}">{shown}</td>'


# -- the badge -------------------------------------------------------------------------------------

_BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{text}">
<title>{text}</title>
<rect width="{width}" height="20" rx="3" fill="{colour}"/>
<path d="M3 0h{left}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#404954"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="8" y="14">vLLM</text>
<text x="{start}" y="14">{summary}</text>
</g>
</svg>
"""
_LETTER = 7
_LEFT = 42
_GREEN, _GREY, _RED = "#1f6f3f", "#5c6370", "#a32020"


def _badge(plans: Sequence[Plan], results: Results) -> str:
    left = missing(plans, results)
    is_red = bool(left & results.keys())
    summary = _summary(plans, results) + (", partly run" if left and not is_red else "")
    return _BADGE.format(
        width=_LEFT + _LETTER * len(summary) + 14,
        text=f"vLLM {summary}",
        colour=_RED if is_red else _GREY if left else _GREEN,
        left=_LEFT - 3,
        start=_LEFT + 7,
        summary=summary,
    )


def main() -> int:
    """Write the pages anew; name lanes whose results are out of date."""
    try:
        plans, results = read_plans(), read()
    except PatchkitError as error:
        print(f"compatibility: {error}", file=sys.stderr)
        return 2
    write(plans, results)
    for name, words in stale(plans, results, all_rows()).items():
        print(f"compatibility: {name} is to be run again: {words}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
