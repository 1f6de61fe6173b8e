"""Defines the options that several commands share, and evaluates their values."""

import functools
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from patchkit.cli.output import say
from patchkit.core.lock.files import Locks
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project, holds_rows, misnamed_section
from patchkit.core.rows.selection import Selection, check_names
from patchkit.core.rows.target import Target
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import FoundVersion, parse_requirement
from patchkit.errors import PatchkitError, VersionError, near
from patchkit.registry import OPTIONAL_PACKS, Registry, read_pack
from patchkit.runtime.drift import Drift
from patchkit.settings import Settings, named_packs

Command = Callable[..., object]
RowOrRequirement = TypeVar("RowOrRequirement", Row, str)
_RELEASE_OPTIONS = (
    click.option(
        "--releases",
        metavar="SPEC",
        multiple=True,
        help="Releases on the index; repeatable.",
    ),
    click.option(
        "--path", metavar="DIR", help="A source tree, such as a checkout of vLLM."
    ),
    click.option("--wheel", metavar="FILE", help="A wheel, or a source distribution."),
    click.option(
        "--here", is_flag=True, help="What is installed, whatever pyproject.toml says."
    ),
)


class ReleaseOptions(NamedTuple):
    """The options that name the releases to look at; without any, the installed ones.

    Args:
        releases: Requirements for releases on the index, such as `vllm>=0.30`.
        path: The folder of a source tree.
        wheel: The file of a wheel, or of a source distribution.
        here: Whether `--here` names the installed releases, despite the project's settings.
    """

    releases: tuple[str, ...] = ()
    path: str | None = None
    wheel: str | None = None
    here: bool = False

    def check(self) -> None:
        """Raise an error if more than one of the options is set.

        Raises:
            UsageError: More than one of them is set.
        """
        values = [value for value in self if value]
        if len(values) > 1:
            names = "--releases, --path, --wheel and --here"
            raise click.UsageError(f"{names}: expected at most one of them")

    def with_project_default(self) -> "ReleaseOptions":
        """Return these options, or the releases of the project's settings where none is set.

        Raises:
            UsageError: More than one option is set.
            SettingsError: The project's settings are invalid.
        """
        self.check()
        if any(self):
            return self
        return self._replace(releases=Project.read().releases)


def release_options(command: Command) -> Command:
    """Add the options of `ReleaseOptions` to a command, as a decorator.

    Args:
        command: A function with a parameter `release_options`, for a `ReleaseOptions`.

    Returns:
        The function for click, which has a parameter for each option instead.
    """

    @functools.wraps(command)
    def with_release_options(**arguments: Any) -> object:
        values = {name: arguments.pop(name) for name in ReleaseOptions._fields}
        chosen = ReleaseOptions(**values).with_project_default()
        return command(release_options=chosen, **arguments)

    decorated: Command = with_release_options
    # click's help lists options in the order of decorators, of which the last is applied first.
    for option in reversed(_RELEASE_OPTIONS):
        decorated = option(decorated)
    return decorated


def _with_packs_of_this_project(
    ctx: click.Context, __: click.Parameter, named: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the packs of the command line, or else the project's.

    Their folders are first added to `sys.path`, so that the packs can be imported: in front where
    Python would import another copy, such as an installed one, and else at the end.
    """
    project = Project.read()
    misnamed = misnamed_section()
    if misnamed and not ctx.resilient_parsing:  # the shell completes a command line
        say(misnamed)
    packs = named or project.packs
    # The command reads all settings, unless PATCHKIT=0 says that none counts.
    packs_to_import = [*packs, *named_packs(os.environ)]
    sys.path += project.folders_of(packs_to_import)
    sys.path[:0] = project.folders_hidden(packs_to_import)
    return packs


patches_option = click.option(
    "--patches",
    "packs",
    multiple=True,
    metavar="MODULE",
    help="A pack to add to the installed ones; default: those of pyproject.toml; repeatable.",
    callback=_with_packs_of_this_project,
)
"""The option `--patches`, for every command that reads rows."""


def make_format_option(*formats: str, help_text: str) -> Callable[[Command], Command]:
    """Make the option `--format`, whose default is `table`.

    Args:
        formats: The formats to choose from, besides `table`.
        help_text: What the help says about the option.

    Returns:
        A decorator for a command, which gets the chosen format as `form`.
    """
    return click.option(
        "--format",
        "form",
        type=click.Choice(["table", *formats]),
        default="table",
        show_default=True,
        help=help_text,
    )


format_option = make_format_option(
    "json", help_text="Output for people or for programs."
)
"""The option `--format`, for every command that prints data."""

OFFLINE_HELP = "Use only the cache of what was read before."
offline_option = click.option("--offline", is_flag=True, help=OFFLINE_HELP)


def complete_names(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[str]:
    """Return the names of patches that begin with what the user has typed, for the shell.

    Args:
        ctx: The context of the command, with the values of the options so far.
        param: The argument to complete.
        incomplete: The beginning of the name.

    Returns:
        The names; none if a pack cannot be read.
    """
    try:
        rows = Registry.collect(Settings.read(), ctx.params.get("packs") or ())
    except PatchkitError:
        return []
    return [row.name for row in rows if row.name.startswith(incomplete)]


def choose(rows: Registry, names: Collection[str]) -> list[Row]:
    """Return the rows with the given names, or all rows if no names are given.

    Args:
        rows: The rows to choose from.
        names: The names of patches.

    Returns:
        The rows, in the order of the registry.

    Raises:
        UsageError: No patch has one of the names.
    """
    for name in names:
        if name not in rows:
            raise click.UsageError(f"no patch is named {name!r}{_hint_for(name, rows)}")
    return [row for row in rows if not names or row.name in names]


def _hint_for(name: str, rows: Registry) -> str:
    """Return a hint about an unknown name: what else it names, similar names, or `list --all`."""
    if ":" in name:
        return ", which is a target: 'patchkit history' takes targets"
    pack_here = ".".join(Path(name).parts)
    is_module = all(map(str.isidentifier, pack_here.split(".")))
    if is_module and holds_rows(Path(name, "__init__.py")):
        return f"; {pack_here} is a pack: --patches {pack_here} names it"
    for pack in OPTIONAL_PACKS:
        if name in [row.name for row in read_pack(pack)]:
            return f" here: it is in {pack}, which --patches {pack} adds"
    similar = near(name, [row.name for row in rows], 3)
    return similar or f"; 'patchkit list --all' lists all {len(rows)}"


def parse_target(text: str) -> Target:
    """Parse a target of the command line.

    Args:
        text: The target, such as `vllm.v1.engine.core:EngineCore.step`.

    Returns:
        The target.

    Raises:
        UsageError: The text is no target.
    """
    try:
        return Target.parse(text)
    except ValueError as error:
        hint = "expected a target such as vllm.v1.engine.core:EngineCore.step"
        raise click.UsageError(f"found {text!r}, {hint}") from error


def lock_named(file: str | None) -> str | None:
    """Return the lock file that the command line, `PATCHKIT_LOCK` or the project names.

    Args:
        file: The value of `--lock`, which has precedence.

    Returns:
        The file, which need not exist; None if none is named.
    """
    return file or Settings.read().lock or Project.read().lock


def locks_of(file: str | None) -> Locks:
    """Return the locks: the file that is named, or else those of the packs and of this directory.

    Args:
        file: The value of `--lock`; None for the file that a variable or the project names.

    Raises:
        UsageError: A file is named that does not exist.
    """
    name = lock_named(file)
    # `os.path`: unlike a `Path`, it raises no error for a name that no file can have.
    if name and not os.path.exists(name):  # noqa: PTH110
        settings = (
            f"--lock, PATCHKIT_LOCK or {Project.read().file}, [tool.patchkit] lock"
        )
        expected = "expected a lock, which 'patchkit lock' writes"
        raise click.UsageError(f"{settings}: found no file {name!r}, {expected}")
    return Locks(name, Path())


def selection_of(settings: Settings, vllm: str | None = None) -> Selection:
    """Return the selection that tells which rows apply here, as in a process with patches.

    Args:
        settings: The settings of this process.
        vllm: The version of vLLM to assume, or None for the installed one.
    """
    versions = Versions.of(settings)
    if vllm is not None:
        versions.believe(FoundVersion("vllm", vllm, "--vllm"))
    return Selection(settings, versions, Drift(settings.lock))


def rows_and_selection(
    packs: Iterable[str], vllm: str | None
) -> tuple[Registry, Selection]:
    """Return the rows of all packs, and the selection that tells which of them apply here.

    Args:
        packs: Packs to add to the installed ones.
        vllm: The version of vLLM to assume, or None for the installed one.

    Raises:
        PatchkitError: A pack or a setting is invalid, or a setting names an unknown patch.
    """
    settings = Settings.read()
    selection = selection_of(settings, vllm)
    rows = Registry.collect(settings, packs)
    check_names(settings, [row.name for row in rows])
    return rows, selection


def reason(
    find_reason: Callable[[RowOrRequirement], str | None], examined: RowOrRequirement
) -> str | None:
    """Return why a row does not apply here, or a requirement is not met; None if it does or is.

    A version that cannot be determined is a reason, too, and not an error.

    Args:
        find_reason: Returns the reason, or raises VersionError.
        examined: The row, or the requirement.
    """
    try:
        return find_reason(examined)
    except VersionError as error:
        return str(error)


def required_distributions(rows: Iterable[Row]) -> list[str]:
    """List the distributions that rows and their changes require.

    Args:
        rows: The rows.

    Returns:
        Their names, each once, in the order in which they are first required.
    """
    requirements: list[str] = []
    for row in rows:
        requirements += row.patch.requires
        for change in row.patch.changes:
            requirements += change.requires
    return list(dict.fromkeys(parse_requirement(text).name for text in requirements))


def without_process(
    registry: Registry, selection: Selection
) -> Iterator[tuple[str, str]]:
    """Find patches that apply here, but have no process with the present environment variables.

    An engine's variable may keep it from starting the processes of a role, such as workers.

    Args:
        registry: The rows, and the table of processes.
        selection: Tells which rows apply here.

    Yields:
        The name of a patch, and why no process is for it.
    """
    selected = [
        row for row in registry if reason(selection.reason_to_skip, row) is None
    ]
    for switch in registry.processes.switched_on(selection.environ):
        for name in switch.leaves_out(selected):
            yield name, f"has no process with {switch.what} set: {switch.why}"
