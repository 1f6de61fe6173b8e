"""`patchkit lock`: record the sources of targets as reviewed."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

from patchkit.cli.app import say
from patchkit.cli.options import complete_names, format_option, offline_option, patches_option
from patchkit.cli.progress import progress
from patchkit.report.as_json import to_json
from patchkit.text.row_lines import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from patchkit.errors import UpstreamError
    from patchkit.review.lock_format import Lock

_FINDINGS = 1


@click.command("lock")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option(
    "--releases", metavar="SPEC", multiple=True, help="Releases on the index; repeatable."
)
@click.option("--path", metavar="DIR", help="A source tree, such as a checkout of vLLM.")
@click.option("--wheel", metavar="FILE", help="A wheel, or a source distribution.")
@click.option("--here", is_flag=True, help="What is installed, whatever pyproject.toml says.")
@click.option("--lock", metavar="FILE", help="Else the project's, else each pack's own.")
@click.option("--check", "dry", is_flag=True, help="Write nothing; exit 1 if there is a change.")
@offline_option
@patches_option
@format_option
def command(
    names: tuple[str, ...],
    releases: tuple[str, ...],
    path: str | None,
    wheel: str | None,
    here: bool,
    lock: str | None,
    dry: bool,
    offline: bool,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """
    Record the targets' sources as reviewed, and show what is new of that.

    \b
    Examples:
      patchkit lock                                  as they are installed here
      patchkit lock --releases 'vllm>=0.20,<0.34'    in each of these releases
      patchkit lock my-patch --releases 'vllm==0.33.0'
      patchkit lock --releases 'vllm>=0.20' --check  say what is not reviewed yet
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    from patchkit.check.findings import told_causes  # noqa: PLC0415
    from patchkit.check.ranges import packages_of  # noqa: PLC0415
    from patchkit.check.review import accept  # noqa: PLC0415 - late: the help needs none of it
    from patchkit.cli import look  # noqa: PLC0415
    from patchkit.review.lock_format import read_lock, write_lock  # noqa: PLC0415
    from patchkit.upstream.reading.releases import Library  # noqa: PLC0415

    wanted = look.Wanted(releases, path, wheel, here).or_of_project()
    rows = look.ours(look.rows_of(packs, names)[0], names, packs)
    files = look.locks_to_write(lock, rows)
    found: dict[Path, tuple[Lock, Lock]] = {}
    faults: dict[str, UpstreamError] = {}
    with Library(offline=offline, notice=say) as library, progress("reading releases") as told:
        subjects = look.open_packages(wanted, packages_of(rows), library)
        for file, some in files.items():
            old = read_lock(file)
            new, unread = accept(old, some, subjects, told)
            found[file] = (old, new)
            faults.update(unread)
    for text in told_causes(faults):
        say(f"not looked at: {text}")
    changed = {file: new for file, (old, new) in found.items() if old != new}
    diff = [line for file, pair in found.items() for line in _diff(file, *pair)]
    for file, new in changed.items() if not dry else ():
        write_lock(file, new)
    if form == "json":
        news = {file: new for file, (_, new) in found.items()}
        click.echo(to_json(_data(news, diff, changed=bool(changed), dry=dry)))
    else:
        from patchkit.report.console import console, print_diff_lines  # noqa: PLC0415 - JSON needs no rich

        print_diff_lines(diff, console())
    for file, some in files.items():
        hint = "" if dry else look.unread(file, some)
        say(f"{shown(file)}: {_said(file in changed, dry=dry)}{hint}")
    return _FINDINGS if faults or (dry and changed) else 0


def _diff(file: Path, old: Lock, new: Lock) -> Iterator[str]:
    before, after = (lock.text().splitlines() if lock else [] for lock in (old, new))
    name = shown(file).lstrip("/")
    return difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")


def _data(
    locks: Mapping[Path, Lock], diff: Sequence[str], *, changed: bool, dry: bool
) -> dict[str, object]:
    files = list(map(shown, locks))
    return {
        "file": files[0] if files else "",
        "files": files,
        "changed": changed,
        "written": changed and not dry,
        "spans": [span for lock in locks.values() for span in _spans(lock)],
        "diff": diff,
    }


def _spans(lock: Lock) -> Iterator[dict[str, str]]:
    for patch, targets in sorted(lock.entries.items()):
        for target, spans in sorted(targets.items()):
            for span in spans:
                releases = {"project": span.project, "first": span.first, "last": span.last}
                about = {"patch": patch, "target": target}
                yield {**about, **releases, "fingerprint": span.fingerprint}


def _said(is_changed: bool, *, dry: bool) -> str:
    if not is_changed:
        return "nothing new"
    return "would change" if dry else "written; review its diff before you commit it"
