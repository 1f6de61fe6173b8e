"""Lays out the tree of processes for `patchkit status`."""

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
"""The children of each process; None has the processes without a known parent."""
STYLES = {"applied": "ok", "failed": "bad", "skipped": "warn", "armed": "note"}
MANY = 4
"""The most processes of one kind, under one parent, that have a line each."""
_DEEPEST = 24
"""The most columns for guide lines; a deeper tree is not indented further."""
_NAME_WIDTH = 28
_STATES = {True: ("running", "ok"), False: ("ended", "note"), None: ("", "note")}


class BundleLine(NamedTuple):
    """A line of the tree: a process, or several of the same kind under one parent.

    Args:
        guide: The guide lines before it, such as `│  ├─ `.
        guide_below: The guide lines before its children, without their own: `│  │  `.
        processes: The processes.
    """

    guide: str
    guide_below: str
    processes: Sequence[ProcessStatus]


class AlikeTrees(NamedTuple):
    """Trees of processes that differ in nothing that the table shows, but for nodes and numbers.

    Args:
        root: The root of the first tree, which stands for all.
        number: How many trees there are.
    """

    root: ProcessStatus
    number: int


class OptionalColumns(NamedTuple):
    """Which of the optional columns the table has.

    Args:
        node: Whether it has a column for the node.
        verified: Whether it has a column for the last verification.
    """

    node: bool
    verified: bool


def process_tree(picture: Picture, idle: Collection[str] = ()) -> Table:
    """Return a table with a line for each process, or for many of the same kind.

    Args:
        picture: The processes, with their parents.
        idle: The names of patches not to count.
    """
    hosts = {process.host for process in picture.processes}
    with_node = len(hosts) > 1
    with_verified = any(map(_is_verified, picture.processes))
    optional = OptionalColumns(with_node, with_verified)
    table = _empty_table(optional)
    children = picture.children()
    for trees in _alike_trees(children.get(None, []), children):
        for line in _lines(trees.root, children):
            cells = _cells(line, trees, picture.now, optional, idle)
            table.add_row(*cells)
    return table


def _alike_trees(
    roots: Sequence[ProcessStatus], children: Children
) -> Iterator[AlikeTrees]:
    """Gather the trees of many nodes that are alike; each is where the first of them is.

    Args:
        roots: The roots of all trees, in order.
        children: The children of every process.
    """
    alike: dict[object, list[ProcessStatus]] = {}
    for root in roots:
        alike.setdefault(_shape(root, children), []).append(root)
    for gathered in alike.values():
        if len({root.host for root in gathered}) > MANY:
            yield AlikeTrees(gathered[0], len(gathered))
        else:
            for root in gathered:
                yield AlikeTrees(root, 1)


def _shape(root: ProcessStatus, children: Children) -> object:
    """Return what a tree of processes shows, but for nodes, numbers and times."""
    shape: list[object] = []
    # Without recursion: a tree may be deeper than Python's stack.
    waiting = [(0, root)]
    while waiting:
        depth, process = waiting.pop()
        shape.append((depth, _name(process), _facts(process)))
        waiting += [(depth + 1, child) for child in children.get(process, [])]
    return tuple(shape)


def _empty_table(optional: OptionalColumns) -> Table:
    """Return the table without rows."""
    # On a narrow terminal, the names of processes are cut off, and not the results.
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
    trees: AlikeTrees,
    now: float,
    optional: OptionalColumns,
    idle: Collection[str],
) -> Iterator[Text | str]:
    """Yield the cells of a line, in the order of `_empty_table`.

    Args:
        line: The line.
        trees: The trees that it is one of; start times are relative to that of the root.
        now: The time of the picture.
        optional: Which of the optional columns there are.
        idle: The names of patches not to count.
    """
    first = line.processes[0]
    is_root = not line.guide
    count = trees.number if is_root else len(line.processes)
    is_of_many = trees.number > 1 or len(line.processes) > 1
    yield Text.assemble(
        (line.guide, "note"),
        _label(line.processes, count),
        no_wrap=True,
        overflow="ellipsis",
    )
    if optional.node:
        node = plain(first.host)
        if trees.number > 1:
            node.append(" …")
        yield node
    yield f"{first.pid} …" if is_of_many else str(first.pid)
    if not is_root and first.started:
        seconds = first.started - trees.root.started
        yield Text(f"+{seconds:.1f} s", "note")
    else:
        yield Text(_clock(first.started), "note")
    yield Text(*_STATES[first.alive])
    if optional.verified:
        yield _verified(line.processes, now)
    yield _summary(first, idle)


def _lines(root: ProcessStatus, children: Children) -> Iterator[BundleLine]:
    """Yield the lines of the tree of a root, each parent before its children."""
    waiting = [BundleLine(guide="", guide_below="", processes=[root])]
    while waiting:
        line = waiting.pop()
        yield line
        if len(line.processes) == 1:  # the processes of a bundle have no children
            # `pop` takes from the end: the first child comes next, and its children after it.
            lines_below = _lines_below(line, children)
            waiting += reversed(lines_below)


def _lines_below(parent: BundleLine, children: Children) -> list[BundleLine]:
    """Return the lines of the children of a process; the last one has a `└─`."""
    indent = parent.guide_below[-_DEEPEST:]
    process = parent.processes[0]
    siblings = children.get(process, [])
    bundles = list(_bundles(siblings, children))
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
    """Bundle many children of a process that are of one kind, and have no children themselves.

    Args:
        siblings: The children of the process, in order.
        children: The children of every process.

    Yields:
        The processes of a bundle, or a single process.
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
    """Return what the processes of a bundle have in common; None for a process with children."""
    if process in children:
        return None
    return process.host, _facts(process)


def _facts(process: ProcessStatus) -> tuple[object, ...]:
    """Return what the table shows of a process, but for its node, numbers and times."""
    statuses = []
    for patch in process.patches.values():
        status, _reason = process.stand(patch)
        statuses.append((patch.name, status))
    return (
        tuple(process.roles),
        process.alive,
        process.is_copy,
        process.reason,
        tuple(statuses),
    )


def _is_verified(process: ProcessStatus) -> bool:
    return bool(process.alive) and process.verified is not None


def _verified(processes: Sequence[ProcessStatus], now: float) -> Text:
    """Return how long ago running processes verified their patches: of several, the longest."""
    # `or 0` is for type checkers: `_is_verified` means that there is a moment.
    moments = [process.verified or 0 for process in processes if _is_verified(process)]
    if not moments:
        return Text("", style="note")
    longest = now - min(moments)
    return Text(age(longest), style="note")


def _label(processes: Sequence[ProcessStatus], count: int) -> Text:
    """Return the label of a line: role, ranks, number and name, as in `worker 0-3 ×4`.

    Args:
        processes: The processes of the line.
        count: How many processes it stands for, those of further nodes included.
    """  # noqa: RUF002
    first = processes[0]
    text = _role(first)
    if first.rank is not None:
        text.append(f" {first.rank}")
        if len(processes) > 1:
            text.append(f"-{processes[-1].rank}")
    if count > 1:
        text.append(f" ×{count}", style="note")  # noqa: RUF001
    name = _name(first)
    if name:
        text.append(f"  {name}", style="note")
    return text


def _role(process: ProcessStatus) -> Text:
    """Return the roles of a process, or what is known of it instead."""
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
    """Return the name or the command of a process, shortened; '' if its role says enough."""
    if process.name.startswith("VllmWorker") or process.is_copy:
        return ""
    name = process.name
    command_line = " ".join(process.argv)
    if not name or name == command_line:
        name = _command(process.argv)
    text = one_line(name)
    if len(text) > _NAME_WIDTH:
        return text[: _NAME_WIDTH - 1] + "…"
    return text


def _command(argv: Sequence[str]) -> str:
    """Return the short form of a command line: `run.py MODEL` for `python /srv/run.py MODEL`."""
    words = list(argv)
    program = ""
    if words:
        program = PurePath(words[0]).name
    if program.startswith("python"):
        words = words[1:]
    if words[:1] == ["-m"]:
        words = words[1:]
    elif words[:1] == ["-c"]:  # the code alone does not look like a program
        words = ["python", *words]
    without_folders = [word.rpartition("/")[2] for word in words[:3]]
    return " ".join(without_folders)


def _clock(moment: float) -> str:
    """Return a time of day, with the date if it is not today; '' for 0."""
    if not moment:
        return ""
    local = time.localtime(moment)
    today = time.localtime()
    if local[:3] == today[:3]:
        return time.strftime("%H:%M:%S", local)
    return time.strftime("%Y-%m-%d %H:%M:%S", local)


def _summary(process: ProcessStatus, idle: Collection[str]) -> Text:
    """Return the number of a process's patches by status, or why the process was not reached."""
    if not process.is_reached:
        return plain(process.reason, _unreached_style(process))
    statuses = Counter[str]()
    for patch in process.patches.values():
        if process.is_due(patch) and patch.name not in idle:
            status, _reason = process.stand(patch)
            statuses[status] += 1
    texts = []
    for status, style in STYLES.items():
        number = statuses[status]
        if number:
            text = Text(f"{number} {status}", style=style)
            texts.append(text)
    if not texts:
        texts = [Text("none", style="note")]
    return Text(", ").join(texts)
