"""Finds rows that exclude each other in a release: a process that selects both cannot apply one."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from patchkit.analysis.check.compatibility import bases_of
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.declarations import can_meet
from patchkit.analysis.check.packages import projects_of
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    Change,
    Decorate,
    Edit,
    Provide,
    Replace,
    Row,
    SetByCall,
    Wrap,
)
from patchkit.core.rows.target import Item, Target

_OF_WHAT_IS_THERE = (Replace, Wrap, Decorate, SetByCall)
"""Changes of something that is there, and of which a Replace of the whole may lose the result."""

_ONE_OF_THEM = (
    "or keep one of them off where the other is: conflicts, and env or requires"
)
"""The other fix of two rows of which only one can apply."""


class Exclusion(NamedTuple):
    """A row that a process cannot apply beside another one, or because of its own changes.

    Args:
        row: The row that is not applied.
        other: The row that is in its way; the same one if its own changes are.
        target: What both change; '' where a row names the other in `conflicts`.
        message: Why both cannot be applied.
        fix: What to do.
    """

    row: Row
    other: Row
    target: str
    message: str
    fix: str


class _DueChange(NamedTuple):
    """A change that is due in a release."""

    position: int  # its index in the order in which all changes are made
    row: Row
    change: Change

    @property
    def description(self) -> str:
        """What messages call it: `the Wrap of a:f in NAME`."""
        return f"the {self.change.kind} of {self.change.place} in {self.row.name}"


def is_added_by_earlier_row(
    row: Row, change: Change, release: CheckedRelease, additions: Mapping[Target, Row]
) -> bool:
    """Whether the target of a Replace or a Wrap is not upstream's, but what an earlier row adds.

    Args:
        row: The row of the change.
        change: The change.
        release: The release.
        additions: The targets that rows add in this release, each with the first row that does.
    """
    if not isinstance(change, _OF_WHAT_IS_THERE) or change.place not in additions:
        return False
    earlier = additions[change.place]
    # The earlier row has to be for all roles of this one, to be applied in the same processes.
    is_added = earlier is not row and earlier.roles >= row.roles
    return is_added and release.facts(change.place).state == "absent"


def additions_beside(coverage: Coverage, release: CheckedRelease) -> dict[Target, Row]:
    """List what rows that are not checked add to a release, as if they came before the others.

    Args:
        coverage: The rows that are checked, and those beside them.
        release: The release.

    Returns:
        The targets that these rows add, each with the first row that does.
    """
    additions: dict[Target, Row] = {}
    for row in coverage.beside:
        for change in coverage.due(row, release):
            if isinstance(change, Add):
                additions.setdefault(change.place, row)
    return additions


class Exclusions:
    """Finds the rows that exclude each other in one release.

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
                position = len(self._due)
                self._due.append(_DueChange(position, row, change))

    def find(self) -> Iterator[Exclusion]:
        """Yield each row that cannot be applied, once for each other row and target."""
        yield from self._conflicts()
        yield from self._twice_added()
        replacements: dict[Target, list[_DueChange]] = {}
        for due in self._due:
            if isinstance(due.change, Replace):
                replacements.setdefault(due.change.place, []).append(due)
        if not replacements:
            return
        for due in self._due:
            # For a change of `a:C.f`, look at each Replace of `a:C.f` and of `a:C`.
            place = due.change.place
            while place.qualname:
                for replacement in replacements.get(place, ()):
                    if self._are_together(due, replacement):
                        yield from self._beside_replacement(due, replacement)
                place = place.holder

    def _conflicts(self) -> Iterator[Exclusion]:
        """Find pairs of rows of which one names the other in `conflicts`, whatever their roles."""
        rows = {due.row.name: due.row for due in self._due}
        pairs: dict[frozenset[str], tuple[Row, Row]] = {}
        for row in rows.values():
            for name in row.patch.conflicts:
                other = rows.get(name)
                if other is not None and self._is_selected_beside(row, other):
                    names = frozenset((row.name, name))  # equal in either order
                    pairs.setdefault(names, (row, other))
        for row, other in pairs.values():
            message = f"{row.name} and {other.name} conflict and are both selected: neither applies"
            fix = (
                "give each a condition of its own (env='NAME=a', env='NAME=b'), or one of them a "
                "range that leaves this release out"
            )
            yield Exclusion(row, other, "", message, fix)
            yield Exclusion(other, row, "", message, fix)

    def _twice_added(self) -> Iterator[Exclusion]:
        """Find names, fields and modules that more than one row adds."""
        first: dict[str, _DueChange] = {}
        for due in self._due:
            change = due.change
            if isinstance(change, AddField):
                added = f"{change.place}.{change.name}"
            elif isinstance(change, (Add, Provide)):
                added = str(change.place)
            else:
                continue
            earlier = first.setdefault(added, due)
            if earlier is not due and self._are_together(earlier, due):
                message = f"{due.description} finds what {earlier.row.name} has added"
                fix = (
                    "add it once; the other row may Replace or Wrap it, after that one"
                )
                yield Exclusion(due.row, earlier.row, added, message, fix)

    def _are_together(self, due: _DueChange, other: _DueChange) -> bool:
        """Whether there are processes that are certain to make both changes."""
        for either in (due, other):
            # `when` is a function of the body, which decides in each process.
            when_of_row = either.row.patch.when
            when_of_change = either.change.when
            if when_of_row is not None or when_of_change is not None:
                return False
        if due.row is other.row:
            return due.change is not other.change
        if not can_meet(due.row, other.row):
            return False
        return self._is_selected_beside(due.row, other.row)

    def _is_selected_beside(self, row: Row, other: Row) -> bool:
        """Whether one of two rows is selected only where the other one is too."""
        return self._implies(row, other) or self._implies(other, row)

    def _implies(self, row: Row, other: Row) -> bool:
        """Whether the other row is selected in this release wherever the row is.

        It is if it has no further condition: no `env` or requirement that the row lacks.
        """
        if other.patch.env not in (None, row.patch.env):
            return False
        return self._requirements_on_others(other) <= self._requirements_on_others(row)

    def _requirements_on_others(self, row: Row) -> set[str]:
        """Return the requirements of a row on other distributions than the release's."""
        names = self._coverage.names(self._release)
        return {
            text for text in row.patch.requires if names.isdisjoint(projects_of([text]))
        }

    def _beside_replacement(
        self, due: _DueChange, replacement: _DueChange
    ) -> Iterator[Exclusion]:
        """Find that a Replace excludes a change of its target, or of a part of its target.

        Args:
            due: The change, of `a:C` or `a:C.f`, in either order with the Replace.
            replacement: The Replace, of `a:C`.
        """
        later = max(due, replacement, key=lambda either: either.position)
        earlier = min(due, replacement, key=lambda either: either.position)
        target = str(due.change.place)
        is_part = due.change.place != replacement.change.place
        if is_part and not self._discards(replacement, due.change.place):
            return  # the new object may still have the part, or what changed it
        if isinstance(due.change, Edit):
            message = (
                f"{due.description} would have no effect beside {replacement.description}: the "
                "original, which it edits, is not called any more"
            )
            fix = f"let the Replace bring what the Edit changes, {_ONE_OF_THEM}"
            yield Exclusion(later.row, earlier.row, target, message, fix)
        elif (
            is_part
            and due is earlier
            and isinstance(due.change, (Add, *_OF_WHAT_IS_THERE))
        ):
            message = (
                f"{replacement.description} would discard {due.description}, which comes before "
                "it"
            )
            fix = f"after=({replacement.row.name!r},) in {due.row.name}"
            if due.row is replacement.row:
                fix = f"declare the {replacement.change.kind} before the {due.change.kind}"
            yield Exclusion(later.row, earlier.row, target, message, fix)
        # Here `due` comes after the Replace. An Add is left out: it needs no part to be there.
        elif is_part and isinstance(due.change, _OF_WHAT_IS_THERE):
            yield from self._missing_part(due, replacement)

    def _missing_part(
        self, due: _DueChange, replacement: _DueChange
    ) -> Iterator[Exclusion]:
        """Find that the new object of a Replace lacks the part that a later change is about.

        Of a Wrap of `a:C.f` after a Replace of `a:C` by `New`, that is `New.f`.
        """
        whole = replacement.change.place
        part = due.change.place.qualname.removeprefix(whole.qualname)
        name = f"{replacement.change.body_name}{part}"
        replacing_row = replacement.row
        pack = self._packs[replacing_row.pack]
        facts = pack.facts(replacing_row, name)
        if facts.state == "absent":
            message = f"{due.description} finds no {name} in what {replacement.description} brings"
            fix = f"define {name} in {replacing_row.body}"
            target = str(due.change.place)
            yield Exclusion(due.row, replacing_row, target, message, fix)

    def _discards(self, replacement: _DueChange, part: Target) -> bool:
        """Whether a Replace is certain to lose a part of its target, and what changed it.

        A subclass still inherits its base's members; another container, constant or unrelated class
        has nothing of the original.
        """
        whole = replacement.change.place
        first_step_inside = part.steps[len(whole.steps)]
        if isinstance(first_step_inside, Item):
            return True
        facts = self._release.facts(whole)
        if facts.kind == Kind.CONSTANT:
            return facts.is_sure
        if facts.kind != Kind.CLASS or not facts.is_sure:
            return False
        return self._is_unrelated(replacement, facts.module)

    def _is_unrelated(self, replacement: _DueChange, home: str) -> bool:
        """Whether a class of a body is certain to derive from no class of the target's package.

        Args:
            replacement: The Replace by that class.
            home: The module that defines the target.
        """
        change = replacement.change
        assert isinstance(change, Replace)
        if not change.unrelated:
            return False  # it has to derive from the target: see `Judge`
        row = replacement.row
        resolver = self._packs[row.pack].as_release.resolver
        bases = bases_of(resolver, Target(row.body, change.by))
        packages_of_bases = {base.partition(".")[0] for base in bases.outside}
        package = home.partition(".")[0]
        return bases.is_whole and package not in packages_of_bases
