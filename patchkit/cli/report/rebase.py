"""`patchkit rebase`: for a person, and for a program."""

from collections.abc import Sequence

from rich.text import Text

from patchkit.authoring.adopt.rebasing import Rebase
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.console import console, print_diff_lines
from patchkit.errors import shown

_STYLES = {"unchanged": "note", "merged": "ok", "retired": "warn", "conflict": "bad"}
_NEXT = "next: read the diffs, run your tests, then patchkit lock"


def print_rebase(several: Sequence[Rebase], *, written: bool) -> None:
    """Print what became of each row; what is written as diffs, conflicts with both sides."""
    out = console()
    for done in several:
        span = f"{done.old.name} to {done.new.version}"
        out.print(Text(done.row.name, "name"), Text(done.result, _STYLES[done.result]), Text(span))
        for file in done.files:
            action = file.action if written else "would be edited"
            out.print(Text(f"  {shown(file.path)}: {action}", style="note"), soft_wrap=True)
            print_diff_lines(file.diff, out)
        for one in done.conflicts:
            out.print(Text(f"  {one.target}: {one.reason}", style="bad"), soft_wrap=True)
            print_diff_lines(one.upstream.splitlines(), out)
            out.print(Text(one.text), soft_wrap=True)
    if written and any(done.files for done in several):
        out.print(Text(f"\n{_NEXT}", style="note"))


def rebase_json(several: Sequence[Rebase]) -> str:
    """Write what `rebase` tells."""
    patches = []
    for done in several:
        conflicts = [
            {"file": done.file, "target": at, "reason": reason, "lines": text.splitlines()}
            for at, reason, text, _ in done.conflicts
        ]
        versions = {"from": done.old.version, "to": done.new.version}
        told = {"result": done.result, "files": [shown(one.path) for one in done.files]}
        patches.append({"name": done.row.name, **versions, **told, "conflicts": conflicts})
    return to_json({"patches": patches})
