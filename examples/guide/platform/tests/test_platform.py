"""What the pack promises, where the changed code is called."""

import inspect

import pytest

from patchkit import applied


@pytest.mark.vllm
def test_no_default_is_larger() -> None:
    """Whatever the usage, 64 sequences; the tokens are upstream's."""
    from vllm.engine.arg_utils import EngineArgs

    tokens, sequences = EngineArgs.get_batch_defaults(world_size=1)
    with applied("smaller-default-batches"):
        patched = EngineArgs.get_batch_defaults(world_size=1)
    assert patched == (
        tokens,
        {usage: min(count, 64) for usage, count in sequences.items()},
    )
    assert min(sequences.values()) > 64


@pytest.mark.vllm
def test_workers_are_not_daemonic() -> None:
    """The edited line is the only one that differs."""
    from vllm.v1.executor.multiproc_executor import WorkerProc

    before = inspect.getsource(WorkerProc.make_worker_process)
    with applied("workers-may-have-children"):
        after = inspect.getsource(WorkerProc.make_worker_process)
    assert after == before.replace("daemon=True", "daemon=False") != before
