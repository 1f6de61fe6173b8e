"""
The names that a module imports at its top level.

Python compiles `name.function()` in another way where the module has imported `name`, so that a
function can be compiled alone only beside its module's imports.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMENT = re.compile(r"#[^\n]*")
_BLOCKS = ("if", "elif", "else", "try", "except", "finally", "with")
_WORD = "import "


def imported_names(text: str) -> list[str]:
    """Find them without taking the text apart; in odd layouts some are missing, or too many."""
    return sorted({name for found in _imports(text) for name in _bound(found)})


def _imports(text: str) -> Iterator[str]:
    """Find what stands after each `import`, where that is a statement of the module's own."""
    at = text.find(_WORD)
    while at >= 0:
        begin = text.rfind("\n", 0, at) + 1
        at += len(_WORD)
        line = text[begin:at]
        code = line.lstrip()
        if code.startswith(("from ", _WORD)) and _is_own(text, begin, len(line) - len(code)):
            brackets = text.startswith("(", at)
            end = text.find(")" if brackets else "\n", at) % (len(text) + 1)
            yield text[at + brackets : end]
            at = end
        at = text.find(_WORD, at)


def _is_own(text: str, begin: int, margin: int) -> bool:
    """Whether a line is in no function or class; only one block around it is looked at."""
    if not margin:
        return True
    while margin <= 4 and begin > 0:
        end = begin - 1
        begin = text.rfind("\n", 0, end) + 1
        if text[begin] not in " \t\n#)":
            return re.split(r"\W", text[begin:end], maxsplit=1)[0] in _BLOCKS
    return False


def _bound(names: str) -> Iterator[str]:
    for part in _COMMENT.sub("", names).split(","):
        words = part.replace(".", " . ").split()
        if words and words[0].isidentifier():
            yield words[-1] if "as" in words else words[0]
