"""Options that several commands have, and what reads them."""

import functools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

from patchkit.core.lock.files import Locks
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project
from patchkit.core.rows.selection import Selection
from patchkit.core.rows.target import Target
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import FoundVersion, requirement_of
from patchkit.errors import PatchkitError, VersionError, near
from patchkit.registry import OPTIONAL_PACKS, Registry, read_pack
from patchkit.runtime.drift import Drift
from patchkit.settings import Settings

Command = Callable[..., object]
Asked = TypeVar("Asked", Row, str)
_WANTED = (
    click.option(
        "--releases", metavar="SPEC", multiple=True, help="Releases on the index; repeatable."
    ),
    click.option("--path", metavar="DIR", help="A source tree, such as a checkout of vLLM."),
    click.option("--wheel", metavar="FILE", help="A wheel, or a source distribution."),
    click.option("--here", is_flag=True, help="What is installed, whatever pyproject.toml says."),
)


class Wanted(NamedTuple):
    """Which releases a command line asks for; what is installed where it says nothing."""

    releases: tuple[str, ...] = ()
    path: str | None = None
    wheel: str | None = None
    here: bool = False

    def check(self) -> None:
        """Refuse more than one of them."""
        if sum(map(bool, self)) > 1:
            named = "--releases, --path, --wheel and --here"
            raise click.UsageError(f"{named}: expected one of them at most")

    def or_of_project(self) -> "Wanted":
        """Return this, or where it says nothing the releases of the project's settings."""
        self.check()
        return self if any(self) else self._replace(releases=Project.read().releases)


def wanted_option(command: Command) -> Command:
    """Give a command that looks at releases the options that say which, as its `wanted`."""

    @functools.wraps(command)
    def with_wanted(**given: object) -> object:
        wanted = Wanted(**{name: given.pop(name) for name in Wanted._fields})  # type: ignore[arg-type]
        return command(wanted=wanted.or_of_project(), **given)

    for option in reversed(_WANTED):
        with_wanted = option(with_wanted)
    return with_wanted


def _with_packs_of_this_project(
    _: click.Context, __: click.Parameter, named: tuple[str, ...]
) -> tuple[str, ...]:
    project = Project.read()
    packs = named or project.packs
    several = [*packs, *Settings.read().packs]
    sys.path += project.folders_of(several)
    sys.path[:0] = project.folders_hidden(several)
    return packs


patches_option = click.option(
    "--patches",
    "packs",
    multiple=True,
    metavar="MODULE",
    help="A pack to add to the installed ones; default: those of pyproject.toml; repeatable.",
    callback=_with_packs_of_this_project,
)
"""Of every command that reads rows."""


def format_among(*others: str, text: str) -> Callable[[Command], Command]:
    """Make the option `--format`: a table or one of the others."""
    forms, name = click.Choice(["table", *others]), "form"
    return click.option("--format", name, type=forms, default="table", show_default=True, help=text)


format_option = format_among("json", text="For a person or for a program.")
"""Of every command that has data."""

OFFLINE = "Use only what was read before and is kept here."
offline_option = click.option("--offline", is_flag=True, help=OFFLINE)


def complete_names(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[str]:
    """Complete the name of a patch; a pack that cannot be read has none."""
    try:
        rows = Registry.collect(Settings.read(), ctx.params.get("packs") or ())
    except PatchkitError:
        return []
    return [row.name for row in rows if row.name.startswith(incomplete)]


def choose(rows: Registry, names: Collection[str]) -> list[Row]:
    """Return the rows that a command line names; all where it names none."""
    for name in names:
        if name not in rows:
            listed = f"; 'patchkit list --all' names the {len(rows)} that are"
            hint = _in_optional_pack(name) or near(name, [row.name for row in rows], 3) or listed
            raise click.UsageError(f"no patch is named {name!r}{hint}")
    return [row for row in rows if not names or row.name in names]


def _in_optional_pack(name: str) -> str:
    packs = (pack for pack in OPTIONAL_PACKS if name in [row.name for row in read_pack(pack)])
    return "".join(f" here: it is in {pack}, which --patches {pack} adds" for pack in packs)


def parse_target(text: str) -> Target:
    """Read a target of the command line."""
    try:
        return Target.parse(text)
    except ValueError as error:
        hint = "expected a target such as vllm.v1.engine.core:EngineCore.step"
        raise click.UsageError(f"found {text!r}, {hint}") from error


def lock_named(file: str | None) -> str | None:
    """Return the lock of a command line, else of `PATCHKIT_LOCK`, else of the project."""
    return file or Settings.read().lock or Project.read().lock


def locks_of(file: str | None) -> Locks:
    """Open the lock that is named, else the one here and the packs'."""
    named = lock_named(file)
    if named and not Path(named).exists():
        places = f"--lock, PATCHKIT_LOCK or {Project.read().file}, [tool.patchkit] lock"
        expected = "expected a lock, which 'patchkit lock' writes"
        raise click.UsageError(f"{places}: found no file {named!r}, {expected}")
    return Locks(named, Path())


def selection_of(settings: Settings, vllm: str | None = None) -> Selection:
    """Say what decides on rows, as in a process that patchkit arms; `vllm` is a version of it."""
    versions = Versions.of(settings)
    if vllm is not None:
        versions.believe(FoundVersion("vllm", vllm, "--vllm"))
    return Selection(settings, versions, Drift(settings.lock))


def rows_and_selection(packs: Iterable[str], vllm: str | None) -> tuple[Registry, Selection]:
    """Read the rows of this process and what decides on them, believing the version of `vllm`."""
    settings = Settings.read()
    selection = selection_of(settings, vllm)
    rows = Registry.collect(settings, packs)
    settings.check_names([row.name for row in rows])
    return rows, selection


def reason(ask: Callable[[Asked], str | None], about: Asked) -> str | None:
    """Say why something does not hold here; None where it does. A version may say nothing."""
    try:
        return ask(about)
    except VersionError as error:
        return str(error)


def distributions(rows: Iterable[Row]) -> list[str]:
    """Name the distributions that rows require, in order of mention."""
    texts = [
        text
        for row in rows
        for part in (row.patch.requires, *(change.requires for change in row.patch.changes))
        for text in part
    ]
    return list(dict.fromkeys(requirement_of(text).name for text in texts))


def without_process(registry: Registry, selection: Selection) -> Iterator[tuple[str, str]]:
    """Name the selected patches that have no process, as variables are set here, and say why."""
    chosen = [row for row in registry if reason(selection.reason_to_skip, row) is None]
    for other in registry.processes.switched_on(selection.environ):
        for name in other.leaves_out(chosen):
            yield name, f"has no process with {other.what} set: {other.why}"
