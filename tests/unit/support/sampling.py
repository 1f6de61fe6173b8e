"""How much the laws try: `make test` takes few examples, `.ci/run` many, `make faults` all."""

from __future__ import annotations

import os

SAMPLES = os.environ.get("SAMPLES", "few")
"""`few`, `many` or `all`."""


def examples(*, few: int, many: int) -> int:
    """Return the number of examples that a law of Hypothesis tries."""
    return few if SAMPLES == "few" else many
