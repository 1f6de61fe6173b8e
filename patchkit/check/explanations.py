"""What findings mean: the sections of findings.md, which docs/ links to."""

from __future__ import annotations

import re
from pathlib import Path

import patchkit
from patchkit.errors import SettingsError

_NAME = "findings.md"
_SECTION = re.compile(r"^## (PK\d+) .*\n\n((?:(?!^#).*\n?)*)", re.MULTILINE)
_LINK = re.compile(r"\[((?:[^][]|\[[^][]*])*)]\([^)]*\)")


def explanations() -> dict[str, str]:
    """
    Read what each code means, as Markdown without links.

    Raises:
        SettingsError: this installation lacks the page.

    """
    file = Path(patchkit.__file__).parent / _NAME
    try:
        page = file.read_text("utf-8")
    except OSError as error:
        raise SettingsError(f"found no {file}, expected it as the wheel brings it") from error
    return {found[1]: _LINK.sub(r"\1", found[2].strip()) for found in _SECTION.finditer(page)}
