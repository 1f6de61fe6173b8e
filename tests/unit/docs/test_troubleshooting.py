"""The headings of docs/troubleshooting.md are messages that patchkit prints."""

from __future__ import annotations

import ast
import functools
import re

import pytest
from support.packages import REPOSITORY

PAGE = (REPOSITORY / "docs" / "troubleshooting.md").read_text("utf-8")
HEADINGS = re.findall(r"^### `(.*)`$", PAGE, re.MULTILINE)
PLACEHOLDER = "…"


def text_of(node: ast.expr) -> str:
    """A string of the code, with an ellipsis where a value is put in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    return PLACEHOLDER


@functools.cache
def strings() -> dict[str, list[str]]:
    """The strings of each module of patchkit."""
    found: dict[str, list[str]] = {}
    for path in sorted((REPOSITORY / "patchkit").rglob("*.py")):
        found[str(path)] = [
            text_of(node)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.JoinedStr)
            or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        ]
    return found


def parts_of(heading: str) -> list[str]:
    """What a heading says word for word, between its placeholders."""
    return [part for part in heading.split(PLACEHOLDER) if part.strip(" ,:")]


def test_every_heading_is_a_message() -> None:
    """No heading but the groups, at the second level, is in other words."""
    titles = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    assert titles == [f"`{heading}`" for heading in HEADINGS]
    assert len(HEADINGS) > 40


@pytest.mark.parametrize("heading", HEADINGS)
def test_headings_are_messages_of_the_code(heading: str) -> None:
    """One module has every part of a heading, in strings between which values are put."""
    parts = parts_of(heading)
    assert parts
    assert any(
        all(any(part in text for text in texts) for part in parts)
        for texts in strings().values()
    )


@pytest.mark.parametrize("heading", HEADINGS)
def test_sections_are_short(heading: str) -> None:
    """Each says what the message means and what to do, in a few lines."""
    _, _, section = PAGE.partition(f"### `{heading}`\n")
    lines = re.split(r"^##", section, maxsplit=1, flags=re.MULTILINE)[0].strip()
    assert 1 <= len(lines.splitlines()) <= 4
