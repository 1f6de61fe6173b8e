"""`patchkit.lock`: what a person has reviewed of upstream.

For each patch and target the file has one line for each run of releases whose source is the same:

    ray-worker-torch-npu
      vllm.v1.executor.ray_utils:RayWorkerWrapper
        d5d1d1f39d6821ae  vllm 0.11.1 - 0.13.0
          written 5d8a4c66b2f0e913

What is reviewed is the source; the releases say where it was seen. How it is written, comments and
all, lets a process see that it runs what was reviewed without parsing it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from patchkit.core.versions.requirements import release_order
from patchkit.errors import LockError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from patchkit.core.versions.requirements import ReleaseVersion

    Entries = Mapping[str, Mapping[str, Sequence["Span"]]]  # patch -> target -> spans by release

_HEAD = "# What has been reviewed of upstream. `patchkit lock` writes this file; review its diff.\n"
_FORMAT = "format 2"
_WRITTEN = "written"
_WORDINGS = re.compile(rf"{_WRITTEN}( [0-9a-f]{{16}})+")
_IN_LINE = 5
_SHOWN = 80
_SPAN = re.compile(r"([0-9a-f]{16})  ([^ ]+) (\d[^ ]*)(?: - (\d[^ ]*))?")


class Span(NamedTuple):
    """Releases of a project, from the first to the last, in which a target has the same source."""

    fingerprint: str
    project: str
    first: str
    last: str
    wordings: tuple[str, ...] = ()  # that were seen, sorted; none where they take a parser to find

    def lines(self) -> Iterator[str]:
        """Write it as it stands below its target."""
        yield f"    {self}"
        for at in range(0, len(self.wordings), _IN_LINE):
            yield f"      {_WRITTEN} {' '.join(self.wordings[at : at + _IN_LINE])}"

    def __str__(self) -> str:
        until = "" if self.first == self.last else f" - {self.last}"
        return f"{self.fingerprint}  {self.project} {self.first}{until}"


class Lock:
    """What has been reviewed, by patch and target."""

    def __init__(self, entries: Entries | None = None) -> None:
        self.entries: Entries = entries or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lock) and self.text() == other.text()

    __hash__ = None  # type: ignore[assignment]  # it is compared, not kept in sets

    def __bool__(self) -> bool:
        return bool(self.entries)

    def spans(self, patch: str, target: str) -> Sequence[Span]:
        """List what has been reviewed of a target for a patch; nothing where nothing was."""
        return self.entries.get(patch, {}).get(target, ())

    def fingerprints(self, patch: str, target: str) -> frozenset[str]:
        """List the sources that have been reviewed."""
        return frozenset(span.fingerprint for span in self.spans(patch, target))

    def with_patch(self, patch: str, targets: Mapping[str, Sequence[Span]]) -> Lock:
        """Return another lock, with what was reviewed for one patch in place of what was."""
        entries = {name: spans for name, spans in self.entries.items() if name != patch}
        return Lock({**entries, patch: targets} if targets else entries)

    def text(self) -> str:
        """Write the file: patches and targets sorted, releases in their order."""
        lines = [_HEAD + _FORMAT]
        for patch, targets in sorted(self.entries.items()):
            lines.append(f"\n{patch}")
            for target, spans in sorted(targets.items()):
                lines += [f"  {target}", *(line for span in spans for line in span.lines())]
        return "\n".join([*lines, ""])


def read_lock(file: Path) -> Lock:
    """Read a lock, an empty one where there is no file; LockError says at which line it is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Lock()
    except (OSError, UnicodeDecodeError) as error:
        raise LockError(f"{file}: cannot be read ({error})") from error
    return parse_lock(text, str(file))


def parse_lock(text: str, file: str = "patchkit.lock") -> Lock:
    """Read a lock's text; raise as `read_lock` does."""
    lines = enumerate(map(str.rstrip, text.splitlines()), start=1)
    told = [one for one in lines if one[1] and not one[1].startswith("#")]
    (number, first), *rest = told or [(1, "")]
    if first != _FORMAT:
        number_of = re.fullmatch(r"format (\d{1,9})", first)
        is_later = number_of is not None and int(number_of[1]) > int(_FORMAT.split()[1])
        ways = ("delete it and run `patchkit lock`", "install the patchkit that wrote it")
        raise _refused(
            file, number, first, f"{_FORMAT!r}, the first line of a lock; {ways[is_later]}"
        )
    entries: dict[str, dict[str, list[Span]]] = {}
    for number, line in rest:
        if expected := _expected(line, entries):
            raise _refused(file, number, line.lstrip(" "), expected)
    return Lock(entries)


def _refused(file: str, number: int, found: str, expected: str) -> LockError:
    shown = repr(found[:_SHOWN]) + ("…" if found[_SHOWN:] else "")
    return LockError(f"{file}:{number}: found {shown}, expected {expected}")


def _expected(line: str, entries: dict[str, dict[str, list[Span]]]) -> str:
    """Add what a line says to those before it; say what was expected where it is none of these."""
    text = line.lstrip(" ")
    depth = len(line) - len(text)
    targets = next(reversed(entries.values()), None)
    spans = next(reversed(targets.values()), None) if targets else None
    if depth == 0:
        if text in entries or " " in text:
            return "the name of a patch, each once"
        entries[text] = {}
    elif depth == 2 and targets is not None and ":" in text:
        if text in targets:
            return "each target once"
        targets[text] = []
    elif depth == 4 and spans is not None:
        if not (match := _SPAN.fullmatch(text)):
            return "such as '0123456789abcdef  vllm 0.11.1 - 0.13.0'"
        mark, project, first, last = match.groups()
        spans.append(Span(mark, project, first, last or first))
    elif depth == 6 and spans:
        if not _WORDINGS.fullmatch(text):
            return f"such as '{_WRITTEN} 0123456789abcdef'"
        spans[-1] = spans[-1]._replace(wordings=(*spans[-1].wordings, *text.split(" ")[1:]))
    else:
        return "a patch, its targets by two blanks, their releases by four, wordings by six"
    return ""


def write_lock(file: Path, lock: Lock) -> None:
    """Write a lock, the whole of it or nothing; raise LockError if that is not possible."""
    draft = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        draft.write_text(lock.text(), encoding="utf-8")
        if file.exists():
            draft.chmod(file.stat().st_mode & 0o777)
        draft.replace(file)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise LockError(f"{file}: cannot be written ({error.strerror})") from error


def united(patch: str, locks: Sequence[Lock]) -> Lock:
    """Make one lock of what several say of a patch: a source that any of them has is reviewed."""
    targets: dict[str, Sequence[Span]] = {}
    for lock in locks:
        for target, spans in lock.entries.get(patch, {}).items():
            targets[target] = joined(targets.get(target, ()), spans)
    return Lock({patch: targets})


def joined(spans: Sequence[Span], more: Iterable[Span]) -> list[Span]:
    """Add spans to others, by release; those with the same source that overlap become one."""
    for span in more:
        spans = list(_with(spans, span))
    return sorted(spans, key=lambda span: (span.project, *_ends(span)))


def _with(spans: Iterable[Span], new: Span) -> Iterator[Span]:
    for span in spans:
        (start, end), (new_start, new_end) = _ends(span), _ends(new)
        if span[:2] == new[:2] and start <= new_end and new_start <= end:
            first = min(span.first, new.first, key=release_order)
            last = max(span.last, new.last, key=release_order)
            wordings = tuple(sorted({*new.wordings, *span.wordings}))
            new = new._replace(first=first, last=last, wordings=wordings)
        else:
            yield span
    yield new


def _ends(span: Span) -> tuple[ReleaseVersion, ReleaseVersion]:
    return release_order(span.first), release_order(span.last)
