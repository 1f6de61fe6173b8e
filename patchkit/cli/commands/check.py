"""`patchkit check`: check patches against the sources of upstream releases."""

from collections.abc import Collection, Sequence

import click

from patchkit.analysis.check.checking import Check
from patchkit.analysis.check.codes import (
    RELEASE_UNREADABLE,
    CodeSelection,
    is_selector,
    near_selectors,
)
from patchkit.analysis.check.comparison import Difference, differences
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.findings import Finding, Report
from patchkit.analysis.check.packages import packages_of, released
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.review import Commands
from patchkit.analysis.upstream.reading.releases import Library, find_versions
from patchkit.cli import inputs, options, pages
from patchkit.cli.health import contradictions
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.as_json import check_json
from patchkit.cli.report.release_spans import release_spans
from patchkit.cli.used_packs import packs_line
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import Project
from patchkit.core.rows.selection import check_names
from patchkit.errors import (
    PatchNameError,
    SettingsError,
    UpstreamError,
    near,
    shown,
    some_of,
)
from patchkit.registry import is_own_pack
from patchkit.settings import Settings

_EVERY_CODE = CodeSelection()
_SLIP = 0.8
"""How alike two names are, from 0 to 1, of which one is a slip of the other."""


@click.command("check")
@click.argument(
    "names", metavar="[NAME]...", nargs=-1, shell_complete=options.complete_names
)
@options.release_options
@click.option(
    "--lock", metavar="FILE", help="The lock; default: the project's or the packs'."
)
@pages.output_option
@click.option(
    "--inverse", is_flag=True, help="Also: which releases out of range would hold."
)
@pages.select_option
@pages.ignore_option
@inputs.library_option
@inputs.machine_options
@options.patches_option
@pages.form_option
def command(
    names: tuple[str, ...],
    release_options: options.ReleaseOptions,
    lock: str | None,
    output: str | None,
    inverse: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    library: Library,
    packs: tuple[str, ...],
    form: str,
) -> int:
    """Check patches against releases: installed ones, or any others.

    Upstream packages are neither imported nor installed. [tool.patchkit] in pyproject.toml sets the
    default `releases` and `packs`, and which findings to `ignore` and `accept`. `patchkit explain
    CODE` explains a finding.

    \b
    Examples:
      patchkit check                                against what is installed
      patchkit check --releases 'vllm>=0.20,<0.34'  against each of these releases
      patchkit check --path ../vllm my-patch        against a checkout, one patch
      patchkit check --select PK1,PK6 --ignore PK105 --format concise
      patchkit check --releases 'vllm==0.33.0' --format github
      patchkit check --releases 'vllm>=0.20' --format html --output check.html
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    pages.check_output(form, output)
    for warning in contradictions(Settings.read()):
        say(warning)
    report, diffs = check_patches(
        names,
        packs,
        release_options,
        lock,
        library,
        selection=CodeSelection(select, ignore),
        inverse=inverse,
        with_diffs=form == "html",
    )
    pages.write_report(report, form, output, lambda: check_json(report), diffs)
    return int(not report.is_fine)


def _refuse_nothing_checked(
    report: Report, packages: Collection[str], *, inverse: bool
) -> None:
    """Refuse to report success if no patch is for any of the releases.

    Args:
        report: The report.
        packages: The packages that the patches change.
        inverse: Whether releases out of range are checked as well.

    Raises:
        UpstreamError: The releases are of other packages, or out of the range of every patch.
    """
    # If a pack or a release could not be read, a finding says why nothing was checked.
    if not report.releases or _is_unread(report):
        return
    if not report.patches:  # such as releases of `vllm-ascend`, for patches of `vllm`
        raise inputs.not_targeted(report.releases, packages)
    # Without a release in any range, that there is no finding means nothing. `--inverse` looks at
    # releases out of range, so that it has checked something.
    if report.patches == len(report.out_of_range) and report.is_fine and not inverse:
        releases = release_spans(report.releases, report)
        raise UpstreamError(
            f"found nothing to check: {releases} is outside the range of every selected patch; "
            "expected a release in one: 'patchkit list --all' shows the ranges"
        )


def check_patches(
    names: Collection[str],
    packs: Collection[str],
    release_options: options.ReleaseOptions,
    lock: str | None,
    library: Library,
    *,
    selection: CodeSelection = _EVERY_CODE,
    inverse: bool = False,
    with_diffs: bool = False,
) -> tuple[Report, Sequence[Difference]]:
    """Check patches as `patchkit check` does.

    Args:
        names: The names of patches; if there are none, all patches of the packs.
        packs: The packs; if there are none, all packs.
        release_options: The releases to check against.
        lock: The value of `--lock`.
        library: The library, for releases on the index.
        selection: The codes to report, as `--select` and `--ignore` name them.
        inverse: Whether to check releases out of range as well.
        with_diffs: Whether to compare the targets that changed since their review.

    Returns:
        The report without what the project ignores or accepts, and the differences, if asked for.

    Raises:
        PatchkitError: The project's settings or a lock are invalid, or there is nothing to check.
    """
    project = Project.read()
    _check_codes(project)
    rows, faults = _rows_to_check(packs, names)
    commands = _suggested_commands(packs, lock, release_options)
    reviewed = options.locks_of(lock).of_all(rows)
    packages = released(rows)
    with progress_bar() as progress:
        releases: list[CheckedRelease] = []
        if rows:
            releases = inputs.open_packages(release_options, packages, library)
        check = Check(
            rows,
            releases,
            reviewed,
            _versions_on_index(releases, library),
            commands,
            faults=faults,
            inverse=inverse,
            beside=inputs.rows_beside(packs, rows),
        )
        report = check.run(progress)
        if rows:
            _refuse_nothing_checked(report, packages, inverse=inverse)
        diffs: Sequence[Difference] = ()
        if with_diffs:
            diffs = differences(rows, releases, reviewed)
    _tell_unchecked(rows, releases, report, release_options)
    _tell_misspelled(project, [] if names else rows, report)
    # Codes that are selected by hand are reported even if the project ignores them.
    ignore = () if selection.select else project.ignore
    return report.selecting(selection).accepting(ignore, project.accept), diffs


def _rows_to_check(
    packs: Collection[str], names: Collection[str]
) -> tuple[Sequence[Row], Sequence[Finding]]:
    """Read the rows to check.

    Say on stderr if none of them is of the user's own packs, and if a variable names no patch.
    """
    rows, faults = inputs.rows_of(packs, names)
    if not names and all(is_own_pack(row.pack) for row in rows):
        say(packs_line([]))
    if not faults:  # a pack that cannot be read may have the name
        every = [*rows, *inputs.rows_beside(packs, rows)]
        try:
            check_names(Settings.read(), [row.name for row in every])
        except PatchNameError as error:
            say(f"no patch can be applied: {error}")
    return rows, faults


def _tell_unchecked(
    rows: Sequence[Row],
    releases: Sequence[CheckedRelease],
    report: Report,
    release_options: options.ReleaseOptions,
) -> None:
    """Say which patches are for other upstreams than those whose releases the project names.

    Args:
        rows: The patches that were checked.
        releases: The releases that they were checked against.
        report: The report, which says which of these could not be read.
        release_options: The releases that were asked for, by an option or by the project.
    """
    default = options.ReleaseOptions().with_project_default()
    if release_options != default or not default.releases:
        return
    if report.unreadable:
        return  # what these are for cannot be told, and a finding names them
    coverage = Coverage(rows, releases)
    unchecked: dict[str, list[str]] = {}
    for row in rows:
        if is_own_pack(row.pack):
            continue
        if not any(coverage.concerns(row, release) for release in releases):
            package, *_ = packages_of([row])
            unchecked.setdefault(package, []).append(row.name)
    file = shown(Project.read().file or "")
    for package, names in unchecked.items():
        found = f"{file} names no releases of {package}"
        say(f"not checked, as {found}: {some_of(names)}")


def _tell_misspelled(project: Project, rows: Sequence[Row], report: Report) -> None:
    """Say which entries of `accept` accept nothing, but name almost what is there.

    Of no rows nothing is said, as entries may be about others than those that were selected.
    """
    if not rows:
        return
    names = {row.name for row in rows}
    names.update(str(part.place) for row in rows for part in row.patch.parts)
    names.update(*((one.target, one.patch) for one in report.findings))
    for entry in project.accept:
        name = entry.partition(" ")[2]
        hint = near(name, names, likeness=_SLIP)
        if name not in names and hint:
            setting = f"{shown(project.file or '')}, [tool.patchkit] accept"
            say(f"{setting}: {entry!r} accepts nothing here{hint}")


def _is_unread(report: Report) -> bool:
    """Return whether a release could not be read, which is a finding itself."""
    return any(finding.code is RELEASE_UNREADABLE for finding in report.findings)


def _check_codes(project: Project) -> None:
    """Raise SettingsError if a project ignores or accepts a code that does not exist."""
    for entry in (*project.ignore, *project.accept):
        code = entry.partition(" ")[0]
        if not is_selector(code):
            # An entry of `accept`, which has a target as well, takes no prefix.
            hint = near_selectors(code, whole=entry != code)
            raise SettingsError(f"{project.file}: no finding has the code {code}{hint}")


def _suggested_commands(
    packs: Collection[str], lock: str | None, release_options: options.ReleaseOptions
) -> Commands:
    """Return the options for the commands that findings suggest, such as `patchkit lock …`.

    Options with the value of the project's settings are left out.
    """
    if packs == Project.read().packs:
        packs = ()
    releases = release_options.releases
    if release_options == options.ReleaseOptions().with_project_default():
        releases = ()
    return Commands(packs, lock, releases)


def _versions_on_index(
    releases: Sequence[CheckedRelease], library: Library
) -> dict[str, list[str]]:
    """Return all versions on the index of each project, so that ranges can be judged by them.

    Projects that are checked as they are installed or in a folder are left out: no index is asked.
    """
    versions: dict[str, list[str]] = {}
    for release in releases:
        if not release.is_local and release.project not in versions:
            versions[release.project] = find_versions(release.project, library)
    return versions
