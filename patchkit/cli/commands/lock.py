"""`patchkit lock`: record the sources of targets as reviewed."""

import difflib
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from patchkit.analysis.check.coverage import released
from patchkit.analysis.check.findings import told_causes
from patchkit.analysis.check.review import accept
from patchkit.analysis.check.subjects import Subject
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.cli import look, options
from patchkit.cli.output import progress, say
from patchkit.cli.report.as_json import lock_json
from patchkit.cli.report.console import console, print_diff_lines
from patchkit.core.lock.files import NAME, Locks
from patchkit.core.lock.format import Lock, read_lock, write_lock
from patchkit.core.record import grouped
from patchkit.core.rows.declaration import Row
from patchkit.errors import UpstreamError, shown
from patchkit.settings import Settings

BeforeAndAfter = dict[Path, tuple[Lock, Lock]]
_TO_WRITE = "would change; run 'patchkit lock', and review its diff"
_WRITTEN = "written; review its diff before you commit it"


@click.command("lock")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names)
@options.wanted_option
@click.option("--lock", metavar="FILE", help="The lock; default: the project's or the packs'.")
@click.option("--check", "dry", is_flag=True, help="Write nothing; exit 1 if there is a change.")
@look.library_option
@options.patches_option
@options.format_option
def command(
    names: tuple[str, ...],
    wanted: options.Wanted,
    lock: str | None,
    dry: bool,
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Record the targets' sources as reviewed, and show what changes in the lock.

    \b
    Examples:
      patchkit lock                                  as they are installed here
      patchkit lock --releases 'vllm>=0.20,<0.34'    in each of these releases
      patchkit lock my-patch --releases 'vllm==0.33.0'
      patchkit lock --releases 'vllm>=0.20' --check  say what is not reviewed yet
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    rows = look.own_rows_of(packs, names)
    files = _files(lock, rows)
    with progress() as told:
        subjects = look.open_packages(wanted, released(rows), library)
        found, faults = _accepted(files, subjects, told)
    for text in told_causes(faults):
        say(f"not looked at: {text}")
    changed = [file for file, (old, new) in found.items() if old != new]
    for file in () if dry else changed:
        write_lock(file, found[file][1])
    diff = [line for file, pair in found.items() for line in _diff(file, *pair)]
    if form == "json":
        click.echo(lock_json(found, diff, written=bool(changed) and not dry))
    else:
        print_diff_lines(diff, console())
    for file, some in files.items():
        said = (_TO_WRITE if dry else _WRITTEN) if file in changed else "nothing new"
        say(f"{shown(file)}: {said}{'' if dry else _unread(file, some)}")
    return 1 if faults or (dry and changed) else 0


def _files(named: str | None, rows: Iterable[Row]) -> Mapping[Path, Sequence[Row]]:
    """Choose where reviews are recorded: in the file that is named, else in each pack's own.

    A pack without a lock gets one in its folder, so that processes read it. An installer's folder
    is left alone: what is reviewed of such packs is recorded here.
    """
    file = options.lock_named(named)
    return grouped((Path(file) if file else _place(row.pack), row) for row in rows)


def _place(pack: str) -> Path:
    home = Locks.home(pack)
    return Locks().own(pack) or home if home else Path(NAME)


def _unread(file: Path, rows: Sequence[Row]) -> str:
    """Say what a lock needs for processes to read it, wherever they run; '' where nothing."""
    row = rows[0]
    read, home = Locks(Settings.read().lock).file(row), Locks.home(row.pack)
    if read is None or read.resolve() != file.resolve():
        return f"; processes read it where PATCHKIT_LOCK={shlex.quote(str(file.resolve()))} is set"
    if home and not file.resolve().is_relative_to(home.parents[row.pack.count(".")].resolve()):
        return f"; a wheel does not carry it there: move it to {shown(home)}"
    return ""


def _accepted(
    files: Mapping[Path, Sequence[Row]], subjects: Sequence[Subject], told: Progress | None
) -> tuple[BeforeAndAfter, dict[str, UpstreamError]]:
    found: BeforeAndAfter = {}
    faults: dict[str, UpstreamError] = {}
    for file, some in files.items():
        old = read_lock(file)
        new, unread = accept(old, some, subjects, told)
        found[file] = (old, new)
        faults.update(unread)
    return found, faults


def _diff(file: Path, old: Lock, new: Lock) -> Iterator[str]:
    before, after = (lock.text().splitlines() if lock else [] for lock in (old, new))
    name = shown(file).lstrip("/")
    return difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
