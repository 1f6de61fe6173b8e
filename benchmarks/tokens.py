"""CPU time of a token of a real engine whose hot code is patched: observed, and not."""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Case, Samples, cpu_of, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder, has_module
from benchmarks.vllm_start import write_pack
from patchkit.settings import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

_OBSERVED, _ALONE = "observed", "not observed"
_REQUESTS, _TOKENS, _TIMES = 8, 100, 3
_TARGETS = (
    "vllm.v1.engine.core:EngineCore.step",
    "vllm.v1.core.sched.scheduler:Scheduler.schedule",
    "vllm.v1.core.sched.scheduler:Scheduler.update_from_output",
    "vllm.v1.engine.output_processor:OutputProcessor.process_outputs",
    "vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model",
    "vllm.v1.sample.sampler:Sampler.forward",
    "vllm.model_executor.models.llama:LlamaMLP.forward",
    "vllm.model_executor.models.llama:LlamaAttention.forward",
)
"""They are called for each token, or in each layer for each token."""
_ROOT = Path(__file__).resolve().parents[1]
_ENGINE = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_PLUGINS": "",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",  # threads that wait for work burn processor time
    "PATCHKIT_PATCHES": "sixty",
}


def run(rounds: int = 8) -> Result:
    """Start engines in turns, with a journal and without: only what is told is observed."""
    if not has_module("vllm"):
        return _result(rounds, None)
    with folder() as place:
        write_pack(place, _TARGETS)
        model = place / "model"
        maker = _ROOT / "examples" / "conformance" / "patchkit_lab" / "make_model.py"
        subprocess.run([sys.executable, str(maker), str(model)], check=True)
        journal = {"PATCHKIT_JOURNAL": str(place / "journal")}
        cases = {
            _OBSERVED: _case(place, model, journal),
            _ALONE: _case(place, model, {}),
        }
        return _result(rounds, in_turns(cases, rounds))


def _case(place: Path, model: Path, more: Mapping[str, str]) -> Case:
    away = {*VARIABLES, "PYTHONDONTWRITEBYTECODE"}
    kept = {name: text for name, text in os.environ.items() if name not in away}
    path = {"PYTHONPATH": os.pathsep.join([str(place), str(_ROOT)])}
    command = [sys.executable, "-m", "benchmarks.tokens", str(model)]
    return functools.partial(
        _told_by_child, command, {**kept, **path, **_ENGINE, **more}
    )


def _told_by_child(command: list[str], environ: Mapping[str, str]) -> float:
    done = subprocess.run(
        command, env=dict(environ), check=False, text=True, capture_output=True
    )
    if done.returncode:
        raise RuntimeError(f"the engine failed: {done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def seconds_per_token(model: str) -> float:
    """Start an engine in this process, let it generate, and take the fastest of some times."""
    importlib.import_module("patchkit.auto")
    vllm = importlib.import_module("vllm")
    engine = vllm.LLM(
        model, enforce_eager=True, max_model_len=128, dtype="float32", seed=0
    )
    sampling = vllm.SamplingParams(temperature=0, max_tokens=_TOKENS, ignore_eos=True)
    prompts = [f"hello world t{number}" for number in range(_REQUESTS)]
    work = functools.partial(engine.generate, prompts, sampling, use_tqdm=False)
    work()
    return min(cpu_of(work) for _ in range(_TIMES)) / (_REQUESTS * _TOKENS)


def _result(rounds: int, samples: Samples | None) -> Result:
    # Engines that are alike differ by a tenth: the spread of the ratios decides, not their median.
    text = "a token costs what it does unobserved, within noise: the lower quartile"
    aims = [Aim(text, samples.ratio(_OBSERVED, _ALONE).low, 1.0)] if samples else []
    return Result(
        name="tokens",
        title=f"An engine with {len(_TARGETS)} wrapped functions: CPU time of a token",
        unit="µs",
        rounds=rounds,
        against=[_ALONE],
        lines=lines_of(samples, [_ALONE], 1e6) if samples else [],
        aims=aims,
        notes=[] if samples else ["vLLM is not installed here: nothing to measure"],
    )


if __name__ == "__main__":
    print(seconds_per_token(sys.argv[1]))
