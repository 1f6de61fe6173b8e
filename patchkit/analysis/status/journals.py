"""Journals: where `patchkit run` keeps them, and what one process told of itself in its own.

Lines may be torn, of a later patchkit, or of somebody else: each value is taken only if it is what
it should be, and everything else is passed over.
"""

import json
import math
import os
import shutil
import stat
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from patchkit.analysis.status.node import read, writer
from patchkit.analysis.status.process_status import (
    FORMAT,
    ChangedModule,
    ChildStart,
    ForeignValue,
    PatchStatus,
    ProcessStatus,
)

_KEPT = 20
"""Runs whose journals stay."""


def read_directory(directory: str | Path) -> list[ProcessStatus]:
    """Read every journal in a directory, the oldest process first."""
    journals, _ = read(str(directory))
    processes = (parse_journal(name, data) for name, data in journals.items())
    return sorted(filter(None, processes), key=lambda process: process.started)


def parse_journal(name: str, data: bytes) -> ProcessStatus | None:
    """Make a process of a journal; the file's name says who wrote it where its head is torn."""
    process = _process_of_file(name) if data else None
    for entry in filter(None, map(_entry, data.split(b"\n"))):
        if entry.text("event") == "armed":
            process = _process(entry) or process
        elif process is not None:
            _note(process, entry)
    return process


class _Entry(dict[str, Any]):
    """One line; a value that is not what it should be counts as none."""

    def text(self, key: str) -> str:
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def whole(self, key: str) -> int | None:
        value = self.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def is_true(self, key: str) -> bool:
        return self.get(key) is True

    def words(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        words = value if isinstance(value, list) else ()
        return tuple(word for word in words if isinstance(word, str))

    def pairs(self, key: str) -> "_Entry":
        value = self.get(key)
        return _Entry(value if isinstance(value, dict) else {})

    def texts(self, key: str) -> dict[str, str]:
        pairs = self.pairs(key)
        return {name: pairs.text(name) for name in pairs}

    @property
    def time(self) -> float:
        value = self.get("time")
        is_number = isinstance(value, (int, float)) and abs(value) < 1e11  # in this age, and no NaN
        return float(value) if is_number and math.isfinite(value) else 0  # type: ignore[arg-type]


def _entry(line: bytes) -> _Entry | None:
    if not line.startswith(b"{"):
        return None
    try:
        return _Entry(json.loads(line))
    except (ValueError, RecursionError):
        return None


def _process(entry: _Entry) -> ProcessStatus | None:
    host, pid = entry.text("host"), entry.whole("pid")
    if not (host and pid):
        return None
    roles, forked = entry.pairs("roles"), entry.is_true("forked")
    names = entry.words("patches")
    return ProcessStatus(
        host=host,
        pid=pid,
        ppid=entry.whole("ppid") or 0,
        argv=list(entry.words("argv")),
        started=entry.time,
        began=entry.whole("began"),
        format=entry.whole("format") or FORMAT,
        # A fork inherits the answer, and has an ordinary parent.
        asked_by=None if forked else entry.text("asked_by") or None,
        is_copy=forked,
        patches={name: PatchStatus(name, roles=roles.words(name)) for name in names},
    )


def _process_of_file(name: str) -> ProcessStatus | None:
    (host, pid), start = writer(name), name.removesuffix(".jsonl").rpartition("-")[2]
    if not (host and pid and start.isdecimal() and 10 < len(start) < 20):
        return None
    return ProcessStatus(host, pid, started=int(start) / 1e9)


def _note(process: ProcessStatus, entry: _Entry) -> None:
    match entry.text("event"):
        case "role":
            process.is_copy &= entry.is_true("inherited")
            if (role := entry.text("role")) not in process.roles:
                process.roles.append(role)
        case "become":
            process.roles, process.is_copy = [], False
        case "patch":
            _note_patch(process, entry)
        case "child":
            if (pid := entry.whole("child")) is not None:
                told = ChildStart(pid, entry.text("name"), entry.text("role") or None, entry.time)
                process.children.append(told)
        case "left-out" | "verify" | "wrapped" | "overwritten" | "unreviewed" as event:
            if (patch := process.patches.get(entry.text("name"))) is not None:
                _note_of_patch(patch, event, entry)
        case event:
            _note_fact(process, event, entry)


def _note_fact(process: ProcessStatus, event: str, entry: _Entry) -> None:
    match event:
        case "rank":
            process.rank = entry.whole("rank")
        case "digest":
            process.digests[entry.text("role")] = entry.text("digest")
        case "disagreement":
            process.disagreements[entry.text("role")] = entry.text("reason")
        case "verified":
            process.verified = entry.time or None
        case "unmet":
            process.unmet = entry.texts("reasons")
        case "unknown":
            process.unknown = entry.text("target")
        case "left-without":
            process.left_without[entry.text("name")] = entry.text("reason")
        case "in-effect":
            _note_effects(process, entry)
        case "full":
            process.is_cut = True


def _note_patch(process: ProcessStatus, entry: _Entry) -> None:
    name = entry.text("name")
    patch = process.patches.setdefault(name, PatchStatus(name))
    patch.status, patch.reason = entry.text("status"), entry.text("reason")
    patch.time, patch.inherited = entry.time, entry.is_true("inherited")
    process.is_copy &= patch.inherited
    if patch.status == "applied":
        _note_applied(process, patch, entry)
        return
    patch.modules, patch.strangers, patch.effects = {}, [], {}
    for order in process.layers.values():
        order[:] = [other for other in order if other != name]


def _note_applied(process: ProcessStatus, patch: PatchStatus, entry: _Entry) -> None:
    told = entry.pairs("layers")
    layers = {target: told.words(target) for target in told}
    for target, order in layers.items():
        # Patches that told of it before stay, where the last one knows only of itself.
        others = set(process.layers.get(target, ())).difference(order)
        every = [name for name in process.patches if name in {*order, *others}]
        process.layers[target] = every if others else list(order)
    if module := entry.text("module"):
        copies = entry.words("rebound"), entry.words("out_of_reach"), entry.texts("untraced")
        patch.modules[module] = ChangedModule(*copies, tuple(layers))


def _note_effects(process: ProcessStatus, entry: _Entry) -> None:
    process.glanced = entry.time or None
    told = entry.pairs("patches")
    for name in told.keys() & process.patches.keys():
        process.patches[name].effects.update(told.texts(name))


def _note_of_patch(patch: PatchStatus, event: str, entry: _Entry) -> None:
    target = entry.text("target")
    match event:
        case "verify":
            patch.answer, patch.answered = entry.text("answer"), entry.time
        case "left-out":
            patch.left_out[target] = entry.text("reason")
        case "wrapped" | "overwritten":
            patch.strangers.append(ForeignValue(target, entry.text("by"), event == "wrapped"))
        case "unreviewed":
            patch.unreviewed = entry.text("reason")
            patch.is_finding = entry.is_true("finding")


def new_run() -> Path:
    """Make the folder of a run, and delete those of old ones in which no process runs."""
    home = _home()
    if not _is_own(home):  # somebody else has taken the name
        return Path(tempfile.mkdtemp(prefix="patchkit-"))
    for old in _runs(home)[_KEPT - 1 :]:
        if not _is_running(old):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{datetime.now():%Y%m%d-%H%M%S-%f}-", dir=home))


def newest_run() -> Path | None:
    """Find the folder of the run that began last; None where there is none."""
    home = _home()
    return next(iter(_runs(home)), None) if _is_own(home, make=False) else None


def _home() -> Path:
    return Path(tempfile.gettempdir()) / f"patchkit-{os.getuid()}"


def _is_own(home: Path, *, make: bool = True) -> bool:
    """Whether it is a folder that nobody else can write to."""
    try:
        if make:
            home.mkdir(mode=0o700, exist_ok=True)
        facts = home.lstat()
    except OSError:
        return False
    is_open = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not is_open


def _runs(home: Path) -> list[Path]:
    return sorted(filter(Path.is_dir, home.iterdir()), reverse=True)


def _is_running(run: Path) -> bool:
    host = os.uname().nodename
    writers = (writer(file.name) for file in run.glob("*.jsonl"))
    return any(_is_alive(pid) for there, pid in writers if there == host and pid)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True
