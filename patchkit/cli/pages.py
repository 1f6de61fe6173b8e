"""Write the report of `check` or `fit` in the format, and to the file, of the command line."""

import shlex
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

import click

from patchkit import __version__
from patchkit.analysis.check.codes import explanations
from patchkit.analysis.check.comparison import Difference
from patchkit.analysis.check.findings import Report
from patchkit.cli.options import make_format_option
from patchkit.cli.output import say
from patchkit.cli.report.check_github import as_github, as_markdown
from patchkit.cli.report.check_html import as_html
from patchkit.cli.report.check_table import print_check
from patchkit.cli.report.console import console

output_option = click.option(
    "--output", metavar="FILE", help="Write it there and not to stdout."
)
form_option = make_format_option(
    "json",
    "github",
    "markdown",
    "html",
    help_text="For a person, a program, annotations, a comment, or a page.",
)


def check_output(form: str, output: str | None) -> None:
    """Refuse to write a table, which is laid out for a terminal, to a file.

    Args:
        form: The value of `--format`.
        output: The value of `--output`.

    Raises:
        UsageError: A table is to go to a file.
    """
    if form == "table" and output is not None:
        raise click.UsageError(
            "--output: expected --format json, github, markdown or html"
        )


def write_report(
    report: Report,
    form: str,
    output: str | None,
    as_json: Callable[[], str],
    diffs: Sequence[Difference] = (),
) -> None:
    """Print a report, or write it to a file.

    Args:
        report: The report.
        form: The value of `--format`.
        output: The file to write to, or None to print.
        as_json: Makes the JSON of the report.
        diffs: What changed upstream, which only HTML shows.

    Raises:
        UsageError: The file cannot be written.
    """
    if form == "table":
        print_check(report, console())
        if report.worst:
            say(
                f"'patchkit explain {report.worst.code.code}' says what a finding means"
            )
        return
    text = _text(report, form, as_json, diffs)
    if output is None:
        click.echo(text)
        return
    try:
        Path(output).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(
            f"{output}: cannot be written ({error.strerror})"
        ) from error


def _text(
    report: Report, form: str, as_json: Callable[[], str], diffs: Sequence[Difference]
) -> str:
    if form == "json":
        return as_json()
    if form == "github":
        return as_github(report)
    if form == "markdown":
        return as_markdown(report)
    return as_html(report, diffs, _origin(), explanations())


def _origin() -> list[str]:
    """Say which patchkit has made a page, when, and with which command line."""
    moment = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    arguments = click.get_current_context().find_object(list) or []
    return [f"patchkit {__version__}, {moment}", shlex.join(["patchkit", *arguments])]
