"""`patchkit lock`: record the sources of targets as reviewed."""

import difflib
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from patchkit.analysis.check.body_misfits import body_misfits
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.findings import Report, unreadable_causes
from patchkit.analysis.check.loading import load_faults
from patchkit.analysis.check.packages import packages_of, released
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.review import accept
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import inputs, options
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.as_json import lock_json
from patchkit.cli.report.console import console, print_diff_lines
from patchkit.core.lock.files import NAME, Locks, check_versions
from patchkit.core.lock.format import Lock, read_lock, write_lock
from patchkit.core.record import grouped
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError, shown
from patchkit.settings import Settings

BeforeAndAfter = dict[Path, tuple[Lock, Lock]]
"""By file, the lock as it is, and as it has to be."""

_TO_WRITE = "would change; run 'patchkit lock', and review its diff"
_WRITTEN = "written; review its diff before you commit it"


@click.command("lock")
@click.argument(
    "names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names
)
@options.release_options
@click.option(
    "--lock", metavar="FILE", help="The lock; default: the project's or the packs'."
)
@click.option(
    "--check",
    "dry",
    is_flag=True,
    help="Write nothing; exit 1 for a change, or a body that cannot be loaded.",
)
@inputs.library_option
@inputs.machine_options
@options.patches_option
@options.format_option
def command(
    names: tuple[str, ...],
    release_options: options.ReleaseOptions,
    lock: str | None,
    dry: bool,
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Record the targets' sources as reviewed, and show what changes in the lock.

    \b
    Examples:
      patchkit lock                                  as installed here
      patchkit lock --releases 'vllm>=0.20,<0.34'    in each of these releases
      patchkit lock my-patch --releases 'vllm==0.33.0'
      patchkit lock --releases 'vllm>=0.20' --check  show what is not reviewed yet
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    rows = inputs.own_rows_of(packs, names)
    rows_by_file = _rows_by_file(lock, rows)
    with progress_bar() as progress:
        releases = inputs.open_packages(release_options, released(rows), library)
        locks, faults = _locks_before_and_after(rows_by_file, releases, progress)
    _refuse_other_releases(rows, releases, faults)
    for cause in unreadable_causes(faults):
        say(f"not looked at: {cause}")
    changed = [file for file, (before, after) in locks.items() if before != after]
    if not dry:
        for file in changed:
            write_lock(file, locks[file][1])
    _print_diff(locks, form, written=bool(changed) and not dry)
    for file, rows_of_file in rows_by_file.items():
        result = "nothing new"
        if file in changed:
            result = _TO_WRITE if dry else _WRITTEN
        if not dry and (file in changed or file.exists()):
            result += _hint_to_be_read(file, rows_of_file)
        say(f"{shown(file)}: {result}")
    missing = _missing_targets(rows, releases, faults)
    for line in (*missing, *_misfits(rows, releases, faults)):
        say(line)
    broken_bodies = load_faults(rows)
    for name, fault in broken_bodies.items():
        say(f"{name}: {fault}")
    if faults or (dry and (changed or broken_bodies)):
        return 1
    return 0


def _rows_by_file(
    named: str | None, rows: Iterable[Row]
) -> Mapping[Path, Sequence[Row]]:
    """Group rows by the lock file that records their reviews.

    That is the file that is named, or else the lock of each row's pack.

    Args:
        named: The value of `--lock`.
        rows: The rows.
    """
    name = options.lock_named(named)
    if name:
        return grouped((Path(name), row) for row in rows)
    return grouped((_file_of_pack(row.pack), row) for row in rows)


def _file_of_pack(pack: str) -> Path:
    """Return the lock file of a pack, which is in its folder, where processes find it.

    A folder of an installer is not written to: the lock of such a pack is in this directory.
    """
    home = Locks.home(pack)
    if home is None:
        return Path(NAME)
    return Locks().own(pack) or home


def _hint_to_be_read(file: Path, rows: Sequence[Row]) -> str:
    """Return what the user has to do so that processes read a lock file; '' for nothing.

    Args:
        file: The lock file.
        rows: The rows whose reviews it records.
    """
    row = rows[0]  # the others are of the same pack, or the file is named for all
    file_of_processes = Locks(Settings.read().lock).file(row)
    if file_of_processes is None or file_of_processes.resolve() != file.resolve():
        return f"; processes read it where PATCHKIT_LOCK={shlex.quote(str(file.resolve()))} is set"
    home = Locks.home(row.pack)
    if home is None:
        return ""
    # The folder of the pack's top-level package; a wheel carries no file from outside of it.
    root = home.parents[row.pack.count(".")]
    if not file.resolve().is_relative_to(root.resolve()):
        return f"; a wheel does not carry it there: move it to {shown(home)}"
    return ""


def _locks_before_and_after(
    rows_by_file: Mapping[Path, Sequence[Row]],
    releases: Sequence[CheckedRelease],
    progress: Progress | None,
) -> tuple[BeforeAndAfter, dict[str, UpstreamError]]:
    """Read the locks, and record the sources of targets in releases in copies of them.

    Args:
        rows_by_file: The rows, by the lock file that records their reviews.
        releases: The releases.
        progress: Is called after each release; None for nothing.

    Returns:
        The locks before and after, by file; and why releases could not be read, by release.
    """
    locks: BeforeAndAfter = {}
    faults: dict[str, UpstreamError] = {}
    for file, rows in rows_by_file.items():
        before = read_lock(file)
        check_versions(file, before)
        after, unreadable = accept(before, rows, releases, progress)
        locks[file] = (before, after)
        faults.update(unreadable)
    return locks, faults


def _refuse_other_releases(
    rows: Sequence[Row], releases: Sequence[CheckedRelease], unreadable: Container[str]
) -> None:
    """Refuse releases that no row is for: that nothing is new there means nothing.

    Raises:
        UpstreamError: All of them can be read, and are of other packages.
    """
    coverage = Coverage(rows, releases)
    for release in releases:
        if release.name in unreadable:
            return
        if any(coverage.concerns(row, release) for row in rows):
            return
    if rows and releases:
        names = [release.name for release in releases]
        raise inputs.not_targeted(names, packages_of(rows))


def _missing_targets(
    rows: Sequence[Row], releases: Sequence[CheckedRelease], unreadable: Container[str]
) -> Iterator[str]:
    """Yield a line for each target of which nothing was recorded, as no release has it.

    Args:
        rows: The rows whose targets were looked up.
        releases: The releases in which they were.
        unreadable: The names of those that could not be read.
    """
    readable = [release for release in releases if release.name not in unreadable]
    coverage = Coverage(rows, readable)
    for row in rows:
        states: dict[Target, set[str]] = {}
        for release in readable:
            for target in coverage.reviewed(row, release):
                states.setdefault(target, set()).add(release.state(target))
        for target, found in states.items():
            if found == {"absent"}:
                yield f"{row.name}: {target} is in none of the releases: nothing is recorded"


def _misfits(
    rows: Sequence[Row], releases: Sequence[CheckedRelease], unreadable: Container[str]
) -> Iterator[str]:
    """Yield a line for each patch whose body does not fit the newest release of a distribution.

    Its review is recorded all the same. What a project accepts or ignores is left out.

    Args:
        rows: The rows that are reviewed.
        releases: The releases.
        unreadable: The names of those that could not be read.
    """
    newest = {
        release.project: release
        for release in releases
        if release.name not in unreadable
    }
    project = Project.read()
    report = Report(list(newest), list(body_misfits(rows, [*newest.values()])), {})
    findings = report.accepting(project.ignore, project.accept).findings
    for name, of_patch in grouped((each.patch, each) for each in findings).items():
        first = of_patch[0]
        yield f"{name}: 'patchkit check' calls it broken ({first.code.code}): {first.message}"


def _print_diff(locks: BeforeAndAfter, form: str, *, written: bool) -> None:
    """Print what changes in lock files, as a unified diff or as JSON."""
    lines: list[str] = []
    for file, (before, after) in locks.items():
        lines += _diff(file, before, after)
    if form == "json":
        click.echo(lock_json(locks, lines, written=written))
    else:
        print_diff_lines(lines, console())


def _diff(file: Path, before: Lock, after: Lock) -> Iterable[str]:
    """Return the lines of the unified diff of one lock file."""
    name = shown(file).lstrip("/")
    return difflib.unified_diff(
        _lines(before), _lines(after), f"a/{name}", f"b/{name}", lineterm=""
    )


def _lines(lock: Lock) -> list[str]:
    """Return the lines of a lock's file; none for an empty lock, which has no file."""
    if not lock:
        return []
    return lock.text().splitlines()
