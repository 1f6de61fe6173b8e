"""Uses against real releases of vLLM, which are read from the index and never installed.

Takes about 2 s.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

MOVED = "vllm.entrypoints.openai.engine.protocol:DeltaMessage"
"""Up to 0.28.0; from 0.29.0 on in `vllm.entrypoints.generate.base.protocol`."""
ROW = """
from patchkit import Patch, Role, Wrap
PATCHES = (
    Patch(
        name="uses-a-name",
        body="patch_engine",
        requires=("vllm>=0.28,<0.34",),
        roles={Role.ENGINE_CORE},
        changes=(Wrap("vllm.v1.engine.core:EngineCore.step", by="step"),),
        why="a test",
        upstream="none: a test",
        sunset="never",
    ),
)
"""
BODY = """
from {} import {}

def step(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)
"""


def answer(folder: Path, *words: str) -> tuple[int, Any]:
    """What a command says of the pack in a folder."""
    command = [sys.executable, "-m", "patchkit", *words, "--format", "json"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout)


def pack(folder: Path) -> None:
    (folder / "uses_pack").mkdir()
    (folder / "uses_pack" / "__init__.py").write_text(ROW)
    (folder / "uses_pack" / "patch_engine.py").write_text(
        BODY.format(*MOVED.split(":"))
    )


def test_check_is_green_up_to_the_last_release_that_has_what_a_body_imports(
    tmp_path: Path,
) -> None:
    """The body loads on 0.28.0; on 0.29.0 and 0.33.0 it cannot, and the finding says why."""
    pack(tmp_path)
    words = ("check", "uses-a-name", "--patches", "uses_pack", "--releases")
    code, told = answer(tmp_path, *words, "vllm==0.28.0")
    assert (code, told["summary"]["errors"]) == (0, 0)
    code, told = answer(tmp_path, *words, "vllm>=0.28,<0.34")
    assert code == 1
    states: dict[str, str] = told["grid"]["uses-a-name"]
    assert states.pop("vllm 0.28.0") == "ok"
    assert set(states.values()) == {"broken"}
    findings = [one for one in told["findings"] if one["code"] == "PK601"]
    assert {one["release"] for one in findings} == states.keys()
    assert all(
        "vllm.entrypoints.generate.base.protocol" in one["message"] for one in findings
    )


def test_fit_says_the_same_of_a_package_that_knows_nothing_of_patchkit(
    tmp_path: Path,
) -> None:
    """The folder of the pack, read as any other package, fits 0.28.0 alone."""
    pack(tmp_path)
    code, told = answer(tmp_path, "fit", "uses_pack", "--releases", "vllm>=0.28,<0.30")
    assert (code, told["first"], told["last"]) == (1, "vllm 0.28.0", "vllm 0.28.0")
