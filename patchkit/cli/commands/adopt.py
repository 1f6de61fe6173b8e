"""`patchkit adopt`: write rows and bodies for changes that were made in another way."""

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click

from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.opening import of_release
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.analysis.uses.packages import open_package
from patchkit.authoring.adopt.dialects import dialects
from patchkit.authoring.adopt.diff_files import DiffFiles, DiffOptions
from patchkit.authoring.adopt.differing import (
    AdoptedRows,
    DifferenceRows,
    of_releases,
)
from patchkit.authoring.adopt.installation import EditedInstallation
from patchkit.authoring.adopt.patched_package import (
    DEFAULT,
    is_release_of,
    package_of,
    package_of_paths,
    packages_in_diff,
)
from patchkit.authoring.adopt.pile_metadata import metadata_of
from patchkit.authoring.adopt.pile_observation import ObservationOptions, observe_pile
from patchkit.authoring.adopt.pile_order import read_pile
from patchkit.authoring.adopt.piles import PileRows
from patchkit.authoring.scaffold.files import write
from patchkit.authoring.scaffold.plan import INIT, PackLocation, place_of
from patchkit.cli import inputs, options
from patchkit.cli.commands.new import find_file
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.adopt import adopted_json, print_adopted
from patchkit.cli.script_runs import adopt_scripts
from patchkit.core.versions.requirements import FoundVersion, canonical
from patchkit.errors import ScaffoldError, UpstreamError

AdoptedAndRestore = tuple[AdoptedRows, Callable[[], None]]
"""The rows, and a function that restores the edited files of an installation."""

_NOT_RESTORED = "--restore: no file was given back, as what is in no row would be lost"
_FOR_DIFFS = (
    "-p, --prefix, --file and --keep-going: expected a diff, which they are for"
)
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
"""Matches `module:function`."""
_ENDS_OF_DIFFS = (".diff", ".patch", "-")


class _Asked(NamedTuple):
    """What the command line says of the child process that observes a pile.

    Args:
        observe: Whether there is one; None for where that is possible.
        calls: The functions that it calls beside the entry points.
        stubs: The modules that it fakes.
        python: The Python that it runs.
    """

    observe: bool | None
    calls: Sequence[str]
    stubs: Sequence[str]
    python: str


@click.command("adopt")
@click.argument("changed", metavar="PACKAGE|DIR|WHEEL|FILE", nargs=-1, required=True)
@click.option(
    "--into", metavar="DIR|MODULE", required=True, help="The pack to write to."
)
@click.option(
    "--of",
    "package",
    metavar="PACKAGE",
    default="",
    help="The package that it changes; by default that of the release, or vllm.",
)
@click.option(
    "--only",
    metavar="MODULE",
    multiple=True,
    help="Only this module of a pile; repeatable.",
)
@click.option(
    "--observe/--no-observe",
    default=None,
    help="Import the pile in a child process, call its entry points, and compare. The default "
    "where upstream can be imported.",
)
@click.option(
    "--call",
    "calls",
    metavar="MODULE:FUNCTION",
    multiple=True,
    help="Also call this function of the pile; repeatable.",
)
@click.option(
    "--stub", metavar="MODULE", multiple=True, help="Fake this module in the child."
)
@click.option(
    "--python", metavar="FILE", help="The Python whose environment the child runs in."
)
@click.option(
    "--installed",
    is_flag=True,
    help="Adopt the edited files of this installed distribution.",
)
@click.option("--restore", is_flag=True, help="With --installed: restore its files.")
@click.option(
    "-p",
    "strip",
    type=click.IntRange(min=0),
    metavar="N",
    help="Leave N folders out of the paths of a diff, as patch -p.",
)
@click.option(
    "--prefix", metavar="DIR", default="", help="What the paths of a diff begin with."
)
@click.option(
    "--file",
    metavar="PATH",
    default="",
    help="The file that a diff is for, if the diff does not say it.",
)
@click.option(
    "--keep-going", is_flag=True, help="List hunks of a diff that do not fit."
)
@click.option(
    "--from-script",
    "is_script",
    is_flag=True,
    help="Run scripts that edit its files, on a copy.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="With --from-script: how long a script may take.",
)
@click.option("--yes", is_flag=True, help="With --from-script: run without asking.")
@options.release_options
@click.option("--dry-run", is_flag=True, help="Report, write nothing.")
@inputs.library_option
@options.format_option
def command(
    changed: tuple[str, ...],
    into: str,
    package: str,
    only: tuple[str, ...],
    observe: bool | None,
    calls: tuple[str, ...],
    stub: tuple[str, ...],
    python: str | None,
    installed: bool,
    restore: bool,
    strip: int | None,
    prefix: str,
    file: str,
    keep_going: bool,
    is_script: bool,
    timeout: float,
    yes: bool,
    release_options: options.ReleaseOptions,
    dry_run: bool,
    library: Library,
    form: str,
) -> int:
    """Write rows and bodies that make the same changes.

    The source is a pile (a package that patches another one), a unified diff (-: standard input), a
    later release, an edited installation, or scripts that edit files (sed, patch, Python, a
    Dockerfile). Exit code 1 means that no row expresses some changes.

    \b
    Examples:
      patchkit adopt my_plugin --only my_plugin.patches --into my_pack --observe
      patchkit adopt 4711.diff --into my_pack --releases vllm==0.32.0
      patchkit adopt --from-script fix.sh --into my_pack --releases vllm==0.32.0
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    _check_options(restore=restore, installed=installed)
    _check_calls(calls, is_off=observe is False, of_child=[*calls, *stub, python or ""])
    is_other = installed or bool(observe)
    _check_sources(changed, is_script=is_script, yes=yes, is_other=is_other)
    source = changed[0]
    diff_options = DiffOptions(strip, prefix, file, keep_going)
    is_difference = not is_script and _is_difference(
        source, package, release_options, file
    )
    if diff_options != DiffOptions() and (installed or not is_difference):
        raise click.UsageError(_FOR_DIFFS)
    pack = _new_pack(into)
    if is_script:
        packages = [package or DEFAULT]
        base = inputs.open_packages(release_options, packages, library)[-1]
        package = package_of(base, package)
        requirement = _requirement(package, base.version)
        scripts = adopt_scripts(
            changed, base, package, requirement, timeout=timeout, is_confirmed=yes
        )
        return _finish(scripts, pack, form, dry_run=dry_run)
    adopted: AdoptedRows
    with progress_bar():
        if installed:
            adopted, restore_files = _adopt_installation(source, package, library)
        elif is_difference:
            adopted, restore_files = _adopt_difference(
                source, package, release_options, library, diff_options
            )
        else:
            asked = _Asked(observe, calls, stub, python or sys.executable)
            pile = _adopt_pile(
                source,
                package,
                release_options,
                library,
                only,
                pack.module,
                asked,
            )
            adopted, restore_files = pile, _restore_nothing
    if not restore:
        restore_files = _restore_nothing
    return _finish(adopted, pack, form, dry_run=dry_run, restore_files=restore_files)


def _restore_nothing() -> None:
    """Do nothing: only an edited installation has files to restore."""


def _finish(
    adopted: AdoptedRows,
    pack: PackLocation,
    form: str,
    *,
    dry_run: bool,
    restore_files: Callable[[], None] = _restore_nothing,
) -> int:
    """Write the pack and print the report; return the exit code.

    Args:
        adopted: The rows, and what no row expresses.
        pack: The pack; it is written only if there are rows.
        form: The format of the report.
        dry_run: Whether nothing shall be written.
        restore_files: Restores files, once the pack is written.
    """
    is_written = not dry_run and bool(adopted.patches)
    if is_written:
        write(adopted.files(pack))
        restore_files()
    if form == "json":
        click.echo(adopted_json(adopted, written=is_written))
    else:
        print_adopted(adopted, pack, written=is_written)
    return int(bool(adopted.left))


def _check_options(*, restore: bool, installed: bool) -> None:
    """Raise UsageError if `--restore` is set without the option that it belongs to."""
    if restore and not installed:
        raise click.UsageError(
            "--restore: found no --installed, expected both: it gives back what that adopts"
        )


def _check_calls(
    calls: Sequence[str], *, is_off: bool, of_child: Sequence[str]
) -> None:
    """Raise UsageError if a call is none, or an option of the child is set and there is none."""
    for call in calls:
        if not _FUNCTION.fullmatch(call):
            raise click.UsageError(
                f"--call: found {call!r}, expected module:function, such as my_plugin:register"
            )
    if is_off and any(of_child):
        raise click.UsageError(
            "--no-observe: found --call, --stub or --python, expected none: they are for the "
            "child process that it leaves out"
        )


def _check_sources(
    sources: Sequence[str], *, is_script: bool, yes: bool, is_other: bool
) -> None:
    """Raise UsageError if options for scripts and for other sources are mixed.

    Args:
        sources: What is to be adopted; only scripts may be several.
        is_script: Whether they are scripts.
        yes: Whether scripts may be run without a question.
        is_other: Whether an option says that they are something else.
    """
    if is_script and is_other:
        raise click.UsageError(
            "--from-script: found --installed or --observe, expected one kind of source"
        )
    if len(sources) > 1 and not is_script:
        raise click.UsageError(
            f"found {len(sources)} sources, expected one; only --from-script takes several"
        )
    if yes and not is_script:
        raise click.UsageError(
            "--yes: found no --from-script, expected both: it lets scripts run"
        )


def _observe(
    pile: PileRows, changed: str, options: ObservationOptions, *, is_required: bool
) -> None:
    """Observe a pile; where that is impossible, say so, or raise if it was asked for.

    Args:
        pile: The rows of the pile; gets more.
        changed: The pile.
        options: What is observed.
        is_required: Whether `--observe` was given.

    Raises:
        ScaffoldError: It is impossible, and was asked for.
    """
    try:
        reason = observe_pile(pile, changed, options)
    except ScaffoldError as error:
        if is_required:
            raise
        reason = str(error)
    if reason and is_required:
        raise ScaffoldError(f"--observe: {reason}")
    if reason:
        say(f"not observed: {reason}")


def _is_difference(
    changed: str, package: str, release_options: options.ReleaseOptions, file: str
) -> bool:
    """Return whether the argument is a diff, or a release of the package such as `vllm==1.0`."""
    if changed.endswith(_ENDS_OF_DIFFS) or file:
        return True
    named = [package] if package else [DEFAULT, *release_options.releases]
    return is_release_of(changed, named)


def _new_pack(into: str) -> PackLocation:
    """Return the location of a new pack.

    Args:
        into: The value of `--into`.

    Raises:
        ScaffoldError: There is a pack already.
    """
    pack = place_of(into, Path(), find_file)
    if pack.file.exists() and pack.file.read_bytes().strip():
        raise ScaffoldError(f"--into: found rows in {pack.file}, expected a new pack")
    return pack


def _adopt_pile(
    changed: str,
    package: str,
    release_options: options.ReleaseOptions,
    library: Library,
    only: Sequence[str],
    pack: str,
    asked: _Asked,
) -> PileRows:
    """Make rows of a pile: a package that patches another one by assignments.

    Args:
        changed: The pile: an installed package, a folder, a wheel, or a release.
        package: The package that it patches.
        release_options: The release of that package.
        library: The library, for releases on the index.
        only: The modules of the pile to adopt; empty for all.
        pack: The name of the new pack.
        asked: What is said of the child that observes it.

    Raises:
        ScaffoldError: The pile patches nothing, `only` names none of its modules, or it cannot be
            observed although that was asked for.
    """
    metadata = metadata_of(changed)
    pinned = metadata.pinned(package or DEFAULT)
    if pinned and not any(release_options):
        release_options = release_options._replace(releases=(pinned,))
        say(f"{changed} requires {pinned}")
    packages = [package or DEFAULT]
    base = inputs.open_packages(release_options, packages, library)[-1]  # the newest
    package = package_of(base, package)
    if Path(changed, "..", INIT).is_file():  # the folder around it is a package
        say(
            f"{changed} is a part of a package: adopt all of that, with --only for this part"
        )
    name, source = open_package(changed, library)
    readers = read_pile(source, only, dialects())
    if only and not readers:
        raise ScaffoldError(
            f"--only: found no module {only[0]} in {changed}, expected its dotted name, with that "
            "of its package"
        )
    # The name of a wheel begins with the distribution and the version.
    if changed.endswith(".whl"):
        name = "-".join(Path(changed).name.split("-")[:2])
    pile = PileRows(
        _requirement(package, base.version),
        name,
        release=base,
        pack=pack,
        readers=readers,
    )
    pile.run()
    named = [(call, "--call") for call in asked.calls]
    calls = [*metadata.calls, *named]
    if asked.observe is not False:
        options = ObservationOptions(package, asked.stubs, calls, asked.python)
        _observe(pile, changed, options, is_required=bool(asked.observe))
    pile.refuse_empty()
    return pile


def _adopt_difference(
    changed: str,
    package: str,
    release_options: options.ReleaseOptions,
    library: Library,
    diff_options: DiffOptions,
) -> AdoptedAndRestore:
    """Make rows of a unified diff, or of the differences to a later release.

    Args:
        changed: The file of the diff, `-` for stdin, or a release such as `vllm==1.0`.
        package: The package that is patched.
        release_options: The release that the rows are for.
        library: The library, for releases on the index.
        diff_options: How a diff is read.

    Raises:
        ScaffoldError: The diff does not fit the release, or contains no change.
        UpstreamError: There is no such later release.
    """
    is_diff = changed.endswith(_ENDS_OF_DIFFS) or bool(diff_options.file)
    text = _text_of(changed) if is_diff else ""
    base = _base(package, text, release_options, library)
    package = package_of(base, package)
    adopted = DifferenceRows(
        _requirement(package, base.version), Path(changed).name, release=base
    )
    if is_diff:
        diff = DiffFiles(changed, base.source, diff_options)
        diff.read(text)
        files, adopted.left = diff.files, diff.left
    else:
        later = find_releases(changed, library)
        if not later:
            raise UpstreamError(
                f"found no release that {changed!r} allows, expected one at least on the index"
            )
        # Compare with the newest release that is allowed.
        files = list(
            of_releases(base.source, later[-1].source, package.replace("-", "_"))
        )
    adopted.add(files)
    return adopted, _restore_nothing


def _base(
    package: str,
    text: str,
    release_options: options.ReleaseOptions,
    library: Library,
) -> CheckedRelease:
    """Open the newest release that the options name.

    Args:
        package: The package that is patched; '' for the one that a diff or the release says.
        text: The diff; '' for none.
        release_options: The release that the rows are for.
        library: The library, for releases on the index.

    Raises:
        UpstreamError: There is none.
    """
    packages = [package] if package else packages_in_diff(text)
    for name in packages[:-1]:
        with suppress(UpstreamError):
            return inputs.open_packages(release_options, [name], library)[-1]
    return inputs.open_packages(release_options, packages[-1:], library)[-1]


def _adopt_installation(
    changed: str, package: str, library: Library
) -> AdoptedAndRestore:
    """Make rows of the edits in the files of an installed distribution.

    Args:
        changed: The name of the distribution.
        package: The package that is patched.
        library: The library, which has the files as they were published.

    Raises:
        ScaffoldError: Nothing was edited.
        UpstreamError: The distribution is not installed, or its release is not on the index.
    """
    installation = EditedInstallation(changed)
    version = installation.version
    releases = find_releases(f"{changed}=={version}", library)
    if not releases:
        raise UpstreamError(
            f"found no {changed} {version} on the index, expected it, to compare the installed "
            "files with it"
        )
    files = installation.differing(releases[-1].source)
    package = package or package_of_paths([file.path for file in files], changed)
    origin = f"{changed} {version} as it was edited here"
    release = of_release(releases[-1], FactStore(library.cache))
    adopted = DifferenceRows(_requirement(package, version), origin, release=release)
    adopted.add(files)

    def restore() -> None:
        """Give back the edited files, unless some of their changes are in no row."""
        if adopted.left:
            say(_NOT_RESTORED)
        else:
            installation.restore(files)

    return adopted, restore


def _requirement(package: str, version: str) -> str:
    """Return the requirement for exactly one release: `vllm==0.11.0`, also for a build of it."""
    return f"{canonical(package)}=={FoundVersion(package, version, package).counts_as}"


def _text_of(file: str) -> str:
    """Read a diff from a file, or from stdin for `-`; ScaffoldError if it cannot be read."""
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScaffoldError(f"{file}: {error}, expected a unified diff") from error
