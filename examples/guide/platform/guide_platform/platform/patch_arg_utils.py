"""Upstream: a table of defaults by device and usage; a setting of the user's own comes first."""

from typing import Any

SEQUENCES = 64


def at_most_64_sequences(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Leave the tokens of a batch as they are, and make no batch of more than 64 sequences."""
    tokens, sequences = wrapped(*args, **kwargs)
    return tokens, {usage: min(count, SEQUENCES) for usage, count in sequences.items()}
