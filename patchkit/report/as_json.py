"""Data as JSON, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def to_json(data: Mapping[str, object]) -> str:
    """Write data as JSON: indented, in the order of its keys, and ASCII, which no pipe garbles."""
    return json.dumps(data, indent=2)
