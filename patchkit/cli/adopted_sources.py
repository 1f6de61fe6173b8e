"""Adopts what the command line names: a pile, a diff, a release or an edited installation."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.opening import of_release
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.analysis.uses.packages import open_package
from patchkit.authoring.diffs.diff_files import DiffFiles, DiffOptions
from patchkit.authoring.diffs.differing import (
    AdoptedRows,
    DifferenceRows,
    of_releases,
)
from patchkit.authoring.diffs.installation import EditedInstallation
from patchkit.authoring.diffs.patched_package import (
    DEFAULT,
    package_of,
    package_of_paths,
    packages_in_diff,
    requirement_of,
)
from patchkit.authoring.piles.dialects import dialects
from patchkit.authoring.piles.moved_names import list_moved_names
from patchkit.authoring.piles.moved_targets import list_moved_targets
from patchkit.authoring.piles.own_attributes import leave_own_attributes
from patchkit.authoring.piles.pile_metadata import metadata_of
from patchkit.authoring.piles.pile_observation import ObservationOptions, observe_pile
from patchkit.authoring.piles.pile_order import read_pile
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.scaffold.plan import INIT
from patchkit.cli import inputs, options
from patchkit.cli.output import say
from patchkit.core.plain_files import open_plain
from patchkit.errors import ScaffoldError, UpstreamError

AdoptedAndRestore = tuple[AdoptedRows, Callable[[], None]]
"""The rows, and a function that restores the edited files of an installation."""

_NOT_RESTORED = (
    "--restore: no file was given back, as what no row expresses would be lost"
)
ENDS_OF_DIFFS = (".diff", ".patch", "-")
"""How names of diffs end; `-` is standard input."""


class ChildOptions(NamedTuple):
    """What the command line says of the child process that observes a pile.

    Args:
        observe: Whether there is one; None for where that is possible.
        calls: The functions that it calls beside the entry points.
        stubs: The modules that it fakes.
        python: The Python that it runs; None for this one.
    """

    observe: bool | None
    calls: Sequence[str]
    stubs: Sequence[str]
    python: str | None


def restore_nothing() -> None:
    """Do nothing: only an edited installation has files to restore."""


def base_of(
    package: str, release_options: options.ReleaseOptions, library: Library
) -> tuple[CheckedRelease, str]:
    """Open the newest release that the options name.

    Args:
        package: The package that is patched; '' for that of the release, or vLLM.
        release_options: The release that the rows are for.
        library: The library, for releases on the index.

    Returns:
        The release, and the package.
    """
    packages = [package or DEFAULT]
    base = inputs.open_packages(release_options, packages, library)[-1]
    return base, package_of(base, package)


def adopt_pile(
    changed: str,
    package: str,
    release_options: options.ReleaseOptions,
    library: Library,
    only: Sequence[str],
    pack: str,
    child_options: ChildOptions,
) -> AdoptedAndRestore:
    """Make rows of a pile: a package that patches another one by assignments.

    Args:
        changed: The pile: an installed package, a folder, a wheel, or a release.
        package: The package that it patches.
        release_options: The release of that package.
        library: The library, for releases on the index.
        only: The modules of the pile to adopt; empty for all.
        pack: The name of the new pack.
        child_options: What is said of the child that observes it.

    Returns:
        The rows, and a function that restores files.

    Raises:
        ScaffoldError: `only` names none of its modules, or it cannot be observed although that was
            asked for.
    """
    metadata = metadata_of(changed)
    # Rows are for the very release that the pile requires, if it requires one.
    pinned = metadata.pinned(package or DEFAULT)
    if pinned and not any(release_options):
        release_options = release_options._replace(releases=(pinned,))
        say(f"{changed} requires {pinned}")
    base, package = base_of(package, release_options, library)
    if Path(changed, "..", INIT).is_file():  # the folder around it is a package
        say(
            f"{changed} is a part of a package: adopt all of that, with --only for this part"
        )
    name, source = open_package(changed, library)
    readers = read_pile(source, only, dialects())
    if only and not readers:
        raise _no_such_module(only[0], changed)
    leave_own_attributes(readers, base)
    # Of the file of a wheel, the rows name the distribution and the version, which come first.
    if changed.endswith(".whl"):
        name = "-".join(Path(changed).name.split("-")[:2])
    requirement = requirement_of(package, base.version)
    pile = PileRows(requirement, name, release=base, pack=pack, readers=readers)
    pile.run()
    if child_options.observe is not False:
        python = child_options.python or sys.executable
        # Each function, and who asks for the call.
        calls = [*metadata.calls, *((call, "--call") for call in child_options.calls)]
        observation = ObservationOptions(package, child_options.stubs, calls, python)
        _observe(pile, changed, observation, is_required=bool(child_options.observe))
    list_moved_names(pile)
    list_moved_targets(pile)
    return pile, restore_nothing


def _no_such_module(name: str, changed: str) -> ScaffoldError:
    """Make the error about a module that `--only` names, and that a pile does not have."""
    return ScaffoldError(
        f"--only: found no module {name} in {changed}, expected its dotted name, with that of its "
        "package"
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


def adopt_difference(
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

    Returns:
        The rows, and a function that restores files.

    Raises:
        ScaffoldError: The diff does not fit the release, or contains no change.
        UpstreamError: There is no such later release.
    """
    is_diff = changed.endswith(ENDS_OF_DIFFS) or bool(diff_options.file)
    text = _text_of(changed) if is_diff else ""
    base = _base(package, text, release_options, library)
    package = package_of(base, package)
    adopted = DifferenceRows(
        requirement_of(package, base.version), Path(changed).name, release=base
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
    return adopted, restore_nothing


def _base(
    package: str,
    text: str,
    release_options: options.ReleaseOptions,
    library: Library,
) -> CheckedRelease:
    """Open the newest release that the options name, of a package or of one that a diff is of.

    Args:
        package: The package that is patched; '' for the one that a diff or the release says.
        text: The diff; '' for none.
        release_options: The release that the rows are for.
        library: The library, for releases on the index.

    Raises:
        UpstreamError: There is none.
    """
    packages = [package] if package else packages_in_diff(text)
    # The first package that the options have a release of; the last one raises why there is none.
    for name in packages[:-1]:
        with suppress(UpstreamError):
            return inputs.open_packages(release_options, [name], library)[-1]
    return inputs.open_packages(release_options, packages[-1:], library)[-1]


def adopt_installation(
    changed: str, package: str, library: Library, *, restore: bool
) -> AdoptedAndRestore:
    """Make rows of the edits in the files of an installed distribution.

    Args:
        changed: The name of the distribution.
        package: The package that is patched.
        library: The library, which has the files as they were published.
        restore: Whether the files are to be restored.

    Returns:
        The rows, and a function that restores files.

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
    adopted = DifferenceRows(requirement_of(package, version), origin, release=release)
    adopted.add(files)

    def restore_files() -> None:
        """Give back the edited files, unless no row expresses some of their changes."""
        if adopted.left:
            say(_NOT_RESTORED)
        else:
            installation.restore(files)

    return adopted, restore_files if restore else restore_nothing


def _text_of(file: str) -> str:
    """Read a diff from a file, or from stdin for `-`; ScaffoldError if it cannot be read."""
    try:
        if file == "-":
            return sys.stdin.read()
        with open_plain(Path(file)) as stream:
            return (stream.read() or b"").decode("utf-8")
    except (OSError, UpstreamError, UnicodeDecodeError) as error:
        raise ScaffoldError(f"{file}: {error}, expected a unified diff") from error
