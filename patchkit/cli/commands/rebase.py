"""`patchkit rebase`: carry patches from the release they were written for to a later one."""

from collections import Counter
from collections.abc import Sequence

import click

from patchkit.analysis.check.comparison import base_of
from patchkit.analysis.check.opening import on_index, tell_files
from patchkit.analysis.check.packages import packages_of, released
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.collection import no_collection
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.authoring.rebase.rebased_range import fit_range, leave_out
from patchkit.authoring.rebase.rebasing import Rebase
from patchkit.authoring.scaffold.files import write_together
from patchkit.authoring.scaffold.replacing import is_unfinished, recover
from patchkit.cli import inputs, options
from patchkit.cli.output import progress_bar, say
from patchkit.cli.rebased_pack import faults_of
from patchkit.cli.report.rebase import print_rebase, rebase_json
from patchkit.core.rows.declaration import Row
from patchkit.core.versions.requirements import canonical
from patchkit.errors import ScaffoldError

_UNFINISHED = (
    "a rebase was killed while it wrote files of the pack; the next one without --dry-run takes "
    "that back first"
)


@click.command("rebase")
@click.argument(
    "names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names
)
@click.option("--all", "every", is_flag=True, help="Every patch of this project.")
@click.option(
    "--to", "new", metavar="V", required=True, help="The release to carry them to."
)
@click.option(
    "--from",
    "old",
    metavar="V",
    help="Default: the last reviewed, or the newest in range.",
)
@click.option("--keep", is_flag=True, help="Keep the old changes for earlier releases.")
@click.option("--dry-run", is_flag=True, help="Report, write nothing.")
@click.option(
    "--lock", metavar="FILE", help="The lock; default: the project's or the packs'."
)
@options.offline_option
@options.patches_option
@options.format_option
def command(
    names: tuple[str, ...],
    every: bool,
    new: str,
    old: str | None,
    keep: bool,
    dry_run: bool,
    lock: str | None,
    offline: bool,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Carry patches to a later release by a three-way merge.

    Edits, and copies of upstream's functions, are merged by git with what upstream changed; targets
    and imports follow what moved. A row is written if `check` holds. Exit code 1: conflicts.

    \b
    Examples:
      patchkit rebase my-patch --to 0.33.0 --dry-run
      patchkit rebase --all --to 0.33.0 --keep   also for earlier releases
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if names and every:
        raise click.UsageError("found names and --all, expected one of them")
    if not names and not every:
        raise click.UsageError("found no name of a patch, expected one, or --all")
    rows = inputs.own_rows_of(packs, names)
    locks = options.locks_of(lock)
    package = _most_changed_package(rows)
    rebases: list[Rebase] = []
    try:
        with (
            no_collection(),
            Library(offline=offline, notice=say) as library,
            progress_bar(),
        ):
            releases = on_index(canonical(package), library, telling=False)
            for row in rows:
                if package not in packages_of([row]):
                    say(f"{row.name}: left as it is, it changes nothing of {package}")
                    continue
                old_release, new_release = base_of(
                    row, releases, locks.of_all([row]), old, new
                )
                tell_files((old_release, new_release), library)
                pack = PackSource(row.pack)
                rebase = Rebase(row, old_release, new_release, pack, keep=keep)
                _run(rebase, releases, write=not dry_run, offline=offline)
                rebases.append(rebase)
    finally:  # also after an error, report what has been written
        _print(rebases, form, written=not dry_run)
    return int(any(rebase.conflicts for rebase in rebases))


def _most_changed_package(rows: Sequence[Row]) -> str:
    """Return the package on an index that most of the rows change."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(packages_of([row]))
    return max(released(rows), key=counts.__getitem__)


def _print(rebases: Sequence[Rebase], form: str, *, written: bool) -> None:
    """Print the results; nothing if an error came before the first."""
    if not rebases:
        return
    if form == "json":
        click.echo(rebase_json(rebases))
    else:
        print_rebase(rebases, written=written)


def _run(
    rebase: Rebase, releases: Sequence[CheckedRelease], *, write: bool, offline: bool
) -> None:
    """Carry a patch to the later release, check it, and write its files.

    An error becomes a conflict of this patch, so that the others are still carried.

    Args:
        rebase: The patch and the releases.
        releases: All releases of the distribution, the oldest first.
        write: Whether to write files.
        offline: Whether the check may read only the cache.
    """
    pack = rebase.pack
    files = [pack.path, *pack.bodies.values()]
    try:
        # A rebase that was killed may have left files half written: they are read only after that
        # was taken back.
        if write:
            recover(files)
        elif is_unfinished(files):
            raise ScaffoldError(_UNFINISHED)
        rebase.run()
        if not rebase.conflicts:
            _plan(rebase, releases, offline=offline)
        if write:
            # The file of the row is the first, and is written last: the new row needs the new body.
            write_together(rebase.files[::-1])
    except (ScaffoldError, OSError, ValueError) as error:
        rebase.refuse([str(error)])


def _plan(rebase: Rebase, releases: Sequence[CheckedRelease], *, offline: bool) -> None:
    """Plan the files of a carried patch, whose range has only releases that it holds for.

    Args:
        rebase: The patch, after `run`.
        releases: All releases of the distribution, the oldest first.
        offline: Whether the check may read only the cache.
    """
    added = fit_range(rebase, releases)
    rebase.plan()
    if rebase.result == "retired":
        return  # only the end of its range is new, so nothing has to hold anew
    faults = faults_of(rebase, added, offline=offline)
    for release in added:
        reasons = faults.get(release.name)
        if reasons:
            leave_out(rebase, release, reasons[0])
    rebase.plan()  # once more, as the range may have lost releases
    # Under '' are the faults that are of no single release that was added.
    rebase.refuse(faults.get("", ()))
