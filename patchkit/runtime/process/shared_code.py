"""Finds code that several functions share: a run of it does not show which of them was called.

All functions that one decorator has made share the code of the function inside that decorator.
"""

import sys
from collections.abc import Iterable
from types import CodeType

from patchkit.runtime.changes.owners import namespace

_Holders = dict[int, list[int]]
"""For the `id` of each code, the `id` of each function that runs it."""


class PackCode:
    """Tells which code other functions of a pack have, too, than those that a patch has set."""

    def __init__(self) -> None:
        # By `id`, which no other code gets while the code is kept here.
        self._shared: dict[int, CodeType] = {}
        # What was found in a module, by its name, with the number of attributes that it had then.
        self._searched: dict[str, tuple[int, _Holders]] = {}
        self._packs: dict[str, list[_Holders]] = {}

    def renew(self) -> None:
        """Find again which modules of a pack are loaded, and search those that have grown."""
        self._packs.clear()

    def is_shared(self, code: CodeType, functions: set[int], pack: str) -> bool:
        """Whether another function of a pack runs some code.

        Args:
            code: The code.
            functions: The `id` of each function that a patch has set at the target, and runs it.
            pack: The name of the pack's package.
        """
        identity = id(code)
        if identity in self._shared:
            return True
        if pack not in self._packs:
            self._packs[pack] = self._search(pack)
        for holders in self._packs[pack]:
            if not functions.issuperset(holders.get(identity, ())):
                self._shared[identity] = code
                return True
        return False

    def _search(self, pack: str) -> list[_Holders]:
        """Return the functions in each loaded module of a pack."""
        from patchkit.runtime.changes.own_code import holders_of_code, is_within  # noqa: PLC0415 - only a process with a journal needs it

        found: list[_Holders] = []
        for name, module in list(sys.modules.items()):
            # (Most modules are none of the pack: the first question is the quickest.)
            if not name.startswith(pack) or not is_within(name, pack):
                continue
            size = len(namespace(module))
            former_size, holders = self._searched.get(name, (0, {}))
            if size != former_size:
                holders = holders_of_code(module, pack)
                self._searched[name] = (size, holders)
            found.append(holders)
        return found


def shared_by_targets(codes: Iterable[tuple[str, CodeType]]) -> set[int]:
    """Return the `id` of code that patches have put at several targets.

    Args:
        codes: Pairs of a target and a code that runs for it.
    """
    first_targets: dict[int, str] = {}
    shared: set[int] = set()
    for target, code in codes:
        identity = id(code)
        if first_targets.setdefault(identity, target) != target:
            shared.add(identity)
    return shared
