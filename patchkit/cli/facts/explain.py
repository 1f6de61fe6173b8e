"""Facts of `patchkit explain`: the sections of docs/findings.md, which the wheel has in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import patchkit
from patchkit.check.codes import CODES
from patchkit.errors import SettingsError

if TYPE_CHECKING:
    from patchkit.report.shapes import ExplainShape

_NAME = "findings.md"
_SECTION = re.compile(r"^## (PK\d+) .*\n\n((?:(?!^#).*\n?)*)", re.MULTILINE)
_LINK = re.compile(r"\[((?:[^][]|\[[^][]*])*)]\([^)]*\)")


def explain_facts(code: str) -> ExplainShape:
    """
    Say what a finding means.

    Args:
        code: one of CODES.

    Raises:
        SettingsError: this installation lacks the page.

    """
    texts = {found[1]: found[2].strip() for found in _SECTION.finditer(_page())}
    one = CODES[code]
    text = _LINK.sub(r"\1", texts[code])
    return {"code": code, "title": one.title, "severity": str(one.severity), "text": text}


def _page() -> str:
    """Read it beside the modules, or in a checkout beside the package."""
    inside = Path(patchkit.__file__).parent
    for file in (inside / _NAME, inside.parent / "docs" / _NAME):
        if file.is_file():
            return file.read_text("utf-8")
    raise SettingsError(f"found no {inside / _NAME}, expected it as the wheel brings it")
