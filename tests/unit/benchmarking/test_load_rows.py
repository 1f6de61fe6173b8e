"""The pack of the load, and whether its rows are in effect."""

from __future__ import annotations

import copy
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.load_rows import PACK, ROWS, NotInEffectError, effect_in, write_pack
from patchkit import Role
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from patchkit.core.rows.declaration import Row


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Row]]:
    """The rows of the pack, as a process reads them."""
    write_pack(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield list(read_pack(PACK))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACK]:
        del sys.modules[name]


def test_the_pack_has_36_rows_for_three_roles(rows: list[Row]) -> None:
    """Each is for one role, and wraps a target of its own with a function of its own."""
    assert len(rows) == ROWS == 36
    roles = Counter(role for row in rows for role in row.roles)
    assert roles == {Role.MAIN: 12, Role.ENGINE_CORE: 12, Role.WORKER: 12}
    changes = [change for row in rows for change in row.patch.changes]
    assert len({str(change.place) for change in changes}) == 36


@pytest.fixture
def picture(rows: list[Row]) -> dict[str, Any]:
    """A status in which each row is in effect in the process of its role."""
    processes = []
    for pid, role in enumerate((Role.MAIN, Role.ENGINE_CORE, Role.WORKER), start=1):
        patches = []
        for row in rows:
            is_here = role in row.roles
            patches.append(
                {
                    "name": row.name,
                    "pack": PACK,
                    "status": "applied" if is_here else "skipped",
                    "in_effect": "yes" if is_here else "unknown",
                }
            )
        processes.append({"pid": pid, "patches": patches})
    return {"processes": processes, "findings": []}


def test_rows_that_are_called_everywhere_are_in_effect(picture: dict[str, Any]) -> None:
    """The note tells how many there are, and in how many processes."""
    assert effect_in(picture) == "all 36 rows are applied and in effect, in 3 processes"


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("status", "armed", "main-0, .*: is applied nowhere"),
        ("in_effect", "no", "main-0, .*: was never called"),
        ("in_effect", "unknown", "main-0, .*: was never called"),
        ("pack", "other", "main-0, .*: is applied nowhere"),
    ],
)
def test_a_row_that_does_not_act_is_an_error(
    picture: dict[str, Any], field: str, value: str, fault: str
) -> None:
    """The message names the row and its target; a measurement without it would say nothing."""
    changed = copy.deepcopy(picture)
    changed["processes"][0]["patches"][0][field] = value
    with pytest.raises(NotInEffectError, match=fault):
        effect_in(changed)


def test_a_finding_is_an_error(picture: dict[str, Any]) -> None:
    """A row that failed in one process, and acts in another one, is no row in effect."""
    finding = {"kind": "failed", "host": "here", "pid": 3, "message": "worker-0: gone"}
    with pytest.raises(NotInEffectError, match="failed: worker-0: gone"):
        effect_in({**picture, "findings": [finding]})
