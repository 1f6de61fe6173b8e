"""Print what `patchkit status` shows: processes, the patches in each, and what is wrong."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from patchkit.analysis.status.findings import ProcessFinding
from patchkit.analysis.status.picture import Picture
from patchkit.analysis.status.process_status import (
    CALLED,
    NEVER_CALLED,
    PatchStatus,
    ProcessStatus,
)
from patchkit.cli.report.console import columns, console, folded, plain, whole
from patchkit.cli.report.process_tree import MANY, STYLES, process_tree
from patchkit.cli.report.status_facts import Occurrences, facts_table
from patchkit.cli.report.words import age, count, one_line
from patchkit.core.record import grouped

_ROLES = ("main", "engine-core", "worker")


def print_status(picture: Picture, patch: str | None = None) -> None:
    """Print all processes and patches, or what is known of one patch.

    Args:
        picture: The processes.
        patch: The name of the patch; None for all.
    """
    if patch is None:
        console().print(_page(picture))
        return
    occurrences = _by_patch(picture).get(patch, [])
    parts = [
        plain(patch, "name"),
        "",
        _status_table(occurrences),
        *facts_table(occurrences),
    ]
    console().print(Group(*parts))


def print_unused(picture: Picture) -> None:
    """Print the targets that were never called in a process, and where they were called.

    Args:
        picture: The processes.
    """
    table = columns(
        whole("patch"),
        folded("target"),
        folded("never called in"),
        folded("called in"),
    )
    for name, occurrences in _by_patch(picture).items():
        for target in _targets(occurrences):
            called = _processes_where(CALLED, target, occurrences)
            never_called = _processes_where(NEVER_CALLED, target, occurrences)
            if never_called:
                table.add_row(
                    plain(name, "name"),
                    plain(target),
                    _process_lines(never_called, picture.now),
                    _process_lines(called),
                )
    _print_table(table, "each target that can be observed was called")


def _targets(occurrences: Occurrences) -> list[str]:
    targets: dict[str, None] = {}
    for _, patch in occurrences:
        targets.update(dict.fromkeys(patch.targets))
    return list(targets)


def _processes_where(
    call: str, target: str, occurrences: Occurrences
) -> list[ProcessStatus]:
    return [
        process for process, patch in occurrences if patch.calls.get(target) == call
    ]


def print_verified(picture: Picture) -> None:
    """Print what the `verify` of patches has answered, process by process.

    Args:
        picture: The processes.
    """
    table = columns(whole("patch"), whole("process"), whole("asked"), folded("verify"))
    for name, occurrences in _by_patch(picture).items():
        for process, patch in occurrences:
            if patch.answered is None:
                continue
            answer = plain("ok", "ok")
            if patch.answer:
                answer = plain(patch.answer, "bad")
            table.add_row(
                plain(name, "name"),
                _process_lines([process]),
                age(picture.now - patch.answered),
                answer,
            )
    _print_table(table, "no process has asked a patch's verify")


def _print_table(table: Table, substitute: str) -> None:
    if table.row_count:
        console().print(table)
    else:
        console().print(substitute)


def _process_lines(processes: Iterable[ProcessStatus], now: float | None = None) -> str:
    """Name processes, a line each.

    Args:
        processes: The processes.
        now: Seconds since the epoch, to say how long ago calls were looked at; None to say nothing.
    """
    lines = []
    for process in processes:
        line = f"{_roles(process)} {process.pid}"
        if now is not None:
            line += f", seen {age(now - (process.observed or now))}"
        lines.append(line)
    return "\n".join(lines)


def _roles(process: ProcessStatus) -> str:
    return ", ".join(process.roles) or "no role yet"


@contextmanager
def live() -> Iterator[Callable[[Picture], None]]:
    """Open a screen, and return the function that shows a picture in place of the one before."""
    # What is no terminal gets the last picture alone.
    with Live(console=console(), auto_refresh=False) as screen:
        is_terminal = screen.console.is_terminal
        yield lambda picture: screen.update(_page(picture), refresh=is_terminal)


def heading(picture: Picture) -> str:
    """Return how many processes there are, on how many nodes, and how many are running.

    Args:
        picture: The processes.
    """
    hosts = {process.host for process in picture.processes}
    running = [process for process in picture.processes if process.alive]
    processes = count(len(picture.processes), "process")
    return f"{processes} on {count(len(hosts), 'node')}, {len(running)} running"


def sections(picture: Picture) -> Iterator[tuple[str, RenderableType]]:
    """Lay out the sections of the page.

    Args:
        picture: The processes.

    Yields:
        The title and the content of each section that is not empty.
    """
    if picture.processes:
        yield "processes", process_tree(picture)
    if any(process.patches for process in picture.processes):
        yield "patches", _patches(picture)
    if picture.agreement:
        yield "agreement", _agreement(picture)
    if picture.findings:
        yield "findings", _findings(picture.findings)


def _agreement(picture: Picture) -> Text:
    texts = []
    for role, agree in picture.agreement.items():
        if agree:
            texts.append(plain(f"{role} yes", "ok"))
        else:
            texts.append(plain(f"{role} no", "bad"))
    return Text(", ").join(texts)


def _page(picture: Picture) -> RenderableType:
    journals = one_line(", ".join(picture.journals))
    head = Text.assemble((heading(picture), "heading"), "  ", (journals, "note"))
    parts: list[RenderableType] = [head]
    for title, content in sections(picture):
        parts.append("")
        if isinstance(content, Text):
            parts.append(Text.assemble((f"{title}  ", "heading"), content))
        else:
            parts.append(content)
    parts += [plain(note, "note") for note in picture.notes]
    return Group(*parts)


def _by_patch(picture: Picture) -> dict[str, list[tuple[ProcessStatus, PatchStatus]]]:
    by_patch: dict[str, list[tuple[ProcessStatus, PatchStatus]]] = {}
    for process in picture.processes:
        if _has_own_journal(process):
            for name, patch in process.patches.items():
                by_patch.setdefault(name, []).append((process, patch))
    return by_patch


def _has_own_journal(process: ProcessStatus) -> bool:
    return process.is_reached and not process.is_copy


def _patches(picture: Picture) -> RenderableType:
    """Lay out a line for each patch, with its status in each role."""
    roles = _roles_in(picture)
    by_patch = _by_patch(picture)
    copies = {name: _copies(occurrences) for name, occurrences in by_patch.items()}
    with_copies = any(text.plain for text in copies.values())
    heads = [whole("patch"), *map(whole, roles)]
    if with_copies:
        heads.append(folded("copies"))
    heads.append(folded("remarks"))
    table = columns(*heads)
    for name, occurrences in by_patch.items():
        cells = [plain(name, "name")]
        cells += [_status_in_role(occurrences, role) for role in roles]
        if with_copies:
            cells.append(copies[name])
        cells.append(_remarks(occurrences))
        table.add_row(*cells)
    return table


def _roles_in(picture: Picture) -> list[str]:
    """Return the roles that processes have, from the main process to workers."""
    entered: set[str] = set()
    for process in picture.processes:
        if _has_own_journal(process):
            entered.update(process.roles)
    return [role for role in _ROLES if role in entered]


def _copies(occurrences: Occurrences) -> Text:
    """Count the copies of targets that were repointed, and those that could not be."""
    repointed: set[str] = set()
    out_of_reach: set[str] = set()
    for _, patch in occurrences:
        repointed.update(patch.rebound)
        out_of_reach.update(patch.out_of_reach)
    texts = []
    if repointed:
        texts.append(Text(f"{len(repointed)} repointed", style="note"))
    if out_of_reach:
        texts.append(Text(f"{len(out_of_reach)} out of reach", style="warn"))
    return Text(", ").join(texts)


def _status_in_role(occurrences: Occurrences, role: str) -> Text:
    """Name the statuses of a patch in the processes of a role, counted where there are more."""
    statuses = Counter[str]()
    for process, patch in occurrences:
        if role in process.roles and patch.is_for(role):
            status, _ = process.stand(patch)
            statuses[status] += 1
    if statuses.total() == 1:
        return Text(", ").join(map(_status, statuses))
    texts = (_status(status, f" {number}") for status, number in statuses.items())
    return Text(", ").join(texts)


def _status(status: str, suffix: str = "") -> Text:
    return plain(status + suffix, STYLES.get(status, "warn"))


def _remarks(occurrences: Occurrences) -> Text:
    """Say why a patch was skipped, and whether what it changes is not as it was reviewed.

    What is armed waits for its target, and a failure is a finding below.
    """
    due = [(process, patch) for process, patch in occurrences if process.is_due(patch)]
    reasons: dict[str, None] = {}
    for process, patch in due:
        status, reason = process.stand(patch)
        if status == "skipped" and reason:
            reasons[reason] = None
    remarks = [plain(reason, "note") for reason in reasons]
    applied = [patch for _, patch in due if patch.status == "applied"]
    if applied and all(patch.in_effect == "no" for patch in applied):
        remarks.append(Text("never called, see --unused", style="warn"))
    if any(patch.unreviewed for _, patch in due):
        remarks.append(Text("differs from the review, see --patch", style="warn"))
    return Text("; ").join(remarks)


def _findings(findings: Iterable[ProcessFinding]) -> RenderableType:
    """Lay out a line for findings that say the same, with the processes that they are of."""
    table = columns(whole(style="bad"), whole(), folded())
    identical = grouped(
        ((finding.kind, finding.message), finding) for finding in findings
    )
    for (kind, message), alike in identical.items():
        processes = [finding.process for finding in alike if finding.process]
        table.add_row(kind, Text(_locations(processes)), plain(message))
    return table


def _locations(processes: Sequence[ProcessStatus]) -> str:
    """Name the pids on each node, of many the first few."""
    locations = []
    pids_by_host = grouped((process.host, str(process.pid)) for process in processes)
    for host, pids in pids_by_host.items():
        listed = ", ".join(pids[:MANY])
        if len(pids) > MANY:
            listed += f" and {len(pids) - MANY} more"
        locations.append(f"{listed} on {one_line(host)}")
    return "; ".join(locations)


def _status_table(occurrences: Occurrences) -> RenderableType:
    """Lay out a line for processes of one role in which a patch has one status and one cause."""
    table = columns(whole("process"), folded("pid"), whole("status"), folded("cause"))
    pids_by_status: dict[tuple[str, str, str], list[str]] = {}
    for process, patch in occurrences:
        status, reason = process.stand(patch)
        key = (_roles(process), status, reason)
        pids_by_status.setdefault(key, []).append(str(process.pid))
    for (roles, status, reason), pids in pids_by_status.items():
        table.add_row(plain(roles), ", ".join(pids), _status(status), plain(reason))
    return table
