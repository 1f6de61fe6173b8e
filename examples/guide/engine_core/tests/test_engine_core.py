"""What the pack promises, without an engine."""

import os

import pytest

from patchkit import applied


@pytest.mark.vllm
@pytest.mark.parametrize("name", ["EngineCoreProc", "DPEngineCoreProc"])
def test_both_engine_cores_are_pinned_before_their_loop(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run_engine_core` looks both names up when it is called, and finds the pack's classes."""
    from vllm.v1.engine import core

    original = getattr(core, name)
    cpus = os.sched_getaffinity(0)
    monkeypatch.setenv("ENGINE_CORE_CPUS", str(max(cpus)))
    monkeypatch.setattr(original, "run_busy_loop", lambda self: os.sched_getaffinity(0))
    with applied("engine-core-cpus"):
        cls = getattr(core, name)
        try:
            cls.run_busy_loop(cls.__new__(cls))
            assert os.sched_getaffinity(0) == {max(cpus)}
        finally:
            os.sched_setaffinity(0, cpus)
    assert issubclass(cls, original)
    assert cls is not original
