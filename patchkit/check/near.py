"""What somebody may have meant by a target that no release has."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError
from patchkit.rows.target import Target
from patchkit.upstream.moves.catalog import Catalog
from patchkit.upstream.resolving.module_tree import module_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.check.history import Step
    from patchkit.check.subjects import Subject


def never_there(target: Target, steps: Sequence[Step], subjects: Sequence[Subject]) -> str:
    """Say that no release has, or may have, a target, and what is like it; '' where one has."""
    read = [one for one, step in zip(subjects, steps, strict=True) if step.state == "absent"]
    if not read or any(step.state not in ("absent", "unreadable") for step in steps):
        return ""
    if any(step.moved_to for step in steps):
        return ""
    span = read[0].name if len(read) == 1 else f"{read[0].name} to {read[-1].version}"
    return f"found no {target} in {span}{meant(target, read[-1]) or meant(target, read[0])}"


def meant(target: Target, subject: Subject) -> str:
    """Ask whether a target of a release was meant that is like one that it lacks; or ''."""
    near = " or ".join(map(str, near_to(target, subject)))
    return f"; did you mean {near}?" if near else ""


def near_to(target: Target, subject: Subject) -> list[Target]:
    """List targets of a release whose names are like one that it lacks, the likest first."""
    modules = subject.resolver.modules
    try:
        tree = modules.get(target.module)
        if tree is None:
            return _with_colon(target, subject) or _other_modules(target, subject)
        page = Catalog(modules.files).page(tree.path) if tree.path and target.qualname else None
    except UpstreamError:
        return []
    names = sorted(page.names | page.tops) if page else []
    return [Target(target.module, one) for one in get_close_matches(target.qualname, names, n=2)]


def _with_colon(target: Target, subject: Subject) -> list[Target]:
    """Read `up.mod.f`, which is no module, as `up.mod:f`."""
    parts = [] if target.qualname else target.module.split(".")
    ends = range(len(parts) - 1, 0, -1)
    places = (Target(".".join(parts[:at]), ".".join(parts[at:])) for at in ends)
    return [one for one in places if subject.has(one)][:1]


def _other_modules(target: Target, subject: Subject) -> list[Target]:
    names = [module_name(path) for path in subject.source.paths() if path.endswith(".py")]
    several = get_close_matches(target.module, names, cutoff=0.8)
    return [one for one in (Target(name, target.qualname) for name in several) if subject.has(one)]
