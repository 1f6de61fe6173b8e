"""`ray.data.llm` on a Ray that lacks it: real Ray 2.35.0, real vLLM 0.32.0; rows are counted."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import environments
import pytest
from patchkit_lab import cluster, processes, scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Said = Callable[..., dict[str, Any]]

HERE = Path(__file__).parent
PACK = "patchkit.data_llm"
IDS = list(range(32))
# The workers import the pack's modules, and the job's own, wherever they run.
PLACES = (HERE, HERE.parents[1], HERE.parents[1] / "examples" / "simnpu")
CPU = {"PYTHONPATH": ":".join(map(str, PLACES)), "VLLM_PLUGINS": "", **scenario.VLLM}
STAGES = ["ChatTemplateStage", "TokenizeStage", "vLLMEngineStage", "DetokenizeStage"]


@pytest.fixture(scope="module")
def ray_235() -> Path:
    """The Python that holds Ray 2.35.0 with `ray.data`, and vLLM."""
    return environments.ensure("ray-2.35.0")


@pytest.fixture(scope="module")
def said(ray_235: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Said]:
    """Run the driver in a mode on a Ray of 2.35.0 without accelerators; return what it prints."""
    with cluster.started(ray_235, CPU, npus=0) as ray:
        yield partial(drive, ray_235, ray, tmp_path_factory.mktemp("data_llm") / "driver.log")


def drive(
    python: Path, ray: cluster.Cluster, log: Path, *words: str, patched: bool = True
) -> dict[str, Any]:
    """Run the driver; return what it prints."""
    run = ["-m", "patchkit", "run", "--patches", PACK, "--", str(python)] if patched else []
    command = [str(python), *run, str(HERE / "data_llm_driver.py"), *words]
    outcome = processes.run(command, processes.environment(CPU, ray.environment), 500, log)
    found = outcome.said("said")
    assert outcome.status == 0, outcome.tail()
    assert found, outcome.tail()
    return dict(found["said"])


def test_asynchronous_generators_lose_no_rows(said: Said) -> None:
    """Ray 2.35.0 loses some of 32 rows, or waits for ever; with the pack all come, or an error."""
    bare = said("rows", patched=False)
    assert len(bare["kept"] or ()) < 32
    assert len(bare["free"] or ()) < 32
    seen = said("rows", "cancelled")
    # The first batch comes last, unless the order is to be kept.
    assert seen == {
        "free": IDS[4:] + IDS[:4],
        "kept": IDS,
        "cancelled": "RayTaskError(CancelledError)",
    }


def test_ray_example_answers_every_row(said: Said, model: Path, baseline: list[int]) -> None:
    """Two engines, 32 rows in and out with all columns; an even row has plain vLLM's tokens."""
    seen = said("generate", str(model), "2")
    assert seen["ids"] == IDS
    assert seen["mine"] == sorted(f"x{number}" for number in IDS)
    assert seen["stages"] == STAGES
    wanted = {"mine", "messages", "sampling_params", "prompt", "tokenized_prompt", "params"}
    assert wanted | {"generated_text", "metrics", "num_input_tokens"} <= set(seen["columns"])
    assert seen["tokens"] == baseline
    assert len(seen["text"].split()) == 8
    assert seen["lengths"] == [8]
    assert seen["batches"] == 4
    # The job's module was imported in Ray's workers, by functions that were sent by name.
    assert [Path(name).name for name in seen["modules"]] == ["patch_llm.py"]
    assert not seen["driver"]


def test_a_row_that_fails_is_named(said: Said, model: Path) -> None:
    """The engine refuses one row of 32: the job ends with an error that shows this row."""
    error = said("fail", str(model))["error"]
    assert "vLLMEngineStage: row {id=7" in error
    assert "temperature" in error


@pytest.mark.every_cell
def test_embeddings_of_every_row(said: Said, model: Path) -> None:
    """`task_type="embed"`: 32 prompts in, 32 different vectors of the model's size out."""
    seen = said("embed", str(model))
    assert seen == {"ids": IDS, "sizes": [128], "different": 32}


def test_the_stages_before_the_engine(said: Said, model: Path) -> None:
    """Image, chat template and tokens of 32 rows; the engine asks for no accelerator here."""
    seen = said("stages", str(model))
    assert seen["ids"] == IDS
    assert seen["stages"] == ["PrepareImageStage", *STAGES]
    assert seen["placed"] == {"concurrency": 1, "max_concurrency": 4}
    assert seen["sizes"] == [[3, 2]]
    assert seen["prompt"].endswith("hello world the quick ")
    assert seen["tokens"][-4:] == [259, 260, 261, 262]
    assert "PrepareImageStage: row {id=0} failed: KeyError: 'messages'" in seen["error"]


def test_a_second_run_gets_the_place_of_the_first(said: Said) -> None:
    """A replica's placement group is removed with its actor: the same dataset runs again."""
    seen = said("twice")
    assert (sorted(seen["first"]), sorted(seen["second"])) == (IDS, IDS)


def test_http_requests(said: Said) -> None:
    """32 payloads, 32 answers; at 20 a second 16 take 0.75 s; an answer without JSON is named."""
    seen = said("http")
    assert seen["squares"] == [[number, number**2] for number in IDS]
    assert seen["paced"] == 16
    assert seen["seconds"] >= 0.6
    assert seen["mine"] == ["yes"]
    assert "HttpRequestStage: row {id=13, payload={'n': 113}} failed" in seen["error"]


def test_the_old_name_on_a_newer_ray(python: Path, ray: cluster.Cluster, tmp_path: Path) -> None:
    """Ray 2.60 dropped `build_llm_processor`; with the pack it builds Ray's own processor."""
    seen = drive(python, ray, tmp_path / "driver.log", "old-name")
    assert seen["squares"] == [[number, number**2] for number in IDS]
    assert seen["module"].endswith("ray/data/llm.py")
