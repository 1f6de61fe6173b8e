"""`patchkit status`: the tree of processes, many of the same kind on one line."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.table import Column, Table
from rich.text import Text

from patchkit.analysis.status import Picture, ProcessStatus
from patchkit.cli.report.console import columns, folded, plain, whole
from patchkit.cli.report.words import age, one_line

Children = dict[ProcessStatus | None, list[ProcessStatus]]
Line = tuple[str, Sequence[ProcessStatus]]
STYLES = {"applied": "ok", "failed": "bad", "skipped": "warn", "armed": "note"}
MANY = 4
"""More of the same under one parent are one line."""
_DEEPEST = 24
"""Columns of guide lines; a deeper tree goes on below at that indent."""
_NAME = 28
_STATES = {True: ("running", "ok"), False: ("ended", "note"), None: ("", "note")}


def process_tree(picture: Picture) -> Table:
    """Lay out a line for each process or bundle of them."""
    with_hosts = len({process.host for process in picture.processes}) > 1
    with_looks = any(_is_verified(process) for process in picture.processes)
    # Where there is no room, names are cut: what became of the patches is told.
    heads = [Column("process"), *([whole("node")] if with_hosts else [])]
    heads += [whole("pid", justify="right"), whole("started", justify="right"), whole("state")]
    heads += [whole("verified", justify="right")] if with_looks else []
    table = columns(*heads, folded("patches"))
    children = picture.children()
    for root in children.get(None, []):
        for guide, same in _lines(root, children):
            first = same[0]
            after = f"+{first.started - root.started:.1f} s"
            began = after if guide and first.started else _clock(first.started)
            table.add_row(
                Text.assemble((guide, "note"), _label(same), no_wrap=True, overflow="ellipsis"),
                *([plain(first.host)] if with_hosts else []),
                f"{first.pid} …" if len(same) > 1 else str(first.pid),
                Text(began, "note"),
                Text(*_STATES[first.alive]),
                *([_look(same, picture.now)] if with_looks else []),
                _summary(first),
            )
    return table


def _lines(root: ProcessStatus, children: Children) -> Iterator[Line]:
    waiting: list[tuple[str, str, Sequence[ProcessStatus]]] = [("", "", [root])]
    while waiting:
        guide, below, same = waiting.pop()
        yield guide, same
        below = below[-_DEEPEST:]
        bundles = _bundles(children.get(same[0], []), children) if len(same) == 1 else ()
        own, under = "└─ ", "   "
        for bundle in reversed([*bundles]):
            waiting.append((below + own, below + under, bundle))
            own, under = "├─ ", "│  "


def _bundles(
    siblings: Sequence[ProcessStatus], children: Children
) -> Iterator[Sequence[ProcessStatus]]:
    """Put many of the same kind that have no children of their own on one line."""
    for kind, group in groupby(siblings, lambda process: _kind(process, children)):
        same = list(group)
        if kind is not None and (len(same) > MANY or same[0].is_copy):
            yield same
        else:
            yield from ([process] for process in same)


def _kind(process: ProcessStatus, children: Children) -> object:
    if process in children:
        return None
    stands = tuple((patch.name, process.stand(patch)[0]) for patch in process.patches.values())
    state = (process.alive, process.is_copy, process.reason)
    return (process.host, *process.roles, *state, stands)


def _is_verified(process: ProcessStatus) -> bool:
    return bool(process.alive) and process.verified is not None


def _look(same: Sequence[ProcessStatus], now: float) -> Text:
    """Say how long ago the processes looked at what they had applied; the longest counts."""
    looks = [process.verified or 0 for process in same if _is_verified(process)]
    return Text(age(now - min(looks)) if looks else "", style="note")


def _label(same: Sequence[ProcessStatus]) -> Text:
    process = same[0]
    text = _role(process)
    if process.rank is not None:
        ranks = [str(other.rank) for other in same]
        text.append(f" {ranks[0]}" if len(same) == 1 else f" {ranks[0]}-{ranks[-1]}")
    if len(same) > 1:
        text.append(f" ×{len(same)}", style="note")  # noqa: RUF001
    if name := _name(process):
        text.append(f"  {name}", style="note")
    return text


def _role(process: ProcessStatus) -> Text:
    roles = one_line(", ".join(process.roles))
    if not process.is_reached:
        return Text(roles or "process", style="note" if process.is_starting else "bad")
    if process.is_copy:
        return Text(f"fork of {roles or 'no role yet'}", style="note")
    return Text(roles, style="name") if roles else Text("no role yet", style="note")


def _name(process: ProcessStatus) -> str:
    if process.name.startswith("VllmWorker") or process.is_copy:
        return ""
    words = [word.rpartition("/")[2] for word in process.argv[:3]]
    text = one_line(process.name or " ".join(words))
    return text if len(text) <= _NAME else text[: _NAME - 1] + "…"


def _clock(moment: float) -> str:
    local = time.localtime(moment)
    is_today = local[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S", local) if moment else ""


def _summary(process: ProcessStatus) -> Text:
    if not process.is_reached:
        return plain(process.reason, "note" if process.is_starting else "bad")
    due = [patch for patch in process.patches.values() if process.is_due(patch)]
    counted = Counter(process.stand(patch)[0] for patch in due)
    return Text(", ").join(
        Text(f"{counted[status]} {status}", style=style)
        for status, style in STYLES.items()
        if counted[status]
    )
