"""Finds names that the text of a change reads, and that nothing defines: a slip, mostly.

Such a change can be made, and raises a NameError when its code runs.
"""

import builtins
import keyword
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from patchkit.analysis.check import codes
from patchkit.analysis.check.adding_fields import may_have
from patchkit.analysis.check.edit_sequence import edited
from patchkit.analysis.check.findings import Fault
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.text_names import (
    defaults_read,
    globals_read,
    may_set,
    names_to_find,
    quoted_names,
    words,
)
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Change,
    Edit,
    Provide,
    Row,
    SetByCall,
)
from patchkit.core.rows.target import Target
from patchkit.errors import TargetError, near
from patchkit.registry import OWN_PACKS

_BUILT_IN_TYPES = tuple(
    name for name, value in vars(builtins).items() if isinstance(value, type)
)
"""What the type of a field is most likely to be, rather than a word of the module's comments."""


class UnknownNames:
    """Finds the names in changes that are defined nowhere.

    Args:
        rows: All rows that may define names: those that are checked, and those beside them.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        self._changes = [change for row in rows for change in row.patch.parts]
        self._packs = dict.fromkeys(row.pack for row in rows)

    def faults(
        self, row: Row, change: Change, release: CheckedRelease, pack: PackSource
    ) -> Iterator[Fault]:
        """Find the names that a change reads, and that nothing defines in a release.

        Args:
            row: The row.
            change: A change of the row that can be made in the release.
            release: The release.
            pack: The pack of the row.

        Yields:
            A fault for each name.
        """
        names = names_to_find(change)
        if not names:
            return
        # Names are read from the module that defines the target, which the one that the row names
        # may only import it from.
        module = release.facts(change.place).module or change.place.module
        if self._may_gain_any_name(module):
            return
        text = ""
        if isinstance(change, Edit):
            # Not all names in `new` are read from the module: some are local, or only set.
            text = release.text(release.facts(change.place))
            read = _read_by(change, text, self._edits_before(change))
            where = "new"
            fix = "correct the name; or import it in new, or Add it to the module"
        else:
            read = set(names)
            where = "the type"
            fix = "correct the name; or define it in the body"
        for name in names:
            if name not in read or self._is_defined(name, change, module, release):
                continue
            if isinstance(change, AddField) and _is_in_body(name, row, pack):
                continue
            # Python does not read a name in a string of a type, so that any mention will do.
            if name in quoted_names(change) and _is_mentioned(
                name, row, change, release, pack
            ):
                continue
            if self._may_be_set(name, module, release):
                continue
            module_text = next(_texts_around(module, release), "")
            question = ""
            if isinstance(change, AddField):
                question = near(name, _BUILT_IN_TYPES, likeness=0.6)
            question = question or _question(name, text, module_text)
            yield Fault(
                codes.UNKNOWN_NAME,
                f"{where} reads {name}, which nothing in {module} defines{question}",
                fix,
            )

    def _edits_before(self, change: Edit) -> Iterator[Edit]:
        """Yield the Edits of the same function that come before one."""
        for other in self._changes:
            if other is change:
                return
            if isinstance(other, Edit) and other.place == change.place:
                yield other

    def _may_gain_any_name(self, module: str) -> bool:
        """Whether a row calls a function at the import of a module: it may define any name.

        A call at the import of a package may import modules of it, and define names in them.
        """
        for change in self._changes:
            is_call = isinstance(change, (BeforeImport, AfterImport))
            if is_call and f"{module}.".startswith(f"{change.place.module}."):
                return True
        return False

    def _is_defined(
        self, name: str, change: Change, module: str, release: CheckedRelease
    ) -> bool:
        """Whether a release or another change defines a name; also if that cannot be decided."""
        if isinstance(change, AddField):
            # The type of a field reads names of its class, too.
            member = release.facts(Target(module, f"{change.place.qualname}.{name}"))
            if member.is_present or may_have(member):
                return True
        elif "." in change.place.qualname and _is_mangled(name):
            return True  # in a class, Python reads `__x` as `_C__x`, which nobody has looked up
        if release.facts(Target(module, name)).state != "absent":
            return True
        return name in self._defined_by_others(change, module, release)

    def _defined_by_others(
        self, change: Change, module: str, release: CheckedRelease
    ) -> set[str]:
        """Return the names that other changes give the module, or the function of an Edit."""
        names: set[str] = set()
        for other in self._changes:
            place = other.place
            if isinstance(other, (Add, SetByCall)):
                # It may be the same module under another name where that is undecidable, or where
                # the target is there, too.
                is_here = place.module == module
                is_undecidable = release.state(place) == "undecidable"
                namesake = Target(place.module, change.place.qualname)
                has_target = release.facts(namesake).module == module
                if is_here or is_undecidable or has_target:
                    names.add(place.qualname)
            elif isinstance(other, Provide):
                package, _, submodule = place.module.rpartition(".")
                if package == module:
                    names.add(submodule)
            elif isinstance(other, Edit) and other is not change:
                is_same = place == change.place
                names |= words(other.new) if is_same else set()
        return names

    def _may_be_set(self, name: str, module: str, release: CheckedRelease) -> bool:
        """Whether code sets a name in a module from elsewhere, as far as the text tells."""
        for change in self._changes:
            if isinstance(change, Edit) and may_set(change.new, name):
                return True
        if any(may_set(text, name) for text in _texts_around(module, release)):
            return True
        if any(may_set(text, name, is_of_pack=True) for text in self._pack_texts):
            return True
        return any(may_set(text, name) for text in self._package_texts)

    @cached_property
    def _pack_texts(self) -> list[str]:
        """The code of all packs, without the files that declare rows: these name things, too."""
        texts: list[str] = []
        for pack in self._packs:
            source = PackSource(pack)
            if source.bodies:
                texts += _texts_in(source.path.parent, source.path)
        return texts

    @cached_property
    def _package_texts(self) -> list[str]:
        """The code of the packages that packs are in: bodies may call it."""
        texts: list[str] = []
        for pack in self._packs:
            package = pack.partition(".")[0]
            if package != pack and pack not in OWN_PACKS:
                source = PackSource(pack)
                texts += _texts_in(source.root / package, source.path)
        return texts


def _texts_in(folder: Path, declaring: Path) -> list[str]:
    """Read the Python files in a folder, but for the one that declares rows."""
    return [
        file.read_text("utf-8", errors="replace")
        for file in folder.rglob("*.py")
        if file != declaring
    ]


def _question(name: str, text: str, module_text: str) -> str:
    """Ask whether a name of the function was meant, or else one of the module or a builtin.

    Of the latter there are many, so that one has to be more alike to be worth the question.
    """
    of_function = words(text) - {name} - {*keyword.kwlist}
    others = {*words(module_text), *dir(builtins)} - {name}
    question = near(name, sorted(of_function), likeness=0.6)
    return question or near(name, sorted(others), likeness=0.75)


def _texts_around(module: str, release: CheckedRelease) -> Iterator[str]:
    """Yield the code of a module, and of the packages that it is in."""
    while module:
        path = release.facts(Target(module)).path
        content = release.source.read(path) if path else None
        if content is not None:
            yield content.decode(errors="replace")
        module = module.rpartition(".")[0]


def _is_mangled(name: str) -> bool:
    """Whether Python puts the name of the class before a name, as before `__x`."""
    return name.startswith("__") and not name.endswith("__")


def _is_mentioned(
    name: str, row: Row, change: Change, release: CheckedRelease, pack: PackSource
) -> bool:
    """Whether a name stands in the module of a target, or in the body, be it in a comment.

    So it does if it is imported for checkers of types alone.
    """
    path = release.facts(change.place).path
    content = release.source.read(path) if path else None
    text = "" if content is None else content.decode(errors="replace")
    body = pack.bodies.get(row.patch.body or "")
    if body is not None:
        text += body.read_text("utf-8", errors="replace")
    return name in words(text)


def _is_in_body(name: str, row: Row, pack: PackSource) -> bool:
    """Whether the body of a row has a name; also if that cannot be decided."""
    if row.patch.body is None:
        return False
    return pack.facts(row, name).state != "absent"


def _read_by(change: Edit, text: str, before: Iterable[Edit]) -> set[str]:
    """Return the names that an edited function reads from its module; none if that is unknown.

    Args:
        change: The Edit.
        text: The source of the function.
        before: Edits of the function whose text this one may need.
    """
    try:
        new_text = edited(change, text)
    except TargetError:
        for edit in before:
            with suppress(TargetError):  # it may be of another release
                text = edited(edit, text)
        try:
            new_text = edited(change, text)
        except TargetError:
            return set()
    return globals_read(new_text) | defaults_read(new_text)
