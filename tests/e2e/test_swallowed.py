"""A patch that fails in a real engine: whoever swallows the error, no process goes on without.

Takes about 110 s.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _pytest.mark.structures import ParameterSet

TARGETS = {
    "main": "vllm.v1.engine.llm_engine:LLMEngine.step",
    "engine-core": "vllm.v1.core.sched.scheduler:Scheduler.schedule",
    "worker": "vllm.v1.worker.gpu_model_runner:GPUModelRunner.execute_model",
}

FAULTS = {
    "target-missing": "Replace({target!r} + '_that_is_gone', by='fine')",
    "wrong-signature": "Replace({target!r}, by='narrow')",
    "body-raising": "Replace({target!r}, by='fine')",
}

CAUSES = {
    "target-missing": "_that_is_gone is not there",
    "wrong-signature": "too many positional arguments",
    "body-raising": "the body's own error",
}

ROW = """
from patchkit import Patch, Replace, Role

PATCHES = (
    Patch(
        name="faulty", body="patch_faulty", requires=("vllm",), roles={{Role({role!r})}},
        changes=({change},), required={required},
    ),
)
"""

BODY = """
import sys

def fine(*args, **kwargs): ...
def narrow(): ...
"""

# Upstream has such guards around optional imports, and around its plugins.
SWALLOWER = """
try:
    import {module}
except Exception as error:
    print("swallowed", type(error).__name__)
"""


class Faulty:
    """Runs an engine with one patch that fails."""

    def __init__(self, python: Path, model: Path, directory: Path) -> None:
        self._python = python
        self._model = model
        self._directory = directory

    def __call__(
        self, role: str, fault: str, *flags: str, required: bool
    ) -> processes.Outcome:
        """Make the pack, and generate."""
        package = self._directory / "faulty_patches"
        package.mkdir()
        change = FAULTS[fault].format(target=TARGETS[role])
        (package / "__init__.py").write_text(
            ROW.format(role=role, change=change, required=required)
        )
        raising = 'raise RuntimeError("the body\'s own error")\n' * (
            fault == "body-raising"
        )
        (package / "patch_faulty.py").write_text(raising + BODY)
        module = TARGETS[role].partition(":")[0]
        (self._directory / "swallower.py").write_text(SWALLOWER.format(module=module))
        env = {
            **scenario.VLLM,
            "VLLM_PLUGINS": "",
            "PYTHONPATH": str(self._directory),
            "PATCHKIT_PATCHES": "faulty_patches",
            "PATCHKIT_JOURNAL": str(self._directory / "journal"),
        }
        arguments = ("--executor", "mp", "--patchkit", *flags)
        log = self._directory / "engine.log"
        return scenario.generate(self._python, self._model, log, *arguments, env=env)


@pytest.fixture
def run(python: Path, model: Path, tmp_path: Path) -> Faulty:
    """One pack, one run."""
    return Faulty(python, model, tmp_path)


SAMPLE = dict(zip(TARGETS, FAULTS, strict=True))
"""Each role and each fault once."""


def every_pair() -> Iterator[ParameterSet]:
    """Every fault in every role; those that are in no sample bear a mark."""
    for role, fault in product(TARGETS, FAULTS):
        marks = [] if SAMPLE[role] == fault else [pytest.mark.every_cell]
        yield pytest.param(role, fault, marks=marks)


@pytest.mark.parametrize(("role", "fault"), list(every_pair()))
def test_a_required_patch_ends_the_run(role: str, fault: str, run: Faulty) -> None:
    """Missing target, raising body and wrong signature: non-zero exit, with the cause."""
    outcome = run(role, fault, required=True)
    assert outcome.status not in (0, None), outcome.tail()
    assert "required patch faulty" in outcome.output
    assert CAUSES[fault] in outcome.output


def test_it_ends_even_where_the_error_was_swallowed(run: Faulty) -> None:
    """An import guarded by `except Exception` goes on; making the engine's configuration stops."""
    outcome = run("main", "body-raising", "--before", "swallower", required=True)
    assert "swallowed ApplyError" in outcome.output, outcome.tail()
    assert outcome.status not in (0, None)
    assert "required patch faulty" in outcome.output


@pytest.mark.parametrize(
    "role",
    [
        pytest.param(role, marks=[pytest.mark.every_cell] * (role != "worker"))
        for role in TARGETS
    ],
)
def test_an_optional_patch_is_one_warning(
    role: str, run: Faulty, baseline: list[int]
) -> None:
    """The engine generates, unpatched, and says so once in the process of the role."""
    outcome = run(role, "target-missing", required=False)
    assert scenario.report(outcome).tokens == baseline
    warnings = [
        line for line in outcome.output.splitlines() if "patch faulty failed" in line
    ]
    assert len(warnings) == 1
