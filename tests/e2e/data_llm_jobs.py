"""A batch job's own module: it imports `ray.data.llm` at its top, in Ray's workers too."""

from __future__ import annotations

import os
import sys
from typing import Any

import ray.data.llm

ROWS = 32
PROMPT = "hello world the quick"
TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
# Beside what Ray's example has: what a small machine needs.
ENGINE = {
    "enable_prefix_caching": True,
    "enable_chunked_prefill": True,
    "max_num_batched_tokens": 4096,
    "enforce_eager": True,
    "max_model_len": 128,
    "dtype": "float32",
}
# An engine in its actor's own process, and no stage beside it.
ALONE = {
    "engine_kwargs": {"distributed_executor_backend": "uni"},
    **dict.fromkeys(("apply_chat_template", "tokenize", "detokenize"), False),
}


def ask(row: dict[str, Any]) -> dict[str, Any]:
    """The example's preprocess; an odd row asks something of its own."""
    content = PROMPT if row["id"] % 2 == 0 else f"fox t{row['id']}"
    return {
        "messages": [
            {"role": "system", "content": ""},
            {"role": "user", "content": content},
        ],
        "sampling_params": {"temperature": 0, "max_tokens": 8, "detokenize": False},
    }


def ask_and_fail(row: dict[str, Any]) -> dict[str, Any]:
    """A prompt for each row; one asks for what the engine refuses."""
    temperature = -3 if row["id"] == 7 else 0
    sampling = {"temperature": temperature, "max_tokens": 8}
    return {"prompt": PROMPT, "sampling_params": sampling}


def answered(row: dict[str, Any]) -> dict[str, Any]:
    """The example's postprocess, and where it ran."""
    provided = sys.modules["ray.data.llm"].__file__
    return {
        "resp": row["generated_text"],
        "pid": os.getpid(),
        "module": provided,
        **row,
    }


def config(model: str, **more: Any) -> Any:
    """The example's configuration."""
    kwargs = {**ENGINE, **more.pop("engine_kwargs", {})}
    return ray.data.llm.vLLMEngineProcessorConfig(
        model_source=model,
        engine_kwargs=kwargs,
        chat_template=TEMPLATE,
        batch_size=8,
        **more,
    )
