"""`patchkit list`: the patches, and for the versions here: selected, or why not."""

from __future__ import annotations

import click

from patchkit.cli.app import say
from patchkit.cli.facts.rows import list_facts
from patchkit.cli.options import format_option, patches_option, rows_and_selection
from patchkit.rows.declaration import Role


@click.command("list")
@click.option("--role", type=click.Choice([str(role) for role in Role]), help="Only its patches.")
@click.option("--vllm", metavar="V", help="Believe this version of vLLM, as VLLM_VERSION=V does.")
@click.option(
    "--all", "everything", is_flag=True, help="Also those that do not apply here, and why."
)
@patches_option
@format_option
def command(
    role: str | None, vllm: str | None, everything: bool, packs: tuple[str, ...], form: str
) -> None:
    """
    List the patches that are for the versions here.

    \b
    Examples:
      patchkit list
      patchkit list --all --role worker    with the reason why the others are not
      patchkit list --vllm 0.11.0          as if that vLLM ran here
      patchkit list --patches mine.patches  with a pack that is not installed
      patchkit list --format json | jq -r '.patches[] | select(.selected) | .name'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    rows, selection = rows_and_selection(packs, vllm)
    data = list_facts(tuple(rows), selection, role)
    if form == "json":
        from patchkit.report.as_json import to_json  # noqa: PLC0415 - only one of them is needed

        click.echo(to_json(data))
        return
    from patchkit.report.list_table import print_list  # noqa: PLC0415 - only one of them is needed

    print_list(data, everything)
    hidden = sum(not patch["selected"] for patch in data["patches"])
    if hidden and not everything:
        say(_left_out(hidden))


def _left_out(count: int) -> str:
    one = count == 1
    words = (
        "patch does not apply here: --all shows it"
        if one
        else ("patches do not apply here: --all shows them")
    )
    return f"{count} more {words} and why"
