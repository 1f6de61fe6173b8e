"""Every applied row of the thirty-seven says whether it was called, in a real vLLM 0.32.0.

`make effects` runs it over and over, on several Pythons; `test_rows.py` asks the same once.

Only in `make effects`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import effects
import pytest
from rows_runs import Run, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.every_cell


@pytest.fixture(scope="module")
def first(python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Processes of their own, and a model that is compiled."""
    return run("separate", python, model, tmp_path_factory.mktemp("first"))


def test_each_row_says_what_is_so(first: Run) -> None:
    """Called where it left a line, never called where it did not; compiled code too."""
    effects.assert_true(first)


def test_with_what_was_compiled_before(
    first: Run, python: Path, model: Path, tmp_path: Path
) -> None:
    """The same with vLLM's cache: on a CPU it traces again what it has compiled before."""
    cache = first.journal.with_name("cache")
    assert any(cache.rglob("*")), "nothing was compiled"
    effects.assert_true(
        run("separate", python, model, tmp_path, VLLM_CACHE_ROOT=str(cache))
    )
