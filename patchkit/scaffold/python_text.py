"""Python as formatters leave it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH = 88
"""What is longer is taken apart, with a comma at its end: stable under every formatter."""
INDENT = "    "


def literal(value: object) -> str:
    """Write a text, a number, or a type."""
    if isinstance(value, str):
        return repr(value) if '"' in value else json.dumps(value, ensure_ascii=False)
    return value.__name__ if isinstance(value, type) else repr(value)


def exploded(head: str, arguments: Iterable[str], depth: int = 0) -> str:
    """Write a call with an argument a line."""
    lines = [f"{head}(", *(f"{INDENT * (depth + 1)}{argument}," for argument in arguments)]
    return "\n".join([*lines, f"{INDENT * depth})"])


def from_import(module: str, names: Iterable[str]) -> str:
    """Write an import of sorted names."""
    line = f"from {module} import {', '.join(sorted(names))}"
    return line if len(line) <= WIDTH else exploded(f"from {module} import ", sorted(names))
