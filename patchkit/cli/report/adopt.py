"""What `adopt` has to say: the rows, what is left, and what a pile does by hand."""

import dataclasses

from rich.console import Console
from rich.text import Text

from patchkit.authoring.adopt.differing import AdoptedRows
from patchkit.authoring.adopt.piles import PileRows
from patchkit.authoring.scaffold.plan import Place
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.console import console
from patchkit.errors import shown


def print_adopted(done: AdoptedRows, place: Place, *, written: bool) -> None:
    """Print the rows, what is left, and what to do next."""
    out, count = console(), len(done.patches)
    where = f"{shown(place.folder)}, for {done.requires}{'' if written else ' (not written)'}"
    out.print(Text(f"{count} row{'s' * (count != 1)}", "name"), Text(where, "note"))
    width = max((len(patch.name) for patch in done.patches), default=0)
    for patch in done.patches:
        kinds = [change.kind for change in patch.changes]
        counted = ", ".join(f"{kinds.count(one)} {one}" for one in dict.fromkeys(kinds))
        out.print(Text(patch.name.ljust(width), "name"), Text(f" {counted}"), soft_wrap=True)
    if isinstance(done, PileRows):
        _print_pile(done, out)
    if done.left:
        out.print(Text("\nin no row", style="heading"))
    for one in done.left:
        at = f"{one.file}:{one.line}  {one.code or one.place}" if one.file else one.place
        out.print(Text(at), soft_wrap=True)
        out.print(Text(f"    {one.reason}", "note"), soft_wrap=True)
        if one.used_by:
            out.print(Text(f"    used by {', '.join(one.used_by)}", "bad"), soft_wrap=True)
    out.print(Text(f"\n{done.expressed} of {done.sites} changes are in rows", style="heading"))
    if written:
        out.print(Text(f"next: patchkit check --patches {place.module}", style="note"))


def _print_pile(done: PileRows, out: Console) -> None:
    by_hand = ["  of ".join(one) for one in done.by_hand.items()]
    lists = {"copies that the pile sets by hand; rebind=True on the original does that": by_hand}
    if seen := done.observed:
        lists["copies that the pile misses; rebind=True on the original repoints them"] = [
            f"{target}  {', '.join(copies)}" for target, copies in seen.copies.items()
        ]
        lists["modules that failed to import"] = [": ".join(one) for one in seen.faults.items()]
        out.print(Text(f"\n{len(seen.inactive)} targets did not change: see --format json", "note"))
    for title, lines in lists.items():
        if lines:
            out.print(Text(f"\n{title}", style="heading"))
        for line in lines:
            out.print(Text(line), soft_wrap=True)


def adopted_json(done: AdoptedRows, *, written: bool) -> str:
    """Write it for programs."""
    rows = [
        {
            "name": patch.name,
            "body": patch.body,
            "changes": [{"kind": one.kind, "target": str(one.place)} for one in patch.changes],
        }
        for patch in done.patches
    ]
    told = {"sites": done.sites, "rows": len(rows), "expressed": done.expressed}
    more = {}
    if isinstance(done, PileRows):
        seen = done.observed and dataclasses.asdict(done.observed)
        more = {"by_hand": done.by_hand, "observed": seen}
    left = [one._asdict() for one in done.left]
    return to_json({**told, "written": written, "patches": rows, "left": left, **more})
