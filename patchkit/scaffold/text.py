"""Python as formatters leave it: texts as literals, and calls with an argument a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 88
"""What is longer is taken apart, with a comma at its end: stable under every formatter."""
INDENT = "    "


def literal(value: object) -> str:
    """Write a text, a number, or a type."""
    if isinstance(value, str):
        return repr(value) if '"' in value else json.dumps(value, ensure_ascii=False)
    return value.__name__ if isinstance(value, type) else repr(value)


def call(head: str, arguments: Sequence[str], tail: str = ")", depth: int = 0) -> str:
    """Write a call or the head of a definition, on one line or an argument a line."""
    plain = f"{head}({', '.join(arguments)}{tail}"
    if len(INDENT) * depth + len(plain) <= WIDTH or not arguments:
        return plain
    return exploded(head, arguments, tail, depth)


def exploded(head: str, arguments: Iterable[str], tail: str = ")", depth: int = 0) -> str:
    """Write a call with an argument a line."""
    lines = [f"{head}(", *(f"{INDENT * (depth + 1)}{one}," for one in arguments)]
    return "\n".join([*lines, f"{INDENT * depth}{tail}"])


def from_import(module: str, names: Iterable[str]) -> str:
    """Write an import of sorted names."""
    line = f"from {module} import {', '.join(sorted(names))}"
    return line if len(line) <= WIDTH else exploded(f"from {module} import ", sorted(names))
