"""`patchkit check`: do the patches hold against upstream, as it lies in any release?"""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit import __version__
from patchkit.cli.app import say
from patchkit.cli.options import (
    Wanted,
    complete_names,
    offline_option,
    patches_option,
    wanted_option,
)
from patchkit.cli.progress import progress
from patchkit.errors import UpstreamError
from patchkit.report.as_json import to_lines
from patchkit.rows.project import Project

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from patchkit.check.comparison import Difference
    from patchkit.check.findings import Finding, Report
    from patchkit.rows.declaration import Row

_FORMATS = ("table", "json", "github", "markdown", "html")
_FINDINGS = 1


@click.command("check")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@wanted_option
@click.option("--lock", metavar="FILE", help="Default: the project's, else the packs' own.")
@click.option("--output", metavar="FILE", help="Write it there and not to stdout.")
@offline_option
@patches_option
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="table",
    show_default=True,
    help="For a person, a program, annotations, a comment, or a page.",
)
def command(
    names: tuple[str, ...],
    wanted: Wanted,
    lock: str | None,
    output: str | None,
    offline: bool,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """
    Check patches against releases: installed ones, or any others.

    Upstream packages are neither imported nor installed. In pyproject.toml, [tool.patchkit] says
    which `releases` and `packs` by default, and what to `ignore` and `accept`. What a finding means
    is told by `patchkit explain CODE`.

    \b
    Examples:
      patchkit check                                against what is installed
      patchkit check --releases 'vllm>=0.20,<0.34'  against each of these releases
      patchkit check --path ../vllm my-patch        against a checkout, one patch
      patchkit check --releases 'vllm==0.33.0' --format github
      patchkit check --releases 'vllm>=0.20' --format html --output check.html
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    from patchkit.cli.look import accepted_codes  # noqa: PLC0415 - late: the help needs none of it

    if form == "table" and output is not None:
        raise click.UsageError("--output: expected --format json, github, markdown or html")
    ignore, accept = accepted_codes()
    found, diffs = _found(names, packs, wanted, lock, offline=offline, with_diffs=form == "html")
    report = found.accepting(ignore, accept)
    if form == "table":
        _print(report)
    else:
        _write(_text(report, form, diffs), output)
    if wanted == Wanted().or_of_project() and not names and not report.unreadable:
        _say_what_accepts_nothing(report, accept)
    return 0 if report.is_fine else _FINDINGS


def _found(
    names: Collection[str],
    packs: Collection[str],
    wanted: Wanted,
    lock: str | None,
    *,
    offline: bool,
    with_diffs: bool,
) -> tuple[Report, Sequence[Difference]]:
    from patchkit.check.checking import Check  # noqa: PLC0415 - late, as above
    from patchkit.check.comparison import differences  # noqa: PLC0415
    from patchkit.check.coverage import packages_of  # noqa: PLC0415
    from patchkit.check.review import Commands  # noqa: PLC0415
    from patchkit.cli import look  # noqa: PLC0415
    from patchkit.upstream.reading.releases import Library  # noqa: PLC0415

    rows, faults = look.rows_of(packs, names)
    named = wanted.releases if wanted != Wanted().or_of_project() else ()
    commands = Commands(look.packs_to_name(packs), lock, named)
    reviewed = look.locks_of(lock).of_all(rows)
    with Library(offline=offline, notice=say) as library, progress("reading releases") as told:
        subjects = look.open_packages(wanted, packages_of(rows), library) if rows else []
        known = look.all_versions(subjects, library)
        report = Check(rows, subjects, reviewed, known, commands).run(told)
        _refuse_what_no_row_is_about(report, rows)
        diffs = differences(rows, subjects, reviewed) if with_diffs else ()
    return replace(report, findings=[*faults, *report.findings]), diffs


def _print(report: Report) -> None:
    from patchkit.report.check_table import print_check  # noqa: PLC0415 - only one is needed
    from patchkit.report.console import console  # noqa: PLC0415

    print_check(report, console())
    if worst := report.worst:
        say(f"'patchkit explain {worst.code.code}' says what a finding means")


def _refuse_what_no_row_is_about(found: Report, rows: Sequence[Row]) -> None:
    """Releases of something else (`vllm-ascend` for `vllm`) would pass for checked."""
    from patchkit.check.codes import RELEASE_UNREADABLE  # noqa: PLC0415 - late, as above
    from patchkit.check.coverage import packages_of  # noqa: PLC0415

    unread = any(finding.code is RELEASE_UNREADABLE for finding in found.findings)
    if not found.releases or not rows or unread or any(found.grid.values()):
        return
    projects = ", ".join(dict.fromkeys(name.partition(" ")[0] for name in found.releases))
    raise UpstreamError(
        f"none of the selected patches targets {projects}, expected releases of "
        f"{', '.join(packages_of(rows))}"
    )


def _say_what_accepts_nothing(report: Report, accept: Collection[str]) -> None:
    names = {name for finding in report.accepted for name in finding.names}
    if unused := [entry for entry in accept if entry not in names]:
        say(
            f"{Project.read().file}, [tool.patchkit] accept: no finding matches {', '.join(unused)}"
        )


def _text(report: Report, form: str, diffs: Sequence[Difference]) -> str:
    if form == "json":
        return to_lines(_data(report))
    if form == "html":
        from patchkit.check.codes import explanations  # noqa: PLC0415 - only one is needed
        from patchkit.report.check_html import as_html  # noqa: PLC0415

        return as_html(report, diffs, _made(), explanations())
    if form == "github":
        from patchkit.report.check_github import as_github  # noqa: PLC0415

        return as_github(report)
    from patchkit.report.check_markdown import as_markdown  # noqa: PLC0415

    return as_markdown(report)


def _data(report: Report) -> dict[str, object]:
    counts = Counter(str(finding.severity) for finding in report.findings)
    return {
        "releases": list(report.releases),
        "findings": [
            *(_finding(finding, accepted=False) for finding in report.findings),
            *(_finding(finding, accepted=True) for finding in report.accepted),
        ],
        "grid": report.grid,
        "summary": {
            "patches": report.patches,
            "releases": report.read,
            "unreadable": len(report.unreadable),
            **{f"{severity}s": counts[severity] for severity in ("error", "warning", "info")},
            "accepted": len(report.accepted),
        },
    }


def _finding(finding: Finding, *, accepted: bool) -> dict[str, object]:
    names = ("patch", "target", "release", "message", "fix", "file", "line")
    return {
        **finding.code._asdict(),
        **{name: getattr(finding, name) for name in names},
        "details": list(finding.details),
        "accepted": accepted,
    }


def _made() -> list[str]:
    moment = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    words = click.get_current_context().find_object(list) or []
    return [f"patchkit {__version__}, {moment}", shlex.join(["patchkit", *words])]


def _write(text: str, output: str | None) -> None:
    if output is None:
        click.echo(text)
        return
    try:
        Path(output).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{output}: cannot be written ({error.strerror})") from error
