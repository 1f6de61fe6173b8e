"""What the pack of `ray.serve.llm` makes of configurations and of errors, without an engine.

Prints JSON. The job that it runs as has environment variables of its own.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import ray
from aiohttp import web
from pydantic import ValidationError
from ray_serve_llm.config import LLMConfig  # type: ignore[import-not-found, unused-ignore]
from ray_serve_llm.openai_api_models import (  # type: ignore[import-not-found, unused-ignore]
    ChatCompletionRequest,
)
from ray_serve_llm.patch_serve_llm import (  # type: ignore[import-not-found, unused-ignore]
    LLMServer,
)

JOB = {"OF_JOB": "job", "OF_ACTOR": "job", "OF_CONFIG": "job"}
ACTOR = {"OF_ACTOR": "actor", "OF_CONFIG": "actor"}
SWITCHES = {
    "disable_log_stats": False,
    "aggregate_engine_logging": True,
    "data_parallel_multi_port_external_lb": False,
    "disable_cascade_attn": False,
    "enable_prefix_caching": False,
}
REFUSED: list[dict[str, Any]] = [
    {"tensor-parallel-size": 2},
    {"served-model-name": "other"},
    {"data_parallel_backend": "ray"},
    {"distributed_executor_backend": "ray"},
    {"grpc": True},
]
CHUNK = {
    "id": "1",
    "choices": [],
    "created": 1,
    "model": "m",
    "object": "chat.completion.chunk",
}
ERROR = {
    "message": "out of memory",
    "type": "InternalServerError",
    "param": None,
    "code": 500,
}
# The model that a request names decides how the server answers: status and body.
ANSWERS = {
    "breaks": (
        200,
        f"data: {json.dumps(CHUNK)}\n\ndata: {json.dumps({'error': ERROR})}\n\n",
    ),
    "refuses": (400, json.dumps({"error": {**ERROR, "code": 400}})),
    "no-route": (404, '{"detail": "Not Found"}'),
    "no-json": (503, "no healthy upstream"),
    "text": (401, '{"error": "Unauthorized"}'),
}


def config(**fields: Any) -> Any:
    """A model's configuration."""
    return LLMConfig(model_loading_config={"model_id": "m"}, **fields)


def variables(**fields: Any) -> dict[str, str]:
    """The environment variables that a replica gets."""
    options = config(**fields).get_serve_options()
    return dict(options["ray_actor_options"]["runtime_env"]["env_vars"])


def refusal(engine_kwargs: dict[str, Any]) -> str:
    """What is said of settings; empty where they are taken."""
    try:
        config(engine_kwargs=engine_kwargs)
    except ValidationError as error:
        return str(error.errors()[0]["msg"])
    return ""


async def answer(request: web.Request) -> web.Response:
    """Answer as an engine in trouble does, or what stands before it."""
    status, text = ANSWERS[(await request.json())["model"]]
    kind = "application/json" if text.startswith("{") else "text/plain"
    return web.Response(status=status, text=text, content_type=kind)


async def outcomes() -> dict[str, Any]:
    """What a handle's caller gets of each answer."""
    application = web.Application()
    application.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    server = object.__new__(LLMServer)  # without its engine
    async with aiohttp.ClientSession(f"http://{host}:{port}") as server._session:
        found = {name: await outcome(server, name) for name in ANSWERS}
    await runner.cleanup()
    return found


async def outcome(server: Any, model: str) -> list[Any]:
    """What is yielded, as class, message and code; what is raised at the end."""
    request = ChatCompletionRequest(model=model, messages=[], stream=True)
    found = []
    try:
        async for one in server.chat(request):
            told = [getattr(one, name, None) for name in ("message", "code")]
            found.append([type(one).__name__, *told])
    except Exception as error:
        found.append([type(error).__name__])
    return found


def main() -> None:
    """Check."""
    ray.init(runtime_env={"env_vars": JOB})
    of_actor = {"ray_actor_options": {"runtime_env": {"env_vars": ACTOR}}}
    own = {"env_vars": {"OF_CONFIG": "config"}}
    checked = {
        "variables": variables(deployment_config=of_actor, runtime_env=own),
        "variables of the job": variables(runtime_env={"working_dir": None}),
        "arguments": config(engine_kwargs=SWITCHES).serve_arguments(),
        "refusals": [refusal(settings) for settings in REFUSED],
        "outcomes": asyncio.run(outcomes()),
    }
    print(json.dumps({"checked": checked}), flush=True)


if __name__ == "__main__":
    main()
