"""Finds rows that exclude each other in a release: a process that selects both refuses one."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from patchkit.analysis.check.compatibility import bases_of
from patchkit.analysis.check.coverage import Coverage, projects_of
from patchkit.analysis.check.declarations import meet
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.declaration import Add, Change, Edit, Replace, Row, Wrap
from patchkit.core.rows.target import Item, Target

_ONE_OF_THEM = (
    "or keep one of them off where the other is: conflicts, and env or requires"
)


class Exclusion(NamedTuple):
    """A row that a process refuses beside another one, or beside a change of its own.

    Args:
        row: The row that is refused.
        other: The other row, or the same one.
        target: What both change; '' where a row names the other in `conflicts`.
        message: What excludes what.
        fix: What to do.
    """

    row: Row
    other: Row
    target: str
    message: str
    fix: str


class _DueChange(NamedTuple):
    """A change that is due in a release, with its place in the order in which all are made."""

    position: int
    row: Row
    change: Change

    @property
    def words(self) -> str:
        return f"the {self.change.kind} of {self.change.place} in {self.row.name}"


def is_added_by_earlier_row(
    row: Row, change: Change, release: CheckedRelease, additions: Mapping[Target, Row]
) -> bool:
    """Whether the target of a change is not upstream's, but what an earlier row adds.

    Args:
        row: The row of the change.
        change: The change.
        release: The release.
        additions: What earlier rows add there, each with the first row that does.
    """
    if not isinstance(change, (Replace, Wrap)) or change.place not in additions:
        return False
    earlier = additions[change.place]
    is_there = earlier is not row and earlier.roles >= row.roles
    return is_there and release.facts(change.place).state == "absent"


class Exclusions:
    """The rows that exclude each other in one release.

    Args:
        coverage: The rows, and which changes are due.
        release: The release.
        packs: The packs of the rows, by name.
    """

    def __init__(
        self,
        coverage: Coverage,
        release: CheckedRelease,
        packs: Mapping[str, PackSource],
    ) -> None:
        self._coverage = coverage
        self._release = release
        self._packs = packs
        self._due: list[_DueChange] = []
        for row in coverage.rows:
            for change in coverage.due(row, release):
                self._due.append(_DueChange(len(self._due), row, change))

    def find(self) -> Iterator[Exclusion]:
        """Yield each row that is refused, once for each other row and target."""
        yield from self._conflicts()
        yield from self._twice_added()
        replacements: dict[Target, list[_DueChange]] = {}
        for due in self._due:
            if isinstance(due.change, Replace):
                replacements.setdefault(due.change.place, []).append(due)
        if not replacements:
            return
        for due in self._due:
            place = due.change.place
            while place.qualname:
                for replacement in replacements.get(place, ()):
                    if self._are_together(due, replacement):
                        yield from self._refused(due, replacement)
                place = place.holder

    def _conflicts(self) -> Iterator[Exclusion]:
        """Find rows of which one names the other in `conflicts`, whatever their roles."""
        rows = {due.row.name: due.row for due in self._due}
        pairs: dict[frozenset[str], tuple[Row, Row]] = {}
        for row in rows.values():
            for name in row.patch.conflicts:
                other = rows.get(name)
                if other is not None and self._is_selected_beside(row, other):
                    pairs.setdefault(frozenset((row.name, name)), (row, other))
        for row, other in pairs.values():
            message = f"{row.name} and {other.name} conflict and are both selected: neither applies"
            fix = "give one of them a condition (env), or a range that leaves this release out"
            yield Exclusion(row, other, "", message, fix)
            yield Exclusion(other, row, "", message, fix)

    def _twice_added(self) -> Iterator[Exclusion]:
        """Find names that more than one row adds."""
        first: dict[Target, _DueChange] = {}
        for due in self._due:
            if not isinstance(due.change, Add):
                continue
            earlier = first.setdefault(due.change.place, due)
            if earlier is not due and self._are_together(earlier, due):
                message = f"{due.words} finds what {earlier.row.name} has added"
                fix = (
                    "add it once; the other row may Replace or Wrap it, after that one"
                )
                target = str(due.change.place)
                yield Exclusion(due.row, earlier.row, target, message, fix)

    def _are_together(self, due: _DueChange, replacement: _DueChange) -> bool:
        """Whether some process makes both changes for sure."""
        for made in (due, replacement):
            if made.row.patch.when is not None or made.change.when is not None:
                return False
        if due.row is replacement.row:
            return due.change is not replacement.change
        is_met = meet(due.row, replacement.row)
        return is_met and self._is_selected_beside(due.row, replacement.row)

    def _is_selected_beside(self, row: Row, other: Row) -> bool:
        """Whether one row is selected wherever the other one is, as far as rows tell."""
        return self._implies(row, other) or self._implies(other, row)

    def _implies(self, row: Row, other: Row) -> bool:
        """Whether a row is selected in this release only where another one is, too."""
        is_switched_alike = other.patch.env in (None, row.patch.env)
        return is_switched_alike and self._outside(other) <= self._outside(row)

    def _outside(self, row: Row) -> set[str]:
        """Return the requirements of a row on other distributions than the release's."""
        names = self._coverage.names(self._release)
        return {
            text for text in row.patch.requires if names.isdisjoint(projects_of([text]))
        }

    def _refused(self, due: _DueChange, replacement: _DueChange) -> Iterator[Exclusion]:
        """Find that a change, and a Replace of its target or of what holds it, exclude each other.

        Args:
            due: The change.
            replacement: The Replace.
        """
        later = max(due, replacement, key=lambda made: made.position)
        earlier = min(due, replacement, key=lambda made: made.position)
        target = str(due.change.place)
        is_part = due.change.place != replacement.change.place
        if is_part and not self._discards(replacement, due.change.place):
            return
        if isinstance(due.change, Edit):
            message = (
                f"{due.words} would have no effect beside {replacement.words}: the original, which "
                "it edits, is not called any more"
            )
            fix = f"let the Replace bring what the Edit changes, {_ONE_OF_THEM}"
            yield Exclusion(later.row, earlier.row, target, message, fix)
        elif (
            is_part and due is earlier and isinstance(due.change, (Add, Replace, Wrap))
        ):
            message = (
                f"{replacement.words} would discard {due.words}, which comes before it"
            )
            fix = f"after=({replacement.row.name!r},) in {due.row.name}"
            if due.row is replacement.row:
                fix = f"declare the {replacement.change.kind} before the {due.change.kind}"
            yield Exclusion(later.row, earlier.row, target, message, fix)
        elif is_part and isinstance(due.change, (Replace, Wrap)):
            yield from self._lacking(due, replacement)

    def _lacking(self, due: _DueChange, replacement: _DueChange) -> Iterator[Exclusion]:
        """Find that what a Replace brings lacks what a later change of it is about."""
        whole = replacement.change.place
        part = due.change.place.qualname.removeprefix(whole.qualname)
        name = f"{replacement.change.body_name}{part}"
        facts = self._packs[replacement.row.pack].facts(replacement.row, name)
        if facts.state == "absent":
            message = f"{due.words} finds no {name} in what {replacement.words} brings"
            fix = f"define {name} in {replacement.row.body}"
            target = str(due.change.place)
            yield Exclusion(due.row, replacement.row, target, message, fix)

    def _discards(self, replacement: _DueChange, part: Target) -> bool:
        """Whether what is changed in a replaced object is surely not in what comes in its place."""
        whole = replacement.change.place
        steps_of_whole = len(whole.steps)
        if isinstance(part.steps[steps_of_whole], Item):
            return True
        facts = self._release.facts(whole)
        if facts.kind == Kind.CONSTANT:
            return facts.is_sure
        if facts.kind != Kind.CLASS or not facts.is_sure:
            return False
        return self._is_unrelated(replacement, facts.module)

    def _is_unrelated(self, replacement: _DueChange, home: str) -> bool:
        """Whether a class of a body surely derives from no class of the target's package."""
        change = replacement.change
        assert isinstance(change, Replace)
        if not change.unrelated:
            return False
        row = replacement.row
        resolver = self._packs[row.pack].as_release.resolver
        bases = bases_of(resolver, Target(row.body, change.by))
        package = home.partition(".")[0]
        tops = {base.partition(".")[0] for base in bases.outside}
        return bases.is_whole and package not in tops
