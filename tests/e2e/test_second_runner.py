"""Model Runner V2 runs: a patch of the first runner applies, and says that it was never called.

vLLM 0.32.0 refuses its second runner where Triton has no back end for CPUs, which no build on the
index has. Triton's own interpreter serves: a row of the pack has vLLM believe that it is one. It
needs a torch that comes with Triton, as in the environment `vllm-0.32.0-python-3.12`.

Only in `make effects`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from patchkit_lab import processes, scenario

from patchkit.analysis.status import read_directory
from patchkit.analysis.status.process_status import CALLED, NEVER_CALLED

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.triton

FIRST = "vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model"
SECOND = "vllm.v1.worker.gpu.model_runner:GPUModelRunner.execute_model"

ROWS = f"""
from patchkit import Patch, Replace, Role, Wrap

def runner(name, target):
    return Patch(
        name=name, body="patch_runner", requires=("vllm",), roles={{Role.WORKER}},
        changes=(Wrap(target, by="execute_model"),),
    )

PATCHES = (
    Patch(
        name="interpreted-triton", body="patch_triton", requires=("vllm",), roles=set(Role),
        changes=(Replace("vllm.triton_utils.importing:HAS_TRITON", by="HAS_TRITON"),),
    ),
    runner("runner-method", "{FIRST}"),
    runner("second-runner-method", "{SECOND}"),
)
"""
BODY = """
def execute_model(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)
"""


def test_a_patch_of_the_runner_that_does_not_run(
    python: Path, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """Both are applied in the worker; one is called; the tokens are those of the first runner."""
    pack = tmp_path / "runner_patches"
    pack.mkdir()
    (pack / "__init__.py").write_text(ROWS)
    (pack / "patch_runner.py").write_text(BODY)
    (pack / "patch_triton.py").write_text("HAS_TRITON = True\n")
    env = {
        **scenario.VLLM,
        "VLLM_PLUGINS": "",
        "VLLM_USE_V2_MODEL_RUNNER": "1",
        "TRITON_INTERPRET": "1",
        "PYTHONPATH": str(tmp_path),
        "PATCHKIT_PATCHES": "runner_patches",
        "PATCHKIT_JOURNAL": str(tmp_path / "journal"),
    }
    log = tmp_path / "log"
    outcome = scenario.generate(
        python, model, log, "--patchkit", "--executor", "mp", env=env
    )
    assert scenario.report(outcome).tokens == baseline
    assert "Using V2 Model Runner" in log.read_text()
    words = {
        patch.name: patch.calls
        for process in read_directory(tmp_path / "journal")
        for patch in process.patches.values()
        if patch.status == "applied" and patch.name.endswith("runner-method")
    }
    assert words == {
        "runner-method": {FIRST: NEVER_CALLED},
        "second-runner-method": {SECOND: CALLED},
    }
    command = [str(python), "-m", "patchkit", "status", "--unused"]
    shown = processes.run(command, processes.environment(env), 200, tmp_path / "unused")
    assert "runner-method" in (tmp_path / "unused").read_text(), shown.tail()
    assert "second-runner-method" not in (tmp_path / "unused").read_text()
