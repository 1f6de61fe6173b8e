"""The rows and the releases that a command line asks `check`, `lock`, `diff` and `new` about."""

from collections.abc import Collection, Sequence
from pathlib import Path

import click

from patchkit.analysis.check.findings import Finding
from patchkit.analysis.check.opening import archive, installed, on_index, tree
from patchkit.analysis.check.packs import read_packs
from patchkit.analysis.check.subjects import Subject
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import options
from patchkit.cli.options import Wanted, choose
from patchkit.cli.output import say
from patchkit.core.lock.files import Locks
from patchkit.core.rows.declaration import Row
from patchkit.core.versions.installed import Versions
from patchkit.errors import UpstreamError
from patchkit.registry import OWN_PACKS
from patchkit.settings import Settings


def _opened(ctx: click.Context, _: click.Parameter, offline: bool) -> Library:
    return ctx.with_resource(Library(offline=offline, notice=say))


library_option = click.option(
    *("--offline", "library"), is_flag=True, callback=_opened, help=options.OFFLINE
)
"""Of every command that reads releases: it is given the library that they come from."""


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


def own_rows_of(packs: Collection[str], names: Collection[str]) -> list[Row]:
    """Read the rows that whoever works in this directory looks after: those that are named.

    Where none is, those whose pack no installer has put where it is; patchkit's own only below this
    directory. Where that leaves none, all of them, but of patchkit's own only those of named packs.
    """
    rows, _ = rows_of(packs, names)
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


def open_packages(
    wanted: Wanted, packages: Sequence[str], library: Library, *, brief: bool = False
) -> list[Subject]:
    """Open the releases of import packages, and say which of them are not installed.

    Raises:
        PatchkitError: there are none, or one of them does not say which it is.
    """
    versions = Versions.of(Settings.read())
    if wanted.releases:
        several = (on_index(spec, library, brief=brief) for spec in wanted.releases)
        return [subject for some in several for subject in some]
    if wanted.path:
        return tree(Path(wanted.path), packages, versions)
    if wanted.wheel:
        return archive(Path(wanted.wheel), versions)
    found, missing = installed(packages, versions)
    if not found:
        raise UpstreamError(
            f"found no release to look at, expected one of {', '.join(missing) or 'a package'}: "
            "none is installed here; --releases, --path and --wheel name others"
        )
    if missing:
        say(f"not installed, so not looked at: {', '.join(missing)}")
    return found
