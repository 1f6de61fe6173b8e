"""Writes the result of `patchkit new` as JSON."""

from collections.abc import Iterable

from patchkit.authoring.scaffold.plan import Plan
from patchkit.cli.report.as_json import Data, named, to_json
from patchkit.cli.report.here import NextStep
from patchkit.errors import shown


def new_json(plan: Plan, steps: Iterable[NextStep], *, written: bool) -> str:
    """Return the result of `new` for one patch, as JSON.

    Args:
        plan: The files of the patch.
        steps: What its author does next.
        written: Whether the files were written, rather than planned.
    """
    return to_json(_new(plan, steps, written=written))


def new_list_json(
    plans: Iterable[Plan], steps: Iterable[NextStep], *, written: bool
) -> str:
    """Return the result of `new --from` for a list of targets, as JSON.

    Args:
        plans: The files of the patches.
        steps: What their author does next.
        written: Whether the files were written, rather than planned.
    """
    patches = [_new(plan, (), written=written) for plan in plans]
    return to_json({"patches": patches, "next": _steps(steps)})


def _new(plan: Plan, steps: Iterable[NextStep], *, written: bool) -> Data:
    """Return the files of one patch, and the steps that its author does next."""
    files = [
        {
            "what": file.what,
            "file": shown(file.path),
            **named(file, "action", "text", "diff"),
        }
        for file in plan.files
    ]
    return {
        "patch": plan.patch.name,
        "pack": plan.place.module,
        **named(plan, "row", "refusal"),
        "written": written,
        "files": files,
        "next": _steps(steps),
    }


def _steps(steps: Iterable[NextStep]) -> list[Data]:
    return [named(step, "command", "words") for step in steps]
