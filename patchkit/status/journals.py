"""
A journal, read: what one process told of itself.

Lines may be torn, of a later patchkit, or of somebody else: each value is taken only if it is what
it should be, and everything else is passed over.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit.status.node import contents

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Entry = Mapping[str, Any]


@dataclass
class PatchStatus:
    """
    How it stood last with one patch in one process.

    Args:
        name: the patch's.
        status: armed, applied, skipped or failed.
        reason: of skipped and failed; of armed, where it waits for more than its target.
        time: seconds since the epoch, 0 while nothing has happened.
        roles: those that the patch is for, empty where the journal does not say.
        inherited: from the parent, by a fork.
        parts: what was told of each module that it has changed.
        strangers: what somebody else has put on what it has changed.
        unreviewed: what it changes that is not as it was reviewed, in words; '' where all is.
        is_finding: whether that is to be looked at: it leaves the patch out, or cannot be read.
        left_out: by target, why a change of it is not for this process.

    """

    name: str
    status: str = "armed"
    reason: str = ""
    time: float = 0
    roles: tuple[str, ...] = ()
    inherited: bool = False
    parts: dict[str, Part] = field(default_factory=dict)
    strangers: list[Stranger] = field(default_factory=list)
    unreviewed: str = ""
    is_finding: bool = False
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def rebound(self) -> list[str]:
        """Copies that were repointed."""
        return [words for part in self.parts.values() for words in part.rebound]

    @property
    def out_of_reach(self) -> list[str]:
        """Copies that could not be."""
        return [words for part in self.parts.values() for words in part.out_of_reach]

    @property
    def untraced(self) -> dict[str, str]:
        """Why copies were not looked for, by target."""
        return {name: why for part in self.parts.values() for name, why in part.untraced.items()}

    @property
    def targets(self) -> list[str]:
        """What it has changed."""
        return list(dict.fromkeys(name for part in self.parts.values() for name in part.targets))


@dataclass(frozen=True)
class Part:
    """What was told of a patch's changes in one module."""

    rebound: tuple[str, ...]
    out_of_reach: tuple[str, ...]
    untraced: dict[str, str]
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Stranger:
    """
    Somebody else's value on something that a patch has changed.

    Args:
        target: where.
        by: what stands there.
        wraps: whether the patch acts below it.

    """

    target: str
    by: str
    wraps: bool


@dataclass(frozen=True)
class Child:
    """A process that this one started by `multiprocessing`, as the parent tells."""

    pid: int
    name: str
    role: str | None
    time: float


@dataclass(eq=False)
class ProcessStatus:
    """
    One process, as its journal tells, or one that left none.

    Args:
        host: node name.
        pid: its own.
        ppid: its parent's when it was armed.
        argv: its command line.
        started: when it was armed, or noticed; seconds since the epoch.
        began: tells it from others that had the same pid.
        asked_by: `host:pid` of the process that asked Ray for it.
        forked: whether it was armed by being forked.
        is_copy: forked, and nothing has happened in it since.
        roles: in the order in which it entered them; after a fork into a role, only that one.
        rank: of a worker.
        patches: by name.
        layers: for each target the patches that lie on it, the innermost first.
        digests: of its patch sets, by role.
        disagreements: what it found different from its engine, by role.
        verified: when it last looked at what it had applied; seconds since the epoch.
        unmet: by name of a patch, why it is not for this process though its role is.
        children: those that it started.
        is_cut: whether its journal reached its limit.
        is_reached: whether patchkit is there.
        is_starting: whether it may be there soon.
        name: of the child process, as its parent calls it, or its title.
        reason: why it counts as not reached.
        alive: whether it runs; None where that is not known.
        parent: the process that it belongs to.

    """

    host: str
    pid: int
    ppid: int = 0
    argv: list[str] = field(default_factory=list)
    started: float = 0
    began: int | None = None
    asked_by: str | None = None
    forked: bool = False
    is_copy: bool = False
    roles: list[str] = field(default_factory=list)
    rank: int | None = None
    patches: dict[str, PatchStatus] = field(default_factory=dict)
    layers: dict[str, list[str]] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    disagreements: dict[str, str] = field(default_factory=dict)
    verified: float | None = None
    unmet: dict[str, str] = field(default_factory=dict)
    children: list[Child] = field(default_factory=list)
    is_cut: bool = False
    is_reached: bool = True
    is_starting: bool = False
    name: str = ""
    reason: str = ""
    alive: bool | None = None
    parent: ProcessStatus | None = None

    @property
    def digest(self) -> str | None:
        """Hash of its patch sets; of what is applied, where no engine was configured."""
        if len(self.digests) == 1:
            return next(iter(self.digests.values()))
        if self.digests:
            return _hash(f"{role} {digest}" for role, digest in self.digests.items())
        if not (self.roles and self.is_reached):
            return None
        return _hash(name for name, patch in self.patches.items() if patch.status == "applied")

    def stand(self, patch: PatchStatus) -> tuple[str, str]:
        """Say how it stands with a patch, and why: what is not for this process is skipped."""
        if patch.status != "armed":
            return patch.status, patch.reason
        if not self.roles:
            return "armed", patch.reason or "the process has not entered a role"
        if patch.roles and not set(patch.roles) & set(self.roles):
            return "skipped", f"for {', '.join(patch.roles)}"
        if reason := self.unmet.get(patch.name):
            return "skipped", reason
        return "armed", patch.reason or "no import of its target has been seen"


def read_directory(directory: str | Path) -> list[ProcessStatus]:
    """Read every journal in a directory, the oldest process first."""
    found = [read_journal(path) for path in sorted(Path(directory).glob("*.jsonl"))]
    known = [process for process in found if process is not None]
    return sorted(known, key=lambda process: process.started)


def read_journal(path: Path) -> ProcessStatus | None:
    """Read one journal; None where it holds no process, or cannot be read."""
    try:
        return parse_journal(path.name, contents(path))
    except OSError:
        return None


def parse_journal(name: str, data: bytes) -> ProcessStatus | None:
    """
    Make a process of a journal.

    Args:
        name: of the file; says who wrote it, should the first line be torn.
        data: what is in it.

    """
    process = _process_of_file(name) if data else None
    for entry in filter(None, map(_entry, data.split(b"\n"))):
        if entry.get("event") == "armed":
            process = _process(entry) or process
        elif process is not None and (read := _READERS.get(str(entry.get("event")))) is not None:
            read(process, entry)
    return process


def _entry(line: bytes) -> Entry | None:
    if not line.startswith(b"{"):
        return None
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _process(entry: Entry) -> ProcessStatus | None:
    host, pid, roles = _text(entry.get("host")), _whole(entry.get("pid")), entry.get("roles")
    if not (host and pid):
        return None
    roles = roles if isinstance(roles, dict) else {}
    names = [name for name in _list(entry.get("patches")) if isinstance(name, str)]
    forked = entry.get("forked") is True
    asked_by = entry.get("asked_by")
    return ProcessStatus(
        host=host,
        pid=pid,
        ppid=_whole(entry.get("ppid")) or 0,
        argv=[_text(word) for word in _list(entry.get("argv"))],
        started=_time(entry),
        began=_whole(entry.get("began")),
        # A fork inherits the answer, and has an ordinary parent.
        asked_by=asked_by if isinstance(asked_by, str) and not forked else None,
        forked=forked,
        is_copy=forked,
        patches={name: PatchStatus(name, roles=_words(roles.get(name))) for name in names},
    )


def _process_of_file(name: str) -> ProcessStatus | None:
    host, _, rest = name.removesuffix(".jsonl").rpartition("-")[0].rpartition("-")
    start = name.removesuffix(".jsonl").rpartition("-")[2]
    if not (host and rest.isdecimal() and start.isdecimal() and len(rest) < 10 < len(start) < 20):
        return None
    return ProcessStatus(host, int(rest), started=int(start) / 1e9)


def _note_role(process: ProcessStatus, entry: Entry) -> None:
    role = _text(entry.get("role"))
    process.is_copy &= entry.get("inherited") is True
    if role not in process.roles:
        process.roles.append(role)


def _note_become(process: ProcessStatus, _: Entry) -> None:
    process.roles = []
    process.is_copy = False


def _note_patch(process: ProcessStatus, entry: Entry) -> None:
    name, inherited = _text(entry.get("name")), entry.get("inherited") is True
    before = process.patches.get(name, PatchStatus(name))
    status, reason = _text(entry.get("status")), _text(entry.get("reason"))
    when = _time(entry)
    found = PatchStatus(name, status, reason, when, before.roles, inherited)
    found.unreviewed, found.is_finding = before.unreviewed, before.is_finding
    found.left_out = before.left_out
    process.patches[name] = found
    process.is_copy &= inherited
    if status != "applied":
        for order in process.layers.values():
            order[:] = [other for other in order if other != name]
        return
    found.parts, found.strangers = before.parts, before.strangers
    layers = {target: _words(order) for target, order in _pairs(entry.get("layers"))}
    for target, names in layers.items():
        process.layers[target] = _merged(process, target, names)
    if module := _text(entry.get("module")):
        found.parts[module] = Part(
            _words(entry.get("rebound")),
            _words(entry.get("out_of_reach")),
            {target: _text(why) for target, why in _pairs(entry.get("untraced"))},
            tuple(layers),
        )


def _merged(process: ProcessStatus, target: str, order: tuple[str, ...]) -> list[str]:
    """Add the patches that told of a target before, where the last one knows only of itself."""
    others = [name for name in process.layers.get(target, ()) if name not in order]
    if not others:
        return list(order)
    return [name for name in process.patches if name in {*order, *others}]


def _note_left_out(process: ProcessStatus, entry: Entry) -> None:
    if (patch := process.patches.get(_text(entry.get("name")))) is not None:
        patch.left_out[_text(entry.get("target"))] = _text(entry.get("reason"))


def _note_wrapped(process: ProcessStatus, entry: Entry) -> None:
    _note_stranger(process, entry, wraps=True)


def _note_overwritten(process: ProcessStatus, entry: Entry) -> None:
    _note_stranger(process, entry, wraps=False)


def _note_stranger(process: ProcessStatus, entry: Entry, *, wraps: bool) -> None:
    if (patch := process.patches.get(_text(entry.get("name")))) is not None:
        target, by = _text(entry.get("target")), _text(entry.get("by"))
        patch.strangers.append(Stranger(target, by, wraps))


def _note_unreviewed(process: ProcessStatus, entry: Entry) -> None:
    if (patch := process.patches.get(_text(entry.get("name")))) is not None:
        patch.unreviewed = _text(entry.get("reason"))
        patch.is_finding = entry.get("finding") is True


def _note_rank(process: ProcessStatus, entry: Entry) -> None:
    process.rank = _whole(entry.get("rank"))


def _note_digest(process: ProcessStatus, entry: Entry) -> None:
    process.digests[_text(entry.get("role"))] = _text(entry.get("digest"))


def _note_disagreement(process: ProcessStatus, entry: Entry) -> None:
    process.disagreements[_text(entry.get("role"))] = _text(entry.get("reason"))


def _note_verified(process: ProcessStatus, entry: Entry) -> None:
    process.verified = _time(entry) or None


def _note_unmet(process: ProcessStatus, entry: Entry) -> None:
    process.unmet = {name: _text(reason) for name, reason in _pairs(entry.get("reasons"))}


def _note_child(process: ProcessStatus, entry: Entry) -> None:
    pid, role = _whole(entry.get("child")), entry.get("role")
    if pid is not None:
        role = role if isinstance(role, str) else None
        process.children.append(Child(pid, _text(entry.get("name")), role, _time(entry)))


def _note_full(process: ProcessStatus, _: Entry) -> None:
    process.is_cut = True


_READERS: dict[str, Callable[[ProcessStatus, Entry], None]] = {
    "role": _note_role,
    "become": _note_become,
    "patch": _note_patch,
    "wrapped": _note_wrapped,
    "overwritten": _note_overwritten,
    "unreviewed": _note_unreviewed,
    "rank": _note_rank,
    "digest": _note_digest,
    "disagreement": _note_disagreement,
    "unmet": _note_unmet,
    "left-out": _note_left_out,
    "verified": _note_verified,
    "child": _note_child,
    "full": _note_full,
}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _pairs(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _words(value: Any) -> tuple[str, ...]:
    return tuple(word for word in _list(value) if isinstance(word, str))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _time(entry: Entry) -> float:
    value = entry.get("time")
    is_number = isinstance(value, (int, float)) and abs(value) < 1e11  # in this age, and no NaN
    return float(value) if is_number and math.isfinite(value) else 0  # type: ignore[arg-type]


def _hash(lines: Any) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode(errors="replace")).hexdigest()[:16]
