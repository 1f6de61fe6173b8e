"""Rows and packs that tests start from: good ones, of which a test spoils what it is about."""

from __future__ import annotations

from typing import Any

from patchkit import Patch, Replace, Role
from patchkit.core.rows.declaration import Row

VOCABULARY = (
    "from patchkit import "
    "AddField, AfterImport, BeforeImport, Edit, Patch, Replace, Role, Wrap\n"
)
"""What a generated pack starts with."""

_FIELDS = {
    "name": "'a-patch'",
    "body": "'patch_a'",
    "requires": "('vllm>=0.11,<0.34',)",
    "roles": "{Role.MAIN}",
    "changes": "(Replace('upstream.module:function', by='function'),)",
}


def row_source(**fields: str) -> str:
    """Source of a good row, with some fields' source replaced or added."""
    words = ", ".join(f"{name}={text}" for name, text in {**_FIELDS, **fields}.items())
    return f"Patch({words})"


def pack_source(*rows: str) -> str:
    """Source of a pack's `__init__`; each row as `row_source` makes it."""
    return f"{VOCABULARY}PATCHES = ({''.join(f'{row}, ' for row in rows)})\n"


def patch(**fields: Any) -> Patch:
    """A good patch, with some fields replaced."""
    good: dict[str, Any] = {
        "name": "a-patch",
        "body": "patch_a",
        "requires": ("vllm>=0.11,<0.34",),
        "roles": {Role.MAIN},
        "changes": (Replace("upstream.module:function", by="function"),),
    }
    return Patch(**{**good, **fields})


def row(name: str = "a-patch", pack: str = "pack", **fields: Any) -> Row:
    """A row of a good patch."""
    return Row(pack, patch(name=name, **fields), frozenset({Role.MAIN}))
