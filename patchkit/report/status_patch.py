"""`patchkit status`: one patch in every process, its targets and the copies of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from patchkit.report.shapes import PatchStatusShape, ProcessShape

    Found = Sequence[tuple[ProcessShape, PatchStatusShape]]
    Fact = tuple[str, str, str]

STYLES = {"applied": "ok", "failed": "bad", "skipped": "warn", "armed": "note"}


def copies(patches: Iterable[PatchStatusShape]) -> Text:
    """Count the copies of one patch's targets; the same one in several processes counts once."""
    patches = list(patches)
    rebound = {words for patch in patches for words in patch["rebound"]}
    left = {words for patch in patches for words in patch["out_of_reach"]}
    parts = [Text(f"{len(rebound)} repointed", style="note")] if rebound else []
    parts += [Text(f"{len(left)} out of reach", style="warn")] if left else []
    return Text(", ").join(parts)


def details(name: str, found: Found) -> RenderableType:
    """Tell all that is known of one patch: how it stands in each process, and its targets."""
    heading = Text(name, style="name")
    parts: list[RenderableType] = [heading, "", _stands(found)]
    known = _known(found)
    if known.row_count:
        parts += ["", known]
    return Group(*parts)


def _stands(found: Found) -> Table:
    """Make a row of each status with its cause, and the processes that have it so."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("process", no_wrap=True)
    table.add_column("pid", overflow="fold")
    table.add_column("status", no_wrap=True)
    table.add_column("cause", overflow="fold")
    alike: dict[tuple[str, str, str], list[str]] = {}
    for process, patch in found:
        roles = ", ".join(process["roles"]) or "no role yet"
        alike.setdefault((roles, patch["status"], patch["reason"] or ""), []).append(
            str(process["pid"])
        )
    for (roles, status, reason), pids in alike.items():
        shown = Text(status, style=STYLES.get(status, "warn"))
        table.add_row(Text(roles), ", ".join(pids), shown, Text(reason))
    return table


def _known(found: Found) -> Table:
    """Make a row of each fact; the same in several processes is one."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="heading")
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", style="note")
    where: dict[Fact, list[str]] = {}
    applied = [(process, patch) for process, patch in found if patch["status"] == "applied"]
    for process, patch in applied:
        for fact in _facts(patch):
            where.setdefault(fact, []).append(str(process["pid"]))
    topic = ""
    for fact in sorted(where, key=lambda fact: fact[0]):
        number, words, style = fact
        heading = number[1:] if number != topic else ""
        topic = number
        pids = "" if len(where[fact]) == len(applied) else f"in {', '.join(where[fact])}"
        table.add_row(heading, Text(words, style=style), pids)
    return table


def _facts(patch: PatchStatusShape) -> Iterator[Fact]:
    """Topics with a number in front, which puts them in order."""
    for target, order in patch["layers"].items():
        yield "1target", target + (f"  {' < '.join(order)}" if len(order) > 1 else ""), ""
    for target, reason in patch["left_out"].items():
        yield "1target left out", f"{target}: {reason}", "note"
    for words in patch["rebound"]:
        yield "2repointed", words, "ok"
    for words in patch["out_of_reach"]:
        yield "3out of reach", words, "warn"
    for target, reason in patch["untraced"].items():
        yield "4not looked for", f"{target}: {reason}", "note"
    for other in patch["strangers"]:
        topic = "5wrapped by" if other["wraps"] else "6overwritten by"
        yield topic, f"{other['target']}: {other['by']}", "" if other["wraps"] else "bad"
    if patch["unreviewed"]:
        yield "7not as reviewed", patch["unreviewed"], "warn"
