"""Prints the result of `patchkit status`: processes, their patches, and findings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from patchkit.analysis.status.findings import ProcessFinding
from patchkit.analysis.status.patches import idle_patches
from patchkit.analysis.status.picture import Picture
from patchkit.analysis.status.process_status import ProcessStatus
from patchkit.cli.report.console import columns, console, folded, plain, whole
from patchkit.cli.report.layout import unbroken
from patchkit.cli.report.process_tree import MANY, process_tree
from patchkit.cli.report.runs import run_line
from patchkit.cli.report.status_facts import Occurrences, facts_table, roles_of
from patchkit.cli.report.status_patches import (
    patch_table,
    shown_patches,
    styled_status,
)
from patchkit.cli.report.words import count, one_line, printable
from patchkit.core.record import grouped


class Section(NamedTuple):
    """A section of the result.

    Args:
        title: Its title.
        content: A table, or a text for one line.
        remark: A line below the table; '' for none.
    """

    title: str
    content: Table | Text
    remark: str = ""


def print_status(picture: Picture, *, everything: bool = False) -> None:
    """Print all processes and patches.

    Args:
        picture: The processes.
        everything: Whether to list also patches that come with patchkit and do not apply.
    """
    console().print(_page(picture, everything=everything))


def print_patch(picture: Picture, patch: str) -> None:
    """Print the status of one patch in each process, and the facts about it.

    Args:
        picture: The processes.
        patch: The name of the patch.
    """
    occurrences = shown_patches(picture).listed.get(patch, [])
    parts = [
        plain(patch, "name"),
        "",
        _status_table(occurrences),
        *facts_table(occurrences),
        *_traces(occurrences),
    ]
    console().print(Group(*parts))


def _traces(occurrences: Occurrences) -> Iterator[Text]:
    """Yield each traceback of a patch's failures, with the processes that have it."""
    failed = [(process, patch) for process, patch in occurrences if patch.trace]
    pids_by_trace = grouped(
        (patch.trace, str(process.pid)) for process, patch in failed
    )
    for lines, pids in pids_by_trace.items():
        title = (f"failed in {', '.join(pids)}", "heading")
        text = "\n".join(map(printable, lines))
        yield unbroken(Text.assemble("\n", title, "\n", text))


@contextmanager
def live(*, everything: bool) -> Iterator[Callable[[Picture], None]]:
    """Open a display on which each picture replaces the one before.

    Args:
        everything: Whether to list also patches that come with patchkit and do not apply.

    Yields:
        The function that shows a picture.
    """
    # Without a terminal, only the last picture is printed.
    with Live(console=console(), auto_refresh=False) as screen:
        is_terminal = screen.console.is_terminal

        def show(picture: Picture) -> None:
            page = _page(picture, everything=everything, is_live=True)
            screen.update(page, refresh=is_terminal)

        yield show


def heading(picture: Picture) -> str:
    """Return the numbers of processes, nodes, and running processes, in words.

    Args:
        picture: The processes.
    """
    hosts = {process.host for process in picture.processes}
    nodes = count(len(hosts), "node")
    running = [process for process in picture.processes if process.alive]
    running_count = len(running)
    processes = count(len(picture.processes), "process")
    return f"{processes} on {nodes}, {running_count} running"


def sections(picture: Picture, *, everything: bool) -> Iterator[Section]:
    """Yield the sections that are not empty, in the order of a terminal.

    Args:
        picture: The processes.
        everything: Whether to list also patches that come with patchkit and do not apply.
    """
    if picture.processes:
        idle: set[str] = set()
        if not everything:
            idle = idle_patches(picture.processes)
        yield Section("processes", process_tree(picture, idle))
    patches = shown_patches(picture, everything=everything)
    if patches.listed:
        table = patch_table(picture, patches.listed)
        yield Section("patches", table, patches.remark)
    elif patches.folded:
        yield Section("patches", plain(patches.remark, "note"))
    if picture.agreement:
        yield Section("agreement", _agreement(picture))
    if picture.findings:
        yield Section("findings", _findings(picture.findings))


def _agreement(picture: Picture) -> Text:
    """Return whether the processes of each role have the same patches: `worker yes`."""
    texts = []
    for role, agree in picture.agreement.items():
        text = plain(f"{role} no", "bad")
        if agree:
            text = plain(f"{role} yes", "ok")
        texts.append(text)
    return Text(", ").join(texts)


def _page(
    picture: Picture, *, everything: bool, is_live: bool = False
) -> RenderableType:
    """Lay out the whole result.

    Args:
        picture: The processes.
        everything: Whether to list also patches that come with patchkit and do not apply.
        is_live: Whether it is shown on a live display.
    """
    title = (heading(picture), "heading")
    journals = one_line(", ".join(picture.journals))
    parts: list[RenderableType] = [Text.assemble(title, "  ", (journals, "note"))]
    if picture.run is not None:
        line = plain(run_line(picture.run, picture.now), "note")
        if not is_live:  # a live display cuts off lines that are too wide
            line = unbroken(line)
        parts.append(line)
    for section in sections(picture, everything=everything):
        parts.append("")
        if isinstance(section.content, Text):
            title = (f"{section.title}  ", "heading")
            parts.append(Text.assemble(title, section.content))
        else:
            parts.append(section.content)
        if section.remark:
            parts.append(plain(section.remark, "note"))
    for note in picture.notes:
        text = plain(note, "note")
        parts.append(text)
    return Group(*parts)


def _findings(findings: Iterable[ProcessFinding]) -> Table:
    """Return a table with a row for equal findings, and their processes."""
    table = columns(whole(style="bad"), whole(), folded())
    identical = grouped(
        ((finding.kind, finding.message), finding) for finding in findings
    )
    for (kind, message), alike in identical.items():
        processes = [finding.process for finding in alike if finding.process]
        locations = Text(_locations(processes))
        table.add_row(kind, locations, plain(message))
    return table


def _locations(processes: Sequence[ProcessStatus]) -> str:
    """Return the pids on each node, or the first few of many: `7, 8 on host`."""
    locations = []
    pids_by_host = grouped((process.host, str(process.pid)) for process in processes)
    for host, pids in pids_by_host.items():
        listed_pids = pids[:MANY]
        listed = ", ".join(listed_pids)
        unlisted_count = len(pids) - len(listed_pids)
        if unlisted_count:
            listed += f" and {unlisted_count} more"
        node = one_line(host)
        locations.append(f"{listed} on {node}")
    return "; ".join(locations)


def _status_table(occurrences: Occurrences) -> RenderableType:
    """Return a table with a row for processes with the same roles, status and cause."""
    table = columns(whole("process"), folded("pid"), whole("status"), folded("cause"))
    pids_by_status: dict[tuple[str, str, str], list[str]] = {}
    for process, patch in occurrences:
        status, reason = process.stand(patch)
        roles = roles_of(process)
        key = (roles, status, reason)
        pids = pids_by_status.setdefault(key, [])
        pids.append(str(process.pid))
    for (roles, status, reason), pids in pids_by_status.items():
        table.add_row(
            plain(roles),
            ", ".join(pids),
            styled_status(status),
            plain(reason),
        )
    return table
