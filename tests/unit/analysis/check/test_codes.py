"""Each code of a finding is explained in one place: a section of docs/findings.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from patchkit.analysis.check.codes import CODES, Code, explanations
from patchkit.cli import main
from patchkit.cli.report.check_view import severity_label

PAGE = Path(__file__).parents[4] / "docs" / "findings.md"
SECTION = re.compile(r"^## (PK\d+) (.+)\n\n((?:(?!^#).*\n?)*)", re.MULTILINE)
SECTIONS = {
    section[1]: (section[2], section[3])
    for section in SECTION.finditer(PAGE.read_text("utf-8"))
}
HEADINGS = ["What it checks", "Why it matters", "Example", "What to do instead"]
HEADING = re.compile(r"^\*\*(.+?)\.\*\* ", re.MULTILINE)
CODES_BY_ID = pytest.mark.parametrize("code", CODES.values(), ids=CODES)


def parts_of(text: str) -> tuple[str, list[str], list[str]]:
    """Split a section into its first line, the headings of its parts, and their texts."""
    first, *headings_and_texts = HEADING.split(text)
    return first.strip(), headings_and_texts[::2], headings_and_texts[1::2]


def test_the_page_has_the_codes_and_no_others_in_their_order() -> None:
    """docs/findings.md has one section for each code, headed by its title."""
    assert {code: title for code, (title, _) in SECTIONS.items()} == {
        code.code: code.title for code in CODES.values()
    }
    assert list(SECTIONS) == sorted(CODES)
    assert list(SECTIONS) == list(CODES)


@CODES_BY_ID
def test_a_section_has_the_severity_and_four_parts(code: Code) -> None:
    """Each section names its severity and has the four parts in order, once each and not empty."""
    first, headings, texts = parts_of(SECTIONS[code.code][1])
    assert first == f"Severity: {severity_label(code.severity)}."
    assert headings == HEADINGS
    assert all(re.match(r"\S.*[.:`)]\n", text, re.DOTALL) for text in texts)


@CODES_BY_ID
def test_only_the_example_shows_what_is_printed(code: Code) -> None:
    """Only the example has a block, which begins with the code and the title."""
    _, _, texts = parts_of(SECTIONS[code.code][1])
    has_block = ["```" in text for text in texts]
    assert has_block == [False, False, True, False]
    assert re.search(
        rf"^```\n{code.code} +{re.escape(code.title)}(  |\n)", texts[2], re.MULTILINE
    )


@CODES_BY_ID
def test_explain_prints_the_section(
    code: Code, capsys: pytest.CaptureFixture[str]
) -> None:
    """`explain` prints every word of the section in order, without marks and links."""
    assert main(["explain", code.code]) == 0
    printed = capsys.readouterr().out
    title, text = SECTIONS[code.code]
    meaning = explanations()[code.code]
    assert parts_of(meaning)[:2] == parts_of(text)[:2]
    assert words_of(printed) == words_of(f"{code.code} {title} {meaning}")


def words_of(text: str) -> list[str]:
    """Split a text into words, without the marks of Markdown."""
    return HEADING.sub(r"\1. ", text).replace("`", "").split()


def test_codes_are_unlike_each_other() -> None:
    """No two codes share a title, and each is PK and three digits."""
    assert len({code.title for code in CODES.values()}) == len(CODES)
    assert all(
        re.fullmatch(r"PK\d{3}", name) and name == code.code
        for name, code in CODES.items()
    )
