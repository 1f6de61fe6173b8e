"""`patchkit status` for a person: the tree of processes, who has which patch, what is wrong."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from patchkit.analysis.status.findings import ProcessFinding
from patchkit.analysis.status.picture import Picture
from patchkit.analysis.status.process_status import CALLED, NEVER_CALLED, PatchStatus, ProcessStatus
from patchkit.cli.report.console import columns, console, folded, plain, whole
from patchkit.cli.report.process_tree import MANY, STYLES, process_tree
from patchkit.cli.report.words import age, count, one_line
from patchkit.core.record import grouped

Stands = Sequence[tuple[ProcessStatus, PatchStatus]]
Fact = tuple[int, str, str, str]
_ROLES = ("main", "engine-core", "worker")


def print_status(picture: Picture, patch: str | None = None) -> None:
    """Print the whole picture, or what is known of one patch."""
    if patch is None:
        console().print(_page(picture))
    else:
        stands = _by_patch(picture).get(patch, [])
        console().print(Group(plain(patch, "name"), "", _stands(stands), *_known(stands)))


def print_unused(picture: Picture) -> None:
    """Print the targets that were never called in a process, with where they were."""
    heads = folded("target"), folded("never called in"), folded("called in")
    table = columns(whole("patch"), *heads)
    for name, stands in _by_patch(picture).items():
        for target in dict.fromkeys(target for _, patch in stands for target in patch.targets):
            told = [(process, patch.calls.get(target)) for process, patch in stands]
            never = [process for process, word in told if word == NEVER_CALLED]
            if never:
                called = [process for process, word in told if word == CALLED]
                cells = (_seen_in(never, picture.now), _seen_in(called))
                table.add_row(plain(name, "name"), plain(target), *cells)
    console().print(table if table.row_count else "each target that can be observed was called")


def print_verified(picture: Picture) -> None:
    """Print what the patches' own `verify` answered, process by process."""
    table = columns(whole("patch"), whole("process"), whole("asked"), folded("verify"))
    for name, stands in _by_patch(picture).items():
        for process, patch in stands:
            if patch.answered is not None:
                asked = age(picture.now - patch.answered)
                answer = plain(patch.answer or "ok", "bad" if patch.answer else "ok")
                table.add_row(plain(name, "name"), _seen_in([process]), asked, answer)
    console().print(table if table.row_count else "no process has asked a patch's verify")


def _seen_in(processes: Sequence[ProcessStatus], now: float | None = None) -> str:
    texts = []
    for process in processes:
        seen = "" if now is None else f", seen {age(now - (process.observed or now))}"
        texts.append(f"{_roles(process)} {process.pid}{seen}")
    return "\n".join(texts)


def _roles(process: ProcessStatus) -> str:
    return ", ".join(process.roles) or "no role yet"


@contextmanager
def live() -> Iterator[Callable[[Picture], None]]:
    """Give what shows a picture in place of the one before."""
    with Live(console=console(), auto_refresh=False) as screen:  # no terminal gets the last alone
        yield lambda picture: screen.update(_page(picture), refresh=screen.console.is_terminal)


def heading(picture: Picture) -> str:
    """Count the processes and their nodes."""
    hosts = len({process.host for process in picture.processes})
    running = sum(bool(process.alive) for process in picture.processes)
    processes = count(len(picture.processes), "process")
    return f"{processes} on {count(hosts, 'node')}, {running} running"


def sections(picture: Picture) -> Iterator[tuple[str, RenderableType]]:
    """Lay out what there is to say, each with its title."""
    if picture.processes:
        yield "processes", process_tree(picture)
    if any(process.patches for process in picture.processes):
        yield "patches", _patches(picture)
    if picture.agreement:
        words = (
            plain(f"{role} {'yes' if agree else 'no'}", "ok" if agree else "bad")
            for role, agree in picture.agreement.items()
        )
        yield "agreement", Text(", ").join(words)
    if picture.findings:
        yield "findings", _findings(picture.findings)


def _page(picture: Picture) -> RenderableType:
    journals = (one_line(", ".join(picture.journals)), "note")
    parts: list[RenderableType] = [Text.assemble((heading(picture), "heading"), "  ", journals)]
    for title, found in sections(picture):
        head = (f"{title}  ", "heading")
        parts += ["", Text.assemble(head, found) if isinstance(found, Text) else found]
    return Group(*parts, *(plain(note, "note") for note in picture.notes))


def _by_patch(picture: Picture) -> dict[str, list[tuple[ProcessStatus, PatchStatus]]]:
    telling = [process for process in picture.processes if _tells(process)]
    return grouped((name, (one, patch)) for one in telling for name, patch in one.patches.items())


def _tells(process: ProcessStatus) -> bool:
    return process.is_reached and not process.is_copy


def _patches(picture: Picture) -> RenderableType:
    has = {role for process in filter(_tells, picture.processes) for role in process.roles}
    roles = [role for role in _ROLES if role in has]
    by_patch = _by_patch(picture)
    counts = {name: _copies(stands) for name, stands in by_patch.items()}
    with_copies = any(text.plain for text in counts.values())
    more = map(folded, ("copies", "remarks") if with_copies else ("remarks",))
    table = columns(*map(whole, ("patch", *roles)), *more)
    for name, stands in by_patch.items():
        cells = [_stand(stands, role) for role in roles]
        cells += [counts[name]] if with_copies else []
        table.add_row(plain(name, "name"), *cells, _remarks(stands))
    return table


def _copies(stands: Stands) -> Text:
    rebound = {words for _, patch in stands for words in patch.rebound}
    left = {words for _, patch in stands for words in patch.out_of_reach}
    parts = [Text(f"{len(rebound)} repointed", style="note")] if rebound else []
    parts += [Text(f"{len(left)} out of reach", style="warn")] if left else []
    return Text(", ").join(parts)


def _stand(stands: Stands, role: str) -> Text:
    counted = Counter(
        process.stand(patch)[0]
        for process, patch in stands
        if role in process.roles and patch.is_for(role)
    )
    several = sum(counted.values()) > 1
    words = (_status(name, f" {number}" if several else "") for name, number in counted.items())
    return Text(", ").join(words)


def _status(status: str, more: str = "") -> Text:
    return plain(status + more, STYLES.get(status, "warn"))


def _remarks(stands: Stands) -> Text:
    """Say why it was skipped, and whether what it changes is not as it was reviewed.

    What is armed waits for its target, and a failure is a finding below.
    """
    due = [(process, patch) for process, patch in stands if process.is_due(patch)]
    told = [process.stand(patch) for process, patch in due]
    reasons = dict.fromkeys(reason for status, reason in told if status == "skipped" and reason)
    parts = [plain(reason, "note") for reason in reasons]
    applied = [patch for _, patch in due if patch.status == "applied"]
    if applied and all(patch.in_effect == "no" for patch in applied):
        parts.append(Text("never called, see --unused", style="warn"))
    if any(patch.unreviewed for _, patch in due):
        parts.append(Text("differs from the review, see --patch", style="warn"))
    return Text("; ").join(parts)


def _findings(findings: Iterable[ProcessFinding]) -> RenderableType:
    table = columns(whole(style="bad"), whole(), folded())
    for (kind, message), processes in grouped((one[:2], one.process) for one in findings).items():
        table.add_row(kind, Text(_where([*filter(None, processes)])), plain(message))
    return table


def _where(processes: Sequence[ProcessStatus]) -> str:
    texts = []
    for host in dict.fromkeys(process.host for process in processes):
        pids = [str(process.pid) for process in processes if process.host == host]
        more = f" and {len(pids) - MANY} more" if len(pids) > MANY else ""
        texts.append(f"{', '.join(pids[:MANY])}{more} on {one_line(host)}")
    return "; ".join(texts)


def _stands(stands: Stands) -> RenderableType:
    table = columns(whole("process"), folded("pid"), whole("status"), folded("cause"))
    alike = grouped(((_roles(one), *one.stand(patch)), str(one.pid)) for one, patch in stands)
    for (roles, status, reason), pids in alike.items():
        table.add_row(plain(roles), ", ".join(pids), _status(status), plain(reason))
    return table


def _known(stands: Stands) -> Sequence[RenderableType]:
    table = columns(whole(style="heading"), folded(), folded(style="note"))
    applied = [(process, patch) for process, patch in stands if patch.status == "applied"]
    where = grouped((fact, str(one[0].pid)) for one in applied for fact in _facts(*one))
    above = ""
    for fact in sorted(where, key=lambda fact: fact[:2]):
        _, topic, words, style = fact
        pids = "" if len(where[fact]) == len(applied) else f"in {', '.join(where[fact])}"
        table.add_row("" if topic == above else topic, plain(words, style), pids)
        above = topic
    return ["", table] if table.row_count else []


def _facts(process: ProcessStatus, patch: PatchStatus) -> Iterator[Fact]:
    """Give the place of each topic on the page, the topic, what is said, and its style."""
    for target in patch.targets:
        order = process.layers.get(target, [])
        layers = f"  {' < '.join(order)}" if len(order) > 1 else ""
        yield 1, "target", f"{target}{layers}  {patch.calls[target]}", ""
    for target, reason in patch.left_out.items():
        yield 1, "target left out", f"{target}: {reason}", "note"
    for words in patch.rebound:
        yield 2, "repointed", words, "ok"
    for words in patch.out_of_reach:
        yield 3, "out of reach", words, "warn"
    for target, reason in patch.untraced.items():
        yield 4, "not looked for", f"{target}: {reason}", "note"
    for stranger in patch.strangers:
        topic = (5, "wrapped by") if stranger.wraps else (6, "overwritten by")
        yield *topic, f"{stranger.target}: {stranger.by}", "" if stranger.wraps else "bad"
    if patch.unreviewed:
        yield 7, "not reviewed", patch.unreviewed, "warn"
