"""Lay out the tree of processes that `patchkit status` shows."""

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import NamedTuple

from rich.table import Column, Table
from rich.text import Text

from patchkit.analysis.status import Picture, ProcessStatus
from patchkit.cli.report.console import columns, folded, plain, whole
from patchkit.cli.report.words import age, one_line

Children = Mapping[ProcessStatus | None, list[ProcessStatus]]
STYLES = {"applied": "ok", "failed": "bad", "skipped": "warn", "armed": "note"}
MANY = 4
"""More of the same under one parent are one line."""
_DEEPEST = 24
"""Columns of guide lines; a deeper tree goes on below at that indent."""
_NAME_WIDTH = 28
_STATES = {True: ("running", "ok"), False: ("ended", "note"), None: ("", "note")}


class BundleLine(NamedTuple):
    """A line of the tree: processes of the same kind under one parent.

    Args:
        guide: The guide lines that lead to it.
        guide_below: The guide lines that go on to what is below it.
        processes: The processes.
    """

    guide: str
    guide_below: str
    processes: Sequence[ProcessStatus]


class OptionalColumns(NamedTuple):
    """The columns that the table has only sometimes.

    Args:
        node: Whether it has one for the node.
        verified: Whether it has one for the last verification.
    """

    node: bool
    verified: bool


def process_tree(picture: Picture, idle: Collection[str] = ()) -> Table:
    """Return a table with a line for each process, or for many of the same kind.

    Args:
        picture: The processes, and which of them is the child of which.
        idle: Names of patches that are not counted.
    """
    hosts = {process.host for process in picture.processes}
    optional = OptionalColumns(
        len(hosts) > 1, any(map(_is_verified, picture.processes))
    )
    table = _empty_table(optional)
    children = picture.children()
    for root in children.get(None, []):
        for line in _lines(root, children):
            table.add_row(*_cells(line, root, picture.now, optional, idle))
    return table


def _empty_table(optional: OptionalColumns) -> Table:
    # Where there is no room, names are cut: what became of the patches is told.
    heads = [Column("process")]
    if optional.node:
        heads.append(whole("node"))
    heads.append(whole("pid", justify="right"))
    heads.append(whole("started", justify="right"))
    heads.append(whole("state"))
    if optional.verified:
        heads.append(whole("verified", justify="right"))
    heads.append(folded("patches"))
    return columns(*heads)


def _cells(
    line: BundleLine,
    root: ProcessStatus,
    now: float,
    optional: OptionalColumns,
    idle: Collection[str],
) -> Iterator[Text | str]:
    first = line.processes[0]
    yield Text.assemble(
        (line.guide, "note"), _label(line.processes), no_wrap=True, overflow="ellipsis"
    )
    if optional.node:
        yield plain(first.host)
    if len(line.processes) > 1:
        yield f"{first.pid} …"
    else:
        yield str(first.pid)
    if line.guide and first.started:
        yield Text(f"+{first.started - root.started:.1f} s", "note")
    else:
        yield Text(_clock(first.started), "note")
    yield Text(*_STATES[first.alive])
    if optional.verified:
        yield _verified(line.processes, now)
    yield _summary(first, idle)


def _lines(root: ProcessStatus, children: Children) -> Iterator[BundleLine]:
    """Yield the lines of the tree below a root, each parent before its children."""
    waiting = [BundleLine("", "", [root])]
    while waiting:
        line = waiting.pop()
        yield line
        if len(line.processes) == 1:
            waiting += reversed(_lines_below(line, children))


def _lines_below(parent: BundleLine, children: Children) -> list[BundleLine]:
    indent = parent.guide_below[-_DEEPEST:]
    bundles = list(_bundles(children.get(parent.processes[0], []), children))
    lines = [
        BundleLine(indent + "├─ ", indent + "│  ", bundle) for bundle in bundles[:-1]
    ]
    lines += [
        BundleLine(indent + "└─ ", indent + "   ", bundle) for bundle in bundles[-1:]
    ]
    return lines


def _bundles(
    siblings: Sequence[ProcessStatus], children: Children
) -> Iterator[Sequence[ProcessStatus]]:
    """Bundle many of the same kind that have no children of their own.

    Args:
        siblings: The children of one process, in order.
        children: The children of every process.

    Yields:
        Those of a bundle, or one process alone.
    """
    for kind, group in groupby(siblings, lambda process: _kind(process, children)):
        processes = list(group)
        is_bundle = len(processes) > MANY or processes[0].is_copy
        if kind is not None and is_bundle:
            yield processes
        else:
            for process in processes:
                yield [process]


def _kind(process: ProcessStatus, children: Children) -> object:
    """Return what processes of a bundle have in common; None for one that stands alone."""
    if process in children:
        return None
    statuses = []
    for patch in process.patches.values():
        status, _ = process.stand(patch)
        statuses.append((patch.name, status))
    return (
        process.host,
        process.roles,
        process.alive,
        process.is_copy,
        process.reason,
        statuses,
    )


def _is_verified(process: ProcessStatus) -> bool:
    return bool(process.alive) and process.verified is not None


def _verified(processes: Sequence[ProcessStatus], now: float) -> Text:
    """Say how long ago processes looked at what they had applied; the longest counts."""
    moments = [process.verified or 0 for process in processes if _is_verified(process)]
    if not moments:
        return Text("", style="note")
    return Text(age(now - min(moments)), style="note")


def _label(processes: Sequence[ProcessStatus]) -> Text:
    """Name processes by their role, their ranks, their number and their name."""
    first = processes[0]
    text = _role(first)
    if first.rank is not None:
        text.append(f" {first.rank}")
        if len(processes) > 1:
            text.append(f"-{processes[-1].rank}")
    if len(processes) > 1:
        text.append(f" ×{len(processes)}", style="note")  # noqa: RUF001
    name = _name(first)
    if name:
        text.append(f"  {name}", style="note")
    return text


def _role(process: ProcessStatus) -> Text:
    roles = one_line(", ".join(process.roles))
    if not process.is_reached:
        return Text(roles or "process", style=_unreached_style(process))
    if process.is_copy:
        return Text(f"fork of {roles or 'no role yet'}", style="note")
    if not roles:
        return Text("no role yet", style="note")
    return Text(roles, style="name")


def _unreached_style(process: ProcessStatus) -> str:
    if process.is_starting:
        return "note"
    return "bad"


def _name(process: ProcessStatus) -> str:
    """Return the name or the command of a process, shortened; '' where the role says it."""
    if process.name.startswith("VllmWorker") or process.is_copy:
        return ""
    name = process.name
    if not name or name == " ".join(process.argv):
        name = _command(process.argv)
    text = one_line(name)
    if len(text) > _NAME_WIDTH:
        return text[: _NAME_WIDTH - 1] + "…"
    return text


def _command(argv: Sequence[str]) -> str:
    """Name what a command line runs by its module or its file, with its first arguments."""
    words = list(argv)
    program = PurePath(words[0]).name if words else ""
    if program.startswith("python"):
        words = words[1:]
    if words[:1] == ["-m"]:
        words = words[1:]
    elif words[:1] == ["-c"]:
        words = ["python", *words]
    return " ".join(word.rpartition("/")[2] for word in words[:3])


def _clock(moment: float) -> str:
    """Write a time of today as such, an earlier one with its date; '' where it is 0."""
    if not moment:
        return ""
    local = time.localtime(moment)
    if local[:3] == time.localtime()[:3]:
        return time.strftime("%H:%M:%S", local)
    return time.strftime("%Y-%m-%d %H:%M:%S", local)


def _summary(process: ProcessStatus, idle: Collection[str]) -> Text:
    """Count the patches of a process by status, or say why it is not reached."""
    if not process.is_reached:
        return plain(process.reason, _unreached_style(process))
    statuses = Counter[str]()
    for patch in process.patches.values():
        if process.is_due(patch) and patch.name not in idle:
            status, _ = process.stand(patch)
            statuses[status] += 1
    texts = []
    for status, style in STYLES.items():
        if statuses[status]:
            texts.append(Text(f"{statuses[status]} {status}", style=style))
    return Text(", ").join(texts or [Text("none", style="note")])
