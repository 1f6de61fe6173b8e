"""`patchkit adopt`: rows and bodies of what somebody has changed in another way."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from patchkit.adopt.differing import DifferenceRows, EditedInstallation, of_diff, of_releases
from patchkit.adopt.pack import pack_files
from patchkit.cli import look, options
from patchkit.cli.new import find_file
from patchkit.cli.output import progress, say
from patchkit.errors import ScaffoldError, UpstreamError
from patchkit.report.as_json import differences_json
from patchkit.scaffold.plan import Place, place_of, write
from patchkit.upstream.reading.releases import Library, find_releases
from patchkit.versions.requirements import FoundVersion, canonical

_Done = tuple[DifferenceRows, Callable[[], None]]


_DIFFS = (".diff", ".patch", "-")


@click.command("adopt")
@click.argument("changed", metavar="FILE.diff|NAME==VERSION|DIST")
@click.option("--into", metavar="DIR|MODULE", required=True, help="The new pack.")
@click.option("--of", metavar="PACKAGE", default="vllm", show_default=True, help="What it changes.")
@click.option("--installed", is_flag=True, help="Adopt what was edited of this distribution here.")
@click.option("--restore", is_flag=True, help="With --installed: give its files back.")
@options.wanted_option
@click.option("--dry-run", is_flag=True, help="Report, write nothing.")
@options.offline_option
@options.format_option
def command(
    changed: str,
    into: str,
    of: str,
    installed: bool,
    restore: bool,
    wanted: options.Wanted,
    dry_run: bool,
    offline: bool,
    form: str,
) -> int:
    """Write rows and bodies that make the same changes.

    Of a unified diff, as of a pull request (- reads standard input); of a later release against the
    one that --releases, --path or --wheel names; or of what somebody has edited of an installed
    distribution. What no row says is listed, and makes the exit code 1.

    \b
    Examples:
      patchkit adopt 4711.diff --into my_pack --releases vllm==0.32.0
      patchkit adopt vllm==0.27.1 --into fixes --releases vllm==0.27.0
      patchkit adopt vllm --installed --into my_pack --restore
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if restore and not installed:
        raise click.UsageError("--restore: found no --installed, expected both")
    place = _new_place(into)
    with Library(offline=offline, notice=say) as library, progress():
        made = _of_installation if installed else _of_files
        done, undo = made(changed, of, wanted, library)
    if not dry_run:
        write(pack_files(place, done.patches, done.bodies))
        if restore:
            undo()
    _tell(done, place, form, written=not dry_run)
    return int(bool(done.unsaid))


def _new_place(into: str) -> Place:
    place = place_of(into, Path(), find_file)
    if place.file.exists() and place.file.read_bytes().strip():
        raise ScaffoldError(f"{place.file} is there already, expected a new pack")
    return place


def _tell(done: DifferenceRows, place: Place, form: str, *, written: bool) -> None:
    from patchkit.report.rows import print_differences  # noqa: PLC0415

    if form == "json":
        click.echo(differences_json(done, written=written))
    else:
        print_differences(done, place, written=written)


def _of_files(changed: str, of: str, wanted: options.Wanted, library: Library) -> _Done:
    base = look.open_packages(wanted, [of], library)[-1]
    done = DifferenceRows(_exactly(of, base.version), Path(changed).name)
    if changed.endswith(_DIFFS):
        text = sys.stdin.read() if changed == "-" else _text_of(changed)
        files, done.unsaid = of_diff(changed, text, base.source)
    else:
        later = find_releases(changed, library)
        if not later:
            raise UpstreamError(f"found no release that {changed!r} allows, expected one")
        files = list(of_releases(base.source, later[-1].source, of))
    done.add(files)
    return done, lambda: None


def _of_installation(changed: str, of: str, _: options.Wanted, library: Library) -> _Done:
    ours = EditedInstallation(changed)
    found = find_releases(f"{changed}=={ours.version}", library)
    if not found:
        raise UpstreamError(f"found no {changed} {ours.version} on the index, expected it there")
    files = ours.differing(found[-1].source)
    done = DifferenceRows(
        _exactly(of, ours.version), f"{changed} {ours.version} as it was edited here"
    )
    done.add(files)
    return done, lambda: ours.restore(files)


def _exactly(of: str, version: str) -> str:
    return f"{canonical(of)}=={FoundVersion(of, version, of).counts_as}"


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScaffoldError(f"{file}: {error}, expected a unified diff") from error
