"""Carries a row to a later release: merges what the row changes with what upstream changed."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from patchkit.analysis.check.comparison import Comparison, compare
from patchkit.analysis.check.coverage import Coverage, package_of
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.using import RowUses
from patchkit.analysis.upstream.facts import Facts
from patchkit.authoring.adopt.body_code import BodyCode
from patchkit.authoring.adopt.carried import CarriedChanges, Conflict
from patchkit.authoring.adopt.definitions import Definitions, names_in
from patchkit.authoring.adopt.edits import all_edited, edits, mark
from patchkit.authoring.adopt.guards import CODE
from patchkit.authoring.adopt.merging import merged_copy
from patchkit.authoring.adopt.module_text import ModuleText
from patchkit.authoring.adopt.moved_names import with_moved
from patchkit.authoring.adopt.ranges import carried_requirements
from patchkit.authoring.adopt.transplant import make
from patchkit.authoring.scaffold.files import PlannedFile
from patchkit.authoring.scaffold.row_edits import with_changes
from patchkit.core.rows.declaration import Add, Change, Edit, Provide, Replace, Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import FoundVersion
from patchkit.errors import ScaffoldError, TargetError, shown

_SHARED = "other rows of the body use {}, too"


@dataclass
class Rebase:
    """One row from a release to a later one; `run` works it out and writes nothing.

    Args:
        row: the row that is carried.
        old: the release that the row holds for.
        new: the later release.
        pack: the sources of the row's pack.
        keep: whether the changes that it has stay, for the releases before.
        conflicts: what a person has to carry; filled in by `run`.
        files: the files that are to be written; filled in by `plan`.
        body: the text of the row's body, with what was merged in it; None without a body.
    """

    row: Row
    old: CheckedRelease
    new: CheckedRelease
    pack: PackSource
    keep: bool = False
    conflicts: list[Conflict] = field(default_factory=list)
    files: list[PlannedFile] = field(default_factory=list)
    body: ModuleText | None = None
    _old_body: bytes = b""
    _results: list[str] = field(default_factory=list)
    _carried_by_index: dict[int, Sequence[Change]] = field(default_factory=dict)

    @property
    def result(self) -> str:
        """What became of the row: `conflict`, `unchanged`, `merged` or `retired`.

        A row is retired where upstream has all of its changes.
        """
        if self.conflicts:
            return "conflict"
        results = set(self._results)
        if not results:
            return "unchanged"
        if len(results) == 1:
            return results.pop()
        return "merged"

    @property
    def file(self) -> str:
        """The file that a person edits where a change conflicts."""
        return shown(self._body_file or self.pack.path)

    @property
    def changes(self) -> list[Sequence[Change]]:
        """For each change of the row, in order, the changes that replace it; none if it goes."""
        is_retired = self.result == "retired"
        carried_changes: list[Sequence[Change]] = []
        for index, change in enumerate(self.row.patch.changes):
            carried: Sequence[Change] = [change]
            if not is_retired:
                carried = self._carried_by_index.get(index, carried)
            if self.keep and list(carried) != [change]:
                carried = self._beside(change, carried)
            carried_changes.append(carried)
        return carried_changes

    def _beside(self, change: Change, carried: Sequence[Change]) -> list[Change]:
        """Bound a change to the releases before the later one, and what it becomes to that on."""
        package = package_of(change)
        version = _release(self.new)
        before = f"{package}<{version}"
        since = f"{package}>={version}"
        ended = change.__replace__(requires=(*change.requires, before))
        begun = [
            later.__replace__(requires=(*later.requires, since)) for later in carried
        ]
        return [ended, *begun]

    @property
    def requires(self) -> tuple[str, ...]:
        """The requirements of the row, as they are to be written."""
        patch = self.row.patch
        packages = {self.new.project, *self.new.covers(map(package_of, patch.changes))}
        result = self.result
        carried = carried_requirements(
            patch.requires,
            packages,
            _release(self.new),
            is_new=result == "merged" and not self.keep,
            is_over=result == "retired",
        )
        return tuple(carried)

    @property
    def _body_file(self) -> Path | None:
        """The file with the row's code: the body, or the one beside it that `adopt` has written."""
        patch = self.row.patch
        body = self.pack.bodies.get(patch.body or "")
        has_code = any(change.body_name.startswith(CODE) for change in patch.changes)
        if body and has_code:
            code_name = body.name.replace("patch", "code", 1)
            return body.with_name(code_name)
        return body

    @property
    def _shared(self) -> set[str]:
        """The names in its body that changes of other rows use."""
        patch = self.row.patch
        names: set[str] = set()
        for sibling in sys.modules[self.pack.name].PATCHES:
            if sibling.name != patch.name and sibling.body == patch.body:
                names.update(change.body_name for change in sibling.changes)
        return names

    def run(self) -> None:
        """Carry each change; those of one function that are Edits are carried together."""
        body_file = self._body_file
        if body_file:
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
        """List the changes that are due in both releases, with their indexes; Edits come last.

        Where a change is due in the old release alone, others stand in for it in the new one.
        """
        due_in_old = self._tried(self.old)
        due_in_new = self._tried(self.new)
        numbered: list[tuple[int, Change]] = []
        for index, change in enumerate(self.row.patch.changes):
            if change in due_in_old and change in due_in_new:
                numbered.append((index, change))
        numbered.sort(key=lambda pair: (isinstance(pair[1], Edit), str(pair[1].place)))
        return numbered

    def _tried(self, release: CheckedRelease) -> Sequence[Change]:
        """List the changes that the row makes in a release."""
        coverage = Coverage([self.row], [release], inverse=True)
        return coverage.to_check(self.row, coverage.releases[0])

    def _carry_group(self, group: Sequence[tuple[int, Change]]) -> None:
        """Carry changes together; the first of them becomes what all of them become."""
        indexes = [index for index, _ in group]
        changes = [change for _, change in group]
        try:
            carried = self._carried(changes)
        except (ScaffoldError, TargetError) as error:
            self._refuse(changes[0].place, error)
            return
        self._results.append(carried.result)
        if list(carried.changes) != changes:
            self._carried_by_index.update(dict.fromkeys(indexes, ()))
            self._carried_by_index[indexes[0]] = carried.changes

    def _refuse(self, target: Target, error: ScaffoldError | TargetError) -> None:
        """Record a conflict; the arguments of the error are a reason and, if any, the merge."""
        reason, *texts = error.args
        if isinstance(error, TargetError):
            reason = f"its Edit: {reason}"
        upstream = compare(target, self.old, self.new).diff
        self.conflicts.append(Conflict(target, reason, "".join(texts), upstream))

    def plan(self) -> None:
        """Work out the files that are other then.

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
        """Record why the row would not hold as it is carried; nothing is written of it then.

        Args:
            reasons: The reasons, for people.
        """
        first = next(iter(self.row.patch.changes))
        self.conflicts += [Conflict(first.place, reason) for reason in reasons]
        if self.conflicts:
            self.files = []

    def _carried(self, changes: Sequence[Change]) -> CarriedChanges:
        """Carry changes that are carried together.

        Raises:
            ScaffoldError: a release lacks their target, or the sides cannot be merged.
            TargetError: an Edit does not fit the text of its function.
        """
        first = changes[0]
        target = first.place
        if isinstance(first, (Add, Provide)):
            if self.new.has(target):
                return CarriedChanges("retired", ())
            return CarriedChanges("unchanged", changes)
        comparison = compare(target, self.old, self.new)
        for side in (comparison.old, comparison.new):
            if not side.facts.is_present:
                raise ScaffoldError(
                    f"{side.release}: {side.facts.reason or 'it is not there'}"
                )
        new_target = comparison.new.place
        if new_target != target:
            retargeted = {first.target_field: str(new_target)}
            changes = [change.__replace__(**retargeted) for change in changes]
        carried = CarriedChanges("unchanged", changes)
        if comparison.changed:
            carried = self._merged_changes(changes, comparison)
        if new_target != target and carried.result == "unchanged":
            return carried._replace(result="merged")
        return carried

    def _merged_changes(
        self, changes: Sequence[Change], comparison: Comparison
    ) -> CarriedChanges:
        """Merge changes with what upstream changed; those of other kinds stay as they are."""
        first = changes[0]
        if isinstance(first, Edit):
            # Changes that are carried together are of one kind.
            edits_of_target = [change for change in changes if isinstance(change, Edit)]
            return self._merged_edits(edits_of_target, comparison)
        if isinstance(first, Replace) and self.body:
            return self._merged_replacement(first, comparison, self.body)
        return CarriedChanges("unchanged", changes)

    def _merged_edits(
        self, changes: Sequence[Edit], comparison: Comparison
    ) -> CarriedChanges:
        """Merge the Edits of one function with what upstream changed in it."""
        base = self.old.text(comparison.old.facts)
        theirs = self.new.text(comparison.new.facts)
        text = merged_copy(base, all_edited(changes, base), theirs)
        if mark(text) == mark(theirs):
            return CarriedChanges("retired", ())
        with suppress(TargetError, SyntaxError):
            if mark(all_edited(changes, theirs)) == mark(text):
                return CarriedChanges("unchanged", changes)
        text_edits = edits(theirs.rstrip("\n"), text)
        if text_edits is None:
            raise ScaffoldError("no Edits make the merged text of upstream's")
        first = changes[0]
        merged_edits = [
            first.__replace__(old=edit.old, new=edit.new, count=1)
            for edit in text_edits
        ]
        return CarriedChanges("merged", merged_edits)

    def _merged_replacement(
        self, change: Replace, comparison: Comparison, body: ModuleText
    ) -> CarriedChanges:
        """Merge a definition in the body with what upstream changed in what it replaces."""
        by = change.by.removeprefix(CODE)
        last = by.rpartition(".")[2]  # of a method in a class of the body
        old_facts = comparison.old.facts
        old_module = _definitions(self.old, old_facts)
        base = old_module.as_in_body(old_facts.qualname, last)
        new_facts = comparison.new.facts
        new_module = _definitions(self.new, new_facts)
        theirs = new_module.as_in_body(new_facts.qualname, last)
        ours = body.read().renamed(by, last)
        text = merged_copy(base, ours, theirs)
        if mark(text) == mark(theirs):
            return CarriedChanges("retired", ())
        if mark(text) == mark(ours):
            return CarriedChanges("unchanged", [change])
        name = self._put_in_body(text, by, new_module, body)
        new_by = change.by.replace(by, name)
        merged_change = change.__replace__(by=new_by)
        return CarriedChanges("merged", [merged_change])

    def _put_in_body(
        self, text: str, by: str, upstream: Definitions, body: ModuleText
    ) -> str:
        """Put a merged definition into the body, with the imports that it needs.

        Args:
            text: the definition.
            by: the qualified name of the definition in the body that it was merged with.
            upstream: the module of the later release that it was merged with.
            body: the text of the body, which is changed.

        Returns:
            The name that it has there: a new one where the changes that the row has stay.

        Raises:
            ScaffoldError: the body has the new name already, or other rows use the old one.
        """
        definitions = body.read()
        name = by
        if self.keep:
            version = _release(self.new).replace(".", "_")
            name = f"{by}_{version}"
            if name in definitions.named:
                raise ScaffoldError(f"{name} is there already")
        elif name in self._shared:
            raise ScaffoldError(_SHARED.format(name))
        merged_module = Definitions.of("merged.py", text.encode())
        in_reach = {*definitions.named, *definitions.imports}
        in_reach |= names_in(definitions.named[by])
        imports = {
            defined: f"from {upstream.tree.name} import {defined}"
            for defined in upstream.named
        }
        imports.update(upstream.imports)
        for bound, statement in imports.items():
            if bound not in in_reach:
                merged_module.imports[bound] = statement
        target = f"{self.row.body}:{name}"
        last = by.rpartition(".")[2]
        change: Change = Replace(target, by=last)
        if self.keep:
            change = Add(target, by=last)
        make(body, change, name, BodyCode(merged_module))
        return name

    def _follow_imports(self, body: ModuleText) -> None:
        """Let the body import what moved from where it is now."""
        coverage = Coverage([self.row], [self.new])
        uses = RowUses(coverage, {self.pack.name: self.pack})
        misfits_by_release = uses.misfits(self.row, [self.new])
        misfits = misfits_by_release[self.new.name]
        gone = [misfit.target for misfit in misfits if not self.new.has(misfit.target)]
        old_places = [(target, self.old) for target in gone]
        moves = self.new.moves(old_places)
        moved: dict[Target, Target] = {}
        for target, move in zip(gone, moves, strict=True):
            if move.place:
                moved[target] = move.place
        text = with_moved(body.text, moved)
        if text == body.text:
            return
        if self._shared:
            reason = f"it moved, and {_SHARED.format('it')}"
            self.conflicts += [Conflict(target, reason) for target in moved]
        self._results.append("merged")
        body.text = text


def _group_key(index: int, change: Change) -> object:
    """Say what changes are carried together: Edits that differ only in their texts."""
    if isinstance(change, Edit):
        return change.__replace__(old="", new="", count=1)
    return index


def _definitions(release: CheckedRelease, facts: Facts) -> Definitions:
    """Read the module of a release that defines something."""
    return Definitions.of(facts.path, release.source.read(facts.path) or b"")


def _release(release: CheckedRelease) -> str:
    """Name the version of a release, as requirements have to name it."""
    return FoundVersion(release.project, release.version, release.name).counts_as
