"""Piles that others wrote, adopted: their rows do to a real vLLM what they do themselves.

Takes about 2 min.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import adopt_piles
import pytest
from foreign_piles import PILES, Pile
from patchkit_lab import scenario

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Of each: how many changes are in rows, at least.
EXPRESSED = {"vllm-ascend": 180, "vllm-omni": 12, "vllm-rbln": 42}
# A repository is not on the index, and one wheel takes a quarter of an hour.
WHEELS = [pile for pile in PILES if not pile.is_tree and pile.name != "unsloth-zoo"]
FREQUENT = ("vllm-ascend",)
# Nothing else is changed by their rows either.
EXACT = ("vllm-ascend", "flash-head")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Piles may write into the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "pile",
    [
        pytest.param(
            pile,
            id=pile.name,
            marks=[pytest.mark.every_cell] * (pile.name not in FREQUENT),
        )
        for pile in WHEELS
    ],
)
def test_the_rows_do_what_the_pile_does(pile: Pile, tmp_path: Path) -> None:
    """The same attributes hold the same code; nothing fails, and the pile itself is off."""
    rows = adopt_piles.adopt(pile, tmp_path)
    assert rows.expressed >= EXPRESSED.get(pile.name, 0)
    done = adopt_piles.compare(pile, rows, tmp_path)
    assert "start_ours" not in done.faults
    assert len(done.same) >= pile.attributes, done
    _number, _in_rows, _listed, silent = adopt_piles.scanned(pile, rows)
    assert silent == []
    if pile.name in EXACT:
        assert done.more == []


def test_each_registration_is_a_row(tmp_path: Path) -> None:
    """vllm-rbln registers its patches: 50 with those of a loop, one of which cannot be a row."""
    (pile,) = (one for one in PILES if one.name == "vllm-rbln")
    rows = adopt_piles.adopt(pile, tmp_path, observe=False)
    assert len([one for one in rows.patches if one.name != "old-pile"]) >= 49
    listed = [one for one in rows.left if "the function of an operator" in str(one)]
    assert len(listed) == 1  # torch goes on calling the one that it has
    assert all(one.why and "Adopted" not in one.why for one in rows.patches if one.when)


PLUGIN = {
    "__init__": "",
    "patches/__init__": "from my_plugin.patches import patch_core, patch_worker\n",
    "patches/patch_core": (
        "from vllm.v1.core.sched.scheduler import Scheduler\n\n_schedule = Scheduler.schedule\n\n\n"
        "def schedule(self, *args, **kwargs):\n    self.steps = getattr(self, 'steps', 0) + 1\n"
        "    return _schedule(self, *args, **kwargs)\n\n\nScheduler.schedule = schedule\n"
    ),
    "patches/patch_worker": (
        "from vllm.v1.worker.worker_base import WorkerBase\n\n"
        "WorkerBase.vocabulary = property(lambda self: 7)\n"
    ),
}


def test_adopted_rows_are_rows_like_any_others(
    python: Path, model: Path, tmp_path: Path
) -> None:
    """In a real engine: applied where they belong, agreed on, called, locked; the pile is off."""
    for name, text in PLUGIN.items():
        file = tmp_path / "my_plugin" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    journal = tmp_path / "journal"
    journal.mkdir()
    path = {"PYTHONPATH": os.fspath(tmp_path), "PATCHKIT_JOURNAL": os.fspath(journal)}
    of = ("--releases", "vllm==0.32.0")
    told = _patchkit(
        python, tmp_path, path, "adopt", "my_plugin", "--into", "my_pack", *of
    )
    assert (told["sites"], told["expressed"], told["left"]) == (2, 2, [])
    path["PATCHKIT_PATCHES"] = "my_pack"
    lock = [str(python), "-m", "patchkit", "lock", "--patches", "my_pack", *of]
    subprocess.run(lock, cwd=tmp_path, env=os.environ | path, check=True)
    assert "Scheduler.schedule" in (tmp_path / "my_pack" / "patchkit.lock").read_text()
    env = {**scenario.CPU, **path, "PATCHKIT_ON_DRIFT": "stop"}
    plain = scenario.generate(python, model, tmp_path / "plain.log", env=scenario.CPU)
    done = scenario.generate(python, model, tmp_path / "log", "--patchkit", env=env)
    assert scenario.report(done).tokens == scenario.report(plain).tokens
    status = _patchkit(python, tmp_path, path, "status", str(journal))
    assert set(status["agreement"].values()) == {True}
    core = next(one for one in status["processes"] if "engine-core" in one["roles"])
    states = {one["name"]: (one["status"], one["in_effect"]) for one in core["patches"]}
    assert states["core"] == ("applied", "yes")
    worker = next(one for one in status["processes"] if "worker" in one["roles"])
    assert {one["name"]: one["status"] for one in worker["patches"]}[
        "worker"
    ] == "applied"


def _patchkit(
    python: Path, folder: Path, env: Mapping[str, str], *words: str
) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), "-m", "patchkit", *words, "--format", "json"],
        cwd=folder,
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
