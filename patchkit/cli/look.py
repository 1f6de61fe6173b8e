"""What `check`, `lock` and `diff` look at: rows, releases and the lock of a command line."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit.check.codes import CODES
from patchkit.check.opening import archive, installed, on_index, tree
from patchkit.check.packs import read_packs
from patchkit.cli.app import say
from patchkit.cli.options import Wanted, choose
from patchkit.errors import SettingsError, UpstreamError, near, shown
from patchkit.registry import OWN_PACKS
from patchkit.review.lock_files import NAME, Locks
from patchkit.rows.project import Project
from patchkit.settings import Settings
from patchkit.upstream.reading.releases import find_releases
from patchkit.versions.installed import Versions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from patchkit.check.findings import Finding
    from patchkit.check.subjects import Subject
    from patchkit.rows.declaration import Row
    from patchkit.upstream.reading.releases import Library


def rows_of(
    packs: Collection[str], names: Collection[str]
) -> tuple[Sequence[Row], Sequence[Finding]]:
    """Read the rows that are named, else those of the named packs, else all; and their faults."""
    rows, findings = read_packs(Settings.read(), packs)
    chosen = [row for row in choose(rows, names) if names or not packs or row.pack in packs]
    if not chosen and not findings:
        where = f"in {', '.join(packs)}" if packs else "here; --patches MODULE names a pack"
        raise click.UsageError(f"expected one patch at least, found none {where}")
    return chosen, [finding for finding in findings if not names or finding.patch in names]


def packs_to_name(packs: Collection[str]) -> Collection[str]:
    """Leave out the packs that a command finds here without `--patches`."""
    return () if packs == Project.read().packs else packs


def open_packages(wanted: Wanted, packages: Sequence[str], library: Library) -> list[Subject]:
    """
    Open the releases of import packages, and say which of them are not installed.

    Raises:
        PatchkitError: there are none, or one of them does not say which it is.

    """
    versions = Versions.of(Settings.read())
    if wanted.releases:
        return [subject for spec in wanted.releases for subject in on_index(spec, library)]
    if wanted.path:
        return tree(Path(wanted.path), packages, versions)
    if wanted.wheel:
        return archive(Path(wanted.wheel), versions)
    found, missing = installed(packages, versions)
    if not found:
        names = ", ".join(missing) or "no package"
        verb = "are" if len(missing) > 1 else "is"
        raise UpstreamError(
            f"found no release to look at: {names} {verb} not installed, expected one at least; "
            "or name some by --releases, --path or --wheel"
        )
    if missing:
        say(f"not installed, so not looked at: {', '.join(missing)}")
    return found


def all_versions(subjects: Iterable[Subject], library: Library) -> Mapping[str, Sequence[str]]:
    """List the versions of all releases of those distributions that come from an index."""
    projects = dict.fromkeys(subject.project for subject in subjects if not subject.is_local)
    return {name: [found.version for found in find_releases(name, library)] for name in projects}


def locks_of(file: str | None) -> Locks:
    """Open the lock that is named, else the one here and the packs'."""
    named = lock_named(file)
    if named and not Path(named).exists():
        expected = "expected a lock, which 'patchkit lock' writes"
        raise click.UsageError(f"{_who_names_it(file)}: found no file {named!r}, {expected}")
    return Locks(named, Path())


def _who_names_it(file: str | None) -> str:
    if file:
        return "--lock"
    settings = f"{Project.read().file}, [tool.patchkit] lock"
    return "PATCHKIT_LOCK" if Settings.read().lock else settings


def lock_named(file: str | None) -> str | None:
    """Return the lock of a command line, else of `PATCHKIT_LOCK`, else of the project."""
    return file or Settings.read().lock or Project.read().lock


def ours(rows: Sequence[Row], names: Collection[str], packs: Collection[str]) -> list[Row]:
    """
    Choose the rows that whoever works in this directory looks after: those that are named.

    Where none is, those whose pack no installer has put where it is; patchkit's own only below this
    directory. Where that leaves none, all of them, but of patchkit's own only those of named packs.
    """
    own = [row for row in rows if names or _is_ours(row.pack)]
    found = own or [row for row in rows if row.pack not in OWN_PACKS or row.pack in packs]
    if not found:
        expected = "expected one at least: name it, or its pack with --patches MODULE"
        raise click.UsageError(f"found no patch here but patchkit's own, {expected}")
    return found


def _is_ours(pack: str) -> bool:
    home = Locks.home(pack)
    return home is not None and (
        pack not in OWN_PACKS or Path().resolve() in home.resolve().parents
    )


def locks_to_write(file: str | None, rows: Iterable[Row]) -> Mapping[Path, Sequence[Row]]:
    """
    Choose where reviews are recorded: in the file that is named, else in each pack's own.

    A pack without a lock gets one in its folder, so that processes read it. An installer's folder
    is left alone: what is reviewed of such packs is recorded here.
    """
    named = lock_named(file)
    found: dict[Path, list[Row]] = {}
    for row in rows:
        home = Locks.home(row.pack)
        place = (Locks().own(row.pack) or home) if home else NAME
        found.setdefault(Path(named or place), []).append(row)
    return found


def unread(file: Path, rows: Iterable[Row]) -> str:
    """Say what a lock needs for processes to read it, wherever they run; '' where nothing."""
    row = next(iter(rows))
    read, home = Locks(Settings.read().lock).file(row), Locks.home(row.pack)
    if read is None or read.resolve() != file.resolve():
        return f"; processes read it where PATCHKIT_LOCK={shlex.quote(str(file.resolve()))} is set"
    if home and not file.resolve().is_relative_to(home.parents[row.pack.count(".")].resolve()):
        return f"; a wheel does not carry it there: move it to {shown(home)}"
    return ""


def accepted_codes() -> tuple[Collection[str], Collection[str]]:
    """Return what the project ignores, and what it accepts."""
    project = Project.read()
    for entry in (*project.ignore, *project.accept):
        code = entry.partition(" ")[0]
        if code not in CODES:
            hint = near(code, CODES)
            raise SettingsError(f"{project.file}: no finding has the code {code}{hint}")
    return project.ignore, project.accept
