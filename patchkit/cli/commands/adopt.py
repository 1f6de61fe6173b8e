"""`patchkit adopt`: rows and bodies of what somebody has changed in another way."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.analysis.uses.packages import open_package
from patchkit.authoring.adopt.dialects import dialects
from patchkit.authoring.adopt.differing import (
    AdoptedRows,
    DifferenceRows,
    EditedInstallation,
    of_diff,
    of_releases,
)
from patchkit.authoring.adopt.piles import PileRows, read_pile
from patchkit.authoring.scaffold.plan import INIT, Place, place_of, write
from patchkit.cli import inputs, options
from patchkit.cli.commands.new import find_file
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.adopt import adopted_json, print_adopted
from patchkit.core.versions.requirements import FoundVersion, canonical
from patchkit.errors import ScaffoldError, UpstreamError

_Done = tuple[AdoptedRows, Callable[[], None]]

_KEPT = "--restore: no file was given back, as what is in no row would be lost"
_DIFFS = (".diff", ".patch", "-")


@click.command("adopt")
@click.argument("changed", metavar="PACKAGE|DIR|WHEEL|FILE.diff")
@click.option("--into", metavar="DIR|MODULE", required=True, help="The new pack.")
@click.option("--of", metavar="PACKAGE", default="vllm", show_default=True, help="What it changes.")
@click.option("--only", metavar="MODULE", multiple=True, help="Of a pile, this alone; repeatable.")
@click.option("--observe", is_flag=True, help="Import the pile in a child, too, and compare.")
@click.option("--stub", metavar="MODULE", multiple=True, help="To --observe: fake this module.")
@click.option("--installed", is_flag=True, help="Adopt what was edited of this distribution here.")
@click.option("--restore", is_flag=True, help="With --installed: give its files back.")
@options.release_options
@click.option("--dry-run", is_flag=True, help="Report, write nothing.")
@inputs.library_option
@options.format_option
def command(
    changed: str,
    into: str,
    of: str,
    only: tuple[str, ...],
    observe: bool,
    stub: tuple[str, ...],
    installed: bool,
    restore: bool,
    release_options: options.ReleaseOptions,
    dry_run: bool,
    library: Library,
    form: str,
) -> int:
    """Write rows and bodies that make the same changes.

    Of a pile, which patches another package by assignments, or registers patches; of a unified diff
    (- reads it); of a later release; or of an edited installation. Exit code 1: some is in no row.

    \b
    Examples:
      patchkit adopt my_plugin --only my_plugin.patches --into my_pack --observe
      patchkit adopt 4711.diff --into my_pack --releases vllm==0.32.0
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    _refuse_alone("--restore", restore and not installed, "--installed")
    _refuse_alone("--stub", stub and not observe, "--observe")
    place = _new_place(into)
    with progress_bar():
        if installed or _is_difference(changed, of):
            what = _of_installation if installed else _of_files
            done, undo = what(changed, of, release_options, library)
        else:
            done, undo = (
                _of_pile(changed, of, release_options, library, only, place.module),
                lambda: None,
            )
            if observe and done.patches:
                done.observe(changed, stub)
    if is_written := not dry_run and bool(done.patches):
        write(done.files(place))
    if restore and is_written:
        undo()
    return _told(done, place, form, written=is_written)


def _refuse_alone(option: str, is_alone: object, other: str) -> None:
    if is_alone:
        raise click.UsageError(f"{option}: found no {other}, expected both")


def _is_difference(changed: str, of: str) -> bool:
    named = canonical(re.split(r"[^\w.-]", changed)[0])
    return changed.endswith(_DIFFS) or ("=" in changed and named == canonical(of))


def _told(done: AdoptedRows, place: Place, form: str, *, written: bool) -> int:
    if form == "json":
        click.echo(adopted_json(done, written=written))
    else:
        print_adopted(done, place, written=written)
    return int(bool(done.left))


def _of_pile(
    changed: str,
    of: str,
    release_options: options.ReleaseOptions,
    library: Library,
    only: Sequence[str],
    pack: str,
) -> PileRows:
    base = inputs.open_packages(release_options, [of], library)[-1]
    if Path(changed, "..", INIT).is_file():
        say(f"{changed} is a part of a package: adopt all of that, with --only for this part")
    name, source = open_package(changed, library)
    readers = read_pile(source, only, dialects())
    if only and not readers:
        raise ScaffoldError(f"--only: {changed} has no module {only[0]}, expected its whole name")
    done = PileRows(
        _exactly(of, base.version),
        "-".join(Path(changed).name.split("-")[:2]) if changed.endswith(".whl") else name,
        subject=base,
        pack=pack,
        readers=readers,
    )
    done.run()
    return done


def _new_place(into: str) -> Place:
    place = place_of(into, Path(), find_file)
    if place.file.exists() and place.file.read_bytes().strip():
        raise ScaffoldError(f"{place.file} is there already, expected a new pack")
    return place


def _of_files(
    changed: str, of: str, release_options: options.ReleaseOptions, library: Library
) -> _Done:
    base = inputs.open_packages(release_options, [of], library)[-1]
    done = DifferenceRows(_exactly(of, base.version), Path(changed).name)
    if changed.endswith(_DIFFS):
        text = sys.stdin.read() if changed == "-" else _text_of(changed)
        files, done.left = of_diff(changed, text, base.source)
    else:
        if not (later := find_releases(changed, library)):
            raise UpstreamError(f"found no release that {changed!r} allows, expected one")
        files = list(of_releases(base.source, later[-1].source, of))
    done.add(files)
    return done, lambda: None


def _of_installation(changed: str, of: str, _: options.ReleaseOptions, library: Library) -> _Done:
    ours = EditedInstallation(changed)
    found = find_releases(f"{changed}=={ours.version}", library)
    if not found:
        raise UpstreamError(f"found no {changed} {ours.version} on the index, expected it there")
    files = ours.differing(found[-1].source)
    origin = f"{changed} {ours.version} as it was edited here"
    done = DifferenceRows(_exactly(of, ours.version), origin)
    done.add(files)
    return done, lambda: say(_KEPT) if done.left else ours.restore(files)


def _exactly(of: str, version: str) -> str:
    return f"{canonical(of)}=={FoundVersion(of, version, of).counts_as}"


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScaffoldError(f"{file}: {error}, expected a unified diff") from error
