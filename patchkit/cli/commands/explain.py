"""`patchkit explain`: what a finding checks, why it matters, an example, what to do instead."""

import click

from patchkit.analysis.check.codes import CODES, explanations
from patchkit.cli.options import format_option
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.doctor import print_codes, print_explain
from patchkit.errors import near


@click.command("explain")
@click.argument("code", metavar="[CODE]", required=False)
@format_option
def command(code: str | None, form: str) -> None:
    """Explain a finding of `patchkit check`: what it means, and how to fix it.

    \b
    Examples:
      patchkit explain            list every code
      patchkit explain PK2        list those that begin with it
      patchkit explain PK201      explain one
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    typed = (code or "").upper()
    codes = [known for known in CODES.values() if known.code.startswith(typed)]
    if not codes:
        hint = near(typed, CODES, 3) or "; 'patchkit explain' lists them"
        raise click.UsageError(f"no finding has the code {code!r}{hint}")
    texts = explanations()
    if form == "json":
        data = [
            {**explained._asdict(), "text": texts[explained.code]}
            for explained in codes
        ]
        click.echo(to_json({"findings": data}))
    elif typed in CODES:
        print_explain(codes[0], texts[codes[0].code])
    else:
        print_codes(codes)
