"""Reads and writes `patchkit.lock`, which records what a person has reviewed of upstream.

For each patch and target the file has one line for each run of releases whose source is the same:

    ray-worker-torch-npu
      vllm.v1.executor.ray_utils:RayWorkerWrapper
        d5d1d1f39d6821ae  vllm 0.11.1 - 0.13.0
          written 5d8a4c66b2f0e913

The first hash is the fingerprint of a source that was reviewed; the releases say where it was seen.
The hash behind `written` is its wording: of the text as it is, with comments. A process compares it
first, as that needs no parser.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from patchkit.core.record import grouped
from patchkit.core.versions.requirements import release_order
from patchkit.errors import LockError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from patchkit.core.versions.requirements import ReleaseVersion

    # Patch -> target -> spans, sorted by release.
    Entries = Mapping[str, Mapping[str, Sequence["Span"]]]
    # The same two levels, while a file is read.
    _Targets = dict[str, list["Span"]]
    _Patches = dict[str, _Targets]

_Value = TypeVar("_Value")
_HEAD = "# What has been reviewed of upstream. `patchkit lock` writes this file; review its diff.\n"
_VERSION = 2
_FORMAT = f"format {_VERSION}"
_WRITTEN = "written"
_WORDINGS = re.compile(rf"{_WRITTEN}( [0-9a-f]{{16}})+")  # see the example above
_WORDINGS_IN_LINE = 5
_MAX_QUOTED = 80
_MAX_BYTES = 64 << 20
# Fingerprint, project, first and last release, as in `d5d1d1f39d6821ae  vllm 0.11.1 - 0.13.0`.
_SPAN = re.compile(r"([0-9a-f]{16})  ([^ ]+) ([0-9][^ ]*)(?: - ([0-9][^ ]*))?")


class Span(NamedTuple):
    """Releases of a project, from the first to the last, in which a target has the same source.

    Args:
        fingerprint: The hash of the target's source, 16 hexadecimal digits.
        project: The name of the distribution.
        first: The version of the first release.
        last: The version of the last release.
        wordings: The wordings that were seen, sorted; none if only a parser finds them.
    """

    fingerprint: str
    project: str
    first: str
    last: str
    wordings: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines of the file for this span, indented below its target."""
        yield f"    {self}"
        for start in range(0, len(self.wordings), _WORDINGS_IN_LINE):
            end = start + _WORDINGS_IN_LINE
            wordings = " ".join(self.wordings[start:end])
            yield f"      {_WRITTEN} {wordings}"

    def __str__(self) -> str:
        text = f"{self.fingerprint}  {self.project} {self.first}"
        if self.last != self.first:
            text += f" - {self.last}"
        return text


class Lock:
    """What has been reviewed, by patch and target.

    Args:
        entries: The reviewed releases of each target of each patch.
    """

    def __init__(self, entries: Entries | None = None) -> None:
        self.entries: Entries = entries or {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lock):
            return False
        return self.text() == other.text()

    __hash__ = None  # type: ignore[assignment]  # it is compared, not kept in sets

    def __bool__(self) -> bool:
        return bool(self.entries)

    def spans(self, patch: str, target: str) -> Sequence[Span]:
        """Return what has been reviewed of a target for a patch, nothing if nothing was.

        Args:
            patch: The name of the patch.
            target: The target as `module:qualname`.
        """
        targets = self.entries.get(patch, {})
        return targets.get(target, ())

    def fingerprints(self, patch: str, target: str) -> frozenset[str]:
        """Return the fingerprints of a target's sources that have been reviewed for a patch.

        Args:
            patch: The name of the patch.
            target: The target as `module:qualname`.
        """
        spans = self.spans(patch, target)
        return frozenset(span.fingerprint for span in spans)

    def with_patch(self, patch: str, targets: Mapping[str, Sequence[Span]]) -> Lock:
        """Return another lock, in which the entry of one patch is replaced.

        Args:
            patch: The name of the patch.
            targets: What was reviewed of each target; with none the patch is left out.
        """
        entries = dict(self.entries)
        entries.pop(patch, None)
        if targets:
            entries[patch] = targets
        return Lock(entries)

    def text(self) -> str:
        """Return the text of the file: patches and targets sorted, releases in their order."""
        lines = [_HEAD + _FORMAT]
        patches = sorted(self.entries.items())
        for patch, targets in patches:
            lines += ["", patch]
            for target, spans in sorted(targets.items()):
                lines.append(f"  {target}")
                for span in spans:
                    lines += span.lines()
        return "\n".join(lines) + "\n"


def read_lock(file: Path) -> Lock:
    """Read a lock.

    Args:
        file: The file of the lock.

    Returns:
        The lock, an empty one if there is no file.

    Raises:
        LockError: The file cannot be read, or is malformed; then the error names the line.
    """
    try:
        state = file.stat()
        if not stat.S_ISREG(state.st_mode):
            raise LockError(f"{file}: cannot be read (it is no regular file)")
        if state.st_size > _MAX_BYTES:
            raise LockError(f"{file}: cannot be read (it has more than 64 MB)")
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Lock()
    except (OSError, ValueError) as error:
        raise LockError(f"{file}: cannot be read ({error})") from error
    return parse_lock(text, str(file))


def parse_lock(text: str, file: str = "patchkit.lock") -> Lock:
    """Read a lock's text.

    Args:
        text: What is in the file.
        file: The name of the file, for errors.

    Returns:
        The lock.

    Raises:
        LockError: A line is malformed; the error names it.
    """
    lines = _content_lines(text)
    if not lines:
        lines = [(1, "")]  # to be refused, as it is not the format
    number, first = lines[0]
    if first != _FORMAT:
        expected = _expected_format(first)
        raise _refused(file, number, first, expected)
    entries: _Patches = {}
    for number, line in lines[1:]:
        expected = _add_line(line, entries)
        if expected:  # the line is malformed
            unindented = line.lstrip(" ")
            raise _refused(file, number, unindented, expected)
    return Lock(entries)


def _content_lines(text: str) -> list[tuple[int, str]]:
    """Number the lines that are neither empty nor a comment, blanks at their end removed."""
    content = []
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        stripped = line.rstrip()
        is_comment = stripped.startswith("#")
        if stripped and not is_comment:
            content.append((number, stripped))
    return content


def _expected_format(first: str) -> str:
    """Say what was expected in place of the first line, and what to do about it."""
    match = re.fullmatch(r"format (\d{1,9})", first)
    is_newer = match is not None and int(match[1]) > _VERSION
    if is_newer:
        advice = "install the patchkit that wrote it"
    else:
        advice = "delete it and run `patchkit lock`"
    return f"{_FORMAT!r}, the first line of a lock; {advice}"


def _refused(file: str, number: int, line: str, expected: str) -> LockError:
    """Make the error of a malformed line, which is quoted, but not in full if it is long."""
    quoted = repr(line[:_MAX_QUOTED])
    if len(line) > _MAX_QUOTED:
        quoted += "…"
    location = f"{file}:{number}"
    return LockError(f"{location}: found {quoted}, expected {expected}")


def _add_line(line: str, entries: _Patches) -> str:
    """Add what a line says to the patch, target or span above it, which its indentation tells.

    Returns:
        What was expected in place of the line if it is malformed, else ''.
    """
    text = line.lstrip(" ")
    depth = len(line) - len(text)
    targets = _last(entries)
    spans = _last(targets)
    is_target = ":" in text
    if depth == 0:
        return _add_patch(text, entries)
    if depth == 2 and targets is not None and is_target:
        return _add_target(text, targets)
    # `spans` is None if no target is above, and empty if this is the target's first span.
    if depth == 4 and spans is not None:
        return _add_span(text, spans)
    if depth == 6 and spans:
        return _add_wordings(text, spans)
    return "a patch, its targets by two blanks, their releases by four, wordings by six"


def _last(entries: dict[str, _Value] | None) -> _Value | None:
    """Return the value that was added last; None if there are no entries."""
    if not entries:
        return None
    return next(reversed(entries.values()))


def _add_patch(text: str, entries: _Patches) -> str:
    """Add a patch, still without targets; return '', or what was expected (see `_add_line`)."""
    is_repeated = text in entries
    if is_repeated or " " in text:
        return "the name of a patch, each once"
    entries[text] = {}
    return ""


def _add_target(text: str, targets: _Targets) -> str:
    """Add a target, still without spans; return '', or what was expected (see `_add_line`)."""
    if text in targets:
        return "each target once"
    targets[text] = []
    return ""


def _add_span(text: str, spans: list[Span]) -> str:
    """Add a fingerprint and its releases; return '', or what was expected (see `_add_line`)."""
    match = _SPAN.fullmatch(text)
    if match is None:
        return "such as '0123456789abcdef  vllm 0.11.1 - 0.13.0'"
    fingerprint, project, first, last = match.groups()
    span = Span(
        fingerprint=fingerprint,
        project=project,
        first=first,
        last=last or first,
    )
    spans.append(span)
    return ""


def _add_wordings(text: str, spans: list[Span]) -> str:
    """Add wordings to the last span; return '', or what was expected (see `_add_line`)."""
    if not _WORDINGS.fullmatch(text):
        return f"such as '{_WRITTEN} 0123456789abcdef'"
    span = spans[-1]
    _written, *further = text.split(" ")
    wordings = (*span.wordings, *further)
    spans[-1] = span._replace(wordings=wordings)
    return ""


def write_lock(file: Path, lock: Lock) -> None:
    """Write a lock to a draft beside the file, which then takes its place: all of it or nothing.

    Args:
        file: The file to write; one that is there is replaced, and its mode is kept.
        lock: The lock.

    Raises:
        LockError: The file cannot be written.
    """
    pid = os.getpid()
    draft = file.with_name(f".{file.name}-{pid}")
    try:
        text = lock.text()
        draft.write_text(text, encoding="utf-8")
        if file.exists():
            permissions = file.stat().st_mode & 0o777
            draft.chmod(permissions)
        draft.replace(file)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        fault = f"cannot be written ({error.strerror})"
        raise LockError(f"{file}: {fault}") from error


def united(patch: str, locks: Sequence[Lock]) -> Lock:
    """Make one lock of several, for one patch: a source that any of them has counts as reviewed.

    Args:
        patch: The name of the patch.
        locks: The locks.

    Returns:
        A lock with this patch alone.
    """
    targets: dict[str, Sequence[Span]] = {}
    for lock in locks:
        reviewed = lock.entries.get(patch, {})
        for target, spans in reviewed.items():
            earlier = targets.get(target, ())
            targets[target] = joined(earlier, spans)
    return Lock({patch: targets})


def joined(spans: Sequence[Span], more: Iterable[Span]) -> list[Span]:
    """Add spans to others; those with the same source that overlap become one.

    Args:
        spans: The earlier spans.
        more: The spans to add.

    Returns:
        All spans, sorted by project and release.
    """
    # The fingerprint and the project make the source.
    sources = grouped((span[:2], span) for span in (*spans, *more))
    united = chain.from_iterable(map(_united, sources.values()))
    return sorted(united, key=lambda span: (span.project, *_ends(span)))


def _united(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans of one source by release; those that overlap become one."""
    first, *others = sorted(spans, key=_ends)
    for span in others:
        if release_order(span.first) <= release_order(first.last):
            first = _merged(first, span)
        else:
            yield first
            first = span
    yield first


def _merged(span: Span, new: Span) -> Span:
    """Make one span of two with the same source that overlap, of which the second begins later."""
    last = max(span.last, new.last, key=release_order)
    wordings = {*new.wordings, *span.wordings}
    return span._replace(last=last, wordings=tuple(sorted(wordings)))


def _ends(span: Span) -> tuple[ReleaseVersion, ReleaseVersion]:
    start = release_order(span.first)
    end = release_order(span.last)
    return start, end
