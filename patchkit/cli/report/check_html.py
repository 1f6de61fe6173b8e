"""Writes the report of a check as one HTML page that needs no other file."""

import re
from collections.abc import Iterator, Mapping, Sequence

from patchkit.analysis.check.comparison import Difference
from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report import check_view as view
from patchkit.cli.report.finding_groups import (
    FindingGroup,
    fix_of,
    location,
    releases_of,
)
from patchkit.cli.report.html_page import escaped, html_page
from patchkit.cli.report.merged_findings import (
    differences_of,
    merged_groups,
    merged_sections,
)
from patchkit.cli.report.release_spans import ReleaseRun, counted_spans
from patchkit.core.record import grouped

_SIGNS = {
    "ok": "✓",
    "unreviewed": "?",
    "undecided": "¿",
    "drift": "~",
    "broken": "✗",
    "out-of-range": "–",  # noqa: RUF001 - the sign for nothing
}
_MANY_COLUMNS = 14
"""In a table with more columns, cells show signs without words."""
_BOLD = re.compile(r"^\*\*([^*\n]+)\*\*", re.MULTILINE)
"""The bold beginning of a paragraph in the explanation of a code, such as `**Example.**`."""
_DIFF_CLASSES = {"+": "add", "-": "del"}


def as_html(
    report: Report,
    diffs: Sequence[Difference] = (),
    provenance: Sequence[str] = (),
    meanings: Mapping[str, str] | None = None,
) -> str:
    """Return the page as HTML.

    Args:
        report: The report.
        diffs: The differences of targets since their review.
        provenance: Lines that say how the page was made.
        meanings: The explanations of codes, as Markdown; codes without a finding are left out.
    """
    tally = view.tally(report)
    scope = view.scope(report)
    paragraphs = []
    for line in provenance:
        text = escaped(line)
        paragraph = f'<p class="quiet">{text}</p>'
        paragraphs.append(paragraph)
    body = _Body(report, diffs, meanings or {})
    parts = body.parts()
    return html_page(
        "check_html.html",
        "check_html.css",
        "check_html.js",
        command=report.command,
        tally=escaped(tally),
        looked=escaped(scope),
        made="\n".join(paragraphs),
        body="\n".join(parts),
    )


class _Body:
    """The body of the page: tables of states, sections of findings, explanations of codes.

    Releases with the same states are one column, a run. Cells and findings have the numbers of
    their runs, by which the script of the page shows the findings of a cell that is clicked.

    Args:
        report: The report.
        diffs: The differences of targets since their review.
        meanings: The explanations of codes, as Markdown.
    """

    def __init__(
        self, report: Report, diffs: Sequence[Difference], meanings: Mapping[str, str]
    ) -> None:
        self._report = report
        self._meanings = meanings
        self._sections = merged_sections(report)
        self._groups = grouped(
            (group.finding.patch, group) for group in merged_groups(report)
        )
        self._state_tables = view.state_tables(report)
        self._diffs = grouped((diff.patch, diff) for diff in diffs)
        self._section_ids: dict[str, str] = {}
        patches = (*self._groups, *self._diffs)
        for patch in patches:
            number = len(self._section_ids)
            next_id = f"p{number}"
            self._section_ids.setdefault(patch, next_id)
        self._run_numbers = self._number_runs()

    def _number_runs(self) -> dict[str, int]:
        """Return the number of the run of each release; runs are numbered over all tables."""
        runs: list[ReleaseRun] = []
        for state_table in self._state_tables:
            runs += state_table.runs
        numbers = {}
        for number, run in enumerate(runs):
            for release in run.releases:
                numbers[release] = number
        return numbers

    def parts(self) -> Iterator[str]:
        """Yield the parts of the body in order, as HTML."""
        has_states = any(state_table.rows for state_table in self._state_tables)
        if has_states:
            yield from self._legend()
        for state_table in self._state_tables:
            yield from self._state_table(state_table)
        yield from self._finding_sections()
        findings = self._report.findings
        codes = {finding.code.code for finding in findings}
        explained_codes = codes & self._meanings.keys()
        for code in sorted(explained_codes):
            markdown = escaped(self._meanings[code])
            meaning = _BOLD.sub(r"<b>\1</b>", markdown)
            text = f'<p class="message">{meaning}</p>'
            yield f'<section id="{code}"><h2>{code}</h2>{text}</section>'

    def _legend(self) -> Iterator[str]:
        """Yield the legend: the sign and the meaning of each state."""
        yield '<ul class="legend" aria-label="Legend">'
        meanings = view.legend(self._report)
        for state, meaning in meanings.items():
            sign = _SIGNS[state]
            label = f'<span class="mark {state}" aria-hidden="true">{sign}</span>'
            state_name = state.replace("-", " ")
            yield f"<li>{label}{state_name}: {meaning}</li>"
        yield "</ul>"

    def _state_table(self, state_table: view.StateTable) -> Iterator[str]:
        """Yield the table of one project: a row for each patch, a column for each run."""
        name = escaped(str(state_table))
        if not state_table.rows:
            yield f'<p class="quiet">{name}: no patch is for it</p>'
            return
        classes = "grid"
        has_many_columns = len(state_table.runs) > _MANY_COLUMNS
        if has_many_columns:
            classes = "grid many"
        yield f'<div class="box" role="region" tabindex="0" aria-label="{name}">'
        yield f'<table class="{classes}"><caption><span>{name}</span></caption>'
        yield '<thead><tr><th scope="col">patch</th>'
        yield from map(_column_head, state_table.runs)
        yield "</tr></thead><tbody>"
        for patch, states in state_table.rows.items():
            patch_name = self._patch_name(patch)
            yield f'<tr><th scope="row">{patch_name}</th>'
            for run, state in zip(state_table.runs, states, strict=True):
                yield self._cell(patch, state_table, run, state)
            yield "</tr>"
        yield "</tbody></table></div>"

    def _patch_name(self, patch: str) -> str:
        """Return the name of a patch: a link to its section if it has one."""
        name = escaped(patch)
        if patch not in self._section_ids:
            return f"<span>{name}</span>"
        section_id = self._section_ids[patch]
        link = f'href="#{section_id}" data-title="{name}"'
        return f"<a {link}>{name}</a>"

    def _cell(
        self,
        patch: str,
        state_table: view.StateTable,
        run: ReleaseRun,
        state: State | None,
    ) -> str:
        """Return the cell of a patch in a run: a link if it has findings or a diff there.

        Args:
            patch: The name of the patch.
            state_table: The table of the cell.
            run: The run of the cell.
            state: The state of the patch there; None for an empty cell.
        """
        if state is None:
            return "<td></td>"
        state_name = str(state).replace("-", " ")
        label = state_name
        has_many_columns = len(state_table.runs) > _MANY_COLUMNS
        if has_many_columns or state == "out-of-range":
            label = f'<span class="hidden">{state_name}</span>'
        sign = _SIGNS[state]
        content = f'<span aria-hidden="true">{sign}</span> {label}'
        oldest_release = run.releases[0]
        number = self._run_numbers[oldest_release]
        groups = self._groups.get(patch, ())
        diffs = self._diffs.get(patch, ())
        entries = [*groups, *diffs]
        numbers_with_entries = self._runs_of(entries)
        if number not in numbers_with_entries:
            text = f'<span title="{state_name}">{content}</span>'
            return f'<td class="{state}">{text}</td>'
        section_id = self._section_ids[patch]
        full_name = f"{patch}, {state_table.project} {run}: {state_name}"
        title = escaped(full_name)
        reference = f'href="#{section_id}" data-run="{number}" data-title="{title}"'
        link = f'<a {reference} title="{state_name}">{content}</a>'
        return f'<td class="{state}">{link}</td>'

    def _finding_sections(self) -> Iterator[str]:
        """Yield the sections in order; the first section of a patch has its diffs, too."""
        seen_patches = set()
        for patch, groups_of_section in self._sections:
            is_first = patch not in seen_patches
            seen_patches.add(patch)
            yield from self._section(patch, groups_of_section, is_first=is_first)
        for patch in self._diffs:
            if patch not in seen_patches:
                yield from self._section(patch, [], is_first=True)

    def _section(
        self, patch: str, groups_of_section: Sequence[FindingGroup], *, is_first: bool
    ) -> Iterator[str]:
        """Yield a section.

        Args:
            patch: The name of the patch; '' for findings about packs and releases.
            groups_of_section: The groups of findings in it.
            is_first: Whether it is the patch's first section, which links lead to.
        """
        section_id = self._section_ids[patch]
        heading = escaped(patch) or "packs and releases"
        attributes = f'data-patch="{section_id}"'
        diffs: Sequence[Difference] = ()
        if is_first:
            attributes = f'id="{section_id}" {attributes}'
            diffs = self._diffs.get(patch, ())
        yield f"<section {attributes}><h2>{heading}</h2>"
        for group in groups_of_section:
            yield self._article(group)
        for diff in diffs:
            yield self._difference(diff)
        yield "</section>"

    def _difference(self, diff: Difference) -> str:
        """Return a diff of upstream's source, folded until it is clicked."""
        runs = self._runs_of([diff])
        numbers = map(str, runs)
        # '-' is the number of no run; with '', the script would show the diff for every run.
        run_numbers = " ".join(numbers) or "-"
        spans = counted_spans(diff.releases, self._report)
        releases = escaped(spans)
        summary = f"<summary>What upstream changed in {releases}</summary>"
        content = _diff(diff.text)
        return f'<details data-runs="{run_numbers}">{summary}{content}</details>'

    def _article(self, group: FindingGroup) -> str:
        """Return a group of findings as an article."""
        paragraphs = self._paragraphs(group)
        content = "".join(paragraphs)
        runs = self._runs_of([group])
        numbers = map(str, runs)
        run_numbers = " ".join(numbers)
        return f'<article data-runs="{run_numbers}">{content}</article>'

    def _paragraphs(self, group: FindingGroup) -> Iterator[str]:
        """Yield the paragraphs of a group: title, target, message, fix, commands, releases."""
        finding = group.finding
        fix, commands = fix_of(finding)
        tag = self._tag(group)
        title = escaped(finding.code.title)
        yield f"<h3>{tag}{title}</h3>"
        if finding.target:
            target = _code(finding.target)
            yield f"<p>{target}</p>"
        message = escaped(finding.message)
        yield f'<p class="message">{message}</p>'
        if fix:
            sentence = escaped(fix)
            yield f"<p><b>Fix:</b> {sentence}</p>"
        if commands:
            joined_commands = "\n".join(commands)
            command_lines = escaped(joined_commands)
            yield f"<pre>{command_lines}</pre>"
        spans = releases_of(group, self._report)
        releases = escaped(spans)
        place = _code(location(finding))
        known_origins = filter(None, [releases, place])
        origin = " · ".join(known_origins)
        if origin:
            yield f'<p class="quiet">{origin}</p>'
        for difference in differences_of(group, self._report):
            yield f'<p class="quiet">{escaped(difference)}</p>'

    def _tag(self, group: FindingGroup) -> str:
        """Return the code and the severity: a link to the explanation, if the page has it."""
        code = group.finding.code.code
        severity = group.finding.severity
        severity_label = view.severity_label(severity)
        label = f"{code} {severity_label}"
        if code in self._meanings:
            return f'<a href="#{code}" class="tag {severity}">{label}</a>'
        return f'<span class="tag {severity}">{label}</span>'

    def _runs_of(self, entries: Sequence[FindingGroup | Difference]) -> list[int]:
        """Return the numbers of the runs that findings and diffs are about, each once.

        Args:
            entries: Groups of findings, and diffs.

        Returns:
            The numbers; none where the entries are about all releases.
        """
        numbers: dict[int, None] = {}
        for entry in entries:
            for release in entry.releases:
                if release in self._run_numbers:
                    number = self._run_numbers[release]
                    numbers[number] = None
        return list(numbers)


def _column_head(run: ReleaseRun) -> str:
    """Return the head of a column: the first and the last version of its run."""
    first = escaped(run.first)
    last = ""
    if run.first != run.last:
        last_version = escaped(run.last)
        last = f" <span>– {last_version}</span>"  # noqa: RUF001
    return f'<th scope="col"><span>{first}</span>{last}</th>'


def _code(text: str) -> str:
    if not text:
        return ""
    content = escaped(text)
    return f"<code>{content}</code>"


def _diff(text: str) -> str:
    """Return a unified diff as HTML, with a CSS class for each kind of line."""
    lines = []
    for line in text.splitlines():
        first_character = line[:1]
        css_class = _DIFF_CLASSES.get(first_character, "same")
        # `+++ file` begins like an added line.
        is_heading = line.startswith(("--- ", "+++ ", "@@"))
        if is_heading:
            css_class = "at"
        text_of_line = escaped(line) or " "
        html_line = f'<span class="{css_class}">{text_of_line}</span>'
        lines.append(html_line)
    content = "".join(lines)
    return f'<pre tabindex="0">{content}</pre>'
