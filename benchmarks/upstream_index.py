"""Wall time and bytes of reading every release of vLLM from the user's own index."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import in_turns
from benchmarks.results import Aim, Result, lines_of
from patchkit.upstream.cache import Cache
from patchkit.upstream.releases import Library, find_releases, prefetch

if TYPE_CHECKING:
    from collections.abc import Callable

_SPEC = "vllm>=0.1"
_NEWEST = "vllm"
_ALL_COLD = "all releases, nothing kept"
_ALL_WARM = "all releases, a new process, all kept"
_ONE_COLD = "the newest release, nothing kept"

# Files that patches of vLLM touch, of every age: a release has those of its time.
_NAMES = """
    __init__ config config/__init__ config/vllm config/parallel config/compilation config/cache
    config/scheduler config/model engine/arg_utils engine/llm_engine engine/async_llm_engine
    entrypoints/llm entrypoints/openai/api_server entrypoints/cli/serve env_override envs
    executor/ray_utils executor/ray_distributed_executor executor/multiproc_worker_utils
    distributed/parallel_state distributed/utils
    distributed/device_communicators/base_device_communicator
    forward_context model_executor/custom_op model_executor/layers/activation
    model_executor/layers/fused_moe/layer model_executor/layers/layernorm
    model_executor/layers/linear model_executor/layers/rotary_embedding
    model_executor/layers/rotary_embedding/base model_executor/layers/sampler
    model_executor/layers/vocab_parallel_embedding model_executor/model_loader/loader
    model_executor/model_loader/utils model_executor/models/deepseek_v2
    model_executor/models/qwen2 model_executor/models/qwen3_moe model_executor/models/registry
    platforms/__init__ platforms/interface plugins/__init__ utils utils/__init__
    v1/attention/backends/utils v1/core/kv_cache_manager v1/core/kv_cache_utils
    v1/core/sched/scheduler v1/engine/core v1/engine/core_client v1/engine/utils
    v1/executor/abstract v1/executor/multiproc_executor v1/executor/ray_executor
    v1/executor/ray_executor_v2 v1/executor/ray_utils v1/sample/rejection_sampler
    v1/worker/gpu_model_runner v1/worker/worker_base worker/worker worker/worker_base
    """
PATHS = tuple(f"vllm/{name}.py" for name in _NAMES.split())


@dataclass
class _Counts:
    releases: int = 0
    files: int = 0
    moved: int = 0
    failed: int = 0


def run(rounds: int = 3) -> Result:
    """Fetch the files of 60 targets from every release on the index; each case a new process."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        kept = Path(name, "kept")
        counts = read_all(kept, _SPEC)
        cases: dict[str, Callable[[], float]] = {
            _ALL_COLD: functools.partial(_cold, _SPEC),
            _ALL_WARM: functools.partial(_in_child, kept, _SPEC),
            _ONE_COLD: functools.partial(_cold, _NEWEST, "newest"),
        }
        samples = in_turns(cases, rounds)
    found = {case: samples.spread(case).median for case in cases}
    return Result(
        name="index",
        title=f"{counts.releases} releases of vLLM, {len(PATHS)} paths in each: wall time",
        unit="s",
        rounds=rounds,
        lines=lines_of(samples, [], 1.0),
        aims=[
            Aim("all releases, nothing kept: seconds", found[_ALL_COLD], 60.0),
            Aim("all releases, nothing kept: MB moved", counts.moved / 1e6, 100.0),
            Aim("all releases, all kept: seconds with Python's start", found[_ALL_WARM], 2.0),
            Aim("the newest release, nothing kept: seconds", found[_ONE_COLD], 3.0),
        ],
        notes=[
            f"{counts.files:,} files are there, {counts.failed} releases could not be read",
            "over the network, from the index that pip is set to",
        ],
    )


def read_all(place: Path, spec: str, which: str = "all") -> _Counts:
    """Read every file from every release."""
    counts = _Counts()
    with Library(cache=Cache(place)) as library:
        releases = find_releases(spec, library)[-1 if which == "newest" else 0 :]
        errors = prefetch(releases, PATHS)
        for release in releases:
            if release.version not in errors:
                counts.files += sum(release.source.read(path) is not None for path in PATHS)
        counts.releases, counts.failed = len(releases), len(errors)
        counts.moved = library.web.moved
    return counts


def _cold(spec: str, which: str = "all") -> float:
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        return _in_child(Path(name), spec, which)


def _in_child(place: Path, spec: str, which: str = "all") -> float:
    begin = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.upstream_index", str(place), spec, which]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[1])
    return time.perf_counter() - begin


if __name__ == "__main__":
    read_all(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
