"""`patchkit rebase`: carry patches from the release they were written for to a later one."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copyfile, copytree
from tempfile import TemporaryDirectory
from typing import Any

import click

from patchkit.analysis.check.comparison import base_of
from patchkit.analysis.check.coverage import packages_of, released
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.adopt.rebasing import Rebase
from patchkit.authoring.scaffold.files import write as write_files
from patchkit.cli import inputs, options
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.rebase import print_rebase, rebase_json
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project
from patchkit.core.versions.requirements import canonical
from patchkit.errors import ScaffoldError


@click.command("rebase")
@click.argument(
    "names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names
)
@click.option("--all", "every", is_flag=True, help="Every patch of this project.")
@click.option(
    "--to", "new", metavar="V", required=True, help="The release to carry them to."
)
@click.option(
    "--from",
    "old",
    metavar="V",
    help="Default: the last reviewed, or the newest in range.",
)
@click.option("--keep", is_flag=True, help="Keep the old changes for earlier releases.")
@click.option("--dry-run", is_flag=True, help="Report, write nothing.")
@click.option(
    "--lock", metavar="FILE", help="The lock; default: the project's or the packs'."
)
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
    and imports follow what moved. A row is written if `check` holds. Exit code 1: conflicts.

    \b
    Examples:
      patchkit rebase my-patch --to 0.33.0 --dry-run
      patchkit rebase --all --to 0.33.0 --keep   also for earlier releases
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if names and every:
        raise click.UsageError("found names and --all, expected one of them")
    if not names and not every:
        raise click.UsageError("found no name of a patch, expected one, or --all")
    rows = inputs.own_rows_of(packs, names)
    locks = options.locks_of(lock)
    package = _most_changed_package(rows)
    rebases: list[Rebase] = []
    try:
        with Library(offline=offline, notice=say) as library, progress_bar():
            releases = on_index(canonical(package), library)
            for row in rows:
                if package not in packages_of([row]):
                    say(f"{row.name}: left as it is, it changes nothing of {package}")
                    continue
                old_release, new_release = base_of(
                    row, releases, locks.of_all([row]), old, new
                )
                pack = PackSource(row.pack)
                rebase = Rebase(row, old_release, new_release, pack, keep=keep)
                _run(rebase, write=not dry_run, offline=offline)
                rebases.append(rebase)
    finally:  # also after an error, report what has been written
        _print(rebases, form, written=not dry_run)
    return int(any(rebase.conflicts for rebase in rebases))


def _most_changed_package(rows: Sequence[Row]) -> str:
    """Return the package on an index that most of the rows change."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(packages_of([row]))
    return max(released(rows), key=counts.__getitem__)


def _print(rebases: Sequence[Rebase], form: str, *, written: bool) -> None:
    """Print the results; nothing if an error came before the first."""
    if not rebases:
        return
    if form == "json":
        click.echo(rebase_json(rebases))
    else:
        print_rebase(rebases, written=written)


def _run(rebase: Rebase, *, write: bool, offline: bool) -> None:
    """Carry a patch to the later release, check it, and write its files.

    An error becomes a conflict of this patch, so that the others are still carried.

    Args:
        rebase: The patch and the releases.
        write: Whether to write files.
        offline: Whether the check may read only the cache.
    """
    try:
        rebase.run()
        if not rebase.conflicts:
            rebase.plan()
            if rebase.result != "retired":
                rebase.refuse(_faults(rebase, offline=offline))
        if write:
            write_files(rebase.files)
    except (ScaffoldError, OSError, ValueError) as error:
        rebase.refuse([str(error)])


def _faults(rebase: Rebase, *, offline: bool) -> Iterator[str]:
    """Check the carried row, and yield the reasons why it must not be written.

    Args:
        rebase: The row, with the files that are planned.
        offline: Whether the check may read only the cache.

    Raises:
        ScaffoldError: The check itself failed.
    """
    report = _check_copy(rebase, offline=offline)
    name = rebase.new.name
    if report["grid"].get(rebase.row.name, {}).get(name) == "out-of-range":
        yield f"{name} stays out of its range, or of that of its changes"
    project = Project.read()
    accepted = {*project.ignore, *project.accept}
    for finding in report["findings"]:
        code = finding["code"]
        keys = {code, f"{code} {finding['target']}", f"{code} {finding['patch']}"}
        # A body that uses a name which is missing: `check` warns, but a rebase must not write it.
        is_use_gone = code == "PK602" and finding["release"] == name
        is_fault = finding["severity"] == "error" or is_use_gone
        if is_fault and keys.isdisjoint(accepted):
            yield f"{code} {finding['release']}: {finding['message']}"


def _check_copy(rebase: Rebase, *, offline: bool) -> dict[str, Any]:
    """Run `patchkit check` on a copy of the pack with the planned files; return its JSON report.

    It runs in a process of its own, as this process has imported the pack in its former state.

    Args:
        rebase: The row, with the files that are planned.
        offline: Whether the check may read only the cache.

    Raises:
        ScaffoldError: The check failed, and has no report.
    """
    command = [
        sys.executable,
        "-m",
        "patchkit",
        *_check_arguments(rebase, offline=offline),
    ]
    with TemporaryDirectory() as folder:
        _copy_pack(rebase, folder)
        path = [folder, *(entry for entry in sys.path if entry)]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        process = subprocess.run(  # noqa: S603
            command,
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        report: dict[str, Any] = json.loads(process.stdout)
    except ValueError:
        raise ScaffoldError(
            f"the rebased row cannot be checked: {process.stderr.strip()}"
        ) from None
    return report


def _check_arguments(rebase: Rebase, *, offline: bool) -> list[str]:
    """Return the arguments of `patchkit check` for the carried patch and its new release.

    With `--keep`, the patch must hold for the old release, too.
    """
    arguments = [
        "check",
        rebase.row.name,
        "--patches",
        rebase.row.pack,
        "--format",
        "json",
    ]
    if offline:
        arguments.append("--offline")
    releases = [rebase.new]
    if rebase.keep:
        releases = [rebase.old, rebase.new]
    for release in releases:
        arguments += ["--releases", f"{release.project}=={release.version}"]
    return arguments


def _copy_pack(rebase: Rebase, folder: str) -> None:
    """Copy the package of a pack into a folder, with the planned files in place of the old ones.

    The copies are writable, even if the files are not.
    """
    top = rebase.pack.root / rebase.row.pack.partition(".")[0]
    if top.is_dir():
        copytree(
            top,
            f"{folder}/{top.name}",
            ignore=lambda *_: ["__pycache__"],
            copy_function=copyfile,
            ignore_dangling_symlinks=True,
        )
    for file in rebase.files:
        Path(folder, file.path.relative_to(rebase.pack.root)).write_bytes(file.new)
