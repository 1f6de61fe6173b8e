"""What a probe's journals and counts say together, and which roles follow."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.analysis.status.probed import ProbedTarget, read_probe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TARGET = "up:f"
IMPORTED = {"event": "probed", "target": TARGET, "reason": ""}
TRACED = {"event": "traced", "target": TARGET}
UNCOUNTED = {"event": "probed", "target": TARGET, "reason": "it is of type int"}


def process(
    folder: Path, roles: Sequence[str], *events: dict[str, Any], calls: int | None = 0
) -> None:
    """Write the files of one more process, older than none of the others."""
    pid = 100 + len(list(folder.glob("*.jsonl")))
    head = {"event": "armed", "host": "node", "pid": pid, "time": float(pid)}
    entered = [{"event": "role", "role": role} for role in roles]
    lines = [json.dumps(entry) for entry in (head, *entered, *events)]
    file = folder / f"node-{pid}-{10**18 + pid}.jsonl"
    file.write_text("\n".join(lines) + "\n")
    if calls is not None:
        file.with_suffix(".counts").write_bytes(struct.pack("<Q", calls))


def probed(folder: Path) -> ProbedTarget:
    (target,) = read_probe(str(folder), [TARGET], 0).targets
    return target


def test_who_called_decides(tmp_path: Path) -> None:
    """Whoever has only imported it does not count then, and roles have an order."""
    process(tmp_path, ["main"], IMPORTED)
    process(tmp_path, ["worker"], IMPORTED, calls=3)
    process(tmp_path, ["engine-core"], IMPORTED, calls=1)
    target = probed(tmp_path)
    assert (target.evidence, target.roles) == ("called", ["engine-core", "worker"])
    assert [seen.calls for seen in target.processes] == [0, 3, 1]


def test_what_was_traced_counts_beside_what_was_called(tmp_path: Path) -> None:
    """torch.compile makes code of it that acts there."""
    process(tmp_path, ["main"], IMPORTED)
    process(tmp_path, ["worker"], IMPORTED, TRACED)
    assert (probed(tmp_path).evidence, probed(tmp_path).roles) == ("traced", ["worker"])
    process(tmp_path, ["engine-core"], IMPORTED, calls=1)
    assert probed(tmp_path).evidence == "called"
    assert probed(tmp_path).roles == ["engine-core", "worker"]


@pytest.mark.parametrize("event", [IMPORTED, UNCOUNTED])
def test_imports_decide_where_nobody_called(
    tmp_path: Path, event: dict[str, Any]
) -> None:
    """Or where nobody knows who did."""
    process(tmp_path, ["main"])
    process(tmp_path, ["engine-core", "worker"], event)
    target = probed(tmp_path)
    assert (target.evidence, target.roles) == ("imported", ["engine-core", "worker"])
    assert target.processes[0].calls == 0
    expected = None if event["reason"] else 0
    assert target.processes[1].calls == expected
    assert target.processes[1].reason == event["reason"]


def test_nobody_imported_it(tmp_path: Path) -> None:
    """There is no role then."""
    process(tmp_path, ["main"])
    assert (probed(tmp_path).evidence, probed(tmp_path).roles) == ("never imported", [])


def test_a_process_of_no_role_needs_no_row(tmp_path: Path) -> None:
    """It was called, and a row would not act there."""
    process(tmp_path, [], IMPORTED, calls=2)
    assert (probed(tmp_path).evidence, probed(tmp_path).roles) == ("called", [])


@pytest.mark.parametrize("content", [None, b"", b"123"])
def test_counts_that_are_lost_are_unknown(
    tmp_path: Path, content: bytes | None
) -> None:
    """They are not taken for 0."""
    process(tmp_path, ["main"], IMPORTED, calls=None)
    if content is not None:
        (file,) = tmp_path.glob("*.jsonl")
        file.with_suffix(".counts").write_bytes(content)
    (seen,) = probed(tmp_path).processes
    assert (seen.calls, seen.reason) == (None, "its counts cannot be read")


def test_older_journals_are_left_out(tmp_path: Path) -> None:
    """The folder may be that of runs before."""
    process(tmp_path, ["main"], IMPORTED, calls=1)
    process(tmp_path, ["worker"], IMPORTED, calls=1)
    (target,) = read_probe(str(tmp_path), [TARGET], 101).targets
    assert target.roles == ["worker"]
