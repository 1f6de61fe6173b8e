"""Writes the report of `check` or `fit` in the format, and to the file, of the command line."""

import shlex
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

import click

from patchkit import __version__
from patchkit.analysis.check.codes import explanations, is_selector, near_selectors
from patchkit.analysis.check.comparison import Difference
from patchkit.analysis.check.findings import Report
from patchkit.cli.options import make_format_option
from patchkit.cli.output import say
from patchkit.cli.report import check_view as view
from patchkit.cli.report.check_concise import as_concise
from patchkit.cli.report.check_github import as_github, as_markdown
from patchkit.cli.report.check_html import as_html
from patchkit.cli.report.check_sarif import as_sarif
from patchkit.cli.report.check_table import print_check
from patchkit.cli.report.console import console

_FORMATS = ("json", "concise", "github", "markdown", "html", "sarif")


def _selectors(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the codes and prefixes that an option lists, as in `--select PK1,PK503`.

    Args:
        parameter: The option, for errors.
        values: Its values, each a list with commas.

    Raises:
        UsageError: One of them is no code, and no prefix of one.
    """
    selectors: list[str] = []
    for value in values:
        selectors += [part.strip().upper() for part in value.split(",")]
    for selector in selectors:
        if not is_selector(selector):
            hint = near_selectors(selector) or "; 'patchkit explain' lists them"
            raise click.UsageError(
                f"--{parameter.name}: no code starts with {selector!r}{hint}"
            )
    return tuple(selectors)


select_option = click.option(
    "--select",
    metavar="CODES",
    multiple=True,
    callback=_selectors,
    help="Report only these codes or prefixes, such as PK1,PK503; repeatable.",
)
ignore_option = click.option(
    "--ignore",
    metavar="CODES",
    multiple=True,
    callback=_selectors,
    help="Do not report these codes or prefixes; repeatable.",
)
output_option = click.option(
    "--output", metavar="FILE", help="Write to this file instead of stdout."
)
form_option = make_format_option(
    *_FORMATS,
    help_text="For a person, a program, grep, annotations, a comment, a page, code scanning.",
)


def check_output(form: str, output: str | None) -> None:
    """Refuse to write a table to a file: it is laid out for a terminal.

    Args:
        form: The value of `--format`.
        output: The value of `--output`.

    Raises:
        UsageError: There is an output file, and the format is a table.
    """
    if form == "table" and output is not None:
        *formats, last = _FORMATS
        raise click.UsageError(
            f"--output: expected --format {', '.join(formats)} or {last}"
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
        diffs: The differences of targets since their review, which only HTML shows.

    Raises:
        UsageError: The file cannot be written.
    """
    if form == "table":
        print_check(report, console())
        if report.worst:
            say(f"run 'patchkit explain {report.worst.code.code}' for details")
        return
    text = _text(report, form, as_json, diffs)
    if text:  # some formats have none without findings, not even an empty line
        text += "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(Path(output), text)
    if form == "concise":
        say(f"{view.tally(report)}; {view.scope(report)}")


def _write(file: Path, text: str) -> None:
    """Write a text to a file.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        # As to stdout: a name of a file may be no UTF-8.
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise click.UsageError(
            f"{file}: cannot be written ({error.strerror})"
        ) from error


def _text(
    report: Report, form: str, as_json: Callable[[], str], diffs: Sequence[Difference]
) -> str:
    """Return a report in a format for files and programs; see `write_report`."""
    if form == "json":
        return as_json()
    if form == "concise":
        return as_concise(report)
    if form == "github":
        return as_github(report)
    if form == "markdown":
        return as_markdown(report)
    if form == "sarif":
        return as_sarif(report, explanations())
    return as_html(report, diffs, _origin(), explanations())


def _origin() -> list[str]:
    """Return the lines that say which patchkit made a page, when, and with which command line."""
    moment = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    arguments = click.get_current_context().find_object(list) or []  # set in `app`
    return [f"patchkit {__version__}, {moment}", shlex.join(["patchkit", *arguments])]
