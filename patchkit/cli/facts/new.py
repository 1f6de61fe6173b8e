"""Facts of `patchkit new`: the files, and what is left to their author."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.cli.facts.module_source import find_module
from patchkit.packs import packs_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.environment import Settings
    from patchkit.report.shapes import NewFileShape, NewShape, NewStepShape
    from patchkit.scaffold.found import Found
    from patchkit.scaffold.place import Place
    from patchkit.scaffold.planning import Plan, Planned


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
            words = f"narrow the range: {found.target} is not in {', '.join(lacking)}"
            yield _step(words)
    yield _step(f"say why, upstream and sunset in {rows}")
    yield from map(_step, _to_write(plan, files.get("body", ""), rows))
    before, patches = _way(plan.place), _patches(plan, settings)
    here = plan.place.root.resolve() == Path.cwd()
    yield _step(
        "say in the test what the patch is for; it is red until then",
        f"{'' if here else before}python -m pytest {files['test']}",
    )
    yield _step("does it hold?", f"{before}patchkit check {plan.patch.name}{patches}")
    yield _step(
        "record the target as reviewed", f"{before}patchkit lock {plan.patch.name}{patches}"
    )


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


def _way(place: Place) -> str:
    """Say how a command finds the pack that does not find it by itself."""
    root = place.root.resolve()
    found = find_module(place.module.partition(".")[0]) is not None
    if found or root in (Path.cwd().resolve(), *(Path(one).resolve() for one in sys.path[1:])):
        return ""
    return f"PYTHONPATH={_shown(root)} "


def _patches(plan: Plan, settings: Settings) -> str:
    module = plan.place.module
    return "" if module in packs_for(settings) else f" --patches {module}"


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
