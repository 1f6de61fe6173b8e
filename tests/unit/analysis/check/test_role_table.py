"""Rows for roles in which no function of their target's module was called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, only_finding, subject
from patchkit import Role
from patchkit.analysis.check.role_table import read_role_table, roles_named
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from support.packages import World

SCHEDULER = "vllm.v1.core.sched.scheduler:Scheduler"
VALUES = "vllm.v1.core.sched.scheduler:"
WRAP = f"Wrap('{SCHEDULER}.schedule', by='w')"
SECOND = f"Wrap('{SCHEDULER}.update_from_output', by='w')"
BODY = "def w(wrapped, instance, args, kwargs): ...\ndef call(module): ...\n"
UP = subject("1.0", mod="def f(): ...")
ANY = "('vllm>=0.1,<1',)"


@pytest.mark.parametrize(
    ("changes", "roles", "expected"),
    [
        ((WRAP,), "{Role.MAIN}", [f"{SCHEDULER}.schedule"]),
        ((WRAP, SECOND), "{Role.WORKER}", [f"{SCHEDULER}.schedule"]),
        ((WRAP,), "{Role.ENGINE_CORE}", []),
        ((WRAP,), "{Role.MAIN, Role.ENGINE_CORE}", []),
        (("Wrap('vllm.unknown:f', by='w')",), "{Role.MAIN}", []),
        # A value acts where it is read.
        ((f"Replace('{VALUES}LIMIT', by='w')",), "{Role.MAIN}", []),
        ((f"Replace('{VALUES}known[1]', by='w')",), "{Role.MAIN}", []),
        (
            (f"Replace('{VALUES}known', by='w')",),
            "{Role.MAIN}",
            [f"{VALUES}known"],
        ),
        (
            ("AfterImport('vllm.v1.core.sched.scheduler', call='call')",),
            "{Role.MAIN}",
            [],
        ),
    ],
)
def test_a_target_is_called_in_one_of_the_roles(
    world: World, changes: tuple[str, ...], roles: str, expected: list[str]
) -> None:
    """Once for each module; what acts at an import, and what the table does not know, is left."""
    world.pack(row("p", "patch_a", *changes, roles=roles, requires=ANY), patch_a=BODY)
    report = checked([UP])
    found = [each for each in report.findings if each.code.code == "PK307"]
    assert [finding.target for finding in found] == expected


def test_the_finding_names_both_sides_and_the_role(world: World) -> None:
    """A reader sees where it was called, from what that is known, and what to write."""
    roles = "{Role.MAIN, Role.WORKER}"
    world.pack(row("p", "patch_a", WRAP, roles=roles, requires=ANY), patch_a=BODY)
    finding = only_finding(checked([UP]), "PK307")
    assert finding.severity == "warning"
    assert "the row is for main and worker" in finding.message
    assert "called in engine-core only, in engines of vLLM 0.32.0" in finding.message
    assert finding.fix.startswith("roles={Role.ENGINE_CORE}")


def test_names_of_roles_are_read_as_far_as_they_are_known() -> None:
    """Another version may have written others, and a file may have anything in their place."""
    assert roles_named(["main", "head"]) == {Role.MAIN}
    assert roles_named(None) == frozenset()


def test_the_table_knows_modules_of_each_role() -> None:
    """It is about modules; one that was only imported is not in it."""
    table = read_role_table()
    assert table.roles(Target.parse("vllm.v1.worker.gpu_worker:Worker.x")) == {
        Role.WORKER
    }
    assert table.roles(Target.parse("vllm.unknown:f")) == frozenset()


def test_the_tables_of_both_engines_are_read() -> None:
    """SGLang's scheduler is engine core and worker in one process; each table tells its release."""
    table = read_role_table()
    target = Target.parse("sglang.srt.managers.scheduler:Scheduler.run_batch")
    assert table.roles(target) == {Role.ENGINE_CORE, Role.WORKER}
    assert "SGLang 0.5.23" in table.source(target)
    assert "vLLM 0.32.0" in table.source(Target.parse(SCHEDULER))
    assert table.source(Target.parse("elsewhere:f")) == ""
