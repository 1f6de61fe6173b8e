"""`patchkit check`: do the patches hold against upstream, as it lies in any release?"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import click

from patchkit.analysis.check.checking import Check
from patchkit.analysis.check.codes import CODES, RELEASE_UNREADABLE
from patchkit.analysis.check.comparison import Difference, differences
from patchkit.analysis.check.coverage import released
from patchkit.analysis.check.findings import Report
from patchkit.analysis.check.review import Commands
from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.cli import look, options, pages
from patchkit.cli.output import progress
from patchkit.cli.report.as_json import check_json
from patchkit.core.rows.project import Project
from patchkit.errors import SettingsError, UpstreamError, near


@click.command("check")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names)
@options.wanted_option
@click.option("--lock", metavar="FILE", help="The lock; default: the project's or the packs'.")
@pages.output_option
@click.option("--inverse", is_flag=True, help="Also: which releases out of range would hold.")
@look.library_option
@options.patches_option
@pages.form_option
def command(
    names: tuple[str, ...],
    wanted: options.Wanted,
    lock: str | None,
    output: str | None,
    inverse: bool,
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Check patches against releases: installed ones, or any others.

    Upstream packages are neither imported nor installed. In pyproject.toml, [tool.patchkit] says
    which `releases` and `packs` by default, and what to `ignore` and `accept`. `patchkit explain
    CODE` says what a finding means.

    \b
    Examples:
      patchkit check                                against what is installed
      patchkit check --releases 'vllm>=0.20,<0.34'  against each of these releases
      patchkit check --path ../vllm my-patch        against a checkout, one patch
      patchkit check --releases 'vllm==0.33.0' --format github
      patchkit check --releases 'vllm>=0.20' --format html --output check.html
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    pages.check_output(form, output)
    how = {"inverse": inverse, "with_diffs": form == "html"}
    report, diffs = checked(names, packs, wanted, lock, library, **how)
    pages.tell(report, form, output, lambda: check_json(report), diffs)
    return 0 if report.is_fine else 1


def _expect_work(report: Report, packages: Collection[str], *, inverse: bool) -> None:
    """Raise UpstreamError where releases would pass for checked, and no patch is for any."""
    if not report.patches:  # releases of something else, such as `vllm-ascend` for `vllm`
        found = ", ".join(dict.fromkeys(name.partition(" ")[0] for name in report.releases))
        expected = f"expected releases of {', '.join(packages)}"
        raise UpstreamError(f"none of the selected patches targets {found}, {expected}")
    if report.patches == len(report.out_of_range) and report.is_fine and not inverse:
        first, last = report.releases[0], report.releases[-1]
        found = first if first == last else f"{first} to {last}"
        raise UpstreamError(
            f"found nothing to check: {found} is out of the range of each selected patch; "
            "expected a release in one: 'patchkit list --all' shows the ranges"
        )


def checked(
    names: Collection[str],
    packs: Collection[str],
    wanted: options.Wanted,
    lock: str | None,
    library: Library,
    *,
    inverse: bool = False,
    with_diffs: bool = False,
) -> tuple[Report, Sequence[Difference]]:
    """Check as the command does; return the differences of what drifted, too, where asked for."""
    project = Project.read()
    for code in (entry.partition(" ")[0] for entry in (*project.ignore, *project.accept)):
        if code not in CODES:
            hint = near(code, CODES)
            raise SettingsError(f"{project.file}: no finding has the code {code}{hint}")
    rows, faults = look.rows_of(packs, names)
    named = wanted.releases if wanted != options.Wanted().or_of_project() else ()
    commands = Commands(() if packs == project.packs else packs, lock, named)
    reviewed, packages = options.locks_of(lock).of_all(rows), released(rows)
    with progress() as told:
        subjects = look.open_packages(wanted, packages, library) if rows else []
        projects = dict.fromkeys(subject.project for subject in subjects if not subject.is_local)
        known = {name: [one.version for one in find_releases(name, library)] for name in projects}
        check = Check(rows, subjects, reviewed, known, commands, inverse=inverse)
        report = check.run(told)
        is_unread = any(finding.code is RELEASE_UNREADABLE for finding in report.findings)
        if rows and report.releases and not is_unread:
            _expect_work(report, packages, inverse=inverse)
        diffs = differences(rows, subjects, reviewed) if with_diffs else ()
    report = replace(report, findings=[*faults, *report.findings])
    return report.accepting(project.ignore, project.accept), diffs
