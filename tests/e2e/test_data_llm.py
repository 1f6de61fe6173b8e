"""`ray.data.llm` on a Ray that lacks it: real Ray 2.35.0, real vLLM 0.32.0; rows are counted.

Takes about 15 s; with every cell, 3 min.
"""

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
def said(
    ray_235: Path, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Said]:
    """Run the driver in modes on a Ray of 2.35.0 without accelerators; return what it prints."""
    with cluster.started(ray_235, CPU, npus=0) as ray:
        log = tmp_path_factory.mktemp("data_llm") / "driver.log"
        yield partial(drive, ray_235, ray, log, model)


@pytest.fixture(scope="module")
def unarmed(said: Said) -> dict[str, Any]:
    """What one job saw whose workers have nothing of patchkit, and no engine."""
    return said("rows", "cancelled", "twice", "http")


@pytest.fixture(scope="module")
def answered(said: Said) -> dict[str, Any]:
    """What one job saw of engines, and of the stages before them."""
    return said("generate", "fail", "stages")


def drive(
    python: Path,
    ray: cluster.Cluster,
    log: Path,
    model: Path,
    *modes: str,
    patched: bool = True,
) -> dict[str, Any]:
    """Run the driver; return what it prints of each mode."""
    run = (
        ["-m", "patchkit", "run", "--patches", PACK, "--", str(python)]
        if patched
        else []
    )
    command = [str(python), *run, str(HERE / "data_llm_driver.py"), str(model), *modes]
    outcome = processes.run(
        command, processes.environment(CPU, ray.environment), 900, log
    )
    found = outcome.said("said")
    assert outcome.status == 0, outcome.tail()
    assert found, outcome.tail()
    return dict(found["said"])


@pytest.mark.every_cell
def test_asynchronous_generators_lose_no_rows(
    said: Said, unarmed: dict[str, Any]
) -> None:
    """Ray 2.35.0 loses some of 32 rows, or waits for ever; with the pack all come, or an error."""
    bare = said("rows", patched=False)["rows"]
    assert len(bare["kept"] or ()) < 32
    assert len(bare["free"] or ()) < 32
    # The first batch comes last, unless the order is to be kept.
    assert unarmed["rows"] == {"free": IDS[4:] + IDS[:4], "kept": IDS}
    assert unarmed["cancelled"] == {"rows": "RayTaskError(CancelledError)"}


@pytest.mark.every_cell
def test_ray_example_answers_every_row(
    answered: dict[str, Any], baseline: list[int]
) -> None:
    """Two engines, 32 rows in and out with all columns; an even row has plain vLLM's tokens."""
    seen = answered["generate"]
    assert seen["ids"] == IDS
    assert seen["mine"] == sorted(f"x{number}" for number in IDS)
    assert seen["stages"] == STAGES
    wanted = {
        "mine",
        "messages",
        "sampling_params",
        "prompt",
        "tokenized_prompt",
        "params",
    }
    assert wanted | {"generated_text", "metrics", "num_input_tokens"} <= set(
        seen["columns"]
    )
    assert seen["asked"][-4:] == [259, 260, 261, 262]
    assert seen["tokens"] == baseline
    # The tokenizer has no word for numbers from 265 on, which the model may generate.
    assert seen["text"].split() == [f"t{token}" for token in baseline if token < 256]
    assert seen["lengths"] == [8]
    assert seen["batches"] == 4
    # The job's module was imported in Ray's workers, by functions that were sent by name.
    assert [Path(name).name for name in seen["modules"]] == ["patch_llm.py"]
    assert not seen["driver"]


@pytest.mark.every_cell
def test_a_row_that_fails_is_named(answered: dict[str, Any]) -> None:
    """The engine refuses one row of 32: the job ends with an error that shows this row."""
    error = answered["fail"]["error"]
    assert "vLLMEngineStage: row {id=7" in error
    assert "temperature" in error


@pytest.mark.every_cell
def test_embeddings_of_every_row(said: Said) -> None:
    """`task_type="embed"`: 32 prompts in, 32 different vectors of the model's size out."""
    seen = said("embed")["embed"]
    assert seen == {"ids": IDS, "sizes": [128], "different": 32}


@pytest.mark.every_cell
def test_the_stages_before_the_engine(answered: dict[str, Any]) -> None:
    """Images and chat template of 32 rows; the engine asks for no accelerator here."""
    seen = answered["stages"]
    assert seen["ids"] == IDS
    assert seen["stages"] == ["PrepareImageStage", *STAGES]
    assert seen["placed"] == {"concurrency": 1, "max_concurrency": 4}
    assert seen["sizes"] == [[3, 2]]
    assert seen["prompt"].endswith("hello world the quick ")
    assert "PrepareImageStage: row {id=0} failed: KeyError: 'messages'" in seen["error"]


@pytest.mark.every_cell
def test_a_second_run_gets_the_place_of_the_first(unarmed: dict[str, Any]) -> None:
    """A replica's placement group is removed with its actor: the same dataset runs again."""
    seen = unarmed["twice"]
    assert (sorted(seen["first"]), sorted(seen["second"])) == (IDS, IDS)


@pytest.mark.every_cell
def test_http_requests(unarmed: dict[str, Any]) -> None:
    """32 payloads, 32 answers; at 20 a second 16 take 0.75 s; an answer without JSON is named."""
    seen = unarmed["http"]
    assert seen["squares"] == [[number, number**2] for number in IDS]
    assert seen["paced"] == 16
    assert seen["seconds"] >= 0.6
    assert seen["mine"] == ["yes"]
    assert "HttpRequestStage: row {id=13, payload={'n': 113}} failed" in seen["error"]


def test_the_old_name_on_a_newer_ray(
    python: Path, model: Path, ray: cluster.Cluster, tmp_path: Path
) -> None:
    """Ray 2.60 dropped `build_llm_processor`; with the pack it builds Ray's own processor."""
    seen = drive(python, ray, tmp_path / "driver.log", model, "old-name")["old-name"]
    assert seen["squares"] == [[number, number**2] for number in IDS]
    assert seen["module"].endswith("ray/data/llm.py")
