"""Whether what a patch changes is what somebody has reviewed.

A target that is written as it was when it was reviewed costs a fraction of a millisecond: its file
is read, and nothing is parsed. Only another wording is looked at in full.
"""

from __future__ import annotations

import functools
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, NamedTuple

from patchkit.core.versions.requirements import release_order
from patchkit.errors import LockError, UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.analysis.upstream.facts import Facts
    from patchkit.analysis.upstream.resolving.resolve import Resolver
    from patchkit.core.lock.files import Locks
    from patchkit.core.lock.format import Lock, Span
    from patchkit.core.rows.declaration import Change, Row
    from patchkit.core.rows.target import Target

UNREADABLE = "what was reviewed cannot be read"
_UNKNOWN = "cannot be compared with what was reviewed"


class Drift:
    """What of upstream nobody has reviewed, as it lies here; each row is looked at once."""

    def __init__(self, lock: str | None = None) -> None:
        self._lock = lock  # in place of those that packs bring
        self._here = InstalledSource()
        self._known: dict[str, str] = {}
        self._releases: dict[tuple[str, str], tuple[str, str] | None] = {}

    @functools.cached_property
    def _locks(self) -> Locks:
        from patchkit.core.lock.files import Locks  # noqa: PLC0415 - arming asks for none

        return Locks(self._lock)

    def words(self, row: Row, changes: Iterable[Change]) -> str:
        """Say which targets of these changes are not as they were reviewed; '' where all are."""
        if row.name not in self._known:
            self._known[row.name] = self._words(row, changes)
        return self._known[row.name]

    def releases(self, row: Row, project: str) -> tuple[str, str] | None:
        """Find a project's reviewed releases for what is here: first, last; None if unclear."""
        key = (row.name, project)
        if key not in self._releases:
            try:
                look = self._look(row)
            except LockError:
                look = None
            targets = _targets(row.patch.changes)
            self._releases[key] = look.releases(targets, project) if look else None
        return self._releases[key]

    def _look(self, row: Row) -> RowDrift | None:
        lock = self._locks.of(row)
        return None if lock is None else RowDrift(row.name, lock, self._here)

    def _words(self, row: Row, changes: Iterable[Change]) -> str:
        try:
            look = self._look(row)
            verdicts = [look.verdict(target) for target in _targets(changes)] if look else []
        except LockError as error:
            return f"{UNREADABLE}: {error}"
        finally:
            self._here.rest()  # a process that lives for weeks needs no syntax trees
        return "; ".join(verdict.words for verdict in verdicts if verdict.words)


def _targets(changes: Iterable[Change]) -> list[Target]:
    return list(dict.fromkeys(change.place for change in changes if change.is_reviewed))


class Verdict(NamedTuple):
    """How a target that is here compares with what was reviewed."""

    # `reviewed`, `drift`, `unreviewed` for this patch, `unknown` (not comparable), `absent`.
    state: str
    words: str = ""  # what is the matter; '' where nothing is


class RowDrift:
    """One look at the targets of a row; looks at several rows may share what is installed here."""

    def __init__(self, patch: str, lock: Lock, here: InstalledSource) -> None:
        self._patch = patch
        self._lock = lock
        self._here = here

    def verdict(self, target: Target) -> Verdict:
        """Compare one target."""
        if self._as_written(target):
            return Verdict("reviewed")
        try:
            return self._compared(target, self._here.facts(target))
        except UpstreamError as error:
            return Verdict("unknown", f"{target} {_UNKNOWN}: {error}")

    def releases(self, targets: Iterable[Target], project: str) -> tuple[str, str] | None:
        """Find the releases, as `Drift.releases` does."""
        here = [spans for target in targets if (spans := self._spans_here(target)) is not None]
        of_project = [[span for span in spans if span.project == project] for spans in here]
        if not of_project or any(len(spans) != 1 for spans in of_project):
            return None
        first = max((span.first for (span,) in of_project), key=release_order)
        last = min((span.last for (span,) in of_project), key=release_order)
        return (first, last) if release_order(first) <= release_order(last) else None

    def _spans_here(self, target: Target) -> list[Span] | None:
        if spans := self._as_written(target):
            return spans
        try:
            facts = self._here.facts(target)
        except UpstreamError:
            return None
        known = self._lock.spans(self._patch, str(target))
        if facts.state == "absent" or not known:
            return None
        return [span for span in known if span.fingerprint == facts.fingerprint]

    def _as_written(self, target: Target) -> list[Span]:
        spans = [span for span in self._lock.spans(self._patch, str(target)) if span.wordings]
        if not spans:
            return []
        from patchkit.core.text.wording import wording_of  # noqa: PLC0415 - most have no lock

        written = wording_of(self._here.read, target.module, target.qualname)
        return [span for span in spans if written and written.mark in span.wordings]

    def _compared(self, target: Target, facts: Facts) -> Verdict:
        spans = self._lock.spans(self._patch, str(target))
        if facts.state == "absent":
            return Verdict("absent")  # the patch's failure, which says so itself
        if facts.fingerprint is None:
            reason = facts.reason or "it has no source"
            return Verdict("unknown", f"{target} {_UNKNOWN}: {reason}" if spans else "")
        if not spans:
            return Verdict("unreviewed", f"{target} has never been reviewed for this patch")
        if facts.fingerprint in {span.fingerprint for span in spans}:
            return Verdict("reviewed")
        last = spans[-1]
        releases = last.first if last.first == last.last else f"{last.first} - {last.last}"
        differs = f"{target} differs from the source last reviewed for {last.project} {releases}"
        return Verdict("drift", f"{differs} (its fingerprint here is {facts.fingerprint})")


class InstalledSource:
    """The source that an import would run, nothing of it imported; `path` is as `sys.path`."""

    def __init__(self, path: list[str] | None = None) -> None:
        self._path = path
        self._folders: dict[str, tuple[str, ...]] = {}
        self._resolvers: dict[str, Resolver] = {}

    def read(self, module: str) -> tuple[bytes, bool] | None:
        """Read a module's file; None where it has none, or none that lies in a folder."""
        top, *parts = module.split(".")
        if top not in self._folders:
            self._folders[top] = _folders_of(top, self._path)
        for folder in self._folders[top]:
            base = "/".join([folder, *parts])
            for file, is_package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
                if not parts and not is_package:
                    continue
                try:
                    with open(file, "rb", buffering=0) as opened:  # noqa: PTH123 - half the time
                        return opened.read(), is_package
                except OSError:
                    continue
        return None

    def rest(self) -> None:
        """Let go of parsed modules."""
        self._resolvers.clear()

    def resolver(self, package: str) -> Resolver:
        """Open a package for the parser; raises UpstreamError where it cannot be read here."""
        found = self._resolvers.get(package)
        if found is None:
            from patchkit.analysis.upstream.reading.tree import open_installed  # noqa: PLC0415 - 100 ms
            from patchkit.analysis.upstream.resolving.resolve import Resolver  # noqa: PLC0415

            source = open_installed(package, self._path)
            found = self._resolvers[package] = Resolver(source, python=sys.version_info[:2])
        return found  # another thread may have let go of it meanwhile

    def facts(self, target: Target) -> Facts:
        """Look a target up with a parser; raises as `resolver` does."""
        from patchkit.analysis.upstream.facts import facts_of  # noqa: PLC0415 - costs 100 ms

        return facts_of(self.resolver(target.module.partition(".")[0]), target)


def _folders_of(package: str, path: list[str] | None) -> tuple[str, ...]:
    if path is None and (loaded := sys.modules.get(package)) is not None:
        return tuple(getattr(loaded, "__path__", ()))
    spec = PathFinder.find_spec(package, path)
    return tuple(spec.submodule_search_locations or ()) if spec else ()
