"""A row carried to a later release: what upstream changed, and what the row changes, merged."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.check.comparison import Comparison, compare
from patchkit.analysis.check.coverage import Coverage, package_of
from patchkit.analysis.check.judge import edited
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.subjects import Subject
from patchkit.analysis.check.using import RowUses
from patchkit.authoring.adopt.definitions import Definitions, names_in
from patchkit.authoring.adopt.edits import edits, mark
from patchkit.authoring.adopt.guards import CODE
from patchkit.authoring.adopt.merging import merged
from patchkit.authoring.adopt.ranges import carried
from patchkit.authoring.adopt.transplant import ModuleText, with_moved
from patchkit.authoring.scaffold.plan import PlannedFile
from patchkit.authoring.scaffold.rows import with_changes
from patchkit.core.rows.declaration import Add, Change, Edit, Provide, Replace, Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import FoundVersion
from patchkit.errors import ScaffoldError, TargetError, shown

_LIKE = 0.4
"""What shares less with upstream's text, from 0 to 1, is no copy of it."""
_USED = "other rows of the body use {}, too"


class Conflict(NamedTuple):
    """A change that a person has to carry: why, the merge with markers, what upstream changed."""

    target: Target
    reason: str
    text: str = ""
    upstream: str = ""


_Carried = tuple[str, Sequence[Change]]  # what became of changes, and what they are then


@dataclass
class Rebase:
    """One row from a release to a later one; `run` works it out and writes nothing.

    Args:
        keep: whether the changes that it has stay, for the releases before.
    """

    row: Row
    old: Subject
    new: Subject
    pack: PackSource
    keep: bool = False
    conflicts: list[Conflict] = field(default_factory=list)
    files: list[PlannedFile] = field(default_factory=list)
    body: ModuleText | None = None
    _old: bytes = b""
    _results: list[str] = field(default_factory=list)
    _changes: dict[int, Sequence[Change]] = field(default_factory=dict)

    @property
    def result(self) -> str:
        """What became of it; it is retired where upstream has all of its changes."""
        if self.conflicts:
            return "conflict"
        kinds = {*self._results} or {"unchanged"}
        return kinds.pop() if len(kinds) == 1 else "merged"

    @property
    def file(self) -> str:
        """The file that a person edits where a change conflicts."""
        return shown(self._body_file or self.pack.path)

    @property
    def changes(self) -> list[Sequence[Change]]:
        """What each of its changes is then: nothing, one or several."""
        found = list[Sequence[Change]]()
        for at, old in enumerate(self.row.patch.changes):
            new = self._changes.get(at, [old]) if self.result != "retired" else [old]
            if self.keep and list(new) != [old]:
                of, version = package_of(old), _release(self.new)
                ended = old.__replace__(requires=(*old.requires, f"{of}<{version}"))
                later = f"{of}>={version}"
                new = [ended, *(one.__replace__(requires=(*one.requires, later)) for one in new)]
            found.append(new)
        return found

    @property
    def requires(self) -> tuple[str, ...]:
        """What it requires then."""
        packages = {self.new.project, *self.new.covers(map(package_of, self.row.patch.changes))}
        is_new, is_over = self.result == "merged" and not self.keep, self.result == "retired"
        given, new = self.row.patch.requires, _release(self.new)
        return tuple(carried(given, packages, new, is_new=is_new, is_over=is_over))

    @property
    def _body_file(self) -> Path | None:
        body = self.pack.bodies.get(self.row.patch.body or "")
        is_apart = body and any(one.body_name.startswith(CODE) for one in self.row.patch.changes)
        return body.with_name(body.name.replace("patch", "code", 1)) if body and is_apart else body

    @property
    def _shared(self) -> set[str]:
        """What other rows use of its body."""
        patch, rows = self.row.patch, sys.modules[self.pack.name].PATCHES
        others = (one for one in rows if one.name != patch.name and one.body == patch.body)
        return {change.body_name for one in others for change in one.changes}

    def run(self) -> None:
        """Carry each change; those of one function that are Edits are carried together."""
        if body := self._body_file:
            self._old = body.read_bytes()
            self.body = ModuleText(str(body), self._old.decode("utf-8-sig").replace("\r\n", "\n"))
        views = (Coverage([self.row], [one], inverse=True) for one in (self.old, self.new))
        due, then = (one.tried(self.row, one.subjects[0]) for one in views)
        due = [one for one in due if one in then]  # others stand in for what ended
        numbered = [(at, one) for at, one in enumerate(self.row.patch.changes) if one in due]
        numbered.sort(key=lambda one: (isinstance(one[1], Edit), str(one[1].place)))
        for _, group in groupby(numbered, key=lambda one: _together(*one)):
            places, several = zip(*group, strict=True)
            try:
                result, new = self._carried(several)
            except (ScaffoldError, TargetError) as error:
                self._refuse(several[0].place, error)
                continue
            self._results.append(result)
            if list(new) != list(several):
                self._changes.update({places[0]: new, **dict.fromkeys(places[1:], ())})
        if self.body and not self.keep and self.result != "retired":
            self._follow_imports(self.body)

    def _refuse(self, place: Target, error: ScaffoldError | TargetError) -> None:
        reason, *texts = error.args
        reason = f"its Edit: {reason}" if isinstance(error, TargetError) else reason
        text, upstream = "".join(texts), compare(place, self.old, self.new).diff
        self.conflicts.append(Conflict(place, reason, text, upstream))

    def plan(self) -> None:
        """Work out the files that are other then; ScaffoldError where the row's is not plain."""
        row, body = self.pack.path, self._body_file
        content = row.read_bytes()
        new = with_changes(row, content, self.row.patch, self.changes, self.requires)
        texts = [PlannedFile("row", row, new, content)]
        if body and self.body and self.result == "merged":
            ends = b"\r\n" if b"\r\n" in self._old else b"\n"
            new = self.body.text.encode().replace(b"\n", ends)
            texts.append(PlannedFile("body", body, new, self._old))
        self.files = [one for one in texts if one.new != one.old]

    def refuse(self, reasons: Iterable[str]) -> None:
        """Take note of why the row does not hold as it would be; nothing is written of it then."""
        first, *_ = self.row.patch.changes
        self.conflicts += [Conflict(first.place, one) for one in reasons]
        self.files = [] if self.conflicts else self.files

    def _carried(self, several: Sequence[Change]) -> _Carried:
        change, place = several[0], several[0].place
        if isinstance(change, (Add, Provide)):
            return ("retired", ()) if self.new.has(place) else ("unchanged", several)
        found = compare(place, self.old, self.new)
        for side in (found.old, found.new):
            if not side.facts.is_present:
                raise ScaffoldError(f"{side.release}: {side.facts.reason or 'it is not there'}")
        is_moved = found.new.place != place
        moved = {change.target_field: str(found.new.place)}
        several = [one.__replace__(**moved) for one in several] if is_moved else several
        result, new = "unchanged", several
        if found.changed and isinstance(change, Edit):
            result, new = self._edits(several, found)  # type: ignore[arg-type]
        elif found.changed and isinstance(change, Replace) and self.body:
            result, new = self._replace(several[0], found, self.body)  # type: ignore[arg-type]
        return "merged" if is_moved and result == "unchanged" else result, new

    def _edits(self, several: Sequence[Edit], found: Comparison) -> _Carried:
        base, theirs = self.old.text(found.old.facts), self.new.text(found.new.facts)
        text = _merged(base, _all_edited(several, base), theirs)
        if mark(text) == mark(theirs):
            return "retired", ()
        with suppress(TargetError, SyntaxError):
            if mark(_all_edited(several, theirs)) == mark(text):
                return "unchanged", several
        made = edits(theirs.rstrip("\n"), text)
        if made is None:
            raise ScaffoldError("no Edits make the merged text of upstream's")
        return "merged", [several[0].__replace__(old=a, new=b, count=1) for a, b, _ in made]

    def _replace(self, change: Replace, found: Comparison, body: ModuleText) -> _Carried:
        by, known, texts = change.by.removeprefix(CODE), body.read(), list[str]()
        last = by.rpartition(".")[2]  # of a method in a class of the body
        for subject, (_, _, facts, _) in ((self.old, found.old), (self.new, found.new)):
            module = Definitions.of(facts.path, subject.source.read(facts.path) or b"")
            try:
                texts.append(module.moved_out(facts.qualname, last))
            except ScaffoldError:  # no body could have it so: it is merged as it stands
                texts.append(module.renamed(facts.qualname, last))
        (base, theirs), ours = texts, known.renamed(by, last)
        text = _merged(base, ours, theirs)
        if mark(text) in (mark(theirs), mark(ours)):
            return ("retired", ()) if mark(text) == mark(theirs) else ("unchanged", [change])
        name = f"{by}_{_release(self.new).replace('.', '_')}" if self.keep else by
        if name in (known.named if self.keep else self._shared):
            raise ScaffoldError(f"{name} is there already" if self.keep else _USED.format(name))
        whole = Definitions.of("merged.py", text.encode())
        own = {one: f"from {module.tree.name} import {one}" for one in module.named}
        names = {*known.named, *known.imports, *names_in(known.named[by])}
        imports = {**own, **module.imports}.items()
        whole.imports.update((one, line) for one, line in imports if one not in names)
        body.make((Add if self.keep else Replace)(f"{self.row.body}:{name}", by=last), name, whole)
        return "merged", [change.__replace__(by=change.by.replace(by, name))]

    def _follow_imports(self, body: ModuleText) -> None:
        """Let the body import what moved from where it is now."""
        uses = RowUses(Coverage([self.row], [self.new]), {self.pack.name: self.pack})
        some = uses.misfits(self.row, [self.new])[self.new.name]
        gone = [one.target for one in some if not self.new.has(one.target)]
        places = self.new.moves([(one, self.old) for one in gone])
        moved = {one: to.place for one, to in zip(gone, places, strict=True) if to.place}
        text = with_moved(body.text, moved)
        if text != body.text and self._shared:
            reason = f"it moved, and {_USED.format('it')}"
            self.conflicts += [Conflict(one, reason) for one in moved]
        self._results += ["merged"] * (text != body.text)
        body.text = text


def _together(at: int, change: Change) -> object:
    return change.__replace__(old="", new="", count=1) if isinstance(change, Edit) else at


def _merged(base: str, ours: str, theirs: str) -> str:
    done = merged(base, ours, theirs)
    if SequenceMatcher(None, base.split("\n"), ours.split("\n"), autojunk=False).ratio() < _LIKE:
        raise ScaffoldError("its code is its own, and upstream's has changed")
    if several := done.conflicts:
        count = f"{len(several)} conflict{'s' * (len(several) > 1)}"
        raise ScaffoldError(count, "".join(several))
    try:
        mark(done.text)
    except SyntaxError as error:
        raise ScaffoldError(f"merged: {error.msg}", done.text) from error
    return done.text


def _all_edited(several: Sequence[Edit], text: str) -> str:
    return reduce(lambda new, one: edited(one, new), several, text)


def _release(subject: Subject) -> str:
    return FoundVersion(subject.project, subject.version, subject.name).counts_as
