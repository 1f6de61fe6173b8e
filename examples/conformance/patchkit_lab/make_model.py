"""Write a tiny random Llama with its own tokenizer into the directory named.

Its files are written without transformers, whose 4 and 5 write different ones: these serve every
release of vLLM, and hold the same weights in every environment.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file  # type: ignore[import-not-found, unused-ignore]
from tokenizers import (  # type: ignore[import-not-found, unused-ignore]
    Tokenizer,
    models,
    pre_tokenizers,
)

WORDS = ["hello", "world", "the", "quick", "brown", "fox"]
SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
HIDDEN = 128
INTERMEDIATE = 256
VOCABULARY = 320
LAYERS = 2
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 256,
    "bos_token_id": 257,
    "eos_token_id": 258,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-06,
    # transformers 5 reads it from `rope_parameters`, and from here.
    "rope_theta": 10000.0,
    # Where nobody chooses another: with bfloat16 vLLM would use AMX tiles, which die on some
    # virtual machines that list them.
    "torch_dtype": "float16",
}
TOKENIZER = {"tokenizer_class": "PreTrainedTokenizerFast", **SPECIAL}


def tokenizer() -> Tokenizer:
    """One token per word."""
    words = [f"t{number}" for number in range(256)] + list(SPECIAL.values()) + WORDS
    vocabulary = {word: number for number, word in enumerate(words)}
    whole = Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIAL["unk_token"]))
    whole.pre_tokenizer = pre_tokenizers.Whitespace()
    return whole


def shapes() -> dict[str, tuple[int, ...]]:
    """The parameters of a Llama."""
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens": (VOCABULARY, HIDDEN)}
    for layer in (f"model.layers.{number}" for number in range(LAYERS)):
        found |= {f"{layer}.self_attn.{one}_proj": (HIDDEN, HIDDEN) for one in "qkvo"}
        found |= {
            f"{layer}.mlp.{one}_proj": (INTERMEDIATE, HIDDEN) for one in ("gate", "up")
        }
        found[f"{layer}.mlp.down_proj"] = (HIDDEN, INTERMEDIATE)
        found |= {
            f"{layer}.{one}_layernorm": (HIDDEN,) for one in ("input", "post_attention")
        }
    return {**found, "model.norm": (HIDDEN,), "lm_head": (VOCABULARY, HIDDEN)}


def weights() -> dict[str, torch.Tensor]:
    """Norms of one, the others random; the seed makes every run's the same."""
    generator = torch.Generator().manual_seed(0)
    found = {}
    for name, shape in shapes().items():
        is_norm = len(shape) == 1
        whole = (
            torch.ones(shape)
            if is_norm
            else torch.randn(shape, generator=generator) * 0.02
        )
        found[f"{name}.weight"] = whole.to(torch.bfloat16)
    return found


def write(directory: Path) -> None:
    """Write the model's files."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer().save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(json.dumps(TOKENIZER), "utf-8")
    (directory / "config.json").write_text(json.dumps(CONFIG, indent=1), "utf-8")
    save_file(weights(), directory / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    write(Path(sys.argv[1]))
