"""`patchkit lock`: record the sources of targets as reviewed."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

from patchkit.cli.app import say
from patchkit.cli.options import (
    complete_names,
    format_option,
    offline_option,
    patches_option,
    wanted_option,
)
from patchkit.cli.progress import progress
from patchkit.errors import shown
from patchkit.report.as_json import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from patchkit.cli.options import Wanted
    from patchkit.errors import UpstreamError
    from patchkit.review.lock_format import Lock
    from patchkit.rows.declaration import Row

    Locks = dict[Path, tuple[Lock, Lock]]

_FINDINGS = 1


@click.command("lock")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@wanted_option
@click.option("--lock", metavar="FILE", help="Default: the project's, else each pack's own.")
@click.option("--check", "dry", is_flag=True, help="Write nothing; exit 1 if there is a change.")
@offline_option
@patches_option
@format_option
def command(
    names: tuple[str, ...],
    wanted: Wanted,
    lock: str | None,
    dry: bool,
    offline: bool,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """
    Record the targets' sources as reviewed, and show what is new of that.

    \b
    Examples:
      patchkit lock                                  as they are installed here
      patchkit lock --releases 'vllm>=0.20,<0.34'    in each of these releases
      patchkit lock my-patch --releases 'vllm==0.33.0'
      patchkit lock --releases 'vllm>=0.20' --check  say what is not reviewed yet
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    from patchkit.check.findings import told_causes  # noqa: PLC0415 - late: the help needs none
    from patchkit.cli import look  # noqa: PLC0415
    from patchkit.review.lock_format import write_lock  # noqa: PLC0415

    rows = look.ours(look.rows_of(packs, names)[0], names, packs)
    files = look.locks_to_write(lock, rows)
    found, faults = _accepted(files, rows, wanted, offline=offline)
    for text in told_causes(faults):
        say(f"not looked at: {text}")
    changed = [file for file, (old, new) in found.items() if old != new]
    for file in () if dry else changed:
        write_lock(file, found[file][1])
    _print(found, form, written=bool(changed) and not dry)
    for file, some in files.items():
        hint = "" if dry else look.unread(file, some)
        say(f"{shown(file)}: {_said(file in changed, dry=dry)}{hint}")
    return _FINDINGS if faults or (dry and changed) else 0


def _accepted(
    files: Mapping[Path, Sequence[Row]], rows: Sequence[Row], wanted: Wanted, *, offline: bool
) -> tuple[Locks, dict[str, UpstreamError]]:
    """Return each lock as it is and as it is to be, and the releases that cannot be read."""
    from patchkit.check.coverage import packages_of  # noqa: PLC0415 - late, as above
    from patchkit.check.review import accept  # noqa: PLC0415
    from patchkit.cli.look import open_packages  # noqa: PLC0415
    from patchkit.review.lock_format import read_lock  # noqa: PLC0415
    from patchkit.upstream.reading.releases import Library  # noqa: PLC0415

    found: Locks = {}
    faults: dict[str, UpstreamError] = {}
    with Library(offline=offline, notice=say) as library, progress("reading releases") as told:
        subjects = open_packages(wanted, packages_of(rows), library)
        for file, some in files.items():
            old = read_lock(file)
            new, unread = accept(old, some, subjects, told)
            found[file] = (old, new)
            faults.update(unread)
    return found, faults


def _print(locks: Locks, form: str, *, written: bool) -> None:
    diff = [line for file, pair in locks.items() for line in _diff(file, *pair)]
    if form == "json":
        click.echo(to_json(_data(locks, diff, written=written)))
        return
    from patchkit.report.console import console, print_diff_lines  # noqa: PLC0415 - JSON needs no rich

    print_diff_lines(diff, console())


def _diff(file: Path, old: Lock, new: Lock) -> Iterator[str]:
    before, after = (lock.text().splitlines() if lock else [] for lock in (old, new))
    name = shown(file).lstrip("/")
    return difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")


def _data(locks: Locks, diff: Sequence[str], *, written: bool) -> dict[str, object]:
    files = list(map(shown, locks))
    return {
        "file": files[0] if files else "",
        "files": files,
        "changed": any(old != new for old, new in locks.values()),
        "written": written,
        "spans": [span for _, new in locks.values() for span in _spans(new)],
        "diff": diff,
    }


def _spans(lock: Lock) -> Iterator[dict[str, str]]:
    for patch, targets in sorted(lock.entries.items()):
        for target, spans in sorted(targets.items()):
            for span in spans:
                releases = {"project": span.project, "first": span.first, "last": span.last}
                about = {"patch": patch, "target": target}
                yield {**about, **releases, "fingerprint": span.fingerprint}


def _said(is_changed: bool, *, dry: bool) -> str:
    if not is_changed:
        return "nothing new"
    return "would change" if dry else "written; review its diff before you commit it"
