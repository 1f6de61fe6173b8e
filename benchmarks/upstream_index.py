"""Wall time and bytes of asking every release of vLLM on the user's own index."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.traffic import MeteredLibrary
from benchmarks.upstream_targets import TARGETS, write_pack
from patchkit.analysis.check import codes
from patchkit.analysis.check.checking import Check
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.collection import no_collection
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.parallel import for_each
from patchkit.analysis.upstream.reading.releases import Library, find_releases
from patchkit.core.lock.format import Lock
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from collections.abc import Callable

_SPEC = "vllm>=0.1"
_PACK = "sample_targets"
_ALL_COLD = "all releases, nothing kept"
_ALL_WARM = "all releases, a new process, all kept"
_NEXT_COLD = "the newest release, all others kept"
_ONE_COLD = "the newest release alone, nothing kept"
_FILES = "fetching files only, all releases, nothing kept"

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
class Counts:
    """What a run did.

    Args:
        releases: that were looked at.
        moved: bytes that came over the network.
        missing: pairs of a target and a release that lacks it.
        answered: of those, how many say what became of it.
    """

    releases: int = 0
    moved: int = 0
    missing: int = 0
    answered: int = 0


def run(rounds: int = 3) -> Result:
    """Check 60 rows against every release on the index; each case a new process."""
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        place = Path(name)
        write_pack(place, _PACK)
        all_cold = _Case(place, _SPEC)
        counts = all_cold.filled("kept")
        older = _Case(place, f"{_SPEC},<{_newest(place / 'kept')}")
        older.filled("older")
        one = _Case(place, f"vllm=={_newest(place / 'kept')}")
        cases: dict[str, Callable[[], float]] = {
            _ALL_COLD: all_cold.cold,
            _ALL_WARM: functools.partial(all_cold.on, "kept"),
            _NEXT_COLD: functools.partial(all_cold.on_copy, "older"),
            _ONE_COLD: one.cold,
            _FILES: functools.partial(_files_cold, place),
        }
        samples = in_turns(cases, rounds)
    found = {case: samples.spread(case).median for case in cases}
    return Result(
        name="index",
        title=f"{len(TARGETS)} targets on {counts.releases} releases of vLLM: wall time",
        unit="s",
        rounds=rounds,
        lines=lines_of(samples, [], 1.0),
        aims=[
            Aim("all releases, nothing kept: seconds", found[_ALL_COLD], 15.0),
            Aim("all releases, nothing kept: MB moved", counts.moved / 1e6, 100.0),
            Aim(
                "all releases, all kept: seconds with Python's start",
                found[_ALL_WARM],
                0.8,
            ),
            Aim("a new release, all others kept: seconds", found[_NEXT_COLD], 3.0),
        ],
        notes=[
            f"{counts.missing:,} times a target is missing, {counts.answered:,} of them with an "
            "answer what became of it, searches included in all figures",
            f"fetching files only: {len(PATHS)} paths of each release, for comparison",
            "over the network, from the index that pip is set to",
        ],
    )


@dataclass(frozen=True)
class _Case:
    """A check of the sample rows.

    Args:
        place: the folder with the pack, and the caches.
        spec: which releases.
    """

    place: Path
    spec: str

    def cold(self) -> float:
        """Check with a new cache, and return the seconds."""
        with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
            return _timed(lambda: self._checked(Path(name)))

    def on(self, cache: str) -> float:
        """Check with a cache that is there, and return the seconds."""
        return _timed(lambda: self._checked(self.place / cache))

    def on_copy(self, cache: str) -> float:
        """Check with a copy of a cache, so that the next round finds the same."""
        with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
            shutil.copytree(self.place / cache, name, dirs_exist_ok=True)
            return _timed(lambda: self._checked(Path(name)))

    def filled(self, cache: str) -> Counts:
        """Check with a new cache that stays."""
        return self._checked(self.place / cache)

    def _checked(self, cache: Path) -> Counts:
        return Counts(
            **json.loads(_child("check", str(self.place), str(cache), self.spec))
        )


def check(place: Path, cache: Path, spec: str) -> Counts:
    """Check the sample rows, in this process."""
    sys.path.insert(0, str(place))
    rows = read_pack(_PACK)
    library = MeteredLibrary(cache=Cache(cache))
    with no_collection(), library:  # as commands do
        subjects = on_index(spec, library)
        versions = {"vllm": [one.version for one in subjects]}
        report = Check(rows, subjects, Lock(), versions).run()
        missing = [one for one in report.findings if one.code is codes.TARGET_MISSING]
        answered = sum(";" in one.message for one in missing)
        return Counts(len(subjects), library.web.moved, len(missing), answered)


def fetch(cache: Path) -> None:
    """Fetch the files that patches of vLLM touch from every release."""
    with Library(cache=Cache(cache)) as library:
        for_each(find_releases(_SPEC, library), lambda one: one.source.prefetch(PATHS))


def _newest(cache: Path) -> str:
    with Library(cache=Cache(cache)) as library:
        return find_releases(_SPEC, library)[-1].version


def _files_cold(place: Path) -> float:
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-", dir=place) as name:
        return _timed(lambda: _child("fetch", name))


def _child(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.upstream_index", *arguments]
    root = Path(__file__).parents[1]
    return subprocess.run(
        command, check=True, cwd=root, stdout=subprocess.PIPE, text=True
    ).stdout


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    if sys.argv[1] == "fetch":
        fetch(Path(sys.argv[2]))
    else:
        print(
            json.dumps(asdict(check(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])))
        )
