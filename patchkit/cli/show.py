"""`patchkit show`: one row in full."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

from patchkit.cli.facts.one_row import show_facts
from patchkit.cli.options import format_option, patches_option, rows_and_selection

if TYPE_CHECKING:
    from patchkit.registry import Registry


@click.command("show")
@click.argument("name")
@click.option("--vllm", metavar="V", help="Believe this version of vLLM, as VLLM_VERSION=V does.")
@patches_option
@format_option
def command(name: str, vllm: str | None, packs: tuple[str, ...], form: str) -> None:
    """
    Show one patch in full, and how it stands here.

    \b
    Examples:
      patchkit show ray-worker-torch-npu
      patchkit show ray-worker-torch-npu --vllm 0.11.0
      patchkit show my-patch --patches mine.patches --format json
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    rows, selection = rows_and_selection(packs, vllm)
    if name not in rows:
        raise click.UsageError(_unknown(name, rows))
    data = show_facts(rows[name], selection)
    if form == "json":
        from patchkit.report.as_json import to_json  # noqa: PLC0415 - only one of them is needed

        click.echo(to_json(data))
        return
    from patchkit.report.show_page import print_show  # noqa: PLC0415 - only one of them is needed

    print_show(data)


def _unknown(name: str, rows: Registry) -> str:
    names = [row.name for row in rows]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"no patch is named {name!r}; did you mean {' or '.join(near)}?"
    return f"no patch is named {name!r}; 'patchkit list --all' names the {len(names)} that are"
