"""What a check found as one page for a browser, which needs nothing beside itself."""

from collections.abc import Iterator, Mapping, Sequence

from patchkit.analysis.check.comparison import Difference
from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report import check_view as view
from patchkit.cli.report.html_page import escaped, html_page
from patchkit.core.record import grouped

_MARKS = dict(zip(view.WORDS, "✓?¿~✗–", strict=True))  # noqa: RUF001 - the sign for nothing
_MANY = 14
"""With more columns there is a mark in each, and no word."""


def as_html(
    report: Report,
    diffs: Sequence[Difference] = (),
    made: Sequence[str] = (),
    meanings: Mapping[str, str] | None = None,
) -> str:
    """Write the page: what upstream changed, how it was made, and what codes mean included."""
    return html_page(
        "check_html.html",
        "check_html.css",
        "check_html.js",
        command=report.command,
        tally=escaped(view.tally(report)),
        looked=escaped(view.looked_at(report)),
        made="\n".join(f'<p class="quiet">{escaped(line)}</p>' for line in made),
        body="\n".join(_Body(report, diffs, meanings or {}).parts()),
    )


class _Body:
    def __init__(
        self, report: Report, diffs: Sequence[Difference], meanings: Mapping[str, str]
    ) -> None:
        self._report, self._meanings = report, meanings
        self._groups, self._grids = view.groups(report), view.grids(report)
        self._diffs = grouped((diff.patch, diff) for diff in diffs)
        names = dict.fromkeys([*self._groups, *self._diffs])
        self._ids = {name: f"p{number}" for number, name in enumerate(names)}
        # The number of the column in which a release is; over all grids.
        runs = [run for grid in self._grids for run in grid.runs]
        self._runs = {release: at for at, run in enumerate(runs) for release in run.releases}

    def parts(self) -> Iterator[str]:
        if any(grid.rows for grid in self._grids):
            yield '<ul class="legend" aria-label="Legend">'
            for state, words in view.legend(self._report).items():
                mark = f'<span class="mark {state}" aria-hidden="true">{_MARKS[state]}</span>'
                yield f"<li>{mark}{state.replace('-', ' ')}: {words}</li>"
            yield "</ul>"
        for grid in self._grids:
            yield from self._grid(grid)
        for name in self._ids:
            yield from self._section(name)
        codes = {finding.code.code for finding in self._report.findings}
        for code in sorted(codes & self._meanings.keys()):
            text = f'<p class="message">{escaped(self._meanings[code])}</p>'
            yield f'<section id="{code}"><h2>{code}</h2>{text}</section>'

    def _grid(self, grid: view.StateTable) -> Iterator[str]:
        if not grid.rows:
            yield f'<p class="quiet">{escaped(str(grid))}: no patch is for it</p>'
            return
        name, many = escaped(str(grid)), " many" if len(grid.runs) > _MANY else ""
        yield f'<div class="box" role="region" tabindex="0" aria-label="{name}">'
        yield f'<table class="grid{many}"><caption><span>{name}</span></caption>'
        yield '<thead><tr><th scope="col">patch</th>'
        for run in grid.runs:
            last = "" if run.first == run.last else f" <span>– {escaped(run.last)}</span>"  # noqa: RUF001
            yield f'<th scope="col"><span>{escaped(run.first)}</span>{last}</th>'
        yield "</tr></thead><tbody>"
        for patch, row in grid.rows.items():
            yield f'<tr><th scope="row">{self._name(patch)}</th>'
            yield from (self._cell(patch, grid, at, state) for at, state in enumerate(row))
            yield "</tr>"
        yield "</tbody></table></div>"

    def _name(self, patch: str) -> str:
        if patch not in self._ids:
            return f"<span>{escaped(patch)}</span>"
        return f'<a href="#{self._ids[patch]}" data-title="{escaped(patch)}">{escaped(patch)}</a>'

    def _cell(self, patch: str, grid: view.StateTable, at: int, state: State | None) -> str:
        if state is None:
            return "<td></td>"
        run = self._runs[grid.runs[at].releases[0]]
        word = str(state).replace("-", " ")
        is_brief = len(grid.runs) > _MANY or state == "out-of-range"
        said = f'<span class="hidden">{word}</span>' if is_brief else word
        shown = f'<span aria-hidden="true">{_MARKS[state]}</span> {said}'
        told = [*self._groups.get(patch, ()), *self._diffs.get(patch, ())]
        if run not in self._runs_of(told):
            return f'<td class="{state}"><span title="{word}">{shown}</span></td>'
        title = escaped(f"{patch}, {grid.project} {grid.runs[at]}: {word}")
        link = f'href="#{self._ids[patch]}" data-run="{run}" data-title="{title}" title="{word}"'
        return f'<td class="{state}"><a {link}>{shown}</a></td>'

    def _section(self, name: str) -> Iterator[str]:
        heading = escaped(name) or "packs and releases"
        yield f'<section id="{self._ids[name]}"><h2>{heading}</h2>'
        yield from (self._article(group) for group in self._groups.get(name, ()))
        for diff in self._diffs.get(name, ()):
            runs = " ".join(map(str, self._runs_of([diff]))) or "-"
            summary = f"What upstream changed in {escaped(view.spans(diff.releases, self._report))}"
            opened = f'<details data-runs="{runs}"><summary>{summary}</summary>'
            yield f"{opened}{_diff(diff.text)}</details>"
        yield "</section>"

    def _article(self, group: view.Group) -> str:
        finding = group.finding
        code, label = finding.code.code, view.label(finding.severity)
        is_link, look = code in self._meanings, f'class="tag {finding.severity}"'
        name, look = ("a", f'href="#{code}" {look}') if is_link else ("span", look)
        tag = f"<{name} {look}>{code} {label}</{name}>"
        fix, commands = view.fix_of(finding)
        places = [escaped(view.spans(group.releases, self._report)), _code(view.where(finding))]
        lines = [
            f"<h3>{tag}{escaped(finding.code.title)}</h3>",
            f"<p>{_code(finding.target)}</p>" if finding.target else "",
            f'<p class="message">{escaped(finding.message)}</p>',
            f"<p><b>Fix:</b> {escaped(fix)}</p>" if fix else "",
            f"<pre>{escaped(chr(10).join(commands))}</pre>" if commands else "",
            f'<p class="quiet">{" · ".join(filter(None, places))}</p>' if any(places) else "",
        ]
        runs = " ".join(map(str, self._runs_of([group])))
        return f'<article data-runs="{runs}">{"".join(lines)}</article>'

    def _runs_of(self, told: Sequence[view.Group | Difference]) -> list[int]:
        """Number the columns that something is told of, for the script; none where all are."""
        releases = (release for each in told for release in each.releases)
        return list(dict.fromkeys(self._runs[name] for name in releases if name in self._runs))


def _code(text: str) -> str:
    return f"<code>{escaped(text)}</code>" if text else ""


def _diff(text: str) -> str:
    lines = []
    for line in text.splitlines():
        is_head = line.startswith(("--- ", "+++ ", "@@"))
        look = "at" if is_head else {"+": "add", "-": "del"}.get(line[:1], "same")
        lines.append(f'<span class="{look}">{escaped(line) or " "}</span>')
    return f'<pre tabindex="0">{"".join(lines)}</pre>'
