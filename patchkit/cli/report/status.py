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
from patchkit.cli.report.status_facts import (
    Occurrences,
    facts_table,
    hidden_words,
    hiders,
)
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
    """Print the targets that a process has not called, and where they were called.

    Args:
        picture: The processes.
    """
    table = columns(
        whole("patch"),
        folded("target"),
        folded("not called in"),
        folded("called in"),
    )
    is_observed = False
    for name, occurrences in _by_patch(picture).items():
        for target in _targets(occurrences):
            called = _processes_where(CALLED, target, occurrences)
            not_called = _processes_where(NEVER_CALLED, target, occurrences)
            is_observed = is_observed or bool(called or not_called)
            if not not_called:
                continue
            callers = plain("never called", "warn")
            upper = hiders(target, occurrences)
            if upper:
                callers = plain(f"hidden under patch {upper}", "note")
            if called:
                callers = plain(_process_lines(called))
            table.add_row(
                plain(name, "name"),
                plain(target),
                _process_lines(not_called, picture.now),
                callers,
            )
    substitute = "no target that can be observed is applied"
    if is_observed:
        substitute = "each target that can be observed was called"
    _print_table(table, substitute)


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
            seconds = picture.now - patch.answered
            table.add_row(
                plain(name, "name"),
                _process_lines([process]),
                age(seconds),
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
        roles = _roles(process)
        line = f"{roles} {process.pid}"
        if now is not None:
            observed = process.observed or now
            observed_age = age(now - observed)
            line += f", seen {observed_age}"
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

        def show(picture: Picture) -> None:
            page = _page(picture)
            screen.update(page, refresh=is_terminal)

        yield show


def heading(picture: Picture) -> str:
    """Return how many processes there are, on how many nodes, and how many are running.

    Args:
        picture: The processes.
    """
    hosts = {process.host for process in picture.processes}
    nodes = count(len(hosts), "node")
    running = [process for process in picture.processes if process.alive]
    running_count = len(running)
    processes = count(len(picture.processes), "process")
    return f"{processes} on {nodes}, {running_count} running"


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
        text = plain(f"{role} no", "bad")
        if agree:
            text = plain(f"{role} yes", "ok")
        texts.append(text)
    return Text(", ").join(texts)


def _page(picture: Picture) -> RenderableType:
    title = (heading(picture), "heading")
    journals = one_line(", ".join(picture.journals))
    head = Text.assemble(title, "  ", (journals, "note"))
    parts: list[RenderableType] = [head]
    for section_title, content in sections(picture):
        parts.append("")
        if isinstance(content, Text):
            title = (f"{section_title}  ", "heading")
            line = Text.assemble(title, content)
            parts.append(line)
        else:
            parts.append(content)
    for note in picture.notes:
        text = plain(note, "note")
        parts.append(text)
    return Group(*parts)


def _by_patch(picture: Picture) -> dict[str, list[tuple[ProcessStatus, PatchStatus]]]:
    by_patch: dict[str, list[tuple[ProcessStatus, PatchStatus]]] = {}
    for process in picture.processes:
        if not _has_own_journal(process):
            continue
        for name, patch in process.patches.items():
            occurrences = by_patch.setdefault(name, [])
            occurrences.append((process, patch))
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
        for role in roles:
            cell = _status_in_role(occurrences, role)
            cells.append(cell)
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
    repointed_count = len(repointed)
    if repointed_count:
        text = Text(f"{repointed_count} repointed", style="note")
        texts.append(text)
    unreached_count = len(out_of_reach)
    if unreached_count:
        text = Text(f"{unreached_count} out of reach", style="warn")
        texts.append(text)
    return Text(", ").join(texts)


def _status_in_role(occurrences: Occurrences, role: str) -> Text:
    """Name the statuses of a patch in the processes of a role, counted where there are more."""
    statuses = Counter[str]()
    for process, patch in occurrences:
        has_role = role in process.roles
        if has_role and patch.is_for(role):
            status, _ = process.stand(patch)
            statuses[status] += 1
    is_single = statuses.total() == 1
    texts = []
    for status, number in statuses.items():
        suffix = f" {number}"
        if is_single:
            suffix = ""
        text = _status(status, suffix)
        texts.append(text)
    return Text(", ").join(texts)


def _status(status: str, suffix: str = "") -> Text:
    style = STYLES.get(status, "warn")
    return plain(status + suffix, style)


def _remarks(occurrences: Occurrences) -> Text:
    """Say why a patch was skipped, whether it acts, and whether what it changes was reviewed.

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
    # A process that the patch is not due in may have called it, too.
    effects = {patch.in_effect for _, patch in occurrences}
    hidden = dict.fromkeys(hidden_words(patch) for patch in applied if patch.hidden)
    remarks += [plain(words, "warn") for words in hidden]
    is_without_effect = all(patch.is_unused for patch in applied)
    if applied and is_without_effect and "yes" not in effects:
        remark = Text("never called, see --unused", style="warn")
        remarks.append(remark)
    differs = any(patch.unreviewed for _, patch in due)
    if differs:
        remark = Text("differs from the review, see --patch", style="warn")
        remarks.append(remark)
    return Text("; ").join(remarks)


def _findings(findings: Iterable[ProcessFinding]) -> RenderableType:
    """Lay out a line for findings that say the same, with the processes that they are of."""
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
    """Name the pids on each node, of many the first few."""
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
    """Lay out a line for processes of one role in which a patch has one status and one cause."""
    table = columns(whole("process"), folded("pid"), whole("status"), folded("cause"))
    pids_by_status: dict[tuple[str, str, str], list[str]] = {}
    for process, patch in occurrences:
        status, reason = process.stand(patch)
        roles = _roles(process)
        key = (roles, status, reason)
        pids = pids_by_status.setdefault(key, [])
        pids.append(str(process.pid))
    for (roles, status, reason), pids in pids_by_status.items():
        table.add_row(
            plain(roles),
            ", ".join(pids),
            _status(status),
            plain(reason),
        )
    return table
