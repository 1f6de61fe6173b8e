"""
`patchkit.lock`: what a person has reviewed of upstream.

For each patch and target the file has one line for each run of releases whose source is the same:

    ray-worker-torch-npu
      vllm.v1.executor.ray_utils:RayWorkerWrapper
        d5d1d1f39d6821ae  vllm 0.11.1 - 0.13.0
          written 5d8a4c66b2f0e913

What is reviewed is the source; the releases say where it was seen. How it is written, comments and
all, lets a process see that it runs what was reviewed without parsing it. Format 1 hashed less of
the source; such a lock is read, and says so where a target differs.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchkit.errors import LockError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Entries = Mapping[str, Mapping[str, Sequence["Span"]]]
    """Patch -> target -> spans, in order of release."""

_HEAD = "# What has been reviewed of upstream. `patchkit lock` writes this file; review its diff.\n"
_FORMAT, _OLD_FORMAT = "format 2", "format 1"
_WRITTEN = "written"
_MARK = re.compile(r"[0-9a-f]{16}")
_IN_LINE = 5
_SHOWN = 80
_SPAN = re.compile(
    r"(?P<mark>[0-9a-f]{16})  (?P<project>[^ ]+) (?P<first>\d[^ ]*)( - (?P<last>\d[^ ]*))?"
)


class Span(NamedTuple):
    """
    Releases in which a target has the same source.

    Args:
        fingerprint: of the source.
        project: the distribution.
        first: version of the first release.
        last: of the last, the same where it is one.
        wordings: in which it was seen, sorted; none where they take a parser to find.

    """

    fingerprint: str
    project: str
    first: str
    last: str
    wordings: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Write it as it stands below its target."""
        yield f"    {self}"
        for at in range(0, len(self.wordings), _IN_LINE):
            yield f"      {_WRITTEN} {' '.join(self.wordings[at : at + _IN_LINE])}"

    def __str__(self) -> str:
        until = "" if self.first == self.last else f" - {self.last}"
        return f"{self.fingerprint}  {self.project} {self.first}{until}"


class Lock:
    """
    What has been reviewed.

    Args:
        entries: by patch and target.
        is_old: whether its fingerprints may lack what a call wraps, as in format 1.

    """

    def __init__(self, entries: Entries | None = None, *, is_old: bool = False) -> None:
        self.entries: Entries = entries or {}
        self.is_old = is_old

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lock) and self.text() == other.text()

    __hash__ = None  # type: ignore[assignment]  # it is compared, not kept in sets

    def __bool__(self) -> bool:
        return bool(self.entries)

    @property
    def doubt(self) -> str:
        """What else may be the reason where a source differs; '' where nothing is."""
        if not self.is_old:
            return ""
        why = "the lock has format 1, which left out functions that a call wraps"
        return f", or {why}: review the target and run `patchkit lock`"

    def spans(self, patch: str, target: str) -> Sequence[Span]:
        """List what has been reviewed of a target for a patch; nothing where nothing was."""
        return self.entries.get(patch, {}).get(target, ())

    def fingerprints(self, patch: str, target: str) -> frozenset[str]:
        """List the sources that have been reviewed."""
        return frozenset(one.fingerprint for one in self.spans(patch, target))

    def with_patch(self, patch: str, targets: Mapping[str, Sequence[Span]]) -> Lock:
        """Return another lock, with what was reviewed for one patch in place of what was."""
        entries = {name: found for name, found in self.entries.items() if name != patch}
        return Lock({**entries, patch: targets} if targets else entries, is_old=self.is_old)

    def text(self) -> str:
        """Write the file: patches and targets sorted, releases in their order."""
        form = _OLD_FORMAT if self.is_old else _FORMAT
        return "\n".join([_HEAD + form, *self._blocks()])

    def _blocks(self) -> Iterator[str]:
        for patch, targets in sorted(self.entries.items()):
            lines = [f"\n{patch}"]
            for target, spans in sorted(targets.items()):
                lines += [f"  {target}", *(line for span in spans for line in span.lines())]
            yield "\n".join(lines)
        yield ""


def read_lock(file: Path) -> Lock:
    """
    Read a lock; an empty one where there is no file.

    Raises:
        LockError: it is none, at which line.

    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Lock()
    except (OSError, UnicodeDecodeError) as error:
        raise LockError(f"{file}: cannot be read ({error})") from error
    return parse_lock(text, str(file))


def parse_lock(text: str, file: str = "patchkit.lock") -> Lock:
    """
    Read a lock's text.

    Raises:
        LockError: it is none, at which line.

    """
    parser = _Parser(file)
    return Lock(parser.read(text), is_old=parser.is_old)


def write_lock(file: Path, lock: Lock) -> None:
    """
    Write a lock: the whole of it or nothing.

    Raises:
        LockError: it cannot be written.

    """
    import tempfile  # noqa: PLC0415 - processes that only read a lock do without

    try:
        handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    except OSError as error:
        raise LockError(f"{file}: cannot be written ({error.strerror})") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(lock.text())
        Path(draft).chmod(file.stat().st_mode & 0o777 if file.exists() else 0o644)
        Path(draft).replace(file)
    except OSError as error:
        Path(draft).unlink(missing_ok=True)
        raise LockError(f"{file}: cannot be written ({error.strerror})") from error


class _Parser:
    """Reads line by line; every complaint names file and line."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._entries: dict[str, dict[str, list[Span]]] = {}
        self._patch = self._target = ""
        self.is_old = False

    def read(self, text: str) -> Entries:
        lines = [(number, line.rstrip()) for number, line in enumerate(text.splitlines(), start=1)]
        told = [(number, line) for number, line in lines if line and not line.startswith("#")]
        if not told or told[0][1] not in (_FORMAT, _OLD_FORMAT):
            number, line = told[0] if told else (1, "")
            raise self._refused(number, line, f"{_FORMAT!r}, the first line of a lock")
        self.is_old = told[0][1] == _OLD_FORMAT
        for number, line in told[1:]:
            self._take(number, line)
        return self._entries

    def _take(self, number: int, line: str) -> None:
        depth = len(line) - len(line.lstrip(" "))
        if depth == 0:
            self._open_patch(number, line)
        elif depth == 2 and self._patch and ":" in line:
            self._open_target(number, line.strip())
        elif depth == 4 and self._target:
            self._add_span(number, line.strip())
        elif depth == 6 and self._spans:
            self._add_wordings(number, line.strip())
        else:
            expected = "a patch, its targets by two blanks, their releases by four, wordings by six"
            raise self._refused(number, line, expected)

    @property
    def _spans(self) -> list[Span]:
        return self._entries[self._patch][self._target] if self._target else []

    def _open_patch(self, number: int, name: str) -> None:
        if name in self._entries or " " in name:
            raise self._refused(number, name, "the name of a patch, each once")
        self._patch, self._target = name, ""
        self._entries[name] = {}

    def _open_target(self, number: int, target: str) -> None:
        if target in self._entries[self._patch]:
            raise self._refused(number, target, "each target once")
        self._target = target
        self._entries[self._patch][target] = []

    def _add_span(self, number: int, text: str) -> None:
        match = _SPAN.fullmatch(text)
        if match is None:
            raise self._refused(number, text, "such as '0123456789abcdef  vllm 0.11.1 - 0.13.0'")
        first = match["first"]
        span = Span(match["mark"], match["project"], first, match["last"] or first)
        self._spans.append(span)

    def _add_wordings(self, number: int, text: str) -> None:
        word, *marks = text.split(" ")
        if word != _WRITTEN or not marks or not all(map(_MARK.fullmatch, marks)):
            raise self._refused(number, text, f"such as '{_WRITTEN} 0123456789abcdef'")
        span = self._spans.pop()
        self._spans.append(span._replace(wordings=(*span.wordings, *marks)))

    def _refused(self, number: int, found: str, expected: str) -> LockError:
        found = found.strip()
        shown = repr(found[:_SHOWN]) + ("…" if found[_SHOWN:] else "")
        return LockError(f"{self._file}:{number}: found {shown}, expected {expected}")
