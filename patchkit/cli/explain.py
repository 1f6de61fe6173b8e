"""`patchkit explain`: what a finding means, an example, and what to do."""

from __future__ import annotations

import click

from patchkit.check.codes import CODES
from patchkit.cli.facts.explain import explain_facts
from patchkit.cli.options import format_option
from patchkit.text.suggestion import near


@click.command("explain")
@click.argument("code", metavar="[CODE]", required=False)
@format_option
def command(code: str | None, form: str) -> None:
    """
    Say what a finding of `patchkit check` means, and what to do.

    \b
    Examples:
      patchkit explain            every code, in a line each
      patchkit explain PK201      what it means, an example, the fix
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    if code is not None and code.upper() not in CODES:
        hint = near(code.upper(), CODES, 3) or "; 'patchkit explain' lists them"
        raise click.UsageError(f"no finding has the code {code!r}{hint}")
    several = [explain_facts(one) for one in ([code.upper()] if code else CODES)]
    if form == "json":
        from patchkit.report.as_json import to_json  # noqa: PLC0415 - only one of them is needed

        click.echo(to_json({"findings": several}))
        return
    from patchkit.report.explain_page import print_codes, print_explain  # noqa: PLC0415

    if code:
        print_explain(several[0])
    else:
        print_codes(several)
