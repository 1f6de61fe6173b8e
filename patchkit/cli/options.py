"""Options that several commands have, and what reads them."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from patchkit.errors import PatchkitError, near
from patchkit.registry import Registry
from patchkit.review.drift import Drift
from patchkit.rows.project import Project
from patchkit.rows.selection import Selection
from patchkit.settings import Settings
from patchkit.versions.installed import Versions
from patchkit.versions.requirements import FoundVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from patchkit.rows.declaration import Row

_WANTED = (
    click.option(
        "--releases", metavar="SPEC", multiple=True, help="Releases on the index; repeatable."
    ),
    click.option("--path", metavar="DIR", help="A source tree, such as a checkout of vLLM."),
    click.option("--wheel", metavar="FILE", help="A wheel, or a source distribution."),
    click.option("--here", is_flag=True, help="What is installed, whatever pyproject.toml says."),
)
_Command = TypeVar("_Command", bound="Callable[..., object]")


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

    def or_of_project(self) -> Wanted:
        """Return this, or where it says nothing the releases of the project's settings."""
        self.check()
        return self if any(self) else self._replace(releases=Project.read().releases)


def wanted_option(command: Callable[..., object]) -> Callable[..., object]:
    """Give a command that looks at releases the options that say which, as its `wanted`."""

    @functools.wraps(command)
    def with_wanted(
        *,
        releases: tuple[str, ...],
        path: str | None,
        wheel: str | None,
        here: bool,
        **rest: object,
    ) -> object:
        return command(wanted=Wanted(releases, path, wheel, here).or_of_project(), **rest)

    for option in reversed(_WANTED):
        with_wanted = option(with_wanted)
    return with_wanted


def patches_option(command: _Command) -> _Command:
    """Give a command that reads rows `--patches MODULE`, repeatable; else the project's packs."""
    return click.option(
        "--patches",
        "packs",
        multiple=True,
        metavar="MODULE",
        help="A pack to add to the installed ones; default: those of pyproject.toml; repeatable.",
        callback=_with_packs_of_this_project,
    )(command)


def _with_packs_of_this_project(
    _: click.Context, __: click.Parameter, named: tuple[str, ...]
) -> tuple[str, ...]:
    project = Project.read()
    packs = named or project.packs
    sys.path += project.folders_of([*packs, *Settings.read().packs])
    return packs


def format_option(command: _Command) -> _Command:
    """Give a command that has data `--format table|json`."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json"]),
        default="table",
        show_default=True,
        help="For a person or for a program.",
    )(command)


def offline_option(command: _Command) -> _Command:
    """Give a command that reads releases `--offline`."""
    return click.option(
        "--offline", is_flag=True, help="Use only what was read before and is kept here."
    )(command)


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
            raise click.UsageError(_unknown(name, rows))
    return [row for row in rows if not names or row.name in names]


def _unknown(name: str, rows: Registry) -> str:
    names = [row.name for row in rows]
    hint = near(name, names, 3) or f"; 'patchkit list --all' names the {len(names)} that are"
    return f"no patch is named {name!r}{hint}"


def selection_of(settings: Settings) -> Selection:
    """Say what decides on rows, as in a process that patchkit arms."""
    return Selection(settings, Versions.of(settings), Drift(settings.lock))


def rows_and_selection(packs: Iterable[str], vllm: str | None = None) -> tuple[Registry, Selection]:
    """Read the rows of this process and what decides on them, believing the version of `vllm`."""
    settings = Settings.read()
    versions = Versions.of(settings)
    if vllm is not None:
        versions.believe(FoundVersion("vllm", vllm, "--vllm"))
    rows = Registry.collect(settings, packs)
    settings.check_names([row.name for row in rows])
    return rows, Selection(settings, versions, Drift(settings.lock))
