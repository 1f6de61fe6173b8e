"""Opens the rows and the releases that a command line names."""

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from patchkit.analysis.check.findings import Finding
from patchkit.analysis.check.opening import archive, installed, on_index, tree
from patchkit.analysis.check.packs import read_packs
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.collection import no_collection
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import options
from patchkit.cli.options import ReleaseOptions, choose
from patchkit.cli.output import say
from patchkit.core.engines.entry_points import installed_engines
from patchkit.core.lock.files import Locks
from patchkit.core.rows.declaration import Row
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.installed_packages import (
    distributions_by_package,
    other_name_of,
)
from patchkit.core.versions.requirements import canonical, parse_requirement
from patchkit.core.versions.wheel_tags import Machine
from patchkit.errors import UnreachableError, UpstreamError, near
from patchkit.registry import is_own_pack
from patchkit.settings import Settings

_MACHINE = "patchkit.machine"
"""The key of the values of `--platform` and `--python` among those that a context keeps."""
_FOR_OTHERS = ("--releases", "--to", "--path", "--wheel")
"""Options that name releases which are not installed; not every command has all of them."""
_SLIP = 0.8
"""From here on, one name is a slip of the other: `vlm` and `vllm`."""


def _note_machine(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> None:
    """Keep the value of `--platform` or `--python` for `_open_library`, which comes later."""
    noted = ctx.meta.setdefault(_MACHINE, {})
    if value is not None:
        noted[parameter.name] = value


def _open_library(ctx: click.Context, _: click.Parameter, offline: bool) -> Library:
    """Open the library of releases, as the value of `--offline`; the context closes it.

    Until then, no garbage is collected: a command that reads releases makes many objects, and ends
    soon.
    """
    machine = Machine(**ctx.meta.get(_MACHINE, {}))
    machine.check()
    ctx.with_resource(no_collection())
    return ctx.with_resource(Library(offline=offline, machine=machine, notice=say))


library_option = click.option(
    "--offline",
    "library",
    is_flag=True,
    callback=_open_library,
    help=options.OFFLINE_HELP,
)
"""The option `--offline`, for every command that reads releases; it passes a `Library`."""


def machine_options(command: options.Command) -> options.Command:
    """Add `--platform` and `--python`, which choose the files that a `Library` reads.

    Args:
        command: The function of a command that has `library_option`, too.

    Returns:
        The function for click; it gets no parameter for them.
    """
    with_python = click.option(
        "--python",
        metavar="V",
        is_eager=True,
        expose_value=False,
        callback=_note_machine,
        help="Read the files for this version of Python, such as 3.12.",
    )(command)
    return click.option(
        "--platform",
        metavar="TAG",
        is_eager=True,
        expose_value=False,
        callback=_note_machine,
        help="Read the files that pip installs there, such as manylinux_2_28_aarch64.",
    )(with_python)


def rows_of(
    packs: Collection[str], names: Collection[str]
) -> tuple[Sequence[Row], Sequence[Finding]]:
    """Read the rows with the given names, else those of the given packs, else all.

    Args:
        packs: The packs of the command line; may be empty.
        names: The names of patches on the command line; may be empty.

    Returns:
        The rows, and the findings about their declarations.

    Raises:
        UsageError: There are no such rows, and no findings that say why.
    """
    rows, findings = read_packs(Settings.read(), packs)
    # Names choose rows of any pack. Only without names do packs choose, if there are any.
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


def rows_beside(packs: Collection[str], rows: Collection[Row]) -> list[Row]:
    """Return the rows of all packs but some, as these may build on what the other rows add.

    Args:
        packs: The packs of the command line; may be empty.
        rows: The rows that are left out: those that are checked.
    """
    everything, _ = read_packs(Settings.read(), packs)
    checked = {(row.pack, row.name) for row in rows}
    return [row for row in everything if (row.pack, row.name) not in checked]


def own_rows_of(packs: Collection[str], names: Collection[str]) -> list[Row]:
    """Return the rows that a command about the user's own patches is for.

    These are the rows with the given names. Without names, they are the rows of packs whose source
    the user has, and not an installed copy. If there are none of these, they are all rows but those
    of patchkit's own packs, which count only if they are given.

    Args:
        packs: The packs of the command line; may be empty.
        names: The names of patches on the command line; may be empty.

    Raises:
        UsageError: There are none.
    """
    rows, _findings = rows_of(packs, names)
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
    """Return whether a pack is a source that the user edits, and not an installed copy.

    patchkit's own packs are that only in a checkout of patchkit, below the working directory.
    """
    home = Locks.home(pack)
    if home is None:  # in a folder of an installer
        return False
    return not is_own_pack(pack) or Path().resolve() in home.resolve().parents


def open_packages(
    release_options: ReleaseOptions,
    packages: Sequence[str],
    library: Library,
    *,
    brief: bool = False,
) -> list[CheckedRelease]:
    """Open the releases that a command line names; with no option, the installed ones.

    Args:
        release_options: The options that name releases.
        packages: The import packages whose installed releases are opened.
        library: The library, for releases on the index.
        brief: Whether to read no sources of releases on the index yet, which saves most of the
            time.

    Returns:
        The releases, at least one.

    Raises:
        UpstreamError: There are none, or the distribution seems to be misspelled.
        PatchkitError: The version of one cannot be determined.
    """
    versions = Versions.of(Settings.read())
    if release_options.releases:
        releases: list[CheckedRelease] = []
        for requirement in release_options.releases:
            try:
                releases += on_index(requirement, library, brief=brief)
            except UnreachableError:
                raise
            except UpstreamError as error:
                meant = _project_meant(requirement, packages)
                raise UpstreamError(f"{error}{meant}") from error
        return releases
    if release_options.path:
        return tree(Path(release_options.path), packages, versions)
    if release_options.wheel:
        return archive(Path(release_options.wheel), versions)
    return _open_installed(packages, versions)


def _project_meant(requirement: str, packages: Iterable[str]) -> str:
    """Ask whether another distribution was meant, where none of its releases is allowed.

    Args:
        requirement: The requirement for the releases.
        packages: The import packages whose releases are expected.

    Returns:
        The question, for the end of a message, or which distribution has the package of that name
        here; '' if the distribution is one of those expected or of an engine, or like none of them.
    """
    if not requirement[:1].isalpha():
        return ""  # a version without a name
    name = canonical(parse_requirement(requirement).name)
    engines = [engine.package for engine in installed_engines()]
    known = list(map(canonical, (*packages, *engines)))
    provider = other_name_of(name)
    if provider:
        return f"; the package {name} is of the distribution {provider} here"
    if name in known:
        return ""
    return near(name, known, likeness=_SLIP)


def _near_installed(missing: Sequence[str]) -> str:
    """Ask whether an installed package was meant by one that is not; '' if none is similar."""
    for package in missing:
        matches = get_close_matches(package, distributions_by_package(), 1, _SLIP)
        if matches:
            return f" (did you mean {matches[0]} by {package}?)"
    return ""


def _options_for_others() -> str:
    """List the options of the command by which releases can be named that are not installed."""
    context = click.get_current_context(silent=True)
    parameters = context.command.params if context else []
    spellings = {spelling for parameter in parameters for spelling in parameter.opts}
    chosen = [option for option in _FOR_OTHERS if option in spellings]
    *others, last = chosen or _FOR_OTHERS
    return f"{', '.join(others)} and {last}"


def _open_installed(
    packages: Sequence[str], versions: Versions
) -> list[CheckedRelease]:
    """Open the installed releases of packages, and say which packages are not installed.

    Raises:
        UpstreamError: None of them is installed.
    """
    releases, missing = installed(packages, versions)
    if not releases:
        raise UpstreamError(
            f"found no release to look at, expected one of {', '.join(missing) or 'a package'}: "
            f"none is installed here{_near_installed(missing)}; {_options_for_others()} "
            "name others"
        )
    if missing:
        say(f"not installed, so not checked: {', '.join(missing)}")
    return releases


def not_targeted(releases: Iterable[str], packages: Iterable[str]) -> UpstreamError:
    """Return the error for releases that no patch is for.

    Args:
        releases: Their names, such as `ray 2.60.0`.
        packages: The packages that the patches change.
    """
    projects = dict.fromkeys(release.partition(" ")[0] for release in releases)
    return UpstreamError(
        f"none of the selected patches targets {', '.join(projects)}, "
        f"expected releases of {', '.join(packages)}"
    )
