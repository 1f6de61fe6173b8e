"""Carries a row to a later release: merges its changes with upstream's changes since the old one.

The three versions of each merge are upstream's code in the old release (`base`), the row's changed
copy of that (`ours`), and upstream's code in the later release (`theirs`).
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from patchkit.analysis.check.added_names import AddedNames
from patchkit.analysis.check.comparison import Comparison, compare
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.packages import package_of
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.using import RowUses
from patchkit.authoring.piles.guards import CODE
from patchkit.authoring.rebase.carried import (
    CarriedChanges,
    Conflict,
    LeftOut,
    UpstreamDefinition,
)
from patchkit.authoring.rebase.carried_sets import (
    carried_sets,
    refuse_absent,
    refuse_second_change,
)
from patchkit.authoring.rebase.merged_changes import merged_edits, merged_replacement
from patchkit.authoring.rebase.moved_names import moved_uses, with_moved
from patchkit.authoring.rebase.ranges import carried_requirements, split_at, version_of
from patchkit.authoring.scaffold.files import PlannedFile
from patchkit.authoring.scaffold.row_edits import with_changes
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.module_text import ModuleText
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    AfterImport,
    Change,
    Edit,
    Provide,
    Replace,
    Row,
)
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError, TargetError, shown
from patchkit.registry import read_pack

_SHARED = "other rows of the body use {}, too"


@dataclass
class Rebase:
    """Carries one row from a release to a later one; `run` computes the result and writes nothing.

    Args:
        row: the row that is carried.
        old: the release that the row holds for.
        new: the later release.
        pack: the sources of the row's pack.
        keep: whether the row's present changes stay beside the new ones, for older releases.
        conflicts: the changes that a person has to carry; filled in by `run`.
        files: the files to write; filled in by `plan`.
        body: the text of the row's body, after the merge; None for a row without a body, and read
            by `run` if it is not given.
        left_out: the releases that the carried row's range leaves out.
        end: the first release that has all the changes itself, if the result is `retired`.
        to_review: the targets that a person has to look at, as upstream has changed them.
    """

    row: Row
    old: CheckedRelease
    new: CheckedRelease
    pack: PackSource
    keep: bool = False
    conflicts: list[Conflict] = field(default_factory=list)
    files: list[PlannedFile] = field(default_factory=list)
    body: ModuleText | None = None
    left_out: list[LeftOut] = field(default_factory=list)
    end: CheckedRelease | None = None
    to_review: list[Target] = field(default_factory=list)
    _old_body: bytes = b""
    _results: list[str] = field(default_factory=list)
    _carried_by_index: dict[int, Sequence[Change]] = field(default_factory=dict)

    @property
    def result(self) -> str:
        """`conflict`, `unchanged`, `merged`, or `retired` where upstream has all the changes."""
        if self.conflicts:
            return "conflict"
        results = set(self._results)
        if not results:
            return "unchanged"
        if len(results) == 1:
            return results.pop()
        return "merged"  # its changes differ in their results

    @property
    def file(self) -> str:
        """The file that a person edits where a change conflicts."""
        return shown(self._body_file or self.pack.path)

    @property
    def changes(self) -> list[Sequence[Change]]:
        """For each change of the row, in order, the changes that replace it; may be none."""
        is_retired = self.result == "retired"
        carried_changes: list[Sequence[Change]] = []
        for index, change in enumerate(self.row.patch.changes):
            carried: Sequence[Change] = [change]
            if not is_retired:
                carried = self._carried_by_index.get(index, carried)
            if self.keep and list(carried) != [change]:
                package = package_of(change)
                carried = split_at(change, carried, package, version_of(self.new))
            carried_changes.append(carried)
        return carried_changes

    @property
    def requires(self) -> tuple[str, ...]:
        """The requirements of the row for the later release."""
        patch = self.row.patch
        packages = {self.new.project, *self.new.covers(map(package_of, patch.changes))}
        result = self.result
        limit = self.new
        if self.end and result == "retired":
            limit = self.end
        carried = carried_requirements(
            patch.requires,
            packages,
            version_of(limit),
            is_new=result == "merged" and not self.keep,
            is_over=result == "retired",
            left_out=[release.version for release in self.left_out],
        )
        return tuple(carried)

    @property
    def _body_file(self) -> Path | None:
        """The file with the row's code; None for a row without a body.

        That is the body, or `code_x.py` beside a `patch_x.py` that `adopt` wrote to guard it.
        """
        patch = self.row.patch
        body = self.pack.bodies.get(patch.body or "")
        has_code = any(change.body_name.startswith(CODE) for change in patch.changes)
        if body and has_code:
            code_name = body.name.replace("patch", "code", 1)
            return body.with_name(code_name)
        return body

    @property
    def _names_of_other_rows(self) -> set[str]:
        """The names in the row's body that other rows with the same body refer to."""
        patch = self.row.patch
        names: set[str] = set()
        for sibling in sys.modules[self.pack.name].PATCHES:
            if sibling.name != patch.name and sibling.body == patch.body:
                names.update(change.body_name for change in sibling.changes)
        return names

    def pack_adds(self, target: Target) -> bool:
        """Whether the target is not upstream's, but one that rows of the pack add, or is in one.

        These rows may be for earlier releases only, as long as they were not carried themselves.

        Args:
            target: the target.
        """
        changes: list[Change] = []
        for row in read_pack(self.pack.name):
            changes += row.patch.changes
        return AddedNames(changes, self.new).has(target)

    def run(self) -> None:
        """Compute what becomes of each change; the Edits of one function are merged as one."""
        body_file = self._body_file
        if body_file and self.body is None:
            self._old_body = body_file.read_bytes()
            text = self._old_body.decode("utf-8-sig").replace("\r\n", "\n")
            self.body = ModuleText(str(body_file), text)
        for _, group in groupby(
            self._due_changes(), key=lambda pair: _group_key(*pair)
        ):
            self._carry_group(list(group))
        if self.body and not self.keep and self.result != "retired":
            self._follow_imports(self.body)

    def _due_changes(self) -> list[tuple[int, Change]]:
        """List the changes that the row makes in both releases, with their indexes.

        Edits come last, those of one function beside each other, for `run` to group. A change for
        the old release alone is not carried: the row has another for the later one.
        """
        due_in_old = self._changes_in(self.old)
        due_in_new = self._changes_in(self.new)
        numbered: list[tuple[int, Change]] = []
        for index, change in enumerate(self.row.patch.changes):
            if change in due_in_old and change in due_in_new:
                numbered.append((index, change))
        numbered.sort(key=lambda pair: (isinstance(pair[1], Edit), str(pair[1].place)))
        return numbered

    def _changes_in(self, release: CheckedRelease) -> Sequence[Change]:
        """List the changes that the row makes in a release, even one that it does not allow yet."""
        # `inverse`: also out of the row's range, with the changes that a wider range would have.
        coverage = Coverage([self.row], [release], inverse=True)
        return coverage.to_check(self.row, coverage.releases[0])

    def _carry_group(self, group: Sequence[tuple[int, Change]]) -> None:
        """Carry the changes of a group, and record the result or the conflict.

        What replaces the group is recorded for its first change, and nothing for the others.

        Args:
            group: changes with their indexes in the row.
        """
        indexes = [index for index, _ in group]
        changes = [change for _, change in group]
        try:
            carried = self._carried(changes)
        except (ScaffoldError, TargetError) as error:
            self._refuse(changes[0].place, error)
            return
        self._results.append(carried.result)
        self.to_review += carried.to_review
        if list(carried.changes) != changes:
            self._carried_by_index.update(dict.fromkeys(indexes, ()))
            self._carried_by_index[indexes[0]] = carried.changes

    def _refuse(self, target: Target, error: ScaffoldError | TargetError) -> None:
        """Record a conflict.

        Args:
            target: the target of the change.
            error: why it could not be carried; its arguments are a reason, and the text of a
                merge where there was one.
        """
        reason, *texts = error.args
        if isinstance(error, TargetError):
            reason = f"its Edit: {reason}"
        upstream = compare(target, self.old, self.new).diff
        self.conflicts.append(Conflict(target, reason, "".join(texts), upstream))

    def plan(self) -> None:
        """Fill in `files`: the module of the row and its body, as far as the rebase changes them.

        Raises:
            ScaffoldError: the row is not written plainly enough to be changed.
        """
        row_file = self.pack.path
        content = row_file.read_bytes()
        new = with_changes(
            row_file, content, self.row.patch, self.changes, self.requires
        )
        planned = [PlannedFile("row", row_file, new, content)]
        body_file = self._body_file
        if body_file and self.body and self.result == "merged":
            newline = b"\r\n" if b"\r\n" in self._old_body else b"\n"
            new_body = self.body.text.encode().replace(b"\n", newline)
            planned.append(PlannedFile("body", body_file, new_body, self._old_body))
        self.files = [file for file in planned if file.new != file.old]

    def refuse(self, reasons: Iterable[str]) -> None:
        """Record conflicts of the carried row, and plan no files if there are any.

        Args:
            reasons: Why the row would not hold for the later release; may be empty.
        """
        first = next(iter(self.row.patch.changes))
        self.conflicts += [Conflict(first.place, reason) for reason in reasons]
        if self.conflicts:
            self.files = []

    def _carried(self, changes: Sequence[Change]) -> CarriedChanges:
        """Return what becomes of the changes of a group.

        Args:
            changes: changes of one target; more than one only if they are Edits.

        Raises:
            ScaffoldError: a release lacks their target, or the sides cannot be merged.
            TargetError: an Edit does not fit the text of its function.
        """
        first = changes[0]
        target = first.place
        # An Add, AddField or Provide brings what upstream lacks; the later release may have it.
        brought = target
        if isinstance(first, AddField):
            brought = Target(target.module, f"{target.qualname}.{first.name}")
        if isinstance(first, (Add, AddField, Provide)) and self.new.has(brought):
            return CarriedChanges("retired", ())
        if isinstance(first, (Add, Provide)):
            return CarriedChanges("unchanged", changes)
        # A target that another row adds is in no release, so upstream cannot have changed it.
        if self.pack_adds(target) and not self.new.has(target):
            return CarriedChanges("unchanged", changes)
        comparison = compare(target, self.old, self.new)
        refuse_absent(comparison)
        new_target = comparison.new.place
        if new_target != target:
            refuse_second_change(comparison, self._changes_in(self.new))
            retargeted = {first.target_field: str(new_target)}
            changes = [change.__replace__(**retargeted) for change in changes]
        carried = CarriedChanges("unchanged", changes)
        if isinstance(changes[0], AfterImport):
            carried = carried_sets(changes[0], self.old, self.new)
        elif comparison.changed:
            carried = self._merged_changes(changes, comparison)
        # The row names another target, so that it has to be written anew.
        if new_target != target and carried.result == "unchanged":
            return carried._replace(result="merged")
        return carried

    def _merged_changes(
        self, changes: Sequence[Change], comparison: Comparison
    ) -> CarriedChanges:
        """Merge Edits or a Replace with upstream's changes of the target.

        Changes of other kinds, such as a Wrap, contain none of upstream's code: they stay, and a
        person has to read what upstream changed.

        Args:
            changes: the changes of a group.
            comparison: their target in both releases, which differs.
        """
        first = changes[0]
        if isinstance(first, Edit):
            # For type checkers: the first change is an Edit, and so all changes of the group are.
            edits_of_target = [change for change in changes if isinstance(change, Edit)]
            base = self.old.text(comparison.old.facts)
            theirs = self.new.text(comparison.new.facts)
            return merged_edits(edits_of_target, base, theirs, keep=self.keep)
        if isinstance(first, Replace) and self.body:
            return merged_replacement(
                first,
                UpstreamDefinition.read(self.old, comparison.old),
                UpstreamDefinition.read(self.new, comparison.new),
                self.body,
                self._name_in_body,
                keep=self.keep,
                is_shared=bool(self._names_of_other_rows),
            )
        return CarriedChanges("unchanged", changes, [comparison.new.place])

    def _name_in_body(self, by: str, definitions: Definitions) -> str:
        """Return the name for a merged definition: `f`, or `f_0_11_0` where the old `f` is kept.

        Raises:
            ScaffoldError: the body has the new name already, or other rows use the old one.
        """
        name = by
        if self.keep:
            version = version_of(self.new).replace(".", "_")
            name = f"{by}_{version}"
            if name in definitions.named:
                raise ScaffoldError(f"{name} is there already")
        elif name in self._names_of_other_rows:
            raise ScaffoldError(_SHARED.format(name))
        return name

    def _follow_imports(self, body: ModuleText) -> None:
        """Rewrite the body's imports of upstream names that moved in the later release.

        If other rows use the body, each name that moved is a conflict as well.

        Args:
            body: the text of the body, which is changed.
        """
        moved = self._moved_uses()
        text = with_moved(body.text, moved)
        if text == body.text:
            return
        if self._names_of_other_rows:
            reason = f"it moved, and {_SHARED.format('it')}"
            self.conflicts += [Conflict(target, reason) for target in moved]
        self._results.append("merged")
        body.text = text

    def _moved_uses(self) -> dict[Target, Target]:
        """Return the new place of each upstream name that the body uses and that has moved."""
        coverage = Coverage([self.row], [self.new], beside=read_pack(self.row.pack))
        uses = RowUses(coverage, {self.pack.name: self.pack})
        # What the body uses and the release lacks, or has otherwise; the former may have moved.
        misfits = uses.misfits(self.row, [self.new])[self.new.name]
        upstreams = [misfit for misfit in misfits if not self.pack_adds(misfit.target)]
        return moved_uses(upstreams, self.old, self.new)


def _group_key(index: int, change: Change) -> object:
    """Return a key that is equal for Edits of one function, and unique for any other change."""
    if isinstance(change, Edit):
        return change.__replace__(old="", new="", count=1)
    return index
