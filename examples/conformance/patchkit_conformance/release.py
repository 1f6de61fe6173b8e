"""Which engines and executors the installed vLLM has, read from its files."""

from __future__ import annotations

import functools
from importlib import util
from pathlib import Path

V1 = "ray-v1"
V2 = "ray-v2"
EXECUTORS = {
    V1: (
        "v1/executor/ray_executor.py",
        "v1/executor/ray_distributed_executor.py",
        "executor/ray_distributed_executor.py",
    ),
    V2: ("v1/executor/ray_executor_v2.py",),
}
"""Where releases keep each: V1 is what came before V2, a compiled graph or V0's own."""
BACKEND = "VLLM_USE_RAY_V2_EXECUTOR_BACKEND"
CHOOSE = {V1: {BACKEND: "0"}, V2: {BACKEND: "1"}}
"""What makes a release that has both take one of them."""


@functools.cache
def package() -> Path | None:
    """Where vLLM lies, found without importing it."""
    spec = util.find_spec("vllm")
    return Path(spec.origin).parent if spec and spec.origin else None


def has_v0() -> bool:
    """Whether it has the first engine, whose executor for Ray keeps rank 0 in its own process."""
    place = package()
    return (
        place is not None
        and (place / "executor" / "ray_distributed_executor.py").exists()
    )


def settings() -> dict[str, str]:
    """What keeps a release from binding processes to cores, where it lacks the word for that."""
    return {"VLLM_CPU_OMP_THREADS_BIND": "all|all"} if has_v0() else {}


def has(executor: str) -> bool:
    """Whether the release has an executor for Ray."""
    place = package()
    return place is not None and any(
        (place / name).exists() for name in EXECUTORS[executor]
    )


def default() -> str:
    """The executor that a flagship run takes: the newest."""
    return V2 if has(V2) else V1
