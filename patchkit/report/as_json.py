"""Data as JSON, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def to_json(data: Mapping[str, object]) -> str:
    """Write data as JSON: indented, as a person reads it too, in the order of its keys."""
    return json.dumps(data, indent=2, ensure_ascii=False)
