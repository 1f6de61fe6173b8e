"""The rows and the releases that a command line names, opened for the commands that read them."""

from collections.abc import Collection, Sequence
from pathlib import Path

import click

from patchkit.analysis.check.findings import Finding
from patchkit.analysis.check.opening import archive, installed, on_index, tree
from patchkit.analysis.check.packs import read_packs
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import options
from patchkit.cli.options import ReleaseOptions, choose
from patchkit.cli.output import say
from patchkit.core.lock.files import Locks
from patchkit.core.rows.declaration import Row
from patchkit.core.versions.installed import Versions
from patchkit.errors import UpstreamError
from patchkit.registry import is_own_pack
from patchkit.settings import Settings


def _open_library(ctx: click.Context, _: click.Parameter, offline: bool) -> Library:
    return ctx.with_resource(Library(offline=offline, notice=say))


library_option = click.option(
    "--offline",
    "library",
    is_flag=True,
    callback=_open_library,
    help=options.OFFLINE_HELP,
)
"""For every command that reads releases: it gets the library that they come from."""


def rows_of(
    packs: Collection[str], names: Collection[str]
) -> tuple[Sequence[Row], Sequence[Finding]]:
    """Read the rows that are named, else those of the named packs, else all.

    Args:
        packs: The packs of the command line.
        names: The patches of the command line.

    Returns:
        The rows, and the findings about their declarations.

    Raises:
        UsageError: There is no such row, and no finding says why.
    """
    rows, findings = read_packs(Settings.read(), packs)
    chosen = [
        row for row in choose(rows, names) if names or not packs or row.pack in packs
    ]
    if not chosen and not findings:
        where = "here; --patches MODULE names a pack"
        if packs:
            where = f"in {', '.join(packs)}"
        raise click.UsageError(f"expected at least one patch, found none {where}")
    return chosen, [
        finding for finding in findings if not names or finding.patch in names
    ]


def own_rows_of(packs: Collection[str], names: Collection[str]) -> list[Row]:
    """Read the rows that the user maintains: those that are named.

    Where none is named, they are those whose pack was not put where it is by an installer;
    patchkit's own count only if they lie below this directory. Where that leaves none, they are all
    rows, without patchkit's own unless their pack is named.

    Args:
        packs: The packs of the command line.
        names: The patches of the command line.

    Returns:
        The rows.

    Raises:
        UsageError: There is none.
    """
    rows, _ = rows_of(packs, names)
    maintained = [row for row in rows if names or _is_maintained_here(row.pack)]
    if not maintained:
        maintained = [
            row for row in rows if not is_own_pack(row.pack) or row.pack in packs
        ]
    if not maintained:
        expected = "expected at least one: name it, or its pack with --patches MODULE"
        raise click.UsageError(f"found no patch here but patchkit's own, {expected}")
    return maintained


def _is_maintained_here(pack: str) -> bool:
    """Whether no installer has placed a pack; one of patchkit's own lies below this directory."""
    home = Locks.home(pack)
    if home is None:
        return False
    return not is_own_pack(pack) or Path().resolve() in home.resolve().parents


def open_packages(
    release_options: ReleaseOptions,
    packages: Sequence[str],
    library: Library,
    *,
    brief: bool = False,
) -> list[CheckedRelease]:
    """Open the releases that a command line names, and say which packages are not installed.

    Args:
        release_options: Which releases to open.
        packages: Import packages; releases of them are opened where they are installed.
        library: Where releases on the index come from.
        brief: Whether sources of releases on the index stay unread, which saves most of the time.

    Returns:
        The releases, at least one.

    Raises:
        PatchkitError: There are none, or one of them does not say which it is.
    """
    versions = Versions.of(Settings.read())
    if release_options.releases:
        releases: list[CheckedRelease] = []
        for requirement in release_options.releases:
            releases += on_index(requirement, library, brief=brief)
        return releases
    if release_options.path:
        return tree(Path(release_options.path), packages, versions)
    if release_options.wheel:
        return archive(Path(release_options.wheel), versions)
    return _open_installed(packages, versions)


def _open_installed(
    packages: Sequence[str], versions: Versions
) -> list[CheckedRelease]:
    releases, missing = installed(packages, versions)
    if not releases:
        raise UpstreamError(
            f"found no release to look at, expected one of {', '.join(missing) or 'a package'}: "
            "none is installed here; --releases, --path and --wheel name others"
        )
    if missing:
        say(f"not installed, so not checked: {', '.join(missing)}")
    return releases
