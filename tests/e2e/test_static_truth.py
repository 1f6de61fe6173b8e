"""What the source is said to hold, against what imported vLLM and other upstreams hold.

`python tests/e2e/truth.py vllm --seed N --modules 250 --targets 6000` asks more, and prints all
answers.

Takes about 60 s.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest
from truth import answers_of

MODULES, TARGETS = 130, 2000
OPTIONS = ["--seed=32", f"--modules={MODULES}", f"--targets={TARGETS}"]


@pytest.fixture(scope="module")
def answers() -> list[dict[str, Any]]:
    """The same 2,000 questions to the source and to the modules, which a process imports."""
    found = answers_of(sys.executable, "vllm", OPTIONS)
    assert found["modules"] == MODULES
    rows: list[dict[str, Any]] = found["answers"]
    return rows


def test_enough_was_asked(answers: list[dict[str, Any]]) -> None:
    """About 2,000 targets could be asked on both sides, most of which are there."""
    assert len(answers) >= TARGETS * 0.99
    there = [row for row in answers if not row["runtime"].startswith("missing")]
    assert 0.5 < len(there) / len(answers) < 0.95


def test_source_and_import_agree(answers: list[dict[str, Any]]) -> None:
    """In 99.8 % and more of what is decided."""
    decided = [row for row in answers if "state" not in row["undecided"]]
    wrong = [row for row in decided if row["wrong"]]
    assert len(wrong) <= 0.002 * len(decided), wrong


@pytest.mark.parametrize("part", ["state", "kind", "signature"])
def test_little_is_left_open(answers: list[dict[str, Any]], part: str) -> None:
    """Whether it is there, what it is, how it is called: less than 5 % of each is not told."""
    left = [row for row in answers if part in row["undecided"]]
    assert len(left) < 0.05 * len(answers)
    assert part == "signature" or all(row["reason"] for row in left)


@pytest.mark.parametrize("package", ["ray", "torch", "transformers"])
def test_other_upstreams_agree(package: str) -> None:
    """In 99.8 % and more of what is decided; of torch, much is compiled, and left open."""
    options = ["--seed=23", "--modules=100", "--targets=900"]
    rows = answers_of(sys.executable, package, options)["answers"]
    decided = [row for row in rows if "state" not in row["undecided"]]
    wrong = [row for row in decided if row["wrong"]]
    assert len(rows) >= 890
    assert len(wrong) <= 0.002 * len(decided), wrong
    assert len(decided) >= 0.6 * len(rows)
