"""A body that imports what imports its target: vLLM's scheduler, which imports its requests.

Takes about 15 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PACK = """
from patchkit import Patch, Role, Wrap
PATCHES = (
    Patch(
        name="two-modules", body="patch_a", requires=("vllm>=0.32,<0.33",), roles=set(Role),
        changes=(
            Wrap("vllm.v1.request:Request.is_finished", by="by"),
            Wrap("vllm.v1.core.sched.scheduler:Scheduler.schedule", by="by"),
        ),
    ),
)
"""
BODY = """
from vllm.v1.core.sched.scheduler import Scheduler
assert Scheduler.schedule
def by(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)
"""
LOOK = """
import importlib, sys, patchkit.auto
importlib.import_module(sys.argv[1])
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request
state = patchkit.auto.session.states["two-modules"]
ours = [one.__code__.co_filename for one in (Request.is_finished, Scheduler.schedule)]
print(state.status, all("patchkit" in file for file in ours))
"""


@pytest.mark.parametrize("first", ["vllm.v1.core.sched.scheduler", "vllm.v1.request"])
def test_whichever_module_the_program_imports_first(tmp_path: Path, first: str) -> None:
    """The request is patched once the scheduler is whole, and both are then."""
    (tmp_path / "importer_pack").mkdir()
    (tmp_path / "importer_pack" / "__init__.py").write_text(PACK)
    (tmp_path / "importer_pack" / "patch_a.py").write_text(BODY)
    found = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {"PATCHKIT_PATCHES": "importer_pack", "PYTHONPATH": os.pathsep.join(found)}
    done = subprocess.run(
        [sys.executable, "-c", LOOK, first],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "applied True"
