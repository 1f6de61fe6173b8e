"""What rows say of themselves: what they leave out, and which comes first on one target."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from patchkit.check import codes
from patchkit.check.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from patchkit.check.packs import PackSource
    from patchkit.rows.declaration import Change, Row

_TEXTS = {
    "why": (codes.MISSING_WHY, "what goes wrong without it"),
    "upstream": (codes.MISSING_UPSTREAM, "a link, or 'none: reason'"),
    "sunset": (codes.MISSING_SUNSET, "the condition under which the row is deleted"),
}


def of_row(row: Row, pack: PackSource) -> Iterator[Finding]:
    """Find what is wrong with a row in every release."""
    place = pack.place(row)
    for field, (code, expected) in _TEXTS.items():
        if not getattr(row.patch, field).strip():
            message = f"{row.name} has no `{field}`, expected {expected}"
            yield Finding(code, message, f"say it in the row: {field}=…", row.name, "", "", *place)
    if row.patch.body is None:
        return
    changes = row.patch.changes
    names = [*(one.body_name for one in changes), row.patch.when, *(one.when for one in changes)]
    for name in dict.fromkeys(filter(None, names)):
        found = pack.facts(row, name)
        if found.state == "absent":
            message = f"{name} is not in the body: {found.reason}"
            fix = f"define {name} in the body, or name another object in the row"
            yield Finding(codes.NAME_NOT_IN_BODY, message, fix, row.name, "", "", *place)


def unordered(
    rows: Sequence[Row], applies: Callable[[Row, Change], bool]
) -> Iterator[tuple[str, str, str]]:
    """Find pairs on one target where neither says which is first: it, and their names in order."""
    by_target: dict[str, dict[str, Row]] = {}
    for row in rows:
        for change in row.patch.changes:
            if change.place.qualname and applies(row, change):
                by_target.setdefault(str(change.place), {})[row.name] = row
    before = {row.name: row.patch.after for row in rows}
    for target, several in by_target.items():
        for inner, outer in combinations(several.values(), 2):
            if meet(inner, outer) and not _comes_after(outer.name, inner.name, before):
                yield target, inner.name, outer.name


def meet(one: Row, other: Row) -> bool:
    """Whether both can be in one process; those that conflict are another finding."""
    refused = one.name in other.patch.conflicts or other.name in one.patch.conflicts
    return bool(one.roles & other.roles) and not refused


def _comes_after(name: str, other: str, before: Mapping[str, Collection[str]]) -> bool:
    """Whether one patch is declared to come after another, by way of others too."""
    waiting, seen = list(before.get(name, ())), set()
    while waiting:
        one = waiting.pop()
        if one == other:
            return True
        if one not in seen:
            seen.add(one)
            waiting += before.get(one, ())
    return False
