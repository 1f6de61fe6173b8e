"""`patchkit rebase`: patches carried from the release that they were written for to a later one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copyfile, copytree
from tempfile import TemporaryDirectory

import click

from patchkit.analysis.check.comparison import base_of
from patchkit.analysis.check.coverage import packages_of, released
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.subjects import Subject
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.adopt.rebasing import Rebase
from patchkit.authoring.scaffold.plan import write as write_files
from patchkit.cli import inputs, options
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.rebase import print_rebase, rebase_json
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project
from patchkit.core.versions.requirements import canonical
from patchkit.errors import ScaffoldError


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

    Edits, and copies of upstream's functions, are merged by git with what upstream changed; targets
    and imports follow what moved. A row is written if `check` holds. Exit code 1: some conflict.

    \b
    Examples:
      patchkit rebase my-patch --to 0.33.0 --dry-run
      patchkit rebase --all --to 0.33.0 --keep   for the releases before, too
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if bool(names) == every:
        raise click.UsageError("expected names of patches, or --all")
    rows, done = inputs.own_rows_of(packs, names), []
    locks, each = options.locks_of(lock), [one for row in rows for one in packages_of([row])]
    package = max(released(rows), key=each.count)
    try:
        with Library(offline=offline, notice=say) as library, progress_bar():
            subjects = on_index(canonical(package), library)
            for row in rows:
                if package not in packages_of([row]):
                    say(f"{row.name}: left as it is, it changes nothing of {package}")
                    continue
                sides = base_of(row, subjects, locks.of_all([row]), old, new)
                done.append(_rebased(row, *sides, keep=keep, write=not dry_run, offline=offline))
    finally:  # what has been written is told, whatever came then
        _tell(done, form, written=not dry_run)
    return int(any(one.conflicts for one in done))


def _tell(done: Sequence[Rebase], form: str, *, written: bool) -> None:
    if done and form == "json":
        click.echo(rebase_json(done))
    elif done:
        print_rebase(done, written=written)


def _rebased(
    row: Row, old: Subject, new: Subject, *, keep: bool, write: bool, offline: bool
) -> Rebase:
    done = Rebase(row, old, new, PackSource(row.pack), keep)
    try:
        done.run()
        if not done.conflicts:
            done.plan()
            if done.result != "retired":
                done.refuse(_faults(done, ["--offline"] * offline))
        if write:
            write_files(done.files)
    except (ScaffoldError, OSError, ValueError) as error:  # other rows may be fine
        done.refuse([str(error)])
    return done


def _faults(done: Rebase, more: Sequence[str]) -> Iterator[str]:
    """Check a copy of the pack, all of it writable, with the row as it would be, in a process."""
    with TemporaryDirectory() as folder:
        top = done.pack.root / done.row.pack.partition(".")[0]
        if top.is_dir():
            copytree(top, f"{folder}/{top.name}", False, lambda *_: ["__pycache__"], copyfile, True)
        for file in done.files:
            Path(folder, file.path.relative_to(done.pack.root)).write_bytes(file.new)
        words = ["check", done.row.name, "--patches", done.row.pack, "--format", "json", *more]
        for one in [done.old, done.new] if done.keep else [done.new]:
            words += ["--releases", f"{one.project}=={one.version}"]
        command = [sys.executable, "-m", "patchkit", *words]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join((folder, *filter(None, sys.path)))}
        ran = subprocess.run(  # noqa: S603
            command, cwd=folder, env=environ, capture_output=True, text=True, check=False
        )
    try:
        told = json.loads(ran.stdout)
    except ValueError:
        raise ScaffoldError(f"the rebased row is refused: {ran.stderr.strip()}") from None
    if told["grid"].get(done.row.name, {}).get(done.new.name) == "out-of-range":
        yield f"{done.new.name} stays out of its range, or of that of its changes"
    project = Project.read()
    for one in told["findings"]:
        code, is_new = one["code"], one["release"] == done.new.name
        names = {code, f"{code} {one['target']}", f"{code} {one['patch']}"}
        is_wrong = one["severity"] == "error" or (code == "PK602" and is_new)
        if is_wrong and names.isdisjoint((*project.ignore, *project.accept)):
            yield f"{code} {one['release']}: {one['message']}"
