"""`patchkit show`: one row in full."""

from __future__ import annotations

import click

from patchkit.cli.options import (
    choose,
    complete_names,
    format_option,
    patches_option,
    rows_and_selection,
)


@click.command("show")
@click.argument("name", shell_complete=complete_names)
@click.option("--vllm", metavar="V", help="Believe this version of vLLM, as VLLM_VERSION=V does.")
@click.option("--lock", metavar="FILE", help="Else the project's, else the packs' own.")
@patches_option
@format_option
def command(
    name: str, vllm: str | None, lock: str | None, packs: tuple[str, ...], form: str
) -> None:
    """
    Show one patch in full, and how it stands here.

    \b
    Examples:
      patchkit show ray-worker-torch-npu
      patchkit show ray-worker-torch-npu --vllm 0.11.0
      patchkit show my-patch --patches mine.patches --format json
    """  # noqa: D301 - \b is click's mark for a paragraph to leave as it is
    from patchkit.cli.facts.one_row import show_facts  # noqa: PLC0415 - late: the help needs none
    from patchkit.cli.look import locks_of  # noqa: PLC0415

    rows, selection = rows_and_selection(packs, vllm)
    data = show_facts(choose(rows, [name])[0], selection, locks_of(lock))
    if form == "json":
        from patchkit.report.as_json import to_json  # noqa: PLC0415 - only one of them is needed

        click.echo(to_json(data))
        return
    from patchkit.report.show_page import print_show  # noqa: PLC0415 - only one of them is needed

    print_show(data)
