"""`patchkit rebase`: patches carried from the release that they were written for to a later one."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from patchkit.adopt.rebasing import Rebase
from patchkit.check.comparison import base_of
from patchkit.check.coverage import packages_of
from patchkit.check.opening import on_index
from patchkit.check.packs import PackSource
from patchkit.check.subjects import Subject
from patchkit.cli import look, options
from patchkit.cli.output import progress, say
from patchkit.errors import ScaffoldError
from patchkit.rows.declaration import Row
from patchkit.scaffold.plan import write as write_files
from patchkit.upstream.reading.releases import Library
from patchkit.versions.requirements import canonical


@click.command("rebase")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names)
@click.option("--all", "every", is_flag=True, help="Every patch of this project.")
@click.option("--to", "new", metavar="V", required=True, help="The release to carry them to.")
@click.option(
    "--from", "old", metavar="V", help="Default: the last reviewed, or the newest in range."
)
@click.option("--keep", is_flag=True, help="Keep the changes as they are for releases before.")
@click.option("--dry-run", is_flag=True, help="Report, write nothing.")
@click.option("--lock", metavar="FILE", help="The lock; default: the project's or the packs'.")
@options.offline_option
@options.patches_option
@options.format_option
def command(
    names: tuple[str, ...],
    every: bool,
    new: str,
    old: str | None,
    keep: bool,
    dry_run: bool,
    lock: str | None,
    offline: bool,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Carry patches to a later release by a three-way merge.

    Edits, and functions of bodies that copy upstream's, are merged by git with what upstream
    changed; targets and imports that moved are followed. A row is written if `check` holds for that
    release. Exit code 1: a conflict is left, which is shown.

    \b
    Examples:
      patchkit rebase my-patch --to 0.33.0 --dry-run
      patchkit rebase --all --to 0.33.0 --keep   for the releases before, too
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    from patchkit.report.rebase import print_rebase, rebase_json  # noqa: PLC0415

    if bool(names) == every:
        raise click.UsageError("expected names of patches, or --all")
    rows, done = look.own_rows_of(packs, names), []
    locks, more = options.locks_of(lock), ["--offline"] * offline
    with Library(offline=offline, notice=say) as library, progress():
        subjects = on_index(canonical(packages_of(rows)[0]), library)
        for row in rows:
            sides = base_of(row, subjects, locks.of_all([row]), old, new)
            done.append(_rebased(row, *sides, more, keep=keep, write=not dry_run))
    if form == "json":
        click.echo(rebase_json(done))
    else:
        print_rebase(done, written=not dry_run)
    return int(any(one.conflicts for one in done))


def _rebased(
    row: Row, old: Subject, new: Subject, more: Sequence[str], *, keep: bool, write: bool
) -> Rebase:
    done = Rebase(row, old, new, PackSource(row.pack), keep)
    done.run()
    if not done.conflicts:
        done.plan()
    if done.files and done.result != "retired":
        done.refuse(_faults(done, [old, new] if keep else [new], more))
    if write and done.files:
        write_files(done.files)
    return done


def _faults(done: Rebase, subjects: Sequence[Subject], more: Sequence[str]) -> Iterator[str]:
    """Check a copy of the pack, with the row as it would be, in a process of its own."""
    with TemporaryDirectory() as folder:
        top = done.pack.root / done.row.pack.partition(".")[0]
        if top.is_dir():
            shutil.copytree(
                top, Path(folder, top.name), ignore=shutil.ignore_patterns("__pycache__")
            )
        for file in done.files:
            inside = file.path.resolve().relative_to(done.pack.root.resolve())
            Path(folder, inside).write_bytes(file.new)
        words = ["check", done.row.name, "--patches", done.row.pack]
        for one in subjects:
            words += ["--releases", f"{one.project}=={one.version}"]
        told = _run([*words, *more, "--format", "json"], folder)
    for one in told["findings"]:
        is_gone = one["code"] == "PK602" and one["release"] == done.new.name
        if is_gone or one["severity"] == "error":
            yield f"{one['code']} {one['release']}: {one['message']}"


def _run(words: Sequence[str], folder: str) -> dict[str, Any]:
    path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "patchkit", *words]
    environ = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise ScaffoldError(f"the rebased row is refused: {done.stderr.strip()}") from None
    return told
