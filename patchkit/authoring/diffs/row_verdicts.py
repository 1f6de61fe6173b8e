"""Asks the rules of `check` about the changes of a row before the row is written."""

from collections.abc import Iterable, Mapping

from patchkit.analysis.check import codes
from patchkit.analysis.check.edit_sequence import EditSequence
from patchkit.analysis.check.judge import Judge
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.files import ContentMark
from patchkit.authoring.diffs.difference import Verdicts
from patchkit.core.rows.declaration import Patch, Provide, Replace, Role, Row

_PACK = "adopted_pack"


class _DraftFiles:
    """The files of a pack that is not written yet, as those of a release.

    Args:
        files: The content of each file, by its path.
    """

    name = _PACK
    version = None

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None where there is none."""
        return self._files.get(path)

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._files

    def paths(self) -> frozenset[str]:
        """Return the paths of all files."""
        return frozenset(self._files)

    def mark(self, path: str) -> ContentMark | None:  # noqa: ARG002 - as for any release
        """Return None: nobody has stored a checksum."""
        return None

    def prefetch(self, paths: Iterable[str]) -> None:
        """Do nothing, as all files are here."""


class _DraftPack(PackSource):
    """A pack that is not written yet; it has one body.

    Args:
        body: The name of the body; None where there is none.
        text: Its text.
    """

    def __init__(self, body: str | None, text: str) -> None:
        self.name = _PACK
        files = {f"{_PACK}/__init__.py": b""}
        if body is not None:
            files[f"{_PACK}/{body}.py"] = text.encode(errors="surrogateescape")
        source = _DraftFiles(files)
        self.as_release = CheckedRelease(_PACK, _PACK, "", lambda: source)


def verdicts(patch: Patch, body: str, release: CheckedRelease) -> Verdicts:
    """Return what `check` would say of the changes of a row in the release that it is made for.

    Args:
        patch: The row.
        body: The text of its body.
        release: The release.

    Raises:
        UpstreamError: The release cannot be read.
    """
    all_roles = frozenset(Role)
    row = Row(_PACK, patch, all_roles)
    pack = _DraftPack(patch.body, body)
    no_edits = EditSequence()
    judge = Judge(row, release, pack, no_edits)
    refused: dict[str, str] = {}
    unrelated: set[str] = set()
    for change in patch.changes:
        if isinstance(change, Provide):
            continue
        target = str(change.place)
        for fault in judge.faults(change):
            if not fault.breaks:
                continue
            takes_other_arguments = fault.code is codes.SIGNATURE_CHANGED
            if isinstance(change, Replace) and takes_other_arguments:
                unrelated.add(target)  # no fault: the diff changes the callers, too
            else:
                refused[target] = fault.message
    return Verdicts(refused, unrelated)
