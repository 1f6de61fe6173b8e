"""The model that the registry's entry names."""

from __future__ import annotations

from typing import Any

from vllm.model_executor.models.llama import LlamaForCausalLM

from rows.witness import seen


class RowsLlama(LlamaForCausalLM):  # type: ignore[misc, unused-ignore]
    """Tells when it is built."""

    def __init__(self, *, vllm_config: Any, prefix: str = "") -> None:
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        seen("model-entry")
