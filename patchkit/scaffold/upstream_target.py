"""What a patch is started from: its target, as a release has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchkit.check.trails import Trails, meant
from patchkit.errors import ScaffoldError
from patchkit.rows.target import Target

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from patchkit.check.subjects import Subject
    from patchkit.upstream.facts import Facts


@dataclass(frozen=True)
class UpstreamTarget:
    """A target, and the releases of its package that were looked at, the oldest first."""

    target: Target
    releases: tuple[Subject, ...]

    @property
    def newest(self) -> Subject:
        """The release that the patch is written for."""
        return self.releases[-1]

    @property
    def facts(self) -> Facts:
        """What is said of it there."""
        return self.newest.facts(self.target)

    @property
    def node(self) -> ast.AST | None:
        """The statement that defines it; None where there is none."""
        return next(iter(self.newest.resolver.resolve(self.target).nodes), None)

    @property
    def text(self) -> str:
        """Its source, decorators included; '' where there is none."""
        return self.newest.text(self.facts)

    @property
    def holder(self) -> UpstreamTarget:
        """What holds it: a class, or its module."""
        name = self.target.qualname.rpartition(".")[0]
        return UpstreamTarget(Target(self.target.module, name), self.releases)

    @property
    def whereabouts(self) -> str:
        """Say where it went, else what may have been meant, else how to find out."""
        trails = Trails(list(self.releases), [self.target], ways=(1,), by_name=True)
        trails.follow()
        told = trails.told(self.target, self.newest)
        if told and told.words:
            return f"; {told.words}"
        follow = f"; 'patchkit history {self.target}' looks in all releases"
        return meant(self.target, self.newest) or follow


def look_up(target: Target, subjects: Sequence[Subject]) -> UpstreamTarget:
    """Choose the releases of a target's package, the oldest of each distribution first."""
    package = target.module.partition(".")[0]
    releases = tuple(subject for subject in subjects if subject.covers([package]))
    if not releases:
        raise ScaffoldError(
            f"{target}: found no {package} to look it up in, expected one that is installed here,"
            " or --releases, --path or --wheel"
        )
    return UpstreamTarget(target, releases)
