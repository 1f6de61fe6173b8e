"""What the author of a new patch does next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.cli.module_source import find_module
from patchkit.errors import shown
from patchkit.registry import packs_for
from patchkit.report.here import NextStep
from patchkit.rows.project import Project
from patchkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.scaffold.files import Place
    from patchkit.scaffold.plan import Plan


def next_steps(plan: Plan) -> Iterator[NextStep]:
    """Say what is left to do, in order."""
    files = {file.what: shown(file.path) for file in plan.files}
    rows, name = shown(plan.place.file), plan.patch.name
    if plan.refusal:
        yield NextStep(f"paste the row into {rows}: {plan.refusal}")
    yield from _to_find_the_pack(plan.place)
    yield NextStep(f"fill in why, upstream and sunset in {rows}")
    if names := [change.body_name for change in plan.patch.changes if change.body_field]:
        yield NextStep(f"write {', '.join(names)} in {files['body']}")
    kinds = {change.kind for change in plan.patch.changes}
    if "Edit" in kinds:
        yield NextStep(f"choose old and new of the Edit in {rows}")
    if "AddField" in kinds:
        yield NextStep(f"choose type and default of the AddField in {rows}")
    test = f"python -m pytest {files['test']}"
    yield NextStep("write in the test what the patch is for; it fails until then", test)
    yield NextStep("check that it holds", f"patchkit check {name}")
    yield NextStep("record the target as reviewed", f"patchkit lock {name}")


def _to_find_the_pack(place: Place) -> Iterator[NextStep]:
    """Say how commands and tests find the pack, where they do not yet."""
    project, top = Project.read(), place.module.partition(".")[0]
    if place.module not in (*project.packs, *packs_for(Settings.read())):
        packs = ", ".join(f'"{pack}"' for pack in (*project.packs, place.module))
        words = "let commands and tests find the pack, in pyproject.toml"
        yield NextStep(words, f"[tool.patchkit]\npacks = [{packs}]")
    root = place.root.resolve()
    if find_module(top) is None and root not in [folder.resolve() for folder in project.folders]:
        yield NextStep(f"install the pack, or put {shown(root)} on PYTHONPATH")
