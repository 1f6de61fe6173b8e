"""`patchkit fit`: check what a package uses of another against releases of that one."""

from dataclasses import replace
from pathlib import Path

import click

from patchkit.analysis.check.codes import CodeSelection
from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.findings import Report
from patchkit.analysis.check.fit import fit
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.analysis.upstream.reading.tree import Tree
from patchkit.analysis.uses.packages import open_package
from patchkit.cli import inputs, options, pages
from patchkit.cli.output import progress_bar, say
from patchkit.cli.report.fit_json import fit_json
from patchkit.cli.report.words import count
from patchkit.core.versions.requirements import canonical
from patchkit.errors import shown


@click.command("fit")
@click.argument("package", metavar="PACKAGE|DIR|WHEEL")
@click.option(
    "--of",
    "distribution",
    metavar="DIST",
    default="vllm",
    show_default=True,
    help="The distribution whose names it uses.",
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
    distribution: str,
    undecided: bool,
    release_options: options.ReleaseOptions,
    output: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    library: Library,
    form: str,
) -> int:
    """Check what a package uses of vLLM against releases, all of them by default.

    PACKAGE is an installed package, a folder, a wheel, or a release on the index such as name==1.0.
    It does not need to use patchkit. Neither PACKAGE nor vLLM is run.

    \b
    Examples:
      patchkit fit vllm-ascend --releases 'vllm>=0.20'
      patchkit fit dist/my_plugin-1.0-py3-none-any.whl --here
      patchkit fit . --of ray --releases 'ray>=2.40' --format markdown
      patchkit fit . --here --select PK601 --format concise
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    pages.check_output(form, output)
    # The package is taken to have the name of the distribution.
    roots = [canonical(distribution).replace("-", "_")]
    if not any(release_options):
        release_options = options.ReleaseOptions(releases=(distribution,))
    with progress_bar() as progress:
        name, source = open_package(package, library)
        # `brief`: names are looked up, and no source is compared.
        checked_releases = inputs.open_packages(
            release_options, roots, library, brief=True
        )
        result = fit(
            name,
            source,
            roots,
            checked_releases,
            FactStore(library.cache),
            progress,
            listing_undecided=undecided,
        )
    if not result.uses:
        raise click.UsageError(f"{package} does not use {distribution}")
    result = result.selecting(CodeSelection(select, ignore))
    report = _located(result.report, source)
    pages.write_report(report, form, output, lambda: fit_json(result))
    if report.undecided and not undecided:
        names = count(report.undecided, "name")
        say(f"{names} could not be decided in some release; --undecided lists them")
    return int(not report.is_fine)


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
