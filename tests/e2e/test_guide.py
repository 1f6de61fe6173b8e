"""The example packs of docs/project/patch-guide.md, installed as a reader would, on a real engine.

Takes about 75 s.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import folders
import overlay
import pytest
import toolbox
from patchkit_lab import cluster, processes, scenario

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from patchkit.analysis.status import ProcessStatus

GUIDE = folders.REPOSITORY / "examples" / "guide"
PACKS = ("distributed", "platform", "engine_core", "edited_vllm")
DRIVER = Path(__file__).with_name("guide_driver.py")
ROLES = {
    "exchange-between-ranks": {"worker"},
    "smaller-default-batches": {"main", "engine-core"},
    "workers-may-have-children": {"main", "engine-core"},
    "engine-core-cpus": {"engine-core"},
    "log-names-node": {"main", "engine-core", "worker"},
}
NODE = "node7"
CPU = min(os.sched_getaffinity(0))
SETTINGS = {
    **scenario.VLLM,
    "ENGINE_CORE_CPUS": str(CPU),
    "LOG_NODE": NODE,
}
EDITED = "0.1.dev16577+g1a2b3c4d5.cpu"
"""What setuptools-scm calls a build of an edited checkout that has no tags."""


@dataclass(frozen=True)
class Reader:
    """Somebody who copied the examples and installed them; `folder` holds the copies."""

    python: Path
    folder: Path


@dataclass(frozen=True)
class Run:
    """What an engine said of itself, its log, and the journals of its processes."""

    said: dict[str, Any]
    log: str
    journals: list[ProcessStatus]

    def applied(self, patch: str) -> set[int]:
        """The processes that have applied a patch."""
        return {
            one.pid
            for one in self.journals
            if patch in one.patches and one.patches[patch].status == "applied"
        }


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """An environment of its own, with the four packages installed from copies."""
    folder = tmp_path_factory.mktemp("reader")
    without = shutil.ignore_patterns("__pycache__")  # others may write some meanwhile
    copies = [
        shutil.copytree(GUIDE / name, folder / name, ignore=without) for name in PACKS
    ]
    python = overlay.make(folder / "venv")
    words = ("pip", "install", "--python", str(python), "--no-deps", "--quiet")
    command = toolbox.uv(*words, *toolbox.index_options(), *map(str, copies))
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    return Reader(python, folder)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An edited checkout of vLLM, installed editable: its version names no release."""
    folder = tmp_path_factory.mktemp("checkout")
    spec = importlib.util.find_spec("vllm")
    assert spec
    assert spec.origin
    (folder / "vllm").symlink_to(Path(spec.origin).parent)
    info = folder / f"vllm-{EDITED}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: vllm\nVersion: {EDITED}\n"
    )
    origin = {"url": folder.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(origin))
    return {"PYTHONPATH": str(folder)}


def drive(
    reader: Reader, model: Path, place: Path, *words: str, **settings: str
) -> tuple[processes.Outcome, Run]:
    """Run the driver; nothing but the installed packs tells it what to patch."""
    place.mkdir()
    journal = place / "journal"
    env = processes.environment(
        SETTINGS, {"PATCHKIT_JOURNAL": str(journal), **settings}
    )
    command = [str(reader.python), str(DRIVER), str(model), *words]
    outcome = processes.run(command, env, 600, place / "log")
    journals = read_directory(journal) if journal.exists() else []
    return outcome, Run(outcome.said("tokens") or {}, outcome.output, journals)


@pytest.fixture(
    scope="module", params=[pytest.param("fork", marks=pytest.mark.every_cell), "spawn"]
)
def run(
    request: pytest.FixtureRequest,
    reader: Reader,
    checkout: dict[str, str],
    model: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    """An engine core and two workers beside the main process, with all four packs.

    The spawned engine is that of the edited checkout, and VLLM_VERSION tells what it is.
    """
    told = {"VLLM_WORKER_MULTIPROC_METHOD": request.param}
    if request.param == "spawn":
        told |= {**checkout, "VLLM_VERSION": "0.32.0"}
    place = tmp_path_factory.mktemp("engine") / request.param
    outcome, run = drive(reader, model, place, "2", **told)
    assert run.said, outcome.tail()
    assert outcome.status == 0, outcome.tail()
    return run


def test_the_engine_answers_as_before(run: Run, baseline: list[int]) -> None:
    """No pack changes the tokens, and all processes agree on what is applied."""
    assert run.said["tokens"] == baseline


def test_patch_distributed_acts_in_the_workers(run: Run) -> None:
    """Each rank has the other's slice, and its group is destroyed when the worker ends."""
    workers = run.said["workers"]
    assert [one["exchanged"] for one in workers] == [[0, 10], [1, 11]]
    ended = re.findall(r"pid=(\d+)\).*destroyed the exchange group of tp", run.log)
    assert sorted(map(int, ended)) == sorted(one["pid"] for one in workers)


def test_the_platform_patches_act_in_main_and_engine_core(run: Run) -> None:
    """The main process makes the smaller configuration, the engine core the workers."""
    assert run.said["sequences"] == 64
    assert [one["daemon"] for one in run.said["workers"]] == [False, False]


def test_the_engine_core_is_the_overridden_one(run: Run) -> None:
    """`run_engine_core` chooses its class inside; the rows are in place before it runs."""
    assert run.said["cpus"] == [CPU]


def test_what_depends_on_the_release_is_found_by_it(run: Run) -> None:
    """The change for this release is made, in an edited checkout by what VLLM_VERSION says."""
    named = set(re.findall(rf"@{NODE} pid=(\d+)\)", run.log))
    pids = {run.said["core"], *(one["pid"] for one in run.said["workers"])}
    assert {str(pid) for pid in pids} <= named


def test_each_pack_is_applied_in_its_processes_only(run: Run) -> None:
    """The folder of a guide, or the row, says which: main, engine-core, worker."""
    for one in run.journals:
        for patch, roles in ROLES.items():
            if patch in one.patches and one.patches[patch].status == "applied":
                assert roles & set(one.roles), (patch, one.roles)
    workers = {one["pid"] for one in run.said["workers"]}
    assert run.applied("exchange-between-ranks") == workers
    assert run.applied("engine-core-cpus") == {run.said["core"]}


def test_an_edited_version_is_asked_about(
    reader: Reader, checkout: dict[str, str], model: Path, tmp_path: Path
) -> None:
    """Nobody guesses which release it is: the engine stops and names the variable."""
    outcome, run = drive(reader, model, tmp_path / "run", "1", **checkout)
    assert outcome.status not in (0, None)
    assert not run.said
    assert EDITED in outcome.output
    assert "VLLM_VERSION" in outcome.output


@pytest.fixture(scope="module")
def ranks(
    reader: Reader, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[Run]:
    """Two data-parallel ranks, spawned, each with a main process and an engine core of its own.

    The second has the pack without the change of `DPEngineCoreProc`. vLLM decides by the model's
    configuration that it needs that class; the tiny Llama says that it has experts and has none,
    since vLLM for CPU cannot compute with experts on several ranks.
    """
    folder = tmp_path_factory.mktemp("ranks")
    experts = shutil.copytree(model, folder / "model")
    config = json.loads((experts / "config.json").read_text())
    (experts / "config.json").write_text(json.dumps({**config, "num_experts": 2}))
    half = shutil.copytree(
        reader.folder / "engine_core" / "guide_engine_core",
        folder / "half" / "guide_engine_core",
    )
    rows = (half / "__init__.py").read_text()
    kept = [line for line in rows.splitlines() if "DPEngineCoreProc" not in line]
    assert len(kept) == len(rows.splitlines()) - 1
    (half / "__init__.py").write_text("\n".join(kept))
    port = str(cluster.free_ports(1)[0])

    def start(rank: int) -> tuple[processes.Outcome, Run]:
        settings = {
            "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
            "VLLM_DP_SIZE": "2",
            "VLLM_DP_RANK": str(rank),
            "VLLM_DP_MASTER_PORT": port,
            **({"PYTHONPATH": str(half.parent)} if rank else {}),
        }
        return drive(reader, experts, folder / f"rank{rank}", "1", **settings)

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(start, range(2)))
    for outcome, run in done:
        assert run.said, outcome.tail()
    return [run for _, run in done]


@pytest.mark.every_cell
def test_with_data_parallelism_both_classes_must_be_overridden(
    ranks: list[Run], baseline: list[int]
) -> None:
    """With both, the engine core is on its CPU; with the first only, the patch has no effect."""
    both, first = ranks
    assert [both.said["tokens"], first.said["tokens"]] == [baseline, baseline]
    assert both.said["cpus"] == [CPU]
    assert first.said["cpus"] == sorted(os.sched_getaffinity(0)) != [CPU]


@pytest.mark.every_cell
def test_status_names_the_class_that_keeps_its_base(ranks: list[Run]) -> None:
    """The half of the pack counts as applied; what it does not reach is listed."""
    (journal,) = (one for one in ranks[1].journals if one.pid == ranks[1].said["core"])
    patch = journal.patches["engine-core-cpus"]
    assert patch.status == "applied"
    assert (
        "vllm.v1.engine.core:DPEngineCoreProc (derives from it)" in patch.out_of_reach
    )


def test_the_tests_that_a_reader_keeps_pass(reader: Reader, tmp_path: Path) -> None:
    """In the copies, beside the real vLLM and with the packs installed."""
    words = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--patchkit-strict",
        "--rootdir",
    ]
    tests = [str(reader.folder / name / "tests") for name in PACKS]
    command = [str(reader.python), *words, str(reader.folder), *tests]
    outcome = processes.run(
        command, processes.environment(scenario.VLLM), 600, tmp_path / "log"
    )
    assert outcome.status == 0, outcome.tail()
    assert "7 passed" in outcome.output
