"""What vLLM serves by `__getattr__`, and what pydantic has built of its configs, follow a patch.

Takes about 50 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
PACK = """
from patchkit import AddField, Patch, Replace, Role
PATCHES = (
    Patch(
        name="served", body="patch_all", requires=("vllm",), roles={Role.MAIN},
        changes=(Replace("vllm:SamplingParams", by="SamplingParams"),),
    ),
    Patch(
        name="field", body="patch_all", requires=("vllm",), roles={Role.MAIN},
        changes=(AddField("vllm.config:VllmConfig", "added", "int", default=7),),
    ),
)
"""
BODY = """
from vllm.sampling_params import SamplingParams as Original
class SamplingParams(Original): ...
"""
THIRD = "from vllm import SamplingParams\nLIMITS = {'params': SamplingParams}"
HEAD = """
import json
def adapted():
    from vllm.entrypoints.serve.dev.server_info import api_router
    names = api_router.PydanticVllmConfig.core_schema
    return "'added'" in repr(names)
"""
LATE = f"""{HEAD}
from vllm import SamplingParams
import third, vllm, vllm.sampling_params
assert not adapted()
import patchkit.auto
print(json.dumps([SamplingParams is vllm.SamplingParams, third.SamplingParams is SamplingParams,
                  vllm.sampling_params.SamplingParams is SamplingParams, adapted()]))
"""
EARLY = f"""{HEAD}
import patchkit.auto
from vllm import SamplingParams
import vllm.sampling_params
print(json.dumps([vllm.sampling_params.SamplingParams is SamplingParams, adapted()]))
"""


def _run(folder: Path, program: str) -> tuple[Any, dict[str, list[str]]]:
    """Run a script beside a pack; return what it prints, and what each patch has not reached."""
    (folder / "served_pack").mkdir()
    (folder / "served_pack" / "__init__.py").write_text(PACK)
    (folder / "served_pack" / "patch_all.py").write_text(BODY)
    (folder / "third.py").write_text(THIRD)
    (folder / "script.py").write_text(program)
    variables = {
        "PYTHONPATH": os.pathsep.join([str(folder), str(REPOSITORY)]),
        "PATCHKIT_PATCHES": "served_pack",
        "PATCHKIT_JOURNAL": str(folder / "journal"),
        "VLLM_PLUGINS": "",
    }
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = [
        line
        for file in (folder / "journal").iterdir()
        for line in file.read_text().splitlines()
    ]
    left = {
        entry["name"]: entry["out_of_reach"]
        for entry in map(json.loads, lines)
        if "out_of_reach" in entry
    }
    return json.loads(done.stdout.splitlines()[-1]), left


def test_a_patch_that_comes_late(tmp_path: Path) -> None:
    """A script's copy of the served class follows, another package's is named; an adapter too."""
    answer, left = _run(tmp_path, LATE)
    assert answer == [True, False, False, True]
    assert "third:SamplingParams (out of scope)" in left["served"]


def test_a_patch_that_comes_with_the_import(tmp_path: Path) -> None:
    """The module's own adapter of the config has the added field."""
    answer, _ = _run(tmp_path, EARLY)
    assert answer == [False, True]
