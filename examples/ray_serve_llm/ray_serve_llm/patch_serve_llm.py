"""`ray.serve.llm` as Ray 2.44 has it, on the Ray Serve that is installed.

Ray has it since 2.44, built on vLLM's Python classes, which each release of vLLM moves. Here each
replica starts a `vllm serve`, whose command line stays, and passes requests and answers on as they
are. Read in Ray 2.44.1: `ray.serve.llm`, `ray.llm._internal.serve`.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import aiohttp
from ray import serve
from starlette.responses import JSONResponse, Response, StreamingResponse

from . import openai_api_models as models
from .config import (
    CloudMirrorConfig,
    LLMConfig,
    LLMServingArgs,
    LoraConfig,
    ModelLoadingConfig,
)
from .engine import Engine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from starlette.requests import Request

openai_api_models = models

START_SECONDS = float(os.environ.get("RAYLLM_ENGINE_START_TIMEOUT_S", "3600"))
ROUTER_OPTIONS = json.loads(os.environ.get("RAYLLM_ROUTER_RAY_ACTOR_OPTIONS", "{}"))
# Of the connection that they came by, not of the request or answer.
HOP_BY_HOP = {
    *("host", "connection", "content-length", "transfer-encoding", "accept-encoding"),
    *("date", "server"),
}
SCALING = {"min_replicas": 1, "max_replicas": 10, "target_ongoing_requests": 10}


class LLMServer:
    """One model: a replica and its `vllm serve`."""

    async def __init__(self, llm_config: LLMConfig) -> None:  # type: ignore[misc]
        self._llm_config = llm_config
        self._engine = Engine(llm_config.serve_arguments())
        connector = aiohttp.UnixConnector(self._engine.socket, limit=0)
        patience = aiohttp.ClientTimeout(total=None)
        self._session = aiohttp.ClientSession(
            "http://vllm", connector=connector, timeout=patience
        )
        try:
            await asyncio.wait_for(self._engine.ready(self._session), START_SECONDS)
        except BaseException:
            self._engine.stop()
            raise

    def __del__(self) -> None:
        if engine := vars(self).get("_engine"):
            engine.stop()

    async def check_health(self) -> None:
        """Serve asks this from time to time, and replaces a replica for which it raises."""
        await self._engine.check(self._session)

    async def llm_config(self) -> LLMConfig:
        """The model's configuration."""
        return self._llm_config

    async def forward(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncIterator[Any]:
        """Pass a request on: yields the answer's status with its headers, then its chunks."""
        async with self._session.request(
            method, path, headers=headers, data=body
        ) as answer:
            yield answer.status, _end_to_end(answer.headers)
            async for chunk in answer.content.iter_any():
                yield chunk

    async def chat(self, request: models.ChatCompletionRequest) -> AsyncIterator[Any]:
        """Yield the answer, or its chunks where the request asks for a stream."""
        path, kind = "/v1/chat/completions", models.ChatCompletionResponse
        async for answer in self._ask(
            path, request, kind, models.ChatCompletionStreamResponse
        ):
            yield answer

    async def completions(
        self, request: models.CompletionRequest
    ) -> AsyncIterator[Any]:
        """Yield the answer, or its chunks where the request asks for a stream."""
        path, kind = "/v1/completions", models.CompletionResponse
        async for answer in self._ask(
            path, request, kind, models.CompletionStreamResponse
        ):
            yield answer

    async def _ask(
        self, path: str, request: Any, kind: Any, chunk: Any
    ) -> AsyncIterator[Any]:
        body = request.model_dump(exclude_unset=True)
        async with self._session.post(path, json=body) as answer:
            if not (answer.ok and body.get("stream")):
                yield _parsed(kind, await answer.text(), answer)
                return
            async for line in answer.content:
                event = line.decode().removeprefix("data:").strip()
                if event not in ("", "[DONE]"):
                    yield _parsed(chunk, event, answer)

    @classmethod
    def as_deployment(cls, deployment_options: Mapping[str, Any] | None = None) -> Any:
        """Make it a deployment of Serve."""
        load = {"autoscaling_config": SCALING, "max_ongoing_requests": 20}
        health = {"health_check_period_s": 10, "health_check_timeout_s": 10}
        return serve.deployment(**load, **health)(cls).options(
            **(deployment_options or {})
        )


class LLMRouter:
    """Passes each request to the deployment of the model that it names."""

    def __init__(
        self, llm_deployments: Sequence[Any], model_ids: Sequence[str] = ()
    ) -> None:
        self._deployments = llm_deployments
        self._model_ids = model_ids
        self._handles: dict[str, Any] = {}

    async def __call__(self, request: Request) -> Response:
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        handles = await self._known()
        if path == "/v1/models" and request.method == "GET":
            return JSONResponse(
                {"object": "list", "data": [_model(name) for name in handles]}
            )
        if path.startswith("/v1/models/") and request.method == "GET":
            name = path.removeprefix("/v1/models/")
            return JSONResponse(_model(name)) if name in handles else _unknown(name)
        if not path.startswith("/v1/") or request.method != "POST":
            return _error(
                404, "NotFoundError", f"found {request.method} {path}: no such endpoint"
            )
        return await self._forward(path, request)

    async def _known(self) -> dict[str, Any]:
        """Every model's handle; a deployment whose model nobody has told is asked."""
        if not self._handles:
            names = self._model_ids or [
                (await one.llm_config.remote()).model_id for one in self._deployments
            ]
            if len(set(names)) != len(names):
                raise ValueError(f"found models {names}, expected each name once")
            streams = [one.options(stream=True) for one in self._deployments]
            self._handles = dict(zip(names, streams, strict=True))
        return self._handles

    async def _forward(self, path: str, request: Request) -> Response:
        body = await request.body()
        try:
            name = str(json.loads(body)["model"])
        except (ValueError, KeyError, TypeError):
            return _error(
                400, "BadRequestError", "expected a JSON object with the key 'model'"
            )
        if name not in self._handles:
            return _unknown(name)
        headers = _end_to_end(request.headers)
        answer = self._handles[name].forward.remote(request.method, path, headers, body)
        status, headers = await anext(answer)
        return StreamingResponse(_chunks(answer), status, headers)

    @classmethod
    def as_deployment(cls, llm_configs: Sequence[LLMConfig] | None = None) -> Any:  # noqa: ARG003
        """Make it a deployment of Serve. Upstream sizes it by its models, this one by its load."""
        return serve.deployment(
            autoscaling_config={**SCALING, "target_ongoing_requests": 100},
            ray_actor_options=ROUTER_OPTIONS,
            max_ongoing_requests=1000,
        )(cls)


def build_llm_deployment(llm_config: LLMConfig) -> Any:
    """Make an application of one model, to be asked through its handle."""
    return LLMServer.as_deployment(llm_config.get_serve_options()).bind(
        llm_config=llm_config
    )


def build_openai_app(llm_serving_args: LLMServingArgs | Mapping[str, Any]) -> Any:
    """Make an application that serves models under the OpenAI API."""
    configs = LLMServingArgs.model_validate(llm_serving_args).llm_configs
    names = [config.model_id for config in configs]
    if not names or len(set(names)) != len(names):
        raise ValueError(
            f"llm_configs: found models {names}, expected some, each name once"
        )
    deployments = [build_llm_deployment(config) for config in configs]
    return LLMRouter.as_deployment(configs).bind(
        llm_deployments=deployments, model_ids=names
    )


def _parsed(kind: Any, text: str, answer: aiohttp.ClientResponse) -> Any:
    """What came, or an error, which may come in the middle of a stream that began well."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    error = found.get("error") if isinstance(found, dict) else text
    if answer.ok and not error:
        return kind.model_validate(found)
    known = {"message": text, "type": str(answer.reason), "code": answer.status}
    return models.ErrorResponse(**known | (error if isinstance(error, dict) else {}))


async def _chunks(answer: Any) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer:
            yield chunk
    except asyncio.CancelledError:  # the client has gone
        answer.cancel()
        raise


def _end_to_end(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text for name, text in headers.items() if name.lower() not in HOP_BY_HOP
    }


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "vllm"}


def _unknown(name: str) -> Response:
    return _error(404, "NotFoundError", f"The model `{name}` does not exist.")


def _error(code: int, kind: str, message: str) -> Response:
    error = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": error}, code)


__all__ = ["LLMRouter", "LLMServer", "build_llm_deployment", "build_openai_app"]
__all__ += [
    "CloudMirrorConfig",
    "LLMConfig",
    "LLMServingArgs",
    "LoraConfig",
    "ModelLoadingConfig",
]
