from __future__ import annotations

import functools
import html.parser
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from cli.report.reports import HOSTILE, STATES, finding, large, sample, screen, shown
from patchkit.analysis.check.comparison import Difference
from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report.check_github import as_github, as_markdown
from patchkit.cli.report.check_html import as_html
from patchkit.cli.report.check_table import print_check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EMPTY = Report([])
HOSTILE_REPORT = Report(
    ["vllm 0.9.0"],
    [
        finding(
            patch=HOSTILE,
            target=HOSTILE,
            message=HOSTILE,
            fix=HOSTILE,
            release="vllm 0.9.0",
        )
    ],
    {HOSTILE: {"vllm 0.9.0": State.BROKEN}},
)


LARGE = large()


def as_table(report: Report, width: int = 100) -> str:
    """Print a report; the large one, which takes a second, once for each width."""
    return large_table(width) if report is LARGE else printed(report, width)


@functools.cache
def large_table(width: int) -> str:
    """The table of the large report, printed once for each width."""
    return printed(LARGE, width)


def printed(report: Report, width: int) -> str:
    """The table of a report, as a terminal of that width shows it."""
    console = screen(width)
    print_check(report, console)
    return shown(console)


ALL = [as_table, as_github, as_markdown, as_html]


@pytest.mark.parametrize("page", ALL)
def test_every_page_takes_every_report(page: Callable[[Report], str]) -> None:
    """Each form is written for reports of nothing, of no release, of a few and of much."""
    for report in (
        EMPTY,
        Report([], [], {"a": {}}),
        Report(["vllm 0.9.0"]),
        sample(),
        LARGE,
    ):
        page(report)


@pytest.mark.parametrize("page", ALL)
def test_no_page_drives_a_terminal(page: Callable[[Report], str]) -> None:
    """No escape sequence of a report comes through."""
    assert "\x1b" not in page(HOSTILE_REPORT)
    assert "\r" not in page(HOSTILE_REPORT)


def test_the_legend_of_fit_speaks_of_a_package() -> None:
    """The legend of `fit` speaks of a package that does not fit, where others speak of a patch."""
    releases = [f"vllm 0.9.{number}" for number in range(40)]
    in_turns = [State.OK, State.BROKEN] * 20
    states = dict(zip(releases, in_turns, strict=True))
    report = Report(releases, [], {"shop": states})
    assert "the patch does not hold" in as_html(report)
    page_of_fit = as_html(replace(report, command="fit"))
    assert "the package does not fit" in page_of_fit
    assert "the patch does not hold" not in page_of_fit


# -- terminal -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("report", [sample(), LARGE])
def test_no_line_is_wider_than_the_terminal(report: Report, width: int) -> None:
    """Each line of the table fits the terminal, also with 80 releases in 60 columns."""
    assert max(map(cell_len, as_table(report, width).split("\n"))) <= width


def test_each_state_is_shown_once_for_each_column_that_it_fills() -> None:
    """Of 80 releases that differ, a patch's states are all there, however the grid is broken."""
    lines = as_table(LARGE).split("\n")
    row = LARGE.grid["patch-number-7"]
    shown_states: list[str] = []
    heads: list[str] = []
    for line in lines:
        if line.startswith("patch-number-7 "):
            shown_states += line.split()[1:]
        elif line.startswith(" "):
            heads += line.split()
    states = [str(state).replace("out-of-range", "-") for state in row.values()]
    assert shown_states == states
    assert heads[: len(row)] == [release.removeprefix("vllm ") for release in row]


def test_few_columns_are_in_words() -> None:
    """With few columns a state is a word; a finding has code, title, message, fix and releases."""
    text = as_table(sample())
    assert re.search(r"one +ok +broken", text)
    for part in (
        "PK101",
        "target missing",
        "it is gone",
        "fix: name it",
        "vllm 0.10.0 to 0.11.0, 2 releases",
    ):
        assert part in text


def test_a_pipe_gets_a_grid_of_sensible_width() -> None:
    """Rows of the grid stay within 120 columns, however wide the console is."""
    lines = as_table(LARGE, 10_000).split("\n")
    grid_lines = [line.rstrip() for line in lines if line.startswith("patch-")]
    assert max(map(len, grid_lines)) <= 120


# -- GitHub -------------------------------------------------------------------------------------


def test_a_command_is_one_line_whatever_it_says() -> None:
    """A finding whose texts hold commands and line ends is one workflow command."""
    (line,) = as_github(HOSTILE_REPORT).split("\n")
    properties = line.removeprefix("::error ").split("::")[0]
    assert properties.startswith("title=PK101 target missing%3A ")
    assert "," not in properties
    assert "%0A" in line


def test_a_file_of_the_repository_is_annotated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file below the working directory is a property, upstream's is part of the message."""
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    (tmp_path / "a,b.py").write_text("")
    monkeypatch.chdir(tmp_path)
    mine = finding(file=str(tmp_path / "a,b.py"), line=3)
    theirs = finding("PK201", file="vllm/a.py", line=4)
    assert as_github(Report([], [theirs, mine])).split("\n") == [
        "::error file=a%2Cb.py,line=3,title=PK101 target missing::it is gone",
        "::warning title=PK201 drift since review::it is gone%0Avllm/a.py:4",
    ]


def test_a_file_is_named_as_in_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On GitHub, a file is named from the checkout, also where a folder in it is checked."""
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "a.py").write_text("")
    monkeypatch.chdir(tmp_path / "packs")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    annotation = as_github(Report([], [finding(file="a.py", line=3)]))
    assert annotation.startswith("::error file=packs/a.py,line=3,")


# -- Markdown -----------------------------------------------------------------------------------


def test_a_report_becomes_no_markup() -> None:
    """A hostile name has no tag, link, mention, reference or table cell of its own."""
    text = as_markdown(HOSTILE_REPORT)
    prose = re.sub(r"(`{3,})text\n.*?\1", "", text, flags=re.DOTALL)
    prose = re.sub(r"(`+) ?.*? ?\1(?!`)", "", prose)
    assert not re.search(r"<script|(?<!\\)\]\(|@someone|#1", prose)
    header, _, row = [line for line in text.split("\n") if line.startswith("|")]
    assert len(re.findall(r"(?<!\\)\|", row)) == len(re.findall(r"(?<!\\)\|", header))


def test_markdown_of_a_large_report_fits_into_an_issue() -> None:
    """Markdown of a large report is short enough for an issue, and says how much is left out."""
    text = as_markdown(LARGE)
    assert len(text) < 65_536
    assert re.search(r"\d+ findings more", text)


# -- HTML ---------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """The tags of a page, and whether they match."""

    VOID = frozenset({"meta", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of each element with that tag."""
        return [attributes for name, attributes in self.tags if name == tag]


TEXT = f"--- a\n+++ b\n@@ -1 +1 @@\n-old\n+{HOSTILE}\n"
DIFFS = [Difference("one", ("vllm 0.10.0", "vllm 0.11.0"), TEXT)]


@pytest.mark.parametrize("report", [EMPTY, sample(), HOSTILE_REPORT])
def test_a_report_becomes_no_element(report: Report) -> None:
    """Texts of a report add no element, script, handler, style or link to the page."""
    page = Page(as_html(report, DIFFS, [HOSTILE], {"PK101": HOSTILE}))
    assert len(page.all("script")) == len(page.all("style")) == 1
    names = {name for _, attributes in page.tags for name in attributes}
    assert not {name for name in names if name.startswith("on") or name == "style"}
    links = [
        attributes.get(name) for _, attributes in page.tags for name in ("src", "href")
    ]
    assert all(link.startswith(("#", "data:,")) for link in links if link)


def test_a_cell_leads_to_what_is_said_of_it() -> None:
    """The cell with findings is a link to the patch's section, whose parts name its column."""
    page = Page(as_html(sample(), DIFFS))
    (cell,) = [link for link in page.all("a") if "data-run" in link]
    assert cell["data-title"] == "one, vllm 0.10.0 - 0.11.0: broken"
    assert str(cell["href"])[1:] in {section["id"] for section in page.all("section")}
    article_runs = [article["data-runs"] for article in page.all("article")]
    assert article_runs == [cell["data-run"], ""]
    diff_runs = [details["data-runs"] for details in page.all("details")]
    assert diff_runs == [cell["data-run"]]


@pytest.mark.parametrize("columns", [3, 40])
def test_only_a_grid_of_many_columns_hides_the_words_of_its_cells(columns: int) -> None:
    """Each cell keeps its sign; what readers of the screen hear stays in the page."""
    releases = [f"vllm 0.{number}.0" for number in range(columns)]
    states = {
        release: STATES[number % len(STATES)] for number, release in enumerate(releases)
    }
    page = as_html(Report(releases, [], {"one": states}))
    is_hidden = '<span class="hidden">broken</span>' in page
    assert is_hidden is (columns > 14)
    assert '<span class="hidden">out of range</span>' in page


def test_sections_of_a_patch_belong_together() -> None:
    """Errors of another patch come between an error and a note of one; its link leads to both."""
    findings = [
        finding(code, patch=patch, release="vllm 0.9.0")
        for patch in ("one", "two")
        for code in ("PK304", "PK101")
    ]
    states = {"vllm 0.9.0": State.BROKEN}
    report = Report(["vllm 0.9.0"], findings, {"one": states, "two": states})
    page = Page(as_html(report, DIFFS))
    sections = page.all("section")
    assert [section["data-patch"] for section in sections] == ["p0", "p1", "p0", "p1"]
    assert [section.get("id") for section in sections] == ["p0", "p1", None, None]
    assert len(page.all("article")) == 4
    assert len(page.all("details")) == 1


def test_a_code_leads_to_what_it_means() -> None:
    """A code whose meaning is on the page is a link to it; another is plain text."""
    page = Page(
        as_html(sample(), (), (), {"PK101": "It is gone.", "PK999": "Nobody asked."})
    )
    tags = [link for link in page.all("a") if "tag" in str(link.get("class"))]
    assert [tag["href"] for tag in tags] == ["#PK101"]
    sections = {section["id"] for section in page.all("section")}
    assert sections == {"p0", "p1", "PK101"}


def test_the_parts_of_a_meaning_stand_out() -> None:
    """Headings of a meaning are bold on the page, and other asterisks stay."""
    text = as_html(
        sample(), meanings={"PK101": "**Example.** `**kwargs`\n\n**Why.** <b>"}
    )
    assert (
        '<p class="message"><b>Example.</b> `**kwargs`\n\n<b>Why.</b> &lt;b&gt;</p>'
        in text
    )


def test_the_page_says_how_it_was_made() -> None:
    """The page has the given provenance, with its command escaped, and calls a note a note."""
    text = as_html(sample(), provenance=["patchkit 1.2, today", "patchkit check 'a b'"])
    assert "patchkit 1.2, today" in text
    assert "patchkit check &#x27;a b&#x27;" in text
    assert "PK304 note" in text


def test_rows_and_columns_have_heads() -> None:
    """Each grid has a caption, and each head says what it heads."""
    page = Page(as_html(sample()))
    assert [head["scope"] for head in page.all("th")] == ["col"] * 3 + ["row"] * 2
    assert len(page.all("caption")) == len(page.all("table")) == 1


def _colors(css: str) -> dict[str, str]:
    """The colors that a rule defines as variables."""
    return dict(re.findall(r"--([\w-]+): (#\w{6})", css))


def _luminance(color: str) -> float:
    """The relative luminance of a color, as WCAG defines it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_stands_out(scheme: int) -> None:
    """Each color of a text is at least 4.5 : 1 on what it lies on."""
    css = re.findall(r":root \{(.*?)\}", as_html(EMPTY), re.DOTALL)[scheme]
    colors = _colors(css)
    states = ("ok", "unreviewed", "drift", "broken")
    pairs = [(state, f"{state}-page") for state in states]
    for text in ("text", "quiet", "link"):
        pairs += [(text, "page"), (text, "raised")]
    for text, ground in pairs:
        luminances = [_luminance(colors[text]), _luminance(colors[ground])]
        contrast = (max(luminances) + 0.05) / (min(luminances) + 0.05)
        assert contrast >= 4.5, (text, ground)


def test_markdown_counts_what_holds() -> None:
    """A patch that holds in each release has no row; one that does not has."""
    text = as_markdown(sample())
    assert "| `one` |" in text
    assert "| `two` |" not in text
    assert "1 patch holds, or does not target these releases." in text
