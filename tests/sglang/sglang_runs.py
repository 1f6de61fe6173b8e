"""How engines of SGLang are run here: on a CPU, with one model, greedily."""

from __future__ import annotations

from typing import Any

PROMPT = "hello world the quick brown fox"
SAMPLING = {"temperature": 0, "max_new_tokens": 8, "ignore_eos": True}
ENGINE: dict[str, Any] = {
    "device": "cpu",
    "attention_backend": "torch_native",
    "disable_cuda_graph": True,
    "mem_fraction_static": 0.05,
    "max_total_tokens": 512,
    "dtype": "float32",
    "disable_radix_cache": True,
    "skip_server_warmup": True,
}
NAMES = {"tokenizer-manager", "scheduler", "model-runner", "detokenizer"}
