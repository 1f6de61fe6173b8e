"""Prints the result of `patchkit adopt`, or writes it as JSON."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.text import Text

from patchkit.authoring.diffs.differing import AdoptedRows
from patchkit.authoring.diffs.unexpressed import (
    NOT_EXPRESSED,
    TO_LOOK_AT,
    WITHOUT_ROW,
    UnexpressedCode,
)
from patchkit.authoring.piles.observed import PileObservation
from patchkit.authoring.piles.observed_rows import IN_NO_ROW
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.scaffold.plan import PackLocation
from patchkit.authoring.scripts.adopting import ScriptRows
from patchkit.cli.report.as_json import Data, to_json
from patchkit.cli.report.console import console
from patchkit.cli.report.scripts import script_json
from patchkit.cli.report.words import count, printable
from patchkit.core.rows.declaration import Patch
from patchkit.errors import shown

_WIDTH_OF_CODE = 120
"""How much of a statement is printed: a table of upstream's may be thousands of characters long."""


def print_adopted(adopted: AdoptedRows, pack: PackLocation, *, written: bool) -> None:
    """Print the rows, the changes that no row expresses, and what to do next.

    Args:
        adopted: The rows, and what no row expresses.
        pack: The pack of the rows.
        written: Whether its files were written, rather than planned.
    """
    out = console()
    heading = "1 row"
    if len(adopted.patches) != 1:
        heading = f"{len(adopted.patches)} rows"
    origin = f"{shown(pack.folder)}, for {adopted.requires}"
    if not written:
        origin += " (not written)"
    out.print(Text(heading, "name"), Text(origin, "note"))
    _print_rows(adopted.patches, out)
    if isinstance(adopted, PileRows):
        _print_pile(adopted, out)
    _print_unexpressed(adopted.left, out)
    summary = f"\n{adopted.expressed} of {adopted.sites} changes are in rows"
    out.print(Text(summary, style="heading"))
    if written:
        out.print(Text(f"next: patchkit check --patches {pack.module}", style="note"))


def refuse_empty(pile: PileRows, form: str) -> None:
    """Print what was seen of a pile of which there is nothing to adopt, and refuse it.

    Args:
        pile: The rows of the pile: none.
        form: The format of the report.

    Raises:
        ScaffoldError: In any case.
    """
    if form == "json":
        click.echo(adopted_json(pile, written=False))
    else:
        _print_pile(pile, console())
    pile.refuse_empty()


def _print_rows(patches: Iterable[Patch], out: Console) -> None:
    """Print a line for each row, with the number of its changes by kind."""
    width = max((len(patch.name) for patch in patches), default=0)
    for patch in patches:
        kinds = Counter(change.kind for change in patch.changes)
        summary = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        out.print(
            Text(patch.name.ljust(width), "name"), Text(f" {summary}"), soft_wrap=True
        )


def _print_unexpressed(unexpressed: Sequence[UnexpressedCode], out: Console) -> None:
    """Print the code that no row expresses and what else is listed, each kind below its name."""
    for kind in (NOT_EXPRESSED, WITHOUT_ROW, TO_LOOK_AT):
        listed = [code for code in unexpressed if code.kind == kind]
        _print_listed(kind, listed, out)


def _print_listed(
    heading: str, listed: Sequence[UnexpressedCode], out: Console
) -> None:
    """Print what is in a list, why, and the rows that use it nevertheless; nothing for none."""
    if listed:
        out.print(Text(f"\n{heading}", style="heading"))
    for code in listed:
        location = code.place
        if code.file:
            statement = code.code or code.place
            if len(statement) > _WIDTH_OF_CODE:
                statement = f"{statement[:_WIDTH_OF_CODE]}…"
            location = f"{code.file}:{code.line}  {statement}"
        # Both may have names of a stranger's diff; the console escapes them on a terminal alone.
        out.print(Text(printable(location)), soft_wrap=True)
        reason = printable(code.reason)
        out.print(Text(f"    {reason}", "note"), soft_wrap=True)
        if code.used_by:
            out.print(
                Text(f"    used by {', '.join(code.used_by)}", "bad"), soft_wrap=True
            )


def _print_pile(pile: PileRows, out: Console) -> None:
    """Print what is known of a pile's copies: names in other modules that refer to an original.

    Some are set by the pile itself, and others missed; `rebind=True` on the row does both.
    """
    observed = pile.observed
    _print_list(
        "modules that cannot be read",
        [f"{path}: {fault}" for path, fault in _unreadable(pile).items()],
        out,
    )
    if observed:
        out.print()
        if observed.inactive:
            unchanged = count(len(observed.inactive), "target")
            text = f"{unchanged} of rows did not change as the pile ran: --format json has them"
            out.print(Text(text, "note"))
        _print_depths(observed, out)
    _print_list(
        "copies that the pile sets by hand; rebind=True on the original does that",
        [f"{copy}  of {original}" for copy, original in pile.by_hand.items()],
        out,
    )
    if observed:
        lines: list[str] = []
        for target, copies in observed.copies.items():
            lines.append(target)
            lines += [f"    {copy}" for copy in copies]
        _print_list(
            "copies that the pile misses; rebind=True on the original repoints them",
            lines,
            out,
        )
        _print_list(
            "imports and calls that failed",
            [f"{module}: {fault}" for module, fault in observed.faults.items()],
            out,
        )


def _unreadable(pile: PileRows) -> dict[str, str]:
    """Return the paths of modules whose text is no Python, with the reason."""
    modules = [reader.module for reader in pile.readers]
    return {module.path: module.fault for module in modules if module.fault}


def _print_depths(observed: PileObservation, out: Console) -> None:
    """Print how deep the observed changes were understood, and what was not run or not cut off."""
    if observed.depths:
        numbers = Counter(observed.depths.values())
        if IN_NO_ROW in numbers:
            numbers["without a row"] = numbers.pop(IN_NO_ROW)
        depths = ", ".join(f"{number} {depth}" for depth, number in numbers.items())
        total = count(len(observed.depths), "change")
        out.print(Text(f"observed {total}: {depths}", "note"))
    if not observed.is_cut_off:
        out.print(Text("the child could reach the network", "note"))
    _print_list("statements that were never run", observed.not_run, out)


def _print_list(title: str, lines: Sequence[str], out: Console) -> None:
    """Print a title and lines below it; nothing if there are no lines."""
    if not lines:
        return
    out.print(Text(f"\n{title}", style="heading"))
    for line in lines:
        out.print(Text(printable(line)), soft_wrap=True)


def adopted_json(adopted: AdoptedRows, *, written: bool) -> str:
    """Return the rows, and the changes that no row expresses, as JSON.

    Args:
        adopted: The rows, and what no row expresses.
        written: Whether the files of the pack were written, rather than planned.
    """
    data: Data = {
        "sites": adopted.sites,
        "rows": len(adopted.patches),
        "expressed": adopted.expressed,
        "written": written,
        "patches": [_patch(patch) for patch in adopted.patches],
        "left": [code._asdict() for code in adopted.left],
    }
    if isinstance(adopted, PileRows):
        data["by_hand"] = adopted.by_hand
        data["unreadable"] = _unreadable(adopted)
        data["observed"] = None
        if adopted.observed:
            observed = dataclasses.asdict(adopted.observed)
            # For the rows, and `not_run`.
            for internal in ("lines", "users", "earlier"):
                del observed[internal]
            data["observed"] = observed
    if isinstance(adopted, ScriptRows):
        data["script"] = script_json(adopted)
    return to_json(data)


def _patch(patch: Patch) -> Data:
    """Return a row that was made, with its changes."""
    changes = [
        {"kind": change.kind, "target": str(change.place)} for change in patch.changes
    ]
    return {"name": patch.name, "body": patch.body, "changes": changes}
