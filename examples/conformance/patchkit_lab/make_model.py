"""Write a tiny random Llama with its own tokenizer into the directory named."""

from __future__ import annotations

import sys

import torch
from tokenizers import (  # type: ignore[import-not-found, unused-ignore]
    Tokenizer,
    models,
    pre_tokenizers,
)
from transformers import (  # type: ignore[import-not-found, unused-ignore]
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

WORDS = ["hello", "world", "the", "quick", "brown", "fox"]
SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}


def tokenizer() -> PreTrainedTokenizerFast:
    """One token per word."""
    words = [f"t{number}" for number in range(256)] + list(SPECIAL.values()) + WORDS
    vocabulary = {word: number for number, word in enumerate(words)}
    whole = Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIAL["unk_token"]))
    whole.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=whole, **SPECIAL)


def model() -> LlamaForCausalLM:
    """Two layers; the seed makes every run's weights the same."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=320,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        bos_token_id=257,
        eos_token_id=258,
        tie_word_embeddings=False,
    )
    return LlamaForCausalLM(config).to(torch.bfloat16)


if __name__ == "__main__":
    tokenizer().save_pretrained(sys.argv[1])
    model().save_pretrained(sys.argv[1])
