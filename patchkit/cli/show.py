"""`patchkit show`: one row in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from patchkit.cli.options import (
    choose,
    complete_names,
    format_option,
    patches_option,
    rows_and_selection,
)
from patchkit.cli.rows import change_data, row_data, version_data
from patchkit.report.as_json import to_json

if TYPE_CHECKING:
    from patchkit.report.here import ChangeHere, RequirementHere, ReviewHere, RowHere


@click.command("show")
@click.argument("name", shell_complete=complete_names)
@click.option("--vllm", metavar="V", help="Believe this version of vLLM, as VLLM_VERSION=V does.")
@click.option("--lock", metavar="FILE", help="Default: the project's, else the packs' own.")
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
    from patchkit.cli.look import locks_of  # noqa: PLC0415 - late: the help needs none of it
    from patchkit.cli.row_here import row_here  # noqa: PLC0415

    rows, selection = rows_and_selection(packs, vllm)
    found = row_here(choose(rows, [name])[0], selection, locks_of(lock))
    if form == "json":
        click.echo(to_json(_data(found)))
        return
    from patchkit.report.show_page import print_show  # noqa: PLC0415 - JSON needs no rich

    print_show(found)


def _data(found: RowHere) -> dict[str, object]:
    patch = found.row.patch
    return {
        **row_data(found.row, found.reason),
        "requirements": [_requirement(requirement) for requirement in found.requirements],
        "changes": [_change(change) for change in found.changes],
        "required": patch.required,
        "after": list(patch.after),
        "conflicts": list(patch.conflicts),
        "env": patch.env,
        "when": patch.when,
        "data": list(patch.data),
        "lock": str(found.lock) if found.lock else None,
    }


def _requirement(found: RequirementHere) -> dict[str, object]:
    version = version_data(found.version)
    holds = found.reason is None
    return {"requirement": found.text, **version, "holds": holds, "reason": found.reason}


def _change(found: ChangeHere) -> dict[str, object]:
    change = found.change
    return {
        **change_data(change),
        "by": change.body_name,
        "fields": found.fields,
        "rebind": change.rebind if isinstance(change.rebind, bool) else list(change.rebind),
        "selected": found.reason is None,
        "reason": found.reason,
        "here": found.target._asdict(),
        "review": _review(found.review) if found.review else None,
    }


def _review(review: ReviewHere) -> dict[str, object]:
    keys = ("project", "first", "last", "fingerprint")
    spans = [{key: getattr(span, key) for key in keys} for span in review.spans]
    return {"state": review.state, "detail": review.detail, "spans": spans}
