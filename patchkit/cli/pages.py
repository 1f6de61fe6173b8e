"""What `check` and `fit` found, in the form and in the place that a command line asks for."""

import shlex
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

import click

from patchkit import __version__
from patchkit.analysis.check.codes import explanations
from patchkit.analysis.check.comparison import Difference
from patchkit.analysis.check.findings import Report
from patchkit.cli.options import format_among
from patchkit.cli.output import say
from patchkit.cli.report.check_github import as_github, as_markdown
from patchkit.cli.report.check_html import as_html
from patchkit.cli.report.check_table import print_check
from patchkit.cli.report.console import console

output_option = click.option("--output", metavar="FILE", help="Write it there and not to stdout.")
form_option = format_among(
    *("json", "github", "markdown", "html"),
    text="For a person, a program, annotations, a comment, or a page.",
)


def check_output(form: str, output: str | None) -> None:
    """Refuse to write a table, which is laid out for a terminal, to a file."""
    if form == "table" and output is not None:
        raise click.UsageError("--output: expected --format json, github, markdown or html")


def tell(
    report: Report,
    form: str,
    output: str | None,
    as_json: Callable[[], str],
    diffs: Sequence[Difference] = (),
) -> None:
    """Print a report, or write it to a file."""
    if form == "table":
        print_check(report, console())
        if worst := report.worst:
            say(f"'patchkit explain {worst.code.code}' says what a finding means")
        return
    text = as_json() if form == "json" else _page(report, form, diffs)
    if output is None:
        click.echo(text)
        return
    try:
        Path(output).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{output}: cannot be written ({error.strerror})") from error


def _page(report: Report, form: str, diffs: Sequence[Difference]) -> str:
    if form != "html":
        return as_github(report) if form == "github" else as_markdown(report)
    moment = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    words = click.get_current_context().find_object(list) or []
    made = [f"patchkit {__version__}, {moment}", shlex.join(["patchkit", *words])]
    return as_html(report, diffs, made, explanations())
