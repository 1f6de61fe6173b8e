"""`patchkit status` for a person: the tree of processes, who has which patch, what is wrong."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.text import Text

from patchkit.report.console import columns, console
from patchkit.report.process_tree import MANY, STYLES, process_tree
from patchkit.report.status_patch import copies, patch_page
from patchkit.report.words import count, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from patchkit.status.findings import ProcessFinding
    from patchkit.status.picture import Picture
    from patchkit.status.process_status import PatchStatus, ProcessStatus

    Stands = Sequence[tuple[ProcessStatus, PatchStatus]]

_ROLES = ("main", "engine-core", "worker")


def print_status(picture: Picture, patch: str | None = None) -> None:
    """Print the whole picture, or what is known of one patch."""
    if patch is None:
        console().print(status_page(picture))
    else:
        console().print(patch_page(patch, _by_patch(picture).get(patch, [])))


@contextmanager
def live() -> Iterator[Callable[[Picture], None]]:
    """Give what shows a picture in place of the one before."""
    out, shown = console(), Group()
    if not out.is_terminal:
        yield lambda picture: shown.renderables.__setitem__(slice(None), [status_page(picture)])
        out.print(shown)
        return
    with Live(console=out, auto_refresh=False) as screen:
        yield lambda picture: screen.update(status_page(picture), refresh=True)


def status_page(picture: Picture) -> RenderableType:
    """Lay the picture out: processes, patches, agreement, findings, notes."""
    parts: list[RenderableType] = [_heading(picture)]
    if picture.processes:
        parts += ["", process_tree(picture)]
    if any(process.patches for process in picture.processes):
        parts += ["", _patches(picture)]
    if picture.agreement:
        parts += ["", _agreement(picture.agreement)]
    if picture.findings:
        parts += ["", _findings(picture.findings)]
    return Group(*parts, *(Text(one_line(note), style="note") for note in picture.notes))


def _heading(picture: Picture) -> Text:
    hosts = len({process.host for process in picture.processes})
    running = sum(bool(process.alive) for process in picture.processes)
    processes = count(len(picture.processes), "process")
    text = f"{processes} on {count(hosts, 'node')}, {running} running"
    return Text.assemble((text, "heading"), "  ", (one_line(", ".join(picture.journals)), "note"))


def _by_patch(picture: Picture) -> dict[str, list[tuple[ProcessStatus, PatchStatus]]]:
    """Index how patches stand in the processes that tell of them."""
    stands: dict[str, list[tuple[ProcessStatus, PatchStatus]]] = {}
    for process in picture.processes:
        for patch in process.patches.values() if _tells(process) else ():
            stands.setdefault(patch.name, []).append((process, patch))
    return stands


def _tells(process: ProcessStatus) -> bool:
    return process.is_reached and not process.is_copy


def _patches(picture: Picture) -> Table:
    """Make a row of every patch, a column of every role."""
    has = {role for process in picture.processes if _tells(process) for role in process.roles}
    roles = [role for role in _ROLES if role in has]
    by_patch = _by_patch(picture)
    counts = {name: copies(patch for _, patch in stands) for name, stands in by_patch.items()}
    with_copies = any(text.plain for text in counts.values())
    table = columns(header=True)
    for heading in ("patch", *roles):
        table.add_column(heading, no_wrap=True)
    if with_copies:
        table.add_column("copies", overflow="fold")
    table.add_column("remarks", overflow="fold")
    for name, stands in by_patch.items():
        cells = [_stand(stands, role) for role in roles]
        cells += [counts[name]] if with_copies else []
        table.add_row(Text(one_line(name), style="name"), *cells, _remarks(stands))
    return table


def _stand(stands: Stands, role: str) -> Text:
    counted = Counter(
        process.stand(patch)[0]
        for process, patch in stands
        if role in process.roles and patch.is_for(role)
    )
    several = sum(counted.values()) > 1
    return Text(", ").join(
        Text(
            f"{one_line(status)} {number}" if several else one_line(status),
            style=STYLES.get(status, "warn"),
        )
        for status, number in counted.items()
    )


def _remarks(stands: Stands) -> Text:
    """
    Say why it was skipped, and whether what it changes is not as it was reviewed.

    What is armed waits for its target, and a failure is a finding below.
    """
    due = [(process, patch) for process, patch in stands if process.is_due(patch)]
    told = [process.stand(patch) for process, patch in due]
    reasons = dict.fromkeys(reason for status, reason in told if status == "skipped" and reason)
    parts = [Text(one_line(reason), style="note") for reason in reasons]
    if any(patch.unreviewed for _, patch in due):
        parts.append(Text("differs from the review, see --patch", style="warn"))
    return Text("; ").join(parts)


def _agreement(agreement: dict[str, bool]) -> Text:
    words = (
        Text(f"{one_line(role)} {'yes' if agree else 'no'}", style="ok" if agree else "bad")
        for role, agree in agreement.items()
    )
    return Text.assemble(("agreement  ", "heading"), Text(", ").join(words))


def _findings(findings: Iterable[ProcessFinding]) -> Table:
    table = columns()
    table.add_column(no_wrap=True, style="bad")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    same: dict[tuple[str, str], list[ProcessStatus]] = {}
    for finding in findings:
        processes = same.setdefault((finding.kind, finding.message), [])
        processes += [finding.process] if finding.process else []
    for (kind, message), processes in same.items():
        table.add_row(kind, Text(_where(processes)), Text(one_line(message)))
    return table


def _where(processes: Sequence[ProcessStatus]) -> str:
    texts = []
    for host in dict.fromkeys(process.host for process in processes):
        pids = [str(process.pid) for process in processes if process.host == host]
        more = f" and {len(pids) - MANY} more" if len(pids) > MANY else ""
        texts.append(f"{', '.join(pids[:MANY])}{more} on {one_line(host)}")
    return "; ".join(texts)
