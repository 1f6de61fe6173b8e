"""Two schedulers in one engine: of tensor parallelism, and of data parallelism."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from test_engine import DRIVER, SCHEDULER, Run, called, status, tokens

if TYPE_CHECKING:
    from pathlib import Path

CORES = {"SGLANG_CPU_OMP_THREADS_BIND": "0|1"}
"""Without it, SGLang wants a NUMA node for each of the two."""


@pytest.mark.parametrize(
    ("further", "of_main"),
    [
        pytest.param({"tp_size": 2}, 2, id="tensor parallelism"),
        pytest.param({"dp_size": 2}, 3, id="data parallelism, with a controller"),
    ],
)
def test_rows_act_in_both_schedulers(
    run: Run, model: Path, tmp_path: Path, further: dict[str, int], of_main: int
) -> None:
    """Rows for schedulers act in each; tokens are as without patchkit, and all processes agree."""
    command = [sys.executable, DRIVER, str(model), json.dumps(further)]
    plain = tokens(run(*command, PATCHKIT="0", **CORES))
    patched = tokens(
        run(sys.executable, "-m", "patchkit", "run", "--", *command, **CORES)
    )
    assert patched == plain[:1] * len(patched)
    picture = status(tmp_path)
    roles = [process["roles"] for process in picture["processes"]]
    assert sorted(roles) == [SCHEDULER] * 2 + [["main"]] * of_main
    schedulers = {
        process["pid"]
        for process in picture["processes"]
        if process["roles"] == SCHEDULER
    }
    calls = called(tmp_path)
    assert calls["run_batch"] == calls["forward"] == schedulers
    assert len(calls["handle_batch_token_id_out"]) == 1
    assert len(calls["_tokenize_one_request"]) == 1
    findings = [found for found in picture["findings"] if found["kind"] != "unreviewed"]
    assert findings == []
