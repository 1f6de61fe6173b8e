"""A row as an author writes it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from patchkit.declaration import Role
from patchkit.scaffold.style import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from patchkit.declaration import Change, Patch
    from patchkit.scaffold.style import Style


def names_of(patch: Patch) -> list[str]:
    """Name what a row needs of patchkit's vocabulary."""
    roles = ["Role"] if patch.roles is not None else []
    return sorted({"Patch", *roles, *(one.kind for one in patch.changes)})


def row_text(patch: Patch, style: Style, spelled: Callable[[str], str], depth: int = 0) -> str:
    """
    Write a row.

    Args:
        patch: what it says.
        style: of the file.
        spelled: returns what a word of the vocabulary is called there.
        depth: how many levels it is indented; the first line is not.

    """
    return style.exploded(spelled("Patch"), _fields(patch, style, spelled, depth + 1), ")", depth)


def _fields(patch: Patch, style: Style, spelled: Callable[[str], str], depth: int) -> Iterator[str]:
    yield f"name={style.text(patch.name)}"
    if patch.body is not None:
        yield f"body={style.text(patch.body)}"
    yield f"requires={_tuple([style.text(one) for one in patch.requires])}"
    if patch.roles is not None:
        word = spelled("Role")
        given = ", ".join(f"{word}.{one.name}" for one in Role if one in patch.roles)
        yield f"roles={{{given}}}"
    alone = len(patch.changes) == 1
    changes = [_change(one, style, spelled, depth + 1, alone=alone) for one in patch.changes]
    yield _changes(changes, style, depth)
    for name in ("why", "upstream", "sunset"):
        yield f"{name}={style.text(getattr(patch, name))}"


def _changes(changes: list[str], style: Style, depth: int) -> str:
    """A short change that is alone stays on the line: there, formatters do not mind the comma."""
    if len(changes) == 1 and "\n" not in changes[0]:
        return f"changes=({changes[0]},)"
    return style.exploded("changes=", changes, ")", depth)


def _change(
    change: Change, style: Style, spelled: Callable[[str], str], depth: int, *, alone: bool
) -> str:
    first, *others = (
        (one.name, getattr(change, one.name))
        for one in dataclasses.fields(change)
        if one.default is dataclasses.MISSING or getattr(change, one.name) != one.default
    )
    arguments = [style.text(first[1])]
    arguments += [f"{name}={style.literal(value)}" for name, value in others]
    head = spelled(change.kind)
    plain = f"{head}({', '.join(arguments)})"
    room = WIDTH - len(style.indent) * (depth - alone) - (len("changes=(,),") if alone else 1)
    return plain if len(plain) <= room else style.exploded(head, arguments, depth=depth)


def _tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
