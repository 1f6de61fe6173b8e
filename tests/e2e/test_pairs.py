"""Rows whose targets derive from each other, in a real engine that is forked and spawned.

Takes about 55 s.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from pathlib import Path

ROWS = """
from patchkit import AddField, Patch, Role, Wrap

def row(name, change):
    return Patch(
        name=name, body=f"patch_{name.replace('-', '_')}", requires=("vllm>=0.32,<0.33",),
        roles={Role.ENGINE_CORE}, changes=(change,),
    )

PATCHES = (
    row("step-inherited", Wrap("vllm.v1.engine.core:EngineCoreProc.step", by="by")),
    row("step-of-base", Wrap("vllm.v1.engine.core:EngineCore.step", by="by")),
    row("stop-copied", Wrap("vllm.v1.core.sched.scheduler:check_stop", by="by")),
    row("stop-defined", Wrap("vllm.v1.core.sched.utils:check_stop", by="by")),
    row("field", AddField("vllm.config.scheduler:SchedulerConfig", "acme", "int", 7)),
    row("field-read", Wrap("vllm.v1.core.sched.scheduler:Scheduler.schedule", by="by")),
)
"""

BODY = """
import os
from pathlib import Path

SEEN = Path(__file__).with_name("seen")

def by(wrapped, instance, args, kwargs):
    field = getattr(getattr(instance, "scheduler_config", None), "acme", "none")
    with SEEN.open("a") as file:
        file.write(f"{os.getpid()} {__name__.rpartition('.')[2]} {field}\\n")
    return wrapped(*args, **kwargs)
"""

PAIRS = (("step_inherited", "step_of_base"), ("stop_copied", "stop_defined"))
NAMES = (*PAIRS[0], *PAIRS[1], "field", "field_read")


def _pack(folder: Path) -> dict[str, str]:
    """Write a pack with a body for each row."""
    acme = folder / "acme"
    acme.mkdir()
    (acme / "__init__.py").write_text(ROWS)
    for name in NAMES:
        (acme / f"patch_{name}.py").write_text(BODY)
    return {
        "PYTHONPATH": str(folder),
        "PATCHKIT_PATCHES": "acme",
        "PATCHKIT_JOURNAL": str(folder / "journal"),
    }


def _status(python: Path, folder: Path) -> list[dict[str, Any]]:
    """Return what `patchkit status` says of each process."""
    words = ["-m", "patchkit", "status", str(folder / "journal"), "--format", "json"]
    outcome = processes.run(
        [str(python), *words], processes.environment(), 200, folder / "status.log"
    )
    text = outcome.output
    said: list[dict[str, Any]] = json.loads(text[text.index("{\n") :])["processes"]
    return said


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_rows_on_places_that_derive_from_each_other_act_together(
    method: str, python: Path, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """Each is called as often as the other, in the engine core alone, as `status` says."""
    env = {
        **scenario.MACHINE,
        **scenario.BACKEND,
        **_pack(tmp_path),
        "VLLM_WORKER_MULTIPROC_METHOD": method,
    }
    outcome = scenario.generate(
        python,
        model,
        tmp_path / "engine.log",
        *("--executor", "mp", "--patchkit"),
        env=env,
    )
    assert scenario.report(outcome).tokens == baseline
    lines = (tmp_path / "acme" / "seen").read_text().splitlines()
    calls = Counter(tuple(line.split()[:2]) for line in lines)
    (core,) = {pid for pid, _ in calls}
    for first, second in PAIRS:
        assert calls[core, f"patch_{first}"] == calls[core, f"patch_{second}"] > 0
    fields = {line.split()[2] for line in lines if "patch_field_read" in line}
    assert fields == {"7"}
    (process,) = [
        process for process in _status(python, tmp_path) if process["pid"] == int(core)
    ]
    patches = {patch["name"]: patch for patch in process["patches"]}
    for name in ("step-inherited", "step-of-base", "stop-copied", "stop-defined"):
        assert patches[name]["status"] == "applied"
        assert set(patches[name]["targets"].values()) == {"called"}
