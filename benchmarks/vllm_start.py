"""What 60 armed rows add to the start of a process that imports a real vLLM, and apply there."""

from __future__ import annotations

import ast
import functools
import os
import sys
from importlib.machinery import PathFinder
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Case, Samples, cpu_of_child, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder, has_module
from patchkit.settings import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NONE = "import vLLM's engine"
ARMED = "the same with 60 rows"
_ENGINE = (
    "import vllm.entrypoints.llm, vllm.v1.engine.core, vllm.v1.worker.gpu_model_runner"
)
ROWS = 60
_ROOT = Path(__file__).resolve().parents[1]
_LIMIT = 1.01

_PACK = """
from patchkit import Patch, Role, Wrap
PATCHES = tuple(
    Patch(
        name=f"row-{{number}}", body="patch_all", requires=("vllm>=0.7",), roles=set(Role),
        required=False, changes=(Wrap(target, by="by"),),
    )
    for number, target in enumerate({targets!r})
)
"""
_BODY = (
    "def by(wrapped, instance, args, kwargs):\n    return wrapped(*args, **kwargs)\n"
)


def run(rounds: int = 8) -> Result:
    """Start processes in turns, with patchkit and without."""
    if not has_module("vllm"):
        return _result(rounds, None)
    with folder() as place:
        write_pack(place, islice(engine_methods(), ROWS))
        # The processes' byte code is written once, before any is measured.
        cases = _cases(place)
        for case in cases.values():
            case()
        return _result(rounds, in_turns(cases, rounds))


def _result(rounds: int, samples: Samples | None) -> Result:
    lines = lines_of(samples, [NONE], 1.0) if samples else []
    aims = (
        [
            Aim(
                "60 rows add at most a hundredth",
                samples.ratio(ARMED, NONE).median,
                _LIMIT,
            )
        ]
        if samples
        else []
    )
    return Result(
        name="vllm-start",
        title="Start of a vLLM process: CPU time of importing an engine's modules",
        unit="s",
        rounds=rounds,
        against=[NONE],
        lines=lines,
        aims=aims,
        notes=[] if samples else ["vLLM is not installed here: nothing to measure"],
    )


def _cases(place: Path) -> dict[str, Case]:
    return {
        NONE: _start(_ENGINE, place),
        ARMED: _start(
            f"import patchkit.auto; {_ENGINE}", place, {"PATCHKIT_PATCHES": "sixty"}
        ),
    }


def _start(code: str, place: Path, more: Mapping[str, str] | None = None) -> Case:
    away = {*VARIABLES, "PYTHONDONTWRITEBYTECODE"}
    kept = {name: text for name, text in os.environ.items() if name not in away}
    path = os.pathsep.join([str(place), str(_ROOT)])
    own = {"PYTHONPATH": path, "VLLM_PLUGINS": "", "VLLM_LOGGING_LEVEL": "ERROR"}
    command = [sys.executable, "-c", code]
    return functools.partial(cpu_of_child, command, {**kept, **own, **(more or {})})


def write_pack(place: Path, targets: Iterable[str]) -> None:
    """Write the pack `sixty`, which has a row for each target."""
    pack = place / "sixty"
    pack.mkdir()
    (pack / "__init__.py").write_text(_PACK.format(targets=list(targets)))
    (pack / "patch_all.py").write_text(_BODY)


def engine_methods() -> Iterator[str]:
    """One method of a class in each of the engine's own modules."""
    spec = PathFinder.find_spec("vllm")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    for file in sorted(
        (
            *root.glob("v1/core/**/*.py"),
            *root.glob("v1/engine/*.py"),
            *root.glob("v1/worker/*.py"),
            *root.glob("config/*.py"),
        )
    ):
        module = ".".join(file.relative_to(root.parent).with_suffix("").parts)
        yield from islice((f"{module}:{name}" for name in _methods(file)), 1)


def _methods(file: Path) -> Iterator[str]:
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef):
            yield from (
                f"{node.name}.{inner.name}"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef) and not inner.decorator_list
            )
