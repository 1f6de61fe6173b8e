"""Writes what rows make of a release as a diff of its files."""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from io import StringIO
from pathlib import Path

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.authoring.export.exported_bodies import BodyNames
from patchkit.authoring.export.exported_places import Place, Places, place_of
from patchkit.authoring.source.calls_at_import import called_at_import
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.field_text import add_field
from patchkit.authoring.source.global_names import readers_at_import, unbound_names
from patchkit.authoring.source.main_programs import is_main_program
from patchkit.authoring.source.module_text import ModuleText
from patchkit.authoring.source.transplant import make
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    Change,
    Edit,
    Provide,
    Replace,
    Row,
)
from patchkit.errors import ScaffoldError, TargetError


@dataclass
class Export:
    """The files of a release, as rows change them.

    Args:
        release: the release.
        texts: the changed files, by path; their lines end with a newline alone.
        unwritten: the changes that a diff cannot have, each as a line with the reason.
        remarks: what the diff changes and the patches do not, each as a line.
    """

    release: CheckedRelease
    texts: dict[str, str] = field(default_factory=dict)
    unwritten: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    _replaced: list[Place] = field(default_factory=list)
    _homes: dict[str, str] = field(default_factory=dict)

    def add(self, row: Row, changes: Iterable[Change], pack: PackSource) -> None:
        """Make changes of a row; those that cannot be written are listed, and leave no trace.

        A ScaffoldError or a TargetError of a change is listed, and not raised.

        Args:
            row: the row.
            changes: the changes of it that the release gets.
            pack: the sources of the row's pack.

        Raises:
            UpstreamError: the release, or the row's body, cannot be read.
        """
        body = self._body(row, pack.bodies.get(row.patch.body or ""))
        texts_before = dict(self.texts)
        writable = list(changes)
        while True:
            self.texts = dict(texts_before)
            failed = self._make_all(row, writable, body, texts_before)
            if not failed:
                break
            # The other changes are written anew: their code may use what the failed ones brought.
            writable = [change for change in writable if change not in failed]
        for change in writable:
            self._remark(row, change, body)

    def _body(self, row: Row, file: Path | None) -> BodyNames:
        """Read what the names of a row's body mean."""
        content = file.read_bytes() if file else b""
        path = f"{row.body.replace('.', '/')}.py"
        return BodyNames(Definitions.of(path, content), self.release, row.pack)

    def _make_all(
        self,
        row: Row,
        changes: Sequence[Change],
        body: BodyNames,
        before: Mapping[str, str],
    ) -> list[Change]:
        """Make changes, and list those that cannot be written.

        With one that cannot, `texts` may have some of the changes: the caller has to reset it.

        Args:
            row: the row that has the changes.
            changes: the changes.
            body: the row's body.
            before: the texts of files as earlier rows leave them.

        Returns:
            The changes that cannot be written; each is in `unwritten`, too, with the reason.
        """
        faults: list[tuple[Change, str]] = []
        places: list[tuple[Place, Change]] = []
        # The files that have the body's classes and caches, which no other file may have as well.
        homes = dict(self._homes)
        is_conditional_row = bool(row.patch.when or row.patch.env)
        for change in changes:
            try:
                if is_conditional_row or change.when:
                    raise ScaffoldError(
                        "it is made under a condition, which a diff cannot have"
                    )
                # A Provide is made in no file of the release, so it has no place.
                if not isinstance(change, Provide):
                    place = place_of(change, self.release)
                    self._refuse_encoding(place.path)
                    body.faults.refuse(change, place, changes)
                    body.faults.refuse_copies(change, place, homes)
                    places.append((place, change))
            except (ScaffoldError, TargetError) as error:
                faults.append((change, str(error)))
        # With a fault so far, nothing is written: `add` tries again without the failed changes.
        if not faults:
            faults += self._write_all(changes, places, body)
            faults += self._unbound_in(places, body, before)
        failed: list[Change] = []
        for change, reason in [*faults, *_other_edits(faults, places)]:
            if change not in failed:
                failed.append(change)
                first_line = reason.partition("\n")[0]
                self.unwritten.append(
                    f"{row.name}: {change.place} is not in the diff: {first_line}"
                )
        if not failed:  # all is written: the changes of later rows have to know it
            self._replaced += self._replaced_by(places)
            self._homes = homes
        return failed

    def _write_all(
        self, changes: Sequence[Change], places: Places, body: BodyNames
    ) -> Iterator[tuple[Change, str]]:
        """Write changes; yield those that cannot be written, with the reasons."""
        # Adds come last: a definition is put before the code that uses it, which is there by then.
        for change in sorted(changes, key=lambda change: isinstance(change, Add)):
            try:
                self._make(change, body, places)
            except (ScaffoldError, TargetError) as error:
                yield change, str(error)

    def _unbound_in(
        self, places: Places, body: BodyNames, before: Mapping[str, str]
    ) -> Iterator[tuple[Change, str]]:
        """Yield the changes whose code reads what nothing binds, with the reasons."""
        for path in dict.fromkeys(place.path for place, _ in places):
            old_text = before.get(path, self._read(path))
            # What the text before the changes leaves unbound is no fault of theirs.
            unbound = unbound_names(self._text(path)) - unbound_names(old_text)
            for name in sorted(unbound):
                reason = f"it reads {name}, which {path} does not bind by then"
                for change in _readers(name, path, places, body):
                    yield change, reason

    def _replaced_by(self, places: Places) -> list[Place]:
        """List what changes replace."""
        return [place for place, change in places if isinstance(change, Replace)]

    def _make(self, change: Change, body: BodyNames, places: Places) -> None:
        """Make one change.

        Args:
            change: the change.
            body: the row's body.
            places: all changes that the row makes, by where they are made.

        Raises:
            ScaffoldError: text cannot say what the change does.
            TargetError: an Edit does not fit the text of its function.
        """
        if isinstance(change, Provide):
            self._provide(change, body)
            return
        place = place_of(change, self.release)
        old_text = self._text(place.path)
        text = self._with_change(change, place, old_text, body, places)
        if text == old_text:
            raise ScaffoldError("the release has it already, or an earlier patch")
        try:
            compile(text, place.path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise ScaffoldError(f"{place.path} would not compile: {error}") from error
        self.texts[place.path] = text

    def _with_change(
        self,
        change: Change,
        place: Place,
        text: str,
        body: BodyNames,
        places: Places,
    ) -> str:
        """Return the text of a module with one change made in it.

        Args:
            change: the change.
            place: where it is made.
            text: the text of the module so far.
            body: the row's body.
            places: all changes that the row makes, by where they are made.

        Raises:
            ScaffoldError: text cannot say what the change does.
            TargetError: an Edit does not fit the text of its function.
        """
        # Names that the row's changes bring into this module, the same there as in the body.
        written = {
            sibling.body_name
            for other, sibling in places
            if other.module == place.module and other.qualname == sibling.body_name
        }
        module = ModuleText(place.path, text, frozenset(written), with_conditional=True)
        if "*" in module.read().binders and not isinstance(change, Edit):
            raise ScaffoldError(f"{place.path} imports all names of another module")
        replaced = [*self._replaced, *self._replaced_by(places)]
        code = body.code_for(change, place, places, replaced)
        # The class of the change would derive from the earlier patch's, not from upstream's.
        if code.derives and place in self._replaced:
            raise ScaffoldError("an earlier patch has a class in its place, too")
        if isinstance(change, AddField):
            add_field(module, change, place.qualname, code)
        else:
            make(module, change, place.qualname, code)
        return module.text

    def _remark(self, row: Row, change: Change, body: BodyNames) -> None:
        """Add to `remarks` what the diff changes and the patch does not.

        Code that reads a target as its module is imported is earlier than a patch, and gets the
        original: in the diff, it gets the change. In a new module, a name such as `__name__` is the
        module's: with the patch, it is that of the body.
        """
        if isinstance(change, Provide):
            for word in body.faults.own_words:
                self.remarks.append(
                    f"{row.name}: {change.place} is in the diff, where {word} is that of the "
                    "module, and not that of the body"
                )
        if not isinstance(change, (Edit, Replace)):
            return
        place = place_of(change, self.release)
        reason = _reason_at_import(change, place, self._read(place.path))
        if reason:
            self.remarks.append(
                f"{row.name}: {change.place} is in the diff, which also changes what the import of "
                f"{place.path} makes of it; the patch comes too late for that: {reason}"
            )

    def _provide(self, change: Provide, body: BodyNames) -> None:
        """Add a new module, of which a body has the text."""
        if change.by != "__all__":
            raise ScaffoldError(f"{change.by} makes the module as it is imported")
        path = f"{change.module.replace('.', '/')}.py"
        if self.release.source.has(path):
            raise ScaffoldError(f"the release has a file {path} already")
        body.faults.refuse_module(change.module)
        self.texts[path] = body.definitions.tree.source.decode()

    def _text(self, path: str) -> str:
        """Return the text of a file as it is by now."""
        return self.texts.get(path, self._read(path))

    def _refuse_encoding(self, path: str) -> None:
        """Raise ScaffoldError if a file is no text in UTF-8, as a diff is."""
        try:
            self._text(path).encode()
        except UnicodeEncodeError as error:
            raise ScaffoldError(f"{path} is not in UTF-8") from error

    def _read(self, path: str) -> str:
        """Return the text of a file of the release, whose lines end with a newline alone."""
        return self._read_as_is(path).replace("\r\n", "\n")

    def _read_as_is(self, path: str) -> str:
        """Read a file of the release; '' where it has no such file."""
        return (self.release.source.read(path) or b"").decode(errors="surrogateescape")

    def diff(self) -> str:
        """Return a unified diff, as `git apply` takes it."""
        lines: list[str] = []
        for path in sorted(self.texts):
            lines.extend(self._diff(path))
        return "".join(lines)

    def _diff(self, path: str) -> Iterator[str]:
        """Write the lines of the diff of one file; none where its text is the same."""
        old = self._read_as_is(path)
        new = self.texts[path]
        if "\r\n" in old:
            new = new.replace("\n", "\r\n")
        if old == new:
            return
        yield f"diff --git a/{path} b/{path}\n"
        old_name = f"a/{path}"
        if not self.release.source.has(path):
            yield "new file mode 100644\n"
            old_name = "/dev/null"
        for line in unified_diff(_lines(old), _lines(new), old_name, f"b/{path}"):
            yield (
                line
                if line.endswith("\n")
                else f"{line}\n\\ No newline at end of file\n"
            )


def _reason_at_import(change: Edit | Replace, place: Place, text: str) -> str:
    """Say how the import of a module uses what a change is about; '' if it does not."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not is_main_program(node)]
    if place.is_top_level and place.qualname in called_at_import(tree):
        return f"the import calls {place.qualname}"
    lines = readers_at_import(tree, place.qualname)
    # An Edit changes the function itself, so that earlier readers of its name have it, too.
    if not isinstance(change, Edit) and lines:
        return f"line {lines[0]} reads it"
    return ""


def _readers(name: str, path: str, places: Places, body: BodyNames) -> list[Change]:
    """List the changes of a file whose code has a name in it; all of them if none has.

    Of an Edit, the code is its new text; of other changes, what they take from the body.

    Args:
        name: the name.
        path: the file.
        places: changes, with their places.
        body: the body that they take definitions from.
    """
    changes = [change for place, change in places if place.path == path]
    readers: list[Change] = []
    for change in changes:
        new_text = ""
        if isinstance(change, Edit):
            new_text = change.new
        words = re.findall(r"\w+", new_text)
        if name in words or name in body.faults.names_of(change):
            readers.append(change)
    return readers or changes


def _other_edits(
    faults: Sequence[tuple[Change, str]], places: Places
) -> Iterator[tuple[Change, str]]:
    """Yield the Edits of functions of which another Edit is left out, with the reason.

    A function with some of its Edits would be neither upstream's nor that of the patch.
    """
    failed = [change for change, _ in faults]
    functions = [place for place, change in places if change in failed]
    for place, change in places:
        if isinstance(change, Edit) and place in functions:
            yield change, "another Edit of the same function is left out"


def _lines(text: str) -> list[str]:
    """Split a text where `git` does, at newlines alone; the lines have them."""
    return list(StringIO(text))


def exported(
    rows: Iterable[Row], coverage: Coverage, packs: Mapping[str, PackSource]
) -> Export:
    """Return what rows change in a release.

    Args:
        rows: the rows.
        coverage: what the rows change in the release, the one that it has.
        packs: the sources of the rows' packs, by module.

    Raises:
        UpstreamError: the release, or a body, cannot be read.
    """
    (release,) = coverage.releases
    export = Export(release)
    with warnings.catch_warnings():
        # `compile` warns of invalid escapes, such as "\d", in code that others have written.
        warnings.simplefilter("ignore", SyntaxWarning)
        for row in rows:
            export.add(row, coverage.due(row, release), packs[row.pack])
    return export
