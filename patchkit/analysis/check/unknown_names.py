"""Finds names that the text of a change reads, and that nothing defines: a slip, mostly.

Such a change can be made, and raises a NameError when its code runs.
"""

import builtins
from collections.abc import Iterable, Iterator

from patchkit.analysis.check import codes
from patchkit.analysis.check.edit_sequence import edited
from patchkit.analysis.check.findings import Fault
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.text_names import (
    globals_read,
    names_bound,
    names_to_find,
    words,
)
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Change,
    Edit,
    Row,
    SetByCall,
)
from patchkit.core.rows.target import Target
from patchkit.errors import TargetError, near


class UnknownNames:
    """Finds the names in changes that are defined nowhere.

    Args:
        rows: All rows that may define names: those that are checked, and those beside them.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._changes = [change for row in rows for change in row.patch.parts]

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
        module = change.place.module
        if not names or self._is_open(module):
            return
        known = self._defined_by_others(change)
        text = ""
        if isinstance(change, Edit):
            text = release.text(release.facts(change.place))
            read = _read_by(change, text)
            where = "new"
            fix = "correct the name; or import it in new, or Add it to the module"
        else:
            read = set(names)
            where = "the type"
            fix = "correct the name; or define it in the body"
        for name in names:
            if name in known or name not in read:
                continue
            if release.facts(Target(module, name)).state != "absent":
                continue
            if isinstance(change, AddField) and _is_in_body(name, row, pack):
                continue
            question = _question(name, text, release, change.place)
            yield Fault(
                codes.UNKNOWN_NAME,
                f"{where} reads {name}, which nothing in {module} defines{question}",
                fix,
            )

    def _is_open(self, module: str) -> bool:
        """Whether a row calls a function at the import of a module: it may define any name."""
        for change in self._changes:
            is_call = isinstance(change, (BeforeImport, AfterImport))
            if is_call and change.place.module == module:
                return True
        return False

    def _defined_by_others(self, change: Change) -> set[str]:
        """Return the names that other changes give the module, or the function of an Edit."""
        names: set[str] = set()
        for other in self._changes:
            is_new = isinstance(other, (Add, SetByCall))
            if is_new and other.place.module == change.place.module:
                names.add(other.place.qualname)
            if not isinstance(other, Edit) or other is change:
                continue
            if other.place == change.place:
                names |= words(other.new)
        return names


def _question(name: str, text: str, release: CheckedRelease, target: Target) -> str:
    """Ask whether another name was meant: of the module, of the function, or else a builtin."""
    content = release.source.read(release.facts(target).path) or b""
    whole = content.decode(errors="replace")
    own = names_bound(whole) | names_bound(text)
    return near(name, sorted(own)) or near(name, dir(builtins))


def _is_in_body(name: str, row: Row, pack: PackSource) -> bool:
    """Whether the body of a row has a name; also if that cannot be decided."""
    if row.patch.body is None:
        return False
    return pack.facts(row, name).state != "absent"


def _read_by(change: Edit, text: str) -> set[str]:
    """Return the names that an edited function reads from its module; none if that is unknown."""
    try:
        return globals_read(edited(change, text))
    except TargetError:
        return set()  # it needs what another Edit has changed before
