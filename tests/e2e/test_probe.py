"""`patchkit probe` on a real vLLM 0.32.0, against a count that knows nothing of patchkit.

The functions of the targets get a line of source that appends a byte to a file; sizes of files are
compared with every cell of the probe's answer.

Takes about 3 min.
"""

from __future__ import annotations

import json
import os
import select
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patchkit_lab import cluster, processes, scenario, served

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COUNTED = Path(__file__).parent / "counted"

MAIN = (
    "vllm.entrypoints.llm:LLM.generate",
    "vllm.v1.engine.llm_engine:LLMEngine.step",
    "vllm.v1.engine.output_processor:OutputProcessor.process_outputs",
)
CORE = (
    "vllm.v1.core.sched.scheduler:Scheduler.schedule",
    "vllm.v1.engine.core:EngineCore.step",
    "vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots",
)
WORKER = (
    "vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model",
    "vllm.v1.worker.gpu_worker:Worker.execute_model",
    "vllm.model_executor.models.llama:LlamaModel.forward",
)
TWO_ROLES = "vllm.v1.serial_utils:MsgpackDecoder.decode"
ONLY_IMPORTED = "vllm.v1.core.sched.scheduler:Scheduler.reset_prefix_cache"
INLINED = "vllm.model_executor.models.llama:LlamaMLP.forward"
NEVER_IMPORTED = "vllm.v1.executor.ray_executor:RayDistributedExecutor.execute_model"
TARGETS = (*MAIN, *CORE, *WORKER, TWO_ROLES, ONLY_IMPORTED, NEVER_IMPORTED)

Cell = tuple[str, int, bool, int]
"""A target, a process, whether it imported the module, and how often it called the target."""


@dataclass(frozen=True)
class Probed:
    """What a probe of a generating engine has left.

    Args:
        answer: its JSON.
        said: what the engine printed.
        counted: the folder with the files of the other count.
        environ: the environment, for what comes after.
    """

    answer: dict[str, Any]
    said: dict[str, Any]
    counted: Path
    environ: Mapping[str, str]

    def cells(self) -> set[Cell]:
        """Every cell of the answer."""
        return {
            (target["target"], seen["pid"], seen["imported"], seen["calls"])
            for target in self.answer["targets"]
            for seen in target["processes"]
        }

    def cells_counted(self) -> set[Cell]:
        """The same cells by the sizes of files."""
        return {
            (target, process["pid"], *self._counted(target, process["pid"]))
            for target in TARGETS
            for process in self.answer["processes"]
        }

    def _counted(self, target: str, pid: int) -> tuple[bool, int]:
        module = target.partition(":")[0]
        is_imported = (self.counted / f"imported-{module}-{pid}").exists()
        calls = self.counted / f"{target}-{pid}"
        return is_imported, calls.stat().st_size if calls.exists() else 0

    def roles(self) -> dict[str, list[str]]:
        """The roles that a row needs, by target."""
        return {target["target"]: target["roles"] for target in self.answer["targets"]}


@pytest.fixture(
    scope="module", params=[pytest.param("fork", marks=pytest.mark.every_cell), "spawn"]
)
def probed(
    request: pytest.FixtureRequest,
    python: Path,
    model: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Probed:
    """An engine with two workers in processes of their own, under the probe."""
    place = tmp_path_factory.mktemp(f"probe-{request.param}")
    counted = place / "counted"
    counted.mkdir()
    asked = json.dumps({"folder": str(counted), "functions": TARGETS})
    settings = {
        "VLLM_WORKER_MULTIPROC_METHOD": request.param,
        "TMPDIR": str(place),
        "VLLM_CACHE_ROOT": str(place / "cache"),
    }
    counting = {"PYTHONPATH": str(COUNTED), "COUNTED": asked}
    environ = processes.environment(
        scenario.MACHINE, scenario.BACKEND, settings, counting
    )
    generate = [str(python), str(scenario.HERE / "generate.py"), str(model)]
    generate += ["--executor", "mp", "--tensor-parallel", "2"]
    command = [str(python), "-m", "patchkit", "probe", *TARGETS, "--format", "json"]
    outcome = processes.run([*command, "--", *generate], environ, 600, place / "log")
    assert outcome.status == 0, outcome.tail()
    said = outcome.said("tokens")
    answer = json.loads(next(place.glob("patchkit-*/*/probe.json")).read_text())
    assert said, outcome.tail()
    plain = processes.environment(scenario.MACHINE, scenario.BACKEND, settings)
    return Probed(answer, said, counted, plain)


def test_every_cell_is_right(probed: Probed) -> None:
    """Imports and calls agree with the other count, in each process."""
    cells = probed.cells()
    assert len(cells) == len(TARGETS) * len(probed.answer["processes"])
    assert cells == probed.cells_counted()


def test_roles_are_those_of_who_called(probed: Probed) -> None:
    """Three targets of each role, one of two, one that is only imported, one that is not."""
    roles = probed.roles()
    assert [roles[target] for target in MAIN] == [["main"]] * 3
    assert [roles[target] for target in CORE] == [["engine-core"]] * 3
    assert [roles[target] for target in WORKER] == [["worker"]] * 3
    assert roles[TWO_ROLES] == ["main", "engine-core"]
    assert "engine-core" in roles[ONLY_IMPORTED]
    assert roles[NEVER_IMPORTED] == []


def test_the_engine_computes_the_same(probed: Probed, baseline: list[int]) -> None:
    """The tokens are those of a plain engine."""
    assert probed.said["tokens"] == baseline


def test_first_calls_come_from_vllm(probed: Probed) -> None:
    """Each has a file, a line and a name, none of them patchkit's."""
    firsts = [
        seen["first"]
        for target in probed.answer["targets"]
        for seen in target["processes"]
        if seen["calls"]
    ]
    assert len(firsts) >= 11
    for first in firsts:
        lines = Path(first["file"]).read_text().splitlines()
        assert 0 < first["line"] <= len(lines)
        assert "patchkit/patchkit" not in first["file"]
        assert first["at"]


def test_a_row_from_the_answer_acts(
    probed: Probed, python: Path, model: Path, tmp_path: Path
) -> None:
    """`new` takes the roles of the last probe, and the row is in effect in an engine."""
    for number, target in enumerate((MAIN[2], CORE[0], WORKER[0], TWO_ROLES)):
        words = ["new", f"row-{number}", "--target", target, "--pack", "my_pack"]
        made = processes.run(
            [str(python), "-m", "patchkit", *words],
            {**probed.environ, "PYTHONPATH": str(tmp_path)},
            100,
            tmp_path / f"new-{number}.log",
            folder=tmp_path,
        )
        assert made.status == 0, made.tail()
        assert "the targets ran there in the probe of" in made.output
    journal = tmp_path / "journal"
    command = [str(python), "-m", "patchkit", "run", "--patches", "my_pack", "--"]
    generate = [str(python), str(scenario.HERE / "generate.py"), str(model)]
    outcome = processes.run(
        [*command, *generate, "--executor", "mp", "--tensor-parallel", "2"],
        {
            **probed.environ,
            "PYTHONPATH": str(tmp_path),
            "PATCHKIT_JOURNAL": str(journal),
        },
        600,
        tmp_path / "log",
    )
    assert outcome.status == 0, outcome.tail()
    in_effect: dict[str, set[str]] = {}
    for process in read_directory(journal):
        for patch in process.patches.values():
            if patch.name.startswith("row-") and patch.in_effect == "yes":
                in_effect.setdefault(patch.name, set()).update(process.roles)
    assert in_effect == {
        "row-0": {"main"},
        "row-1": {"engine-core"},
        "row-2": {"worker"},
        "row-3": {"main", "engine-core"},
    }


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for temporary files, whose path leaves room for the names of vLLM's sockets."""
    with tempfile.TemporaryDirectory(prefix="probe-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.every_cell
def test_what_is_compiled_is_traced(
    python: Path, model: Path, baseline: list[int], place: Path
) -> None:
    """torch.compile takes the whole graph as it does without a probe, and says what it inlined."""
    environ = processes.environment(
        scenario.CPU,
        {"TMPDIR": str(place), "VLLM_CACHE_ROOT": str(place / "cache")},
    )
    generate = [str(python), str(scenario.HERE / "generate.py"), str(model)]
    command = [str(python), "-m", "patchkit", "probe", INLINED, WORKER[0], "--"]
    outcome = processes.run(
        [*command, *generate, "--compile"], environ, 600, place / "log"
    )
    assert outcome.status == 0, outcome.tail()
    said = outcome.said("tokens")
    assert said, outcome.tail()
    assert said["tokens"] == baseline
    answer = json.loads(next(place.glob("patchkit-*/*/probe.json")).read_text())
    inlined, executed = answer["targets"]
    assert [inlined["roles"], executed["roles"]] == [["worker"]] * 2
    assert executed["evidence"] == "called"
    assert [seen["roles"] for seen in inlined["processes"] if seen["traced"]] == [
        ["worker"]
    ]


@pytest.mark.every_cell
def test_workers_of_ray_are_probed(
    python: Path, model: Path, ray: cluster.Cluster, place: Path
) -> None:
    """Their actor's class brings the probe along, to a cluster that was there before."""
    environ = processes.environment(
        scenario.MACHINE,
        scenario.BACKEND,
        ray.environment,
        {"TMPDIR": str(place)},
    )
    generate = [str(python), str(scenario.HERE / "generate.py"), str(model)]
    command = [str(python), "-m", "patchkit", "probe", *TARGETS, "--"]
    outcome = processes.run(
        [*command, *generate, *scenario.RAY], environ, 600, place / "log"
    )
    assert outcome.status == 0, outcome.tail()
    answer = json.loads(next(place.glob("patchkit-*/*/probe.json")).read_text())
    targets = {target["target"]: target for target in answer["targets"]}
    for role, named in (("main", MAIN), ("engine-core", CORE), ("worker", WORKER)):
        assert [targets[target]["roles"] for target in named] == [[role]] * 3
    called = [
        seen["calls"] for seen in targets[WORKER[0]]["processes"] if seen["calls"]
    ]
    assert len(called) == 2


def test_requests_to_a_server(python: Path, model: Path, place: Path) -> None:
    """`vllm serve` without `--` is started, asked twice, and ended."""
    served.describe(place, "0.32.0+cpu")
    schedule = CORE[0]
    serve = served.command_line(python, model, "--port", str(cluster.free_ports(1)[0]))
    environ = processes.environment(
        scenario.CPU, {"PYTHONPATH": str(place), "TMPDIR": str(place)}
    )
    command = [str(python), "-m", "patchkit", "probe", schedule, *serve]
    outcome = processes.run([*command, "--requests", "2"], environ, 600, place / "log")
    assert outcome.status == 0, outcome.tail()
    assert "roles: engine-core" in outcome.output
    answer = json.loads(next(place.glob("patchkit-*/*/probe.json")).read_text())
    (target,) = answer["targets"]
    (calls,) = [seen["calls"] for seen in target["processes"] if seen["calls"]]
    assert calls >= 2 * 8
    for process in answer["processes"]:
        assert has_ended(process["pid"]), process


def has_ended(pid: int) -> bool:
    """Wait for the end of a process, which may come after that of its parent."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        ended, _, _ = select.select([descriptor], [], [], 60)
    finally:
        os.close(descriptor)
    return bool(ended)
