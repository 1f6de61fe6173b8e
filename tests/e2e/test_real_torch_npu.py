"""The flagship with the real torch_npu, whose CANN libraries are stubs made here.

Takes about 70 s.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import actors
import environments
import pytest
import sources
import stub_cann
from patchkit_lab import processes

ROUND_TRIP = (
    "import pickle, torch; print(pickle.loads(pickle.dumps(torch.device('npu'))))"
)
PROC = "vllm.v1.executor.ray_executor_v2:RayWorkerProc"
V0_WRAPPER = "vllm.executor.ray_utils:RayWorkerWrapper"
WRAPPER = "vllm.v1.executor.ray_utils:RayWorkerWrapper"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings under which torch_npu is there, and nothing imports it by itself."""
    stubs = tmp_path_factory.mktemp("cann")
    unpacked = sources.wheel("torch_npu==2.13.0", "3.11")
    torch = importlib.util.find_spec("torch")
    assert torch is not None
    assert torch.origin is not None
    assert stub_cann.build(unpacked / "torch_npu", Path(torch.origin).parent, stubs)
    return {
        "PYTHONPATH": str(unpacked),
        "LD_LIBRARY_PATH": str(stubs),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }


def test_the_real_backend_makes_the_device_travel(
    machine: dict[str, str], python: Path, tmp_path: Path
) -> None:
    """On the stubs torch_npu is imported, and its device pickled and unpickled."""
    command = [str(python), "-c", f"import torch_npu; {ROUND_TRIP}"]
    outcome = processes.run(
        command, processes.environment(machine), 600, tmp_path / "log"
    )
    assert outcome.status == 0, outcome.tail()
    assert outcome.output.split()[-1] == "npu"


@pytest.mark.every_cell
def test_a_real_actor_accepts_the_device_only_with_patchkit(
    machine: dict[str, str], tmp_path: Path
) -> None:
    """In vLLM 0.7.3, whose transformers leaves torch_npu alone: the seed's error and its cure."""
    settings = {
        **machine,
        "PYTHONPATH": f"{machine['PYTHONPATH']}:{sources.old_vllm('0.7.3')}",
    }
    case = actors.ActorCase(V0_WRAPPER, "creation", "torch_npu", settings)
    python = environments.ensure("imports-early")
    actors.assert_cured(actors.run_both(python, case, tmp_path))


@pytest.mark.parametrize(
    ("target", "place"),
    [(PROC, "creation"), pytest.param(WRAPPER, "method", marks=pytest.mark.every_cell)],
)
def test_the_actors_of_a_recent_vllm_accept_the_device(
    target: str, place: str, machine: dict[str, str], python: Path, tmp_path: Path
) -> None:
    """In vLLM 0.32.0 the patched class receives the device.

    Its transformers imports torch_npu wherever that is installed, so without patchkit nothing
    fails here; `test_flagship.py` has the failure with a backend that transformers does not know.
    """
    case = actors.ActorCase(target, place, "torch_npu", machine)
    pair = actors.run_both(python, case, tmp_path)
    assert pair.without.status == 0, pair.without.tail()
    actors.assert_received(pair)
