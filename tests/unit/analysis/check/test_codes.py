from __future__ import annotations

import re
from pathlib import Path

import pytest

from patchkit.analysis.check.codes import CODES, Code

PAGE = Path(__file__).parents[4] / "docs" / "findings.md"
SECTION = re.compile(r"^## (PK\d+) (.+)\n\n((?:(?!^#).*\n?)*)", re.MULTILINE)
SECTIONS = {found[1]: (found[2], found[3]) for found in SECTION.finditer(PAGE.read_text("utf-8"))}
WORDS = {"error": "Error.", "warning": "Warning.", "info": "Note."}


def test_the_page_has_the_codes_and_no_others_in_their_order() -> None:
    """docs/findings.md has one section for each code, headed by its title."""
    assert {code: title for code, (title, _) in SECTIONS.items()} == {
        one.code: one.title for one in CODES.values()
    }
    assert list(SECTIONS) == sorted(CODES)


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_a_section_says_how_bad_it_is_what_it_means_and_what_to_do(code: Code) -> None:
    """Each section begins with the severity, and has an example and a fix."""
    text = SECTIONS[code.code][1]
    assert text.startswith(WORDS[code.severity] + " ")
    assert re.search(r"^Example: \S", text, re.MULTILINE)
    assert re.search(r"^Fix: \S", text, re.MULTILINE)


def test_codes_are_unlike_each_other() -> None:
    """No two codes share a title, and each is PK and three digits."""
    assert len({one.title for one in CODES.values()}) == len(CODES)
    assert all(re.fullmatch(r"PK\d{3}", code) and code == CODES[code].code for code in CODES)
