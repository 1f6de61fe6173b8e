"""`patchkit list`: the patches, and which of them apply here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from patchkit.cli.app import say
from patchkit.cli.options import format_option, patches_option, rows_and_selection
from patchkit.cli.rows import distributions, reason_to_skip, row_data, version_data
from patchkit.report.as_json import to_json
from patchkit.rows.declaration import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchkit.rows.declaration import Row
    from patchkit.versions.requirements import FoundVersion


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
    List the patches that apply here.

    \b
    Examples:
      patchkit list
      patchkit list --all --role worker    with the reason why the others are not
      patchkit list --vllm 0.11.0          as if that vLLM ran here
      patchkit list --patches mine.patches  with a pack that is not installed
      patchkit list --format json | jq -r '.patches[] | select(.selected) | .name'
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    rows, selection = rows_and_selection(packs, vllm)
    versions = {name: selection.versions.find(name) for name in distributions(rows)}
    listed = [
        (row, reason_to_skip(row, selection)) for row in rows if role is None or role in row.roles
    ]
    if form == "json":
        click.echo(to_json(_data(versions, listed)))
        return
    from patchkit.report.list_table import print_list  # noqa: PLC0415 - JSON needs no rich

    print_list(versions, listed, everything=everything)
    hidden = sum(reason is not None for _, reason in listed)
    if hidden and not everything:
        say(_left_out(hidden))


def _data(
    versions: Mapping[str, FoundVersion | None], listed: Iterable[tuple[Row, str | None]]
) -> dict[str, object]:
    return {
        "versions": {name: version_data(found) for name, found in versions.items()},
        "patches": [row_data(row, reason) for row, reason in listed],
    }


def _left_out(count: int) -> str:
    if count == 1:
        return "1 more patch does not apply here: --all shows it and why"
    return f"{count} more patches do not apply here: --all shows them and why"
