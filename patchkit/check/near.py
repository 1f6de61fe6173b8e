"""What somebody may have meant by a target that no release has."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError
from patchkit.target import Target
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
    near = " or ".join(map(str, near_to(target, read[-1]) or near_to(target, read[0])))
    return f"found no {target} in {span}" + (f"; did you mean {near}?" if near else "")


def near_to(target: Target, subject: Subject) -> list[Target]:
    """List targets of a release whose names are like one that it lacks, the likest first."""
    modules = subject.resolver.modules
    try:
        tree = modules.get(target.module)
        if tree is None:
            return _other_modules(target, subject)
        page = Catalog(modules.files).page(tree.path) if tree.path and target.qualname else None
    except UpstreamError:
        return []
    names = sorted(page.names | page.tops) if page else []
    return [Target(target.module, one) for one in get_close_matches(target.qualname, names, n=2)]


def _other_modules(target: Target, subject: Subject) -> list[Target]:
    names = [module_name(path) for path in subject.source.paths() if path.endswith(".py")]
    several = get_close_matches(target.module, names, cutoff=0.8)
    return [one for one in (Target(name, target.qualname) for name in several) if subject.has(one)]
