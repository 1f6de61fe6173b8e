"""The example pack `ray.serve.llm`, installed, on a real Ray 2.35 with a real vLLM.

The cluster pretends to have the accelerators that the documented example asks for.
`make e2e-all` only.

Takes about 3 min.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import environments
import folders
import pytest
import toolbox
from patchkit_lab import cluster, processes, scenario, served

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.every_cell

DRIVER = Path(__file__).with_name("serve_llm_driver.py")
CHECKS = Path(__file__).with_name("serve_llm_checks.py")
PACK = folders.REPOSITORY / "examples" / "ray_serve_llm"
PATCH = "ray-serve-llm"
ROUTER, FIRST, SECOND = (
    "LLMRouter",
    "LLMDeployment:qwen-0_5b",
    "LLMDeployment:qwen-1_5b",
)
TEMPLATE = "{% for message in messages %}{{ message.content }} {% endfor %}"

# What a replica runs by itself, and what every engine's scheduler does.
ROWS = """
from patchkit import Patch, Role, Wrap

def row(name, requires, target):
    return Patch(
        name=name, body="patch_seen", requires=(requires,), roles=set(Role),
        changes=(Wrap(target, by="seen"),),
    )

REPLICA = "ray.serve._private.replica"
PATCHES = (
    row("check-seen", "ray", f"{REPLICA}:UserCallableWrapper.call_user_health_check"),
    row("core-seen", "vllm", "vllm.v1.core.sched.scheduler:Scheduler.schedule"),
)
"""
BODY = """
import os
from pathlib import Path

def seen(wrapped, instance, args, kwargs):
    with Path(__file__).with_name("seen").open("a") as file:
        file.write(f"{wrapped.__name__} {os.getpid()}\\n")
    return wrapped(*args, **kwargs)
"""


@pytest.fixture(scope="module")
def old_ray() -> Path:
    """The Python that holds vLLM 0.32.0 and Ray 2.35.0."""
    return environments.ensure("ray-2.35.0")


@pytest.fixture(scope="module")
def site(old_ray: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the pack is installed, beside a pack that sees who calls it."""
    directory = tmp_path_factory.mktemp("site")
    # Without `--reinstall`, uv takes a wheel that it built before, of other source.
    install = ["pip", "install", "--python", str(old_ray), "--no-deps", "--reinstall"]
    where = ["--target", str(directory)]
    command = toolbox.uv(*install, *where, *toolbox.index_options(), str(PACK))
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    served.describe(directory, "0.32.0+cpu")
    pack = directory / "acme_seen"
    pack.mkdir()
    (pack / "__init__.py").write_text(ROWS)
    (pack / "patch_seen.py").write_text(BODY)
    return directory


@pytest.fixture(scope="module")
def chat_model(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with what its engine asks for by itself: float32 and a chat template."""
    copy = tmp_path_factory.mktemp("chat") / "model"
    copy.mkdir()
    for file in model.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    change(copy / "config.json", dtype="float32", torch_dtype="float32")
    change(copy / "tokenizer_config.json", chat_template=TEMPLATE)
    return copy


def change(path: Path, **settings: str) -> None:
    """Set keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


@pytest.fixture(scope="module")
def ray_235(old_ray: Path, site: Path) -> Iterator[cluster.Cluster]:
    """A Ray 2.35 that says it has accelerators, and knows of the packs only."""
    directory = Path(site, "journal")
    told = {"PYTHONPATH": str(site), "PATCHKIT_PATCHES": "acme_seen"}
    env = {**scenario.VLLM, **told, "PATCHKIT_JOURNAL": str(directory)}
    resources = [
        "--num-cpus=16",
        "--num-gpus=4",
        '--resources={"accelerator_type:A10G": 4}',
    ]
    with cluster.started(old_ray, env, more=resources) as one:
        yield one


@pytest.fixture(scope="module")
def said(
    old_ray: Path, ray_235: cluster.Cluster, site: Path, chat_model: Path
) -> dict[str, Any]:
    """What the driver saw."""
    port = str(cluster.free_ports(1)[0])
    told = {"PYTHONPATH": str(site), "CLUSTER": str(ray_235.directory)}
    env = processes.environment(scenario.VLLM, ray_235.environment, told)
    command = [str(old_ray), "-m", "patchkit", "run", "--", str(old_ray), str(DRIVER)]
    outcome = processes.run(
        [*command, str(chat_model), port], env, 900, site / "driver.log"
    )
    said = outcome.said("served") if outcome.status == 0 else None
    assert said, outcome.tail() + ray_235.worker_logs()[-5000:]
    return said


@pytest.fixture(scope="module")
def checked(old_ray: Path, ray_235: cluster.Cluster, site: Path) -> dict[str, Any]:
    """What the pack makes of configurations and of errors."""
    env = processes.environment(
        scenario.VLLM, ray_235.environment, {"PYTHONPATH": str(site)}
    )
    outcome = processes.run([str(old_ray), str(CHECKS)], env, 100, site / "checks.log")
    said = outcome.said("checked") if outcome.status == 0 else None
    assert said, outcome.tail()
    return dict(said["checked"])


def test_a_replica_has_the_variables_of_job_actor_and_model(
    checked: dict[str, Any],
) -> None:
    """Environment variables are merged one by one, and the nearest to the model wins."""
    assert checked["variables"] == {
        "OF_JOB": "job",
        "OF_ACTOR": "actor",
        "OF_CONFIG": "config",
    }
    assert checked["variables of the job"] == dict.fromkeys(
        ("OF_JOB", "OF_ACTOR", "OF_CONFIG"), "job"
    )


def test_a_switch_that_is_off_is_no_argument(checked: dict[str, Any]) -> None:
    """False leaves out what vLLM can only switch on; elsewhere it is said, whatever the name."""
    assert checked["arguments"] == [
        *("m", "--served-model-name=m", "--aggregate-engine-logging"),
        *("--no-disable-cascade-attn", "--no-enable-prefix-caching"),
    ]


def test_settings_that_cannot_be_honoured_are_refused(checked: dict[str, Any]) -> None:
    """Names with dashes, engines on several nodes, and gRPC are errors that name what was found."""
    size, name, parallel, executor, grpc = checked["refusals"]
    assert "'tensor-parallel-size', expected 'tensor_parallel_size'" in size
    assert "'served-model-name', expected 'served_model_name'" in name
    assert "data_parallel_backend 'ray'" in parallel
    assert "distributed_executor_backend 'ray'" in executor
    assert "found grpc" in grpc


def test_a_handle_yields_every_error_with_its_message(checked: dict[str, Any]) -> None:
    """Errors in a stream, of vLLM and of others, JSON or not, come as ErrorResponse."""
    assert checked["outcomes"] == {
        "breaks": [
            ["ChatCompletionChunk", None, None],
            ["ErrorResponse", "out of memory", 500],
        ],
        "refuses": [["ErrorResponse", "out of memory", 400]],
        "no-route": [["ErrorResponse", '{"detail": "Not Found"}', 404]],
        "no-json": [["ErrorResponse", "no healthy upstream", 503]],
        "text": [["ErrorResponse", '{"error": "Unauthorized"}', 401]],
    }


def test_the_openai_client_talks_to_both_models(
    said: dict[str, Any], baseline: list[int]
) -> None:
    """Models are listed and found by name; chats and completions answer as plain vLLM does."""
    served = said["served"]
    assert served["models"] == ["qwen-0.5b", "qwen-1.5b"]
    assert served["retrieved"] == "qwen-1.5b"
    assert served["tokens"] == baseline
    (first, answer), (second, same) = served["chats"]
    assert (first, second) == ("qwen-0.5b", "qwen-1.5b")
    assert answer == same != ""


def test_errors_come_as_openais(said: dict[str, Any]) -> None:
    """An unknown model is not found; what vLLM refuses has vLLM's status and message."""
    unknown, unknown_too, long, empty = said["served"]["errors"]
    assert unknown[:2] == unknown_too[:2] == ["NotFoundError", 404]
    assert "The model `gpt-4` does not exist." in unknown[2]
    assert long[:2] == ["BadRequestError", 400]
    assert "context length" in long[2]
    assert empty[:2] == ["BadRequestError", 400]


def test_streams_come_chunk_by_chunk(said: dict[str, Any]) -> None:
    """A chat comes in chunks, and a long answer in several reads, the first before its end."""
    stream = said["stream"]
    assert "".join(stream["chunks"]) == said["served"]["chats"][0][1]
    # How many is a matter of load: vLLM joins tokens that nobody has fetched yet.
    assert len(stream["chunks"]) > 1
    assert stream["reads"] > 1
    assert stream["end"].endswith("data: [DONE]\n\n")


def test_a_handle_answers_as_http_does(said: dict[str, Any]) -> None:
    """Without HTTP, answers, chunks and errors are the same."""
    handle = said["handle"]
    assert handle["answer"] == "".join(handle["parts"]) == said["served"]["chats"][0][1]
    assert len(handle["parts"]) > 1
    assert handle["code"] == 400


def test_replicas_and_engines_follow_the_load(said: dict[str, Any]) -> None:
    """One replica with one engine, two with two while requests pile up, and one again."""
    assert said["scaled"] == [[1, 1], [2, 2], [1, 1]]


def test_an_engine_ends_with_its_replica(said: dict[str, Any]) -> None:
    """A killed process, an actor that Ray ends, a stop: nothing of an engine goes on."""
    assert min(said["killed"]) >= 3
    assert said["left"] == []


def test_patches_are_in_effect_in_replicas_and_engines(
    said: dict[str, Any], site: Path
) -> None:
    """Each replica is armed with the installed pack; patches of a replica and of an engine run."""
    journals = {process.pid: process for process in read_directory(site / "journal")}
    seen = [
        line.split() for line in (site / "acme_seen" / "seen").read_text().splitlines()
    ]
    checked = {int(pid) for name, pid in seen if name == "call_user_health_check"}
    cores = {int(pid) for name, pid in seen if name == "schedule"}
    for name in (ROUTER, FIRST, SECOND):
        for pid in said["replicas"][name]:
            assert pid in checked
            assert PATCH in journals[pid].patches
    assert len(cores) == 3
    assert all("engine-core" in journals[core].roles for core in cores)
