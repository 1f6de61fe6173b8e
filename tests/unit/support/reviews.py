"""A lock that a test writes, of what stands in its world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.analysis.upstream.facts import facts_of
from patchkit.analysis.upstream.reading.tree import open_installed
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.lock.format import Lock, Span, write_lock
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World


def review(
    world: World,
    *targets: str,
    patch: str = "p",
    wordings: bool = True,
    last: str = "1.0",
) -> Path:
    """Record targets of `up` as reviewed from 1.0 on, in the pack's own lock."""
    resolver = Resolver(open_installed("up", [str(world.folder)]))
    spans = {}
    for target in targets:
        facts = facts_of(resolver, Target.parse(target))
        assert facts.fingerprint is not None
        assert facts.wording is not None
        written = (facts.wording,) if wordings else ()
        spans[target] = [Span(facts.fingerprint, "up", "1.0", last, written)]
    file = world.folder / "pack" / "patchkit.lock"
    write_lock(file, Lock({patch: spans}))
    return file
