"""A real engine whose patches concern objects that half of vLLM shares.

What other modules hold is read in the engine core, by a patch of its own, and from the journals.

Takes about 40 s.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from patchkit_lab import scenario

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from pathlib import Path

QUANT = "vllm.model_executor.layers.quantization.utils.quant_utils"
ROWS = f"""
from patchkit import Patch, Replace, Role, Wrap

PATCHES = (
    Patch(
        name="no-records", body="patch_all", requires=("vllm",), roles={{Role.MAIN}},
        changes=(Replace("vllm.v1.utils:record_function_or_nullcontext", by="nullcontext"),),
    ),
    Patch(
        name="one-constant", body="patch_all", requires=("vllm",), roles=set(Role),
        changes=(Replace("{QUANT}:MXFP_SCALE_DTYPE", by="int16"),),
    ),
    Patch(
        name="registered", body="patch_activation", requires=("vllm",), roles={{Role.WORKER}},
        changes=(
            Replace("vllm.model_executor.layers.activation:SiluAndMul", by="SiluAndMul"),
        ),
    ),
    Patch(
        name="witness", body="patch_witness", requires=("vllm",), roles={{Role.ENGINE_CORE}},
        changes=(Wrap("vllm.v1.core.sched.scheduler:Scheduler.schedule", by="schedule"),),
    ),
)
"""
BODIES = {
    "patch_all": "from contextlib import nullcontext\nfrom torch import int16\n",
    "patch_activation": """
from vllm.model_executor.layers import activation

class SiluAndMul(activation.SiluAndMul): ...
""",
    "patch_witness": f"""
import contextlib, json, os, sys
from pathlib import Path

import torch


def schedule(wrapped, instance, args, kwargs):
    file = Path(os.environ["WITNESS"])
    if not file.exists():
        file.write_text(json.dumps(look()))
    return wrapped(*args, **kwargs)


def look():
    modules = {{
        name: vars(module) for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "vllm"
    }}
    named = lambda key: {{name: held[key] for name, held in modules.items() if key in held}}
    return {{
        "pid": os.getpid(),
        "contexts": len(named("nullcontext")),
        "changed": [
            name for name, value in named("nullcontext").items()
            if value is not contextlib.nullcontext
        ],
        "records": sorted(
            {{value.__name__ for value in named("record_function_or_nullcontext").values()}}
        ),
        "int16": [
            f"{{name}}:{{key}}" for name, held in modules.items() for key, value in held.items()
            if value is torch.int16
        ],
        "fp4": str(modules["{QUANT}"]["FP4_DTYPE"]),
    }}
""",
}


@dataclass(frozen=True)
class Run:
    """An engine that generated.

    Args:
        tokens: what it said.
        core: what the engine core's own patch has seen there.
        out_of_reach: of the patch `registered`, by all processes.
    """

    tokens: list[int]
    core: dict[str, Any]
    out_of_reach: list[str]


@pytest.fixture(
    scope="module", params=[pytest.param("fork", marks=pytest.mark.every_cell), "spawn"]
)
def run(
    request: pytest.FixtureRequest, python: Path, model: Path, tmp_path_factory: Any
) -> Run:
    """An engine core of its own, forked or spawned."""
    directory: Path = tmp_path_factory.mktemp(request.param)
    pack = directory / "sharing_patches"
    pack.mkdir()
    for name, text in {"__init__": ROWS, **BODIES}.items():
        (pack / f"{name}.py").write_text(text)
    env = {
        **scenario.VLLM,
        "VLLM_PLUGINS": "",
        "VLLM_CACHE_ROOT": str(directory / "cache"),
        "VLLM_WORKER_MULTIPROC_METHOD": request.param,
        "PYTHONPATH": str(directory),
        "PATCHKIT_PATCHES": "sharing_patches",
        "PATCHKIT_JOURNAL": str(directory / "journal"),
        "WITNESS": str(directory / "witness"),
    }
    arguments = ("--executor", "uni", "--patchkit")
    outcome = scenario.generate(python, model, directory / "log", *arguments, env=env)
    assert (directory / "witness").exists(), outcome.tail()
    processes = read_directory(directory / "journal")
    found = [
        one.patches["registered"] for one in processes if "registered" in one.patches
    ]
    return Run(
        scenario.report(outcome).tokens,
        json.loads((directory / "witness").read_text()),
        [words for patch in found for words in patch.out_of_reach],
    )


def test_the_standard_librarys_own_object_stays_everybodys(run: Run) -> None:
    """What the main process alone replaces by `nullcontext` is the original in the engine core."""
    assert run.core["contexts"] >= 8
    assert run.core["changed"] == []
    assert run.core["records"] == ["record_function_or_nullcontext"]


def test_one_constant_of_many_that_are_one_object(run: Run) -> None:
    """Its neighbours of the same type stay what they are."""
    names = {place.partition(":")[2] for place in run.core["int16"]}
    assert f"{QUANT}:MXFP_SCALE_DTYPE" in run.core["int16"]
    assert names == {"MXFP_SCALE_DTYPE"}
    assert run.core["fp4"] == "torch.uint8"


def test_what_a_decorator_has_registered_is_out_of_reach(run: Run) -> None:
    """The table of operators has the original class, and the journal says so."""
    assert (
        "vllm.model_executor.custom_op:op_registry['silu_and_mul']" in run.out_of_reach
    )


def test_it_generates_as_ever(run: Run, baseline: list[int]) -> None:
    """None of these patches changes a token."""
    assert run.tokens == baseline
