"""`patchkit adopt`: write rows and bodies for changes that were made in another way."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.diffs.diff_files import DiffOptions
from patchkit.authoring.diffs.differing import (
    AdoptedRows,
)
from patchkit.authoring.diffs.patched_package import (
    DEFAULT,
    is_release_of,
)
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.scaffold.files import write
from patchkit.authoring.scaffold.plan import PackLocation, place_of
from patchkit.cli import inputs, options
from patchkit.cli.adopted_sources import (
    ENDS_OF_DIFFS,
    ChildOptions,
    adopt_difference,
    adopt_installation,
    adopt_pile,
    base_of,
    restore_nothing,
)
from patchkit.cli.commands.new import find_file
from patchkit.cli.output import busy
from patchkit.cli.report.adopt import adopted_json, print_adopted, refuse_empty
from patchkit.cli.script_runs import adopt_scripts
from patchkit.errors import ScaffoldError

_FOR_DIFFS = (
    "-p, --prefix, --file and --keep-going: expected a diff, which they are for"
)
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
"""Matches `module:function`."""


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
    help="Fail if the pile cannot be run in a child and watched; without either option it is "
    "read alone then. --no-observe never runs it.",
)
@click.option(
    "--call",
    "calls",
    metavar="MODULE:FUNCTION",
    multiple=True,
    help="Also call this function of the pile; repeatable.",
)
@click.option(
    "--stub",
    "stubs",
    metavar="MODULE",
    multiple=True,
    help="Fake this module in the child.",
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
    installed: bool,
    restore: bool,
    is_script: bool,
    timeout: float,
    yes: bool,
    release_options: options.ReleaseOptions,
    dry_run: bool,
    library: Library,
    form: str,
    **further: Any,
) -> int:
    """Write rows and bodies for patches that you have: a pile, a diff, edited files, scripts.

    The source is a pile (a package that patches another one), a unified diff (-: stdin), a later
    release, an edited installation, or scripts. Exit code 1: no row expresses some changes.

    \b
    Examples:
      patchkit adopt my_plugin --only my_plugin.patches --into my_pack
      patchkit adopt 4711.diff --into my_pack --releases vllm==0.32.0
      patchkit adopt --from-script fix.sh --into my_pack --releases vllm==0.32.0
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    # `further` has the options of diffs, and those of the child that observes a pile.
    diff_options = DiffOptions(*map(further.pop, DiffOptions._fields))
    child = ChildOptions(**further)
    _check_options(child, restore=restore, installed=installed)
    is_other = installed or bool(child.observe)
    _check_sources(changed, is_script=is_script, yes=yes, is_other=is_other)
    source = changed[0]
    is_difference = not (is_script or installed) and _is_difference(
        source, package, release_options, diff_options.file
    )
    _check_diff_options(diff_options, is_difference=is_difference)
    pack = _new_pack(into)
    if is_script:
        base, package = base_of(package, release_options, library)
        scripts = adopt_scripts(
            changed, base, package, timeout=timeout, is_confirmed=yes
        )
        return _finish(scripts, pack, form, dry_run=dry_run)
    with busy(f"adopting {source}"):
        if installed:
            adopted, restore_files = adopt_installation(
                source, package, library, restore=restore
            )
        elif is_difference:
            adopted, restore_files = adopt_difference(
                source, package, release_options, library, diff_options
            )
        else:
            adopted, restore_files = adopt_pile(
                source, package, release_options, library, only, pack.module, child
            )
    return _finish(adopted, pack, form, dry_run=dry_run, restore_files=restore_files)


def _finish(
    adopted: AdoptedRows,
    pack: PackLocation,
    form: str,
    *,
    dry_run: bool,
    restore_files: Callable[[], None] = restore_nothing,
) -> int:
    """Write the pack and print the report; return the exit code.

    Args:
        adopted: The rows, and what no row expresses.
        pack: The pack; it is written only if there are rows.
        form: The format of the report.
        dry_run: Whether nothing shall be written.
        restore_files: Restores files, once the pack is written.

    Raises:
        ScaffoldError: Nothing of a pile is to be adopted, or the pack would lie in upstream.
    """
    if isinstance(adopted, PileRows) and not adopted.sites:
        refuse_empty(adopted, form)
    _refuse_place_in_upstream(pack, adopted)
    is_written = not dry_run and bool(adopted.patches)
    if is_written:
        write(adopted.files(pack))
        restore_files()
    if form == "json":
        click.echo(adopted_json(adopted, written=is_written))
    else:
        print_adopted(adopted, pack, written=is_written)
    return int(bool(adopted.left))


def _refuse_place_in_upstream(pack: PackLocation, adopted: AdoptedRows) -> None:
    """Raise ScaffoldError if a pack would be written into a package that its rows patch."""
    top = pack.module.partition(".")[0]
    for patch in adopted.patches:
        for change in patch.changes:
            is_inside = change.place.module.partition(".")[0] == top
            if is_inside and patch.name != "old-pile":
                raise ScaffoldError(
                    f"--into: found {pack.module}, a place in {top}, which the rows patch; "
                    "expected a package of your own"
                )


def _check_options(
    child_options: ChildOptions, *, restore: bool, installed: bool
) -> None:
    """Raise UsageError if `--call` names no function, or an option lacks the one it belongs to."""
    if restore and not installed:
        raise click.UsageError(
            "--restore: found no --installed, expected both: it gives back what that adopts"
        )
    for call in child_options.calls:
        if not _FUNCTION.fullmatch(call):
            raise click.UsageError(
                f"--call: found {call!r}, expected module:function, such as my_plugin:register"
            )
    is_child_needed = any(
        (child_options.calls, child_options.stubs, child_options.python)
    )
    if child_options.observe is False and is_child_needed:
        raise click.UsageError(
            "--no-observe: found --call, --stub or --python, expected none: they are for the "
            "child process that it leaves out"
        )


def _check_diff_options(diff_options: DiffOptions, *, is_difference: bool) -> None:
    """Raise UsageError if options for diffs are set for something else."""
    if diff_options != DiffOptions() and not is_difference:
        raise click.UsageError(_FOR_DIFFS)


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


def _is_difference(
    changed: str, package: str, release_options: options.ReleaseOptions, file: str
) -> bool:
    """Return whether the argument is a diff, or a release of the package such as `vllm==1.0`."""
    if changed.endswith(ENDS_OF_DIFFS) or file:
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
