"""Compares the targets of patches, as they are installed here, with what somebody has reviewed.

A target whose text is the reviewed one takes a fraction of a millisecond: its file is read, and its
wording hashed. Only if the text differs, the file is parsed, and fingerprints are compared.
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

    Releases = tuple[str, str]  # the first and the last of a range

UNREADABLE = "what was reviewed cannot be read"
"""Begins what `Drift.words` says of a lock that cannot be read."""

_UNKNOWN = "cannot be compared with what was reviewed"


class Drift:
    """Says which targets of rows differ from the reviewed source; each row is compared once.

    Args:
        lock: The lock file to use in place of those that packs bring; None to use the packs' own.
    """

    def __init__(self, lock: str | None = None) -> None:
        self._lock = lock
        self._installed = InstalledSource()
        self._words_by_row: dict[str, str] = {}
        self._releases: dict[tuple[str, str], Releases | None] = {}

    @functools.cached_property
    def _locks(self) -> Locks:
        from patchkit.core.lock.files import Locks  # noqa: PLC0415 - only a comparison needs it

        return Locks(self._lock)

    def words(self, row: Row, changes: Iterable[Change]) -> str:
        """Say which targets of a row differ from the reviewed source.

        Args:
            row: The row; its changes are compared the first time only.
            changes: Those of its changes that are for the versions here.

        Returns:
            A message for people; "" if none differs.
        """
        name = row.patch.name
        if name not in self._words_by_row:
            self._words_by_row[name] = self._compare(row, changes)
        return self._words_by_row[name]

    def releases(self, row: Row, project: str) -> Releases | None:
        """Find the reviewed releases in which all targets of a row have the source that is here.

        Args:
            row: The row whose targets are compared.
            project: The name of the project.

        Returns:
            The first and the last release; None if that is unclear.
        """
        key = (row.name, project)
        if key not in self._releases:
            self._releases[key] = self._find_releases(row, project)
        return self._releases[key]

    def _find_releases(self, row: Row, project: str) -> Releases | None:
        """Do what `releases` does, for a row that is asked for the first time."""
        try:
            row_drift = self._row_drift(row)
        except LockError:
            return None
        if row_drift is None:
            return None
        return row_drift.releases(_targets(row.patch.changes), project)

    def _row_drift(self, row: Row) -> RowDrift | None:
        """Return the object that compares the targets of a row; None for a row without a lock."""
        lock = self._locks.of(row)
        if lock is None:
            return None
        return RowDrift(row.name, lock, self._installed)

    def _compare(self, row: Row, changes: Iterable[Change]) -> str:
        """Do what `words` does, for a row that is asked for the first time."""
        try:
            row_drift = self._row_drift(row)
            if row_drift is None:
                return ""
            return self._differences(row_drift, _targets(changes))
        except LockError as error:
            return f"{UNREADABLE}: {error}"

    def _differences(self, row_drift: RowDrift, targets: Iterable[Target]) -> str:
        """Join what there is to say of targets; what was parsed for that is forgotten."""
        try:
            verdicts = [row_drift.verdict(target) for target in targets]
        finally:
            self._installed.forget_parsed()  # frees memory, as a process may live for weeks
        return "; ".join(verdict.words for verdict in verdicts if verdict.words)


def _targets(changes: Iterable[Change]) -> list[Target]:
    """Return the targets of changes that depend on the target's source, each once."""
    parts = [part for change in changes for part in change.parts]
    return list(dict.fromkeys(part.place for part in parts if part.is_reviewed))


class Verdict(NamedTuple):
    """The result of the comparison of one target.

    Args:
        state: `reviewed`, `drift`, `unreviewed` for this patch, `unknown` (it cannot be compared)
            or `absent`.
        words: A message for people; "" if there is nothing to say.
    """

    state: str
    words: str = ""


class RowDrift:
    """Compares the targets of one row.

    Args:
        patch: The name of the row's patch.
        lock: What was reviewed.
        installed: What is installed here; several rows may share it.
    """

    def __init__(self, patch: str, lock: Lock, installed: InstalledSource) -> None:
        self._patch = patch
        self._lock = lock
        self._installed = installed

    def verdict(self, target: Target) -> Verdict:
        """Compare one target.

        Args:
            target: A target of the row.

        Returns:
            The result, `unknown` if the target cannot be read.
        """
        # If the very text was reviewed, nothing has to be parsed, which takes most of the time.
        if self._spans_by_wording(target):
            return Verdict("reviewed")
        try:
            return self._compared(target, self._installed.facts(target))  # parses
        except UpstreamError as error:
            return Verdict("unknown", f"{target} {_UNKNOWN}: {error}")

    def releases(self, targets: Iterable[Target], project: str) -> Releases | None:
        """Find the releases, as `Drift.releases` does.

        Args:
            targets: The targets of the row.
            project: The name of the project.

        Returns:
            The first and the last release; None if that is unclear.
        """
        spans_by_target = [self._spans_here(target) for target in targets]
        reviewed: list[Span] = []
        for spans in spans_by_target:
            if spans is None:  # nothing is known of this target: it does not count
                continue
            of_project = [span for span in spans if span.project == project]
            # The source here is that of several ranges of releases, or of none: which one is meant
            # is unclear.
            if len(of_project) != 1:
                return None
            reviewed += of_project
        if not reviewed:
            return None
        # Releases that have all targets as they are here: where the spans overlap.
        first = max((span.first for span in reviewed), key=release_order)
        last = min((span.last for span in reviewed), key=release_order)
        if release_order(first) <= release_order(last):
            return first, last
        return None

    def _spans_here(self, target: Target) -> list[Span] | None:
        """Return the reviewed spans with the source that the target has here.

        None if it is not here, cannot be read, or was never reviewed for this patch; [] if it has
        another source than was reviewed.
        """
        spans = self._spans_by_wording(target)
        if spans:
            return spans
        try:
            facts = self._installed.facts(target)
        except UpstreamError:
            return None
        reviewed = self._lock.spans(self._patch, str(target))
        if facts.state == "absent" or not reviewed:
            return None
        return [span for span in reviewed if span.fingerprint == facts.fingerprint]

    def _spans_by_wording(self, target: Target) -> list[Span]:
        """Return the reviewed spans with the wording of the target here; nothing is parsed.

        [] also if it has no known wording: only its fingerprint, from a parser, can tell then.
        """
        reviewed = self._lock.spans(self._patch, str(target))
        spans = [span for span in reviewed if span.wordings]
        if not spans:
            return []
        from patchkit.core.text.wording import wording_of  # noqa: PLC0415 - most have no lock

        written = wording_of(self._installed.read, target.module, target.qualname)
        if not written:  # only a parser would find the target
            return []
        return [span for span in spans if written.mark in span.wordings]

    def _compared(self, target: Target, facts: Facts) -> Verdict:
        """Compare the fingerprint of a target with those that were reviewed."""
        spans = self._lock.spans(self._patch, str(target))
        if facts.state == "absent":
            # No words: the patch fails, with a message of its own.
            return Verdict("absent")
        if facts.fingerprint is None:
            # Nothing was reviewed either: there is no difference to tell anybody of.
            if not spans:
                return Verdict("unknown")
            reason = facts.reason or "it has no source"
            return Verdict("unknown", f"{target} {_UNKNOWN}: {reason}")
        if not spans:
            return Verdict(
                "unreviewed", f"{target} has never been reviewed for this patch"
            )
        if facts.fingerprint in {span.fingerprint for span in spans}:
            return Verdict("reviewed")
        last = spans[-1]  # they are sorted by release
        releases = last.first
        if last.last != last.first:
            releases = f"{last.first} - {last.last}"
        differs = f"{target} differs from the source last reviewed for {last.project} {releases}"
        return Verdict(
            "drift", f"{differs} (its fingerprint here is {facts.fingerprint})"
        )


class InstalledSource:
    """The source of installed modules, read without importing them.

    Args:
        path: The folders to search in place of `sys.path`; None for `sys.path`.
    """

    def __init__(self, path: list[str] | None = None) -> None:
        self._path = path
        self._folders: dict[str, tuple[str, ...]] = {}
        self._resolvers: dict[str, Resolver] = {}

    def read(self, module: str) -> tuple[bytes, bool] | None:
        """Read a module's file.

        Args:
            module: The dotted name of the module.

        Returns:
            The content, and whether it is that of a package; None if the module has no file, or
            is a top-level module that is no package.
        """
        top, *parts = module.split(".")
        if top not in self._folders:
            self._folders[top] = _folders_of(top, self._path)
        for folder in self._folders[top]:
            base = "/".join([folder, *parts])
            content = _content(f"{base}/__init__.py")
            if content is not None:
                return content, True
            if not parts:  # `base` is the folder of the top-level package itself
                continue
            content = _content(f"{base}.py")
            if content is not None:
                return content, False
        return None

    def forget_parsed(self) -> None:
        """Free the memory of parsed modules."""
        self._resolvers.clear()

    def resolver(self, package: str) -> Resolver:
        """Return the resolver of a package, which finds targets in parsed source.

        Args:
            package: The name of a top-level package.

        Returns:
            The resolver.

        Raises:
            UpstreamError: The package cannot be read here.
        """
        resolver = self._resolvers.get(package)
        if resolver is None:
            from patchkit.analysis.upstream.reading.tree import open_installed  # noqa: PLC0415 - 100 ms
            from patchkit.analysis.upstream.resolving.resolve import Resolver  # noqa: PLC0415

            source = open_installed(package, self._path)
            resolver = Resolver(source, python=sys.version_info[:2])
            self._resolvers[package] = resolver
        return resolver  # not from the dict, which another thread may have cleared meanwhile

    def facts(self, target: Target) -> Facts:
        """Find a target in parsed source.

        Args:
            target: The target, which need not exist.

        Returns:
            Its state, fingerprint and further facts.

        Raises:
            UpstreamError: The package cannot be read here.
        """
        from patchkit.analysis.upstream.facts import facts_of  # noqa: PLC0415 - costs 100 ms

        package = target.module.partition(".")[0]
        return facts_of(self.resolver(package), target)


def _content(file: str) -> bytes | None:
    """Read a file; None if it cannot be read."""
    try:
        with open(file, "rb", buffering=0) as opened:  # noqa: PTH123 - twice as fast as pathlib
            return opened.read()
    except OSError:
        return None


def _folders_of(package: str, path: list[str] | None) -> tuple[str, ...]:
    """Return the folders of a top-level package, () if it is not found or is no package.

    If it is imported already, and `sys.path` is searched (`path` is None), the folders are those of
    the module in `sys.modules`: a search now might find another copy.
    """
    if path is None:
        loaded = sys.modules.get(package)
        if loaded is not None:
            return tuple(getattr(loaded, "__path__", ()))
    spec = PathFinder.find_spec(package, path)
    if spec is None:
        return ()
    return tuple(spec.submodule_search_locations or ())
