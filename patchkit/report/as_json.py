"""Data as JSON, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def to_json(data: Mapping[str, object]) -> str:
    """Write data as JSON: indented, in the order of its keys, and ASCII, which no pipe garbles."""
    return json.dumps(data, indent=2)


def to_lines(data: Mapping[str, object]) -> str:
    """Write much data as JSON: each item of its lists and mappings in a line of its own."""
    parts = [f"{json.dumps(name)}: {_in_lines(value)}" for name, value in data.items()]
    return _around("{}", parts)


def _in_lines(value: object) -> str:
    if isinstance(value, dict) and value:
        lines = [f"{json.dumps(name)}: {json.dumps(item)}" for name, item in value.items()]
        return _around("{}", lines)
    if isinstance(value, list) and value:
        return _around("[]", [json.dumps(item) for item in value])
    return json.dumps(value)


def _around(brackets: str, lines: Sequence[str]) -> str:
    return "\n".join([brackets[0], ",\n".join(lines), brackets[1]])
