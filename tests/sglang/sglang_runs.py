"""How engines of SGLang are run here: on a CPU, with one model, greedily."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from packaging.version import Version
from patchkit_lab import processes

HERE = Path(__file__).resolve().parent
LAB = HERE.parents[1] / "examples" / "conformance"
SECONDS = 240.0
"""How long a run may take."""
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
HAS_PLUGINS = Version(version("sglang")) >= Version("0.5.11")
"""Whether this SGLang loads plugins, and has a registry of hooks."""
NAMES = {"tokenizer-manager", "scheduler", "model-runner", "detokenizer"}


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """The variables of a run whose journals and calls are in a folder."""
    for name in ("journal", "calls"):
        (folder / name).mkdir(exist_ok=True)
    own = {
        # The drivers import this module, and with it the lab.
        "PYTHONPATH": os.pathsep.join((str(HERE), str(LAB))),
        "SGLANG_USE_CPU_ENGINE": "1",
        "PATCHKIT_JOURNAL": str(folder / "journal"),
        "PATCHKIT_PATCHES": "rows_of_sglang",
        "ROWS_OF_SGLANG": str(folder / "calls"),
    }
    return processes.environment(own, variables)
