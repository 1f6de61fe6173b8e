"""Finds what bodies of rows use of upstream, themselves or by the helpers that they import."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.uses.files import uses_of
from patchkit.analysis.uses.use import Use, UseGuard
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.target import Target
from patchkit.registry import OPTIONAL_PACKS, OWN_PACKS


class _Helper(NamedTuple):
    """A module that a body imports, directly or not, and that has yet to be read.

    Unconditional imports sort first. So a module that is imported twice, once below `try` and once
    at the top of a file, counts as imported at the top.
    """

    is_guarded: bool  # whether its import may fail, as below `try`
    is_deferred: bool  # whether it is imported only when a function runs
    order: int  # smaller for each import found: of equal ones, the last comes first
    module: str


class BodyUses:
    """Finds the uses of bodies; reads a file once, however many bodies import it. Thread-safe.

    Args:
        packages: the import packages of upstream whose names count as uses.
        packs: the packs of all rows that are asked about, by name.
    """

    def __init__(
        self, packages: Iterable[str], packs: Mapping[str, PackSource]
    ) -> None:
        self._packages = frozenset(packages)
        self._packs = packs
        self._lock = threading.Lock()
        self._by_body: dict[str, list[Use]] = {}
        self._by_module: dict[tuple[Path, str], list[Use]] = {}

    def of(self, row: Row) -> list[Use]:
        """Return what the body of a row uses, in any release; a row without body uses nothing.

        Args:
            row: the row.
        """
        if row.patch.body is None:
            return []
        body = row.body
        known = self._by_body.get(body)
        if known is not None:
            return known
        # Threads that look into releases all ask for the same bodies: one reads, the others wait.
        with self._lock:
            if body not in self._by_body:
                uses = self._reachable(self._packs[row.pack], body)
                self._by_body[body] = list(uses)
            return self._by_body[body]

    def _reachable(self, pack: PackSource, body: str) -> Iterator[Use]:
        """Yield the uses of upstream in a body and in the modules of its own package it imports.

        A use counts as guarded (deferred) if it is guarded (deferred) itself, or if all imports of
        the module that it stands in are.
        """
        own_package = pack.name.partition(".")[0]
        order = count(start=-1, step=-1)
        pending = [_Helper(is_guarded=False, is_deferred=False, order=0, module=body)]
        seen = {pack.name}  # the pack's own module has the rows, and is left out
        while pending:
            helper = heappop(pending)
            if helper.module in seen:
                continue
            seen.add(helper.module)
            for use in self._of_module(pack, helper.module):
                guard = UseGuard(guarded=True) if helper.is_guarded else use.guard
                is_deferred = helper.is_deferred or not use.at_import
                if use.target.module.partition(".")[0] != own_package:
                    file = pack.file(use.path)
                    yield use._replace(
                        guard=guard, at_import=not is_deferred, path=file
                    )
                elif use.how == "import":
                    for module in filter(_may_use_upstream, _prefixes(use.target)):
                        heappush(
                            pending,
                            _Helper(guard.guarded, is_deferred, next(order), module),
                        )

    def _of_module(self, pack: PackSource, module: str) -> list[Use]:
        """Return what one module uses of upstream and of its own package; [] if it has no source.

        Packs in one folder, `pack.root`, share their helpers, so the folder is a part of the key.
        """
        key = (pack.root, module)
        if key not in self._by_module:
            tree = pack.as_release.resolver.modules.get(module)
            roots = self._packages | {pack.name.partition(".")[0]}
            uses: list[Use] = []
            if tree:
                uses = uses_of([tree], roots)
            self._by_module[key] = uses
        return self._by_module[key]


def _prefixes(target: Target) -> Iterator[str]:
    """Name each module that an import of a target may run: `a`, `a.b`, `a.b.f` for `a.b:f`.

    The last one as well, as `from a.b import f` may import a module `f`.
    """
    parts = str(target).replace(":", ".").split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])


def _may_use_upstream(module: str) -> bool:
    """Whether a module may use upstream; of patchkit's own modules, only those of its packs do."""
    if module.partition(".")[0] != "patchkit":
        return True
    packs = (*OWN_PACKS, *OPTIONAL_PACKS)
    return any(module == pack or module.startswith(f"{pack}.") for pack in packs)
