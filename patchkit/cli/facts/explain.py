"""Facts of `patchkit explain`: the sections of findings.md, which docs/ links to."""

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
    file = Path(patchkit.__file__).parent / _NAME
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise SettingsError(f"found no {file}, expected it as the wheel brings it") from error
