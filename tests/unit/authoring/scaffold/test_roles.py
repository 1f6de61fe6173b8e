"""Roles of a new row are those of the last probe, or of a table of vLLM's modules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from patchkit.authoring.scaffold.roles import propose_roles
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from pathlib import Path

SCHEDULE = "vllm.v1.core.sched.scheduler:Scheduler.schedule"
ELSEWHERE = "somewhere.module:function"


def answer(folder: Path, evidence: str = "called", **roles: list[str]) -> Path:
    """The file of a probe that has found these roles, by target."""
    targets = [
        {"target": name, "roles": found, "evidence": evidence}
        for name, found in roles.items()
    ]
    file = folder / "probe.json"
    file.write_text(json.dumps({"began": "2026-11-27T20:00:00", "targets": targets}))
    return file


def proposed(*targets: str, probe: Path | None = None) -> tuple[set[Role], str] | None:
    """The roles that are proposed for a row with some targets, and where they come from."""
    roles = propose_roles([Target.parse(target) for target in targets], probe)
    return None if roles is None else (set(roles.roles), roles.source)


def test_the_probe_decides(tmp_path: Path) -> None:
    """Of several targets each adds its roles; the source says when it was."""
    file = answer(tmp_path, **{ELSEWHERE: ["main"], "other:f": ["worker"]})
    assert proposed(ELSEWHERE, "other:f", probe=file) == (
        {Role.MAIN, Role.WORKER},
        "the probe of 2026-11-27T20:00:00",
    )


def test_the_table_serves_where_no_probe_has_looked(tmp_path: Path) -> None:
    """It knows modules of vLLM, and says of which release and when."""
    found = proposed(SCHEDULE, probe=answer(tmp_path, other=["main"]))
    assert found is not None
    roles, source = found
    assert roles == {Role.ENGINE_CORE}
    assert "vLLM 0.32.0" in source


def test_the_probe_wins_over_the_table(tmp_path: Path) -> None:
    """The table knows modules only, and another release."""
    file = answer(tmp_path, **{SCHEDULE: ["worker"]})
    found = proposed(SCHEDULE, probe=file)
    assert found is not None
    assert found[0] == {Role.WORKER}


def test_an_import_says_less_than_the_table(tmp_path: Path) -> None:
    """A command that only imports a module, or fails, tells no roles that the table knows."""
    file = answer(tmp_path, "imported", **{SCHEDULE: ["main"], ELSEWHERE: ["main"]})
    found = propose_roles([Target.parse(SCHEDULE)], file)
    assert found is not None
    assert found.roles == {Role.ENGINE_CORE}
    assert found.is_called
    elsewhere = propose_roles([Target.parse(ELSEWHERE)], file)
    assert elsewhere is not None
    assert elsewhere.roles == {Role.MAIN}
    assert not elsewhere.is_called


def test_nothing_is_proposed_where_nobody_knows_one_target(tmp_path: Path) -> None:
    """A row is for all of its targets."""
    file = answer(tmp_path, **{ELSEWHERE: [], "other:f": ["worker"]})
    assert proposed(ELSEWHERE, "other:f", probe=file) is None
    assert proposed(ELSEWHERE) is None


def test_a_file_that_cannot_be_read_proposes_nothing(tmp_path: Path) -> None:
    """It may be torn, or hold something else."""
    file = tmp_path / "probe.json"
    for text in ("{", "[]", '{"targets": [1, {"target": "a:b", "roles": 3}]}'):
        file.write_text(text)
        assert proposed("a:b", probe=file) is None
    assert proposed("a:b", probe=tmp_path / "missing") is None
