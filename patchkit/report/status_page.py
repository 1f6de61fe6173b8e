"""`patchkit status` for a person: the tree of processes, who has which patch, what is wrong."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from patchkit.report.console import console
from patchkit.report.due import is_due, is_for
from patchkit.report.status_patch import STYLES, copies, details

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from patchkit.report.shapes import (
        FindingShape,
        ParentShape,
        PatchStatusShape,
        ProcessShape,
        StatusShape,
    )

    Key = tuple[str, int, float]
    Children = dict[Key | None, list[ProcessShape]]
    Found = list[tuple[ProcessShape, PatchStatusShape]]
    Line = tuple[str, list[ProcessShape]]

_ROLES = ("main", "engine-core", "worker")
_MANY = 4
"""More of the same under one parent are one line."""
_DEEPEST = 24
"""Columns of guide lines; a deeper tree goes on below at that indent."""


def print_status(data: StatusShape, patch: str | None = None) -> None:
    """Print the whole picture, or what is known of one patch."""
    console().print(status_page(data) if patch is None else _one_patch(data, patch))


@contextmanager
def live() -> Iterator[Callable[[StatusShape], None]]:
    """Give what shows a picture in place of the one before."""
    out, shown = console(), Group()
    if not out.is_terminal:
        yield lambda data: shown.renderables.__setitem__(slice(None), [status_page(data)])
        out.print(shown)
        return
    with Live(console=out, auto_refresh=False) as screen:
        yield lambda data: screen.update(status_page(data), refresh=True)


def status_page(data: StatusShape) -> RenderableType:
    """Lay the picture out: processes, patches, agreement, findings, notes."""
    data = _printable(data)
    parts: list[RenderableType] = [_heading(data)]
    if data["processes"]:
        parts += ["", _processes(data["processes"])]
    if any(one["patches"] for one in data["processes"]):
        parts += ["", _patches(data["processes"])]
    if data["agreement"]:
        parts += ["", _agreement(data["agreement"])]
    if data["findings"]:
        parts += ["", _findings(data["findings"])]
    return Group(*parts, *(Text(note, style="note") for note in data["notes"]))


def _one_patch(data: StatusShape, name: str) -> RenderableType:
    found = [
        (one, patch)
        for one in _holders(_printable(data)["processes"])
        for patch in one["patches"]
        if patch["name"] == name
    ]
    return details(name, found)


def _heading(data: StatusShape) -> Text:
    hosts = len({one["host"] for one in data["processes"]})
    running = sum(bool(one["alive"]) for one in data["processes"])
    count = _count(len(data["processes"]), "process", "processes")
    text = f"{count} on {_count(hosts, 'node', 'nodes')}, {running} running"
    return Text.assemble((text, "heading"), "  ", (", ".join(data["journals"]), "note"))


# -- processes --------------------------------------------------------------------------------


def _processes(processes: Sequence[ProcessShape]) -> Table:
    hosts = {one["host"] for one in processes}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("process", no_wrap=True)
    if len(hosts) > 1:
        table.add_column("node", no_wrap=True)
    table.add_column("pid", no_wrap=True, justify="right")
    table.add_column("started", no_wrap=True, justify="right")
    table.add_column("state", no_wrap=True)
    with_looks = any(_is_verified(one) for one in processes)
    if with_looks:
        table.add_column("verified", no_wrap=True, justify="right")
    table.add_column("patches", overflow="fold")
    children = _children(processes)
    for root in children[None]:
        for guide, same in _lines(root, children):
            look = [_look(same)] if with_looks else []
            table.add_row(*_cells(guide, same, root["started"], look, with_host=len(hosts) > 1))
    return table


def _children(processes: Iterable[ProcessShape]) -> Children:
    found: Children = {None: []}
    for one in processes:
        parent = one["parent"]
        found.setdefault(parent and _key(parent), []).append(one)
    return found


def _lines(root: ProcessShape, children: Children) -> Iterator[Line]:
    """Walk down a tree; each line has its guide, and the processes that it stands for."""
    waiting, seen = [("", "", [root])], set()
    while waiting:
        guide, below, same = waiting.pop()
        yield guide, same
        if len(same) == 1 and _key(same[0]) not in seen:
            seen.add(_key(same[0]))  # journals may say that a process descends from itself
            waiting += reversed(list(_branches(same[0], children, below)))


def _branches(
    parent: ProcessShape, children: Children, guide: str
) -> Iterator[tuple[str, str, list[ProcessShape]]]:
    """Give each bundle of children its own guide, and that of what is below it."""
    bundles = list(_bundles(children.get(_key(parent), []), children))
    guide = guide[-_DEEPEST:]
    for number, same in enumerate(bundles, start=1):
        is_last = number == len(bundles)
        yield guide + ("└─ " if is_last else "├─ "), guide + ("   " if is_last else "│  "), same


def _bundles(siblings: Sequence[ProcessShape], children: Children) -> Iterator[list[ProcessShape]]:
    """Put many of the same kind that have no children of their own on one line."""
    for kind, group in groupby(siblings, lambda one: _kind(one, children)):
        same = list(group)
        if kind is not None and (len(same) > _MANY or same[0]["copy"]):
            yield same
        else:
            yield from ([one] for one in same)


def _kind(one: ProcessShape, children: Children) -> object:
    if _key(one) in children:
        return None
    statuses = tuple((patch["name"], patch["status"]) for patch in one["patches"])
    return (one["host"], *one["roles"], one["alive"], one["copy"], one["reason"], statuses)


def _cells(
    guide: str,
    same: Sequence[ProcessShape],
    began: float,
    look: Sequence[Text],
    *,
    with_host: bool,
) -> Iterator[Text]:
    one = same[0]
    yield Text.assemble((guide, "note"), _label(same))
    if with_host:
        yield Text(one["host"])
    yield Text(str(one["pid"]) if len(same) == 1 else f"{one['pid']} …")
    yield Text(_clock(one["started"]) if not guide else f"+{one['started'] - began:.1f} s", "note")
    yield _state(one["alive"])
    yield from look
    yield _summary(one)


def _is_verified(one: ProcessShape) -> bool:
    return bool(one["alive"]) and one["verified"] is not None


def _look(same: Sequence[ProcessShape]) -> Text:
    """Say how long ago the processes looked at what they had applied; the longest counts."""
    seconds = [one["verified"] or 0 for one in same if _is_verified(one)]
    return Text(f"{max(seconds):.0f} s ago" if seconds else "", style="note")


def _label(same: Sequence[ProcessShape]) -> Text:
    one = same[0]
    words = ", ".join(one["roles"]) or "no role yet"
    if one["copy"]:
        words = f"fork of {words}"
    text = Text(words, style="note" if one["copy"] or not one["roles"] else "name")
    if not one["reached"]:
        text = Text(
            ", ".join(one["roles"]) or "process", style="note" if one["starting"] else "bad"
        )
    if one["rank"] is not None:
        ranks = [str(other["rank"]) for other in same]
        text.append(f" {ranks[0]}" if len(same) == 1 else f" {ranks[0]}-{ranks[-1]}")
    if len(same) > 1:
        text.append(f" ×{len(same)}", style="note")  # noqa: RUF001
    if name := _name(one):
        text.append(f"  {name}", style="note")
    return text


def _name(one: ProcessShape) -> str:
    """Say which it is, where the role and the rank do not."""
    if one["name"].startswith("VllmWorker") or one["copy"]:
        return ""
    words = [word.rpartition("/")[2] for word in one["argv"][:3]]
    return _short(one["name"] or " ".join(words))


def _short(text: str, room: int = 28) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _clock(moment: float) -> str:
    if not moment:
        return ""
    local = time.localtime(moment)
    is_today = local[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S", local)


def _state(alive: bool | None) -> Text:
    words = {True: ("running", "ok"), False: ("ended", "note"), None: ("", "note")}
    return Text(*words[alive])


def _summary(one: ProcessShape) -> Text:
    if not one["reached"]:
        return Text(one["reason"] or "", style="note" if one["starting"] else "bad")
    mine = [patch for patch in one["patches"] if is_due(one, patch)]
    counted = Counter(patch["status"] for patch in mine)
    return _joined(
        Text(f"{counted[status]} {status}", style=style)
        for status, style in STYLES.items()
        if counted[status]
    )


# -- patches ----------------------------------------------------------------------------------


def _patches(processes: Iterable[ProcessShape]) -> Table:
    """Make a row of every patch, a column of every role."""
    holders = _holders(processes)
    roles = [role for role in _ROLES if any(role in one["roles"] for one in holders)]
    names = dict.fromkeys(patch["name"] for one in holders for patch in one["patches"])
    by_name: dict[str, Found] = {name: [] for name in names}
    for one in holders:
        for patch in one["patches"]:
            by_name[patch["name"]].append((one, patch))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("patch", no_wrap=True)
    for role in roles:
        table.add_column(role, no_wrap=True)
    counts = {name: copies(patch for _, patch in found) for name, found in by_name.items()}
    with_copies = any(count.plain for count in counts.values())
    if with_copies:
        table.add_column("copies", overflow="fold")
    table.add_column("remarks", overflow="fold")
    for name, found in by_name.items():
        cells = [
            _stand(patch for one, patch in found if is_for(one, patch, role)) for role in roles
        ]
        cells += [counts[name]] if with_copies else []
        table.add_row(Text(name, style="name"), *cells, _remarks(found))
    return table


def _holders(processes: Iterable[ProcessShape]) -> list[ProcessShape]:
    return [one for one in processes if one["reached"] and not one["copy"]]


def _stand(patches: Iterable[PatchStatusShape]) -> Text:
    counted = Counter(patch["status"] for patch in patches)
    several = sum(counted.values()) > 1
    return _joined(
        Text(f"{status} {number}" if several else status, style=STYLES.get(status, "warn"))
        for status, number in counted.items()
    )


def _remarks(found: Found) -> Text:
    """
    Say why it was skipped, and whether what it changes is not as it was reviewed.

    What is armed waits for its target, and a failure is a finding below.
    """
    found = [(one, patch) for one, patch in found if is_due(one, patch)]
    reasons = [patch["reason"] or "" for _, patch in found if patch["status"] == "skipped"]
    parts = [Text(reason, style="note") for reason in filter(None, dict.fromkeys(reasons))]
    if any(patch["unreviewed"] for _, patch in found):
        parts.append(Text("not as reviewed, see --patch", style="warn"))
    return Text("; ").join(parts)


# -- what is wrong ----------------------------------------------------------------------------


def _agreement(agreement: dict[str, bool]) -> Text:
    words = (
        Text(f"{role} {'yes' if agree else 'no'}", style="ok" if agree else "bad")
        for role, agree in agreement.items()
    )
    return Text.assemble(("agreement  ", "heading"), _joined(words))


def _findings(findings: Iterable[FindingShape]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bad")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    same: dict[tuple[str, str], list[FindingShape]] = {}
    for finding in findings:
        same.setdefault((finding["kind"], finding["message"]), []).append(finding)
    for (kind, message), found in same.items():
        table.add_row(kind, Text(_where(found)), Text(message))
    return table


def _where(findings: Sequence[FindingShape]) -> str:
    hosts = dict.fromkeys(finding["host"] for finding in findings if finding["pid"])
    texts = []
    for host in hosts:
        pids = [str(finding["pid"]) for finding in findings if finding["host"] == host]
        more = f" and {len(pids) - _MANY} more" if len(pids) > _MANY else ""
        texts.append(f"{', '.join(pids[:_MANY])}{more} on {host}")
    return "; ".join(texts)


def _joined(texts: Iterable[Text]) -> Text:
    return Text(", ").join(texts)


def _key(one: ProcessShape | ParentShape) -> Key:
    return one["host"], one["pid"], one["started"]


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _printable(value: Any) -> Any:
    """Leave no line ends and no escape sequences in texts that other processes have written."""
    if isinstance(value, str):
        return value if value.isprintable() else " ".join(map(_shown, value.split()))
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {name: _printable(item) for name, item in value.items()}
    return value


def _shown(word: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in word)
