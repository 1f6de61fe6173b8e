from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from patchkit_lab.processes import Outcome
from sglang_runs import HAS_PLUGINS, NAMES

DRIVER = str(Path(__file__).resolve().parent / "engine_driver.py")
SCHEDULER = ["engine-core", "worker"]
Run = Callable[..., Outcome]


def tokens(done: Outcome) -> list[list[int]]:
    """What the driver has printed."""
    assert done.status == 0, done.tail()
    (line,) = [line for line in done.output.splitlines() if line.startswith("tokens ")]
    generated: list[list[int]] = json.loads(line.removeprefix("tokens "))
    return generated


def status(folder: Path) -> dict[str, Any]:
    """What `patchkit status` says of the journals of a run."""
    command = [sys.executable, "-m", "patchkit", "status", "--format", "json"]
    done = subprocess.run(
        [*command, str(folder / "journal")], capture_output=True, check=False, text=True
    )
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def in_effect(picture: dict[str, Any]) -> dict[str, list[list[str]]]:
    """For each row of the pack, the roles of the processes that have called it."""
    found: dict[str, list[list[str]]] = {}
    for process in picture["processes"]:
        for patch in process["patches"]:
            if patch["name"] in NAMES and patch["in_effect"] == "yes":
                found.setdefault(patch["name"], []).append(process["roles"])
    return found


def called(folder: Path) -> dict[str, set[int]]:
    """The processes in which each function of a row was called, as the body has written it."""
    found: dict[str, set[int]] = {}
    for file in (folder / "calls").iterdir():
        name, _, pid = file.name.rpartition("-")
        found.setdefault(name, set()).add(int(pid))
    return found


def test_rows_act_in_their_processes_alone(
    run: Run, model: Path, tmp_path: Path
) -> None:
    """Four rows, four parts of SGLang: each acts where it is for, and the tokens stay the same."""
    plain = tokens(run(sys.executable, DRIVER, str(model), PATCHKIT="0"))
    command = [sys.executable, "-m", "patchkit", "run", "--"]
    patched = tokens(run(*command, sys.executable, DRIVER, str(model)))
    assert patched == plain[:1] * len(patched)
    picture = status(tmp_path)
    assert in_effect(picture) == {
        "tokenizer-manager": [["main"]],
        "detokenizer": [["main"]],
        "scheduler": [SCHEDULER],
        "model-runner": [SCHEDULER],
    }
    calls = called(tmp_path)
    (scheduler,) = calls["run_batch"]
    assert calls["forward"] == {scheduler}
    (detokenizer,) = calls["handle_batch_token_id_out"]
    (tokenizer,) = calls["_tokenize_one_request"]
    assert len({scheduler, detokenizer, tokenizer}) == 3
    roles = {process["pid"]: process["roles"] for process in picture["processes"]}
    assert roles == {tokenizer: ["main"], detokenizer: ["main"], scheduler: SCHEDULER}
    digests = [process["digests"] for process in picture["processes"]]
    assert sorted(set().union(*digests)) == ["engine-core", "main", "worker"]
    assert [
        finding for finding in picture["findings"] if finding["kind"] != "unreviewed"
    ] == []


def test_a_failing_row_stops_the_engine(run: Run, model: Path) -> None:
    """By SGLang's plugin alone: a required row whose target is gone ends it, and is named.

    SGLang 0.5.10 has no plugins.
    """
    patchkit = [] if HAS_PLUGINS else [sys.executable, "-m", "patchkit", "run", "--"]
    command = [*patchkit, sys.executable, DRIVER, str(model)]
    done = run(*command, PATCHKIT_PATCHES="failing_rows")
    assert done.status not in {0, None}, done.tail()
    assert (
        "required patch renamed-scheduler (failing_rows.patch_nothing) failed"
        in done.output
    )
    assert "Scheduler has no 'run_no_batch'" in done.output
