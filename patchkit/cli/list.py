"""`patchkit list`: the patches, and which of them apply here."""

from __future__ import annotations

import click

from patchkit.cli import options
from patchkit.cli.output import say
from patchkit.report.as_json import list_json
from patchkit.rows.declaration import Role


@click.command("list")
@click.option("--role", type=click.Choice([str(role) for role in Role]), help="Only its patches.")
@click.option("--vllm", metavar="V", help="Use this version of vLLM, as VLLM_VERSION=V does.")
@click.option(
    "--all", "everything", is_flag=True, help="Also those that do not apply here, and why."
)
@options.patches_option
@options.format_option
def command(
    role: str | None, vllm: str | None, everything: bool, packs: tuple[str, ...], form: str
) -> None:
    """List the patches that apply here.

    \b
    Examples:
      patchkit list
      patchkit list --all --role worker     also those that do not apply, and why
      patchkit list --vllm 0.11.0           as if that vLLM ran here
      patchkit list --patches mine.patches  with a pack that is not installed
      patchkit list --format json | jq -r '.patches[] | select(.selected) | .name'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    rows, selection = options.rows_and_selection(packs, vllm)
    versions = {name: selection.versions.find(name) for name in options.distributions(rows)}
    listed = [
        (row, options.reason(selection.reason_to_skip, row))
        for row in rows
        if role is None or role in row.roles
    ]
    if form == "json":
        click.echo(list_json(versions, listed))
        return
    from patchkit.report.rows import print_list  # noqa: PLC0415 - JSON needs no rich

    print_list(versions, listed, everything=everything)
    hidden = sum(reason is not None for _, reason in listed)
    more = "more " if hidden < len(listed) else ""
    if hidden == 1 and not everything:
        say(f"1 {more}patch does not apply here: --all shows it and why")
    elif hidden and not everything:
        say(f"{hidden} {more}patches do not apply here: --all shows them and why")
