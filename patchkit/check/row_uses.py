"""What bodies use of upstream, and the helpers of their own packages that they import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check.using import Misfit, misfits
from patchkit.rows.declaration import Add, Provide, Row
from patchkit.uses.reader import Use, uses_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from patchkit.check.coverage import Coverage
    from patchkit.check.packs import PackSource
    from patchkit.check.subjects import Subject
    from patchkit.rows.target import Target


class RowUses:
    """The uses of rows, in the releases that they are for."""

    def __init__(self, coverage: Coverage, packs: Mapping[str, PackSource]) -> None:
        self._coverage = coverage
        self._packs = packs
        self._uses: dict[str, list[Use]] = {}

    def inside(self, row: Row, subject: Subject) -> list[Use]:
        """List what the body of a row uses of a release, directly or by its helpers."""
        if row.body not in self._uses:
            pack, has_body = self._packs[row.pack], row.patch.body is not None
            found = _closure(pack, row.body, self._coverage.packages) if has_body else ()
            self._uses[row.body] = list(found)
        here = self._coverage.covered(subject)
        return [one for one in self._uses[row.body] if _top(one.target) in here]

    def targets(self, subject: Subject) -> Iterator[Target]:
        """List what rows use of a release that they are looked into."""
        for row in self._coverage.rows:
            if self._coverage.tried(row, subject):
                yield from (one.target for one in self.inside(row, subject))

    def read(self, subject: Subject) -> Iterator[Target]:
        """List what has to be there, of what rows use of a release in their range."""
        for row in self._coverage.rows:
            if self._coverage.due(row, subject):
                uses = self.inside(row, subject)
                yield from (one.target for one in uses if one.how != "override")

    def misfits(self, row: Row, subjects: Sequence[Subject]) -> dict[str, list[Misfit]]:
        """List what of a row's uses does not fit releases, by their names."""
        found: dict[str, list[Misfit]] = {}
        for project in dict.fromkeys(one.project for one in subjects):
            same = [one for one in subjects if one.project == project]
            found |= misfits(self.inside(row, same[0]), same)
        made = {one.name: self._made(one) for one in subjects}
        return {
            name: [one for one in some if not _dotted(one.target).startswith(made[name])]
            for name, some in found.items()
        }

    def _made(self, subject: Subject) -> tuple[str, ...]:
        """List what rows make in a release: bodies find it there."""
        due = (one for row in self._coverage.rows for one in self._coverage.due(row, subject))
        return tuple(_dotted(one.place) for one in due if isinstance(one, (Add, Provide)))


def _dotted(target: Target) -> str:
    return f"{target}.".replace(":", ".")


def _top(target: Target) -> str:
    return target.module.partition(".")[0]


def _closure(pack: PackSource, body: str, packages: Iterable[str]) -> Iterator[Use]:
    """Read a body, and what it imports of the package that its pack is in."""
    own, modules = pack.name.partition(".")[0], pack.subject.resolver.modules
    waiting, seen = [(False, True, body)], {pack.name}
    while waiting:
        # What is imported unconditionally comes first: a module counts as it is imported first.
        waiting.sort(key=lambda one: (not one[0], one[1]))
        guarded, at_import, name = waiting.pop()
        tree = None if name in seen else modules.get(name)
        seen.add(name)
        for use in uses_of([tree], {*packages, own}) if tree else ():
            state = (guarded or use.guarded, at_import and use.at_import)
            if _top(use.target) != own:
                file = pack.file(use.path)
                yield use._replace(guarded=state[0], at_import=state[1], path=file)
            elif use.how == "import":  # it may run each of these modules
                parts = str(use.target).replace(":", ".").split(".")
                waiting += ((*state, ".".join(parts[: end + 1])) for end in range(len(parts)))
