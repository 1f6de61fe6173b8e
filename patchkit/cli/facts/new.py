"""Facts of `patchkit new`: the files, and what is left to their author."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.check.findings import Report
from patchkit.cli.module_source import find_module
from patchkit.report.check_view import spans
from patchkit.rows.packs import packs_for
from patchkit.rows.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.report.shapes import NewFileShape, NewShape, NewStepShape
    from patchkit.scaffold.found import Found
    from patchkit.scaffold.place import Place
    from patchkit.scaffold.planning import Plan, Planned
    from patchkit.settings import Settings


def new_facts(
    plan: Plan, founds: Sequence[Found], settings: Settings, *, written: bool
) -> NewShape:
    """
    Say what was written, or would be, and what comes next.

    Args:
        plan: of the patch.
        founds: its targets.
        settings: say which packs a command knows by itself.
        written: whether it is more than a plan.

    """
    return {
        "patch": plan.patch.name,
        "pack": plan.place.module,
        "row": plan.row,
        "refusal": str(plan.refusal) if plan.refusal else None,
        "written": written,
        "files": [_file(one) for one in plan.files],
        "next": list(_next(plan, founds, settings)),
    }


def _file(one: Planned) -> NewFileShape:
    action = "created" if one.old is None else "edited"
    text = one.new.decode(errors="replace")
    old = one.old.decode(errors="replace") if one.old is not None else text
    lines = list(difflib.unified_diff(old.splitlines(), text.splitlines(), lineterm="", n=2))
    return {
        "what": one.what,
        "file": _shown(one.path),
        "action": action,
        "text": text,
        "diff": lines[2:],
    }


def _next(plan: Plan, founds: Sequence[Found], settings: Settings) -> Iterator[NewStepShape]:
    files = {one.what: _shown(one.path) for one in plan.files}
    rows = _shown(plan.place.file)
    if plan.refusal:
        yield _step(f"paste the row into {rows}: {plan.refusal}")
    for found in founds:
        if lacking := found.lacking:
            looked_at = Report([one.name for one in (*found.older, found.subject)])
            where = spans(lacking, looked_at)
            yield _step(f"narrow the range: {found.target} is not in {where}")
    yield from _bring(plan.place, settings)
    yield _step(f"say why, upstream and sunset in {rows}")
    yield from map(_step, _to_write(plan, files.get("body", ""), rows))
    yield _step(
        "say in the test what the patch is for; it is red until then",
        f"python -m pytest {files['test']}",
    )
    yield _step("does it hold?", f"patchkit check {plan.patch.name}")
    yield _step("record the target as reviewed", f"patchkit lock {plan.patch.name}")


def _bring(place: Place, settings: Settings) -> Iterator[NewStepShape]:
    """Say how commands and tests find the pack, where they do not yet."""
    project, top = Project.read(), place.module.partition(".")[0]
    if place.module not in (*project.packs, *packs_for(settings)):
        packs = ", ".join(f'"{one}"' for one in (*project.packs, place.module))
        words = "let commands and tests find the pack, in pyproject.toml"
        yield _step(words, f"[tool.patchkit]\npacks = [{packs}]")
    root = place.root.resolve()
    if find_module(top) is None and root not in [one.resolve() for one in project.folders]:
        yield _step(f"install the pack, or put {_shown(root)} on PYTHONPATH")


def _to_write(plan: Plan, body: str, rows: str) -> Iterator[str]:
    names = [one.body_name for one in plan.patch.changes if one.body_field]
    if names:
        yield f"write {', '.join(names)} in {body}"
    kinds = {one.kind for one in plan.patch.changes}
    if "Edit" in kinds:
        yield f"choose old and new of the Edit in {rows}"
    if "AddField" in kinds:
        yield f"choose type and default of the AddField in {rows}"


def _step(words: str, command: str | None = None) -> NewStepShape:
    return {"command": command, "words": words}


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
