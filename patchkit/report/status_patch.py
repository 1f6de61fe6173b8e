"""`patchkit status`: one patch in every process, its targets and the copies of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from patchkit.report.console import columns
from patchkit.report.process_tree import STYLES
from patchkit.report.words import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from patchkit.status.process_status import PatchStatus, ProcessStatus

    Stands = Sequence[tuple[ProcessStatus, PatchStatus]]
    Fact = tuple[int, str, str, str]


def copies(patches: Iterable[PatchStatus]) -> Text:
    """Count the copies of one patch's targets; the same one in several processes counts once."""
    several = list(patches)
    rebound = {words for patch in several for words in patch.rebound}
    left = {words for patch in several for words in patch.out_of_reach}
    parts = [Text(f"{len(rebound)} repointed", style="note")] if rebound else []
    parts += [Text(f"{len(left)} out of reach", style="warn")] if left else []
    return Text(", ").join(parts)


def patch_page(name: str, stands: Stands) -> RenderableType:
    """Tell all that is known of one patch: how it stands in each process, and its targets."""
    parts: list[RenderableType] = [Text(one_line(name), style="name"), "", _stands(stands)]
    facts = _known(stands)
    return Group(*parts, "", facts) if facts.row_count else Group(*parts)


def _stands(stands: Stands) -> Table:
    """Make a row of each status with its cause, and the processes that have it so."""
    table = columns(header=True)
    table.add_column("process", no_wrap=True)
    table.add_column("pid", overflow="fold")
    table.add_column("status", no_wrap=True)
    table.add_column("cause", overflow="fold")
    alike: dict[tuple[str, str, str], list[str]] = {}
    for process, patch in stands:
        roles = ", ".join(process.roles) or "no role yet"
        alike.setdefault((roles, *process.stand(patch)), []).append(str(process.pid))
    for (roles, status, reason), pids in alike.items():
        shown = Text(one_line(status), style=STYLES.get(status, "warn"))
        table.add_row(Text(one_line(roles)), ", ".join(pids), shown, Text(one_line(reason)))
    return table


def _known(stands: Stands) -> Table:
    """Make a row of each fact; the same in several processes is one."""
    table = columns()
    table.add_column(no_wrap=True, style="heading")
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", style="note")
    where: dict[Fact, list[str]] = {}
    applied = [(process, patch) for process, patch in stands if patch.status == "applied"]
    for process, patch in applied:
        for fact in _facts(process, patch):
            where.setdefault(fact, []).append(str(process.pid))
    above = ""
    for fact in sorted(where, key=lambda fact: fact[:2]):
        _, topic, words, style = fact
        pids = "" if len(where[fact]) == len(applied) else f"in {', '.join(where[fact])}"
        heading = "" if topic == above else topic
        table.add_row(heading, Text(one_line(words), style=style), pids)
        above = topic
    return table


def _facts(process: ProcessStatus, patch: PatchStatus) -> Iterator[Fact]:
    """Give the place of each topic on the page, the topic, what is said, and its style."""
    for target in patch.targets:
        order = process.layers.get(target, [])
        layers = f"  {' < '.join(order)}" if len(order) > 1 else ""
        yield 1, "target", f"{target}{layers}", ""
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
