"""What `ray.serve.llm.openai_api_models` has, for requests through a handle.

Requests take every field of the OpenAI API and of vLLM's; answers are the openai client's classes.
"""

from __future__ import annotations

from typing import Any

from openai.types import Completion as CompletionResponse
from openai.types.chat import ChatCompletion as ChatCompletionResponse
from openai.types.chat import ChatCompletionChunk as ChatCompletionStreamResponse
from pydantic import BaseModel, ConfigDict

# With OpenAI, a chunk of a completion is a completion.
CompletionStreamResponse = CompletionResponse


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Request(_Open):
    model: str
    stream: bool = False


class ChatCompletionRequest(_Request):
    """A request for a chat completion."""

    messages: list[dict[str, Any]]


class CompletionRequest(_Request):
    """A request for a completion."""

    prompt: str | list[Any]


class ErrorResponse(_Open):
    """An error, as vLLM reports it."""

    message: str
    type: str
    code: int


__all__ = [
    "ChatCompletionRequest",
    "CompletionRequest",
    "CompletionResponse",
    "ErrorResponse",
]
__all__ += [
    "ChatCompletionResponse",
    "ChatCompletionStreamResponse",
    "CompletionStreamResponse",
]
