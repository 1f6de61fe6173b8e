"""Write the report of a check as one page for a browser, which needs no other file."""

import re
from collections.abc import Iterator, Mapping, Sequence

from patchkit.analysis.check.comparison import Difference
from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report import check_view as view
from patchkit.cli.report.html_page import escaped, html_page
from patchkit.core.record import grouped

_SIGNS = dict(zip(view.STATE_MEANINGS, "✓?¿~✗–", strict=True))  # noqa: RUF001 - the sign for nothing
_MANY_COLUMNS = 14
"""With more columns there is a sign in each, and no word."""
_BOLD = re.compile(r"^\*\*([^*\n]+)\*\*", re.MULTILINE)
"""How a part of a meaning begins in Markdown, such as `**Example.**`."""
_DIFF_CLASSES = {"+": "add", "-": "del"}


def as_html(
    report: Report,
    diffs: Sequence[Difference] = (),
    provenance: Sequence[str] = (),
    meanings: Mapping[str, str] | None = None,
) -> str:
    """Write the page.

    Args:
        report: The report.
        diffs: What upstream changed.
        provenance: Lines that say how the page was made.
        meanings: What codes mean, as Markdown; the page explains those that have a finding.

    Returns:
        The page as HTML.
    """
    return html_page(
        "check_html.html",
        "check_html.css",
        "check_html.js",
        command=report.command,
        tally=escaped(view.tally(report)),
        looked=escaped(view.scope(report)),
        made="\n".join(f'<p class="quiet">{escaped(line)}</p>' for line in provenance),
        body="\n".join(_Body(report, diffs, meanings or {}).parts()),
    )


class _Body:
    """The body of the page.

    Args:
        report: The report.
        diffs: What upstream changed.
        meanings: What codes mean.
    """

    def __init__(
        self, report: Report, diffs: Sequence[Difference], meanings: Mapping[str, str]
    ) -> None:
        self._report = report
        self._meanings = meanings
        self._groups = view.groups_by_patch(report)
        self._state_tables = view.state_tables(report)
        self._diffs = grouped((diff.patch, diff) for diff in diffs)
        self._section_ids: dict[str, str] = {}
        for patch in (*self._groups, *self._diffs):
            next_id = f"p{len(self._section_ids)}"
            self._section_ids.setdefault(patch, next_id)
        self._run_numbers = self._number_runs()

    def _number_runs(self) -> dict[str, int]:
        """Return the number of the run, over all tables, that a release is in."""
        runs: list[view.ReleaseRun] = []
        for state_table in self._state_tables:
            runs += state_table.runs
        numbers = {}
        for number, run in enumerate(runs):
            for release in run.releases:
                numbers[release] = number
        return numbers

    def parts(self) -> Iterator[str]:
        """Yield the legend, the tables of states, and the sections, as HTML."""
        if any(state_table.rows for state_table in self._state_tables):
            yield from self._legend()
        for state_table in self._state_tables:
            yield from self._state_table(state_table)
        for patch in self._section_ids:
            yield from self._section(patch)
        codes = {finding.code.code for finding in self._report.findings}
        for code in sorted(codes & self._meanings.keys()):
            meaning = _BOLD.sub(r"<b>\1</b>", escaped(self._meanings[code]))
            text = f'<p class="message">{meaning}</p>'
            yield f'<section id="{code}"><h2>{code}</h2>{text}</section>'

    def _legend(self) -> Iterator[str]:
        yield '<ul class="legend" aria-label="Legend">'
        for state, meaning in view.legend(self._report).items():
            sign = (
                f'<span class="mark {state}" aria-hidden="true">{_SIGNS[state]}</span>'
            )
            yield f"<li>{sign}{state.replace('-', ' ')}: {meaning}</li>"
        yield "</ul>"

    def _state_table(self, state_table: view.StateTable) -> Iterator[str]:
        name = escaped(str(state_table))
        if not state_table.rows:
            yield f'<p class="quiet">{name}: no patch is for it</p>'
            return
        classes = "grid"
        if len(state_table.runs) > _MANY_COLUMNS:
            classes = "grid many"
        yield f'<div class="box" role="region" tabindex="0" aria-label="{name}">'
        yield f'<table class="{classes}"><caption><span>{name}</span></caption>'
        yield '<thead><tr><th scope="col">patch</th>'
        yield from map(_column_head, state_table.runs)
        yield "</tr></thead><tbody>"
        for patch, states in state_table.rows.items():
            yield f'<tr><th scope="row">{self._patch_name(patch)}</th>'
            for run, state in zip(state_table.runs, states, strict=True):
                yield self._cell(patch, state_table, run, state)
            yield "</tr>"
        yield "</tbody></table></div>"

    def _patch_name(self, patch: str) -> str:
        if patch not in self._section_ids:
            return f"<span>{escaped(patch)}</span>"
        link = f'href="#{self._section_ids[patch]}" data-title="{escaped(patch)}"'
        return f"<a {link}>{escaped(patch)}</a>"

    def _cell(
        self,
        patch: str,
        state_table: view.StateTable,
        run: view.ReleaseRun,
        state: State | None,
    ) -> str:
        """Write the cell of a patch in a run: a link if something is said of it there."""
        if state is None:
            return "<td></td>"
        state_name = str(state).replace("-", " ")
        label = state_name
        if len(state_table.runs) > _MANY_COLUMNS or state == "out-of-range":
            label = f'<span class="hidden">{state_name}</span>'
        content = f'<span aria-hidden="true">{_SIGNS[state]}</span> {label}'
        number = self._run_numbers[run.releases[0]]
        groups = self._groups.get(patch, ())
        diffs = self._diffs.get(patch, ())
        if number not in self._runs_of([*groups, *diffs]):
            return (
                f'<td class="{state}"><span title="{state_name}">{content}</span></td>'
            )
        title = escaped(f"{patch}, {state_table.project} {run}: {state_name}")
        link = f'href="#{self._section_ids[patch]}" data-run="{number}" data-title="{title}"'
        return f'<td class="{state}"><a {link} title="{state_name}">{content}</a></td>'

    def _section(self, patch: str) -> Iterator[str]:
        heading = escaped(patch) or "packs and releases"
        yield f'<section id="{self._section_ids[patch]}"><h2>{heading}</h2>'
        for group in self._groups.get(patch, ()):
            yield self._article(group)
        for diff in self._diffs.get(patch, ()):
            run_numbers = " ".join(map(str, self._runs_of([diff]))) or "-"
            releases = escaped(view.release_spans(diff.releases, self._report))
            summary = f"<summary>What upstream changed in {releases}</summary>"
            yield f'<details data-runs="{run_numbers}">{summary}{_diff(diff.text)}</details>'
        yield "</section>"

    def _article(self, group: view.FindingGroup) -> str:
        finding = group.finding
        fix, commands = view.fix_of(finding)
        parts = [f"<h3>{self._tag(group)}{escaped(finding.code.title)}</h3>"]
        if finding.target:
            parts.append(f"<p>{_code(finding.target)}</p>")
        parts.append(f'<p class="message">{escaped(finding.message)}</p>')
        if fix:
            parts.append(f"<p><b>Fix:</b> {escaped(fix)}</p>")
        if commands:
            command_lines = "\n".join(commands)
            parts.append(f"<pre>{escaped(command_lines)}</pre>")
        releases = escaped(view.release_spans(group.releases, self._report))
        origin = " · ".join(filter(None, [releases, _code(view.location(finding))]))
        if origin:
            parts.append(f'<p class="quiet">{origin}</p>')
        run_numbers = " ".join(map(str, self._runs_of([group])))
        content = "".join(parts)
        return f'<article data-runs="{run_numbers}">{content}</article>'

    def _tag(self, group: view.FindingGroup) -> str:
        """Write the code and the severity: a link to what the code means, if the page says it."""
        code = group.finding.code.code
        severity = group.finding.severity
        label = f"{code} {view.severity_label(severity)}"
        if code in self._meanings:
            return f'<a href="#{code}" class="tag {severity}">{label}</a>'
        return f'<span class="tag {severity}">{label}</span>'

    def _runs_of(self, entries: Sequence[view.FindingGroup | Difference]) -> list[int]:
        """Return the numbers of the runs that entries are about, for the script of the page.

        Args:
            entries: What the page says of a patch.

        Returns:
            The numbers, each once; none where the entries are about all releases.
        """
        numbers: dict[int, None] = {}
        for entry in entries:
            for release in entry.releases:
                if release in self._run_numbers:
                    numbers[self._run_numbers[release]] = None
        return list(numbers)


def _column_head(run: view.ReleaseRun) -> str:
    last = ""
    if run.first != run.last:
        last = f" <span>– {escaped(run.last)}</span>"  # noqa: RUF001
    return f'<th scope="col"><span>{escaped(run.first)}</span>{last}</th>'


def _code(text: str) -> str:
    if not text:
        return ""
    return f"<code>{escaped(text)}</code>"


def _diff(text: str) -> str:
    """Write a unified diff with a class for each kind of line."""
    lines = []
    for line in text.splitlines():
        css_class = _DIFF_CLASSES.get(line[:1], "same")
        if line.startswith(("--- ", "+++ ", "@@")):
            css_class = "at"
        text_of_line = escaped(line) or " "
        lines.append(f'<span class="{css_class}">{text_of_line}</span>')
    content = "".join(lines)
    return f'<pre tabindex="0">{content}</pre>'
