"""What a patch is started from: its target, as a release has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchkit.check.near import meant
from patchkit.check.trails import Trails
from patchkit.errors import ScaffoldError
from patchkit.rows.target import Target

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from patchkit.check.subjects import Subject
    from patchkit.upstream.facts import Facts
    from patchkit.upstream.resolving.module_tree import ModuleTree


@dataclass(frozen=True)
class Found:
    """
    A target in the newest of the releases that were looked at.

    Args:
        target: as it was asked for.
        subject: the release.
        facts: what is said of it there.
        node: the statement that defines it, None where there is none.
        tree: the module that it is defined in.
        older: the other releases, which may lack it.

    """

    target: Target
    subject: Subject
    facts: Facts
    node: ast.AST | None
    tree: ModuleTree | None
    older: tuple[Subject, ...] = ()

    @property
    def package(self) -> str:
        """The import package that it is in."""
        return self.target.module.partition(".")[0]

    @property
    def lacking(self) -> list[str]:
        """Name the other releases that do not have it."""
        return [one.name for one in self.older if one.facts(self.target).state == "absent"]

    @property
    def text(self) -> str:
        """Its source, decorators included; '' where there is none."""
        return self.subject.text(self.facts)

    @property
    def around(self) -> Found:
        """What holds it: a class, or its module."""
        name = self.target.qualname.rpartition(".")[0]
        return _in(self.subject, Target(self.target.module, name), self.older)

    @property
    def whereabouts(self) -> str:
        """Say where it went, else what may have been meant, else how to find out."""
        trails = Trails([*self.older, self.subject], [self.target], ways=(1,), by_name=True)
        trails.follow()
        told = trails.told(self.target, self.subject)
        if told and told.words:
            return f"; {told.words}"
        follow = f"; 'patchkit history {self.target}' looks in all releases"
        return meant(self.target, self.subject) or follow


def find(target: Target, subjects: Sequence[Subject]) -> Found:
    """
    Look a target up.

    Args:
        target: what to look for.
        subjects: the releases, the oldest of each distribution first.

    Raises:
        ScaffoldError: none of them is of its package.
        UpstreamError: a release cannot be read.

    """
    package = target.module.partition(".")[0]
    ours = [one for one in subjects if one.covers([package])]
    if not ours:
        raise ScaffoldError(
            f"{target}: found no {package} to look it up in, expected one that is installed here,"
            " or --releases, --path or --wheel"
        )
    return _in(ours[-1], target, tuple(ours[:-1]))


def _in(subject: Subject, target: Target, older: tuple[Subject, ...]) -> Found:
    resolution = subject.resolver.resolve(target)
    node = resolution.nodes[0] if resolution.nodes else None
    tree = subject.resolver.modules.get(resolution.module) if resolution.module else None
    return Found(target, subject, subject.facts(target), node, tree, older)
