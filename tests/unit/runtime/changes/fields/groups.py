"""Groups of changes applied to an upstream module that can be imported while a test runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from support.packages import module_of
from support.samples import row

from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.making import apply_changes
from patchkit.runtime.process.patch_state import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from patchkit.core.rows.declaration import Change


class Upstream:
    """One module, and groups of changes made to it.

    Args:
        source: of the module.
        body: source of the body.
    """

    def __init__(self, source: str, body: str = "") -> None:
        self.module: Any = module_of("")
        sys.modules["upstream"] = self.module
        exec(compile(source, "upstream", "exec", dont_inherit=True), vars(self.module))
        self.body: Any = module_of(body, "body")
        self.sites = Sites()
        self._groups = 0

    def apply(self, *changes: Change) -> Callable[[], None]:
        """Make one group of changes; return its undo, which raises what went wrong."""
        transaction = Transaction(row().name, self._groups)
        self._groups += 1
        apply_changes(
            transaction, list(enumerate(changes)), self.module, self.body, self.sites
        )

        def undo() -> None:
            for error in transaction.take_back():
                raise error

        return undo


def upstream_of(*texts: str) -> Iterator[Upstream]:
    """Make an upstream for a fixture, and forget it afterwards."""
    yield Upstream(*texts)
    del sys.modules["upstream"]


def held(*classes: type) -> list[dict[str, Any]]:
    """What classes hold, without what Python notes on them when somebody pickles or reads them."""
    return [
        {name: value for name, value in vars(cls).items() if not _is_note(name, value)}
        for cls in classes
    ]


def assert_same(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    """Assert that what classes held before and after are the very same objects."""
    for members, members_after in zip(before, after, strict=True):
        assert members.keys() == members_after.keys()
        changed = [name for name in members if members_after[name] is not members[name]]
        assert not changed


def _is_note(name: str, value: Any) -> bool:
    return name in {"__slotnames__", "__annotations_cache__"} or (
        name == "__annotations__" and not value
    )
