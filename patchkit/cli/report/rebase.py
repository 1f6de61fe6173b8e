"""Prints the results of `patchkit rebase`, or writes them as JSON."""

from collections.abc import Sequence

from rich.text import Text

from patchkit.authoring.rebase.rebasing import Rebase
from patchkit.cli.report.as_json import Data, named, to_json
from patchkit.cli.report.console import console, print_diff_lines
from patchkit.errors import shown

_STYLES = {"unchanged": "note", "merged": "ok", "retired": "warn", "conflict": "bad"}
_NEXT = "next: read the diffs, run your tests, then patchkit lock"
_RESOLVE = (
    "next: write the code for {release} by hand, and rebase again; if it is right as it is, let "
    "requires allow {version} and record that: "
    "patchkit lock {name} --releases '{project}=={version}'"
)


def print_rebase(rebases: Sequence[Rebase], *, written: bool) -> None:
    """Print the result for each row: the diffs of its files, and its conflicts.

    Args:
        rebases: The rebased rows.
        written: Whether files were written, rather than planned.
    """
    out = console()
    for rebase in rebases:
        span = f"{rebase.old.name} to {rebase.new.version}"
        result = Text(rebase.result, _STYLES[rebase.result])
        out.print(Text(rebase.row.name, "name"), result, Text(span))
        for file in rebase.files:
            action = "would be edited"
            if written:
                action = file.action
            out.print(
                Text(f"  {shown(file.path)}: {action}", style="note"), soft_wrap=True
            )
            print_diff_lines(file.diff, out)
        for release in rebase.left_out:
            line = f"  {release.release} stays out of its range: {release.reason}"
            out.print(Text(line, style="warn"), soft_wrap=True)
        if rebase.to_review:
            out.print(Text(_review(rebase), style="warn"), soft_wrap=True)
        for conflict in rebase.conflicts:
            reason = Text(f"  {conflict.target}: {conflict.reason}", style="bad")
            out.print(reason, soft_wrap=True)
            print_diff_lines(conflict.upstream.splitlines(), out)
            out.print(Text(conflict.text), soft_wrap=True)
        if any(conflict.upstream for conflict in rebase.conflicts):
            out.print(Text(_resolution(rebase), style="note"), soft_wrap=True)
    if written and any(rebase.files for rebase in rebases):
        out.print(Text(f"\n{_NEXT}", style="note"))


def _review(rebase: Rebase) -> str:
    """Say which targets a person has to look at, and how."""
    targets = ", ".join(map(str, dict.fromkeys(rebase.to_review)))
    command = (
        f"patchkit diff {rebase.row.name} --from {rebase.old.version} "
        f"--to {rebase.new.version}"
    )
    return f"  upstream changed {targets}; read: {command}"


def _resolution(rebase: Rebase) -> str:
    """Say how a conflict is resolved, so that the next rebase knows it."""
    new = rebase.new
    return _RESOLVE.format(
        name=rebase.row.name,
        release=new.name,
        project=new.project,
        version=new.version,
    )


def rebase_json(rebases: Sequence[Rebase]) -> str:
    """Return the result for each row, as JSON.

    Args:
        rebases: The rebased rows.
    """
    return to_json({"patches": [_rebase(rebase) for rebase in rebases]})


def _rebase(rebase: Rebase) -> Data:
    """Return the result for one row."""
    conflicts = [
        {
            "file": rebase.file,
            "target": conflict.target,
            "reason": conflict.reason,
            "lines": conflict.text.splitlines(),
        }
        for conflict in rebase.conflicts
    ]
    return {
        "name": rebase.row.name,
        "from": rebase.old.version,
        "to": rebase.new.version,
        "result": rebase.result,
        "files": [shown(file.path) for file in rebase.files],
        "conflicts": conflicts,
        "left_out": [
            named(release, "release", "reason") for release in rebase.left_out
        ],
        "review": list(dict.fromkeys(rebase.to_review)),
    }
