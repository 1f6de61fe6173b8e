"""Ray 2.44's documented example of `ray.serve.llm`, and what clients see of it; prints JSON.

`serve_llm_driver.py MODEL PORT`. Only the models' path is another than in the example, and for one
of the two models the delays of the autoscaler are short, switches are off, and a variable is set.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx  # type: ignore[import-not-found, unused-ignore]
import openai
import ray
from patchkit_lab import processes
from patchkit_lab.generate import PROMPT
from ray import serve
from ray.serve.llm import LLMConfig, LLMServingArgs, build_openai_app
from ray.serve.llm.openai_api_models import ChatCompletionRequest

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL, PORT = sys.argv[1], int(sys.argv[2])
ADDRESS = f"http://127.0.0.1:{PORT}"
FIRST, SECOND = "LLMDeployment:qwen-0_5b", "LLMDeployment:qwen-1_5b"
GREEDY = {"max_tokens": 8, "temperature": 0}
SOON = {
    "upscale_delay_s": 0.5,
    "downscale_delay_s": 1,
    "metrics_interval_s": 0.5,
    "look_back_period_s": 1,
}
OFF = {
    "disable_log_stats": False,
    "aggregate_engine_logging": False,
    "enable_log_requests": False,
}


def config(model_id: str, delays: dict[str, float] | None = None, **fields: Any) -> Any:
    """One model of the example."""
    return LLMConfig(
        model_loading_config={"model_id": model_id, "model_source": MODEL},
        deployment_config={
            "autoscaling_config": {
                "min_replicas": 1,
                "max_replicas": 2,
                **(delays or {}),
            }
        },
        accelerator_type="A10G",
        **fields,
    )


def application() -> Any:
    """The application of the example."""
    own = {"env_vars": {"OF_MODEL": "1"}}
    second = config("qwen-1.5b", SOON, engine_kwargs=OFF, runtime_env=own)
    return build_openai_app(LLMServingArgs(llm_configs=[config("qwen-0.5b"), second]))


def ask() -> dict[str, Any]:
    """Ask as clients do: both models, both endpoints, whole answers."""
    client = openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key="fake-key")
    messages: Any = [{"role": "user", "content": PROMPT}]
    chats = [
        client.chat.completions.create(model=model, messages=messages, **GREEDY)  # type: ignore[call-overload, unused-ignore]
        for model in ("qwen-0.5b", "qwen-1.5b")
    ]
    extra = {"return_token_ids": True}
    completion = client.completions.create(  # type: ignore[call-overload, unused-ignore]
        model="qwen-0.5b", prompt=PROMPT, extra_body=extra, **GREEDY
    )
    return {
        "models": [model.id for model in client.models.list()],
        "retrieved": client.models.retrieve("qwen-1.5b").id,
        "chats": [[chat.model, chat.choices[0].message.content] for chat in chats],
        "tokens": completion.model_dump()["choices"][0]["token_ids"],
        "errors": [
            refusal(lambda: client.models.retrieve("gpt-4")),
            refusal(lambda: client.completions.create(model="gpt-4", prompt=PROMPT)),
            refusal(
                lambda: client.completions.create(
                    model="qwen-0.5b", prompt="the " * 999
                )
            ),
            refusal(
                lambda: client.chat.completions.create(model="qwen-0.5b", messages=[])
            ),
        ],
    }


def refusal(call: Callable[[], object]) -> list[Any]:
    """What the client raises."""
    try:
        call()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.message]
    return []


def stream() -> dict[str, Any]:
    """Ask for streams: what came, and in how many reads."""
    client = openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key="fake-key")
    messages: Any = [{"role": "user", "content": PROMPT}]
    chunks = [
        chunk.choices[0].delta.content or ""
        for chunk in client.chat.completions.create(  # type: ignore[call-overload, unused-ignore]
            model="qwen-0.5b", messages=messages, stream=True, **GREEDY
        )
    ]
    body = {
        "model": "qwen-0.5b",
        "prompt": PROMPT,
        "max_tokens": 100,
        "ignore_eos": True,
    }
    for _ in range(5):  # on a busy machine, one read may find all that was sent
        wanted = {**body, "stream": True}
        with httpx.stream("POST", f"{ADDRESS}/v1/completions", json=wanted) as answer:
            reads = list(answer.iter_raw())
        if len(reads) > 1:
            break
    return {"chunks": chunks, "reads": len(reads), "end": reads[-1].decode()[-16:]}


def through_a_handle() -> dict[str, Any]:
    """Ask without HTTP, for an answer and for a stream."""
    handle = serve.get_deployment_handle(FIRST, "default").options(stream=True)
    asked = {
        "model": "qwen-0.5b",
        "messages": [{"role": "user", "content": PROMPT}],
        **GREEDY,
    }
    whole = list(handle.chat.remote(ChatCompletionRequest(**asked)))
    parts = list(handle.chat.remote(ChatCompletionRequest(**asked, stream=True)))
    refused = list(
        handle.chat.remote(ChatCompletionRequest(model="qwen-0.5b", messages=[]))
    )
    return {
        "answer": whole[0].choices[0].message.content,
        "parts": [part.choices[0].delta.content or "" for part in parts],
        "code": refused[0].code,
    }


def running(deployment: str) -> int:
    """How many of a deployment's replicas run; -1 while any starts or stops."""
    states = (
        serve.status().applications["default"].deployments[deployment].replica_states
    )
    return int(states.get("RUNNING", 0)) if set(states) == {"RUNNING"} else -1


def until(what: str, holds: Callable[[], bool], seconds: float = 240) -> None:
    """Wait for a state."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not in {seconds:.0f} s; {serve.status()}")
        time.sleep(0.2)


def scale() -> list[list[int]]:
    """Let requests pile up until a second replica answers; then let them be answered.

    Returns the numbers of replicas and engines, at each state. A halted engine leaves the machine
    to the one that starts.
    """
    seen = [[running(SECOND), len(guards("qwen-1.5b"))]]
    core = engine_core("qwen-1.5b")
    os.kill(core, signal.SIGSTOP)
    users = [threading.Thread(target=use) for _ in range(4)]
    for user in users:
        user.start()
    try:
        until("two replicas", lambda: running(SECOND) == 2)
        seen.append([2, len(guards("qwen-1.5b"))])
        use(patience=5)
    finally:
        os.kill(core, signal.SIGCONT)
    for user in users:
        user.join()
    until("one replica", lambda: running(SECOND) == 1)
    return [*seen, [1, len(guards("qwen-1.5b"))]]


def use(patience: float = 400) -> None:
    """One request of the model that scales; the replica with fewer requests has it."""
    url = f"{ADDRESS}/v1"
    client = openai.OpenAI(
        base_url=url, api_key="fake-key", timeout=patience, max_retries=20
    )
    client.completions.create(model="qwen-1.5b", prompt=PROMPT, max_tokens=8)


def engine_core(model: str) -> int:
    """The process that schedules a model's requests."""
    (guard,) = guards(model)
    (core,) = [pid for pid in children(guard) if "VLLM::EngineCore" in words(pid)[0]]
    return core


def guards(model: str) -> set[int]:
    """The processes that see to the engines of a model."""
    cluster = processes.marked(os.environ["CLUSTER"])
    return {pid for pid in cluster if {"guard.py", model} <= set(words(pid))}


def words(pid: int) -> list[str]:
    """The words of a command line, without the folders and names of options."""
    try:
        with open(f"/proc/{pid}/cmdline") as file:  # noqa: PTH123
            return [
                word.rpartition("/")[2].rpartition("=")[2]
                for word in file.read().split("\0")
            ]
    except OSError:
        return []


def replicas(deployment: str) -> set[int]:
    """The processes of a deployment's replicas."""
    cluster = processes.marked(os.environ["CLUSTER"])
    title = f"ray::ServeReplica:default:{deployment}"
    return {
        pid for pid in cluster if any(word.startswith(title) for word in words(pid))
    }


def end_engine(model: str, end: Callable[[], None]) -> int:
    """End a model's only replica; return when its engine has gone, with how many processes."""
    (guard,) = guards(model)
    engine = {guard, *children(guard)}
    end()
    until("the engine's end", lambda: not any(map(processes.alive, engine)), 30)
    return len(engine)


def kill() -> None:
    """Kill the process, as a lack of memory does."""
    (replica,) = replicas(FIRST)
    os.kill(replica, signal.SIGKILL)


def dismiss() -> None:
    """Have Ray end the actor, as Serve does when its patience is over."""
    (name,) = [
        actor["name"]
        for actor in ray.util.list_named_actors(all_namespaces=True)
        if SECOND in actor["name"]
    ]
    ray.kill(ray.get_actor(name, namespace="serve"))


def children(pid: int) -> set[int]:
    """All that a process has started, and what those have."""
    found = {
        one
        for one in processes.marked(os.environ["CLUSTER"])
        if processes.parent_of(one) == pid
    }
    return found.union(*map(children, found))


def main() -> None:
    """Serve, ask, scale, kill, stop."""
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    serve.run(application())
    said: dict[str, Any] = {
        "served": ask(),
        "stream": stream(),
        "handle": through_a_handle(),
        "scaled": scale(),
    }
    said["replicas"] = {
        name: sorted(replicas(name)) for name in ("LLMRouter", FIRST, SECOND)
    }
    said["killed"] = [end_engine("qwen-0.5b", kill), end_engine("qwen-1.5b", dismiss)]
    serve.shutdown()
    said["left"] = sorted(guards("qwen-0.5b") | guards("qwen-1.5b"))
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
